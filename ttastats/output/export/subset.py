"""Some runs of some tables as one table: a part of a round, a baseline, two rounds as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem
from ttastats.base.stores import Place
from ttastats.table import schema, store, tables


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
    wanted = chosen.select(schema.RUN).unique()
    rows = (
        every.join(wanted, on=schema.RUN, how="semi")
        .sort(schema.ORDER, maintain_order=True)
        .with_columns(duplicate_of=pl.lit(None, pl.String))
    )
    runs = tables.heads(rows)
    if runs.is_empty():
        raise TtastatsError(
            "no run matches; nothing was written",
            where=str(output),
            remedy="`ttastats runs FILE` lists the runs.",
        )
    gone = set(known["source"]) - set(runs["source"])
    kept = [problem for problem in dict.fromkeys(problems) if problem.source not in gone]
    store.write(
        tables.marked(rows, runs),
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
