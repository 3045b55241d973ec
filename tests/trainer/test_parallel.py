"""Do several workers share one run, and is what their talk costs in the log?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs PyTorch")
if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no process groups", allow_module_level=True)

from tests.trainer.runs import curve, environment, small, start, trained  # noqa: E402
from tests.trainer.test_interrupted import LONG_RUN, log_of  # noqa: E402
from ttastats import api  # noqa: E402
from ttastats.trainer import after, launch  # noqa: E402
from ttastats.trainer.collectives import union_seconds  # noqa: E402
from ttastats.trainer.parallel import Team  # noqa: E402
from ttastats.trainer.session import Made, Planned, made_as_plain, made_from_plain  # noqa: E402

TWO_WORKERS = LONG_RUN.replace("device=", "workers=2, device=")


@pytest.fixture(scope="module")
def shared_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Made]:
    """Give the same run twice, each made by two workers."""
    root = tmp_path_factory.mktemp("shared")
    return trained(root, small(workers=2, epochs=2), seeds=(5, 5))


def values(path: Path, key: str) -> list[object]:
    events = [json.loads(line.removeprefix(":::MLLOG ")) for line in path.read_text().splitlines()]
    return [event["value"] for event in events if event["key"] == key]


def test_one_log_per_run_whatever_the_number_of_workers(shared_runs: list[Made]) -> None:
    logs = sorted(path.name for path in shared_runs[0].log.parent.iterdir())
    assert logs == ["result_0.txt", "result_1.txt"]
    assert values(shared_runs[0].log, "workers") == [2]
    assert values(shared_runs[0].log, "train_samples") == [1198]
    assert len(shared_runs[0].outcome.epochs) == 2


def test_two_workers_give_bitwise_the_same_curve_again(shared_runs: list[Made]) -> None:
    assert curve(shared_runs[0]) == curve(shared_runs[1])


def test_two_workers_learn_something_else_than_one(shared_runs: list[Made], tmp_path: Path) -> None:
    (alone,) = trained(tmp_path, small(), seeds=(5,))
    assert curve(alone) != curve(shared_runs[0])


def test_communication_is_in_the_log_under_its_three_names(shared_runs: list[Made]) -> None:
    for made in shared_runs:
        (told,) = values(made.log, "communication")
        assert isinstance(told, dict)
        names = {"collective_seconds", "exposed_seconds", "allreduce_seconds", "share"}
        assert names <= told.keys()
        assert told["workers"] == 2
        assert told["steps"] == 2 * 19
        assert told["bytes_per_step"] == 4 * 19810
        per_epoch = [
            stats["collective_seconds"]
            for stats in values(made.log, "tracked_stats")
            if isinstance(stats, dict)
        ]
        assert len(per_epoch) == 2
        assert sum(per_epoch) == pytest.approx(told["collective_seconds"], abs=1e-5)
        assert 0 < told["share"] <= 1
    assert any("communication per run" in line for line in after.remarks(shared_runs))


def test_our_reader_finds_no_problem_in_the_logs(shared_runs: list[Made], tmp_path: Path) -> None:
    account = api.ingest([shared_runs[0].log.parent], tmp_path / "runs.parquet")
    assert (account.runs, account.problems) == (2, ())
    extra = api.read(tmp_path / "runs.parquet").collect().get_column("extra")[0]
    assert json.loads(extra)["communication"]["workers"] == 2


def test_torchrun_starts_the_workers_as_well(tmp_path: Path) -> None:
    program = tmp_path / "run.py"
    program.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from ttastats.trainer import experiment\n"
        "from ttastats.trainer.settings import Options\n"
        "request = experiment.Request('digits', Path(sys.argv[1]), 'Test', 'machine')\n"
        "planned = experiment.plan(request, Options(width=8, epochs=1, device='cpu'), [0])\n"
        "print(len(experiment.make(planned)), experiment.leads())\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", str(program), str(tmp_path)]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=False, timeout=120
    )
    # Now and then gloo aborts a worker that has finished, so that its exit code says nothing.
    assert values(log_of(tmp_path), "workers") == [2], done.stderr
    assert len(values(log_of(tmp_path), "run_stop")) == 1
    assert sorted(done.stdout.split()) == ["0", "1", "False", "True"]


def started(root: Path) -> subprocess.Popen[str]:
    process = start(TWO_WORKERS, root)
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if log_of(root).exists() and '"key": "eval_stop"' in log_of(root).read_text():
            return process
        time.sleep(0.05)
    process.kill()
    pytest.fail(f"the run did not begin: {process.communicate(timeout=60)}")


def test_an_interrupt_reaches_the_worker_that_logs(tmp_path: Path) -> None:
    process = started(tmp_path)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "interrupted by SIGINT" in said
    assert "Traceback" not in said
    last = json.loads(log_of(tmp_path).read_text().splitlines()[-1].removeprefix(":::MLLOG "))
    assert (last["key"], last["metadata"]["status"]) == ("run_stop", "aborted")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the worker through /proc")
def test_a_lost_worker_ends_the_run_with_one_clear_message(tmp_path: Path) -> None:
    process = started(tmp_path)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (second,) = [
        child
        for child in children
        if b"\0RANK=1\0" in b"\0" + Path(f"/proc/{child}/environ").read_bytes()
    ]
    os.kill(int(second), signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "another worker was lost" in said
    assert "Traceback" not in said
    (row,) = api.runs(_ingested(tmp_path)).rows
    assert (row["run_status"], row["reached"]) == ("aborted", False)


def test_workers_whose_starter_was_killed_stop_and_say_so(tmp_path: Path) -> None:
    process = started(tmp_path)
    process.kill()
    process.communicate(timeout=60)  # ends when the last worker has let go of its stderr
    (row,) = api.runs(_ingested(tmp_path)).rows
    assert (row["run_status"], row["reached"]) == ("aborted", False)


def _ingested(root: Path) -> Path:
    api.ingest([root / "Test" / "results"], root / "runs.parquet")
    return root / "runs.parquet"


def test_the_parts_of_a_batch_make_up_the_batch() -> None:
    batch = torch.arange(46)
    parts = [Team(rank, 2, torch.device("cpu")).share(batch) for rank in range(2)]
    assert [len(part) for part in parts] == [23, 23]
    assert sorted(torch.cat(parts).tolist()) == batch.tolist()


def test_overlapping_collectives_count_once() -> None:
    assert union_seconds([]) == 0.0
    assert union_seconds([(2.0, 3.0), (0.0, 1.0)]) == 2.0
    assert union_seconds([(0.0, 2.0), (1.0, 3.0), (1.5, 1.7)]) == 3.0


def test_jobs_and_runs_survive_the_way_between_processes(
    shared_runs: list[Made], tmp_path: Path
) -> None:
    from ttastats.result_files import Place

    place = Place(tmp_path, "Test", "machine", "digits")
    job = launch.Job((Planned(shared_runs[0].settings, place),), True, tmp_path / "answer.json")
    assert launch.job_from_text(launch.job_as_text(job)) == job
    plain = json.loads(json.dumps(made_as_plain(shared_runs[0])))
    assert made_from_plain(plain) == shared_runs[0]


def test_a_worker_whose_starter_is_gone_before_it_looks_stops() -> None:
    program = (
        "import os\n"
        "from ttastats.trainer import launch, worker\n"
        f"os.environ['TTASTATS_STARTER'] = '{2**22 + 1}'\n"
        "worker._follow_parent(launch.starter())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), check=False, timeout=120
    )
    assert done.returncode == -signal.SIGTERM
