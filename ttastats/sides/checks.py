"""What is wrong with a comparison by the way its runs were made?

Every check is a pure function of both designs, or of the pairs of a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ttastats.base import units
from ttastats.base.codes import CONDITIONS, wording
from ttastats.outcomes.scales import OFF_SCALE
from ttastats.sides.design import (
    EVALUATIONS,
    TOGETHER_SECONDS,
    Design,
    Grid,
    epoch_seconds,
    in_separate_sessions,
    starts,
)
from ttastats.sides.findings import Clusters, Effect, Finding, flag
from ttastats.sides.pairing import Pair
from ttastats.stats.drift import common_trend
from ttastats.stats.results import Flag
from ttastats.table.schema import RUN


def findings(a: Design, b: Design, *, timed: bool = True) -> tuple[Finding, ...]:
    """Return the findings on the design of a comparison; `timed`: of times, not of steps."""
    design_findings = [*of_runs(a, b), *_doubt_findings(a, b, timed=timed)]
    if (grids := _differing_grids(a, b)) is not None:
        unit, grid_a, grid_b = grids
        if unit == EVALUATIONS:
            details = wording("grids_differ.counts", a=1 / grid_a.share, b=1 / grid_b.share)
        else:
            a_every, b_every = (units.mean_count(grid.interval, unit) for grid in (grid_a, grid_b))
            details = wording("grids_differ.intervals", a=a_every, b=b_every)
        a_share, b_share = grid_a.share, grid_b.share
        design_findings.append(
            Finding.worded("grids_differ", "allowance", how=details, a=a_share, b=b_share)
        )
    for name, side in (("A", a), ("B", b)):
        if side.speeds:
            text = side.speeds
            design_findings.append(
                Finding.worded("mixed_speeds", "condition", side=name, speeds=text)
            )
    return tuple(design_findings)


def conditions(a: Design, b: Design, *, timed: bool = True) -> tuple[Finding, ...]:
    """Return the findings with an effect on a claim: its conditions, and bars to it."""
    is_doubtful = any(
        side.pooled or side.speeds or side.doubts or side.runs["seed"].is_duplicated().any()
        for side in (a, b)
    )
    if not is_doubtful and _nothing_shared(a, b, "system"):  # most pairs of a league
        return ()
    all_findings = findings(a, b, timed=timed)
    return tuple(
        finding for finding in all_findings if finding.effect in {"condition", "undecided"}
    )


def of_runs(a: Design, b: Design) -> Iterator[Finding]:
    """Yield the findings on the runs of two sides, whatever is compared."""
    sides = (("A", a), ("B", b))
    for name, side in sides:
        if side.pooled:
            yield Finding.worded("pooled_setups", "condition", side=name, n=len(side.setups))
    yield from _session_findings(a, b)
    yield from _seed_findings(a, b)
    for name, side in sides:
        if side.parallel:
            yield Finding.worded("parallel_runs", side=name, seconds=TOGETHER_SECONDS)


#: Doubts about clocks, which no count of steps depends on; of a start that is estimated on both
#: sides both lack the same.
_OF_CLOCKS = frozenset({"clock_start_estimated", "clock_changed", "unusable_time"})
_ALIKE = "clock_start_estimated"


def _doubt_findings(a: Design, b: Design, *, timed: bool) -> Iterator[Finding]:
    """Yield a finding for each doubt about the reading of runs of either side."""
    for code in dict.fromkeys((*a.doubts, *b.doubts)):
        if code in _OF_CLOCKS and not timed:
            continue
        counts = [(side.doubts.get(code, 0), side.runs.height) for side in (a, b)]
        side_texts = [
            name if n == of_all else f"{n} of {units.plural(of_all, 'run')} of {name}"
            for name, (n, of_all) in zip("AB", counts, strict=True)
            if n
        ]
        is_shared = code == _ALIKE and all(n == of_all for n, of_all in counts)
        effect: Effect = "condition" if code in CONDITIONS and not is_shared else "note"
        effect = "undecided" if code == OFF_SCALE else effect
        yield Finding.worded(code, effect, who=" and ".join(side_texts))


#: Evaluation intervals that differ by less are one: logs round them to whole batches.
SAME_INTERVAL = 1.05

#: Without a unit that both sides log, more evaluations may also be a longer training.
_SAME_COUNT = 1.5


def _differing_grids(a: Design, b: Design) -> tuple[str, Grid, Grid] | None:
    """Return the evaluation grids of both sides and their unit if they differ."""
    unit = next((name for name in a.grids if name in b.grids), None)
    if unit is None:
        return None
    grid_a, grid_b = a.grids[unit], b.grids[unit]
    intervals = [grid.share if unit == EVALUATIONS else grid.interval for grid in (grid_a, grid_b)]
    threshold = _SAME_COUNT if unit == EVALUATIONS else SAME_INTERVAL
    return (unit, grid_a, grid_b) if max(intervals) >= threshold * min(intervals) else None


def late(a: Design, b: Design) -> tuple[float, float]:
    """Return each side's possible lateness in meeting the target, as a share of its mean time.

    A target is met at some moment of the last evaluation interval. Where both sides have the same
    intervals, that is part of the time to accuracy of both, and nothing is allowed for.
    """
    grids = _differing_grids(a, b)
    return (grids[1].share, grids[2].share) if grids else (0.0, 0.0)


#: A session ends where nothing runs for so long, for the median time of a run, and for so many
#: times the median pause between runs.
_PAUSE_SECONDS, _PAUSES = 3600.0, 3.0

#: Sides may follow sessions or seeds this much more than separate runs would.
_MOST_EFFECT = 1.2


def _session_findings(a: Design, b: Design) -> Iterator[Finding]:
    """Yield a finding if sides and sessions coincide, so that their effects mix.

    Where all runs of one side came first, whatever changes with time differs between the sides:
    neither a short pause nor several sessions a side tell it from the sides. Where these are
    different machines, they cannot share a session: that is only noted.
    """
    starts_a, starts_b = starts(a.runs), starts(b.runs)
    # Nobody alternates the machines of two companies or of two rounds.
    two_owners = _nothing_shared(a, b, "submitter") or _nothing_shared(a, b, "round")
    if starts_a is None or starts_b is None or two_owners:
        return
    labels = sessions(a.runs, b.runs)
    shared_sessions = set(labels[0]) & set(labels[1])
    in_sequence = in_separate_sessions(starts_a, starts_b)
    follows = design_effect(*labels) > _MOST_EFFECT
    # Blocks such as days are compared within, whatever the sessions in them.
    if not in_sequence and (a.blocked or not follows):
        return
    key, one_system = "one_side_first", not _nothing_shared(a, b, "system")
    if follows:
        key = "separate_sessions.in_part" if shared_sessions else "separate_sessions.all"
    remedy = wording("separate_sessions.remedy") if one_system else ""
    clusters = None if shared_sessions or a.blocked or in_sequence else labels
    effect: Effect = "condition" if one_system else "note"
    yield Finding.worded(key, effect, clusters, remedy=remedy)
    if in_sequence and one_system:
        yield from _drift(a, b)


#: The level of a drift, and the hours of runs from which it is stated by the day.
_DRIFT_LEVEL, _DAYS = 0.01, 48.0


def _drift(a: Design, b: Design) -> Iterator[Finding]:
    """Yield a finding if time per epoch changes with the start within the sides."""
    if a.pace is None or b.pace is None or a.pace.unit != b.pace.unit:
        return
    pace = np.concatenate([a.pace.seconds, b.pace.seconds])
    hours = np.concatenate([epoch_seconds(side.runs) for side in (a, b)]) / 3600
    sides = np.repeat([0, 1], [side.runs.height for side in (a, b)])
    has_pace = pace > 0
    trend = common_trend(hours[has_pace] - hours.min(), np.log(pace[has_pace]), sides[has_pace])
    if trend is None or trend.p_value >= _DRIFT_LEVEL:
        return
    period, hours_of = ("an hour", 1.0) if np.ptp(hours) < _DAYS else ("a day", 24.0)
    change = math.expm1(trend.slope * hours_of)
    moves = f"{'rises' if change > 0 else 'falls'} by {units.percent(abs(change))}"
    yield Finding.worded("drift", "condition", per=a.pace.unit, moves=moves, every=period,
                         p=trend.p_value)  # fmt: skip


def _nothing_shared(a: Design, b: Design, column: str) -> bool:
    """Return whether all runs of one side have another system, or submitter, than the other's."""
    values_a, values_b = (set(side.runs[column].drop_nulls()) for side in (a, b))
    return bool(values_a and values_b) and values_a.isdisjoint(values_b)


