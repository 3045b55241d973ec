"""What does each benchmark of a report come to, in a sentence a person would say?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ttastats.answers import leading
from ttastats.answers.compare.quality_cells import ratio
from ttastats.base import percentages, units
from ttastats.outcomes.axis import Axis, of_row
from ttastats.report.answer import Report
from ttastats.report.cells import Conclusion
from ttastats.report.grouping import row_names
from ttastats.sides.design import findings
from ttastats.stats.decision import Assumption, Decision
from ttastats.stats.verdict import Tone, Verdict

Numbers = Mapping[str, Any]


def verdicts(report: Report, *, confidence: float = 0.95) -> tuple[Conclusion, ...]:
    """Give the verdicts of a comparison or a summary, in the order of its rows.

    `confidence` is that of the intervals the report was made with.
    """
    if report.command == "compare" and "difference" in next(iter(report.rows), {}):
        return _qualities(report, confidence)
    if report.command == "compare":
        return _comparisons(report, confidence)
    return leading.verdicts(report)


# ------------------------------------------------------------------------------------- comparisons


def carried(row: Numbers) -> str:
    """Return what a claim carries by its design (`setups pooled`); empty without a claim."""
    return findings.words(row["conditions"]) if Verdict(row["verdict"]).decided else ""


def _rows(report: Report) -> Iterator[tuple[Numbers, str, str, Tone]]:
    """Give each row with what it is about, and the word and tone of its verdict."""
    several = len({row["b"] for row in report.rows}) > 1
    for name, row in zip(row_names(report.rows, report.by), report.rows, strict=True):
        verdict = Verdict(row["verdict"])
        word, tone = verdict.label, verdict.tone
        if conditions := carried(row):
            word = f"{word}, {conditions}"
            tone = "bad" if findings.POOLED in row["conditions"] else tone
        yield row, f"{name}: {row['b']}" if several else name, word, tone


def _comparisons(report: Report, confidence: float) -> tuple[Conclusion, ...]:
    said, tests = [], sum(row["p_adjusted"] is not None for row in report.rows)
    for row, about, word, tone in _rows(report):
        sentence = finding(row, row["a"], row["b"], confidence) + "."
        if not Verdict(row["verdict"]).decided:  # others begin with a side's name
            sentence = sentence[:1].upper() + sentence[1:]
        alone = _alone(row, tests, confidence)
        more = " ".join(part for part in (alone, _plan(row), _why(row), _failures(row)) if part)
        said.append(Conclusion(about, word, sentence, more, row["benchmark"], tone))
    return tuple(said)


def _qualities(report: Report, confidence: float) -> tuple[Conclusion, ...]:
    """Give the verdicts of a comparison of qualities at a budget."""
    return tuple(
        Conclusion(
            about,
            word,
            f"{_quality_finding(row, confidence)}.",
            spent(row, row["a"], row["b"]),
            row["benchmark"],
            tone,
        )
        for row, about, word, tone in _rows(report)
    )


def spent(row: Numbers, a: str, b: str) -> str:
    """Say what both sides took up to a budget; empty where their logs do not tell."""
    if row["speedup"] is None:
        return ""
    axis = of_row(row)
    of_a, of_b = (units.amount(row[name] or 0.0, axis.unit) for name in ("seconds_a", "seconds_b"))
    return f"{b} took {of_b}, {a} {of_a}: {axis.ratio} {ratio(row)}."


def _quality_finding(row: Numbers, confidence: float) -> str:
    a, b, what = row["a"], row["b"], f"{row['metric'] or 'quality'} {row['at']}"
    if row["difference"] is None:
        return f"{b} against {a} in {what}: {row['why'] or 'no verdict'}"
    claim = {
        "better": f"{b} is better than {a}",
        "worse": f"{b} is worse than {a}",
        "same": f"{b} is as good as {a}",
    }.get(row["verdict"], f"{b} is not significantly different from {a}")
    low, high = row["difference_low"], row["difference_high"]
    limits = "" if low is None else f", {percentages.text(confidence)} CI {low:+.3g} to {high:+.3g}"
    why = f", because {row['why']}" if row["why"] else ""
    gap = f"difference {row['difference']:+.3g}{limits}{p_text(row, '; {}')}"
    return f"{claim} in {what}{why} ({gap})"


#: What has to be true for a claim that carries a condition.
CONDITIONS: dict[Assumption, str] = {
    "constant_epochs": "the number of epochs to the target is constant",
    "no_stragglers": "no further run fails or straggles",
}


def finding(row: Numbers, a: str, b: str, confidence: float, on: str = "") -> str:
    """Say which side is faster, by how much, and how sure that is; no full stop.

    `a` and `b` are what the sides are called; `on` names what they are compared on.
    """
    word, where = row["verdict"], f" on {on}" if on else ""
    if word == "unavailable":
        return f"{on}: {row['claim']}" if on else row["claim"] or "no verdict"
    if row["speedup"] is None or row["speedup_low"] is None:
        return f"{b} against {a}{where}: {of_row(row).claim(row['claim'])}{p_text(row, ' ({})')}"
    axis = of_row(row)
    interval = f"{percentages.text(confidence)} CI"
    condition = condition_of(row)
    span = f"{axis.ratio} {_span(row, interval)}"
    if word == "same":
        return f"{b} {axis.same} {a}{where} ({axis.claim(row['claim'])}; {span}){condition}"
    if word == "undecided":
        why = f" ({row['why']})" if row["why"] else ""
        return f"whether {b} {axis.does(axis.better)} than {a}{where} is undecided{why}: {span}"
    factor, limits = factor_of(row, word, axis)
    does = axis.does(axis.better if word == "faster" else axis.worse, factor)
    p = p_text(row, "; {}")
    return f"{b} {does} than {a}{where} ({interval} {limits}{p}){condition}"


def verdict_numbers(verdict: Decision | None) -> dict[str, Any]:
    """Give what rows for programs tell of a verdict."""
    if verdict is None:
        return {
            "verdict": "unavailable", "dagger": False, "conditions": [], "marks": "", "why": None
        }  # fmt: skip
    return {
        "verdict": verdict.word.value,
        "dagger": verdict.dagger,
        "conditions": list(verdict.conditions),
        "marks": verdict.marks,
        "why": verdict.why or None,
    }


def condition_of(row: Numbers) -> str:
    """Return `, in these sessions, if no further run fails`; nothing if a claim holds as it is."""
    conditions = [text for name, text in CONDITIONS.items() if name in row["conditions"]]
    by_design = f", {carries}" if (carries := carried(row)) else ""
    comma = "," if by_design and conditions else ""
    return by_design + (f"{comma} if {' and '.join(conditions)}" if conditions else "")


def factor_of(row: Numbers, word: str, axis: Axis) -> tuple[str, str]:
    """Give a speedup and its interval as said of the faster or the slower: 1.74×, 2.3%.

    What is faster does more in the same time; what needs fewer steps saves a share of them.
    """
    ratio, low, high = row["speedup"], row["speedup_low"], row["speedup_high"]
    if word == "slower":
        ratio, low, high = 1 / ratio, 1 / high, 1 / low
    if ratio >= 1.1:
        return f"{ratio:.2f}×", f"{low:.2f} to {high:.2f}×"
    if word == "faster" and not axis.is_time:
        ratio, low, high = (2 - 1 / value for value in (ratio, low, high))
    return f"{(ratio - 1) * 100:.1f}%", f"{(low - 1) * 100:.1f} to {(high - 1) * 100:.1f}%"


def _span(row: Numbers, interval: str) -> str:
    ratio, low, high = row["speedup"], row["speedup_low"], row["speedup_high"]
    return f"{ratio:.2f}× ({interval} {low:.2f} to {high:.2f}×{p_text(row, '; {}')})"


def p_text(row: Numbers, pattern: str) -> str:
    """Give the adjusted p in a pattern, as `p < .001`; nothing where there is none."""
    p = row["p_adjusted"]
    return "" if p is None else pattern.format(units.p_text(p))


def is_alone(row: Numbers, tests: int, confidence: float) -> bool:
    """Tell whether a row is undecided by its adjusted p alone, beside an interval without 1."""
    low, high, p, adjusted = (
        row[name] for name in ("speedup_low", "speedup_high", "p_value", "p_adjusted")
    )
    if row["verdict"] != "undecided" or tests < 2 or p is None or adjusted is None:
        return False
    excludes = low is not None and high is not None and not low <= 1 <= high
    return excludes and bool(p < 1 - confidence <= adjusted)


def _alone(row: Numbers, tests: int, confidence: float) -> str:
    """Return why nothing is decided where the interval beside it does not hold 1."""
    if not is_alone(row, tests, confidence):
        return ""
    return (
        "The interval is for this comparison alone; the verdict uses p, adjusted for all "
        f"{tests} comparisons."
    )


def _plan(row: Numbers) -> str:
    needed = row["runs_needed"]
    if row["verdict"] != "undecided" or needed is None or needed <= min(row["n_a"], row["n_b"]):
        return ""
    return f"{units.runs_needed(needed)}."


def _why(row: Numbers) -> str:
    """Say how a speedup comes of throughput and of epochs to the target."""
    throughput, ratio = row["throughput_speedup"], row["epochs_ratio"]
    if not throughput or not ratio:
        return ""
    unit = row["progress_unit"] or "epochs"
    limits = _limits(row["throughput_low"], row["throughput_high"])
    axis = of_row(row)
    first = f"Its throughput is {throughput:.2f}×{limits} that of {row['a']}"
    if not axis.is_time:
        first = f"Per epoch {row['a']} takes {throughput:.2f}×{limits} its {axis.noun}"
    low, high = (1 / end if end else None for end in (row["epochs_high"], row["epochs_low"]))
    if ratio == low == high == 1:
        return f"{first}; all runs of both needed the same number of {unit}."
    return f"{first}, and it needs {1 / ratio:.2f}×{_limits(low, high)} as many {unit}."


def _limits(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"


def _failures(row: Numbers) -> str:
    """Say how many runs reached the target, where not all did."""
    if row["reached_a"] == row["n_a"] and row["reached_b"] == row["n_b"]:
        return ""
    said = [_reached_of(row, side) for side in "ab"]
    axis = of_row(row)
    spent, verb = axis.noun, "are" if axis.progress else "is"
    counted = (
        f" (the {spent} of the failed ones {verb} counted)" if row["estimand"] == "ert" else ""
    )
    return f"The target was reached by {said[1]} and {said[0]}{counted}."


def _reached_of(row: Numbers, side: str) -> str:
    runs = units.plural(row[f"n_{side}"], "run")
    return f"{row[f'reached_{side}']:,} of {runs} of {row[side]}"
