"""What keeps a comparison of two sides from a verdict, or becomes a condition of it?

Every check is a pure function of both designs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ttastats.base import units
from ttastats.base.note import wording
from ttastats.sides.design.findings import Clusters, Effect, Finding
from ttastats.sides.design.side import (
    EVALUATIONS,
    TOGETHER_SECONDS,
    Design,
    Grid,
    epoch_seconds,
    in_separate_sessions,
)


def findings(a: Design, b: Design) -> tuple[Finding, ...]:
    """Return what is wrong with a comparison of times by its design."""
    speeds = _side_findings(
        a, b, "mixed_speeds", "condition", lambda s: {"speeds": s.speeds} if s.speeds else None
    )
    return (*of_runs(a, b), *_grid_findings(a, b), *speeds)


def of_runs(a: Design, b: Design) -> tuple[Finding, ...]:
    """Return what is wrong with any comparison of two sides by their runs."""
    seconds = {"seconds": TOGETHER_SECONDS}
    return (
        *_side_findings(a, b, "pooled_setups", "condition",
                  lambda s: {"n": len(s.setups)} if s.pooled else None),
        *_session_findings(a, b),
        *_seed_findings(a, b),
        *_side_findings(a, b, "parallel_runs", "note", lambda s: seconds if s.parallel else None),
    )  # fmt: skip


def _side_findings(
    a: Design,
    b: Design,
    key: str,
    effect: Effect,
    fields: Callable[[Design], Mapping[str, Any] | None],
) -> Iterator[Finding]:
    """Yield the finding of each side that it applies to."""
    for name, side in (("A", a), ("B", b)):
        if (more := fields(side)) is not None:
            yield Finding.worded(key, effect, side=name, **more)


#: Evaluation intervals that differ by less are one: logs round them to whole batches.
_SAME_INTERVAL = 1.05

#: Without a unit that both sides log, more evaluations may also be a longer training.
_SAME_COUNT = 1.5


def _differing_grids(a: Design, b: Design) -> tuple[str, Grid, Grid] | None:
    """Return the evaluation grids of both sides and their unit if they differ."""
    unit = next((name for name in a.grids if name in b.grids), None)
    if unit is None:
        return None
    grid_a, grid_b = a.grids[unit], b.grids[unit]
    intervals = [each.share if unit == EVALUATIONS else each.interval for each in (grid_a, grid_b)]
    same = _SAME_COUNT if unit == EVALUATIONS else _SAME_INTERVAL
    return (unit, grid_a, grid_b) if max(intervals) >= same * min(intervals) else None


def late(a: Design, b: Design) -> tuple[float, float]:
    """Return by which share of its mean time each side may have met the target earlier.

    A target is met at some moment of the last evaluation interval. Where both sides have the same
    intervals, that is part of the time to accuracy of both, and nothing is allowed for.
    """
    unlike = _differing_grids(a, b)
    return (unlike[1].share, unlike[2].share) if unlike else (0.0, 0.0)


def _grid_findings(a: Design, b: Design) -> Iterator[Finding]:
    unlike = _differing_grids(a, b)
    if unlike is None:
        return
    unit, grid_a, grid_b = unlike
    if unit == EVALUATIONS:
        how = wording("grids_differ.counts", a=1 / grid_a.share, b=1 / grid_b.share)
    else:
        a_every, b_every = (units.mean_count(grid.interval, unit) for grid in (grid_a, grid_b))
        how = wording("grids_differ.intervals", a=a_every, b=b_every)
    yield Finding.worded("grids_differ", "allowance", how=how, a=grid_a.share, b=grid_b.share)


#: A session ends where nothing runs for so long, for the median time of a run, and for so many
#: times the median pause between runs.
_PAUSE_SECONDS, _PAUSES = 3600.0, 3.0

#: Sides may follow sessions or seeds this much more than separate runs would.
_MOST_EFFECT = 1.2


def _session_findings(a: Design, b: Design) -> Iterator[Finding]:
    """Yield a finding if sides and sessions coincide, so that their effects mix.

    Where the sides are different machines, they cannot share a session: that is only noted.
    """
    if a.starts is None or b.starts is None:
        return
    labels = sessions(a.runs, b.runs)
    shared = set(labels[0]) & set(labels[1])
    if a.blocked and not in_separate_sessions(a.starts, b.starts):
        return  # blocks such as days are compared within, whatever the sessions in them
    follows = design_effect(*labels) > _MOST_EFFECT
    if follows:
        key = "separate_sessions.in_part" if shared else "separate_sessions.all"
    elif in_separate_sessions(a.starts, b.starts):
        key = "separate_sessions.in_turn"
    else:
        return
    systems = [set(side.runs["system"].drop_nulls()) for side in (a, b)]
    alike = not all(systems) or bool(systems[0] & systems[1])  # maybe one machine
    remedy = wording("separate_sessions.remedy") if alike else ""
    effect: Effect = "condition" if follows and alike else "note"
    clusters = None if shared or a.blocked else labels
    yield Finding.worded(key, effect, clusters, remedy=remedy)


def _seed_findings(a: Design, b: Design) -> Iterator[Finding]:
    """Yield a finding if several runs of a side have the same seed."""
    seeds = [side.runs["seed"] for side in (a, b)]
    if a.blocked or any(each.null_count() for each in seeds):
        return
    for name, each in zip("AB", seeds, strict=True):
        count = each.n_unique()
        if count < each.len():
            labels = (_number_seeds(seeds[0]), _number_seeds(seeds[1]))
            yield Finding.worded(
                "repeated_seeds", "condition", labels, runs=each.len(), side=name, n=count
            )


def paired_seeds(a: Design, b: Design) -> Clusters | None:
    """Return the seeds of both sides as blocks if both have the same ones, each once."""
    seeds_a, seeds_b = a.runs["seed"], b.runs["seed"]
    if a.blocked or a.pooled or b.pooled or seeds_a.len() < 3 or seeds_a.null_count():
        return None
    if seeds_a.n_unique() < seeds_a.len() or seeds_a.sort().to_list() != seeds_b.sort().to_list():
        return None
    return (_number_seeds(seeds_a), _number_seeds(seeds_b))


def sessions(a: pl.DataFrame, b: pl.DataFrame) -> Clusters:
    """Return the session number of each run of both sides, by their start times.

    A session ends with a pause in which no run of either side goes on.
    """
    starts = np.concatenate([epoch_seconds(runs) for runs in (a, b)])
    lengths = np.concatenate([runs["run_seconds"].fill_null(0.0).to_numpy() for runs in (a, b)])
    order = np.argsort(starts, kind="stable")
    ends = np.maximum.accumulate(starts[order] + lengths[order])
    pauses = starts[order][1:] - ends[:-1]
    least = max(_PAUSE_SECONDS, float(np.median(lengths)), _PAUSES * float(np.median(pauses)))
    labels = np.zeros(starts.size, dtype=np.intp)
    labels[order[1:]] = np.cumsum(pauses > least)
    return labels[: a.height], labels[a.height :]


def design_effect(a: NDArray[np.intp], b: NDArray[np.intp]) -> float:
    """Return how much clusters inflate the variance of the difference of two means.

    The ratio of sum((a_i/n_a - b_i/n_b)^2) over the clusters i to 1/n_a + 1/n_b: 0 where each
    cluster has the same share of both sides, 1 where each run has one of its own, and m where
    clusters of m runs belong to one side each (Kish 1965, section 8.2, for means of clusters).
    """
    count = int(max(a.max(), b.max())) + 1
    shares = np.bincount(a, minlength=count) / a.size - np.bincount(b, minlength=count) / b.size
    return float((shares**2).sum() / (1 / a.size + 1 / b.size))


def _number_seeds(seeds: pl.Series) -> NDArray[np.intp]:
    """Return seeds as numbers from 0, in order."""
    return (seeds.rank("dense") - 1).to_numpy().astype(np.intp)
