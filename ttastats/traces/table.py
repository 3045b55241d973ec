"""The columns of a profile: names, types and descriptions.

A row of work says what an operator or a kernel did in a step; a row of `kind` `measure` holds one
number about a step or about the whole, such as the length of the step or the memory at its peak.
One file holds both, so that nothing about a profile lies anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from ttastats.table.kind import Column, Kind

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
    "profile",
    "profile_id",
    "rank",
    "source",
    "kind",
    "device",
    "device_index",
    "name",
    "operator",
    "of",
    "step",
    "stream",
)

#: Kinds of rows that are kernels of a device.
KERNELS = ("kernel", "collective")


def frame(rows: Iterable[Mapping[str, Any]], **shared: Any) -> pl.DataFrame:
    """Return a table of rows that name the columns they have; `shared` holds for all of them."""
    return pl.DataFrame([{**shared, **row} for row in rows], schema=POLARS)


def whole(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return some tables as one, with all columns and in the order of rows."""
    parts = [
        part.select(
            (pl.col(name) if name in part.columns else pl.lit(None)).cast(dtype).alias(name)
            for name, dtype in POLARS.items()
        )
        for part in frames
    ]
    none = pl.DataFrame(schema=POLARS)
    return pl.concat([none, *parts]).sort(ORDER, nulls_last=True, maintain_order=True)
