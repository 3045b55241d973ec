"""Which sentences state the result of a comparison?"""

from __future__ import annotations

from collections import Counter
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
from ttastats.report.answer import Report
from ttastats.report.cells import Conclusion, Lead
from ttastats.report.grouping import ALONE, row_names
from ttastats.report.row import Row
from ttastats.sides.findings import POOLED, condition_names
from ttastats.sides.options import Options
from ttastats.sides.quality_comparison import OtherMetric, QualityComparison
from ttastats.stats.decision import Assumption, side_of
from ttastats.stats.results import Tone, Verdict

#: What has to be true for a claim that carries a condition, beside those of its design.
CONDITIONS: dict[Assumption, str] = {
    "constant_epochs": "the number of {unit} to the target is constant",
    "no_stragglers": "no further run fails or straggles",
}


def conditions_text(codes: Iterable[str], unit: str = "epochs") -> str:
    """Return conditions in words, each once: `in these sessions, if no run ...`."""
    codes = [*codes]
    assumed = [text.format(unit=unit) for code, text in CONDITIONS.items() if code in codes]
    texts = (condition_names(codes), f"if {' and '.join(assumed)}" if assumed else "")
    return ", ".join(filter(None, texts))


def claim(word: Verdict, a: str, b: str, axis: Axis | None = None, factor: str = "") -> str:
    """Return the claim of a verdict about B, without a full stop."""
    if word.directed:
        does = f"is {word}"
        if axis:
            does = axis.fill(axis.better if word is Verdict.FASTER else axis.worse, factor)
        return f"{b} {does} than {a}"
    if word is Verdict.SAME:
        return f"{b} {axis.same if axis else 'is as good as'} {a}"
    return f"{b} is not significantly different from {a}"


def named_sides(row: TimesRow) -> tuple[str, str]:
    """Return the names of both sides, with their setups where these differ: `b (8 H100)`."""
    names_and_setups = ((row.a, row.setup_a), (row.b, row.setup_b))
    a, b = (f"{name} ({setup})" if setup else name for name, setup in names_and_setups)
    return a, b


def finding(
    row: TimesRow, confidence: float, name: str = "", *, margin_claims: bool = False
) -> Lead:
    """Return the headline of one comparison: its claim with target and conditions, and the numbers.

    `name` tells it from others of its table. `margin_claims`: an undecided row says of the margin
    what it shows.
    """
    word, axis, (a, b) = row.word, row.on, named_sides(row)
    verdict, tone = judgement([row])
    context = f" to {row.target}" if row.target and not axis.alone else ""
    context += f" on {name}" if name not in {"", ALONE} else ""
    ratio, low, high = row.speedup, row.speedup_low, row.speedup_high
    reason = f": undecided ({row.why})" if row.why else ""
    numbers = f"{_limits_text(row, confidence)}; " if ratio and low and high else ""
    condition = conditions_text(row.conditions, row.progress_unit or "epochs")
    condition_text = f", {condition}{_otherwise(row)}" if condition and word.decided else ""
    if word is Verdict.UNAVAILABLE:
        return Lead(verdict, f"No verdict{context}: {row.reason or row.claim or 'no data'}.")
    if row.estimand == "fraction":
        count_b, count_a = f"{row.reached_b} of {row.n_b} runs", f"{row.reached_a} of {row.n_a}"
        target = context.removeprefix(" to ") or "the target"
        text = f"{count_b} of {b} and {count_a} of {a} reached {target}"
        return Lead(verdict, f"{text}{condition_text}{reason}.", p_text(row, "{}."), tone)
    if word is Verdict.SAME:
        text = f"{claim(word, a, b, axis)}{context} ({axis.claim(row.claim)}){condition_text}"
    elif word.directed and ratio:
        factor, _ = factor_of(word, axis, ratio, ratio, ratio)
        text = f"{claim(word, a, b, axis, factor)}{context}{condition_text}"
    else:
        ends = (row.deciding_low or low, row.deciding_high or high)
        text = f"{between(*ends, a, b, axis)}{context}{reason}"
        if margin_claims and row.claim.startswith("not "):
            does = "it is " if axis.does == "is" else ""
            text += f"; {does}{axis.claim(row.claim)}{f', {condition}' if condition else ''}"
    numbers += runs_text([row])
    return Lead(verdict, f"{text}.", f"{numbers[:1].upper()}{numbers[1:]}.", tone)


