"""What was compared? What stands at the head of a page, counted from the tables of runs."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from ttastats.base import units
from ttastats.output.plots.plot import FILTERS
from ttastats.table import schema

_PLURALS = {"benchmark": "benchmarks", "system": "systems", "entry": "entries"}


class Fact(Struct, frozen=True):
    """One line of the head: what, and how much of it."""

    name: str
    text: str


def page_facts(
    sides: Sequence[tuple[str, pl.DataFrame]], conditions: Sequence[str]
) -> tuple[Fact, ...]:
    """Return the facts at the head of a page: runs, benchmarks and conditions."""
    runs, several = _all_runs(sides), len(sides) > 1
    names = ["A", *("B" if len(sides) == 2 else f"B{n}" for n in range(1, len(sides)))]
    counted = [f"{label}: {_reached_text(rows)}" if several else _reached_text(rows)
               for label, rows in sides]  # fmt: skip
    suites = runs.select("suite", "round").unique().sort("suite", "round", nulls_last=True)
    words = [" ".join(filter(None, pair)) for pair in suites.iter_rows() if any(pair)]
    counts = {name: runs[name].drop_nulls().n_unique() for name in FILTERS}
    covers = [", ".join(units.plural(n, x, _PLURALS[x]) for x, n in counts.items() if n)]
    first, *others = [set(rows["benchmark"]) for _, rows in sides]
    alone = first.union(*others) - (first & set().union(*others))
    if others and alone:
        covers.append(f"{units.plural(len(alone), 'benchmark')} on one side only")
    days, notes = runs["started_at"].drop_nulls().dt.date().unique().sort(), []
    if troubled := int(runs["problems"].is_not_null().sum()):
        notes.append(f"{units.plural(troubled, 'run')} with problems, see `ttastats problems`")
    digests = runs["content_digest"].drop_nulls()
    if copies := len(digests) - digests.n_unique():
        notes.append(units.plural(copies, "duplicate run"))
    texts = [
        *zip(names if several else ["Runs"], counted, strict=True),
        ("Suite", ", ".join(words)),
        ("Covers", "; ".join(filter(None, covers))),
        ("Started", " to ".join(dict.fromkeys(map(str, (*days[:1], *days[-1:]))))),
        ("Filtered by", ", ".join(conditions)),
        ("Note", "; ".join(notes)),
    ]
    return tuple(Fact(name, text) for name, text in texts if text)


def available_choices(
    sides: Sequence[tuple[str, pl.DataFrame]], by: Sequence[str] = FILTERS
) -> pl.DataFrame:
    """Return the combinations of benchmark, system and entry, with their numbers of runs."""
    return _all_runs(sides).group_by(by).len(name="runs").sort(by, nulls_last=True)


def _all_runs(sides: Sequence[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Return the runs of all sides; a run that several of them hold counts once."""
    columns = [*schema.RUN, "content_digest", "reached", "suite", "round", *FILTERS]
    columns += ["started_at", "problems", "submitter", "hardware", "accelerators"]
    frames = [runs.select(columns) for _, runs in sides]
    return pl.concat(frames).unique(subset=schema.RUN, maintain_order=True)


def _reached_text(runs: pl.DataFrame) -> str:
    reached = int(runs["reached"].sum())
    at_budget = "quality" in runs.columns
    does, does_not = ("with a value", "without") if at_budget else ("reached the target", "did not")
    text = f"{units.plural(runs.height, 'run')}, {reached:,} {does}"
    return f"{text}, {runs.height - reached:,} {does_not}" if reached < runs.height else text
