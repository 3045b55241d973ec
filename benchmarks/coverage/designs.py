"""What is claimed of equal sides whose runs were evaluated, or made, in different ways.

Logs are made and compared as `compare` does, with all that it finds in the design of the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from ttastats.stats.decision import side_of
from ttastats.table.frames import from_frame

_CLAIMS = {"faster", "slower", "better", "worse"}

Logs = Callable[[int, int, np.random.Generator], pl.DataFrame]
"""Makes the rows of so many runs, each of so many replicates."""


@dataclass(frozen=True, slots=True)
class Case:
    """Two sides that are equal but for how they were evaluated or made; to a target without one.

    Of `right` ones B is better.
    """

    name: str
    a: Logs
    b: Logs
    budget: Budget | None = None
    right: bool = False


def _rows(replicates: int, runs: int, positions: Floats, **columns: Floats) -> pl.DataFrame:
    """Return a row per evaluation; columns of shape (replicates, runs, places)."""
    shape = (replicates, runs, positions.size)
    numbers = np.arange(replicates * runs)
    return pl.DataFrame(
        {
            "run": np.repeat(numbers, positions.size),
            "replicate": np.repeat(numbers // runs, positions.size),
            "place": np.broadcast_to(positions, shape).ravel(),
            **{name: np.broadcast_to(values, shape).ravel() for name, values in columns.items()},
        }
    )


def to_target(interval: int, cv: float, slow: float = 0.0) -> Logs:
    """Return runs that meet their target at 60.5 epochs, evaluated at each of so many.

    `slow` is the share of runs that were made on a machine twice as slow.
    """

    def draw(replicates: int, runs: int, rng: np.random.Generator) -> pl.DataFrame:
        size = (replicates, runs, 1)
        met = 60.5 * (1 + cv * rng.standard_normal(size))
        pace = 1 + 0.003 * rng.standard_normal(size) + (rng.random(size) < slow)
        epochs = np.arange(interval, 100.0, interval)
        rows = _rows(replicates, runs, epochs, seconds=pace * epochs, value=(epochs >= met) * 1.0)
        return rows.rename({"place": "epoch"})

    return draw


def curves(interval: int, sd: float) -> Logs:
    """Return runs of one falling curve of losses, evaluated at each of so many of 3,000 steps."""

    def draw(replicates: int, runs: int, rng: np.random.Generator) -> pl.DataFrame:
        steps = np.arange(interval, 3001.0, interval)
        noise = sd * rng.standard_normal((replicates, runs, steps.size))
        seconds = 0.1 * steps * (1 + 0.003 * rng.standard_normal((replicates, runs, 1)))
        loss = 3.0 + 2.0 * np.exp(-steps / 600) + noise
        rows = _rows(replicates, runs, steps, seconds=seconds, value=loss)
        return rows.rename({"place": "step"})

    return draw


def plateaus(noise: float, evaluations: int = 40, lead: float = 0.0) -> Logs:
    """Return runs whose loss no longer falls: its mean varies by .002, evaluations by `noise`."""

    def draw(replicates: int, runs: int, rng: np.random.Generator) -> pl.DataFrame:
        size = (replicates, runs, 1)
        steps = np.linspace(0, 3000, evaluations + 1)[1:]
        loss = 3.0 - lead + 0.002 * rng.standard_normal(size)
        loss = loss + noise * rng.standard_normal((replicates, runs, steps.size))
        rows = _rows(replicates, runs, steps, seconds=0.1 * steps, value=loss)
        return rows.rename({"place": "step"})

    return draw


def timed(interval: float, lead: float = 0.0) -> Logs:
    """Return runs of one falling curve, evaluated each so many seconds from any moment on."""

    def draw(replicates: int, runs: int, rng: np.random.Generator) -> pl.DataFrame:
        size = (replicates, runs, 1)
        positions = np.arange(1.0, 200 / interval)
        seconds = interval * (positions - rng.random(size))
        loss = 3.0 + 2.0 * np.exp(-seconds / 60) - lead + 0.004 * rng.standard_normal(size)
        rows = _rows(replicates, runs, positions, seconds=seconds, value=loss)
        return rows.rename({"place": "step"})

    return draw


_AT = Budget("step", 750.0)
_BETWEEN = Budget("step", 1000.0, interpolate=True)
_TIME, _BETWEEN_TIMES = (Budget("seconds", 100.0, interpolate=x) for x in (False, True))
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
        for name, budget in (("at step 750", _AT), ("at step 1,000, interpolated", _BETWEEN))
        for a, b in ((150, 150), (400, 150), (125, 50))
    ),
    Case("best of 4 / of 40", plateaus(0.01, 4), plateaus(0.01), _BEST),
)  # fmt: skip
#: What limits values at a budget: noise of which the best is taken, and intervals between them.
BUDGETS = (
    *(
        Case(f"best of 40, noise 0.02 / {noise:g}{', B is 0.02 better' * bool(lead)}",
             plateaus(0.02), plateaus(noise, lead=lead), _BEST, right=bool(lead))
        for noise, lead in ((0.02, 0), (0.03, 0), (0.04, 0), (0.02, 0.02), (0.03, 0.02))
    ),
    *(
        Case(f"after 100 s{', interpolated' * budget.interpolate}, each 10 s / each {interval} s"
             f"{', B is 0.03 better' * bool(lead)}",
             timed(10), timed(interval, lead), budget, right=bool(lead))
        for budget, interval, lead in (
            (_TIME, 10, 0), (_TIME, 11, 0), (_TIME, 14, 0), (_TIME, 20, 0),
            (_BETWEEN_TIMES, 14, 0), (_TIME, 10, 0.03), (_TIME, 14, 0.03),
            (_BETWEEN_TIMES, 14, 0.03),
        )
    ),
)  # fmt: skip


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure false claims of each case, and how often the design of the runs prevents any."""
    for case in CASES:
        yield from _figures(plan, case, (5, 20))


