"""Which rows does a recorded profile have? Those of its trace, and what was measured beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import polars as pl
import torch
import xxhash

from ttastats.traces import kineto, saturation, table
from ttastats.traces.measures import measure
from ttastats.trainer import hardware
from ttastats.trainer.profiler import peaks, timing
from ttastats.trainer.profiler.ablation import Ablated
from ttastats.trainer.profiler.batch_sizes import Point
from ttastats.trainer.profiler.communication import Communication
from ttastats.trainer.profiler.recording import Recording

Row = Mapping[str, Any]


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
    workers: int = 1
    left_out: str | None = None


def of(recording: Recording, about: About, more: Iterable[Row]) -> pl.DataFrame:
    """Return the rows of a profile; `more` are measures of further steps.

    What was measured beside the trace stands in the place of what the trace says of all steps.
    """
    trace = kineto.read([recording.trace])
    measured = table.frame([*_steps(recording, about), *_machine(recording.device, about), *more])
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
    rows = table.whole([trace.rows.filter(~replaced), measured])
    return rows.with_columns(pl.lit(value).alias(name) for name, value in shared.items())


def _steps(recording: Recording, about: About) -> Iterator[Row]:
    """Yield what was measured of steps that nobody watched, or watched in another way."""
    warm_up, plain = recording.warm_up, recording.plain
    yield measure("warmup_steps", warm_up.steps, text=warm_up.rule)
    clock = "CPU time of the thread" if recording.by_cpu_time else "wall-clock"
    yield measure("uninstrumented_step_seconds", recording.step_seconds, text=clock)
    yield measure("wall_step_seconds", median(one.wall for one in plain))
    yield measure("step_flops", recording.counted.flops)
    cores = hardware.available_cpus()
    yield measure("cpu_utilization", timing.cpu_utilization(plain, cores), text=f"of {cores} cores")
    for kind, held in recording.memory.items():
        yield measure("memory_bytes", held, of=kind)
    for name, value in recording.driver.found.items():
        yield measure(name, value, of=str(recording.device.index or 0))
    if about.samples:
        throughput = about.samples / recording.step_seconds
        yield measure("batch_size", about.samples, text=about.left_out)
        yield measure("samples_per_second", throughput, of=str(about.samples))


def _machine(device: torch.device, about: About) -> Iterator[Row]:
    name = hardware.processor_name()
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    yield measure("device_name", of=str(device.index or 0), text=name)
    yield measure("torch_version", text=torch.__version__)
    yield measure("threads", torch.get_num_threads())
    for precision, rate in peaks.flops_per_second(device).items():
        yield measure("peak_flops", rate, of=precision)
    yield measure("peak_bandwidth", peaks.bytes_per_second(device), of=device.type)
    yield measure("precision", text=about.precision)


def of_batch_sizes(points: Iterable[Point]) -> Iterator[Row]:
    """Yield the rows of steps of several batch sizes."""
    known = list(points)
    for one in known:
        size = str(one.samples)
        yield measure("batch_samples_per_second", one.throughput, of=size)
        yield measure("batch_step_flops", one.flops, of=size)
        yield measure("batch_cpu_utilization", one.cpu_utilization, of=size)
    found = saturation.point({one.samples: one.throughput for one in known})
    rule = f"the smallest at which doubling the batch gains less than {saturation.GAIN:.0%}"
    yield measure("saturation_batch_size", found, text=rule if found else f"none is {rule}")


def of_ablation(found: Iterable[Ablated]) -> Iterator[Row]:
    """Yield the rows of steps without some layers."""
    for one in found:
        yield measure("ablated_step_seconds", one.seconds, of=one.variant)
        yield measure("ablated_step_flops", one.flops, of=one.variant)


def of_communication(found: Communication) -> Iterator[Row]:
    """Yield the rows of steps that workers share."""
    workers = str(found.workers)
    yield measure("workers_step_seconds", found.step, of=workers)
    yield measure("workers_exposed_seconds", found.exposed, of=workers)
    yield measure("workers_under_way_seconds", found.under_way, of=workers)
    yield measure("workers_pure_seconds", found.pure, of=workers)
    yield measure("workers_sent_bytes", found.bytes, of=workers)
