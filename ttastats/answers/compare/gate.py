"""Does a comparison fail a CI job? What `--fail-on` and `--require` ask of every group of runs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap
from typing import Any, Literal, TypeVar

from ttastats.base import percentages
from ttastats.base.errors import TtastatsError
from ttastats.outcomes.axis import of_row
from ttastats.report.answer import Report
from ttastats.report.cells import Finding, Gate, Outcome
from ttastats.report.grouping import row_names
from ttastats.stats.fraction import fails_more
from ttastats.stats.multiplicity import holm
from ttastats.stats.power import runs_needed
from ttastats.stats.unseen import DOUBTS

Option = Literal["--fail-on", "--require"]
Row = Mapping[str, Any]
Asked = TypeVar("Asked")

_WORDS: dict[Option, str] = {"--fail-on": "slower", "--require": "not-slower"}


@dataclass(frozen=True, slots=True)
class Requirement:
    """What is asked, and the slowdown that is still allowed, as a fraction.

    `--fail-on slower` fails where B is shown to be slower by more than that, `--require not-slower`
    where it is not shown not to be.
    """

    option: Option
    limit: float

    def __str__(self) -> str:
        """Give the condition as it is written on the command line."""
        return f"{self.option} {_WORDS[self.option]}:{percentages.text(self.limit)}"

    @property
    def lowest(self) -> float:
        """Give the speedup of a B that is slower by exactly the limit."""
        return 1 / (1 + self.limit)


def conditions(fail_on: str, require: str) -> tuple[Requirement, ...]:
    """Read `--fail-on slower:2%` and `--require not-slower:2%`; either text may be empty.

    Raises
    ------
    TtastatsError
        A text is nothing of the kind.
    """
    remedy = (
        "Use --fail-on slower:2% to fail if B is shown to be more than 2% slower, or --require "
        "not-slower:2% to fail unless B is shown to be at most 2% slower."
    )
    limits = written(_WORDS, (fail_on, require), percentages.fraction, "a condition", remedy)
    return tuple(starmap(Requirement, limits))


def written(
    words: Mapping[Option, str],
    texts: tuple[str, str],
    read: Callable[[str, str], float | None],
    kind: str,
    remedy: str,
) -> Iterator[tuple[Option, float]]:
    """Give each option that has a text, and its limit: what `read` makes of what follows a word."""
    for (option, word), text in zip(words.items(), texts, strict=True):
        match = re.fullmatch(rf"{word}:\s*(.+)", text.strip())
        limit = read(match[1], option) if match else None
        if limit is not None:
            yield option, limit
        elif text:
            raise TtastatsError(f"{text!r} is not {kind}", where=option, remedy=remedy)


def judged(report: Report, asked: Sequence[Requirement], confidence: float = 0.95) -> Report:
    """Give a comparison with the verdict of the gate, in its rows (key `gate`) too.

    A group that only A has fails every condition, and so does one that cannot be judged at all,
    such as single runs, and one of which B is shown to fail more often than A. The bounds are
    one-sided at `confidence`, that of the report.
    """
    alpha = 1 - confidence
    return gated(report, asked, partial(_findings, alpha=alpha), alpha)


def gated(
    report: Report,
    asked: Sequence[Asked],
    findings: Callable[[str, Row, Asked], Iterable[Finding]],
    alpha: float,
) -> Report:
    """Give a comparison with what was found of each row for each condition, and what is lost.

    Whatever is asked, a B that is shown at `alpha` to fail more often than A fails.
    """
    if not asked:
        return report
    lost = [
        Finding(str(one), name, None, None, "failed", "lost", "A has runs, B has none")
        for name in report.only_a
        for one in asked
    ]
    names = row_names(report.rows, report.by)
    by_row = [
        [found for one in asked for found in findings(name, row, one)]
        for name, row in zip(names, report.rows, strict=True)
    ]
    for found, failed in zip(by_row, _failures(names, report.rows, asked, alpha), strict=True):
        if not any(one.code == "never_reached" for one in found):
            found += failed
    every = (*lost, *(found for row in by_row for found in row))
    rows = tuple(
        {**row, "gate": worst(found)} for row, found in zip(report.rows, by_row, strict=True)
    )
    return replace(report, records=rows, gate=Gate(tuple(map(str, asked)), every))


def _failures(
    names: Sequence[str], rows: Sequence[Row], asked: Sequence[Asked], alpha: float
) -> list[list[Finding]]:
    """Return of each row the failures of both sides, and whether B fails more often than A.

    A log that could not be read and a run that is missing are taken for failures: a run that
    crashes early leaves no more. The p are adjusted for the number of rows (Holm).
    """
    sides = [(_failed(row, "a"), _failed(row, "b")) for row in rows]
    p_values = [
        fails_more(a.n - a.failed, a.n, b.n - b.failed, b.n) if a.n and b.n else None
        for a, b in sides
    ]
    found: list[list[Finding]] = []
    for name, row, (a, b), p in zip(names, rows, sides, holm(p_values), strict=True):
        if not (a.failed or b.failed):
            found.append([])
            continue
        what = "runs without a value" if row["estimand"] == "quality" else "failed runs"
        text = f"{what}: A {a}, B {b}"
        about = (name, row["benchmark"], row["b"])
        if p is None or p >= alpha:
            found.append([Finding(str(asked[0]), *about, "passed", "failed_runs", text)])
            continue
        text += f"; B has more than by chance (one-sided p = {p:.2g})"
        found.append([Finding(str(one), *about, "failed", "fails_more", text) for one in asked])
    return found


@dataclass(frozen=True, slots=True)
class _Failed:
    """How many of all runs of a side failed, and of these how many left no log that can be read."""

    failed: int
    n: int
    without_log: int
    why: str | None

    def __str__(self) -> str:
        """Return `8 of 10 (8 RuntimeError: CUDA out of memory)`."""
        logs = f"{self.without_log} without a readable log" if self.without_log else None
        why = ", ".join(filter(None, (self.why, logs)))
        return f"{self.failed} of {self.n}{f' ({why})' if why else ''}"


def _failed(row: Row, side: str) -> _Failed:
    """Return the failed runs of a side; at a budget, those that have no value there."""
    n, absent = row[f"n_{side}"], row[f"rejected_logs_{side}"] + row[f"missing_runs_{side}"]
    if row["estimand"] == "quality":  # `n` counts the runs with a value
        failed, n = row[f"missing_{side}"], n + row[f"missing_{side}"]
    else:
        failed = n - row[f"reached_{side}"]
    return _Failed(failed + absent, n + absent, absent, row[f"exceptions_{side}"])


def worst(findings: Sequence[Finding]) -> str:
    """Give what the findings of a row come to."""
    outcomes = {found.outcome for found in findings}
    return next((one for one in ("failed", "undecided") if one in outcomes), "passed")


def _findings(name: str, row: Row, asked: Requirement, alpha: float) -> Iterator[Finding]:
    """Say what keeps a row from passing, or what it rests on; nothing if it just passes."""
    bounds = (row["non_inferiority_low"], row["inferiority_high"])
    if None in bounds or row["verdict"] == "unavailable":
        found = _without_interval(row)
    elif row["non_inferiority_low"] <= 0 and math.isinf(row["inferiority_high"]):
        found = ("failed", "not_judged", _UNBOUNDED)
    elif row["non_inferiority_low"] > asked.lowest:
        found = _passed(row, asked)
    elif _is_slower(row, asked):
        found = ("failed", "slower", _at_least(row, asked))
    else:
        found = ("undecided", "undecided", _at_most(row, asked))
    if found is None:
        return
    outcome, code, text = found
    needed = None
    if outcome == "undecided":
        if "grids_differ" in row["flags"]:
            text += "; evaluation intervals differ, which the bound allows for"
        else:
            needed = _runs_needed(row, asked, alpha)
            text += _more_runs(needed, row)
        outcome = "failed" if asked.option == "--require" else outcome
    yield Finding(str(asked), name, row["benchmark"], row["b"], outcome, code, text, needed)


Found = tuple[Outcome, str, str]

_UNBOUNDED = (
    "cannot be judged: the logs do not show how much the epochs to the target vary. Log epochs "
    "with each evaluation, or use --epochs-fixed if they are constant by design"
)
_NO_STRAGGLERS = "if no further run fails or straggles"


def _passed(row: Row, asked: Requirement) -> Found | None:
    """Return the condition of a pass where these runs give a reason to expect stragglers."""
    robust = row["robust_low"] is not None and row["robust_low"] > asked.lowest
    if robust or not DOUBTS.intersection(row["flags"]) or asked.option != "--require":
        return None
    limit = percentages.text(asked.limit)
    claim = f"not slower by more than {limit}"
    axis = of_row(row)
    said = f" is {claim}" if axis.is_time else f": {axis.claim(claim)}"
    text = f"{row['b']}{said} {_NO_STRAGGLERS}"
    return "passed", "no_stragglers", text


def _without_interval(row: Row) -> Found | None:
    """Judge a row that has no interval of the speedup: no success on a side, or too few runs."""
    if row["reached_a"] and not row["reached_b"]:
        text = (
            f"none of {row['n_b']} runs of {row['b']} reached the target, "
            f"{row['reached_a']} of {row['n_a']} of {row['a']} did"
        )
        return "failed", "never_reached", text
    claim = str(row["claim"]).removeprefix("no verdict: ")
    if row["reached_b"] and not row["reached_a"]:
        return None if row["verdict"] == "faster" else ("undecided", "undecided", claim)
    return "failed", "not_judged", f"cannot be judged ({claim})"


def _is_slower(row: Row, asked: Requirement) -> bool:
    """Tell whether B is shown to be slower by more than the limit.

    The bound alone would be one test per row, and among many benchmarks one fails by chance; so the
    verdict, whose p is adjusted for their number, has to say so too, and without a dagger.
    """
    beyond = row["inferiority_high"] < asked.lowest
    return bool(beyond and row["verdict"] == "slower" and not row["dagger"])


def _at_least(row: Row, asked: Requirement) -> str:
    slowdown = 1 / row["inferiority_high"] - 1 if row["inferiority_high"] else None
    much = "infinitely" if slowdown is None else f"at least {slowdown:.1%}"
    condition = f" {_NO_STRAGGLERS}" if "no_stragglers" in row["conditions"] else ""
    return f"{row['b']} {of_row(row).worse.format(much)}{condition}; {_allowed(asked)}"


def _at_most(row: Row, asked: Requirement) -> str:
    low = row["non_inferiority_low"]
    axis, much = of_row(row), "any factor" if low <= 0 else f"up to {1 / low - 1:.1%}"
    if not axis.is_time:
        text = f"possibly, {row['b']} {axis.worse.format(much)}; {_allowed(asked)}"
    else:
        words = f"slower by {much}" if low <= 0 else f"{much} slower"
        text = f"{row['b']} may be {words}; {_allowed(asked)}"
    slower = axis.does(axis.worse)
    if row["verdict"] == "slower" and row["dagger"]:
        text += (
            f"; it {slower} if the number of epochs to the target is constant (declare that "
            "with --epochs-fixed)"
        )
    elif row["inferiority_high"] < asked.lowest:
        shown = "is shown to be slower" if axis.is_time else slower
        text += f"; it {shown} on its own, but not after p is adjusted for all comparisons"
    return text


def _allowed(asked: Requirement) -> str:
    return f"{percentages.text(asked.limit)} is allowed"


def _runs_needed(row: Row, asked: Requirement, alpha: float) -> int | None:
    """Plan a one-sided test for sides that do not differ, epochs not seen on either included.

    The other side of a two-sided test at 2 alpha adds less than a thousandth to the power.
    """
    if row["planning_cv"] is None:
        return None
    shifts = (row["epoch_shift_a"], row["epoch_shift_b"])
    return runs_needed(1 + asked.limit, row["planning_cv"], alpha=2 * alpha, epoch_shifts=shifts)


def _more_runs(needed: int | None, row: Row) -> str:
    """Say how many runs would show that a B as fast as A is not slower, at 80 % power."""
    if needed is None:
        return ""
    if needed <= min(row["n_a"], row["n_b"]):
        return "; more runs may decide it"
    return f"; if it is as fast as A, {needed:,} runs per side would show that (80% power)"
