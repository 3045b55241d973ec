"""What sessions, seeds and stalls of the runs keep from a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from tests.accepted import Case
from tests.made_curves import judged
from tests.questions import Questions, accepted_answers
from tests.test_compare import compared, side
from ttastats import api
from ttastats.report.answer import Report

BEGIN = datetime(2026, 11, 2, 9, tzinfo=UTC)
#: Times of runs that vary by 2 % around 300 s, in epochs that vary.
NOISE: list[float] = np.random.default_rng(1).normal(0, 0.02, 60).tolist()


def made(days: Sequence[int], speed: float = 1.0, *, first: int = 0) -> pl.DataFrame:
    """Return one run for each number of a day, 20 minutes after the one before it."""
    runs = []
    for number, day in enumerate(days):
        seconds = 300 / speed * (1 + NOISE[first + number])
        when = BEGIN + timedelta(days=day, minutes=20 * number + first)
        runs.append(side([(seconds, 3 + number % 2)], started_at=when))
    return pl.concat(runs)


DAYS = ([0] * 3 + [2] * 3 + [4] * 3 + [6] * 3, [1] * 3 + [3] * 3 + [5] * 3 + [7] * 3)


def in_days(*leads: float) -> Report:
    """Compare within days, on which one side is so much faster."""
    a = made(sorted(list(range(len(leads))) * 3))
    b = pl.concat([made([day] * 3, lead, first=20 + 3 * day) for day, lead in enumerate(leads)])
    return api.compare(a, b, block=("day",))


def still(seed: int, seconds: float = 0.0) -> pl.DataFrame:
    """Return runs of which one stood still for so long, which is part of its result."""
    rng = np.random.default_rng(seed)
    rows = []
    for run in range(5):
        pace, met = 60 * (1 + 0.02 * rng.standard_normal()), 8 + run % 3
        rows += [
            {
                "id": f"{seed}-{run}",
                "epoch": epoch,
                "t": pace * epoch + seconds * (run == 2 and epoch > 5),
                "acc": 0.8 * (epoch >= met),
            }
            for epoch in range(1, met + 1)
        ]
    return judged(rows)


QUESTIONS: Questions = {
    "sessions whose own spread still shows the difference": lambda: compared(
        made(DAYS[0]), made(DAYS[1], 1.2, first=20)
    ),
    "blocks that agree leave no condition": lambda: in_days(1.1, 1.1, 1.1, 1.1),
    "blocks that differ do": lambda: in_days(1.25, 1.0, 1.25, 1.02),
    "an hour of summer time": lambda: api.compare(still(1), still(2, 3600.0)),
    "two hours": lambda: api.compare(still(1), still(2, 7200.0)),
}


@accepted_answers("sessions", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_what_sessions_keep_from_a_verdict_is_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
