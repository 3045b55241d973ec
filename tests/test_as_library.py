"""The package inside a larger program: its names, its warnings, and processes that are forked."""

from __future__ import annotations

import builtins
import inspect
import os
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import ttastats as tta
from tests.programs import python
from tests.test_recording import disk_full
from ttastats.base.errors import TtastatsError
from ttastats.recording import run_log
from ttastats.recording.record import Following

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")

#: What makes a package seem to be absent.
ABSENT = "import sys; sys.modules.update(dict.fromkeys({names!r}))\n"
PACKAGES = ("torch", "transformers", "keras", "lightning", "pytorch_lightning")

ASKED: dict[str, Any] = {"benchmark": "b", "metric": "m", "target": 1, "system": "s"}


def output_of(program: str, *words: str | Path) -> str:
    """Return what a program prints; its errors end the test."""
    process = python("-W", "error", "-c", program, *words)
    assert process.returncode == 0, process.stderr
    return process.stdout


class TestNames:
    def test_all_are_there_without_pytorch(self) -> None:
        program = (
            "from ttastats import *\n"
            "import inspect, ttastats as tta\n"
            "print(*(name for name, _ in inspect.getmembers(tta)))\n"
            "print(*(name for name in dir(tta) if not hasattr(tta, name)))\n"
            "print(filter, 'torch' in [name for name, module in sys.modules.items() if module])\n"
        )
        members, missing, builtin = output_of(ABSENT.format(names=PACKAGES) + program).splitlines()
        assert {"profile", "filter", "compare"} <= set(members.split())
        assert (missing, builtin) == ("", "<class 'filter'> False")

    def test_a_star_import_hides_no_builtin(self) -> None:
        assert not set(tta.__all__) & set(dir(builtins))
        assert set(dir(tta)) - set(tta.__all__) == {"filter"}

    @pytest.mark.parametrize(
        ("call", "install"),
        [
            ("import ttastats as tta; tta.profile('p.parquet')", "ttastats[train]"),
            ("import ttastats.callbacks.hugging_face", "transformers"),
            ("import ttastats.callbacks.keras", "keras"),
            ("import ttastats.callbacks.lightning", "lightning"),
        ],
    )
    @pytest.mark.parametrize("kind", ["ImportError", "TtastatsError"])
    def test_what_a_package_is_missing_for_says_how_to_install_it(
        self, call: str, install: str, kind: str
    ) -> None:
        caught = (
            f"from ttastats import TtastatsError\ntry: {call}\nexcept {kind} as error: print(error)"
        )
        text = output_of(ABSENT.format(names=PACKAGES) + caught)
        assert text.splitlines()[1] == f'  Install it: pip install "{install}"'