def _seed_findings(a: Design, b: Design) -> Iterator[Finding]:
    """Yield a finding if a side has several runs of one seed, which follow each other."""
    seeds = [side.runs["seed"] for side in (a, b)]
    if a.blocked or any(column.null_count() for column in seeds):
        return
    for side, side_seeds in zip("AB", seeds, strict=True):
        runs, count = side_seeds.len(), side_seeds.n_unique()
        if count == 1 < runs:
            yield Finding.worded("one_seed", "condition", runs=runs, side=side, seed=side_seeds[0])
        elif count < runs:
            labels = (_number_seeds(seeds[0]), _number_seeds(seeds[1]))
            yield Finding.worded(
                "repeated_seeds", "condition", labels, runs=runs, side=side, n=count
            )


def paired_seeds(a: Design, b: Design) -> Clusters | None:
    """Return the seeds of both sides as blocks if both have the same ones, each once."""
    seeds_a, seeds_b = a.runs["seed"], b.runs["seed"]
    unique = seeds_a.len() >= 3 and not seeds_a.null_count() and seeds_a.is_unique().all()
    equal = seeds_a.sort().to_list() == seeds_b.sort().to_list()
    if a.blocked or a.pooled or b.pooled or not (unique and equal):
        return None
    return (_number_seeds(seeds_a), _number_seeds(seeds_b))