def _limits_text(row: TimesRow, confidence: float) -> str:
    """Return the interval of a speedup from the view of its claim, and p."""
    ratio, low, high = row.speedup, row.speedup_low, row.speedup_high
    level, p = percentages.percent_text(confidence), p_text(row, "; {}")
    if not (ratio and low and high):
        return ""
    if row.word.directed:
        return f"{level} CI {factor_of(row.word, row.on, ratio, low, high)[1]}{p}"
    return f"{row.on.ratio} {units.factor(ratio)} ({level} CI {units.factor_range(low, high)}{p})"


def _otherwise(row: TimesRow) -> str:
    """Return the interval without the assumptions of a claim: ` (else 0.99 to 1.36×)`."""
    low, high = row.robust_low, row.robust_high
    if "no_stragglers" not in row.conditions:
        low, high = row.epoch_safe_low, row.epoch_safe_high
    if not set(CONDITIONS) & {*row.conditions} or low is None or high is None:
        return ""
    return f" (else {' to '.join(_end_text(end, row.on) for end in (low, high))})"


def _end_text(ratio: float, axis: Axis) -> str:
    word, side = (Verdict.FASTER, axis.less) if ratio >= 1 else (Verdict.SLOWER, axis.more)
    return f"{factor_of(word, axis, ratio, ratio, ratio)[0]} {side}"


def between(low: float | None, high: float | None, a: str, b: str, axis: Axis) -> str:
    """Return the range of the true speedup in words, without a full stop."""
    if low is None or high is None or low == high:  # without a spread there are no ends
        return f"No significant difference between {b} and {a}"
    first, last = _end_text(low, axis), _end_text(high, axis)
    first_word, last_word = (axis.less if end >= 1 else axis.more for end in (low, high))
    first = first if first_word != last_word else first.removesuffix(f" {first_word}")
    return f"{b} {axis.does} between {first} and {last} than {a}"


def runs_text(rows: Sequence[TimesRow]) -> str:
    """Return the numbers of runs and of failed runs of both sides in words."""
    alone, first = rows[0].on.alone, rows[0]
    n_a, n_b = sum(row.n_a for row in rows), sum(row.n_b for row in rows)
    failed = n_a - sum(row.reached_a for row in rows), n_b - sum(row.reached_b for row in rows)
    text = f"{units.plural(n_a, 'run')} against {n_b:,}"
    if not any(failed):
        return f"{text}, {'no quality was looked at' if alone else 'all reached the target'}"
    failures_a, failures_b = (
        f"{n:,} of {side}" for n, side in zip(failed, (first.a, first.b), strict=True)
    )
    ended = "failed; no quality was looked at" if alone else "did not reach the target"
    return f"{text}; {failures_a} and {failures_b} {ended}"


def judgement(rows: Sequence[CompareRow]) -> tuple[str, Tone]:
    """Return the verdict of most rows in capitals, or MIXED, and its colour.

    What holds on most rows only with conditions says so; a claim about pooled setups is not good.
    """
    words = [row.word for row in rows]
    ((commonest, count),) = Counter(words).most_common(1)
    pooled = any(row.word.decided and POOLED in row.conditions for row in rows)
    tone: Tone = "bad" if pooled else commonest.tone
    if sum(word.directed for word in set(words)) > 1 or 2 * count <= len(words):
        return "MIXED", "bad" if pooled else "plain"
    word = "EQUIVALENT" if commonest is Verdict.SAME else rows[0].on.claim(commonest.label).upper()
    n_unconditional = sum(row.word is commonest and not row.conditions for row in rows)
    if commonest.decided and 2 * n_unconditional <= len(rows):
        word = f"{'MOSTLY ' * (count < len(rows))}{word} WITH CONDITIONS"
        return word, "bad" if pooled else "plain"
    is_partial = (n_unconditional if commonest.decided else count) < len(rows)
    return f"MOSTLY {word}" if is_partial else word, tone


def factor_of(word: Verdict, axis: Axis, ratio: float, low: float, high: float) -> tuple[str, str]:
    """Return a speedup and its interval from the view of the faster side: 1.74×, 2.3%.

    What is faster does more in the same time; what needs fewer steps saves a share of them.
    """
    if word is Verdict.SLOWER:
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    if axis.is_time and ratio >= 1.1:
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


