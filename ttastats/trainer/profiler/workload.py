"""How is a workload of the trainer profiled: its step, other batch sizes, fewer layers, workers?"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import torch

from ttastats.base.errors import TtastatsError
from ttastats.base.units import seconds
from ttastats.trainer import hardware, workloads
from ttastats.trainer.parallel import Team, started_by_torchrun
from ttastats.trainer.profiler import ablation, batch_sizes, communication, rows, subject, timing
from ttastats.trainer.profiler.memory import Kept
from ttastats.trainer.profiler.recording import Recording, enough
from ttastats.trainer.profiler.rows import About
from ttastats.trainer.profiler.subject import Subject
from ttastats.trainer.settings import Overrides, Settings, settings_of, setup_suffix

#: Without a batch size from the user, a CPU gets one whose step is not longer.
_LONGEST_SECONDS = 0.25
_FIRST_TRIED, _SMALLEST = 8, 2


@dataclass(frozen=True, slots=True)
class Request:
    """What to profile.

    `steps` are those watched, None for as many as seem enough; `batch_sizes` are further ones to
    measure, empty for those up to saturation, None for none; `without` are layers to leave out.
    """

    workload: str
    options: Overrides
    steps: int | None = None
    batch_sizes: tuple[int, ...] | None = None
    ablation: bool = False
    without: tuple[str, ...] = ()


def recorded(request: Request) -> pl.DataFrame:
    """Return the rows of a new profile.

    Raises
    ------
    TtastatsError
        The options contradict each other, or this machine cannot do what they ask.
    """
    shared = _settings(request)
    if started_by_torchrun():
        raise TtastatsError(
            "starts its workers itself", where="profile", remedy="Use --workers without torchrun."
        )
    workers, us = shared.workers, Team(0, 1, torch.device(shared.device))
    fitted, left_out = _fitting(request, shared, us)
    alone = _settings(request, workers=1, batch_size=fitted.batch_size // workers)
    recording, samples = _recorded(alone, us, request)
    further = list(_further(request, alone, recording, us))
    if workers > 1:
        steps = request.steps or enough(recording.step_seconds)
        with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
            found = communication.measured(fitted, steps, Path(folder))
        further += rows.of_communication(found)
        part = f"the share of each of {workers} workers in {fitted.batch_size}"
        left_out = f"{part}; {left_out}" if left_out else part
    about = About(
        profile=_name(request, fitted),
        source=request.workload,
        precision=_precision(shared),
        samples=samples,
        left_out=left_out,
    )
    return rows.of(recording, about, further)


def _settings(request: Request, **values: Any) -> Settings:
    options = replace(request.options, values={**request.options.values, **values})
    return settings_of(options, workloads.load(request.workload), request.workload, seed=0)


def _precision(settings: Settings) -> str:
    """Return the precision of matrix products: TF32 is one of GPUs alone."""
    imitated = settings.device == "cpu" and settings.precision == "tf32"
    return "fp32" if imitated else str(settings.precision)


def _name(request: Request, settings: Settings) -> str:
    """Return the workload with what differs from its recipe, such as `digits-batch512`."""
    workload = workloads.load(request.workload)
    changed = {**request.options.values, "batch_size": settings.batch_size}
    suffix = setup_suffix(replace(request.options, values=changed), settings, workload)
    without = f" without {', '.join(request.without)}" if request.without else ""
    return workload.name + suffix + without


def _recorded(settings: Settings, us: Team, request: Request) -> tuple[Recording, int]:
    taken = subject.of(settings, us)
    kept = Kept(taken.model, taken.optimizers)
    compiled = bool(settings.compile)
    if compiled and request.without:
        raise TtastatsError("cannot remove layers of a compiled network", where="--without")
    recording = Recording(taken.device, kept, steps=request.steps, compiled=compiled)
    with _without(request):
        recording.begin()
        while not recording.done:
            taken.step()
            recording.step()
    return recording, taken.samples


@contextmanager
def _without(request: Request) -> Iterator[None]:
    """Leave out the layers that the request names, of which there must be some."""
    unknown = [kind for kind in request.without if kind not in ablation.LAYERS]
    if unknown:
        raise TtastatsError(
            f"unknown layers {unknown[0]!r}",
            where="--without",
            remedy=f"Layers: {', '.join(ablation.LAYERS)}.",
        )
    if not request.without:
        yield
        return
    with ablation.Without(request.without) as mode:
        yield
    for kind in request.without:
        if not mode.met[kind]:
            raise TtastatsError(f"the network has no {kind}", where="--without")


def _further(
    request: Request, settings: Settings, recording: Recording, us: Team
) -> Iterator[Mapping[str, Any]]:
    """Yield the measures of other batch sizes and of fewer layers."""
    if request.batch_sizes is not None:
        make = partial(_of_batch, request, us)
        cores = hardware.available_cpus()
        if request.batch_sizes:
            points = batch_sizes.of_sizes(make, request.batch_sizes, cores)
        else:
            largest = int(settings.values.get("train_samples", settings.batch_size))
            points = batch_sizes.looked_for(make, largest, cores)
        yield from rows.of_batch_sizes(points)
    if request.ablation:
        if settings.compile:
            raise TtastatsError("cannot remove layers of a compiled network", where="--ablation")
        steps = request.steps or enough(recording.step_seconds)
        found = ablation.measured(partial(subject.of, settings, us), steps)
        if not found:
            raise TtastatsError(
                "the network has no batch norm and no ReLU to remove", where="--ablation"
            )
        yield from rows.of_ablation(found)


def _of_batch(request: Request, us: Team, size: int) -> Subject:
    return subject.of(_settings(request, workers=1, batch_size=size), us)


def _fitting(request: Request, settings: Settings, us: Team) -> tuple[Settings, str | None]:
    """Return settings whose step a CPU takes in reasonable time, and what is said of that.

    A batch size that the user names is taken as it is.
    """
    asked, workers = settings.batch_size, settings.workers
    if us.device.type != "cpu" or "batch_size" in request.options.values or asked <= _FIRST_TRIED:
        return settings, None
    small = _of_batch(request, us, _FIRST_TRIED)
    small.step()
    length = timing.timed(small.step, us.device)
    taken = timing.seconds(length, by_cpu_time=timing.in_cpu_time(us.device))
    by_sample = taken / small.samples
    size = fitting(asked // workers, by_sample) * workers
    if size == asked:
        return settings, None
    told = (
        f"the recipe's {asked:,} would take about {seconds(by_sample * asked / workers)} a step; "
        f"--batch-size {asked} profiles them"
    )
    return _settings(request, batch_size=size), told


def fitting(asked: int, seconds_by_sample: float) -> int:
    """Halve a batch until its step is short enough."""
    while asked > _SMALLEST and asked * seconds_by_sample > _LONGEST_SECONDS:
        asked //= 2
    return asked
