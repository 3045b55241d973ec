"""The columns and measures of a profile, and the Parquet file that holds it.

A row of work says what an operator or a kernel did in a step; a row of `kind` `measure` holds one
number about a step or about the whole, such as the length of the step or the memory at its peak.
One file holds both, so that nothing about a profile lies anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem
from ttastats.base.stores import Place
from ttastats.table.kind import Column, Kind

#: A row by the columns it has.
Row = Mapping[str, Any]

_TEXT, _INT, _FLOAT, _BOOL = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()

COLUMNS: tuple[Column, ...] = (
    Column("profile_id", _TEXT, "digest of the profile; shared by its ranks"),
    Column("profile", _TEXT, "name of the profile: the trace, its folder, or the workload"),
    Column("source", _TEXT, "path of the trace, as given or below a given folder"),
    Column("source_digest", _TEXT, "XXH3-128 of the trace's bytes, hexadecimal"),
    Column("origin", _TEXT, "origin: kineto, autograd (before kineto), recorded"),
    Column("rank", _INT, "rank of the process in distributed training"),
    Column(
        "kind",
        _TEXT,
        "operator (on the host), kernel, collective, memcpy, memset (on the device), host (calls "
        "of the driver), annotation, or measure",
    ),
    Column("device", _TEXT, "where it ran: cpu or gpu"),
    Column("device_index", _INT, "number of the device"),
    Column("stream", _INT, "queue of the device"),
    Column("name", _TEXT, "name of the operator, kernel or measure"),
    Column("operator", _TEXT, "operator that launched a kernel or a copy, if recorded"),
    Column("category", _TEXT, "kind of work: convolution, matrix product, ..."),
    Column("step", _INT, "number of the step; null if it belongs to no single step"),
    Column("calls", _INT, "number of calls"),
    Column("seconds", _FLOAT, "self time, excluding called operators"),
    Column("device_seconds", _FLOAT, "for an operator: time of the kernels and copies it launched"),
    Column("flops", _INT, "floating-point operations, from the dimensions of the inputs"),
    Column("bytes", _INT, "bytes of inputs and outputs, ignoring caches; for a copy: bytes moved"),
    Column("tensor_core", _BOOL, "whether the kernel name indicates tensor cores"),
    Column("of", _TEXT, "for a measure: its memory, precision, device or batch size"),
    Column("value", _FLOAT, "for a measure: its value"),
    Column("unit", _TEXT, "for a measure: its unit"),
    Column("text", _TEXT, "for a measure: text, such as a name, a version or a rule"),
)

PROFILES = Kind(
    "profile",
    version=1,
    columns=COLUMNS,
    remedy="Create a profile with `ttastats ingest TRACES -o prof.parquet`.",
    again="create the profile again",
    upgrades={},
)
POLARS = PROFILES.schema()
#: The order of the rows of a table.
ORDER = (
    "profile", "profile_id", "rank", "source", "kind", "device", "device_index", "name", "operator",
    "of", "step", "stream",
)  # fmt: skip

#: Kinds of rows that are kernels of a device.
KERNELS = ("kernel", "collective")


#: Unit and meaning of each measure. Those of a step have its number in `step`.
MEASURES: Mapping[str, tuple[str, str]] = {
    # of each step
    "step_seconds": ("seconds", "length of the step"),
    "compute_seconds": ("seconds", "time with computation"),
    "communication_seconds": ("seconds", "time with a collective in flight"),
    "exposed_seconds": ("seconds", "communication without computation"),
    "copy_seconds": ("seconds", "copies without computation or communication"),
    "host_seconds": ("seconds", "time in which the device waited for the host"),
    "input_seconds": ("seconds", "time in which the device, or the step, waited for input"),
    "idle_seconds": ("seconds", "the rest of the step"),
    # of all steps together
    "steps": ("count", "number of steps in the rows"),
    "warmup_steps": ("count", "excluded steps at the start; `text` is the rule"),
    "window_seconds": ("seconds", "from the start of the first step to the end of the last"),
    "uninstrumented_step_seconds": ("seconds", "length of an unprofiled step; `text` is the clock"),
    "wall_step_seconds": ("seconds", "its wall-clock length"),
    "samples_per_second": ("samples/second", "throughput; `of` is the batch size"),
    "batch_size": ("samples", "samples per step"),
    "precision": ("", "`text` is the precision of matrix products"),
    "step_flops": ("flop", "floating-point operations of one step by a second method"),
    "flops_unknown": ("count", "calls of matrix multiplications and similar with unknown FLOPs"),
    # of steps of other batch sizes, with fewer layers, shared by workers
    "batch_samples_per_second": ("samples/second", "throughput of the batch size in `of`"),
    "batch_step_flops": ("flop", "floating-point operations of a step of that size"),
    "batch_cpu_utilization": ("fraction", "utilization of the cores at that size"),
    "saturation_batch_size": ("samples", "batch size that is large enough, by the rule in `text`"),
    "ablated_step_seconds": ("seconds", "length of a step with the layers in `of`"),
    "ablated_step_flops": ("flop", "floating-point operations of that step"),
    "workers_step_seconds": ("seconds", "length of a step shared by `of` workers"),
    "workers_under_way_seconds": ("seconds", "its time with an all-reduce in flight"),
    "workers_exposed_seconds": ("seconds", "extra time compared with a step without communication"),
    "workers_pure_seconds": ("seconds", "all-reduce of the same bytes without computation"),
    "workers_sent_bytes": ("bytes", "gradients that each worker sends in a step"),
    # of the machine
    "threads": ("count", "threads of an operator on the host"),
    "peak_flops": ("flop/second", "peak matrix multiplication; `of` is the precision"),
    "peak_bandwidth": ("bytes/second", "peak copy bandwidth; `of` is the memory"),
    "cpu_utilization": ("fraction", "utilization of the cores"),
    "gpu_utilization": ("fraction", "share of time with a running kernel, by the driver"),
    "sm_utilization": ("fraction", "share of active multiprocessors, by the driver"),
    "fp32_utilization": ("fraction", "utilization of 32-bit arithmetic, by the driver"),
    "memory_utilization": ("fraction", "utilization of the memory bandwidth, by the driver"),
    "tensor_core_utilization": ("fraction", "utilization of the tensor cores, by the driver"),
    "power": ("watts", "mean power; `of` is the device"),
    "memory_bytes": ("bytes", "peak memory; `of` is weights, gradients, optimizer, ..."),
    "device_memory_bytes": ("bytes", "memory of the device; `of` is its number"),
    "world_size": ("count", "processes of distributed training"),
    # words
    "device_name": ("", "`text` is the name of the device; `of` its number"),
    "torch_version": ("", "`text` is the version of PyTorch"),
}


def measure_row(
    name: str, value: float | None = None, *, of: str | None = None, text: str | None = None
) -> Row:
    """Return the row of a measure, whose name must be known."""
    unit = MEASURES[name][0] or None
    return {
        "kind": "measure", "name": name, "of": of, "value": value, "unit": unit, "text": text,
    }  # fmt: skip


def frame_of(rows: Iterable[Row], **shared: Any) -> pl.DataFrame:
    """Return rows as a table; `shared` holds the values of all rows."""
    return pl.DataFrame([{**shared, **row} for row in rows], schema=POLARS)


def concatenated(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return tables as one, with all columns and the rows in order."""
    parts = [
        part.select(
            (pl.col(name) if name in part.columns else pl.lit(None)).cast(dtype).alias(name)
            for name, dtype in POLARS.items()
        )
        for part in frames
    ]
    empty = pl.DataFrame(schema=POLARS)
    return pl.concat([empty, *parts]).sort(ORDER, nulls_last=True, maintain_order=True)


