"""What people write who know other libraries: a line is true, or its error says what is wrong."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import ttastats as tta
from tests import programs

#: A line, and what its error says; none of a line that is true.
USES: dict[str, str] = {
    # gates
    "not tta.compare(b, a, fail_on='slower:2%').gate": "",
    "tta.compare(a, b, fail_on='slower:2%').gate": "",
    "repr(tta.compare(b, a, fail_on='slower:2%').gate).startswith('Gate(passed=False')": "",
    "tta.compare(b, a, fail_on='slower:2%').check()": "fail_on='slower:2%'",
    "tta.compare(a, b, fail_on='slower:2%').check().gate.passed": "",
    "tta.compare(a, b, fail_on=['slower:2%']).gate": "",
    "tta.compare(a, b, fail_on=0.02)": "fail_on=",
    "tta.history(a, fail_on='slower:2%').gate": "",
    # paths
    "tta.ingest('logs', 'o.parquet').runs == 10": "",
    "tta.ingest('.', 'o.parquet').runs == 10": "",
    "tta.ingest('./logs', 'o.parquet').runs == 10": "",
    "inside(lambda: tta.ingest('..', '../o.parquet').runs) == 10": "",
    "tta.ingest(Path('logs'), 'o.parquet').runs == 10": "",
    "tta.ingest(['logs'], Path('o.parquet')).runs == 10": "",
    "tta.ingest('lgs', 'o.parquet')": "lgs: no such file or folder",
    "tta.ingest('logs', 'z.csv')": "a table is a Parquet file",
    "tta.ingest('logs', guess=True).runs == 10": "",
    "tta.summary('logs').n == 10": "",
    "tta.summary(['a.parquet', Path('b.parquet')]).frame['n'].sum() == 20": "",
    "tta.summary('c.parquet')": "c.parquet: no such file",
    # values
    "tta.compare(a, b, options=tta.Options(estimand='median'))": "estimand=",
    "tta.Options(confidence=95)": "confidence=",
    "tta.Options(margin=-3)": "margin=",
    "tta.Options(seed='x')": "seed=",
    "tta.summary(a, confidence=95)": "confidence=",
    "tta.summary(a, confidence='95%') == tta.summary(a, confidence=.95)": "",
    "tta.compare(a, b, confidence=.9) == tta.compare(a, b, options=tta.Options(confidence=.9))": "",
    "tta.compare(a, b, margin=.02).rows": "",
    "tta.compare(a, b, epochs_fixed=True).rows": "",
    "tta.compare(a, b, options={'margin': .02}) == tta.compare(a, b, margin=.02)": "",
    "tta.power(cv=14)": "cv=",
    "tta.power(cv='14%') == tta.power(cv=.14)": "",
    "tta.summary(a, top=-1)": "top=",
    "tta.summary(a, ddof=50)": "ddof=",
    "tta.summary(a, target=.9).rows == tta.summary(a, target='0.9').rows": "",
    "tta.summary(a, target={'accuracy': .9}).n == 10": "",
    "tta.summary(a, target=float('nan'))": "target=",
    "tta.summary(a, at=10)": "at=",
    "tta.summary(a, at={'epoch': 3}).n == 10": "",
    "tta.claim(a, seconds=200).rows": "",
    "tta.summary(a, where=5)": "where=",
    "tta.summary(a, where=pl.col('seed') > 1002).n == 7": "",
    "tta.summary(a, where={'seed': [1001, 1002]}).n == 2": "",
    "tta.summary(a, by='benchmark,entry') == tta.summary(a, by=['benchmark', 'entry'])": "",
    "tta.summary(a, by='benchmrk')": "Nearest: benchmark",
    "tta.summary(a, unit='epoch')": "unit=",
    "tta.compare('a.parquet')": "Give a second table",
    "tta.compare(a, b, confidnce=.9)": "compare() got an unexpected keyword argument 'confidnce'",
    "tta.plot('speedup', a, b)": "speedup",
    "tta.problems()": "sources=",
    "tta.compare(a, b, view=tta.View(named=True)) == tta.compare(a, b)": "",
    # frames
    "all(tta.summary(each(frame)).n == 10 for each in SOURCES)": "",
    "tta.from_frame(rows, run='run', metric='acc', target='>=0.75')['target_value'][0] == .75": "",
    "tta.from_frame(texts, run='run', metric='acc', seconds='at')": "Give seconds or durations",
    "tta.from_frame(stamped, run='run', metric='acc', seconds='at')": "Give seconds or durations",
    "tta.summary(framed.to_pandas(), target=.5).n == 2": "",
    "tta.summary(framed.head(0))": "The table is empty",
    "tta.summary(pl.read_csv(exported('x.csv'))).n == 10": "",
    "tta.summary(pl.read_ndjson(exported('x.jsonl'))).n == 10": "",
    "tta.summary(pandas.read_csv(exported('x.csv'))).n == 10": "",
    "tta.ingest(exported('x.csv'), 'o.parquet').runs == 10": "",
    "pl.concat([tta.compare(a, b, target=each).frame for each in (.5, .9999)]).height == 2": "",
    "pl.concat([tta.summary(a, target=each).frame for each in (.5, .9999)]).height == 2": "",
    # answers as values
    "all(pickle.loads(pickle.dumps(each(a))) == each(a) for each in FUNCTIONS)": "",
    "in_processes(tta.summary, a) == tta.summary(a)": "",
    "len({tta.summary(a).tta_mean_seconds for _ in in_threads(tta.summary, a)}) == 1": "",
    "[*tta.runs(a)] == [*tta.runs(a).rows] and len(tta.runs(a)) == 10": "",
    "tta.compare(a, b).p_value == tta.compare(a, b).rows[0]['p_value']": "",
    "tta.compare(a, b).rows[0].update(speedup=99)": "read-only",
    "tta.compare(a, b).spedup": "has no attribute 'spedup'",
    "math.isinf(tta.summary(a, target=.9999).ert_seconds)": "",
    "json.loads(tta.summary(a, target=.9999).to_json())['rows'][0]['ert_seconds'] is None": "",
    "json.loads(tta.compare(a, b).to_json())['schema'] == 1": "",
    "'|' in tta.compare(a, b).to_markdown() and ',' in tta.compare(a, b).to_csv()": "",
    # the module
    "python('from ttastats import *; print(filter(None, []))')": "",
    "python('import ttastats, inspect; inspect.getmembers(ttastats); ttastats.profile')": "",
    "all(each.__doc__ for each in FUNCTIONS)": "",
    # recording
    "recorded(lambda run: run.start())": "is already running",
    "recorded(lambda run: forked(lambda: run.evaluation(.99, epoch=2))).reached is False": "",
    "recorded(lambda run: [run.evaluation(.99, epoch=2), sys.exit(0)]).run_status == 'success'": "",
}  # fmt: skip
#: Modules that the lines use.
MODULES = {name: import_module(name) for name in ("json", "math", "pandas", "pickle", "sys")}
FUNCTIONS: tuple[Callable[..., tta.Report], ...] = (
    tta.summary, tta.rank, tta.variance, tta.runs, tta.power, tta.problems, tta.targets,
)  # fmt: skip
SOURCES: tuple[Callable[[pl.DataFrame], Any], ...] = (
    lambda frame: frame, pl.DataFrame.lazy, pl.DataFrame.to_arrow, pl.DataFrame.to_pandas,
    lambda frame: duckdb.sql("select * from frame"),
)  # fmt: skip


def inside(act: Callable[[], Any]) -> Any:
    """Return what something gives in the folder of the logs."""
    os.chdir("logs")
    try:
        return act()
    finally:
        os.chdir("..")


def exported(name: str) -> str:
    tta.export("a.parquet", name)
    return name


def in_processes(act: Callable[..., tta.Report], path: str) -> tta.Report:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(act, str(Path(path).resolve())).result()


def in_threads(act: Callable[..., tta.Report], path: str) -> list[tta.Report]:
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(act, [path] * 8))


def python(program: str) -> bool:
    return not programs.python(
        "-c", f"import sys; sys.modules['torch'] = None; {program}"
    ).returncode


def forked(act: Callable[[], object]) -> None:
    """Do something in a forked process, as a worker of a data loader may."""
    if not (child := os.fork()):
        try:
            act()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def recorded(act: Callable[[Any], object]) -> tta.Report:
    """Return the run that a training records, which does something in its middle."""
    try:
        with tta.record("r", benchmark="b", metric="acc", target=0.9) as run:
            run.evaluation(0.3, epoch=1)
            act(run)
    except SystemExit:
        pass
    return tta.runs("r")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork beside threads
@pytest.mark.parametrize("use", USES)
def test_a_use_is_right_or_its_error_says_what_is_wrong(
    use: str, tables: Path, two_systems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, side in (("a", "one_gpu"), ("b", "eight_gpus")):
        shutil.copy(tables / f"{side}.parquet", f"{name}.parquet")
    shutil.copytree(two_systems / "one_gpu", "logs")
    rows = pl.DataFrame({"run": [1, 2], "acc": [0.5, 0.8], "s": [1.0, 2.0]})
    scope = {
        **globals(), **MODULES, "a": "a.parquet", "b": "b.parquet", "rows": rows,
        "frame": pl.read_parquet("a.parquet"),
        "texts": rows.with_columns(at=pl.lit("2024-01-01 10:00:00")),
        "stamped": rows.with_columns(at=pl.datetime(2024, 1, 1)),
        "framed": tta.from_frame(rows, run="run", metric="acc", seconds="s"),
    }  # fmt: skip
    if not USES[use]:
        assert eval(use, scope)
        return
    with pytest.raises((tta.TtastatsError, TypeError, AttributeError)) as caught:
        eval(use, scope)
    assert USES[use] in str(caught.value)
    builtin = ("unexpected keyword", "read-only", "has no attribute")
    assert isinstance(caught.value, tta.TtastatsError) or any(
        words in str(caught.value) for words in builtin
    )


def test_a_use_of_each_kind_is_listed() -> None:
    assert len(USES) >= 73
