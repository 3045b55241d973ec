"""What quality had each run at a budget, and who had none?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from ttastats import units
from ttastats.at_budget import SHORT
from ttastats.budget import Budget
from ttastats.counted import standing
from ttastats.report import fields
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Note, Text
from ttastats.report.fields import Field
from ttastats.report.grouping import common_title, set_aside_notes, shown_keys

KEYS = (
    "run_id", "source", "suite", "edition", "benchmark", "entry", "submitter", "system",
    "run_status", "metric", "quality", "short", "seconds", "steps", "epochs", "samples",
    "run_seconds", "seed", "cost", "set_aside",
)  # fmt: skip
_SHOWN = ("suite", "edition", "benchmark", "entry")
#: Runs a note names; of more it says how many.
_NAMED = 4


def of_runs(runs: pl.DataFrame, budget: Budget) -> Report:
    """Give the report of a table of runs at a budget, in the order of its sources."""
    named = runs.rename({"target_metric": "metric", "tta_seconds": "seconds"})
    rows = tuple(named.sort("source", "run_id").select(KEYS).iter_rows(named=True))
    shown = [
        *fields.keys(shown_keys(rows, _SHOWN)),
        Field(Column("log", rank=1, names=True), lambda row: Text(row["source"].split("/")[-1])),
        *_metric(rows),
        fields.words(f"quality {budget.place}", _quality),
        fields.number("time", "seconds", "seconds"),
        *(
            fields.number(unit, unit, rank=2)
            for unit in ("steps", "epochs", "samples")
            if any(row[unit] is not None for row in rows)
        ),
    ]
    about = " ".join(part for part in (common_title(rows, _SHOWN), str(budget)) if part)
    notes = (*short_notes(runs, budget), *set_aside_notes(runs))
    return Report("runs", rows, (fields.table(rows, shown, about),), notes)


def _metric(rows: tuple[Mapping[str, Any], ...]) -> list[Field]:
    names = {row["metric"] for row in rows}
    return fields.keys(["metric"], heads=False) if len(names) > 1 else []


def _quality(row: Mapping[str, Any]) -> str:
    return SHORT[row["short"]] if row["short"] else written(row["quality"])


def written(value: float | None, digits: int = 5) -> str:
    """Give a quality with so many digits at least, in the unit of its metric."""
    return "–" if value is None else units.significant(value, digits)


def short_notes(runs: pl.DataFrame, budget: Budget, side: str = "") -> list[Note]:
    """Count and name the runs that have no value at the budget, by the reason."""
    notes = []
    counts = standing(runs)
    for reason, words in SHORT.items():
        there = counts.filter(pl.col("short") == reason).sort("source")
        if there.is_empty():
            continue
        names = units.listed(_names(there), _NAMED)
        of = f" of {side}" if side else ""
        text = (
            f"{budget.place}: {there.height} of {units.plural(counts.height, 'run')}{of} {words}, "
            f"and no mean contains them: {names}."
        )
        notes.append(Note(reason, text))
    return notes


def _names(runs: pl.DataFrame) -> list[str]:
    """Name runs by their files without folders, or in full where that does not tell them apart."""
    sources = runs["source"].to_list()
    short = [source.rsplit("/", 1)[-1] for source in sources]
    return short if len(set(short)) == len(short) else sources
