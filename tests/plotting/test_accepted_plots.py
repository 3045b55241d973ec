"""Every kind of plot is specified, captioned and given its numbers as was accepted.

A change of these files is a change of what is drawn: look at the plots before you accept it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import polars as pl
import pytest

from tests import test_accepted_answers as answers
from tests.conftest import ROOT, matches_accepted, plain
from tests.plotting import made, test_profiled
from ttastats import api
from ttastats.plotting.plot import Plot
from ttastats.plotting.profiled import kinds, shared

ACCEPTED = ROOT / "tests" / "reference" / "plots"

BENCHMARKS = ("resnet", "unet", "rgat")


def some(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.filter(pl.col("benchmark").is_in(BENCHMARKS))


MADE: dict[str, Callable[[], tuple[Plot, ...]]] = {
    "of_two_sides": lambda: api.plots(
        *(made.rows(times, entry="lab/x") for times in (made.SLOW, made.FAST)),
        labels=["before", "after"],
    ),
    "of_leaders": lambda: api.plots(made.leaders()),
    "of_failures": lambda: api.plots(some(answers.both())),
    "of_scales": lambda: api.plots(answers.scales(), unit="epochs"),
    "of_targets": lambda: api.plot("targets", answers.speedruns()[0]),
    "of_speedups": lambda: api.plot("speedups", some(answers.before()), some(answers.after())),
    "of_profiles": lambda: of_profiles("made"),
    "of_two_profiles": lambda: of_profiles("one", "two"),
}


def of_profiles(*names: str) -> tuple[Plot, ...]:
    return kinds.all_plots(shared.by_name([(name, test_profiled.profile(name)) for name in names]))


def told(plot: Plot) -> Iterator[object]:
    """Give what makes a plot; of long tables some rows."""
    yield [plot.kind, plot.benchmark, plot.title]
    yield plot.caption
    for name in plot.data:
        rows = plot.rows(name)
        yield [name, len(rows), list(rows[0]) if rows else []]
        for row in rows[:: max(1, len(rows) // 6)]:
            yield [plain(value) for value in row.values()]
    layers = plot.chart.get("layer", ())
    yield {**plot.chart, "layer": len(layers)}
    yield from layers


def six_digits(text: str) -> str:
    """Round the numbers in expressions as `plain` does all others: the last digits are SciPy's."""
    return re.sub(r"\d+\.\d{7,}", lambda number: f"{float(number[0]):.6g}", text)


@pytest.mark.parametrize("name", MADE)
def test_plots_are_drawn_as_accepted(name: str) -> None:
    lines = [
        f"{six_digits(json.dumps(plain(one), ensure_ascii=False))}\n"
        for plot in MADE[name]()
        for one in told(plot)
    ]
    assert matches_accepted(ACCEPTED / f"{name}.txt", "".join(lines))
