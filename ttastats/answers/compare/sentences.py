"""What does a comparison come to, in sentences a person would say?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ttastats.answers.compare.cells import difference, digits, ratio
from ttastats.answers.compare.rows import (
    CompareRow,
    Qualities,
    QualitiesRow,
    Times,
    TimesRow,
    interval_keys,
    rows_of,
)
from ttastats.answers.qualities import with_value
from ttastats.base import percentages, units
from ttastats.base.codes import Note, note
from ttastats.outcomes.axis import Axis
from ttastats.outcomes.budget import Budget
from ttastats.report.answer import Report
from ttastats.report.cells import Conclusion
from ttastats.report.grouping import row_names
from ttastats.report.row import Row
from ttastats.sides import checks
from ttastats.sides.options import Options
from ttastats.sides.quality_comparison import Also
from ttastats.stats.decision import Assumption, side_of
from ttastats.stats.results import Verdict

#: What has to be true for a claim that carries a condition.
CONDITIONS: dict[Assumption, str] = {
    "constant_epochs": "the number of epochs to the target is constant",
    "no_stragglers": "no further run fails or straggles",
}


def claim(word: Verdict, a: str, b: str, axis: Axis | None = None, factor: str = "") -> str:
    """Return what a verdict says of B, without a full stop."""
    if word.directed:
        does = f"is {word}"
        if axis:
            does = axis.does(axis.better if word is Verdict.FASTER else axis.worse, factor)
        return f"{b} {does} than {a}"
    if word is Verdict.SAME:
        return f"{b} {axis.same if axis else 'is as good as'} {a}"
    return f"{b} is not significantly different from {a}"


def finding(row: TimesRow, a: str, b: str, confidence: float, on: str = "") -> str:
    """Return which of A and B is faster, by how much, how sure and on what, without a full stop."""
    word, axis, where = row.word, row.on, f" on {on}" if on else ""
    if word is Verdict.UNAVAILABLE:
        return row.claim
    ratio, low, high = row.speedup, row.speedup_low, row.speedup_high
    if ratio is None or low is None or high is None:
        return f"{b} against {a}{where}: {axis.claim(row.claim)}{p_text(row, ' ({})')}"
    interval, p = f"{percentages.percent_text(confidence)} CI", p_text(row, "; {}")
    span = f"{axis.ratio} {units.factor(ratio)} ({interval} {units.factor_range(low, high)}{p})"
    if word is Verdict.SAME:
        margin = axis.claim(row.claim)
        return f"{claim(word, a, b, axis)}{where} ({margin}; {span}){_condition_text(row)}"
    if word is Verdict.UNDECIDED:
        why = f" ({row.why})" if row.why else ""
        return f"whether {claim(Verdict.FASTER, a, b, axis)}{where} is undecided{why}: {span}"
    factor, limits = factor_of(word, axis, ratio, low, high)
    text = claim(word, a, b, axis, factor)
    return f"{text}{where} ({interval} {limits}{p}){_condition_text(row)}"


def _condition_text(row: TimesRow) -> str:
    """Return `, in these sessions, if no further run fails`, or an empty text."""
    conditions = [text for name, text in CONDITIONS.items() if name in row.conditions]
    by_design = f", {row.carried}" if row.carried else ""
    comma = "," if by_design and conditions else ""
    return by_design + (f"{comma} if {' and '.join(conditions)}" if conditions else "")


def factor_of(word: Verdict, axis: Axis, ratio: float, low: float, high: float) -> tuple[str, str]:
    """Return a speedup and its interval from the view of the faster side: 1.74×, 2.3%.

    What is faster does more in the same time; what needs fewer steps saves a share of them.
    """
    if word is Verdict.SLOWER:
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    if ratio >= 1.1:
        return units.factor(ratio), units.factor_range(low, high)
    if word is Verdict.FASTER and not axis.is_time:
        ratio, low, high = (2 - 1 / value for value in (ratio, low, high))
    return f"{(ratio - 1) * 100:.1f}%", f"{(low - 1) * 100:.1f} to {(high - 1) * 100:.1f}%"


def p_text(row: CompareRow, pattern: str) -> str:
    """Return the adjusted p filled into a pattern; empty if there is none."""
    return "" if row.p_adjusted is None else pattern.format(units.p_text(row.p_adjusted))


def is_undecided_by_adjustment(row: TimesRow, tests: int, confidence: float) -> bool:
    """Return whether a row is undecided by its adjusted p, although its interval excludes 1."""
    low, high, p, adjusted = row.speedup_low, row.speedup_high, row.p_value, row.p_adjusted
    if row.word is not Verdict.UNDECIDED or tests < 2 or p is None or adjusted is None:
        return False
    return side_of(1, low, high) != 0 and p < 1 - confidence <= adjusted


def names_of(shown: Iterable[Times | Qualities]) -> str:
    """Return the names of groups, each once."""
    return ", ".join(dict.fromkeys(each.name for each in shown))


def by_reason(shown: Iterable[Times]) -> str:
    """Return the reasons why comparisons have no verdict, with their names."""
    reasons: dict[str, list[Times]] = {}
    for each in shown:
        verdict = each.contrast.verdict
        reasons.setdefault(verdict.reason or verdict.why, []).append(each)
    return "; ".join(f"{names_of(some)}: {reason}" for reason, some in reasons.items())


def of_times(shown: Sequence[Times], a: str, b: str, confidence: float) -> str:
    """Return the sentence on a table of times; `a` and `b` name the sides."""
    decided = [finding(s.row, a, b, confidence, on=s.name) for s in shown if s.row.word.decided]
    undecided = [s for s in shown if s.row.word is Verdict.UNDECIDED]
    others = len(undecided)
    if decided and others:
        decided.append(f"the other{' is' if others == 1 else f' {others} are'} undecided")
    text = f"{'; '.join(decided)}." if decided else ""
    if others and not decided:
        several = f"None of the {others} comparisons is decided."
        text = several if others > 1 else "The comparison is undecided."
        directions = [
            [side_of(1, part.low, part.high) for part in (both.throughput, both.progress)]
            for both in (s.contrast.parts for s in shown if s.contrast.estimand != "ert")
            if both
        ]
        significant = len(directions) == len(shown) and all(a and not b for a, b in directions)
        if significant and not any(s.row.why for s in undecided):
            text += (
                " The difference in throughput is significant; the difference in epochs to the "
                "target is not."
            )
    if by_design := [s for s in undecided if s.row.why]:
        text += f" No direction is shown on {by_reason(by_design)}."
    if unjudged := [s for s in shown if s.row.word is Verdict.UNAVAILABLE]:
        text += f" No verdict on {by_reason(unjudged)}."
    text = text.strip()
    for s in shown:
        who = f"{s.name}, " if len(shown) > 1 else ""
        for more in _also_sentences(s.also, a, b, faster=s.row.word is Verdict.FASTER):
            text += f" {who}{more}"
    return text


def of_qualities(s: Qualities, budget: Budget, sides: tuple[str, str], options: Options) -> str:
    """Return the sentence on one benchmark at a budget."""
    (a, b), contrast, row, gap = sides, s.contrast, s.row, s.contrast.difference
    about = f"{row.metric or 'quality'} {budget}"
    about = about if s.name == "these runs" else f"{s.name}, {about}"
    if gap is None:
        return f"{about}: {row.why}."
    by_design = row.word is Verdict.UNDECIDED and row.why and row.why == contrast.allowed_for
    text = "no verdict" if row.word is Verdict.UNAVAILABLE else claim(row.word, a, b)
    if row.word is Verdict.SAME:
        text += f" within {options.margin:g}"
    if by_design:
        text = f"whether {b} differs from {a} is undecided"
    if row.why == "runs missing":
        better = (gap.estimate > 0) == contrast.higher_is_better
        text = f"{b} is not called {'better' if better else 'worse'} than {a}"
    why = _WHY.get(row.why or "", f": {row.why}" if row.why else "")
    needed = gap.runs_needed if row.word is Verdict.UNDECIDED and not why else None
    if needed is not None and needed > min(gap.n_a, gap.n_b):
        why = f"; {units.runs_needed(needed)}"
    p = "" if gap.p_value is None else f", {units.p_text(row.p_adjusted or gap.p_value)}"
    text = f"{about}: {text} (B − A = {difference(contrast)}{p}){why}."
    return " ".join(filter(None, (text, _cost_text(row, a, b))))


_WHY = {
    "runs missing": ", because some runs of the better side have no value",
    "ends differ": ", because the runs of a side have different lengths",
    "one run": ": a verdict needs at least 2 runs per side; 5 are recommended",
}


def _cost_text(row: QualitiesRow, a: str, b: str) -> str:
    """Return what both sides took up to a budget; empty if unknown."""
    if row.speedup is None:
        return ""
    of_a, of_b = (units.amount(row.get(f"seconds_{side}"), row.on.unit) for side in "ab")
    return f"{b} took {of_b}, {a} {of_a}: {row.on.ratio} {ratio(row)}."


def conclusions(report: Report, *, confidence: float) -> tuple[Conclusion, ...]:
    """Return the conclusion of each row of a comparison; `confidence` is that of its intervals."""
    rows, made = rows_of(report), []
    tests = sum(row.p_adjusted is not None for row in rows)
    several = len({row.b for row in rows}) > 1
    for name, row in zip(row_names(rows, report.by), rows, strict=True):
        word, tone = row.word.label, row.word.tone
        if row.carried:
            word = f"{word}, {row.carried}"
            tone = "bad" if checks.POOLED in row.conditions else tone
        if isinstance(row, QualitiesRow):
            sentence, more = _quality_finding(row, confidence), [_cost_text(row, row.a, row.b)]
        else:
            sentence, more = finding(row, row.a, row.b, confidence) + ".", []
            if not row.word.decided:  # others begin with a side's name
                sentence = sentence[:1].upper() + sentence[1:]
            if is_undecided_by_adjustment(row, tests, confidence):
                more.append(
                    "The interval is for this comparison alone; the verdict uses p, adjusted for "
                    f"all {tests} comparisons."
                )
            needed = row.runs_needed if row.word is Verdict.UNDECIDED else None
            if needed is not None and needed > min(row.n_a, row.n_b):
                more.append(f"{units.runs_needed(needed)}.")
            more += [_parts_text(row), _failures_text(row)]
        about = f"{name}: {row.b}" if several else name
        text = " ".join(filter(None, more))
        made.append(Conclusion(about, word, sentence, text, row.benchmark, tone))
    return tuple(made)


def _quality_finding(row: QualitiesRow, confidence: float) -> str:
    a, b, what = row.a, row.b, f"{row.metric or 'quality'} {row.at}"
    if row.difference is None:
        return f"{b} against {a} in {what}: {row.why or 'no verdict'}."
    low, high, limits = row.difference_low, row.difference_high, ""
    if low is not None and high is not None:
        limits = f", {percentages.percent_text(confidence)} CI {low:+.3g} to {high:+.3g}"
    why = f", because {row.why}" if row.why else ""
    # Means that are equal but for the rounding of their sums do not differ.
    gap = f"difference {round(row.difference, 12):+.3g}{limits}{p_text(row, '; {}')}"
    text = f"{claim(row.word, a, b)} in {what}"
    if row.word is Verdict.UNAVAILABLE:
        text = f"{b} against {a} in {what}: no verdict"
    return f"{text}{why} ({gap})."


def _parts_text(row: TimesRow) -> str:
    """Return how a speedup results from throughput and epochs to the target."""
    throughput, epochs = row.throughput_speedup, row.epochs_ratio
    if not throughput or not epochs:
        return ""
    unit = row.progress_unit or "epochs"
    factor = units.factor(throughput, row.throughput_low, row.throughput_high)
    first = f"Its throughput is {factor} that of {row.a}"
    if row.startup_a_seconds is not None and row.startup_b_seconds is not None:
        of_b, of_a = units.seconds(row.startup_b_seconds), units.seconds(row.startup_a_seconds)
        first = f"It starts within {of_b}, {row.a} within {of_a}; then its throughput is {factor}"
    if not row.on.is_time:
        first = f"Per epoch {row.a} takes {factor} its {row.on.noun}"
    low, high = (1 / end if end else None for end in (row.epochs_high, row.epochs_low))
    if epochs == low == high == 1:
        return f"{first}; all runs of both needed the same number of {unit}."
    return f"{first}, and it needs {units.factor(1 / epochs, low, high)} as many {unit}."


def _failures_text(row: TimesRow) -> str:
    """Return how many runs reached the target, if not all did."""
    if row.reached_a == row.n_a and row.reached_b == row.n_b:
        return ""
    of_a = f"{row.reached_a:,} of {units.plural(row.n_a, 'run')} of {row.a}"
    of_b = f"{row.reached_b:,} of {units.plural(row.n_b, 'run')} of {row.b}"
    verb, counted = "are" if row.on.progress else "is", ""
    if row.estimand == "ert":
        counted = f" (the {row.on.noun} of the failed ones {verb} counted)"
    return f"The target was reached by {of_b} and {of_a}{counted}."


def also_numbers(every: Sequence[Also]) -> Row:
    """Return the keys of a row on other metrics, each with the metric's name in front."""
    keys: dict[str, Any] = {}
    for other in every:
        judged, gap = other.contrast, other.contrast.difference
        values = {
            "a": judged.a.mean,
            "b": judged.b.mean,
            **interval_keys("difference", gap),
            "p_value": gap.p_value if gap else None,
            "p_adjusted": judged.p_adjusted,
            "verdict": judged.verdict.word.value,
        }
        keys |= {f"{other.metric}_{name}": value for name, value in values.items()}
    return Row(keys=keys)


