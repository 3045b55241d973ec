"""How sessions, seeds, stalls and repeated looks limit a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.accepted import Case
from tests.made_curves import judged
from tests.questions import Questions, accepted_answers
from tests.test_compare import compared, side
from ttastats import api
from ttastats.report.answer import Report
from ttastats.sides.options import Options

BEGIN = datetime(2026, 11, 2, 9, tzinfo=UTC)
#: Times of runs that vary by 2 % around 300 s, in epochs that vary.
NOISE: list[float] = np.random.default_rng(1).normal(0, 0.02, 60).tolist()


def runs_on(days: Sequence[int], speed: float = 1.0, *, first: int = 0) -> pl.DataFrame:
    """Return one run for each number of a day, 20 minutes after the one before it."""
    runs = []
    for number, day in enumerate(days):
        seconds = 300 / speed * (1 + NOISE[first + number])
        when = BEGIN + timedelta(days=day, minutes=20 * number + first)
        runs.append(side([(seconds, 3 + number % 2)], started_at=when))
    return pl.concat(runs)


DAYS = ([0] * 3 + [2] * 3 + [4] * 3 + [6] * 3, [1] * 3 + [3] * 3 + [5] * 3 + [7] * 3)


def in_days(*leads: float) -> Report:
    """Return a comparison within days, on which one side is faster by these factors."""
    a = runs_on(sorted(list(range(len(leads))) * 3))
    b = pl.concat([runs_on([day] * 3, lead, first=20 + 3 * day) for day, lead in enumerate(leads)])
    return api.compare(a, b, block=("day",))


def still(seed: int, seconds: float = 0.0) -> pl.DataFrame:
    """Return runs of which one stalled for so long, which is part of its result."""
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


def looking(max_runs: int = 20, **more: Any) -> Callable[[], Report]:
    """Compare at a look of a plan."""
    convergence = more.pop("same_convergence", False)
    plan = Options(max_runs=max_runs, same_convergence=convergence, epochs_fixed=True)
    return lambda: api.compare(side(ALIKE), side(ALIKE), options=plan, **more)


NEAR = [(300 + k, 3) for k in range(6)]
ALIKE = [(300 + 0.5 * (k % 3), 3) for k in range(6)]
QUESTIONS: Questions = {
    "sessions whose own spread still shows the difference": lambda: compared(
        runs_on(DAYS[0]), runs_on(DAYS[1], 1.2, first=20)
    ),
    "blocks that agree leave no condition": lambda: in_days(1.1, 1.1, 1.1, 1.1),
    "blocks that differ do": lambda: in_days(1.25, 1.0, 1.25, 1.02),
    "an hour of summer time": lambda: api.compare(still(1), still(2, 3600.0)),
    "two hours": lambda: api.compare(still(1), still(2, 7200.0)),
    "claims about a margin hold at every look": looking(),
    "and are wider than without looks": lambda: compared(
        side(ALIKE), side(ALIKE), epochs_fixed=True
    ),
    "a benchmark that waits for its look takes part in them": lambda: compared(
        pl.concat([side(NEAR), side(NEAR[1:], "bert")]),
        pl.concat([side(NEAR[::-1]), side(NEAR, "bert")]),
        max_runs=20,
        margin=0.0135,
        epochs_fixed=True,
    ),
    "no quality has looks": looking(at_end=True),
    "nor has another metric": looking(also=["top1_accuracy"]),
    "nor a time per epoch": looking(same_convergence=True),
    "the first look is at three runs": looking(2),
    "a plan of more runs than looks are known for": looking(201),
}


@accepted_answers("sessions", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_what_sessions_keep_from_a_verdict_is_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
