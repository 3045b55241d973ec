"""How often the shipped functions are right about real runs of the same setup.

The runs of a published entry are split at random into two sides that share no run: whatever
their distribution, the true ratio is 1. Splits of one entry share its runs, so the error of a
rate is that of the mean over entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.coverage.figures import STEADY, Figure, Kind, clustered_rate, covers
from benchmarks.coverage.judging import Judge, directed, judge, limits, mark
from benchmarks.coverage.shapes import Floats, Runs, generator
from benchmarks.coverage.simulations import Plan
from ttastats import api
from ttastats.outcomes.time_to_target import common_progress
from ttastats.report.grouping import ENTRY, group_runs
from ttastats.stats.speedup import ratio_of_means

SIZES = (5, 10, 20, 30)


def splits_of(plan: Plan) -> Plan:
    """Return the plan whose replicates are splits of one entry: there are many entries."""
    return plan.few(20)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """The runs of one published entry; `intervals` is NaN where a run tells none."""

    name: str
    runs: Runs
    intervals: Floats

    def successes(self) -> Entry:
        """Return the entry without its failed runs."""
        return self.chosen(np.flatnonzero(self.runs.reached))

    def chosen(self, indices: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Entry:
        """Return some of the runs, with their evaluation interval."""
        runs, intervals = self.runs, self.intervals[indices]
        grid = intervals[runs.reached[indices]]
        evaluation_interval = float(grid.max()) if grid.size and not np.isnan(grid).any() else None
        epochs = None if runs.epochs is None else runs.epochs[indices]
        return Entry(
            self.name,
            Runs(runs.times[indices], runs.reached[indices], epochs, evaluation_interval),
            intervals,
        )


def entries(path: Path) -> list[Entry]:
    """Read the entries of a Parquet file that `ttastats ingest` wrote."""
    result = []
    for keys, group in group_runs(api.run_table(path), ENTRY):
        timed = group.filter(pl.col("observed_seconds").is_not_null())
        # Expected times need all runs of an entry, so one without a time rules them out.
        if timed.height == group.height:
            result.append(_entry(" ".join(map(str, keys.values())), timed))
    return result


def _entry(name: str, runs: pl.DataFrame) -> Entry:
    epochs, intervals = _progress(runs)
    times, reached = _floats(runs["observed_seconds"]), runs["reached"].to_numpy()
    return Entry(name, Runs(times, reached, epochs, None), intervals)


def _progress(runs: pl.DataFrame) -> tuple[Floats | None, Floats]:
    """Return progress and evaluation interval of every run, as `sides.numbers` of all of them."""
    solved = runs.filter("reached")
    unit, evaluation_interval = common_progress(runs)
    if unit and evaluation_interval and not solved[evaluation_interval].null_count():
        return _floats(runs[unit]), _floats(runs[evaluation_interval])
    evaluations = solved["evaluations_to_target"]
    if not evaluations.null_count() and (evaluations > 1).all():
        return _floats(runs["evaluations_to_target"]), np.ones(runs.height)
    unknown = np.full(runs.height, np.nan)
    return (_floats(runs[unit]) if unit else None), unknown


def _floats(column: pl.Series) -> Floats:
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


@dataclass(slots=True)
class _Count:
    """Hits and trials of one quantity in the splits of one entry."""

    kind: Kind
    hits: int = 0
    trials: int = 0

    def add(self, hit: bool) -> None:
        self.hits += hit
        self.trials += 1


Counts = dict[str, _Count]


def splits(entry: Entry, n: int, plan: Plan, name: str, judge_runs: Judge = judge) -> Counts:
    """Judge random halves of one entry against each other."""
    rng = generator(plan.seed, name, entry.name, str(n))
    counts: Counts = {}
    none_failed = bool(entry.runs.reached.all())
    for _ in range(plan.replicates):
        order = rng.permutation(entry.runs.times.size)
        a, b = entry.chosen(order[:n]).runs, entry.chosen(order[n : 2 * n]).runs
        parts = _parts(a, b) if none_failed else ()
        for quantity, kind, hit in (*_outcomes(a, b, judge_runs), *parts):
            counts.setdefault(quantity, _Count(kind)).add(hit)
    return counts


def _outcomes(a: Runs, b: Runs, judge_runs: Judge) -> Iterator[tuple[str, Kind, bool]]:
    judgement = judge_runs(a, b, 0.01)
    if judgement.printed is not None and judgement.deciding is not None:
        yield "real: printed", "coverage", covers(judgement.printed, 1.0)
        yield "real: deciding", "coverage", covers(judgement.deciding, 1.0)
        yield "real: unbounded", "no promise", math.isinf(judgement.deciding[1])
    word = mark(judgement.verdict) if directed(judgement.verdict) else None
    for claim, kind in STEADY.items():
        yield f"real: claims {claim}".strip(), kind, word == claim


def _parts(a: Runs, b: Runs) -> Iterator[tuple[str, Kind, bool]]:
    if a.epochs is None or b.epochs is None:
        return
    parts = {
        "real: throughput": ratio_of_means(a.times / a.epochs, b.times / b.epochs, confidence=0.95),
        "real: epochs": ratio_of_means(a.epochs, b.epochs, confidence=0.95),
    }
    for quantity, ratio in parts.items():
        interval = limits(ratio)
        if interval is not None:
            yield quantity, "coverage", covers(interval, 1.0)


def figures(
    cases: Sequence[Entry], name: str, plan: Plan, judge_runs: Judge = judge
) -> Iterator[Figure]:
    """Measure all entries with at least 2n successes, and those with failures, failures included.

    `plan.replicates` is the number of splits of each entry.
    """
    failed = [entry for entry in cases if not entry.runs.reached.all()]
    groups_of = {
        f"{name}, successes": [entry.successes() for entry in cases],
        f"{name}, entries with failures": [e for e in failed if e.runs.reached.any()],
    }
    for label, group in groups_of.items():
        for n in SIZES:
            large = [entry for entry in group if entry.runs.times.size >= 2 * n]
            if len(large) > 1:
                yield from _rates(large, n, label, plan, judge_runs)


def _rates(
    entries: Sequence[Entry], n: int, setup: str, plan: Plan, judge_runs: Judge
) -> Iterator[Figure]:
    counts_by_entry = [splits(entry, n, plan, setup, judge_runs) for entry in entries]
    runs = f"{n} ({len(entries)} entries)"
    quantities = {name: count.kind for counts in counts_by_entry for name, count in counts.items()}
    for quantity, kind in quantities.items():
        quantity_counts = [counts[quantity] for counts in counts_by_entry if quantity in counts]
        mean = clustered_rate(
            [c.hits for c in quantity_counts], [c.trials for c in quantity_counts]
        )
        yield Figure(quantity, setup, runs, mean, kind)
