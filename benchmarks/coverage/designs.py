"""What is claimed of equal sides whose runs were evaluated, or made, in different ways.

Logs are made and compared as `compare` does, with all that it finds in the design of the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from benchmarks.coverage.figures import Figure, Kind, rate
from benchmarks.coverage.shapes import Floats, generator
from benchmarks.coverage.simulations import Plan
from ttastats.outcomes import at_budget, time_to_target
from ttastats.outcomes.budget import END, Budget
from ttastats.sides import comparison, quality_comparison
from ttastats.sides.options import Options
from ttastats.sides.pairing import Pair
from ttastats.table.frames import from_frame

_CLAIMS = {"faster", "slower", "better", "worse"}

Logs = Callable[[int, int, np.random.Generator], pl.DataFrame]
"""Makes the rows of so many runs, each of so many replicates."""


@dataclass(frozen=True, slots=True)
class Case:
    """Two sides that are equal but for how they were evaluated or made; to a target without one."""

    name: str
    a: Logs
    b: Logs
    budget: Budget | None = None


def _rows(replicates: int, runs: int, places: Floats, **columns: Floats) -> pl.DataFrame:
    """Return a row per evaluation; columns of shape (replicates, runs, places)."""
    shape = (replicates, runs, places.size)
    numbers = np.arange(replicates * runs)
    return pl.DataFrame(
        {
            "run": np.repeat(numbers, places.size),
            "replicate": np.repeat(numbers // runs, places.size),
            "place": np.broadcast_to(places, shape).ravel(),
            **{name: np.broadcast_to(values, shape).ravel() for name, values in columns.items()},
        }
    )


def to_target(every: int, cv: float, slow: float = 0.0) -> Logs:
    """Return runs that meet their target at 60.5 epochs, evaluated at each of so many.

    `slow` is the share of runs that were made on a machine twice as slow.
    """

    def draw(replicates: int, runs: int, rng: np.random.Generator) -> pl.DataFrame:
        size = (replicates, runs, 1)
        met = 60.5 * (1 + cv * rng.standard_normal(size))
        pace = 1 + 0.003 * rng.standard_normal(size) + (rng.random(size) < slow)
        epochs = np.arange(every, 100.0, every)
        rows = _rows(replicates, runs, epochs, seconds=pace * epochs, value=(epochs >= met) * 1.0)
        return rows.rename({"place": "epoch"})

    return draw


def curves(every: int, sd: float, flat: bool = False, pace: float = 0.1) -> Logs:
    """Return runs of one falling curve of losses, evaluated at each of so many of 3,000 steps.

    `pace` is in seconds a step; the curve is one of seconds, the same at every pace.
    """

    def draw(replicates: int, runs: int, rng: np.random.Generator) -> pl.DataFrame:
        steps = np.arange(every, 3001.0, every)
        noise = sd * rng.standard_normal((replicates, runs, steps.size))
        seconds = pace * steps * (1 + 0.003 * rng.standard_normal((replicates, runs, 1)))
        loss = 3.0 + 2.0 * np.exp(-steps * pace / 60) * (not flat) + noise
        rows = _rows(replicates, runs, steps, seconds=seconds, value=loss)
        return rows.rename({"place": "step"})

    return draw


_AT = Budget("step", 750.0)
_BETWEEN = Budget("step", 1000.0, interpolate=True)
_TIME = Budget("seconds", 70.0)
_BEST = Budget(END.unit, best=True)
CASES = (
    *(
        Case(f"each epoch / each {name}, 60 epochs ±{cv:.0%}", to_target(1, cv), to_target(q, cv))
        for q, name in ((1, "epoch"), (2, "2nd"), (4, "4th"))
        for cv in (0.01, 0.03)
    ),
    Case("each 3rd epoch / each 4th, 60 epochs ±1%", to_target(3, 0.01), to_target(4, 0.01)),
    Case(
        "a third of the runs on a machine twice as slow",
        to_target(1, 0.01, slow=1 / 3), to_target(1, 0.01, slow=1 / 3),
    ),
    *(
        Case(f"{name}, each {a} steps / each {b}", curves(a, 0.01), curves(b, 0.01), budget)
        for name, budget in (
            ("at step 750", _AT), ("at step 1,000, interpolated", _BETWEEN), ("after 70 s", _TIME)
        )
        for a, b in ((150, 150), (400, 150), (125, 50))
    ),
    *(
        Case(
            f"best of {3000 // a} / of {3000 // b}", curves(a, 0.01, flat=True),
            curves(b, 0.01, flat=True), _BEST,
        )
        for a, b in ((75, 75), (750, 75))
    ),
    *(
        Case(f"best of 40, noise {times:g} times as large", curves(75, 0.01, flat=True),
             curves(75, 0.01 * times, flat=True), _BEST)
        for times in (1.5, 2.0)
    ),
    *(
        Case(f"after 70 s, intervals {times:g} times as long", curves(100, 0.01),
             curves(100, 0.01, pace=0.1 * times), _TIME)
        for times in (1.1, 1.4)
    ),
)  # fmt: skip


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure false claims of each case, and how often the design of the runs prevents any."""
    for case in CASES:
        for runs in (5, 20):
            rng = generator(plan.seed, "designs", case.name, str(runs))
            sides = [draw(plan.replicates, runs, rng) for draw in (case.a, case.b)]
            judgements = list(_judged(sides, case.budget, plan.replicates))
            claims = [claim for word, claim, _ in judgements if word in _CLAIMS]
            shares: tuple[tuple[str, int, Kind], ...] = (
                ("claims", len(claims) - sum(claims), "false claim"),
                ("marked", sum(claims), "no promise"),
                ("prevented", sum(bool(why) for *_, why in judgements), "no promise"),
            )
            for name, hits, kind in shares:
                share = rate(hits, len(judgements))
                yield Figure(f"designs: {name}", case.name, str(runs), share, kind)


def _judged(
    sides: list[pl.DataFrame], budget: Budget | None, replicates: int
) -> Iterator[tuple[str, bool, str]]:
    """Yield each replicate's verdict, whether it carries a condition, and why there is none."""
    runs = [_runs(rows, budget).partition_by("replicate", as_dict=True) for rows in sides]
    for number in range(replicates):
        a, b = (side[number,] for side in runs)
        if budget is None:
            (compared,) = comparison.compare([Pair({}, a, b)], Options())
            verdict = compared.verdict
        else:
            (at,) = quality_comparison.compare([Pair({}, a, b)], budget, Options())
            verdict = at.verdict
        yield verdict.word, bool(verdict.conditions), verdict.why


def _runs(rows: pl.DataFrame, budget: Budget | None) -> pl.DataFrame:
    """Return the runs of all replicates, as `compare` reads them."""
    columns: dict[str, Any] = {"run": "run", "metric": "quality", "value": "value"}
    columns |= {"seconds": "seconds", "entry": "a setup", "hardware": "replicate"}
    columns |= {name: name for name in ("epoch", "step") if name in rows.columns}
    rows = rows.with_columns(pl.col("replicate").cast(pl.String), quality=pl.lit("quality"))
    if budget is None:
        runs = time_to_target.runs(from_frame(rows, target=0.5, higher_is_better=True, **columns))
    else:
        runs = at_budget.runs(from_frame(rows, higher_is_better=False, **columns), budget)
    return runs.with_columns(replicate=pl.col("hardware").cast(pl.Int64))
