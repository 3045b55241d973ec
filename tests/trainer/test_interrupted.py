"""What is left of a run that was killed, interrupted, or had no room to write?"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs PyTorch")

from tests.programs import PATIENCE, ended, until
from tests.trainer.runs import forked, has_evaluated, log_of, request, small, start, trained
from ttastats import api
from ttastats.base import atomic
from ttastats.base.errors import TtastatsError
from ttastats.recording import result_files
from ttastats.recording.clock import Clock
from ttastats.recording.result_files import ResultFolder
from ttastats.recording.run_log import RunLog
from ttastats.trainer import (
    experiment,
    session,
)
from ttastats.trainer.events import Checkpoint
from ttastats.trainer.interrupts import Interrupted, StopRequest, stop_on_signals

TAKE_NUMBERS = """
import sys
from pathlib import Path
from ttastats.recording.result_files import ResultFolder, create_log
for _ in range(25):
    path, stream = create_log(ResultFolder(Path(sys.argv[1]), "Test", "machine", "digits"))
    stream.write("x\\n")
    stream.close()
    print(path.name, flush=True)
"""


class Signals(session.Watcher):
    """Sends a signal to this process when the second epoch is over."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def on_checkpoint(self, checkpoint: Checkpoint) -> None:
        if checkpoint.epoch == 2:
            os.kill(os.getpid(), self.number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_run_says_so_and_is_set_aside(
    number: signal.Signals, tmp_path: Path
) -> None:
    options = small(target=0.9999, epochs=100.0)
    planned = experiment.plan_runs(request(tmp_path), options, (0, 1)).runs
    with pytest.raises(TtastatsError, match=f"interrupted by {number.name}") as caught:
        session.make_all(planned, Signals(number))
    assert caught.value.where == str(log_of(tmp_path))
    last = json.loads(log_of(tmp_path).read_text().splitlines()[-1].removeprefix(":::MLLOG "))
    assert last["key"] == "run_stop"
    assert (last["metadata"]["status"], last["metadata"]["reason"]) == ("aborted", number.name)
    assert last["metadata"]["epoch_num"] == 2
    (row,) = api.runs(ingested(tmp_path)).rows
    assert (row["run_status"], row["set_aside"], row["epochs"]) == ("stopped", "stopped", 2.0)


class OutOfMemory(session.Watcher):
    """Runs out of memory when the second epoch is over."""

    def on_checkpoint(self, checkpoint: Checkpoint) -> None:
        if checkpoint.epoch == 2:
            raise RuntimeError("CUDA out of memory")


def test_a_run_that_an_exception_ends_says_which_and_fails(tmp_path: Path) -> None:
    options = small(target=0.9999, epochs=100.0)
    planned = experiment.plan_runs(request(tmp_path), options, (0,)).runs
    with pytest.raises(RuntimeError, match="out of memory"):
        session.make_all(planned, OutOfMemory())
    assert '"reason": "RuntimeError: CUDA out of memory"' in log_of(tmp_path).read_text()
    (row,) = api.runs(ingested(tmp_path)).rows
    assert (row["run_status"], row["set_aside"], row["epochs"]) == ("exception", None, 2.0)
    (row,) = api.summary(tmp_path / "runs.parquet").rows
    assert (row["n"], row["reached"]) == (1, 0)


def train_for_long(root: Path, most_bytes: int | None = None) -> None:
    """Train in this process, which may write files of so many bytes."""
    if most_bytes is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    options = small(target=0.9999, epochs=100_000.0)
    try:
        experiment.make_runs(experiment.plan_runs(request(root), options, (0,)).missing)
    except TtastatsError as error:
        sys.exit(f"ttastats: {error}")


def test_a_killed_run_leaves_whole_lines_and_fails(tmp_path: Path, workers_say: Path) -> None:
    with forked(train_for_long, tmp_path) as process:
        until(lambda: has_evaluated(tmp_path) or process.exitcode is not None)
    assert process.exitcode == -signal.SIGKILL
    text = log_of(tmp_path).read_text()
    assert text.endswith("\n")
    keys = [json.loads(line.removeprefix(":::MLLOG "))["key"] for line in text.splitlines()]
    assert "run_stop" not in keys
    (row,) = api.runs(ingested(tmp_path)).rows
    assert (row["run_status"], row["reached"], row["set_aside"]) == ("truncated", False, None)
    options = small(target=0.9999, epochs=100_000.0)
    assert len(experiment.plan_runs(request(tmp_path), options, (0,)).missing) == 1


def ingested(root: Path) -> Path:
    api.ingest([root / "Test" / "results"], root / "runs.parquet")
    return root / "runs.parquet"


def test_an_interrupt_before_the_first_step_leaves_no_false_run(tmp_path: Path) -> None:
    class Already(StopRequest):
        def __init__(self, *, alone: bool = True) -> None:
            super().__init__(alone=alone)
            self.reason = "SIGTERM"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ttastats.trainer.interrupts.StopRequest", Already)
        with pytest.raises(TtastatsError, match="interrupted by SIGTERM"):
            trained(tmp_path, small())
    assert '"run_start"' not in log_of(tmp_path).read_text()


def test_the_signals_mean_afterwards_what_they_meant_before() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Interrupted, match="SIGTERM"):
            stop.raise_if_stopped()
        os.kill(os.getpid(), signal.SIGTERM)  # a second SIGTERM changes nothing
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_second_ctrl_c_ends_the_program() -> None:
    with stop_on_signals() as stop:
        stop.handle_signal(signal.SIGINT, None)
        with pytest.raises(KeyboardInterrupt):
            stop.handle_signal(signal.SIGINT, None)
    with stop_on_signals(alone=False) as one_of_several:
        one_of_several.handle_signal(signal.SIGINT, None)
        one_of_several.handle_signal(signal.SIGINT, None)
    assert one_of_several.reason == "SIGINT"


