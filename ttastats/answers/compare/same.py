"""How far apart do sets of runs of one setup lie, and which difference of setups is worth claiming?

The sets are judged as any two sides are; the words differ. By what they differ beyond their runs is
between sessions (`stats.means`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from msgspec import UNSET, structs

from ttastats.answers.compare.rows import CompareRow, Result, SameKeys, TimesRow, rows_of
from ttastats.answers.compare.sentences import conclusions
from ttastats.base import units
from ttastats.base.percentages import percent_text
from ttastats.report.answer import Report
from ttastats.report.grouping import row_names
from ttastats.stats.means import Set, variance_between_sets
from ttastats.stats.outcomes import reached_at_least


def sessions(
    results: Sequence[Result[Any, Any]], by: Sequence[str], confidence: float
) -> list[SameKeys]:
    """Return the keys on variation between sessions for each comparison.

    Of times in shares of the time. The sets of a group, the baseline's too, are judged together.
    """
    groups: dict[tuple[Any, ...], list[Set]] = {}
    keys = [tuple(s.get(name) for name in by) for s in results]
    for key, s in zip(keys, results, strict=True):
        sides = _sets(s.contrast, s.row)
        if len(sides) == 2:
            groups.setdefault(key, sides[:1]).append(sides[1])
    session_keys = []
    for key, s in zip(keys, results, strict=True):
        if key not in groups:
            session_keys.append(SameKeys())
            continue
        spread = variance_between_sets(groups[key], confidence=confidence)
        numbers = [spread.deviation, spread.highest, spread.smallest_claim]
        if isinstance(s.row, TimesRow):  # a deviation of logs is a share
            numbers = [None if x is None else math.expm1(min(x, 700.0)) for x in numbers]
        between, high, claim = numbers
        unlike = 1 - reached_at_least(spread.sets, spread.sets, confidence=confidence)
        session_keys.append(
            SameKeys(
                sets=spread.sets,
                between=between,
                between_high=high,
                unlike=unlike,
                smallest_claim=claim,
            )
        )
    return session_keys


def _sets(contrast: Any, row: CompareRow) -> list[Set]:
    """Return the sides of a comparison with a known mean and variance."""
    if isinstance(row, TimesRow):
        return [
            Set(math.log(side.term.estimate), side.term.variance, side.term.df)
            for side in ((contrast.speedup.a, contrast.speedup.b) if contrast.speedup else ())
            if side is not None and side.term.variance is not None
        ]
    values = ((row.quality_a, row.sd_a, row.n_a), (row.quality_b, row.sd_b, row.n_b))
    return [
        Set(mean, sd**2 / n, n - 1)
        for mean, sd, n in values
        if mean is not None and sd is not None and not row.why
    ]


def of_one_setup(report: Report, confidence: float) -> Report:
    """Return a comparison of one setup with itself; sides that differ are `apart`."""
    all_rows = rows_of(report)
    rows = tuple(
        structs.replace(row, verdict="apart") if row.word.directed else row for row in all_rows
    )
    has_several = len({row.b for row in all_rows}) < len(all_rows)
    text = [
        f"{conclusion.about}: {conclusion.sentence}" if has_several else conclusion.sentence
        for conclusion in conclusions(report, confidence=confidence)
    ]
    if any(row.word.directed for row in all_rows):
        text.append(
            "The difference is significant although the setup is the same: the machine or the "
            "session differs."
        )
    text += _session_sentences(rows, report.by)
    return replace(report, records=rows, sentence=" ".join(text))


def _session_sentences(rows: Sequence[CompareRow], by: Sequence[str]) -> Iterator[str]:
    """Yield the variation between sessions and the smallest claim of each group."""
    groups = dict(zip(row_names(rows, by), rows, strict=True))
    for name, row in groups.items():
        keys = row.same
        if keys is UNSET or keys.smallest_claim is None or keys.between_high is None:
            continue
        high = _amount(row, keys.between_high)
        spread_text = (
            f"two sets only show that the standard deviation between sessions is at most {high}. "
            "Use 3 to 5 sets for a better estimate, or run both setups in each session (--block)."
        )
        if keys.between is not None:
            spread_text = (
                "the standard deviation between the sessions of these "
                f"{units.plural(keys.sets, 'set')} is {_amount(row, keys.between)}, at most "
                f"{high}."
            )
        yield (
            f"{f'{name}: of' if len(groups) > 1 else 'Of'} two setups with this number of runs, "
            "each in a single session, only a difference of more than "
            f"{_amount(row, keys.smallest_claim)} is worth claiming, if other sessions are like "
            f"these ({units.plural(keys.sets, 'session')} alike do not exclude "
            f"{percent_text(round(keys.unlike or 0.0, 2))} that are not): {spread_text}"
        )


def _amount(row: CompareRow, value: float) -> str:
    if not isinstance(row, TimesRow):
        return f"{value:.3g}"
    return units.percent(value) if value < 10 else f"{value + 1:.0f}×"
