"""How do several workers come to run? This process starts them, waits, and judges by what they say.

Under torchrun the workers are there already, and each of them is this process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ttastats.errors import TtastatsError
from ttastats.result_files import Place
from ttastats.trainer.interrupts import StopRequest, listening
from ttastats.trainer.parallel import STORE_VARIABLE
from ttastats.trainer.session import Made, Planned, made_from_plain
from ttastats.trainer.settings import Settings

#: The process that starts a worker: asked of the system after PyTorch is imported, it may be gone.
_STARTER_VARIABLE = "TTASTATS_STARTER"
#: Seconds the others get to follow when one worker has ended.
_GRACE_SECONDS = 20.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Job:
    """What the workers are told: the runs, and where the first of them puts its answer."""

    planned: tuple[Planned, ...]
    dawnbench: bool
    answer: Path


def run_with_workers(planned: Sequence[Planned], *, write_dawnbench: bool) -> list[Made]:
    """Start the workers, wait for them, and give the runs they made.

    Raises
    ------
    TtastatsError
        What the first worker could not do, or that a worker died; the logs are kept.
    """
    with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
        answer = Path(folder, "answer.json")
        job = Path(folder, "job.json")
        job.write_text(job_as_text(Job(tuple(planned), write_dawnbench, answer)), "utf-8")
        with listening() as stop:
            store = Path(folder, "store")
            workers = [
                _start(rank, planned[0].settings, job, store)
                for rank in range(planned[0].settings.workers)
            ]
            _wait(workers, stop)
        return _made(answer, [worker.returncode for worker in workers])


def _start(rank: int, settings: Settings, job: Path, store: Path) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(settings.workers),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "OMP_NUM_THREADS": str(settings.threads or 1),
        STORE_VARIABLE: str(store),
        _STARTER_VARIABLE: str(os.getpid()),
    }
    command = [sys.executable, "-m", "ttastats.trainer.worker", str(job)]
    # A group of its own: Ctrl-C at the terminal must reach the first worker once, from here.
    return subprocess.Popen(command, env=environment, start_new_session=True)  # noqa: S603


def starter() -> int:
    """Give the process that started this worker."""
    return int(os.environ[_STARTER_VARIABLE])


def _wait(workers: Sequence[subprocess.Popen[bytes]], stop: StopRequest) -> None:
    """Wait for all; once one has ended, the others follow soon or are made to."""
    told = False
    deadline = None
    try:
        while any(worker.poll() is None for worker in workers):
            if stop.reason is not None and not told:
                told = True
                workers[0].send_signal(signal.Signals[stop.reason])
            if deadline is None and any(worker.poll() is not None for worker in workers):
                deadline = time.monotonic() + _GRACE_SECONDS
            if deadline is not None and time.monotonic() > deadline:
                break
            time.sleep(_POLL_SECONDS)
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()


def _made(answer: Path, codes: Sequence[int]) -> list[Made]:
    if not answer.exists():
        raise TtastatsError(
            f"a worker died (exit codes {', '.join(map(str, codes))})",
            where="--workers",
            remedy="The logs are kept and count as runs that did not reach their target.",
        )
    # A worker that dies while leaving has done its work: exit codes are not asked here.
    said = json.loads(answer.read_text("utf-8"))
    if said.get("error"):
        raise TtastatsError(**said["error"])
    return [made_from_plain(plain) for plain in said["made"]]


def job_as_text(job: Job) -> str:
    """Give a job as JSON."""
    runs = [
        {
            "settings": one.settings.as_dict(),
            "place": {
                "root": str(one.place.root),
                "org": one.place.org,
                "system": one.place.system,
                "benchmark": one.place.benchmark,
            },
        }
        for one in job.planned
    ]
    return json.dumps({"planned": runs, "dawnbench": job.dawnbench, "answer": str(job.answer)})


def job_from_text(text: str) -> Job:
    """Give the job that `job_as_text` gave as JSON."""
    plain: dict[str, Any] = json.loads(text)
    planned = tuple(
        Planned(
            Settings(**one["settings"]),
            Place(**{**one["place"], "root": Path(one["place"]["root"])}),
        )
        for one in plain["planned"]
    )
    return Job(planned, plain["dawnbench"], Path(plain["answer"]))
