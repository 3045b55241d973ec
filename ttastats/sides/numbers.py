"""What are the runs of one side of a comparison, as arrays?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from msgspec import Struct, field

from ttastats.outcomes.time_to_target import PROGRESS, evaluation_interval, values_of_reached
from ttastats.sides.design import BLOCK, Design, design, designs, mixed_setups, setup_names
from ttastats.stats.blocks import Labels
from ttastats.stats.outcomes import Epochs, Outcomes, expected_time, make_outcomes
from ttastats.stats.results import Floats
from ttastats.stats.variation import cv_interval


class SideNumbers(Struct, frozen=True, eq=False):
    """The runs of one side. Times on the axis of the runs; `progress` of those that reached.

    `outcomes` holds the runs that have a time; `n` counts all of them, `n_untimed` those that
    failed after an unknown time. `progress` is in the unit both sides share, `startup` the seconds
    of their times before the work began, `jump_seconds` the mean change of their clocks, `design`
    says how the runs were made.
    """

    n: int
    outcomes: Outcomes
    progress: Floats | None = None
    startup: Floats | None = None
    jump_seconds: float = 0.0
    mean_seconds: float | None = None
    ert_seconds: float | None = None
    cv: float | None = None
    cv_low: float | None = None
    cv_high: float | None = None
    batch_sizes: tuple[int, ...] = ()
    design: Design = field(default_factory=Design)

    @property
    def n_reached(self) -> int:
        """Return the number of runs that reached the target."""
        return self.outcomes.n_reached

    @property
    def n_untimed(self) -> int:
        """Return the number of runs without a known time."""
        return self.n - self.outcomes.n

    @property
    def times(self) -> Floats:
        """Return the times of the runs that reached the target."""
        return self.outcomes.times[self.outcomes.reached]

    @property
    def all_reached(self) -> bool:
        """Return whether no run failed."""
        return self.n_reached == self.n

    @property
    def pooled(self) -> bool:
        """Return whether the side pools several setups with several runs each."""
        return self.outcomes.clusters is not None


def side(
    runs: pl.DataFrame,
    unit: str | None,
    column: str | None,
    *,
    ddof: int,
    confidence: float,
) -> SideNumbers:
    """Return the numbers of one side from its runs.

    `unit` and `column` are those of `time_to_target.common_progress`: the columns of the progress
    both sides share, and of its evaluation interval.
    """
    times = _floats(values_of_reached(runs, "tta_seconds"))
    progress = _floats(values_of_reached(runs, unit)) if unit else None
    spread = cv_interval(
        times,
        epochs=progress,
        evaluation_interval=evaluation_interval(runs, column) if column else None,
        confidence=confidence,
        ddof=ddof,
    )
    return SideNumbers(
        n=runs.height,
        outcomes=outcomes_of(runs),
        progress=progress,
        startup=_startups(runs),
        jump_seconds=_mean_jump(runs),
        mean_seconds=float(times.mean()) if times.size else None,
        ert_seconds=expected_seconds(runs),
        cv=spread.estimate,
        cv_low=spread.low,
        cv_high=spread.high,
        batch_sizes=tuple(runs.get_column("global_batch_size").drop_nulls().unique().sort()),
        design=design(runs),
    )


def _startups(runs: pl.DataFrame) -> Floats | None:
    """Return the start-up of the runs that reached (`outcomes.pace`); None if one is unknown."""
    if "startup_seconds" not in runs.columns:
        return None
    startups = values_of_reached(runs, "startup_seconds")
    return None if startups.is_empty() or startups.null_count() else _floats(startups)


def _mean_jump(runs: pl.DataFrame) -> float:
    """Return the mean jump of changed clocks in seconds."""
    if "clock_jump_seconds" not in runs.columns:
        return 0.0
    jumps = values_of_reached(runs, "clock_jump_seconds")
    return float(_floats(jumps).mean()) if jumps.len() else 0.0


def briefs(groups: Sequence[pl.DataFrame]) -> list[SideNumbers]:
    """Return the numbers of many sides for the direction of a verdict, read at once."""
    if not groups:
        return []
    runs, sizes = pl.concat(groups), [group.height for group in groups]
    return [
        SideNumbers(group.height, outcomes_of(group, mixed=is_mixed), design=group_design)
        for group, is_mixed, group_design in zip(
            groups, mixed_setups(runs, sizes), designs(runs, sizes), strict=True
        )
    ]


def outcomes_of(runs: pl.DataFrame, *, mixed: bool = True) -> Outcomes:
    """Return the outcomes of the runs that have a time; `mixed`: of several setups maybe.

    Their progress is in the best unit that this side records, else in evaluations.
    """
    observed = runs["observed_seconds"]
    timed_runs = runs.filter(observed.is_not_null()) if observed.null_count() else runs
    is_one_setup = not mixed or BLOCK in timed_runs.columns
    logged = [
        Epochs(_floats(amounts), evaluation_interval(timed_runs, column))
        for unit, column in PROGRESS
        if not (amounts := values_of_reached(timed_runs, unit)).null_count()
    ]
    evaluations = values_of_reached(timed_runs, "evaluations_to_target")
    if not evaluations.null_count() and (evaluations > 1).all():
        logged.append(Epochs(_floats(evaluations), 1.0))
    # Labels that never change (BERT's epoch 1.0) have no interval, and count no progress.
    progress = min(logged, key=lambda epochs: epochs.evaluation_interval is None, default=None)
    return make_outcomes(
        _floats(timed_runs["observed_seconds"]),
        timed_runs["reached"].to_numpy(),
        progress=progress,
        clusters=None if is_one_setup else setup_names(timed_runs).to_numpy(),
        blocks=blocks_of(timed_runs),
    )


def blocks_of(runs: pl.DataFrame) -> Labels | None:
    """Return the block number of each run; None if runs are not compared within blocks."""
    return runs[BLOCK].to_numpy().astype(np.intp) if BLOCK in runs.columns else None


def both_blocks(a: pl.DataFrame, b: pl.DataFrame) -> tuple[Labels, Labels] | None:
    """Return the block numbers of the runs of two sides; None without blocks."""
    blocks_a, blocks_b = blocks_of(a), blocks_of(b)
    return None if blocks_a is None or blocks_b is None else (blocks_a, blocks_b)


def expected_seconds(runs: pl.DataFrame) -> float | None:
    """Return the expected time to a success, failures paid for; None if a time is unknown."""
    observed = runs.get_column("observed_seconds")
    if runs.is_empty() or observed.null_count():
        return None
    return expected_time(observed.to_numpy(), runs.get_column("reached").to_numpy()).estimate


def _floats(column: pl.Series) -> Floats:
    return column.cast(pl.Float64).to_numpy()
