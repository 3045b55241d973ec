"""How far apart do sets of runs of one setup lie, and which difference of setups is worth claiming?

The sets are judged as any two sides are; the words differ. By what they differ beyond their runs is
between sessions (`stats.between`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ttastats.answers.compare.verdicts import verdicts
from ttastats.base import units
from ttastats.report.answer import Report
from ttastats.report.cells import Table, Text
from ttastats.report.grouping import row_names
from ttastats.sides.comparison import Comparison
from ttastats.sides.quality_comparison import QualityComparison, SideAt
from ttastats.stats.between import Between, Set, between
from ttastats.stats.logratio import LogTerm
from ttastats.stats.verdict import Verdict

Rows = tuple[Mapping[str, Any], ...]
#: What a set of the baseline and a set that is held against it have, where that is known.
_Pair = tuple[Set, Set] | None


def of_times(rows: Rows, found: Sequence[Comparison], by: Sequence[str], confidence: float) -> Rows:
    """Add to rows of times what the sets of each group say of sessions, in shares of the time."""
    pairs: list[_Pair] = []
    for one in found:
        sides = (one.speedup.a, one.speedup.b) if one.speedup else (None, None)
        sets = [_of_logs(side.term) for side in sides if side and side.term.variance is not None]
        pairs.append((sets[0], sets[1]) if len(sets) == 2 else None)
    return tuple(
        {**row, **_numbers(told, share=True)}
        for row, told in zip(rows, _told(rows, pairs, by, confidence), strict=True)
    )


def of_qualities(
    rows: Rows, found: Sequence[QualityComparison], by: Sequence[str], confidence: float
) -> Rows:
    """Add the same to rows of qualities, in the unit of the metric."""
    pairs: list[_Pair] = []
    for one in found:
        a, b = _of_values(one.a), _of_values(one.b)
        pairs.append((a, b) if a and b and not one.verdict.why else None)
    return tuple(
        {**row, **_numbers(told, share=False)}
        for row, told in zip(rows, _told(rows, pairs, by, confidence), strict=True)
    )


def _of_logs(term: LogTerm) -> Set:
    return Set(math.log(term.estimate), term.variance or 0.0, term.df)


def _of_values(side: SideAt) -> Set | None:
    if side.mean is None or side.sd is None:
        return None
    return Set(side.mean, side.sd**2 / side.n, side.n - 1)


def _told(
    rows: Rows, pairs: Sequence[_Pair], by: Sequence[str], confidence: float
) -> list[Between | None]:
    """Judge the sets of each group together: the baseline's, and each that is held against it."""
    groups: dict[tuple[Any, ...], list[Set]] = {}
    keys = [tuple(row[name] for name in by) for row in rows]
    for key, pair in zip(keys, pairs, strict=True):
        if pair is not None:
            groups.setdefault(key, [pair[0]]).append(pair[1])
    made = {key: between(sets, confidence=confidence) for key, sets in groups.items()}
    return [made.get(key) for key in keys]


def _numbers(told: Between | None, *, share: bool) -> dict[str, Any]:
    """Give the keys of a row for programs; a deviation of logs as the share it is."""
    found = {
        "between": told.deviation if told else None,
        "between_high": told.highest if told else None,
        "smallest_claim": told.smallest_claim if told else None,
    }
    if share:
        found = {
            name: None if value is None else math.expm1(min(value, 700.0))
            for name, value in found.items()
        }
    return {"same": True, "sets": told.sets if told else 1, **found}


def told(report: Report, confidence: float) -> Report:
    """Give a comparison in the words of one setup: `apart`, or no difference shown."""
    rows = tuple(
        {**row, "verdict": "apart" if Verdict(row["verdict"]).directed else row["verdict"]}
        for row in report.rows
    )
    words = iter(_word(row) for row in rows)
    tables = tuple(_renamed(table, words) for table in report.tables)
    said = [*_sentences(report, confidence), *_of_sessions(report)]
    return replace(report, records=rows, tables=tables, sentence=" ".join(said))


def _word(row: Mapping[str, Any]) -> Text | None:
    if row["verdict"] == "apart":
        return Text(f"different {row.get('marks', '')}".strip(), "bad")
    return Text("~ no significant difference") if row["verdict"] == "undecided" else None


def _renamed(table: Table, words: Iterator[Text | None]) -> Table:
    """Give a table with the last cell of each row in these words, where there are some."""
    body = []
    for row in table.rows:
        word = None if row.of_all else next(words)
        body.append(row if word is None else replace(row, cells=(*row.cells[:-1], word)))
    return replace(table, rows=tuple(body))


def _sentences(report: Report, confidence: float) -> Iterator[str]:
    """Say of each pair of sets whether they lie apart."""
    several = len({row["b"] for row in report.rows}) < len(report.rows)
    for one in verdicts(report, confidence=confidence):
        about = f"{one.about}: " if several else ""
        yield f"{about}{one.sentence}"
    if any(Verdict(row["verdict"]).directed for row in report.rows):
        yield (
            "The difference is significant although the setup is the same: the machine or the "
            "session differs."
        )


def _of_sessions(report: Report) -> Iterator[str]:
    """Say once for each group how much sessions vary, and what that leaves to be claimed."""
    names = row_names(report.rows, report.by)
    groups = dict(zip(names, report.rows, strict=True))
    for name, row in groups.items():
        if row["smallest_claim"] is None:
            continue
        about = f"{name}: of" if len(groups) > 1 else "Of"
        least, high = (_amount(row, row[key]) for key in ("smallest_claim", "between_high"))
        text = (
            f"{about} two setups with this number of runs, each in a single session, only a "
            f"difference of more than {least} is worth claiming"
        )
        if row["sets"] == 2:
            yield (
                f"{text}: two sets only show that the standard deviation between sessions is at "
                f"most {high}. Use 3 to 5 sets for a better estimate, or run both setups in each "
                "session (--block)."
            )
        else:
            sets = units.plural(row["sets"], "set")
            yield (
                f"{text}: the standard deviation between the sessions of these {sets} is "
                f"{_amount(row, row['between'])}, at most {high}."
            )


def _amount(row: Mapping[str, Any], value: float) -> str:
    if "difference" in row:
        return f"{value:.3g}"
    return units.percent(value) if value < 10 else f"{value + 1:.0f}×"
