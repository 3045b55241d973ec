"""A recorded training loop leaves a log from which exactly the recorded values are read."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import ttastats as tta
from tests.conftest import ROOT
from tests.programs import PATIENCE, finish, python, start
from ttastats.base.errors import TtastatsError
from ttastats.recording import record as recording
from ttastats.recording import run_ends
from ttastats.recording.run_log import Clock, SystemDiffers
from ttastats_parsers import mlperf_grammar

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")


def recorded(
    logs: Path, values: Sequence[float], error: Exception | None = None, **more: Any
) -> Path:
    """Return the log of a recorded run whose epochs 1, 2, ... have these values, then an error."""
    settings: dict[str, Any] = {"benchmark": "digits", "metric": "accuracy", "target": 0.9}
    settings |= {"system": "small", "seed": 3, **more}
    with contextlib.suppress(*[type(error)] if error else []), tta.record(logs, **settings) as run:
        for epoch, value in enumerate(values, start=1):
            run.evaluation(value, epoch=epoch)
        if error is not None:
            raise error
    assert run.path is not None
    return run.path


def read(logs: Path) -> pl.DataFrame:
    output = logs.parent / "read.parquet"
    output.unlink(missing_ok=True)
    tta.ingest([logs], output)
    return tta.read(output).collect()


def the_run(logs: Path) -> dict[str, Any]:
    read(logs)
    (row,) = tta.runs(logs.parent / "read.parquet").rows
    return row


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return tmp_path / "logs"


def started(program: str, logs: Path) -> subprocess.Popen[str]:
    """Start a program that says that it has recorded an evaluation; wait until it does."""
    process = start("-c", program, logs, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "evaluated\n"
    return process


class TestRoundTrip:
    def test_recorded_fields_are_read(self, logs: Path) -> None:
        with tta.record(
            logs, benchmark="cifar 10/small", metric="Val/Acc@1", target=">=0.75", seed=7,
            system="b200-fp8", org="us", accelerators=8, nodes=2, hardware="B200",
            framework="jax 0.9", global_batch_size=512, train_samples=50_000, lr=0.1,
            optimiser={"name": "lion", "betas": (0.9, 0.99)}, data=Path("x"),
        ) as run:  # fmt: skip
            assert not run.evaluation(0.5, epoch=0.5, step=10, samples=5_120, loss=2.0)
            assert run.evaluation(np.float32(0.75), epoch=1, step=20, samples=10_240, loss=1.5)
        table = read(logs)
        assert table["benchmark"].unique().to_list() == ["cifar 10/small"]
        first = table.row(0, named=True)
        settings = {
            "system": "b200-fp8", "entry": "us/b200-fp8", "submitter": "us", "suite": None,
            "round": None, "seed": 7, "global_batch_size": 512, "train_samples": 50_000,
            "accelerators": 8, "nodes": 2, "hardware": "B200", "framework": "jax 0.9",
        }  # fmt: skip
        assert {name: first[name] for name in settings} == settings
        extra = json.loads(first["extra"])
        assert (extra["lr"], extra["data"]) == (0.1, "x")
        assert extra["optimiser"] == {"name": "lion", "betas": [0.9, 0.99]}
        checkpoints = table.select("metric", "eval_index", "value", "epoch", "step", "samples")
        assert checkpoints.sort("metric", "eval_index").rows() == [
            ("Val/Acc@1", 0, 0.5, 0.5, 10, 5_120),
            ("Val/Acc@1", 1, 0.75, 1.0, 20, 10_240),
            ("loss", 0, 2.0, 0.5, 10, 5_120),
            ("loss", 1, 1.5, 1.0, 20, 10_240),
        ]
        assert set(table["target_value"]) == {0.75, None}
        assert table["problems"].to_list() == ["[]"] * 4 or table["problems"].null_count() == 4

    def test_its_seconds_are_those_of_the_loop(
        self, logs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [100.0]
        monkeypatch.setattr(recording, "Clock", lambda: Clock(wall=lambda: now[0]))
        with tta.record(logs, benchmark="b", metric="m", target=1) as run:
            now[0] += 5
            run.evaluation(1.0, epoch=1)
            now[0] += 2
        row = the_run(logs)
        assert row["tta_seconds"] == pytest.approx(5, abs=1e-3)
        assert row["run_seconds"] == pytest.approx(7, abs=1e-3)

    def test_sides_are_compared_and_come_back_from_an_export(self, logs: Path) -> None:
        for seed in range(3):
            recorded(logs, [0.5, 0.95], seed=seed)
            recorded(logs, [0.95], seed=seed, system="large")
        read(logs)
        table = logs.parent / "read.parquet"
        small, large = (pl.scan_parquet(table).filter(system=name) for name in ("small", "large"))
        report = tta.compare(small, large)
        (row,) = report.rows
        assert (row["n_a"], row["n_b"], row["reached_a"], row["reached_b"]) == (3, 3, 3, 3)
        assert {row["n"] for row in tta.summary(table).rows} == {3}
        tta.export(table, logs.parent / "exported")
        before = tta.runs(table).rows
        tta.ingest([logs.parent / "exported"], logs.parent / "again.parquet")
        again = tta.runs(logs.parent / "again.parquet").rows
        names = ("suite", "benchmark", "entry", "reached", "tta_seconds", "epochs", "seed")
        assert [[r[k] for k in names] for r in again] == [[r[k] for k in names] for r in before]


class TestEnds:
    def test_a_target_that_is_not_met_is_an_aborted_run(self, logs: Path) -> None:
        recorded(logs, [0.5, 0.89])
        row = the_run(logs)
        assert (row["run_status"], row["reached"], row["epochs"]) == ("aborted", False, 2)
        late = recorded(logs, [0.95], RuntimeError("after the target"))
        assert '"status": "aborted"' in late.read_text().splitlines()[-1]

    @pytest.mark.parametrize(
        ("error", "reason", "status"),
        [
            (
                RuntimeError("CUDA out of memory\nat step 7"),
                "RuntimeError: CUDA out of memory",
                "exception",
            ),
            (KeyboardInterrupt("now"), "KeyboardInterrupt", "stopped"),
            (SystemExit(143), "SIGTERM", "stopped"),
            (SystemExit(130), "SIGINT", "stopped"),
            (SystemExit(1), "SystemExit: 1", "exception"),
            (SystemExit(), "SystemExit: None", "exception"),
            (SystemExit("loss is nan"), "SystemExit: loss is nan", "exception"),
            (SystemExit(["nan"]), "SystemExit: ['nan']", "exception"),
            (type("SIGTERMException", (SystemExit,), {})(), "SIGTERM", "stopped"),
        ],
    )
    def test_the_reason_tells_an_interruption_from_a_failure(
        self, error: BaseException, reason: str, status: str, logs: Path
    ) -> None:
        with (
            contextlib.suppress(BaseException),
            tta.record(logs, benchmark="b", metric="m", target=1) as run,
        ):
            run.evaluation(0.5, epoch=1)
            raise error
        assert run.path is not None
        assert json.dumps(reason) in run.path.read_text().splitlines()[-1]
        row = the_run(logs)
        set_aside = "stopped" if status == "stopped" else None
        assert (row["run_status"], row["set_aside"], row["reached"]) == (status, set_aside, False)

    @pytest.mark.parametrize(
        ("end", "code", "status"),
        [
            (f"time.sleep({PATIENCE})", -signal.SIGKILL, "truncated"),
            (f"time.sleep({PATIENCE})", -signal.SIGTERM, "stopped"),
            ("raise RuntimeError('CUDA out of memory')", 1, "exception"),
            ("raise KeyboardInterrupt", -signal.SIGINT, "stopped"),
        ],
    )
    def test_a_run_outside_a_block_learns_why_its_process_ends(
        self, end: str, code: int, status: str, logs: Path
    ) -> None:
        program = (
            "import sys, time, ttastats as tta\n"
            "run = tta.record(sys.argv[1], benchmark='b', metric='m', target=1).start()\n"
            "run.evaluation(0.5, epoch=1)\n"
            "print('evaluated', flush=True)\n"
            f"{end}\n"
        )
        process = started(program, logs)
        if "sleep" in end:
            process.send_signal(-code)
        finish(process)
        row = the_run(logs)
        assert (process.returncode, row["run_status"]) == (code, status)
        assert (row["reached"], row["epochs"]) == (False, 1)
        assert row["set_aside"] == ("stopped" if status == "stopped" else None)

    @pytest.mark.parametrize("later", [1, 2])
    def test_a_signal_ends_the_runs_that_go_on_and_no_run_that_broke_off_before(
        self, later: int, logs: Path
    ) -> None:
        program = (
            "import sys, time, ttastats as tta\n"
            "def start():\n"
            "    run = tta.record(sys.argv[1], benchmark='b', metric='m', target=1).start()\n"
            "    run.evaluation(0.5, epoch=1)\n"
            "    return run\n"
            "broken = start()\n"  # by an exception that the script catches
            f"runs = [start() for _ in range({later})]\n"
            "for run in runs:\n"
            "    run.evaluation(0.6, epoch=2)\n"
            "print('evaluated', flush=True)\n"
            f"time.sleep({PATIENCE})\n"
        )
        process = started(program, logs)
        process.send_signal(signal.SIGTERM)
        finish(process)
        read(logs)
        rows = tta.runs(logs.parent / "read.parquet").rows
        expected = [(1, "exception"), *[(2, "stopped")] * later]
        assert sorted((row["epochs"], row["run_status"]) for row in rows) == expected
        broken = next(row for row in rows if row["epochs"] == 1)
        assert broken["run_seconds"] < 60  # until it was last heard of

    def test_handlers_are_those_of_before_or_those_that_others_set_meanwhile(
        self, logs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def others(*_: object) -> None:
            """Do nothing."""

        outside = signal.signal(signal.SIGTERM, signal.SIG_DFL)  # PyTorch may have left its own
        monkeypatch.setattr(run_ends.EndWatch, "_current", None)  # recordings that others left open
        before = sys.excepthook, signal.SIG_DFL
        try:
            with tta.record(logs, benchmark="b", metric="m", target=1):
                assert sys.excepthook is not before[0]
                assert signal.getsignal(signal.SIGTERM) is not before[1]
            assert (sys.excepthook, signal.getsignal(signal.SIGTERM)) == before
            with tta.record(logs, benchmark="b", metric="m", target=1):
                monkeypatch.setattr(sys, "excepthook", others)
                signal.signal(signal.SIGTERM, others)
            assert (sys.excepthook, signal.getsignal(signal.SIGTERM)) == (others, others)
        finally:
            signal.signal(signal.SIGTERM, outside)

    @pytest.mark.parametrize("end", [SystemExit(0), SystemExit(), GeneratorExit()])
    def test_an_orderly_end_after_the_target_is_a_success(
        self, end: BaseException, logs: Path
    ) -> None:
        with (
            contextlib.suppress(BaseException),
            tta.record(logs, benchmark="b", metric="m", target=1) as run,
        ):
            run.evaluation(1.0, epoch=1)
            raise end
        row = the_run(logs)
        assert (row["run_status"], row["reached"]) == ("success", True)

    def test_a_generator_that_is_closed_after_the_target_is_a_success(self, logs: Path) -> None:
        def training() -> Iterator[bool]:
            with tta.record(logs, benchmark="b", metric="m", target=1) as run:
                for epoch in range(9):
                    yield run.evaluation(epoch / 2, epoch=epoch)

        loop = training()
        for met in loop:
            if met:
                break
        del loop
        assert the_run(logs)["run_status"] == "success"

    @forks
    @pytest.mark.parametrize("seed", range(3))
    def test_a_forked_worker_writes_nothing(self, seed: int, logs: Path) -> None:
        ends = [
            "run.finish()",
            "run.finish('in a worker')",
            "run.__exit__(None, None, None)",
            "run.__exit__(OSError, OSError('in a worker'), None)",
            "sys.excepthook(OSError, OSError('in a worker'), None)",
        ]
        chosen = random.Random(seed).sample(ends, 3)
        calls = ["run.evaluation(1.0, epoch=7)", *chosen, "os.kill(os.getpid(), signal.SIGTERM)"]
        program = (
            "import os, signal, sys, ttastats as tta\n"
            "with tta.record(sys.argv[1], benchmark='b', metric='m', target=1) as run:\n"
            "    run.evaluation(0.5, epoch=1)\n"
            "    if not os.fork():\n"
            + "".join(f"        {call}\n" for call in calls)
            + "    os.wait()\n"
            "    assert not run.reached\n"
            "    run.evaluation(1.0, epoch=2)\n"
        )
        process = start("-c", program, logs, stderr=subprocess.PIPE)
        code, _, errors = finish(process)
        row = the_run(logs)
        assert (code, row["run_status"], row["epochs"]) == (0, "success", 2)
        assert "in a worker" not in next(logs.rglob("*.txt")).read_text()
        assert "<string>:5: RuntimeWarning: not recorded: this process was forked" in errors

    @forks
    def test_a_worker_of_several_processes_is_not_warned_where_nothing_is_recorded(
        self, logs: Path
    ) -> None:
        program = (
            "import os, sys, warnings, ttastats as tta\n"
            "warnings.simplefilter('error')\n"
            "with tta.record('x', benchmark='b', metric='m', target=1, enabled=False) as run:\n"
            "    if not os.fork():\n"
            "        os._exit(not run.evaluation(1.0))\n"
            "    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        )
        process = start("-c", program, logs, stderr=subprocess.PIPE)
        finish(process)
        assert process.returncode == 0

    def test_every_line_is_on_disk_at_once(self, logs: Path) -> None:
        with tta.record(logs, benchmark="b", metric="m", target=1) as run:
            assert run.path is not None
            assert "run_start" in run.path.read_text()
            run.evaluation(0.5, epoch=1)
            assert run.path.read_text().count("eval_accuracy") == 1

    def test_nothing_is_recorded_outside_a_run(self, logs: Path) -> None:
        run = tta.record(logs, benchmark="b", metric="m", target=1)
        with pytest.raises(TtastatsError, match="is not running"):
            run.evaluation(1.0, epoch=1)
        with run:
            pass
        run.finish()
        with pytest.raises(TtastatsError, match="is not running"):
            run.evaluation(1.0, epoch=1)

    def test_a_run_is_started_once(self, logs: Path) -> None:
        run = tta.record(logs, benchmark="b", metric="m", target=1)
        with run:
            with pytest.raises(TtastatsError, match="the recording is already running"):
                run.start()
            run.evaluation(1.0, epoch=1)
        assert the_run(logs)["run_status"] == "success"
        with run:  # again, after its end: another run
            pass
        assert len(read(logs)["source"].unique()) == 2

    def test_a_full_disk_ends_the_log_and_not_the_training(
        self, logs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with tta.record(logs, benchmark="b", metric="m", target=1) as run:
            with monkeypatch.context() as patched:
                patched.setattr(recording.run_log, "event_line", disk_full)
                with pytest.warns(RuntimeWarning, match=r"No space left(.|\n)*failed here"):
                    run.evaluation(0.5, epoch=1)
            assert run.evaluation(1.0, epoch=2)
        assert the_run(logs)["run_status"] == "truncated"


def disk_full(*_: object) -> str:
    raise OSError(28, "No space left on device")


class TestPlaces:
    def test_runs_at_once_take_different_numbers(self, logs: Path) -> None:
        with ThreadPoolExecutor(8) as pool:
            paths = list(pool.map(lambda seed: recorded(logs, [0.95], seed=seed), range(24)))
        assert len(set(paths)) == 24
        assert {path.parent for path in paths} == {logs / "local" / "results" / "small" / "digits"}
        assert len(read(logs)) == 24

    def test_other_processes_of_a_run_answer_and_write_nothing(self, logs: Path) -> None:
        with tta.record(logs, benchmark="b", metric="m", target=1, enabled=False) as run:
            assert not run.evaluation(0.5, epoch=1)
            assert run.evaluation(1.0, epoch=2)
        assert (run.path, run.reached) == (None, True)
        assert not logs.exists()

    def test_a_folder_that_cannot_be_written_to_is_one_clear_error(self, logs: Path) -> None:
        logs.write_text("a file")
        with (
            pytest.raises(TtastatsError, match="cannot write"),
            tta.record(logs, benchmark="b", metric="m", target=1),
        ):
            pytest.fail("the block must not begin")

    def test_a_description_by_hand_is_kept_and_may_say_more(self, logs: Path) -> None:
        recorded(logs, [1.0], accelerators=8)
        file = logs / "local" / "systems" / "small.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "notes": "by hand"}))
        recorded(logs, [1.0], accelerators=8)
        with pytest.warns(SystemDiffers, match="it is kept"):
            recorded(logs, [1.0], accelerators=4)
        assert "by hand" in file.read_text()


class TestTargets:
    @pytest.mark.parametrize(
        ("metric", "target", "higher", "value"),
        [
            ("accuracy", 0.94, True, 0.94),
            ("accuracy", "94%", True, 0.94),
            ("quality", "<=3.28", False, 3.28),
            ("val_loss", 3.28, False, 3.28),
            ("eval/WER", "5%", False, 0.05),
            ("answer", ">= 2", True, 2.0),
            ("answer", np.float64(0.5), True, 0.5),
        ],
    )
    def test_a_target_has_a_value_and_a_direction(
        self, metric: str, target: float | str, higher: bool, value: float, logs: Path
    ) -> None:
        with tta.record(logs, benchmark="b", metric=metric, target=target) as run:
            assert not run.evaluation(value + (-0.01 if higher else 0.01), epoch=1)
            assert run.evaluation(value, epoch=2)
        table = read(logs)
        assert table["higher_is_better"].unique().to_list() == [higher]
        assert table["target_value"].unique().to_list() == [value]


NO_FOLDERS = ("", "a/b", "..", "results", "a b", "nul")
NO_TARGETS = ("", "high", ">=", "=0.9", float("nan"), float("inf"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *(({"system": name}, "cannot be the name of a folder") for name in NO_FOLDERS),
        *(({"org": name}, "cannot be the name of a folder") for name in NO_FOLDERS),
        *(({"target": target}, "is not a quality target") for target in NO_TARGETS),
        ({"target": "<=1", "higher_is_better": True}, "contradicts"),
        ({"run_stop": 1}, "run_stop is a reserved name in a log"),
        ({"accelerators": 8, "nodes": 3}, "cannot be divided evenly over 3 nodes"),
    ],
)
def test_invalid_records_are_refused(settings: dict[str, Any], message: str, logs: Path) -> None:
    with pytest.raises(TtastatsError, match=message):
        tta.record(logs, **{"benchmark": "b", "metric": "m", "target": 1, **settings})


def test_no_setting_takes_a_word_of_the_log() -> None:
    columns = {"seed", "global_batch_size", "train_samples"}
    assert columns == mlperf_grammar._UNDERSTOOD - recording.TAKEN


def test_recording_loads_no_library(tmp_path: Path) -> None:
    code = (
        "import sys, ttastats as tta\n"
        "with tta.record(sys.argv[1], benchmark='b', metric='m', target=1) as run:\n"
        "    run.evaluation(1.0, epoch=1)\n"
        "large = {'torch', 'polars', 'scipy', 'numpy', 'msgspec', 'rich', 'typer', 'altair'}\n"
        "sys.exit(' '.join(large & {name.split('.')[0] for name in sys.modules}) or 0)"
    )
    process = python("-c", code, tmp_path)
    assert process.returncode == 0, process.stderr


def test_the_official_parser_reads_a_recorded_log(logs: Path) -> None:
    parser = pytest.importorskip(
        "mlperf_logging.compliance_checker.mlp_parser", reason="the official package is missing"
    )
    path = recorded(logs, [0.5, 0.95], lr=0.1)
    lines, errors = parser.parse_file(str(path), ruleset="5.1.0")
    assert errors == []
    assert len(lines) == len(path.read_text().splitlines())


def test_the_example_leads_to_a_verdict(tmp_path: Path) -> None:
    process = python(ROOT / "examples" / "record", cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    tta.ingest([tmp_path / "logs"], tmp_path / "runs.parquet")
    assert {row["n"] for row in tta.summary(tmp_path / "runs.parquet").rows} == {5}
    assert {row["reached"] for row in tta.summary(tmp_path / "runs.parquet").rows} == {5}
