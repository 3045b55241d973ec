"""Does a comparison fail a CI job? What `--fail-on` and `--require` ask of every group of runs.

Of times a slowdown is allowed (`slower:2%`), of qualities at a budget so much in the unit of the
metric (`worse:0.001`).
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.compare.rows import CompareRow, QualitiesRow, TimesRow, rows_of
from ttastats.answers.compare.sentences import conditions_text
from ttastats.base import percentages
from ttastats.base.codes import CONDITIONS, SHORT
from ttastats.base.errors import TtastatsError
from ttastats.outcomes import aims
from ttastats.report.answer import Report, with_gate
from ttastats.report.cells import Finding, Gate, Outcome
from ttastats.report.grouping import row_names
from ttastats.sides.options import POWER, Gates, several
from ttastats.stats.multiplicity import adjust_p_values
from ttastats.stats.outcomes import Outcomes, fails_more_p
from ttastats.stats.power import failing_like, runs_needed, runs_with_failures
from ttastats.stats.results import Verdict
from ttastats.stats.unseen import DOUBTS

Option = Literal["--fail-on", "--require"]


class Kind(Struct, frozen=True):
    """The kind of a limit: the words of its conditions, and the remedy for others."""

    what: str
    words: tuple[str, str]
    remedy: str


TIMES = Kind(
    "a condition",
    ("slower", "not-slower"),
    "Use --fail-on slower:2% to fail if B is shown to be more than 2% slower, or --require "
    "not-slower:2% to fail unless B is shown to be at most 2% slower.",
)
QUALITIES = Kind(
    "a condition about qualities",
    ("worse", "not-worse"),
    "With --at or --at-end, use --fail-on worse:0.001 to fail if B is shown to be worse by "
    "more than 0.001 (in units of the metric), or --require not-worse:0.001 to fail unless B "
    "is shown not to be.",
)
_OPTIONS: tuple[Option, Option] = ("--fail-on", "--require")


class Requirement(Struct, frozen=True):
    """A condition and its limit: a slowdown as a fraction, or a loss of quality.

    `--fail-on slower` fails where B is shown to be slower by more than that, `--require not-slower`
    where it is not shown not to be.
    """

    option: Option
    limit: float
    kind: Kind = TIMES

    @property
    def limit_text(self) -> str:
        """Return the limit as on the command line."""
        return percentages.percent_text(self.limit) if self.kind is TIMES else f"{self.limit:g}"

    def __str__(self) -> str:
        """Return the condition as on the command line."""
        return f"{self.option} {self.kind.words[_OPTIONS.index(self.option)]}:{self.limit_text}"


def conditions(fail_on: Gates, require: Gates, kind: Kind = TIMES) -> tuple[Requirement, ...]:
    """Return the requirements in `--fail-on slower:2%` and `--require not-slower:2%`."""
    requirements = []
    texts = (several(fail_on or ()), several(require or ()))
    option_texts = [(index, text) for index in (0, 1) for text in texts[index]]
    for index, text in option_texts:
        option, word = _OPTIONS[index], kind.words[index]
        match, limit = re.fullmatch(rf"{word}:\s*(.+)", text.strip()), None
        if match and kind is TIMES:
            limit = percentages.parse_fraction(match[1], option)
        elif match:
            number = percentages.parse_number(match[1])
            limit = None if number is None or number < 0 else number
        if limit is not None:
            requirements.append(Requirement(option, limit, kind))
        elif text:
            raise TtastatsError(f"{text!r} is not {kind.what}", where=option, remedy=kind.remedy)
    return tuple(requirements)


def judge(report: Report, rules: Sequence[Requirement], confidence: float) -> Report:
    """Return a comparison with the verdict of the gate, also in the key `gate` of its rows.

    A group that only A has fails every condition, and so does one that cannot be judged at all,
    such as single runs or one of which B has runs without a value, and one of which B is shown to
    fail more often than A. The bounds are one-sided at `confidence`, that of the report.
    """
    if not rules:
        return report
    alpha, rows = 1 - confidence, rows_of(report)
    findings = [
        Finding(str(rule), name, None, None, "failed", "lost", "A has runs, B has none")
        for name in report.only_a
        for rule in rules
    ]
    gated: list[CompareRow] = []
    names = row_names(rows, report.by)
    failures = _failures_by_row(names, rows, rules, alpha)
    runs = chain((runs for against in report.against for runs in against.runs), repeat(None))
    condition_codes = chain(
        (codes for against in report.against for codes in against.conditions), repeat(())
    )
    for name, row, failed, outcomes, codes in zip(
        names, rows, failures, runs, condition_codes, strict=False
    ):
        row_findings: list[Finding] = []
        for rule in rules:
            if isinstance(row, QualitiesRow):
                row_findings += _quality_findings(name, row, rule)
            else:
                row_findings += _time_findings(name, row, rule, alpha, outcomes, codes)
        is_aimless = isinstance(row, TimesRow) and row.claim == aims.NO_TARGET
        if not (is_aimless or any(finding.code == "never_reached" for finding in row_findings)):
            row_findings += failed
        words = {finding.outcome for finding in row_findings}
        worst = next((word for word in ("failed", "undecided") if word in words), "passed")
        gated.append(replace(row, gate=worst))
        findings += row_findings
    gate = Gate(tuple(map(str, rules)), tuple(findings))
    return with_gate(dataclasses.replace(report, records=tuple(gated)), gate)


def _failures_by_row(
    names: Sequence[str], rows: Sequence[CompareRow], rules: Sequence[Requirement], alpha: float
) -> Iterator[list[Finding]]:
    """Yield for each row findings on failed runs of both sides.

    A log that could not be read and a run that is missing are taken for failures: a run that
    crashes early leaves no more. The p are adjusted for the number of rows (Holm).
    """
    sides = [(_failed_of_side(row, "a"), _failed_of_side(row, "b")) for row in rows]
    tests = [
        fails_more_p(n_a - failed_a, n_a, n_b - failed_b, n_b)
        for (failed_a, n_a, _), (failed_b, n_b, _) in sides
    ]
    for name, row, (a, b), p in zip(names, rows, sides, adjust_p_values(tests), strict=True):
        label = "runs without a value" if row.estimand == "quality" else "failed runs"
        text, subject = f"{label}: A {a[2]}, B {b[2]}", (name, row.benchmark, row.b)
        if not (a[0] or b[0]):
            yield []
        elif p is None or p >= alpha:
            yield [Finding(str(rules[0]), *subject, "passed", "failed_runs", text)]
        else:
            text += f"; B has more than by chance (one-sided p = {p:.2g})"
            yield [Finding(str(rule), *subject, "failed", "fails_more", text) for rule in rules]


def _failed_of_side(row: CompareRow, side: str) -> tuple[int, int, str]:
    """Return the failed runs of a side (or those without a value), its runs, and both in words."""
    n, lost = row.get(f"n_{side}"), row.lost_a if side == "a" else row.lost_b
    absent = lost.get(f"rejected_logs_{side}") + lost.get(f"missing_runs_{side}")
    if isinstance(row, QualitiesRow):  # `n` counts the runs with a value
        failed = row.get(f"missing_{side}")
        n += failed
    else:
        failed = n - row.get(f"reached_{side}")
    logs = f"{absent} without a readable log" if absent else None
    reasons = ", ".join(filter(None, (row.get(f"exceptions_{side}"), logs)))
    failed, n = failed + absent, n + absent
    return failed, n, f"{failed} of {n}{f' ({reasons})' if reasons else ''}"


def _quality_findings(name: str, row: QualitiesRow, rule: Requirement) -> Iterator[Finding]:
    low, high = row.worse_by_low, row.worse_by_high
    subject, allowance = (str(rule), name, row.benchmark, row.b), f"{rule.limit_text} is allowed"
    if low is None or high is None or row.word is Verdict.UNAVAILABLE or row.missing_b:
        reason = "runs missing" if row.missing_b else row.why
        yield Finding(*subject, "failed", "not_judged", f"cannot be judged ({reason})")
    elif low > rule.limit and row.word is Verdict.WORSE:
        suffix = f" {text}" if (text := conditions_text(row.conditions)) else ""
        text = f"{row.b} is worse by at least {low:.4g}{suffix}; {allowance}"
        yield Finding(*subject, "failed", "worse", text)
    elif high >= rule.limit:
        reason = f"; {row.why}" if row.why else ""
        text = f"{row.b} may be worse by up to {high:.4g}; {allowance}{reason}"
        outcome: Outcome = "failed" if rule.option == "--require" else "undecided"
        yield Finding(*subject, outcome, "undecided", text)
    elif rule.option == "--require":
        codes = [code for code in (*row.conditions, *row.flags) if conditions_text([code])]
        if codes:
            text = f"{row.b} is not worse by more than {rule.limit_text}, {conditions_text(codes)}"
            yield Finding(*subject, "passed", codes[0], text)


#: The runs of A and of B.
_Runs = tuple[Outcomes, Outcomes]

#: Flags of times that may be far from what was measured, or are of pooled runs of unlike sizes, so
#: that nothing can be required of them.
_DOUBTFUL = ("units_differ", "clock_changed", "accelerators_differ", "division_differs")


def _time_findings(
    name: str,
    row: TimesRow,
    rule: Requirement,
    alpha: float,
    runs: _Runs | None,
    conditions: Sequence[str],
) -> Iterator[Finding]:
    """Yield findings against a row of times, or on its `conditions`."""
    low, high, lowest = row.non_inferiority_low, row.inferiority_high, 1 / (1 + rule.limit)
    judgement: tuple[Outcome, str, str]
    doubts = [SHORT[code] for code in _DOUBTFUL if code in row.flags]
    doubtful = doubts and rule.option == "--require"
    if low is None or high is None or row.word is Verdict.UNAVAILABLE or doubtful:
        reason = row.reason or ", ".join(doubts) or row.claim
        judgement = ("failed", "not_judged", f"cannot be judged ({reason})")
        if row.reached_a and row.n_b and not row.reached_b:
            text = (
                f"none of {row.n_b} runs of {row.b} reached the target, {row.reached_a} of "
                f"{row.n_a} of {row.a} did"
            )
            judgement = ("failed", "never_reached", text)
        elif row.reached_b and not row.reached_a:
            if row.word is Verdict.FASTER:
                return
            judgement = ("undecided", "undecided", reason)
    elif low <= 0 and math.isinf(high):
        judgement = ("failed", "not_judged", _UNBOUNDED)
    elif low > lowest:
        robust = row.robust_low is not None and row.robust_low > lowest
        # What these runs give a reason to expect, and the bound does not allow for.
        reasons = set[str]() if robust else {*row.flags} & {*DOUBTS}
        codes = ["unbalanced" if reasons == {"unbalanced"} else "no_stragglers"] if reasons else []
        codes += [code for code in conditions if code in CONDITIONS and code not in DOUBTS]
        if not codes or rule.option != "--require":
            return
        text = f"not slower by more than {rule.limit_text}"
        text = f"{' is' if row.on.does == 'is' else ':'} {row.on.claim(text)}"
        judgement = ("passed", codes[0], f"{row.b}{text}, {conditions_text(codes)}")
    elif high < lowest and row.word is Verdict.SLOWER and not row.dagger:
        # The bound alone would be one test per row, and among many benchmarks one fails by chance;
        # so the verdict, whose p is adjusted for their number, has to say so too.
        amount = f"at least {1 / high - 1:.1%}" if high else "infinitely"
        suffix = f", {text}" if (text := conditions_text(row.conditions)) else ""
        text = f"{row.b} {row.on.worse.format(amount)}{suffix}; {rule.limit_text} is allowed"
        judgement = ("failed", "slower", text)
    else:
        judgement = ("undecided", "undecided", _margin_text(row, low, high, rule))
    outcome, code, text = judgement
    n_needed = None
    if outcome == "undecided":
        n_needed, advice = _runs_to_pass(row, rule, alpha, runs)
        outcome, text = "failed" if rule.option == "--require" else outcome, text + advice
    yield Finding(str(rule), name, row.benchmark, row.b, outcome, code, text, n_needed)


def _runs_to_pass(
    row: TimesRow, rule: Requirement, alpha: float, runs: _Runs | None
) -> tuple[int | None, str]:
    """Return the runs per side for 80 % power to pass a B as fast as A, and advice.

    Planned one-sided; the other side of a test at 2 alpha adds less than a thousandth to the power.
    Where runs fail, by how often those at hand do.
    """
    if "grids_differ" in row.flags:
        return None, "; evaluation intervals differ, which the bound allows for"
    n_needed, shifts = None, (row.epoch_shift_a, row.epoch_shift_b)
    failing = [failing_like(side) for side in runs or () if not row.all_reached]
    if row.planning_cv is not None and failing:
        if (a := failing[0]) and (b := failing[1]):
            n_needed = runs_with_failures(
                1 + rule.limit, (a, b), alpha=2 * alpha, epoch_shifts=shifts
            )
    elif row.planning_cv is not None:
        n_needed = runs_needed(
            1 + rule.limit, row.planning_cv, power=POWER, alpha=2 * alpha, epoch_shifts=shifts
        )
    if n_needed is None:
        return None, ""
    if n_needed <= min(row.n_a, row.n_b):
        return n_needed, "; more runs may decide it"
    return (
        n_needed,
        f"; if it {row.on.same} A, {n_needed:,} runs per side would show that (80% power)",
    )


_UNBOUNDED = (
    "cannot be judged: the logs do not show how much the epochs to the target vary. Log epochs "
    "with each evaluation, or use --epochs-fixed if they are constant by design"
)


def _margin_text(row: TimesRow, low: float, high: float, rule: Requirement) -> str:
    axis, amount = row.on, "any factor" if low <= 0 else f"up to {1 / low - 1:.1%}"
    if not axis.is_time:
        text = f"possibly, {row.b} {axis.worse.format(amount)}; {rule.limit_text} is allowed"
    else:
        words = f"slower by {amount}" if low <= 0 else f"{amount} slower"
        text = f"{row.b} may be {words}; {rule.limit_text} is allowed"
    slower = axis.fill(axis.worse)
    if row.word is Verdict.SLOWER and row.dagger:
        text += (
            f"; it {slower} if the number of epochs to the target is constant (declare that "
            "with --epochs-fixed)"
        )
    elif high < 1 / (1 + rule.limit):
        claim = "is shown to be slower" if axis.is_time else slower
        text += f"; it {claim} on its own, but not after p is adjusted for all comparisons"
    return text
