"""Some runs of some tables as one table: a part of a round, a baseline, two rounds as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl
from msgspec import Struct
from polars.io.plugins import register_io_source

from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem
from ttastats.base.stores import Place
from ttastats.table import schema, store, tables

#: The rows that are sorted together.
_AT_ONCE = 40_000


class Subset(Struct, frozen=True):
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


def write_subset(
    table: pl.LazyFrame,
    selection: pl.LazyFrame,
    problems: Iterable[Problem],
    output: Place,
    *,
    in_parts: bool = False,
    manifest: str = "",
    expected: Sequence[str | None] = (),
    partition: Sequence[str] | None = None,
) -> Subset:
    """Write the chosen runs of a table with all their evaluations to a new table.

    Copies are marked anew, since the first of them may be another now. Of the problems stay those
    of the runs that stay, and of files without any run. An error if no run is left.
    """
    rows = table.with_columns(duplicate_of=pl.lit(None, pl.String))
    if selection is not table:
        selected_runs = selection.select(schema.RUN).unique().collect()
        rows = rows.join(selected_runs.lazy(), on=schema.RUN, how="semi")
    runs = former_runs = tables.run_heads(rows)
    if selection is not table:
        former_runs = table.filter(schema.is_run()).select(schema.RUN).unique().collect()
    if runs.is_empty():
        raise TtastatsError(
            "no run matches; nothing was written",
            where=str(output),
            remedy="`ttastats runs FILE` lists the runs.",
        )
    gone = {*former_runs.join(runs, on="source", how="anti")["source"]}
    remaining = [problem for problem in dict.fromkeys(problems) if problem.source not in gone]
    done = Subset(
        output=output,
        runs=runs.height,
        all_runs=former_runs.height,
        evaluations=int(runs.get_column("evaluations").sum()),
        copies=runs.height - runs.get_column("duplicate_of").null_count(),
        problems=len(remaining),
    )
    ordered = _sorted_rows(tables.mark_copies(rows, runs), runs)
    del runs, former_runs  # a million of them take more memory than the rows being written
    store.write(
        ordered,
        output,
        manifest=manifest,
        problems=remaining,
        in_parts=in_parts,
        expected=expected,
        partition=partition,
    )
    return done


def _sorted_rows(rows: pl.LazyFrame, runs: pl.DataFrame) -> pl.LazyFrame:
    """Return the rows in order, sorted for a few sources at a time to save memory."""
    block = pl.col("rows").cum_sum() // _AT_ONCE
    firsts = runs.group_by(block, maintain_order=True).agg(pl.first("source"))["source"].to_list()

    def blocks(*_: object) -> Iterator[pl.DataFrame]:
        # Sources without a run stand in no head: the first and the last block have one limit.
        for first, after in zip([None, *firsts[1:]], [*firsts[1:], None], strict=True):
            of_block = rows
            if first is not None:
                of_block = of_block.filter(pl.col("source") >= first)
            if after is not None:
                of_block = of_block.filter(pl.col("source") < after)
            yield of_block.sort(schema.ORDER, maintain_order=True).collect()

    return register_io_source(blocks, schema=schema.POLARS)
