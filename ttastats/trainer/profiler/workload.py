"""How is a workload of the trainer profiled: its step, other batch sizes, fewer layers, workers?

What is not the step itself is given as measures.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import numpy as np
import polars as pl
import torch
import torch.distributed as dist
from msgspec import Struct
from msgspec.structs import replace
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ttastats.base.errors import raise_if
from ttastats.base.units import seconds
from ttastats.traces import answers, intervals
from ttastats.traces.table import Row, measure_row
from ttastats.trainer import hardware, parallel, workloads
from ttastats.trainer.parallel import Team
from ttastats.trainer.profiler import timing
from ttastats.trainer.profiler.memory import TrainingState
from ttastats.trainer.profiler.recording import (
    ProfileSubject,
    Recording,
    profile_rows,
    steps_to_profile,
)
from ttastats.trainer.profiler.timing import FlopCounter, Stopwatch, Subject
from ttastats.trainer.settings import Overrides, Settings, complete_settings, setup_suffix

#: Without a batch size from the user, a CPU gets one whose step is not longer.
_LONGEST_SECONDS = 0.25
_SMALLEST = 2
#: The smallest batch where sizes are looked for, and the longest step that is tried.
_FIRST, _LONGEST_TRIED_SECONDS = 8, 4.0
#: Steps of each batch size after those that warm up: these many seconds of them.
_FEWEST, _MOST, _SECONDS = 3, 10, 0.5
#: Steps of workers before those that are measured.
_WARM_UP = 3
_COMPILED = "cannot remove layers of a compiled network"

#: Functions by the kind of layer; their first argument is what comes in.
LAYERS: Mapping[str, frozenset[Callable[..., Any]]] = {
    "batch norm": frozenset({functional.batch_norm, torch.batch_norm}),
    "relu": frozenset(
        {functional.relu, functional.relu_, torch.relu, torch.relu_, torch.Tensor.relu,
         torch.Tensor.relu_}
    ),
}  # fmt: skip
#: The networks whose steps are compared (Coleman et al., Figure 11), in this order.
VARIANTS: Mapping[str, tuple[str, ...]] = {
    "all layers": (),
    "no batch norm": ("batch norm",),
    "no batch norm, no relu": ("batch norm", "relu"),
}

Interval = tuple[float, float]


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
    raise_if(parallel.is_worker(), "starts its workers itself", "profile", remedy)
    workers, team = shared.workers, Team(0, 1, torch.device(shared.device))
    fitted, left_out = _shortened_settings(request, shared, team)
    one_worker = _request_settings(request, workers=1, batch_size=fitted.batch_size // workers)
    recording, samples = _record_steps(one_worker, team, request)
    steps = request.steps or steps_to_profile(recording.plain.median)
    further: list[Row] = []
    if request.batch_sizes is not None:
        make = partial(_step_of_batch, request, team)
        largest = int(one_worker.values.get("train_samples", one_worker.batch_size))
        cores = hardware.available_cpus()
        further += batch_size_measures(make, request.batch_sizes, largest, cores)
    if request.ablation:
        raise_if(one_worker.compile, _COMPILED, "--ablation")
        step_of = partial(timing.prepare_step, one_worker, team)
        ablated = list(ablation_measures(step_of, steps))
        absent = "the network has no batch norm and no ReLU to remove"
        raise_if(not ablated, absent, "--ablation")
        further += ablated
    if workers > 1:
        further += communication_measures(fitted, steps)
        part = f"the share of each of {workers} workers in {fitted.batch_size}"
        left_out = f"{part}; {left_out}" if left_out else part
    # TF32 is one of GPUs alone.
    imitated = shared.device == "cpu" and shared.precision == "tf32"
    precision = "fp32" if imitated else str(shared.precision)
    changed = {**request.options.values, "batch_size": fitted.batch_size}
    name = workloads.load_workload(request.workload).name
    name += setup_suffix(replace(request.options, values=changed), fitted)
    name += f" without {', '.join(request.without)}" if request.without else ""
    subject = ProfileSubject(name, request.workload, precision, samples, left_out)
    return profile_rows(recording, subject, further)


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
        layers = f"Layers: {', '.join(LAYERS)}."
        raise_if(kind not in LAYERS, f"unknown layers {kind!r}", where, layers)
    recording = Recording(step_of.device, state, steps=request.steps, compiled=compiled)
    with LayerRemoval(request.without) if request.without else nullcontext() as mode:
        recording.step()
        while not recording.done:
            step_of.step()
            recording.step()
    for kind in request.without:
        raise_if(mode and not mode.met[kind], f"the network has no {kind}", where)
    return recording, step_of.samples


def _step_of_batch(request: Request, team: Team, size: int) -> Subject:
    return timing.prepare_step(_request_settings(request, workers=1, batch_size=size), team)


def _shortened_settings(
    request: Request, settings: Settings, team: Team
) -> tuple[Settings, str | None]:
    """Return settings whose step is short enough for a CPU, unless the user names a batch size.

    The text remarks on the change.
    """
    size, workers = settings.batch_size, settings.workers
    is_given = "batch_size" in request.options.values
    if team.device.type != "cpu" or is_given or size <= _FIRST:
        return settings, None
    small = _step_of_batch(request, team, _FIRST)
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


def batch_size_measures(
    make: Callable[[int], Subject], sizes: Iterable[int], largest: int, cores: int
) -> Iterator[Row]:
    """Yield the throughput of each batch size as measures (TBD, Figures 4 to 6).

    Without sizes, the batch is doubled until that hardly helps, or a step takes too long.
    """
    fixed_sizes = sorted(set(sizes))
    doubled = takewhile(lambda size: size <= largest, (_FIRST * 2**power for power in count()))
    throughputs: dict[int, float] = {}
    saturation = None
    for size in fixed_sizes or list(doubled) or [largest]:
        of_size = make(size)
        with FlopCounter() as counter:  # the first two steps warm up
            of_size.step()
        first, watch = Stopwatch(of_size.device).time(of_size.step), Stopwatch(of_size.device)
        for _ in range(max(_FEWEST, min(_MOST, round(_SECONDS / first)))):
            watch.time(of_size.step)
        samples, flops = of_size.samples, counter.get_total_flops()
        throughputs[samples] = samples / watch.median
        yield measure_row("batch_samples_per_second", throughputs[samples], of=str(samples))
        yield measure_row("batch_step_flops", flops, of=str(samples))
        yield measure_row("batch_cpu_utilization", watch.utilization(cores), of=str(samples))
        saturation = answers.saturation_point(throughputs)
        if not fixed_sizes and (
            saturation is not None or 2 * watch.median > _LONGEST_TRIED_SECONDS
        ):
            break
    rule = f"the smallest at which doubling the batch gains less than {answers.GAIN:.0%}"
    yield measure_row(
        "saturation_batch_size", saturation, text=rule if saturation else f"none is {rule}"
    )


class LayerRemoval(TorchFunctionMode):
    """Removes layers of some kinds; `met` counts the calls of each kind.

    Calls of them return their input: the network is not changed.
    """

    def __init__(self, left_out: Collection[str]) -> None:
        super().__init__()
        self._left_out = left_out
        self.met = dict.fromkeys(LAYERS, 0)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for kind, functions in LAYERS.items():
            if func in functions:
                self.met[kind] += 1
                if kind in self._left_out:
                    return args[0] if args else (kwargs or {})["input"]
        return func(*args, **(kwargs or {}))


def ablation_measures(make: Callable[[], Subject], steps: int) -> Iterator[Row]:
    """Yield the step time without each set of layers as measures, taken in turns.

    Each variant has a network of its own, made by `make`.
    """
    subjects = {variant: make() for variant in VARIANTS}
    flops, is_there = {}, False
    for variant, of_variant in subjects.items():
        with LayerRemoval(VARIANTS[variant]):  # the first two steps warm up
            of_variant.step()
        with LayerRemoval(VARIANTS[variant]) as mode, FlopCounter() as counter:
            of_variant.step()
        flops[variant] = counter.get_total_flops()
        is_there = is_there or any(mode.met.values())
    if not is_there:
        return
    watches = {variant: Stopwatch(subjects[variant].device) for variant in VARIANTS}
    for _ in range(steps):
        for variant, left_out in VARIANTS.items():
            with LayerRemoval(left_out):
                watches[variant].time(subjects[variant].step)
    for variant, watch in watches.items():
        yield measure_row("ablated_step_seconds", watch.median, of=variant)
        yield measure_row("ablated_step_flops", flops[variant], of=variant)


def communication_measures(settings: Settings, steps: int) -> Iterator[Row]:
    """Yield how long workers wait for each other's gradients, in three modes, as measures.

    Under way: the union of the times from the start of an all-reduce to its end, which includes
    waiting for the slower worker (Coleman et al., Tables 8 and 9); on a GPU only a trace shows it.
    Exposed: how much longer a step is than one that sends nothing. Pure: sending as many bytes when
    nobody computes. All are medians of seconds on the wall of the first worker.
    """
    with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
        path = Path(folder, "communication.json")
        parallel.run_workers(settings.workers, _communication_worker, settings, steps, path)
        measures = msgspec.json.decode(path.read_bytes())
    for name, value in measures.items():
        yield measure_row(f"workers_{name}", value, of=str(settings.workers))


def _communication_worker(settings: Settings, steps: int, path: Path) -> None:
    """Measure the communication as one worker; the first writes the result."""
    with parallel.join_team(settings.device) as team:
        seconds = _measure_communication(timing.prepare_step(settings, team), team, steps)
        if team.is_leader:
            path.write_bytes(msgspec.json.encode(seconds))
        team.wait_for_all()


def _measure_communication(step_of: Subject, team: Team, steps: int) -> dict[str, float | None]:
    # Not in the worker itself: the network must be gone before the process group is.
    model: Any = step_of.training
    sent: list[Interval] = []
    sizes: list[int] = []
    model.register_comm_hook(team.size, _timing_hook(sent, sizes))
    for _ in range(_WARM_UP):
        step_of.step()
    heard, silent, under_way, size = [], [], [], 0
    for _ in range(steps):
        sent.clear()
        sizes.clear()
        heard.append(_team_seconds(step_of.step, team))
        start, end = np.array(sent).reshape(-1, 2).T
        under_way.append(float(np.diff(intervals.merge_intervals(start, end)).sum()))
        size = sum(sizes)
        with model.no_sync():
            silent.append(_team_seconds(step_of.step, team))
    buffer = torch.zeros(max(1, size // 4), device=team.device)
    pure = [_team_seconds(lambda: dist.all_reduce(buffer), team) for _ in range(steps)]
    return {
        "step_seconds": median(heard),
        "exposed_seconds": median(heard) - median(silent),
        "under_way_seconds": median(under_way) if team.device.type == "cpu" else None,
        "pure_seconds": median(pure),
        "sent_bytes": size,
    }


def _team_seconds(work: Callable[[], object], team: Team) -> float:
    """Return the wall-clock time of work that all workers start together."""
    team.wait_for_all()
    return Stopwatch(team.device, by_wall=True).time(work)


def _timing_hook(sent: list[Interval], sizes: list[int]) -> Callable[[int, Any], Any]:
    """Return a DDP hook that averages gradients and records when, and how many bytes."""

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
