"""Who else works on this run? Nothing to do for one process; PyTorch's process groups for several.

Workers find each other by the variables that torchrun sets, whoever has started them.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from msgspec import Struct
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ttastats.base.errors import TtastatsError

#: A worker that waits longer than this for another gives up.
_PATIENCE = timedelta(minutes=10)
#: How often a worker looks whether it was left alone, and how long it then may take to end, however
#: busy the machine is.
_LOOK_SECONDS, _GRACE_SECONDS = 1.0, 120.0
#: Where processes can be forked of a server, it imports once what else takes every worker three
#: seconds of a CPU: PyTorch, what its optimizers import, and the trainer.
_START = "forkserver" if sys.platform == "linux" else "spawn"
IMPORTED_ONCE = ("torch._dynamo", "torch.distributed.elastic.agent", "ttastats.trainer.experiment")
#: Under this key of the workers' store stands what went wrong with one of them.
_FAILURE = "ttastats/failure"


class Team(Struct, frozen=True):
    """The number of a worker and how many there are; `device` is where its tensors live."""

    rank: int
    size: int
    device: torch.device

    @property
    def is_leader(self) -> bool:
        """Return whether this worker logs, evaluates and decides."""
        return self.rank == 0

    def wait_for_all(self) -> None:
        """Wait until every worker has reached this point."""
        if self.size > 1:
            dist.barrier()

    def own_share(self, samples: Tensor) -> Tensor:
        """Return this worker's part of a batch."""
        return samples[self.rank :: self.size] if self.size > 1 else samples

    def broadcast_decision(self, decision: bool) -> bool:
        """Return the first worker's decision to all workers."""
        if self.size == 1:
            return decision
        word = torch.tensor([int(decision)], device=self.device)
        dist.broadcast(word, src=0)
        return bool(word.item())

    def sum_over_workers(self, *numbers: float) -> list[float]:
        """Return the sum of each number over the workers."""
        if self.size == 1:
            return list(numbers)
        words = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        dist.all_reduce(words)
        return [float(number) for number in words.tolist()]

    def report_failure(self, error: BaseException) -> None:
        """Send the error of this worker to the others."""
        if self.size > 1 and not self.failure_text():
            trace = "".join(traceback.format_exception(error))
            text = f"worker {self.rank}: {type(error).__name__}: {error}\n{trace}"
            with suppress(RuntimeError):
                _rendezvous_store().set(_FAILURE, text)

    def failure_text(self) -> str:
        """Return the error of a failed worker, one line and its traceback; empty if none failed."""
        if self.size > 1:
            with suppress(RuntimeError):  # the store is gone with the process that kept it
                if _rendezvous_store().check([_FAILURE]):
                    return str(_rendezvous_store().get(_FAILURE).decode())
        return ""


def is_lost_worker(error: BaseException) -> bool:
    """Return whether an error means that another worker can no longer be reached."""
    return isinstance(error, dist.DistError) or (
        isinstance(error, RuntimeError) and "connection" in str(error).lower()
    )


def is_worker() -> bool:
    """Return whether this process is one worker of several."""
    return world_size() > 1


def world_size() -> int:
    """Return the number of workers by the environment variables."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank() -> int:
    """Return this worker's number, from 0."""
    return int(os.environ.get("RANK", "0"))


@contextmanager
def join_team(device: str) -> Iterator[Team]:
    """Yield the team of workers by the environment; leave it at the end."""
    main_device, gpu = torch.device(device), None
    if device == "cuda":
        main_device = gpu = torch.device(device, int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(gpu)
    if not is_worker():
        yield Team(0, 1, main_device)
        return
    threading.Thread(target=exit_with_parent, args=(_parent_alive(),), daemon=True).start()
    backend = "nccl" if gpu else "gloo"
    dist.init_process_group(backend, timeout=_PATIENCE, device_id=gpu)
    try:
        yield Team(rank(), world_size(), main_device)
    finally:
        dist.destroy_process_group()


def _rendezvous_store() -> Any:
    return dist.distributed_c10d._get_default_store()


def run_workers(workers: int, work: Callable[..., None], *arguments: Any) -> None:
    """Run a function in several processes, each a worker of the same run."""
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    for name in ("torch.distributed.elastic", "torch.multiprocessing.spawn"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what they say is said below
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=workers,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
        start_method=_START,
    )
    if _START == "forkserver":
        multiprocessing.set_forkserver_preload(list(IMPORTED_ONCE))
    try:
        elastic_launch(config, _run_worker)(work, arguments)
    except ChildFailedError as error:
        raise _worker_error(*error.get_first_failure()) from None
    except SignalException as error:
        name = signal.Signals(error.sigval).name
        raise TtastatsError(f"interrupted by {name}; this is recorded in the log") from None


def _worker_error(number: int, failure: Any) -> TtastatsError:
    """Return the error of the first worker that failed, or how it died."""
    message = failure.error_file_data["message"]
    if not isinstance(message, dict):
        what = f"worker {number} died during a run, which counts as failed: {failure.message}"
        remedy = "It may have run out of memory. Run the same command again to repeat the run."
        return TtastatsError(what, where="--workers", remedy=remedy)
    text = str(message["message"])
    if text.startswith("TtastatsError: "):
        what, _, remedy = text.removeprefix("TtastatsError: ").partition("\n  ")
        return TtastatsError(what, remedy=remedy)
    return TtastatsError(f"worker {number}: {text}", remedy=message["extraInfo"]["py_callstack"])


def _run_worker(work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    # A group of its own: Ctrl-C at the terminal must reach a worker once, from its starter.
    os.setpgrp()
    gc.freeze()  # what was imported stays: a collection would copy it all from the server
    if _parent_alive()():  # or nobody waits for the work any more
        work(*arguments)


def _parent_alive() -> Callable[[], bool]:
    """Return a function that checks whether the parent process is alive."""
    starter = multiprocessing.parent_process()  # which need not be the process this was forked of
    if starter is not None:
        return starter.is_alive
    parent = os.getppid()
    return lambda: os.getppid() == parent


def exit_with_parent(lives: Callable[[], bool]) -> None:
    """End this worker when the process that started it is gone."""
    while lives():
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_SECONDS)
    os._exit(1)  # it may wait for another worker, and nobody is left to end it


def average_gradients(model: nn.Module, team: Team) -> DistributedDataParallel:
    """Return a model whose gradients are averaged over the workers.

    Statistics of batch normalisation stay each worker's own, as the first worker evaluates.
    """
    # Remarks a user of this trainer can do nothing about: on 1x1 convolutions, and on an option
    # whose new name the oldest supported PyTorch does not know.
    warnings.filterwarnings("ignore", message="Grad strides do not match bucket view strides")
    warnings.filterwarnings("ignore", message="`broadcast_buffers` is deprecated")
    devices = [team.device] if team.device.type == "cuda" else None
    return DistributedDataParallel(model, device_ids=devices, broadcast_buffers=False)