def sessions(a: pl.DataFrame, b: pl.DataFrame) -> Clusters:
    """Return the session of each run by its start; a pause in which nothing runs ends a session."""
    starts = np.concatenate([epoch_seconds(runs) for runs in (a, b)])
    lengths = pl.concat([a["run_seconds"], b["run_seconds"]]).fill_null(strategy="zero").to_numpy()
    order = np.argsort(starts, kind="stable")
    ends = np.maximum.accumulate(starts[order] + lengths[order])
    pauses = starts[order][1:] - ends[:-1]
    pause_limit = max(_PAUSE_SECONDS, float(np.median(lengths)), _PAUSES * float(np.median(pauses)))
    labels = np.zeros(starts.size, dtype=np.intp)
    labels[order[1:]] = np.cumsum(pauses > pause_limit)
    return labels[: a.height], labels[a.height :]


def design_effect(a: NDArray[np.intp], b: NDArray[np.intp]) -> float:
    """Return the inflation of the variance of a difference of two means by clusters.

    The ratio of sum((a_i/n_a - b_i/n_b)^2) over the clusters i to 1/n_a + 1/n_b: 0 where each
    cluster has the same share of both sides, 1 where each run has one of its own, and m where
    clusters of m runs belong to one side each (Kish 1965, section 8.2, for means of clusters).
    """
    count = int(max(a.max(), b.max())) + 1
    shares = np.bincount(a, minlength=count) / a.size - np.bincount(b, minlength=count) / b.size
    return float((shares**2).sum() / (1 / a.size + 1 / b.size))


def _number_seeds(seeds: pl.Series) -> NDArray[np.intp]:
    return (seeds.rank("dense") - 1).to_numpy().astype(np.intp)


def failure_clues(
    pairs: Sequence[Pair], pair_index: int, side: Literal["a", "b"]
) -> Iterator[Flag]:
    """Yield the signs of further failures of one side of a pair, beside its own runs.

    Other runs of its table that failed on the same benchmark, and runs that are missing, unreadable
    or interrupted. Failures on other benchmarks say nothing: of published entries whose system has
    some, as many have failures as of the others.
    """
    name, index, pair = side.upper(), "ab".index(side), pairs[pair_index]
    own_runs: pl.DataFrame = getattr(pair, side)
    tables = [
        getattr(other, side).select(*RUN, "reached")
        for number, other in enumerate(pairs)
        if number != pair_index
        and other.labels[index] == pair.labels[index]
        and other.keys.get("benchmark") == pair.keys.get("benchmark")
    ]
    if tables and not all(runs["reached"].all() for runs in tables):
        runs = pl.concat(tables).unique(RUN)
        further_runs = runs.join(own_runs, on=RUN, how="anti", nulls_equal=True)
        if failed := further_runs.height - further_runs["reached"].sum():
            yield flag("failures_likely.others", side=name, failed=failed, n=further_runs.height)
    if lost := str(getattr(pair.lost, side)):
        yield flag("failures_likely.lost", side=name, lost=lost)