def names_of(results: Iterable[Times | Qualities]) -> str:
    """Return the names of groups, each once."""
    return ", ".join(dict.fromkeys(result.name for result in results))


def by_reason(results: Iterable[Times]) -> str:
    """Return the reasons against verdicts, with the names of their comparisons."""
    reasons: dict[str, list[Times]] = {}
    for result in results:
        reasons.setdefault(result.row.reason or result.row.why or "", []).append(result)
    return "; ".join(f"{names_of(group)}: {reason}" for reason, group in reasons.items())


def why_undecided(row: TimesRow, tests: int, confidence: float, *, fdr: bool) -> str | None:
    """Return the reason for an undecided comparison, where its interval does not show it."""
    if row.word is not Verdict.UNDECIDED or row.why:
        return row.why
    if is_undecided_by_adjustment(row, tests, confidence):
        return f"{'FDR' if fdr else 'Holm'} over {tests}"
    if "no_look" in row.flags:
        return "no look of the plan"
    if row.estimand == "fraction":
        return "too few runs" if row.p_value is None else "by failures"
    return None


def qualities_sentence(row: QualitiesRow, contrast: QualityComparison, options: Options) -> str:
    """Return the sentence on one benchmark at a budget."""
    gap, a, b, subject = contrast.difference, row.a, row.b, f"{row.metric or 'quality'} {row.at}"
    if gap is None:
        return f"{subject}: {row.why}."
    by_design = row.word is Verdict.UNDECIDED and row.why and row.why == contrast.allowed_for
    text = "no verdict" if row.word is Verdict.UNAVAILABLE else claim(row.word, a, b)
    if row.word is Verdict.SAME:
        text += f" within {options.margin:g}"
    if row.word.decided and (condition := conditions_text(row.conditions)):
        text += f", {condition}"
    if by_design:
        text = f"whether {b} differs from {a} is undecided"
    if row.why == "runs missing":
        better = (gap.estimate > 0) == contrast.higher_is_better
        text = f"{b} is not called {'better' if better else 'worse'} than {a}"
    reason = _WHY.get(row.why or "", f": {row.why}" if row.why else "")
    n_needed = gap.runs_needed if row.word is Verdict.UNDECIDED and not reason else None
    if n_needed is not None and n_needed > min(gap.n_a, gap.n_b):
        reason = f"; {units.runs_needed(n_needed)}"
    p = "" if gap.p_value is None else f", {units.p_text(row.p_adjusted or gap.p_value)}"
    return f"{subject}: {text} (B − A = {difference(contrast)}{p}){reason}."


_WHY = {
    "runs missing": ", because some runs of the better side have no value",
    "ends differ": ", because the runs of a side have different lengths",
    "one run": ": a verdict needs at least 2 runs per side; 5 are recommended",
}


def cost_text(row: QualitiesRow) -> str:
    """Return the costs of both sides up to a budget in words; empty if unknown."""
    if row.speedup is None:
        return ""
    a, b = units.amounts((row.get(f"seconds_{side}") for side in "ab"), row.on.unit)
    noun = row.on.noun.capitalize()
    return f"{noun}: {b} of {row.b}, {a} of {row.a}; {row.on.ratio} {ratio(row)}."


def conclusions(report: Report, *, confidence: float) -> tuple[Conclusion, ...]:
    """Return the conclusion of each row of a comparison; `confidence` is that of its intervals."""
    rows, all_conclusions = rows_of(report), []
    tests = sum(row.p_adjusted is not None for row in rows)
    has_several = len({row.b for row in rows}) > 1
    for name, row in zip(row_names(rows, report.by), rows, strict=True):
        if isinstance(row, QualitiesRow):
            sentence, texts = row.sentence, [cost_text(row)]
        else:
            sentence, texts = finding(row, confidence).text, []
            if is_undecided_by_adjustment(row, tests, confidence):
                texts.append("The interval is for this comparison alone.")
            n_needed = row.runs_needed if row.word is Verdict.UNDECIDED else None
            if n_needed is not None and n_needed > min(row.n_a, row.n_b):
                texts.append(f"{units.runs_needed(n_needed)}.")
        subject, text = f"{name}: {row.b}" if has_several else name, " ".join(filter(None, texts))
        word, tone = judgement([row])
        all_conclusions.append(
            Conclusion(subject, word.lower(), sentence, text, row.benchmark, tone)
        )
    return tuple(all_conclusions)


