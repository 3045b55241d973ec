"""Some runs of some tables as one table: a part of a round, a baseline, two rounds as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl
from polars.io.plugins import register_io_source

from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem
from ttastats.base.stores import Place
from ttastats.table import schema, store, tables

#: The rows that are sorted together.
_AT_ONCE = 40_000


@dataclass(frozen=True, slots=True)
class Subset:
    """What was kept: `runs` of `all_runs`, `copies` of them of another, and `problems`.

    `notes` say what a reader of the conditions must know of the choice.
    """

    output: Place
    runs: int
    all_runs: int
    evaluations: int
    copies: int
    problems: int
    notes: tuple[str, ...] = ()


def write(
    every: pl.LazyFrame,
    chosen: pl.LazyFrame,
    problems: Iterable[Problem],
    output: Place,
    *,
    in_parts: bool = False,
    manifest: str = "",
    expected: Sequence[str | None] = (),
    partition: Sequence[str] | None = None,
) -> Subset:
    """Write the runs of a table of which `chosen` has a row, with all their evaluations.

    Copies are marked anew, since the first of them may be another now. Of the problems stay those
    of the runs that stay, and of files without any run.

    Raises
    ------
    TtastatsError
        No run is left, or the place cannot be written to.
    """
    known = every.filter(schema.of_runs()).select(schema.RUN).unique().collect()
    rows = every.with_columns(duplicate_of=pl.lit(None, pl.String))
    if chosen is not every:
        wanted = chosen.select(schema.RUN).unique().collect()
        rows = rows.join(wanted.lazy(), on=schema.RUN, how="semi")
    runs = tables.heads(rows)
    if runs.is_empty():
        raise TtastatsError(
            "no run matches; nothing was written",
            where=str(output),
            remedy="`ttastats runs FILE` lists the runs.",
        )
    gone = {*known.join(runs, on="source", how="anti")["source"]}
    kept = [problem for problem in dict.fromkeys(problems) if problem.source not in gone]
    store.write(
        _in_order(tables.marked(rows, runs)),
        output,
        manifest=manifest,
        problems=kept,
        in_parts=in_parts,
        expected=expected,
        partition=partition,
    )
    return Subset(
        output=output,
        runs=runs.height,
        all_runs=known.height,
        evaluations=int(runs.get_column("evaluations").sum()),
        copies=runs.height - runs.get_column("duplicate_of").null_count(),
        problems=len(kept),
    )


def _in_order(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows in order, sorted for some sources at a time: memory need not hold all."""
    sources = rows.group_by("source").agg(pl.len()).sort("source").collect(engine="streaming")
    block = pl.col("len").cum_sum() // _AT_ONCE
    limits = sources.group_by(block, maintain_order=True).agg(
        first=pl.first("source"), last=pl.last("source")
    )

    def blocks(*_: object) -> Iterator[pl.DataFrame]:
        for first, last in limits.select("first", "last").iter_rows():
            of_sources = rows.filter(pl.col("source").is_between(pl.lit(first), pl.lit(last)))
            yield of_sources.sort(schema.ORDER, maintain_order=True).collect()

    return register_io_source(blocks, schema=schema.POLARS)