def budgets(plan: Plan) -> Iterator[Figure]:
    """Measure the same at budgets, with and without what is allowed for, and right claims."""
    for case in BUDGETS:
        yield from _figures(plan, case, (5, 10) if case.budget == _BEST else (10, 20))


def _figures(plan: Plan, case: Case, sizes: Sequence[int]) -> Iterator[Figure]:
    for runs in sizes:
        rng = generator(plan.seed, "designs", case.name, str(runs))
        sides = [draw(plan.replicates, runs, rng) for draw in (case.a, case.b)]
        judgements = list(_judgements(sides, case.budget, plan.replicates))
        claims = [claim for word, claim, *_ in judgements if word in _CLAIMS]
        kind: Kind = "no promise" if case.right else "false claim"
        shares: list[tuple[str, int, Kind]] = [
            ("right" if case.right else "claims", len(claims) - sum(claims), kind),
            ("marked", sum(claims), "no promise"),
            ("prevented", sum(bool(why) for *_, why, _ in judgements), "no promise"),
            ("nothing allowed for", sum(plain for *_, plain in judgements), "no promise"),
        ]
        for name, hits, promise in shares[: 3 if case.budget is None else 4]:
            share = rate(hits, len(judgements))
            yield Figure(f"designs: {name}", case.name, str(runs), share, promise)


def _judgements(
    sides: list[pl.DataFrame], budget: Budget | None, replicates: int
) -> Iterator[tuple[str, bool, str, bool]]:
    """Yield each verdict, whether it carries a condition, and why there is none.

    And whether the printed interval of qualities excludes 0, which allows for nothing.
    """
    runs = [_runs(rows, budget).partition_by("replicate", as_dict=True) for rows in sides]
    for number in range(replicates):
        a, b = (side[number,] for side in runs)
        plain = False
        if budget is None:
            (contrast,) = comparison.compare([Pair({}, a, b)], Options())
            verdict = contrast.verdict
        else:
            (at,) = quality_comparison.compare([Pair({}, a, b)], budget, Options())
            verdict, gap = at.verdict, at.difference
            plain = gap is not None and side_of(0.0, gap.low, gap.high) != 0
        yield verdict.word, bool(verdict.conditions), verdict.why, plain


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
