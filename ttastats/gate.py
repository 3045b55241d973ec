"""What lets a CI job fail: a slowdown that the runs cannot rule out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ttastats import percentages
from ttastats.errors import TtastatsError

_LIMIT = re.compile(r"slower:\s*(.+)")


def parse(text: str) -> float:
    """Read `slower:2%` and give the slowdown that is still allowed, as a fraction.

    Raises
    ------
    TtastatsError
        The text is nothing of the kind.
    """
    match = _LIMIT.fullmatch(text.strip())
    if not match:
        raise TtastatsError(
            f"{text!r} is not a condition", where="--fail-on", remedy="Write slower:2%."
        )
    return percentages.fraction(match.group(1), "--fail-on")


def failures(rows: Sequence[Mapping[str, Any]], limit: float) -> tuple[str, ...]:
    """Name the rows for which B is not shown to be at most `limit` slower than A.

    A one-sided test of non-inferiority at 5 %: the lower end of the 90 % interval of the speedup,
    unseen epochs allowed for, has to lie above 1 / (1 + limit). What cannot be judged fails.
    """
    found = []
    for row in rows:
        low = row["non_inferiority_low"]
        if row["verdict"] == "faster" and not row["dagger"]:
            continue
        if low is None:
            found.append(f"{row['benchmark']}: there is no speedup to judge ({row['claim']})")
        elif low <= 1 / (1 + limit):
            slower = "slower by any factor" if low <= 0 else f"{1 / low - 1:.1%} slower"
            found.append(
                f"{row['benchmark']}: cannot rule out that B is {slower}; {limit:.1%} is allowed"
            )
    return tuple(found)