#: What a profile cannot be read without.
_REQUIRED = ("kind", "name")

is_profile = PROFILES.is_table


def write_profile(
    rows: pl.DataFrame,
    path: Place,
    *,
    manifest: str = "",
    problems: Iterable[Problem] = (),
    expected: Sequence[str | None] = (),
) -> None:
    """Write a profile with all columns and its rows in order, as `Kind.write` does."""
    PROFILES.write(
        concatenated([rows]), path, manifest=manifest, problems=problems, expected=expected
    )


def read_profiles(paths: Sequence[Place]) -> pl.DataFrame:
    """Return the rows of one or more profiles; a profile that is in several files counts once."""
    if not paths:
        raise TtastatsError("no file given", remedy=PROFILES.remedy)
    frames: list[pl.DataFrame] = []
    read_ids: set[str] = set()
    for path in paths:
        scanned = PROFILES.scan(path)
        absent = [name for name in _REQUIRED if name not in scanned.collect_schema()]
        if absent:
            message = f"is not a profile: missing columns {', '.join(absent)}"
            raise TtastatsError(message, where=str(path), remedy=PROFILES.remedy)
        frame = concatenated([scanned.collect()])
        frames.append(frame.filter(~pl.col("profile_id").is_in(read_ids)))
        read_ids |= set(frame.get_column("profile_id").unique())
    return concatenated(frames)


def profile_problems(path: Place) -> list[Problem]:
    """Return the problems found when a profile was created."""
    return PROFILES.stored_problems(path) or []
