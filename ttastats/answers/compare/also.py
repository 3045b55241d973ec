"""How another metric is shown beside a comparison of times: what the gain in time leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ttastats.answers.compare.cells import difference, digits
from ttastats.answers.compare.sentences import claim
from ttastats.answers.qualities import with_value
from ttastats.base import units
from ttastats.base.note import Note, note
from ttastats.report.row import Row
from ttastats.sides.quality_comparison import Also
from ttastats.stats.verdict import Verdict


def numbers(every: Sequence[Also]) -> Row:
    """Return the keys of a row on other metrics, each with the metric's name in front."""
    keys: dict[str, Any] = {}
    for other in every:
        judged, gap = other.contrast, other.contrast.difference
        ends = (gap.estimate, gap.low, gap.high, gap.p_value) if gap else (None,) * 4
        names = ("difference", "difference_low", "difference_high", "p_value")
        values = {
            "a": judged.a.mean,
            "b": judged.b.mean,
            **dict(zip(names, ends, strict=True)),
            "p_adjusted": judged.p_adjusted,
            "verdict": judged.verdict.word.value,
        }
        keys |= {f"{other.metric}_{name}": value for name, value in values.items()}
    return Row(keys=keys)


def lines(every: Sequence[Also]) -> Iterator[str]:
    """Yield a detail line for each metric that any run logged."""
    for other in _logged_only(every):
        pair = (other.contrast.a, other.contrast.b)
        decimals = digits(other.contrast, pair[0].mean or pair[1].mean)
        a, b = (decimals.mean(side.mean, side.sd) for side in pair)
        yield f"also {other.metric}  A {a}  B {b}  {_difference_text(other)}"


def sentences(every: Sequence[Also], a: str, b: str, *, faster: bool) -> Iterator[str]:
    """Yield a sentence for each metric that changes the meaning of the comparison."""
    for other in _logged_only(every):
        judged, gap = other.contrast, other.contrast.difference
        word = judged.verdict.word
        if gap is None:
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


def notes(every: Sequence[Also]) -> Iterator[Note]:
    """Yield notes on what the comparison of other metrics cannot show."""
    if chose := dict.fromkeys(other.metric for other in every if other.chose):
        yield note("chose_the_stop", metrics=", ".join(chose))
    lacking = []
    for metric in dict.fromkeys(other.metric for other in every):
        rows = [other for other in every if other.metric == metric]
        judged = [other.contrast for other in _logged_only(rows) or rows]
        if any(side.missing for each in judged for side in (each.a, each.b)):
            a, b = (
                with_value(sum(side.n for side in sides), sum(side.missing for side in sides))
                for sides in ([each.a for each in judged], [each.b for each in judged])
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