def also_numbers(metrics: Sequence[OtherMetric]) -> Row:
    """Return the keys of a row on other metrics, each with the metric's name in front."""
    keys: dict[str, Any] = {}
    for other in metrics:
        contrast, gap = other.contrast, other.contrast.difference
        values = {
            "a": contrast.a.mean,
            "b": contrast.b.mean,
            **interval_keys("difference", gap),
            "p_value": gap.p_value if gap else None,
            "p_adjusted": contrast.p_adjusted,
            "verdict": contrast.verdict.word.value,
        }
        keys |= {f"{other.metric}_{name}": value for name, value in values.items()}
    return Row(keys=keys)


def also_text(results: Sequence[Times]) -> str:
    """Return sentences on other metrics: all of one comparison, the decided ones of several."""
    texts = []
    for s in results:
        has_several, faster = len(results) > 1, s.row.word is Verdict.FASTER
        metrics = [
            other for other in s.also if not has_several or other.contrast.verdict.word.decided
        ]
        metric_texts = _also_sentences(metrics, s.row.a, s.row.b, faster=faster)
        texts += [f"{s.name}, {text}" if has_several else text for text in metric_texts]
    return " ".join(texts)


def also_lines(metrics: Sequence[OtherMetric]) -> Iterator[str]:
    """Yield a detail line for each logged metric."""
    for other in _logged_only(metrics):
        pair = (other.contrast.a, other.contrast.b)
        decimals = digits(other.contrast, pair[0].mean or pair[1].mean)
        a, b = (decimals.mean(side.mean, side.sd) for side in pair)
        yield f"also {other.metric}  A {a}  B {b}  {_difference_text(other)}"


def _also_sentences(
    metrics: Sequence[OtherMetric], a: str, b: str, *, faster: bool
) -> Iterator[str]:
    """Yield a sentence for each metric that changes the meaning of the comparison."""
    for other in _logged_only(metrics):
        contrast, gap = other.contrast, other.contrast.difference
        word = contrast.verdict.word
        if gap is None and contrast.a.n and contrast.b.n:
            text = f"no verdict: {contrast.verdict.reason.removeprefix(f'{other.metric} ')}"
        elif gap is None:
            name, side = (b, contrast.b) if contrast.a.n else (a, contrast.a)
            does = "logs it there" if side.missing else "reached the target"
            text = f"unknown, as no run of {name} {does}"
        elif gap.low is None:
            text = f"no verdict; it needs 2 runs per side ({_difference_text(other)})"
        elif word is Verdict.UNDECIDED:
            text = f"no significant difference ({_difference_text(other)})"
        elif faster and word is Verdict.WORSE and not other.chose:
            text = (
                f"{b} has lower quality on data that were not used to stop the runs "
                f"({_difference_text(other)})"
            )
        else:
            text = f"{claim(word, a, b)} ({_difference_text(other)})"
        yield f"{other.metric} at the end of the runs: {text}."


def also_notes(metrics: Sequence[OtherMetric]) -> Iterator[Note]:
    """Yield notes on limits of the comparison of other metrics."""
    if stop_metrics := dict.fromkeys(other.metric for other in metrics if other.chose):
        yield note("chose_the_stop", metrics=", ".join(stop_metrics))
    texts = []
    for metric in dict.fromkeys(other.metric for other in metrics):
        rows = [other for other in metrics if other.metric == metric]
        contrasts = [other.contrast for other in _logged_only(rows) or rows]
        sides = [contrast.a for contrast in contrasts], [contrast.b for contrast in contrasts]
        if any(side.missing for numbers in sides for side in numbers):
            a, b = (
                with_value(sum(side.n for side in numbers), sum(side.missing for side in numbers))
                for numbers in sides
            )
            runs = "run" if a == "1" else "runs"
            texts.append(
                f"{metric} is known of {a} {runs} of A and {b} of B that reached the target"
            )
    if texts:
        yield note("also_missing", metrics=texts)


def _logged_only(metrics: Sequence[OtherMetric]) -> list[OtherMetric]:
    return [other for other in metrics if other.contrast.a.n or other.contrast.b.n]


def _difference_text(other: OtherMetric) -> str:
    contrast, p_value = other.contrast, other.contrast.p_adjusted
    if contrast.difference is None:
        return ""
    p = "" if p_value is None else f", {units.p_text(p_value)}"
    return f"B − A {difference(contrast, contrast.a.mean or contrast.b.mean)}{p}"
