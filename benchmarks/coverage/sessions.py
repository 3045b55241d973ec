"""What `ttastats compare` says of equal sides whose runs share sessions or seeds.

Logs tell when runs were started and with which seed. The two sides have equal means over all
sessions and seeds; those at hand differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from benchmarks.coverage.figures import Figure, by_mark
from benchmarks.coverage.judging import directed
from benchmarks.coverage.shapes import generator
from benchmarks.coverage.simulations import Plan
from ttastats.sides import design as side_design
from ttastats.sides.contrast import with_verdicts
from ttastats.sides.numbers import SideNumbers
from ttastats.sides.options import Options
from ttastats.sides.order import measure_pair
from ttastats.stats.decision import Decision
from ttastats.stats.outcomes import Epochs, make_outcomes
from ttastats.stats.results import Floats

RUN = 0.02
"""Standard deviation of the log of the time of one run."""

_BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Layout:
    """Which cluster (a session or a seed) each run of A and of B belongs to.

    `between` is the standard deviation of clusters in that of runs, `interaction` that of the
    difference from one session to the next. `within`: the sides are compared within sessions.
    """

    name: str
    a: tuple[int, ...]
    b: tuple[int, ...]
    between: float
    interaction: float = 0.0
    seeds: bool = False
    within: bool = False


def _days(name: str, a: Sequence[int], b: Sequence[int], **options: bool) -> Iterator[Layout]:
    for between in (0.0, 1.0, 3.0):
        yield Layout(f"{name}, vary {between:g}×", tuple(a), tuple(b), between, **options)


def _repeated(days: Sequence[int], runs: int) -> tuple[int, ...]:
    return tuple(day for day in days for _ in range(runs))


LAYOUTS = (
    *_days("A day 1, B day 2", _repeated([0], 5), _repeated([1], 5)),
    *_days("A days 1, 3, B days 2, 4", _repeated([0, 2], 5), _repeated([1, 3], 5)),
    *_days("A four days, B four others", _repeated([0, 2, 4, 6], 3), _repeated([1, 3, 5, 7], 3)),
    *_days("4+1, 1+4 in two days", (0, 0, 0, 0, 1), (0, 1, 1, 1, 1)),
    *_days("2+2 in three days", _repeated([0, 1, 2], 2), _repeated([0, 1, 2], 2)),
    *_days("A one seed, B six", _repeated([0], 6), range(1, 7), seeds=True),
    *_days("two seeds each", _repeated([0, 1], 5), _repeated([2, 3], 5), seeds=True),
    *(
        Layout(
            f"{count} × {runs}+{runs} within days, the difference varies by 5%",
            _repeated(range(count), runs), _repeated(range(count), runs), 1.0, 0.05, within=True,
        )
        for count, runs in ((2, 3), (3, 3), (8, 3), (5, 1))
    ),
)  # fmt: skip


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure how often equal sides are called faster or slower, by the condition of the claim."""
    for layout in LAYOUTS:
        rng = generator(plan.seed, "shared", layout.name)
        verdicts = [_verdict(layout, rng) for _ in range(plan.replicates)]
        runs = str(len(layout.a))
        yield from by_mark("shared: claims", layout.name, runs, verdicts, directed)


def _verdict(layout: Layout, rng: np.random.Generator) -> Decision:
    count = max(*layout.a, *layout.b) + 1
    level = rng.normal(0, layout.between * RUN, count)
    lead = rng.normal(0, layout.interaction, count)
    a, b = (
        _side(layout, np.array(clusters), offsets, rng)
        for clusters, offsets in ((layout.a, level), (layout.b, level + lead))
    )
    options = Options()
    (comparison,) = with_verdicts([measure_pair(a, b, options)], options)
    return comparison.verdict


def _side(
    layout: Layout, clusters: np.ndarray, offsets: Floats, rng: np.random.Generator
) -> SideNumbers:
    times = 300 * np.exp(offsets[clusters] + rng.normal(0, RUN, clusters.size))
    progress = Epochs(times / 10, 0.1)  # epochs that vary as times do
    outcomes = make_outcomes(times, progress=progress, blocks=clusters if layout.within else None)
    order = [int((clusters[:number] == day).sum()) for number, day in enumerate(clusters)]
    when = [
        _BEGIN + timedelta(days=0 if layout.seeds else int(day), minutes=10 * number)
        for day, number in zip(clusters, order, strict=True)
    ]
    runs = pl.DataFrame(
        {
            "started_at": when,
            "run_seconds": times,
            "seed": clusters if layout.seeds else [None] * clusters.size,
            **dict.fromkeys(("system", "submitter", "round"), ["one"] * clusters.size),
        },
        schema_overrides={"started_at": pl.Datetime("us", "UTC"), "seed": pl.Int64},
    )
    how = side_design.Design(runs=runs, blocked=layout.within)
    mean = float(times.mean())
    return SideNumbers(clusters.size, outcomes, mean_seconds=mean, ert_seconds=mean, design=how)