def test_two_trainers_in_one_folder_take_different_numbers(tmp_path: Path) -> None:
    trainers = [start(TAKE_NUMBERS, tmp_path) for _ in range(2)]
    names = [ended(trainer)[1].split() for trainer in trainers]
    assert [len(own) for own in names] == [25, 25]
    assert set(names[0]) | set(names[1]) == {f"result_{number}.txt" for number in range(50)}


def test_a_log_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    place = ResultFolder(tmp_path, "Test", "machine", "digits")
    place.results.mkdir(parents=True)
    (place.results / "result_0.txt").write_text("older")
    path, stream = result_files.create_log(place)
    stream.close()
    assert path.name == "result_1.txt"
    assert (place.results / "result_0.txt").read_text() == "older"


def test_a_full_disk_is_one_clear_error(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    stream = full.open("w", buffering=1)
    log = RunLog(tmp_path / "result_0.txt", stream, Clock())
    for _ in range(2):
        with pytest.raises(TtastatsError, match=r"result_0\.txt: cannot write: No space left"):
            log.point("seed", 1)
    log.close()


def test_a_run_that_meets_a_limit_of_space_keeps_what_it_wrote(
    tmp_path: Path, workers_say: Path
) -> None:
    pytest.importorskip("resource", reason="this system has no limits on file sizes")
    before = workers_say.stat().st_size
    with forked(train_for_long, tmp_path, 12_000) as process:
        process.join(PATIENCE)
    said = workers_say.read_bytes()[before:].decode()
    assert process.exitcode == 1
    assert "Traceback" not in said
    assert "result_0.txt: cannot write: File too large" in said
    assert "Earlier output is kept" in said
    (row,) = api.runs(ingested(tmp_path)).rows
    assert (row["run_status"], row["reached"]) == ("truncated", False)


@pytest.mark.skipif(sys.platform == "win32", reason="folders have other rights there")
def test_a_folder_that_cannot_be_written_to_is_said_before_training(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):  # the superuser may write anywhere
        folder = Path("/proc/ttastats")
    with pytest.raises(TtastatsError, match="cannot write") as caught:
        trained(folder, small())
    assert caught.value.where is not None
    assert str(folder) in caught.value.where


def test_a_file_in_the_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("mine")
    with pytest.raises(TtastatsError, match="cannot write: Not a directory"):
        trained(tmp_path / "logs", small())
    assert (tmp_path / "logs").read_text() == "mine"


def test_a_small_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "machine.json"
    path.write_text("old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with contextlib.suppress(OSError):
        atomic.write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "results", "a b"])
def test_names_that_can_be_no_folder_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(TtastatsError, match="cannot be the name of a folder"):
        experiment.plan_runs(request(tmp_path, org=name), small(), (0,))
