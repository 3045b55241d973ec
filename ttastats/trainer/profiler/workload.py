"""How is a workload of the trainer profiled: its step, other batch sizes, fewer layers, workers?"""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import torch
from msgspec import Struct
from msgspec.structs import replace

from ttastats.base.errors import raise_if
from ttastats.base.units import seconds
from ttastats.traces.table import Row
from ttastats.trainer import hardware, workloads
from ttastats.trainer.parallel import Team, is_worker
from ttastats.trainer.profiler import timing, variants
from ttastats.trainer.profiler.memory import TrainingState
from ttastats.trainer.profiler.recording import About, Recording, profile_rows, steps_to_profile
from ttastats.trainer.profiler.timing import Stopwatch
from ttastats.trainer.settings import Overrides, Settings, complete_settings, setup_suffix

#: Without a batch size from the user, a CPU gets one whose step is not longer.
_LONGEST_SECONDS = 0.25
_FIRST_TRIED, _SMALLEST = 8, 2
_COMPILED = "cannot remove layers of a compiled network"


class Request(Struct, frozen=True):
    """What to profile.

    `steps` and `batch_sizes` are those to measure: None for as many steps as seem enough and for no
    other sizes, empty for sizes up to saturation; `without` are layers to leave out.
    """

    workload: str
    options: Overrides
    steps: int | None = None
    batch_sizes: tuple[int, ...] | None = None
    ablation: bool = False
    without: tuple[str, ...] = ()


def profile_workload(request: Request) -> pl.DataFrame:
    """Return the rows of a new profile of a workload."""
    shared = _request_settings(request)
    remedy = "Use --workers without torchrun."
    raise_if(is_worker(), "starts its workers itself", "profile", remedy)
    workers, team = shared.workers, Team(0, 1, torch.device(shared.device))
    fitted, left_out = _shortened_settings(request, shared, team)
    alone = _request_settings(request, workers=1, batch_size=fitted.batch_size // workers)
    recording, samples = _record_steps(alone, team, request)
    steps = request.steps or steps_to_profile(recording.plain.median)
    further: list[Row] = []
    if request.batch_sizes is not None:
        make = partial(_step_of_batch, request, team)
        largest = int(alone.values.get("train_samples", alone.batch_size))
        cores = hardware.available_cpus()
        further += variants.batch_size_measures(make, request.batch_sizes, largest, cores)
    if request.ablation:
        raise_if(alone.compile, _COMPILED, "--ablation")
        step_of = partial(timing.prepare_step, alone, team)
        ablated = list(variants.ablation_measures(step_of, steps))
        absent = "the network has no batch norm and no ReLU to remove"
        raise_if(not ablated, absent, "--ablation")
        further += ablated
    if workers > 1:
        with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
            further += variants.communication_measures(fitted, steps, Path(folder))
        part = f"the share of each of {workers} workers in {fitted.batch_size}"
        left_out = f"{part}; {left_out}" if left_out else part
    # TF32 is one of GPUs alone.
    imitated = shared.device == "cpu" and shared.precision == "tf32"
    precision = "fp32" if imitated else str(shared.precision)
    changed = {**request.options.values, "batch_size": fitted.batch_size}
    name = workloads.load_workload(request.workload).name
    name += setup_suffix(replace(request.options, values=changed), fitted)
    name += f" without {', '.join(request.without)}" if request.without else ""
    about = About(name, request.workload, precision, samples, left_out)
    return profile_rows(recording, about, further)


def _request_settings(request: Request, **values: Any) -> Settings:
    options = replace(request.options, values={**request.options.values, **values})
    return complete_settings(options, request.workload, seed=0)


def _record_steps(settings: Settings, team: Team, request: Request) -> tuple[Recording, int]:
    """Record the step, without the layers to ablate; return the recording and the batch size."""
    step_of = timing.prepare_step(settings, team)
    state = TrainingState(step_of.model, step_of.optimizers)
    compiled, where = bool(settings.compile), "--without"
    raise_if(compiled and request.without, _COMPILED, where)
    for kind in request.without:
        layers = f"Layers: {', '.join(variants.LAYERS)}."
        raise_if(kind not in variants.LAYERS, f"unknown layers {kind!r}", where, layers)
    recording = Recording(step_of.device, state, steps=request.steps, compiled=compiled)
    with variants.Without(request.without) if request.without else nullcontext() as mode:
        recording.step()
        while not recording.done:
            step_of.step()
            recording.step()
    for kind in request.without:
        raise_if(mode and not mode.met[kind], f"the network has no {kind}", where)
    return recording, step_of.samples


def _step_of_batch(request: Request, team: Team, size: int) -> timing.Subject:
    return timing.prepare_step(_request_settings(request, workers=1, batch_size=size), team)


def _shortened_settings(
    request: Request, settings: Settings, team: Team
) -> tuple[Settings, str | None]:
    """Return settings whose step is short enough for a CPU, unless the user names a batch size.

    The text remarks on the change.
    """
    size, workers = settings.batch_size, settings.workers
    is_given = "batch_size" in request.options.values
    if team.device.type != "cpu" or is_given or size <= _FIRST_TRIED:
        return settings, None
    small = _step_of_batch(request, team, _FIRST_TRIED)
    small.step()
    by_sample = Stopwatch(team.device).time(small.step) / small.samples
    smaller = fitting_batch_size(size // workers, by_sample) * workers
    if smaller == size:
        return settings, None
    text = (
        f"the recipe's {size:,} would take about {seconds(by_sample * size / workers)} a step; "
        f"--batch-size {size} profiles them"
    )
    return _request_settings(request, batch_size=smaller), text


def fitting_batch_size(size: int, seconds_by_sample: float) -> int:
    """Return the batch size, halved until its step is short enough."""
    while size > _SMALLEST and size * seconds_by_sample > _LONGEST_SECONDS:
        size //= 2
    return size
