"""Which rows does a recorded profile have? Those of its trace, and what was measured beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

import polars as pl
import torch
import xxhash

from ttastats.traces import kineto, table
from ttastats.traces.table import Row, measure_row
from ttastats.trainer import hardware
from ttastats.trainer.profiler import machine, timing
from ttastats.trainer.profiler.recording import Recording


@dataclass(frozen=True, slots=True)
class About:
    """What is profiled: its name for people, where it is from, and what it computes with.

    `samples` of a step are None where nobody says; `left_out` is the batch size of the recipe if a
    smaller one was taken, in words.
    """

    profile: str
    source: str
    precision: str
    samples: int | None
    left_out: str | None = None


def profile_rows(recording: Recording, about: About, more: Iterable[Row]) -> pl.DataFrame:
    """Return the rows of a profile; `more` are measures of other variants of the step.

    What was measured beside the trace stands in the place of what the trace says of all steps.
    """
    trace = kineto.read_trace([recording.trace])
    measured = table.frame_of(
        [
            *_plain_step_measures(recording, about),
            *_machine_measures(recording.device, about),
            *more,
        ]
    )
    replaced = (
        (pl.col("kind") == "measure")
        & pl.col("name").is_in(measured["name"].implode())
        & pl.col("step").is_null()
    )
    digest = xxhash.xxh3_128_hexdigest(recording.trace)
    shared = {
        "profile_id": digest,
        "profile": about.profile,
        "source": about.source,
        "source_digest": digest,
        "origin": "recorded",
    }
    rows = table.concatenated([trace.rows.filter(~replaced), measured])
    return rows.with_columns(pl.lit(value).alias(name) for name, value in shared.items())


def _plain_step_measures(recording: Recording, about: About) -> Iterator[Row]:
    """Yield the measures of steps that were timed without the profiler."""
    (warm_up, rule), plain = recording.warm_up_steps, recording.plain
    yield measure_row("warmup_steps", warm_up, text=rule)
    clock = "CPU time of the thread" if recording.by_cpu_time else "wall-clock"
    yield measure_row("uninstrumented_step_seconds", recording.step_seconds, text=clock)
    yield measure_row("wall_step_seconds", median(step.wall for step in plain))
    yield measure_row("step_flops", recording.counter.counted_flops)
    cores = hardware.available_cpus()
    yield measure_row(
        "cpu_utilization", timing.cpu_utilization(plain, cores), text=f"of {cores} cores"
    )
    for kind, size in recording.memory.items():
        yield measure_row("memory_bytes", size, of=kind)
    for name, value in recording.driver.measures.items():
        yield measure_row(name, value, of=str(recording.device.index or 0))
    if about.samples:
        throughput = about.samples / recording.step_seconds
        yield measure_row("batch_size", about.samples, text=about.left_out)
        yield measure_row("samples_per_second", throughput, of=str(about.samples))


def _machine_measures(device: torch.device, about: About) -> Iterator[Row]:
    name = hardware.processor_name()
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    yield measure_row("device_name", of=str(device.index or 0), text=name)
    yield measure_row("torch_version", text=torch.__version__)
    yield measure_row("threads", torch.get_num_threads())
    for precision, rate in machine.peak_flops(device).items():
        yield measure_row("peak_flops", rate, of=precision)
    yield measure_row("peak_bandwidth", machine.peak_bandwidth(device), of=device.type)
    yield measure_row("precision", text=about.precision)
