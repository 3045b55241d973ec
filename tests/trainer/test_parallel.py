"""Do several workers share one run, and is the cost of their communication in the log?"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
import torch

if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no process groups", allow_module_level=True)

from torch.distributed import run as torchrun_program

from tests.programs import PATIENCE, environment, finish, start, wait_until
from tests.trainer.runs import (
    OWN,
    events,
    forked,
    has_evaluated,
    log_of,
    request,
    small,
    the_run,
    trained,
)
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.trainer import experiment, parallel
from ttastats.trainer.parallel import Team
from ttastats.trainer.settings import Overrides

#: Makes a run with the values that are given after its folder.
PROGRAM = """
import json, signal, sys
from pathlib import Path
from ttastats.trainer import experiment
from ttastats.trainer.settings import Overrides
signal.alarm(PATIENCE)
request = experiment.Request("digits", Path(sys.argv[1]), "Test", "machine")
options = Overrides({"width": 8, **json.loads(sys.argv[2])}, "cpu")
experiment.make_runs(experiment.plan_runs(request, options, [5]).runs)
print(experiment.is_leader())
""".replace("PATIENCE", str(int(PATIENCE)))


def torchrun_of(node: int, port: str, program: Path, root: Path) -> None:
    """Run torchrun's launcher for one node in this process; it starts a worker process."""
    os.environ.update(environment(OMP_NUM_THREADS="1"))
    with (root / f"node_{node}").open("w") as stream:
        for number in (1, 2):
            os.dup2(stream.fileno(), number)
    meeting = ["--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={port}"]
    here = ["--nproc-per-node=1", f"--node-rank={node}"]
    torchrun_program.main([*meeting, *here, str(program), str(root), '{"epochs": 2}'])


@pytest.fixture(scope="module")
def torchrun(tmp_path_factory: pytest.TempPathFactory, worker_output: Path) -> Path:
    """Return the folder of a run by two workers that torchrun started on two nodes."""
    root = tmp_path_factory.mktemp("shared")
    program = root / "run.py"
    program.write_text(PROGRAM)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    nodes = [forked(torchrun_of, node, port, program, root) for node in range(2)]
    with nodes[0] as first, nodes[1] as second:
        for process in (first, second):
            process.join(PATIENCE)
    return root


@pytest.fixture(scope="module")
def shared_runs(torchrun: Path) -> list[Path]:
    """Return logs of the same run twice: its two workers were started by torchrun, then by us."""
    planned = experiment.plan_runs(request(torchrun), small(workers=2, epochs=2), (5,)).runs
    experiment.make_runs(planned)
    return sorted(planned[0].folder.results.iterdir())


def test_torchrun_starts_a_run_on_two_nodes(torchrun: Path) -> None:
    outputs = [(torchrun / f"node_{node}").read_text() for node in range(2)]
    # Now and then gloo aborts a worker that has finished, so that its exit code says nothing.
    assert values(log_of(torchrun), "workers") == [2], outputs
    assert len(values(log_of(torchrun), "run_stop")) == 1
    leads = [[word for word in output.split() if word in {"True", "False"}] for output in outputs]
    assert leads == [["True"], ["False"]]


def values(path: Path, key: str) -> list[Any]:
    return [event["value"] for event in events(path) if event["key"] == key]


def test_two_workers_write_one_log_and_give_bitwise_the_same_curve_again(
    shared_runs: list[Path], tmp_path: Path
) -> None:
    assert [path.name for path in shared_runs] == ["result_0.txt", "result_1.txt"]
    first, second = (values(path, "eval_accuracy") for path in shared_runs)
    assert len(first) == 2
    assert first == second
    for path in shared_runs:
        assert values(path, "workers") == [2]
        assert values(path, "train_samples") == [1198]
    (alone,) = trained(tmp_path, small(), seeds=(5,))
    assert values(alone.log, "eval_accuracy") != first
    (totals,) = values(shared_runs[0], "run_totals")
    assert totals["cpu_seconds_all_workers"] > 1.5 * totals["cpu_seconds"]
    account = api.ingest([shared_runs[0].parent], tmp_path / "runs.parquet")
    assert (account.runs, [problem.code for problem in account.problems]) == (2, ["duplicate_run"])


@contextmanager
def as_soon_as_it_evaluated(root: Path, act: Callable[[], object]) -> Iterator[None]:
    """Call a function while this process waits for the workers of a run."""
    over, end = threading.Event(), time.monotonic() + PATIENCE

    def look() -> None:
        while not over.wait(0.02):
            if has_evaluated(root) or time.monotonic() > end:
                act()
                return

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


