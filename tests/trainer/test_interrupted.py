"""What remains of a run that was killed, interrupted, or ran out of disk space?"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.programs import PATIENCE, wait_until
from tests.trainer.runs import (
    events,
    forked,
    has_evaluated,
    log_of,
    request,
    small,
    the_run,
    trained,
)
from ttastats.base.errors import TtastatsError
from ttastats.trainer import experiment, session
from ttastats.trainer.events import Checkpoint
from ttastats.trainer.loop import Interrupted, StopRequest, stop_on_signals

ENDLESS = small(target=0.9999, epochs=100_000.0)


def run_out_of_memory() -> None:
    raise RuntimeError("CUDA out of memory")


@pytest.mark.parametrize(
    ("act", "message", "reason", "status"),
    [
        (partial(signal.raise_signal, signal.SIGTERM), "interrupted by", "SIGTERM", "stopped"),
        (partial(signal.raise_signal, signal.SIGINT), "interrupted by", "SIGINT", "stopped"),
        (run_out_of_memory, "out of memory", "RuntimeError: CUDA out of memory", "exception"),
    ],
)
def test_an_interrupted_run_is_set_aside_and_one_that_breaks_off_fails(
    act: Callable[[], None], message: str, reason: str, status: str, tmp_path: Path
) -> None:
    class Acting(session.Watcher):
        def on_checkpoint(self, checkpoint: Checkpoint) -> None:
            if checkpoint.epoch == 2:
                act()

    planned = experiment.plan_runs(request(tmp_path), ENDLESS, (0, 1)).runs
    with pytest.raises((TtastatsError, RuntimeError), match=message) as caught:
        session.make_all(planned, Acting())
    assert getattr(caught.value, "where", str(log_of(tmp_path))) == str(log_of(tmp_path))
    last = events(log_of(tmp_path))[-1]
    assert last["key"] == "run_stop"
    assert (last["metadata"]["status"], last["metadata"]["reason"]) == ("aborted", reason)
    assert last["metadata"]["epoch_num"] == 2
    row = the_run(tmp_path)
    assert (row["run_status"], row["epochs"]) == (status, 2.0)
    assert row["set_aside"] == ("stopped" if status == "stopped" else None)


def train_for_long(root: Path, most_bytes: int | None = None) -> None:
    """Train in this process, which may write files of a limited size."""
    if most_bytes is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    try:
        experiment.make_runs(experiment.plan_runs(request(root), ENDLESS, (0,)).missing)
    except TtastatsError as error:
        sys.exit(f"ttastats: {error}")


def test_a_killed_run_leaves_whole_lines_and_fails(tmp_path: Path, worker_output: Path) -> None:
    with forked(train_for_long, tmp_path) as process:
        wait_until(lambda: has_evaluated(tmp_path) or process.exitcode is not None)
    assert process.exitcode == -signal.SIGKILL
    text = log_of(tmp_path).read_text()
    assert text.endswith("\n")
    assert len(events(log_of(tmp_path))) == len(text.splitlines())
    assert '"run_stop"' not in text
    row = the_run(tmp_path)
    assert (row["run_status"], row["reached"], row["set_aside"]) == ("truncated", False, None)
    assert len(experiment.plan_runs(request(tmp_path), ENDLESS, (0,)).missing) == 1


def test_a_run_that_meets_a_limit_of_space_keeps_what_it_wrote(
    tmp_path: Path, worker_output: Path
) -> None:
    pytest.importorskip("resource", reason="this system has no limits on file sizes")
    before = worker_output.stat().st_size
    with forked(train_for_long, tmp_path, 12_000) as process:
        process.join(PATIENCE)
    output = worker_output.read_bytes()[before:].decode()
    assert process.exitcode == 1
    assert "Traceback" not in output
    assert "result_0.txt: cannot write: File too large" in output
    assert "Earlier output is kept" in output
    row = the_run(tmp_path)
    assert (row["run_status"], row["reached"]) == ("truncated", False)


def test_an_interrupt_before_the_first_step_leaves_no_false_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def already(*, alone: bool = True) -> StopRequest:
        stop = StopRequest(alone=alone)
        stop.reason = "SIGTERM"
        return stop

    monkeypatch.setattr("ttastats.trainer.loop.StopRequest", already)
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


def test_impossible_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("mine")
    with pytest.raises(TtastatsError, match="cannot write: Not a directory"):
        trained(tmp_path / "logs", small())
    assert (tmp_path / "logs").read_text() == "mine"
    for where in ("org", "system"):
        with pytest.raises(TtastatsError, match="cannot be the name of a folder"):
            experiment.plan_runs(request(tmp_path, **{where: "a/b"}), small(), (0,))
