"""Rows of comparisons of times, made of a mapping of their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ttastats.answers.compare.rows import TimesRow
from ttastats.report.keys import LeftOutOfA, LeftOutOfB
from ttastats.report.row import Row

GROUP = ("suite", "round", "benchmark", "entry")


def typed(row: Mapping[str, Any]) -> TimesRow:
    """Return the row with these keys; those that are not given are unknown."""
    return TimesRow(
        keys={name: row[name] for name in GROUP if name in row},
        lost_a=LeftOutOfA(**_of(LeftOutOfA, row)),
        lost_b=LeftOutOfB(**_of(LeftOutOfB, row)),
        **_of(TimesRow, row),
    )


def _of(kind: type[Row], row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in kind.__struct_fields__ if name in row}
