"""What `compare` says of equal sides made one after the other, and of days that differ.

The machine slows while it runs: of the runs in turn the sides share that, of sides that were made
one after the other it is a difference. Blocks are proposed after a look at the runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from benchmarks.coverage.figures import Figure, Kind, by_mark, rate
from benchmarks.coverage.judging import directed
from benchmarks.coverage.shapes import generator
from benchmarks.coverage.simulations import Plan
from ttastats.sides import design as side_design
from ttastats.sides.comparison import Comparison, measure, speedup_parts
from ttastats.sides.contrast import with_verdicts
from ttastats.sides.numbers import SideNumbers
from ttastats.sides.options import Options
from ttastats.sides.order import measure_pair
from ttastats.sides.proposals import propose
from ttastats.stats.decision import side_of
from ttastats.stats.outcomes import Epochs, make_outcomes
from ttastats.stats.results import Floats

_BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
_SPEED = 0.004
"""Coefficient of variation of the time per epoch."""

#: The share by which the machine slows in an hour, and the minutes between the sides.
DRIFTS = ((0.0, 0), (0.005, 0), (0.01, 0), (0.02, 0), (0.01, 50), (0.01, 180))
#: Which side is run, over and over; none: all runs of A come first.
TURNS = {"A before B": (), "ABAB": (0, 1), "ABBA": (0, 1, 1, 0)}


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure claims of equal sides by the order of their runs, and what proposed blocks do."""
    for turns, pattern in TURNS.items():
        for drift, pause in [(0.02, 0)] if pattern else DRIFTS:
            for n in (5, 10):
                yield from _orders(plan, turns, pattern, drift, pause, n)
    yield from _proposals(plan)


def _orders(
    plan: Plan, turns: str, pattern: tuple[int, ...], drift: float, pause: int, n: int
) -> Iterator[Figure]:
    name = f"{turns}, {drift:.1%} an hour" + (f", {pause} min pause" if pause else "")
    rng = generator(plan.seed, "orders", name, str(n))
    side = np.resize(pattern, 2 * n) if pattern else np.repeat([0, 1], n)
    for options in (Options(), Options(same_convergence=True)):
        verdicts, bare, throughput, drift_notes = [], 0, 0, 0
        for _ in range(plan.replicates):
            begins = np.arange(2 * n) / 6.0 + np.where(side == 1, pause / 60, 0)
            epochs = np.rint(rng.normal(30, 1, 2 * n))
            pace = 10 * (1 + drift * begins) * (1 + rng.normal(0, _SPEED, 2 * n))
            a, b = (_side(begins[side == s], pace[side == s], epochs[side == s]) for s in (0, 1))
            (contrast,) = with_verdicts([measure_pair(a, b, options)], options)
            verdicts.append(contrast.verdict)
            if options.same_convergence:
                continue
            drift_notes += any(finding.code == "drift" for finding in contrast.findings)
            parts = speedup_parts(contrast, options)
            if parts and side_of(1, parts.throughput.low, parts.throughput.high):
                throughput += 1
                bare += not parts.conditions
        claim = "same convergence" if options.same_convergence else "claims"
        yield from by_mark(f"orders: {claim}", name, str(n), verdicts, directed)
        if not options.same_convergence:
            false, throughput_rate, drift_rate = (
                rate(hits, plan.replicates) for hits in (bare, throughput, drift_notes)
            )
            yield Figure("orders: throughput", name, str(n), false, "false claim")
            yield Figure("orders: throughput, all", name, str(n), throughput_rate, "no promise")
            kind: Kind = "no promise" if drift else "false claim"
            yield Figure("orders: drift", name, str(n), drift_rate, kind)


def _side(begins: np.ndarray, pace: Floats, epochs: Floats) -> SideNumbers:
    times = pace * epochs
    outcomes = make_outcomes(times, progress=Epochs(epochs, 1.0))
    runs = _runs(begins).with_columns(
        run_seconds=times, seed=pl.lit(None, pl.Int64), system=pl.lit("one"),
        submitter=pl.lit("one"), round=pl.lit("one"),
    )  # fmt: skip
    mean = float(times.mean())
    how = side_design.Design(runs=runs, pace=side_design.Pace("epoch", pace))
    return SideNumbers(
        times.size, outcomes, epochs, mean_seconds=mean, ert_seconds=mean, design=how
    )


def _runs(begins: np.ndarray) -> pl.DataFrame:
    when = [_BEGIN + timedelta(hours=hours) for hours in begins.tolist()]
    return pl.DataFrame({"started_at": when}, {"started_at": pl.Datetime("us", "UTC")})


#: Runs a side and day, days, and by how much days and runs vary.
DAYS = ((1, 10), (2, 5), (3, 4))


def _proposals(plan: Plan) -> Iterator[Figure]:
    for per_side, days in DAYS:
        for between in (0.0, 0.01, 0.05):
            name = f"{days} days of {per_side}+{per_side}, days vary {between:.0%}"
            rng = generator(plan.seed, "proposals", name)
            day, proposed, false, plain = np.repeat(np.arange(days), per_side), 0, 0, 0
            frame = _runs(24.0 * day + np.tile(np.arange(per_side), days))
            for _ in range(plan.replicates):
                level = rng.normal(0, between, days)[day]
                times = [300 * np.exp(level + rng.normal(0, 0.02, day.size)) for _ in "ab"]
                is_proposed = propose([frame, frame], times) is not None
                proposed += is_proposed
                plain += _differs(times, None)
                false += _differs(times, day if is_proposed else None)
            runs = str(day.size)
            yield Figure("blocks: proposed", name, runs, rate(proposed, plan.replicates),
                         "false claim" if not between else "no promise")  # fmt: skip
            yield Figure("blocks: plain", name, runs, rate(plain, plan.replicates), "false claim")
            yield Figure("blocks: followed", name, runs, rate(false, plan.replicates),
                         "no promise")  # fmt: skip


def _differs(times: list[Floats], blocks: np.ndarray | None) -> bool:
    """Return whether equal sides are called different, within blocks if there are any."""
    outcomes = (
        make_outcomes(side, progress=Epochs(side / 10, 0.1), blocks=blocks) for side in times
    )
    a, b = (SideNumbers(of.n, of) for of in outcomes)
    options = Options()
    (contrast,) = with_verdicts([measure(Comparison({}, a, b), options, brief=True)], options)
    return directed(contrast.verdict)
