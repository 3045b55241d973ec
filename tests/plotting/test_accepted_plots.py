"""Every kind of plot is specified, captioned and given its numbers as was accepted.

A change of these files is a change of what is drawn: look at the plots before you accept it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import partial

import polars as pl
import polars.selectors as cs

from tests import test_accepted_answers as answers
from tests.accepted import Case, cases
from tests.conftest import plain
from tests.plotting import made, test_profiled
from ttastats import api
from ttastats.outcomes import axis
from ttastats.output.plots import axes, kinds, quality, speedups, steps
from ttastats.output.plots.plot import Plot

LABS = pl.col("submitter").is_in(["lab_0", "lab_1", "lab_2"])
BENCHMARKS = ("resnet", "unet", "rgat")


def chosen(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.filter(pl.col("benchmark").is_in(BENCHMARKS))


def trained() -> pl.DataFrame:
    """Return runs that log a loss of training too, which has no target."""
    runs = answers.speedruns()[0]
    own = {"metric": pl.lit("train_loss"), "eval_index": -1 - pl.col("eval_index")}
    unaimed = pl.lit(None, pl.Float64)
    return pl.concat([runs, runs.with_columns(**own, target_value=unaimed)], how="vertical_relaxed")


def two_targets() -> pl.DataFrame:
    """Return runs of two metrics that have a target each."""
    known = pl.col("higher_is_better").fill_null(True), pl.col("target_value").fill_null(0.5)
    return made.losses().with_columns(known)


def leaders(priced: int) -> tuple[Plot, ...]:
    """Return the leaderboards of five entries of which so many have a price."""
    known = pl.col("entry").is_in(["entry_0", "entry_4", "entry_3", "entry_2"][:priced])
    price = pl.when(known).then("cost_per_hour")
    return api.plot("leaderboard", made.leaders().with_columns(cost_per_hour=price))


MADE: dict[str, Callable[[], tuple[Plot, ...]]] = {
    "of_two_sides": lambda: api.plots(
        *(made.rows(times, entry="lab/x") for times in (made.SLOW, made.FAST)),
        labels=["before", "after"],
    ),
    "of_leaders": lambda: api.plots(made.leaders()),
    "of_failures": lambda: api.plots(chosen(answers.both())),
    "of_scales": lambda: api.plots(answers.scales(), unit="epochs"),
    "of_targets": lambda: api.plot("targets", answers.speedruns()[0]),
    "of_speedups": lambda: api.plot("speedups", chosen(answers.before()), chosen(answers.after())),
    "of_steps": lambda: api.plot("speedups", *answers.speedruns()[:2], unit="steps"),
    "of_dollars": lambda: api.plot(
        "tta", chosen(answers.before()), chosen(answers.after()), unit="cost"
    ),
    "of_training": lambda: api.plot(quality.TIME, trained(), metric="train_loss"),
    "of_unpriced": lambda: tuple(plot for n in (4, 3, 2) for plot in leaders(priced=n)),
    "of_many_runs": lambda: api.plot(
        quality.TIME, made.rows([(50.0 + n % 90, 5 + n % 4) for n in range(601)])
    ),
    "of_sizes": lambda: api.plot("scaling", made.sizes()),
    "of_a_league": lambda: (
        *api.plot("leaderboard", made.league()),
        *api.plot("record", made.league()),
        *api.plot("tta", made.league()),
        *api.plot("leaderboard", made.league(28)),  # as many reached as are named
    ),
    "of_a_crowd": lambda: tuple(
        plot for kind in ("tta", "solved", quality.EPOCHS) for plot in api.plot(kind, made.crowd())
    ),
    "of_losses": lambda: (
        *api.plot(quality.TIME, made.losses()),
        *api.plot(quality.EPOCHS, made.losses(), metric="train_lr"),
    ),
    "of_two_targets": lambda: (
        *api.plot(quality.TIME, two_targets()),
        *api.plot(quality.TIME, two_targets(), target=["val_loss=-0.03"]),
    ),
    "of_systems": lambda: (
        *api.plot("profile", made.systems()),
        *api.plot("profile", *made.sources("profile")),
    ),
    "of_keys": lambda: (
        *api.plot("tta", made.many_kinds(), by=["system"]),
        *api.plot("solved", made.many_kinds(), by=["accelerators"]),
        *api.plot("variance", made.many_kinds(), by=["system", "accelerators"]),
    ),
    "of_groups": lambda: tuple(
        plot for count in (32, 33) for plot in api.plot("variance", made.groups(count))
    ),
    "of_two_points": lambda: (
        *api.plot(quality.TIME, made.rows([(100.0, 2)])),
        *api.plot(quality.EPOCHS, made.rows([(100.0, 2), (90.0, 2), (80.0, 2)])),
    ),
    "of_an_interval_below_0": lambda: api.plot(
        "tta", made.rows([(50.0, 5), (300.0, 6), (70.0, 5)])
    ),
    "of_three_curves": lambda: api.plot("scaling", made.sizes().filter(LABS)),
    "of_four_entries": lambda: api.plot(
        quality.EPOCHS, pl.concat(made.rows(made.FAST[n:] * 2, entry=f"lab/{n}") for n in range(4))
    ),
    "of_odd": lambda: api.plot("tta", answers.odd()),
    "of_nights": lambda: api.plot("history", made.nightly()),
    "of_a_change": lambda: api.plot("history", made.nightly(slower=200.0))[:1],
    "of_settings": lambda: (
        *api.plot("effects", made.swept()),
        *api.plot("effects", made.swept((128, 8.0), (256, 7.0))),
    ),
    "of_profiles": lambda: of_profiles("made"),
    "of_two_profiles": lambda: of_profiles("one", "two"),
}


def of_profiles(*names: str) -> tuple[Plot, ...]:
    return kinds.all_plots_of_profiles(
        steps.profiles_by_name([(name, test_profiled.profile(name)) for name in names])
    )


def plot_parts(plot: Plot) -> Iterator[object]:
    """Yield what makes a plot; of long tables some rows, and what all come to in their order."""
    yield [plot.kind, plot.benchmark, plot.title]
    yield plot.caption
    for name in plot.data:
        rows = plot.rows(name)
        yield [name, len(rows), list(rows[0]) if rows else []]
        step = max(1, len(rows) // 6)
        changes = [row for row in rows if row.get("what") == "change"]
        for row in rows[: len(rows) - 1 : step] + rows[-1:] + changes:
            yield [plain(value) for value in row.values()]
        if step > 1:
            numbers = (cs.numeric() | cs.boolean()).cast(pl.Float64).fill_null(0.0)
            yield plot.data[name].select(numbers * pl.int_range(1, 1 + pl.len())).sum().row(0)
    layers = plot.chart.get("layer", ())
    yield {**plot.chart, "layer": len(layers)}
    yield from layers


def six_digits(text: str) -> str:
    """Round the numbers in expressions as `plain` does all others: the last digits are SciPy's."""
    return re.sub(r"\d+\.\d{7,}", lambda number: f"{float(number[0]):.6g}", text)


