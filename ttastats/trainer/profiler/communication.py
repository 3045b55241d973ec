"""How long do workers of one step wait for each other's gradients? Three answers, named apart.

Under way: the union of the times from the start of an all-reduce to its end, which includes waiting
for the slower worker (Coleman et al., Tables 8 and 9). Exposed: how much longer a step is than one
that sends nothing. Pure: sending as many bytes when nobody computes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

from ttastats.trainer import parallel
from ttastats.trainer.parallel import Team
from ttastats.trainer.profiler import subject
from ttastats.trainer.profiler.subject import Subject
from ttastats.trainer.settings import Settings

_WARM_UP = 3

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Communication:
    """Seconds of a step on the wall of the first worker, as medians of `steps` steps.

    `under_way` is None on a GPU, where only a trace shows it.
    """

    workers: int
    step: float
    silent: float
    under_way: float | None
    pure: float
    bytes: int
    steps: int

    @property
    def exposed(self) -> float:
        """Return how much longer a step is for its communication."""
        return self.step - self.silent


def measured(settings: Settings, steps: int, folder: Path) -> Communication:
    """Let the workers of a setup take some steps, in processes of their own.

    Raises
    ------
    TtastatsError
        A worker failed.
    """
    path = folder / "communication.json"
    parallel.launch(settings.workers, _work, settings, steps, path)
    return Communication(**json.loads(path.read_text("utf-8")))


def _work(settings: Settings, steps: int, path: Path) -> None:
    """Do what one worker does; the first writes what it measured."""
    with parallel.team(settings.device) as us:
        found = _measured(subject.of(settings, us), us, steps)
        if us.leads:
            path.write_text(json.dumps(asdict(found)), "utf-8")
        us.wait()


def _measured(taken: Subject, us: Team, steps: int) -> Communication:
    model: Any = taken.training
    sent: list[Interval] = []
    sizes: list[int] = []
    model.register_comm_hook(us.size, _noting(sent, sizes))
    for _ in range(_WARM_UP):
        taken.step()
    heard, silent, under_way, size = [], [], [], 0
    for _ in range(steps):
        sent.clear()
        sizes.clear()
        heard.append(_wall(taken.step, us))
        under_way.append(union(sent))
        size = sum(sizes)
        with model.no_sync():
            silent.append(_wall(taken.step, us))
    buffer = torch.zeros(max(1, size // 4), device=us.device)
    pure = [_wall(lambda: dist.all_reduce(buffer), us) for _ in range(steps)]
    on_cpu = us.device.type == "cpu"
    return Communication(
        workers=us.size,
        step=median(heard),
        silent=median(silent),
        under_way=median(under_way) if on_cpu else None,
        pure=median(pure),
        bytes=size,
        steps=steps,
    )


def _wall(work: Callable[[], object], us: Team) -> float:
    """Return how long some work takes that all workers begin together."""
    us.wait()
    began = time.perf_counter()
    work()
    if us.device.type == "cuda":
        torch.cuda.synchronize(us.device)
    return time.perf_counter() - began


def _noting(sent: list[Interval], sizes: list[int]) -> Callable[[int, Any], Any]:
    """Return what averages a bucket of gradients, and notes when and how many bytes."""

    def average(workers: int, bucket: Any) -> Any:
        began, tensor = time.perf_counter(), bucket.buffer()
        sizes.append(tensor.nbytes)
        tensor.div_(workers)
        sending: Any = dist.all_reduce(tensor, async_op=True)

        def ended(future: Any) -> torch.Tensor:
            sent.append((began, time.perf_counter()))
            return future.value()[0]  # type: ignore[no-any-return]

        return sending.get_future().then(ended)

    average.__annotations__.clear()  # PyTorch compares them with types, and these are texts
    return average


def union(intervals: Iterable[Interval]) -> float:
    """Return the length of the union of some intervals."""
    total, end = 0.0, float("-inf")
    for start, stop in sorted(intervals):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total