class TestWarnings:
    """Each names the line of the caller, so that a filter by module and `once` mean it."""

    def test_of_rejected_logs(self, tmp_path: Path, two_systems: Path) -> None:
        text = next((two_systems / "one_gpu").rglob("*.txt")).read_text()
        (tmp_path / "result_0.txt").write_text(text)
        line = ':::MLLOG {"time_ms": 1, "key": "eval_accuracy", "value": 1, "metadata": {}}\n'
        (tmp_path / "result_1.txt").write_text(line)
        for answer in (tta.summary, tta.runs, tta.read, tta.problems):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                here = inspect.currentframe()
                assert here is not None
                answer(tmp_path)
                number = here.f_lineno - 1
            assert {(warning.filename, warning.lineno) for warning in caught} == {
                (__file__, number)
            }

    def test_of_recordings(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tta.record(tmp_path, **ASKED).start().finish()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = tta.record(tmp_path, **ASKED, hardware="other").start()
            following = Following(tmp_path, **ASKED)
            following.begin()
            following.end()
            monkeypatch.setattr(run_log, "event_line", disk_full)
            run.evaluation(0.5)
        assert [warning.filename for warning in caught] == [__file__] * 3

    def test_is_told_once_for_each_line(self, tmp_path: Path) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(3):
                following = Following(tmp_path, **ASKED)
                following.begin()
                following.end()
        assert len(caught) == 1


#: What a child may call: each with its own way to what polars computes.
CALLS = {
    "summary": "tta.summary(path)",
    "summary of a frame": "tta.summary(frame)",
    "summary of runs": "tta.summary(runs)",
    "summary of logs": "tta.summary(logs)",
    "compare": "tta.compare(path, path)",
    "compare_profiles": "tta.compare_profiles(path, path)",
    "claim": "tta.claim(path, seconds='<= 80')",
    "effects": "tta.effects(path, on='seed')",
    "export": "tta.export(path, out)",
    "filter": "tta.filter(path, output=out)",
    "from_frame": "tta.from_frame(frame, run='source', metric='metric', value='value')",
    "guess": "tta.guess(logs)",
    "history": "tta.history(path)",
    "html_report": "tta.html_report(path, output=out)",
    "ingest": "tta.ingest([logs], out)",
    "judge_record": "tta.judge_record(path, path, rules='plain')",
    "latest_segment": "tta.latest_segment(path)",
    "plot": "tta.plot('quality-time', path)",
    "plot_profiles": "tta.plot_profiles('step', path)",
    "plots": "tta.plots(path)",
    "power": "tta.power(path)",
    "print": "print(report)",
    "problems": "tta.problems(path)",
    "profile": "tta.profile(out)",
    "profile_page": "tta.profile_page(path, output=out)",
    "profiled": "tta.profiled(path)",
    "rank": "tta.rank(path)",
    "rcp": "tta.rcp(path)",
    "read": "tta.read(path)",
    "runs": "tta.runs(path)",
    "scaling": "tta.scaling(path)",
    "score": "tta.score(path)",
    "targets": "tta.targets(path)",
    "variance": "tta.variance(path)",
}
FORKED = """
import os, signal, sys
import polars as pl, ttastats as tta
path, logs, out = sys.argv[1:]
{before}
for name, call in {calls!r}.items():
    child = os.fork()
    if not child:
        signal.alarm(60)
        try:
            exec(call)
            print(name, "answered", flush=True)
        except tta.TtastatsError as error:
            print(name, error.where == "fork" and "spawn" in error.remedy, flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
"""
AFTER_AN_ANSWER = """
from ttastats.api import run_table
frame, runs, report = tta.read(path).collect(), run_table(path), tta.summary(path)
"""


@forks
class TestForks:
    def test_no_answer_hangs_after_another(
        self, tables: Path, two_systems: Path, tmp_path: Path
    ) -> None:
        public = {name for name in dir(tta) if inspect.isfunction(getattr(tta, name))}
        assert public - {call.split()[0] for call in CALLS} == {"record"}
        program = FORKED.format(before=AFTER_AN_ANSWER, calls=CALLS)
        told = output_of(program, tables / "one_gpu.parquet", two_systems, tmp_path / "out")
        assert told.splitlines() == [f"{name} True" for name in CALLS]

    @pytest.mark.skipif(sys.platform != "linux", reason="other systems list no threads")
    @pytest.mark.parametrize("imported", ["", "tta.summary"])
    def test_nor_after_somebody_else_used_polars(
        self, imported: str, tables: Path, tmp_path: Path
    ) -> None:
        before = f"{imported}\npl.LazyFrame({{'a': [1]}}).filter(pl.col('a') > 0).collect()"
        program = FORKED.format(before=before, calls={"summary": CALLS["summary"]})
        assert output_of(program, tables / "one_gpu.parquet", "", tmp_path) == "summary True\n"

    def test_a_process_that_is_forked_before_the_first_answer_may_ask(
        self, tables: Path, tmp_path: Path
    ) -> None:
        names = random.Random(1).sample(["summary", "runs", "problems", "targets", "read"], 3)
        program = FORKED.format(before="", calls={name: CALLS[name] for name in names})
        told = output_of(program, tables / "one_gpu.parquet", "", tmp_path / "out")
        assert told.splitlines() == [f"{name} answered" for name in names]

    @pytest.mark.parametrize("method", ["fork", "spawn"])
    def test_a_pool_answers_or_says_which_start_method_does(
        self, method: str, tables: Path, tmp_path: Path
    ) -> None:
        script = tmp_path / "pool.py"
        script.write_text(
            "import multiprocessing, sys\n"
            "import ttastats as tta\n"
            "if __name__ == '__main__':\n"
            "    print(len(tta.runs(sys.argv[1]).rows))\n"
            f"    with multiprocessing.get_context({method!r}).Pool(1) as pool:\n"
            "        try: print(len(pool.map(tta.read, sys.argv[1:])))\n"
            "        except tta.TtastatsError as error: print(error)\n"
        )
        process = python(script, tables / "one_gpu.parquet")
        told = process.stdout.splitlines()
        assert told[0] == "10"
        assert ("spawn or forkserver" in told[-1]) == (method == "fork"), told


def test_a_missing_package_of_another_name_is_not_taken_for_it() -> None:
    from ttastats.base.errors import MissingPackageError, needs

    with pytest.raises(ModuleNotFoundError) as other, needs("torch", "training", "ttastats[train]"):
        raise ModuleNotFoundError("No module named 'sympy'", name="sympy")
    assert not isinstance(other.value, TtastatsError)
    with pytest.raises(MissingPackageError), needs("torch", "training", "ttastats[train]"):
        raise ModuleNotFoundError("No module named 'torch.fx'", name="torch.fx")