def stopped(root: Path, act: Callable[[], object], worker_output: Path) -> str:
    """Train for very long with two workers, and return their output after a stop."""
    endless = small(workers=2, target=0.9999, epochs=100_000.0)
    planned = experiment.plan_runs(request(root), endless, (0,)).runs
    before = worker_output.stat().st_size
    with as_soon_as_it_evaluated(root, act), pytest.raises(TtastatsError) as caught:
        experiment.make_runs(planned)
    return f"{caught.value}{worker_output.read_bytes()[before:].decode()}"


def test_an_interrupt_reaches_the_worker_that_logs(tmp_path: Path, worker_output: Path) -> None:
    output = stopped(tmp_path, lambda: os.kill(os.getpid(), signal.SIGINT), worker_output)
    assert "interrupted by SIGINT" in output
    assert "Traceback" not in output
    last = events(log_of(tmp_path))[-1]
    assert (last["key"], last["metadata"]["status"]) == ("run_stop", "aborted")


def workers() -> list[int]:
    """Return the workers that this process has started, in their order."""
    (server,) = (child for child in children(os.getpid()) if b"forkserver" in command_line(child))
    return sorted(children(server))


def children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def command_line(process: int) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the worker through /proc")
def test_a_lost_worker_ends_the_run_with_one_clear_message(
    tmp_path: Path, worker_output: Path
) -> None:
    output = stopped(tmp_path, lambda: os.kill(workers()[1], signal.SIGKILL), worker_output)
    assert "worker 1 died" in output or "another worker was lost" in output
    assert "Traceback" not in output
    row = the_run(tmp_path)
    assert row["run_status"] in {"exception", "truncated"}
    assert (row["reached"], row["set_aside"]) == (False, None)


#: What the second worker does in the third epoch.
RAISING = """
def augment(inputs, epoch):
    import os
    if os.environ.get("RANK") == "1" and epoch == 2:
        raise ValueError("my own mistake")
    return inputs
"""


def test_an_error_of_another_worker_is_shown_and_fails_the_run(tmp_path: Path) -> None:
    path = tmp_path / "raising.py"
    path.write_text(OWN.replace("target=0.01", "target=0") + RAISING)
    plan = request(tmp_path, str(path)), Overrides({"workers": 2}, "cpu"), (0,)
    planned = experiment.plan_runs(*plan)
    with pytest.raises(TtastatsError) as caught:
        experiment.make_runs(planned.runs)
    message = str(caught.value)
    # That of the first worker, which names the other, or that of the other, with its place.
    texts = ("worker 1: ValueError: my own mistake", "in augment: ValueError: my own mistake")
    assert any(text in message for text in texts)
    assert 'raising.py", line' in message
    (log,) = planned.runs[0].folder.results.iterdir()
    last = log.read_text().splitlines()[-1]
    assert '"reason": "worker 1: ValueError: my own mistake"' in last
    row = the_run(tmp_path)
    assert (row["run_status"], row["set_aside"], row["reached"]) == ("exception", None, False)
    assert not experiment.plan_runs(*plan).missing  # a failure is a result


def test_workers_whose_parent_was_killed_stop_with_a_message(tmp_path: Path) -> None:
    endless = '{"target": 0.9999, "epochs": 100000, "workers": 2}'
    process = start(
        "-c", PROGRAM, tmp_path, endless, env=environment(OMP_NUM_THREADS="1"), stdout=PIPE
    )
    wait_until(lambda: has_evaluated(tmp_path), process)
    process.kill()
    finish(process)  # when the last worker has let go of its stderr
    row = the_run(tmp_path)
    assert (row["run_status"], row["reached"]) == ("stopped", False)


def test_the_parts_of_a_batch_make_up_the_batch() -> None:
    parts = [Team(rank, 2, torch.device("cpu")).own_share(torch.arange(46)) for rank in range(2)]
    assert [len(part) for part in parts] == [23, 23]
    assert sorted(torch.cat(parts).tolist()) == list(range(46))


def test_a_worker_whose_parent_died_at_its_start_stops() -> None:
    class StoppedError(Exception):
        """The exception that the signal raises."""

    def stop(*_: object) -> None:
        raise StoppedError

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(StoppedError):
            parallel.exit_with_parent(lambda: False)
    finally:
        signal.signal(signal.SIGTERM, before)
