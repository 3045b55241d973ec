"""Does a comparison of qualities at a budget fail a CI job, because B's is worse?

The same conditions as of times (`gate`), in the unit of the metric: `--fail-on worse:0.001` fails
where B is shown to be worse by more than that, `--require not-worse:0.001` where it is not shown
not to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from ttastats.answers.compare.gate import Option, gated, written
from ttastats.base.percentages import any_number
from ttastats.report.answer import Report
from ttastats.report.cells import Finding, Outcome

_WORDS: dict[Option, str] = {"--fail-on": "worse", "--require": "not-worse"}


@dataclass(frozen=True, slots=True)
class QualityRequirement:
    """What is asked, and how much worse B may be, in the unit of the metric."""

    option: Option
    limit: float

    def __str__(self) -> str:
        """Give the condition as it is written on the command line."""
        return f"{self.option} {_WORDS[self.option]}:{self.limit:g}"


def conditions(fail_on: str, require: str) -> tuple[QualityRequirement, ...]:
    """Read `--fail-on worse:0.001` and `--require not-worse:0.001`; either text may be empty.

    Raises
    ------
    TtastatsError
        A text is nothing of the kind.
    """
    remedy = (
        "With --at or --at-end, use --fail-on worse:0.001 to fail if B is shown to be worse by "
        "more than 0.001 (in units of the metric), or --require not-worse:0.001 to fail unless B "
        "is shown not to be."
    )
    limits = written(_WORDS, (fail_on, require), _limit, "a condition about qualities", remedy)
    return tuple(starmap(QualityRequirement, limits))


def _limit(text: str, _option: str) -> float | None:
    number = any_number(text)
    return None if number is None or number < 0 else number


def judged(report: Report, asked: Sequence[QualityRequirement], confidence: float = 0.95) -> Report:
    """Give a comparison at a budget with the verdict of the gate, in its rows (key `gate`) too.

    A group that only A has fails every condition, and so does one that cannot be judged, such as
    one of which B has runs without a value. The bounds are one-sided at `confidence`, that of the
    report.
    """
    return gated(report, asked, _findings, 1 - confidence)


def _findings(name: str, row: Mapping[str, Any], asked: QualityRequirement) -> Iterator[Finding]:
    """Say what keeps a row from passing; nothing if it passes."""
    low, high = row["worse_by_low"], row["worse_by_high"]
    about = (str(asked), name, row["benchmark"], row["b"])
    allowed = f"{asked.limit:g} is allowed"
    if low is None or high is None or row["verdict"] == "unavailable" or row["missing_b"]:
        why = "runs missing" if row["missing_b"] else row["why"]
        yield Finding(*about, "failed", "not_judged", f"cannot be judged ({why})")
    elif low > asked.limit and row["verdict"] == "worse":
        text = f"{row['b']} is worse by at least {low:.4g}; {allowed}"
        yield Finding(*about, "failed", "worse", text)
    elif high >= asked.limit:
        why = f"; {row['why']}" if row["why"] else ""
        text = f"{row['b']} may be worse by up to {high:.4g}; {allowed}{why}"
        outcome: Outcome = "failed" if asked.option == "--require" else "undecided"
        yield Finding(*about, outcome, "undecided", text)
