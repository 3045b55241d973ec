"""Which runs lie on both sides of a comparison?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from ttastats.base import units
from ttastats.base.errors import TtastatsError
from ttastats.base.note import Note, note
from ttastats.table.schema import RUN

#: What a run is known by wherever its log lies: a log that was sent in again is the same run.
#: Names alone tell nothing, as tables made by others may number the runs of each side from 0.
_LENGTH = pl.col("run_seconds").cast(pl.String).fill_null("unknown")
_CONTENT = pl.coalesce("content_digest", pl.concat_str("run_id", _LENGTH, separator=" "))
_ROW = (*RUN, "run_seconds")


def shared(a: pl.DataFrame, b: pl.DataFrame) -> pl.Series:
    """Return the content digests of runs that are on both sides."""
    ours, theirs = (runs.select(_CONTENT.alias("content")).to_series() for runs in (a, b))
    return ours.filter(ours.is_in(theirs.implode())).drop_nulls().unique()


def without(runs: pl.DataFrame, content: pl.Series) -> pl.DataFrame:
    """Return the runs with other content digests."""
    return runs.filter(~_CONTENT.is_in(content.implode()).fill_null(value=False))


def contents(runs: pl.DataFrame) -> int:
    """Return the number of runs, counting copies once."""
    return runs.select(_CONTENT).to_series().n_unique()


def example(runs: pl.DataFrame) -> str:
    """Return the log name of one of some runs, always the same one."""
    return str(runs.get_column("source").sort()[0])


def remark(
    groups: Sequence[tuple[str, pl.DataFrame, pl.DataFrame]], both: pl.Series
) -> Iterator[Note]:
    """Yield a note on runs that both sides of some groups share."""
    of_both = _CONTENT.is_in(both.implode())
    counts = [
        (name, pl.concat([a, b], how="diagonal_relaxed").filter(of_both)) for name, a, b in groups
    ]
    counts = [(name, runs) for name, runs in counts if not runs.is_empty()]
    if not counts:
        return
    number = sum(contents(runs) for _, runs in counts)
    log = min(example(runs) for _, runs in counts)
    names = [f"{name} {contents(runs)}" for name, runs in counts]
    yield note("shared_runs", n=number, names=names, example=log)


def refuse_overlap(sides: Sequence[tuple[str, pl.DataFrame]]) -> None:
    """Raise an error if two parts of one table share a run.

    Each part, a name and its runs (or rows of runs), is set against the first.
    """
    (first, baseline), *others = sides
    for name, runs in others:
        both = baseline.select(_ROW).join(runs.select(_ROW), on=_ROW, how="semi").unique()
        if both.is_empty():
            continue
        remedy = "Select sides without common runs."
        column, sign, pattern = name.partition("=")
        if sign and column.isidentifier() and "," not in name:
            part = f"--a {first!r} --a '{column}!={pattern}'"
            remedy = f"Exclude them from one side, for example {part}."
        which = "all" if both.height == runs.select(_ROW).n_unique() else "some"
        raise TtastatsError(
            f"{units.plural(both.height, 'run')} would be on both sides: {which} of {name!r} also "
            f"match {first!r}, such as {example(both)}",
            remedy=remedy,
        )