RANGES = ([], [5.0], [0.0, math.inf, 3.0], [1.0, 12.0], [1.0, 12.1], [90.0, 180.0], [90.0, 181.0],
          [900.0, 10_800.0], [900.0, 10_801.0], [6e4, 259_200.0], [6e4, 259_201.0], [0.001, 9e6],
          [0.3, 20.0], [100.0, 107.0], [3e-4, 0.08], [86_400.0, 8e5, 9e7])  # fmt: skip
RATIOS = ([], [1.0], [0.95, 1.1], [0.84], [0.8], [0.5, 2.0], [7.9], [8.1], [0.002, 900.0],
          [math.nan, 0.0, -1.0, 3.0])  # fmt: skip


def axes_of() -> Iterator[object]:
    for some in RANGES:
        for how in ({}, {"from_zero": True}, {"log_from": 2.0}):
            each = axes.amount_axis(some, axis.SECONDS, "t", **how)
            yield [
                some,
                each.title,
                each.divisor,
                each.scale,
                each.axis,
                each.field_expression("x"),
            ]
        for name in ("seconds", "cost", "energy", "steps"):
            of = axes.amount_axis(some, axis.AXES[name], name)
            yield [some, of.title, of.scale, sorted(of.axis)]
    for some in RATIOS:
        scales = [axes.ratio_scale(some, ends) for ends in ([], [0.4, 2.5], [1e-3, 1e3])]
        ticks = ([value for value, _ in scale.ticks] for scale in scales)
        each = zip(ticks, scales, strict=True)
        yield [some, *({"scale": y.vega, "axis": {"values": x, "format": "~g"}} for x, y in each)]
    for name, of in axis.AXES.items():
        yield [name, axes.amount_expression("x", of), axes.amount_expression("x", of, named=False)]
    yield [axes.duration_expression("x"), axes.duration_expression("x", "g")]


def plot_lines(make: Callable[[], tuple[Plot, ...]]) -> Iterator[str]:
    for part in (part for plot in make() for part in plot_parts(plot)):
        yield six_digits(json.dumps(plain(part), ensure_ascii=False, sort_keys=True))


@cases("plots", axes_of=axes_of, **{name: partial(plot_lines, make) for name, make in MADE.items()})
def test_plots_are_drawn_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_of_many_rows_those_farthest_from_1_are_drawn() -> None:
    places = [(row, place) for row in range(43) for place in range(2)]
    table = pl.DataFrame(places, ["order", "place"], orient="row").with_columns(
        ratio=1.1 ** (pl.col("order") - 20.0)
    )
    kept, said = speedups._limit_range(table)
    assert sorted(set(range(43)) - set(kept["order"])) == [19, 20, 21]
    assert (kept.height, said) == (80, "The 40 of 43 rows farthest from 1 are shown.")
    few = table.filter(pl.col("order") < 40)
    assert speedups._limit_range(few)[0].equals(few)
