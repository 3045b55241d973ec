"""What on a page deserves a second look? Sentences, each with the plot that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from ttastats.answers import problems
from ttastats.base import units
from ttastats.output.plots import names, quality, tta
from ttastats.sides.pairing import Side
from ttastats.table import schema

#: Runs of a kind that are named one by one; the others are counted.
_NAMED = 10


class Look(Struct, frozen=True):
    """A sentence about a benchmark, the kind of plot that shows it, and the log of its one run."""

    sentence: str
    benchmark: str | None
    plot: str
    log: str = ""


#: Of findings of a code the plot that shows them, and how one and how several are told.
_CODES = {
    "stall": (quality.TIME, "run stood still.", "runs stood still."),
    "epoch_time_outlier": (
        quality.TIME,
        "run was far slower or faster than others of its entry.",
        "runs were far slower or faster than others of their entry.",
    ),
    "epochs_outlier": (
        quality.EPOCHS,
        "run needed far more or fewer epochs than others of its entry.",
        "runs needed far more or fewer epochs than others of their entry.",
    ),
    "constant_epochs": (
        quality.EPOCHS,
        "entry has runs that all took the same number of epochs, so the variation is unknown.",
        "entries have runs that all took the same number of epochs, so the variation is unknown.",
    ),
    "duplicate_run": (
        tta.KIND,
        "run is a duplicate of another and counts once.",
        "runs are duplicates of others and count once.",
    ),
    "no_evaluation": (
        tta.KIND,
        "run logged no evaluation and counts as failed.",
        "runs logged no evaluation and count as failed.",
    ),
    "run_count": (
        tta.KIND,
        "result has more or fewer runs than the rules require.",
        "results have more or fewer runs than the rules require.",
    ),
}
#: Those that are told one by one.
_SINGLY = ("stall", "epoch_time_outlier")


def find_looks(sides: Sequence[Side]) -> tuple[Look, ...]:
    """Return what `ttastats problems` finds in the runs of all sides; nothing at a budget."""
    if any(side.at_budget for side in sides):
        return ()
    labelled = (side.runs.with_columns(table=pl.lit("these runs")) for side in sides)
    runs = pl.concat(labelled, how="diagonal_relaxed").unique(schema.RUN, maintain_order=True)
    rows = pl.concat([side.evaluations for side in sides], how="diagonal_relaxed")
    findings, looks = list(problems.findings(runs, rows)), []
    for code, (plot, singular, plural) in _CODES.items():
        of_code = [finding for finding in findings if finding.code == code]
        named = of_code[:_NAMED] if code in _SINGLY else []
        for finding in named:
            log = names.short_path(finding.source or "")
            message, _, _ = finding.message.partition(" (modified")
            looks.append(Look(f"{log}: {message}.", finding.benchmark, plot, log))
        more = " more" if named else ""
        others = Counter(finding.benchmark for finding in of_code[len(named) :])
        for benchmark, number in others.items():
            text = f"{units.count(number)}{more} {singular if number == 1 else plural}"
            looks.append(Look(text, benchmark, plot))
    return tuple(looks)