def also_lines(every: Sequence[Also]) -> Iterator[str]:
    """Yield a detail line for each metric that any run logged."""
    for other in _logged_only(every):
        pair = (other.contrast.a, other.contrast.b)
        decimals = digits(other.contrast, pair[0].mean or pair[1].mean)
        a, b = (decimals.mean(side.mean, side.sd) for side in pair)
        yield f"also {other.metric}  A {a}  B {b}  {_difference_text(other)}"


def _also_sentences(every: Sequence[Also], a: str, b: str, *, faster: bool) -> Iterator[str]:
    """Yield a sentence for each metric that changes the meaning of the comparison."""
    for other in _logged_only(every):
        judged, gap = other.contrast, other.contrast.difference
        word = judged.verdict.word
        if gap is None and judged.a.n and judged.b.n:
            text = f"no verdict: {judged.verdict.reason.removeprefix(f'{other.metric} ')}"
        elif gap is None:
            name, side = (b, judged.b) if judged.a.n else (a, judged.a)
            does = "logs it there" if side.missing else "reached the target"
            text = f"unknown, as no run of {name} {does}"
        elif gap.low is None:
            text = f"no verdict; it needs 2 runs per side ({_difference_text(other)})"
        elif word is Verdict.UNDECIDED:
            text = f"no significant difference ({_difference_text(other)})"
        elif faster and word is Verdict.WORSE and not other.chose:
            text = (
                "the faster setup has lower quality on data that were not used to stop the runs "
                f"({_difference_text(other)})"
            )
        else:
            text = f"{claim(word, a, b)} ({_difference_text(other)})"
        yield f"{other.metric} at the end of the runs: {text}."


