"""How do new logs join a table of parts without all of it being written again?

Their rows become new parts. A part of the table stays as it is unless it holds rows of a log that
was read again, or of a run that was missing and is there now: such parts are written again without
these. A new run that is a copy of one in the table is marked as that. `filter` puts all together.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ttastats.base.stores import Place
from ttastats.ingestion import manifest
from ttastats.table import schema, store
from ttastats.table.schema import RUNS


def append(
    new: Path, path: Place, state: str | None, partition: Sequence[str] | None = None
) -> None:
    """Append a new table to a folder of parts that must still be in a known state."""
    before, more = manifest.read(path), manifest.read(new)
    read = more.files.keys()
    # Columns that cut the folder come last as a part is read.
    old = {name: RUNS.scan(path, name).select(schema.NAMES) for name in RUNS.part_names(path)}
    is_read = pl.col("source").is_in([*read])
    near = pl.col("source").is_between(pl.lit(min(read)), pl.lit(max(read)))
    again = [
        name
        for name, rows in old.items()
        if rows.filter(near).filter(is_read).select("source").head(1).collect().height
    ]
    known = pl.concat(old.values()).filter(pl.col("content_digest").is_not_null(), ~is_read)
    rows = store.read_tables([new])
    first = (
        known.join(rows, on="content_digest", how="semi")
        .group_by("content_digest")
        .agg(original=pl.col("source").min())
        .collect()
    )
    marked = (
        rows.join(first.lazy(), on="content_digest", how="left", maintain_order="left")
        .with_columns(duplicate_of=pl.coalesce("original", "duplicate_of"))
        .select(schema.NAMES)
    )
    stay = [old[name].filter(~is_read) for name in again]
    every = pl.concat([*stay, marked]).sort(schema.ORDER, maintain_order=True)
    problems = [problem for problem in store.read_problems(path) if problem.source not in read]
    store.write(
        every,
        path,
        manifest=manifest.joined(before, more),
        problems=[*problems, *store.read_problems(new)],
        in_parts=True,
        expected=[state],
        partition=partition or RUNS.partition_columns(path) or (),
        kept=[name for name in old if name not in again],
    )
