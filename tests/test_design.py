"""How the design of runs limits a verdict."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.accepted import Case
from tests.made_curves import evaluation, judged, logs, of
from tests.questions import Questions, accepted_answers
from ttastats import api
from ttastats.report.answer import Report
from ttastats.sides.budget_checks import bend, within
from ttastats.stats.outcomes import make_outcomes
from ttastats.stats.speedup import compute_speedup


def evaluated(
    every: int, seed: int, *, runs: int = 10, cv: float = 0.01, second: float = 10.0, **unit: Any
) -> pl.DataFrame:
    """Return runs that meet their target at about epoch 60, evaluated at each of so many epochs."""
    rng = np.random.default_rng(seed)
    rows = []
    for run in range(runs):
        met = 60.5 * (1 + cv * rng.standard_normal())
        pace = second * (1 + 0.003 * rng.standard_normal())
        epochs = range(every, every * math.ceil(met / every) + 1, every)
        rows += [
            {"id": f"{seed}-{run}", "epoch": epoch, "t": pace * epoch, "acc": 0.8 * (epoch >= met)}
            for epoch in epochs
        ]
    return judged(rows)


def grids(*every: int) -> list[pl.DataFrame]:
    return [evaluated(length, length, runs=4, cv=0.001) for length in every]


def curves(
    every: int,
    seed: int,
    *,
    runs: int = 10,
    last: int = 3000,
    sd: float = 0.005,
    pace: float = 0.1,
    flat: bool = False,
) -> pl.DataFrame:
    """Return runs of one falling curve of losses, evaluated at each of so many steps."""
    rng = np.random.default_rng(seed)
    steps = range(every, last + 1, every)
    return logs(
        [
            of(*(
                evaluation(
                    index,
                    3.0 + 2.0 * math.exp(-step / 600) * (not flat) + sd * rng.standard_normal(),
                    step=step, epoch=None, seconds=pace * step,
                )
                for index, step in enumerate(steps)
            ))
            for _ in range(runs)
        ]
    )  # fmt: skip


def machines(*paces: float) -> pl.DataFrame:
    """Return runs of one entry on machines of these speeds."""
    runs = [evaluated(1, 10 + n, runs=1, second=pace) for n, pace in enumerate(paces)]
    return pl.concat(runs).with_columns(entry=pl.lit("ours"))


def steep() -> pl.DataFrame:
    """Return curves that bend to the worse."""
    return curves(400, 1).with_columns(value=6.8 - pl.col("value"))


def claimed(limit: float) -> Callable[[], Report]:
    return lambda: api.claim(
        steep(), quality=f"val_loss <= {limit}", at="step=1000", interpolate=True
    )


def best(every: int, other: int, **more: Any) -> Callable[[], Report]:
    sides = (curves(every, 1, flat=True), curves(other, 2, flat=True))
    return lambda: api.compare(*sides, at_end=True, **more)


QUESTIONS: Questions = {
    "of equal setups the one evaluated less often seems slower": lambda: api.compare(
        evaluated(1, 1), evaluated(4, 2)
    ),
    "the other way round": lambda: api.compare(evaluated(4, 2), evaluated(1, 1)),
    "a gate names the intervals": lambda: api.compare(
        evaluated(1, 1), evaluated(4, 2), fail_on="slower:2%"
    ),
    "a side was not evaluated at the budget": lambda: api.compare(
        curves(400, 1), curves(150, 2), at="step=750"
    ),
    "both were": lambda: api.compare(curves(400, 1), curves(400, 2), at="step=1200"),
    "both have earlier values": lambda: api.compare(curves(400, 1), curves(400, 2), at="step=1100"),
    "a comparison of interpolated values allows for curvature": lambda: api.compare(
        curves(400, 1), curves(150, 2), at="step=1000", interpolate=True
    ),
    "a claim of them does not hold": claimed(3.38),
    "it would without curvature": claimed(3.41),
    "it holds": claimed(3.50),
    "two evaluations show no curvature": lambda: api.claim(
        curves(400, 1, last=800), quality="val_loss <= 9", at="step=600", interpolate=True
    ),
    "at a time the values of a side are older": lambda: api.compare(
        curves(400, 1), curves(50, 2), at="seconds=70"
    ),
    "a quality at a step that was not evaluated": lambda: api.claim(
        curves(400, 1), at="step=750", quality="4.0"
    ),
    "a time to it": lambda: api.claim(curves(400, 1), at="step=750", seconds="<=50"),
    "a quality at one that was": lambda: api.claim(curves(150, 1), at="step=750", quality="4.0"),
    "a time to that": lambda: api.claim(curves(150, 1), at="step=750", seconds="<=50"),
    "the best of many more evaluations": best(750, 75, best=True),
    "the last of them": best(750, 75),
    "the best of few more": best(75, 65, best=True),
    "the best of a quarter more": best(75, 60, best=True),
    "at a time half as old again": lambda: api.compare(
        curves(400, 1), curves(600, 2), at="seconds=130"
    ),
    "intervals longer by a twentieth": lambda: api.compare(*grids(20, 21)),
    "half as many evaluations more": lambda: api.compare(
        *(side.with_columns(epoch=pl.lit(None, pl.Float64)) for side in grids(20, 12))
    ),
    "two machines have no common mean": lambda: api.summary(
        machines(1.0, 1.01, 1.0, 0.99, 1.0, 7.7, 7.8)
    ),
}


@accepted_answers("design", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_what_a_design_keeps_from_a_verdict_is_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


@pytest.mark.parametrize("seed", range(2))
def test_the_best_of_noisier_evaluations_is_no_better(seed: int) -> None:
    draw = np.random.default_rng(seed)
    quiet, level = draw.uniform(0.005, 0.05), draw.uniform(1.6, 2.5)
    a, b, as_quiet = (
        curves(75, 10 * seed + n, flat=True, sd=sd)
        for n, sd in enumerate((quiet, level * quiet, quiet))
    )
    better = as_quiet.with_columns(value=pl.col("value") - 3 * quiet)
    rows = [
        api.compare(*sides, at_end=True, best=True).rows[0]
        for sides in ((a, b), (b, a), (a, better))
    ]
    assert [row["verdict"] for row in rows] == ["undecided", "undecided", "better"]
    assert {row["why"] for row in rows[:2]} == {"the best of noisier evaluations"}
    assert all("optimism_differs" in row["flags"] for row in rows)


@pytest.mark.parametrize("seed", range(2))
def test_values_at_a_time_are_as_old_as_times_are_late(seed: int) -> None:
    """An interval longer by more than 5 % is another one, as for times to a target."""
    draw = np.random.default_rng(seed)
    longer = draw.uniform(1.08, 1.45)
    a, b = curves(100, seed), curves(100, seed + 9)
    # Both follow one curve of seconds, of which B has values less often.
    b = b.with_columns(
        seconds=pl.col("seconds") * longer, value=3 + 2 * (-pl.col("step") * longer / 600).exp()
    )
    (row,) = api.compare(a, b, at="seconds=75").rows
    assert (row["verdict"], row["why"]) == ("undecided", "evaluation intervals differ")


def test_late_evaluations_count_for_the_share_of_time_that_successes_took() -> None:
    """A failed run ends where it ends: only times of successes are late."""
    a, b = make_outcomes([9.0, 10, 11]), make_outcomes([9.0, 11, 20], [True, True, False])
    low, high = compute_speedup(a, b, estimand="mean", confidence=0.95).limits(0.95) or (0.0, 0.0)
    allowed = compute_speedup(a, b, late=(0.0, 0.1), estimand="mean", confidence=0.95).limits(0.95)
    assert allowed == pytest.approx((low, high / (1 - 0.1 * 20 / 40)))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (0.1, 0.2, (-0.1, 0.2)),
        (-0.1, -0.2, (-0.2, 0.1)),
        (0.1, -0.2, (-0.3, 0.0)),
        (-0.1, 0.2, (0.0, 0.3)),
        (0.0, -0.2, (-0.2, 0.0)),
        (0.1, None, (-math.inf, math.inf)),
    ],
)
def test_what_is_allowed_for_is_what_each_side_may_have_moved(
    a: float, b: float | None, expected: tuple[float, float]
) -> None:
    sides = [
        pl.DataFrame({"bend_before": [9.0, 9.0], "bend_after": [move, move]},
                     schema={"bend_before": pl.Float64, "bend_after": pl.Float64})
        for move in (a, b)
    ]  # fmt: skip
    if b is None:
        sides[1] = sides[1].with_columns(bend_before=None)
    assert within(*map(bend, sides)) == pytest.approx(expected)