def also_notes(every: Sequence[Also]) -> Iterator[Note]:
    """Yield notes on what the comparison of other metrics cannot show."""
    if chose := dict.fromkeys(other.metric for other in every if other.chose):
        yield note("chose_the_stop", metrics=", ".join(chose))
    lacking = []
    for metric in dict.fromkeys(other.metric for other in every):
        rows = [other for other in every if other.metric == metric]
        judged = [other.contrast for other in _logged_only(rows) or rows]
        sides = [each.a for each in judged], [each.b for each in judged]
        if any(side.missing for some in sides for side in some):
            a, b = (
                with_value(sum(side.n for side in some), sum(side.missing for side in some))
                for some in sides
            )
            runs = "run" if a == "1" else "runs"
            lacking.append(
                f"{metric} is known of {a} {runs} of A and {b} of B that reached the target"
            )
    if lacking:
        yield note("also_missing", metrics=lacking)


def _logged_only(every: Sequence[Also]) -> list[Also]:
    return [other for other in every if other.contrast.a.n or other.contrast.b.n]


def _difference_text(other: Also) -> str:
    both, p_value = other.contrast, other.contrast.p_adjusted
    if both.difference is None:
        return ""
    p = "" if p_value is None else f", {units.p_text(p_value)}"
    return f"B − A {difference(both, both.a.mean or both.b.mean)}{p}"
