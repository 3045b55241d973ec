"""How is a profile recorded step by step, by the trainer or by any training script?

Every step is watched in one way at most, so that no way of watching is measured by another: first
nobody watches, until the steps have warmed up; then watched steps and steps that nobody watches
take turns; then one counts FLOPs, and two look at the memory. The rows of the profile are those of
the trace, and what was measured beside it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, Self

import msgspec
import polars as pl
import torch
import xxhash
from msgspec import Struct
from torch.profiler import record_function

from ttastats.base.errors import warn
from ttastats.traces import kineto, table
from ttastats.traces.table import Row, measure_row
from ttastats.trainer import hardware
from ttastats.trainer.profiler import memory, timing, trace
from ttastats.trainer.profiler.memory import TrainingState
from ttastats.trainer.profiler.timing import FlopCounter, Stopwatch

#: Steps that are taken before the rule of warming up is asked.
_FIRST = 8
#: Steps that are watched, unless the user says how many: these many seconds of them.
_FEWEST, _MOST, _SECONDS = 5, 20, 1.0


class Recording:
    """What has been recorded so far, step after step; without a `state` nothing of the memory."""

    def __init__(
        self,
        device: torch.device,
        state: TrainingState | None,
        *,
        steps: int | None,
        compiled: bool = False,
    ) -> None:
        self.device = device
        self.first: Stopwatch = Stopwatch(device, by_wall=compiled)
        self.plain: Stopwatch = Stopwatch(device, by_wall=compiled)
        self.watched: list[trace.TimedOperators] = []
        self.counter: FlopCounter = FlopCounter()
        self.memory: dict[str, int] = {}
        self.driver_measures: dict[str, float] = {}
        self.trace: bytes = b""
        self._state, self._steps = state, steps
        self._plan = self._all_steps()
        self.done: bool = False

    def step(self) -> None:
        """Mark the end of a step, if one has begun, and begin the next as planned."""
        next(self._plan, None)

    def stop(self) -> None:
        """Stop watching in the middle of a step."""
        self._plan.close()

    def _all_steps(self) -> Generator[None, None, None]:
        """Watch one step after the other in its own way; each ends when the next is asked for."""
        for _ in range(_FIRST):
            with self.first.timing():
                yield
        steps = self._steps or steps_to_profile(self.first.median)
        if self.plain.by_cpu_time:
            for _ in range(steps):  # in turn, so that slow phases affect both alike
                with self.plain.timing():
                    yield
                with trace.TimedOperators() as timed:
                    yield
                self.watched.append(timed)
            events = list(trace.trace_events(self.watched, self.plain.median))
            self.trace = msgspec.json.encode({"schemaVersion": 1, "traceEvents": events})
        else:  # PyTorch's profiler is started once
            with timing.driver_measures(self.device) as self.driver_measures:
                for _ in range(steps):
                    with self.plain.timing():
                        yield
            with trace.Recorder(self.device) as recorder:
                for number in range(steps):
                    with record_function(f"ProfilerStep#{number}"):
                        yield
                        timing.synchronize(self.device)
            self.trace = recorder.trace
        with self.counter:
            yield
        if self._state is not None:
            with memory.Watched(self._state) as watched:
                yield
            whole = yield from memory.measured_step(self._state, self.device)
            bytes_of = {**watched.bytes_of, "workspace": whole - sum(watched.bytes_of.values())}
            self.memory = {kind: bytes_of[kind] for kind in memory.KINDS}
        self.done = True


def steps_to_profile(step_seconds: float) -> int:
    """Return how many steps are profiled, by the length of a step."""
    return max(_FEWEST, min(_MOST, round(_SECONDS / step_seconds)))


class ProfileSubject(Struct, frozen=True):
    """The workload of a profile; `samples` are those of a step, if known.

    `left_out` names the batch size of the recipe if it was too large.
    """

    profile: str
    source: str
    precision: str
    samples: int | None
    left_out: str | None = None


def profile_rows(
    recording: Recording, subject: ProfileSubject, measures: Iterable[Row]
) -> pl.DataFrame:
    """Return the rows of a profile; `measures` are those of other variants of the step.

    What was measured beside the trace stands in the place of what the trace says of all steps.
    """
    trace = kineto.read_trace([recording.trace])
    measure_table = table.frame_of([*_measures(recording, subject), *measures])
    replaced = (
        (pl.col("kind") == "measure")
        & pl.col("name").is_in(measure_table["name"].implode())
        & pl.col("step").is_null()
    )
    digest = xxhash.xxh3_128_hexdigest(recording.trace)
    shared = {
        "profile_id": digest,
        "profile": subject.profile,
        "source": subject.source,
        "source_digest": digest,
        "origin": "recorded",
    }
    rows = table.concatenated([trace.rows.filter(~replaced), measure_table])
    return rows.with_columns(pl.lit(value).alias(name) for name, value in shared.items())


def _measures(recording: Recording, subject: ProfileSubject) -> Iterator[Row]:
    """Yield the measures of steps that were timed without the profiler, and of the machine."""
    plain, device, cores = recording.plain, recording.device, hardware.available_cpus()
    warm_up, rule = timing.warm_up_steps(recording.first.seconds)
    yield measure_row("warmup_steps", warm_up, text=rule)
    clock = "CPU time of the thread" if plain.by_cpu_time else "wall-clock"
    yield measure_row("uninstrumented_step_seconds", plain.median, text=clock)
    yield measure_row("wall_step_seconds", median(step.wall for step in plain.lengths))
    yield measure_row("step_flops", recording.counter.get_total_flops())
    yield measure_row("cpu_utilization", plain.utilization(cores), text=f"of {cores} cores")
    for kind, size in recording.memory.items():
        yield measure_row("memory_bytes", size, of=kind)
    number = str(device.index or 0)
    for name, value in recording.driver_measures.items():
        yield measure_row(name, value, of=number)
    if subject.samples:
        throughput = subject.samples / plain.median
        yield measure_row("batch_size", subject.samples, text=subject.left_out)
        yield measure_row("samples_per_second", throughput, of=str(subject.samples))
    on_gpu = device.type == "cuda"
    name = torch.cuda.get_device_name(device) if on_gpu else hardware.processor_name()
    yield measure_row("device_name", of=number, text=name)
    yield measure_row("torch_version", text=torch.__version__)
    yield measure_row("threads", torch.get_num_threads())
    for precision, rate in timing.peak_flops(device).items():
        yield measure_row("peak_flops", rate, of=precision)
    yield measure_row("peak_bandwidth", timing.peak_bandwidth(device), of=device.type)
    yield measure_row("precision", text=subject.precision)


#: The profiles that scripts of this process have written, the last one last.
WRITTEN: list[Path] = []


class Profile:
    """A profile that is being recorded."""

    def __init__(self, path: Path, recording: Recording, subject: ProfileSubject) -> None:
        self._path, self._recording, self._about = path, recording, subject

    @property
    def done(self) -> bool:
        """Return whether enough steps have been recorded."""
        return self._recording.done

    def step(self) -> None:
        """Mark the end of a step."""
        self._recording.step()

    def __enter__(self) -> Self:
        self._recording.step()
        return self

    def __exit__(self, *why: Any) -> None:
        """Write the profile, unless the block failed."""
        if why[0] is None and self.done:
            table.write_profile(profile_rows(self._recording, self._about, ()), self._path)
            WRITTEN.append(self._path)
            return
        self._recording.stop()
        if why[0] is None:  # the training is worth more than its profile
            remedy = "Call step() after each step, about thirty times; steps=5 records fewer."
            warn(f"{self._path}: too few steps for a profile. {remedy}", RuntimeWarning)
