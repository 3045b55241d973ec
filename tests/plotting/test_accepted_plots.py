"""Every kind of plot is specified, captioned and given its numbers as was accepted.

A change of these files is a change of what is drawn: look at the plots before you accept it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

import polars as pl
import polars.selectors as cs
from msgspec import structs

from tests import test_accepted_answers as answers
from tests.accepted import Case, by_name, cases
from tests.conftest import plain
from tests.made_curves import curve, frame
from tests.plotting import made, test_profiled
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.outcomes import axis
from ttastats.output.page import document
from ttastats.output.plots import (
    axes,
    charts,
    drawing,
    kinds,
    operators,
    quality,
    renderer,
    speedups,
    steps,
    theme,
    tta,
    variance,
)
from ttastats.output.plots.plot import Plot
from ttastats.report.fitting import NAME

LABS = pl.col("submitter").is_in(["lab_0", "lab_1", "lab_2"])
#: Curves as wide as each other, one of them through fewer points.
TWO_LABS = pl.col("submitter").is_in(["lab_3", "lab_6"]) & (
    (pl.col("submitter") == "lab_6") | (pl.col("accelerators") != 16)
)
MORE_LOSSES = (pl.col("metric") == "val_loss") | (pl.col("eval_index") < 2)
BENCHMARKS = ("resnet", "unet", "rgat")


def chosen(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.filter(pl.col("benchmark").is_in(BENCHMARKS))


def trained() -> pl.DataFrame:
    """Return runs that log a loss of training too, which has no target."""
    runs = answers.speedruns()[0]
    loss = {"metric": pl.lit("train_loss"), "eval_index": -1 - pl.col("eval_index")}
    none = pl.lit(None, pl.Float64)
    return pl.concat([runs, runs.with_columns(**loss, target_value=none)], how="vertical_relaxed")


def two_targets() -> pl.DataFrame:
    """Return runs of two metrics that have a target each."""
    known = pl.col("higher_is_better").fill_null(True), pl.col("target_value").fill_null(0.5)
    return made.losses().with_columns(known)


def halves(groups: pl.DataFrame) -> pl.DataFrame:
    """Return groups as those of two benchmarks."""
    first = pl.col("entry") < "lab/15"
    return groups.with_columns(benchmark=pl.when(first).then(pl.lit("bert")).otherwise("benchmark"))


def aimed_lower() -> list[pl.DataFrame]:
    """Return two sides of which the first has a lower target."""
    slow, fast = (made.two_entries().filter(entry=name) for name in ("lab/slow", "lab/fast"))
    return [slow.with_columns(target_value=0.7), fast]


def failed_on(night: int) -> pl.Expr:
    """Return the values of runs that did not reach on one night."""
    return pl.when(pl.col("seed") == night).then(0.1).otherwise("value").alias("value")


def begun() -> pl.DataFrame:
    """Return a run that is evaluated before its first epoch."""
    since = pl.col("seconds") - 25, pl.col("epoch") - 1
    return made.rows([(100.0, 4)]).with_columns(since)


def leaders(priced: int) -> tuple[Plot, ...]:
    """Return the leaderboards of five entries, some of which have a price."""
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
    "of_targets": lambda: (
        *api.plot("targets", answers.speedruns()[0]),
        *api.plot("targets", made.rows(made.SLOW), target=["top1_accuracy=0.5"]),
        *api.plot("targets", *made.entries("ab"), unit="epochs"),
        *api.plot("targets", *aimed_lower()),
    ),
    "of_speedups": lambda: (
        *api.plot("speedups", chosen(answers.before()), chosen(answers.after())),
        *api.plot("speedups", chosen(answers.before()), chosen(answers.after()), unit="cost"),
        *api.plot("speedups", *made.entries("abc")),
        *api.plot("speedups", *made.benchmarks(13)),
    ),
    "of_steps": lambda: api.plot("speedups", *answers.speedruns()[:2], unit="steps"),
    "of_dollars": lambda: api.plot(
        "tta", chosen(answers.before()), chosen(answers.after()), unit="cost"
    ),
    "of_training": lambda: api.plot(quality.TIME, trained(), metric="train_loss"),
    "of_unpriced": lambda: tuple(plot for n in (4, 3, 2) for plot in leaders(priced=n)),
    "of_many_runs": lambda: (
        tuple(
            plot
            for kind, counts in ((quality.TIME, (60, 61, 600, 601)), ("tta", (600, 601)))
            for count in counts
            for plot in api.plot(
                kind, made.rows([(50.0 + n % 90, 5 + n % 4) for n in range(count)])
            )
        )
        + api.plot(quality.EPOCHS, made.rows([(100.0, 2)] * 601))
    ),
    "of_sizes": lambda: api.plot("scaling", made.sizes()),
    "of_a_league": lambda: (
        *api.plot("leaderboard", made.league()),
        *api.plot("record", made.league()),
        *api.plot("tta", made.league()),
        *api.plot("leaderboard", made.league(28)),  # as many reached as are named
    ),
    "of_a_crowd": lambda: tuple(
        plot
        for kind in ("tta", "solved", *quality.OF_ANY_METRIC)
        for plot in api.plot(kind, made.crowd())
    ),
    "of_losses": lambda: (
        *api.plot(quality.TIME, made.losses()),
        *api.plot(quality.TIME, made.losses().filter(MORE_LOSSES).with_columns(target_value=None)),
        *api.plot(quality.EPOCHS, made.losses(), metric="train_lr"),
    ),
    "of_two_targets": lambda: (
        *api.plot(quality.TIME, two_targets()),
        *api.plot(quality.TIME, two_targets(), target=["val_loss=-0.03"]),
        *api.plot(quality.TIME, *aimed_lower()),
        *api.plot(quality.TIME, pl.concat(aimed_lower())),
    ),
    "of_systems": lambda: (
        *api.plot("profile", made.systems()),
        *api.plot("profile", made.systems().filter(pl.col("entry") != "lab/s8")),
        *api.plot("profile", made.systems().filter(pl.col("entry").str.contains("[019]$"))),
        *api.plot("profile", *made.sources("profile")),
        *api.plot("tta", made.systems().filter(benchmark="dlrm")),
    ),
    "of_keys": lambda: (
        *api.plot("tta", made.many_kinds(), by=["system"]),
        *api.plot("tta", made.many_kinds(), by=["benchmark"]),
        *api.plot("solved", made.many_kinds(), by=["accelerators"]),
        *api.plot("variance", made.many_kinds(), by=["system", "accelerators"]),
    ),
    "of_groups": lambda: (
        *api.plot("variance", made.groups(32)),
        *api.plot("variance", made.groups(33)),
        *api.plot("variance", halves(made.groups(31))),
        *api.plot("variance", halves(made.groups(32))),
    ),
    "of_two_points": lambda: (
        *api.plot(quality.TIME, begun()),
        *api.plot(quality.EPOCHS, begun()),
        *api.plot(quality.TIME, begun().with_columns(value=0.5, target_value=None)),
        *api.plot(quality.TIME, begun().with_columns(value=0.0, target_value=None)),
        *api.plot(quality.TIME, made.rows([(100.0, 2), (1200.0, 2)])),
        *api.plot(quality.TIME, made.rows([(100.0, 2)])),
        *api.plot(quality.EPOCHS, made.rows([(100.0, 2), (90.0, 2), (80.0, 2)])),
    ),
    "of_an_interval_below_0": lambda: api.plot(
        "tta", made.rows([(50.0, 5), (300.0, 6), (70.0, 5)])
    ),
    "of_three_curves": lambda: (
        *api.plot("scaling", made.sizes().filter(LABS)),
        *api.plot("scaling", made.sizes().filter(TWO_LABS)),
    ),
    "of_four_entries": lambda: api.plot(
        quality.EPOCHS,
        pl.concat(
            made.rows(times * 2, entry=f"lab/{n}")
            for n, times in enumerate((*(made.FAST[n:] for n in range(3)), made.FAST[:1] * 4))
        ),
    ),
    "of_close_times": lambda: api.plot(
        "solved",
        pl.concat(
            made.rows([(end - 25.0 * run, 5 + run) for run in range(3)], entry=f"lab/{end}")
            for end in (3620, 4175, 4800)
        ),
    ),
    "of_odd": lambda: api.plot("tta", answers.odd()),
    "of_nights": lambda: (
        *api.plot("history", made.nightly()),
        *api.plot("history", made.nightly().filter(~pl.col("seed").is_in([4, 15]))),
    ),
    "of_a_change": lambda: api.plot(
        "history", made.nightly(slower=200.0).with_columns(failed_on(night=10))
    )[:1],
    "of_settings": lambda: (
        *api.plot("effects", made.swept()),
        *api.plot("effects", made.swept((128, 8.0), (256, 7.0))),
        *api.plot("effects", made.swept().with_columns(benchmark=None), on=["batch_size"]),
    ),
    "of_many_sides": lambda: (
        *api.plot("solved", pl.concat(made.entries("abcdef"))),
        *api.plot("solved", *made.entries("abcdefgh")),
        *api.plot(quality.TIME, *made.entries("abcdefgh")),
    ),
    "of_a_side_without_a_benchmark": lambda: one_benchmark_short(),
    "at_budget": lambda: at_budget(),
    "of_profiles": lambda: of_profiles("made"),
    "of_unmeasured": lambda: kinds.all_plots_of_profiles(
        {"one": test_profiled.profile(measured=False)}
    ),
    "of_much_memory": lambda: (
        operators.roofline_plots(
            {"much": test_profiled.profile().with_columns(pl.col("bytes") * 20)}
        )
        + operators.roofline_plots(
            {"no peak": test_profiled.profile().filter(pl.col("name") != "peak_bandwidth")}
        )
    ),
    "of_two_profiles": lambda: of_profiles("one", "two"),
}


def one_benchmark_short() -> tuple[Plot, ...]:
    """Return the dots of sides of which one lacks a benchmark, and of all as one."""
    slow, fast = (made.many_kinds().filter(entry=name) for name in ("lab/slow", "lab/fast"))
    short = made.entries("abc")[2]
    several = ([slow, fast, short], [slow, short], [pl.concat([slow, short])])
    return tuple(plot for sides in several for plot in api.plot("tta", *sides))


def of_page(*sides: pl.DataFrame, **keywords: Any) -> tuple[Plot, ...]:
    """Return the plots of a page, which alone are drawn at a budget."""
    with patch.object(document, "make_page") as made_page:
        api.html_report(*sides, **keywords)
    plots: tuple[Plot, ...] = made_page.call_args.args[0].plots
    return plots


def at_budget() -> tuple[Plot, ...]:
    """Return the curves of losses; one run ends before the second budget."""
    ends = {"old": (3.281, 3.283, 3.279), "new": (3.261, 3.262, 3.258)}
    runs = [curve(5.0, 4.0, end, entry=name) for name, losses in ends.items() for end in losses]
    logged = frame(*runs, curve(5.0, 4.5, entry="old"))
    both = logged.with_columns(content_digest=pl.col("source"))
    sides = (both.filter(entry=name) for name in ends)
    return (*of_page(*sides, at_end=True), *of_page(both, at="step=300"))


def of_profiles(*names: str) -> tuple[Plot, ...]:
    return kinds.all_plots_of_profiles(
        steps.profiles_by_name([(name, test_profiled.profile(name)) for name in names])
    )


def plot_parts(plot: Plot) -> Iterator[object]:
    """Yield the parts of a plot; of long tables some rows, and weighted sums of all."""
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
          [950.0, 10_800.0], [950.0, 10_801.0], [6e4, 259_200.0], [6e4, 259_201.0], [0.001, 9e6],
          [0.3, 20.0], [100.0, 107.0], [3e-4, 0.08], [86_400.0, 8e5, 9e7])  # fmt: skip
RATIOS = ([], [1.0], [1.2], [8.0], [0.95, 1.1], [0.84], [0.8], [0.5, 2.0], [7.9], [8.1],
          [0.002, 9000.0], [math.nan, 0.0, -1.0, 3.0])  # fmt: skip


def axes_of() -> Iterator[object]:
    for numbers in RANGES:
        for how in ({}, {"from_zero": True}, {"log_from": 2.0}):
            result = axes.amount_axis(numbers, axis.SECONDS, "t", **how)
            yield [
                numbers,
                result.title,
                result.divisor,
                result.scale,
                result.axis,
                result.field_expression("x"),
            ]
        for name in ("seconds", "cost", "energy", "steps"):
            of = axes.amount_axis(numbers, axis.AXES[name], name)
            yield [numbers, of.title, of.scale, sorted(of.axis)]
            ticks = axes.tick_scale(numbers, axis.AXES[name].unit)
            yield [ticks.low, ticks.high, *ticks.ticks, ticks.position(5.0)]
    for ratios in RATIOS:
        scales = [axes.ratio_scale(ratios, ends) for ends in ([], [0.4, 2.5], [1e-3, 1e3])]
        ticks = ([value for value, _ in scale.ticks] for scale in scales)
        rows = zip(ticks, scales, strict=True)
        yield [ratios, *({"scale": y.vega, "axis": {"values": x, "format": "~g"}} for x, y in rows)]
    for name, of in axis.AXES.items():
        yield [
            name,
            axes.amount_expression("x", of),
            axes.amount_expression("x", of, with_unit=False),
        ]
    yield [axes.duration_expression("x")]
    yield [axes.round_ticks(1.0, 1.0 + 10.0**-power) for power in range(1, 8)]
    yield [axes.round_ticks(1.0, high) for high in (200.0, 500.0, 1000.0)]


def looks_of() -> Iterator[object]:
    for dark, size in ((False, 11.0), (True, 9.5)):
        yield theme.theme_config(dark=dark, font_size=size)
    yield theme.FAILED_DASH
    for lengths in ((1,), (1, 14), (15, 1), (1, 40), (41, 1), (9,) * 8):
        labels = [f"{n}".ljust(length, "x") for n, length in enumerate(lengths)]
        for key in (True, False):
            yield charts.series_channels([*labels, "others"], key=key)
        yield charts.series_channels(labels, "series")
    for text in ("mAP of", "a b", "A b", ""):
        yield [charts.sentence_case(text), theme.text_width(text + "Å漢", 10.0)]


def plots_of_long_names() -> tuple[Plot, ...]:
    names = [f"lab/{'a long name, ' * n}{n}" for n in range(4)]
    entries = made.entries(names)
    whole = pl.concat(entries)
    return (
        *api.plot(quality.EPOCHS, whole), *api.plot("tta", whole), *api.plot("solved", whole),
        *api.plot("speedups", *entries, labels=names), *of_profiles(names[0], names[3])[:2],
        *of_profiles("i" * 60)[:1],
    )  # fmt: skip


def drawn(function: str, *values: str | dict[str, Any], **named: float) -> bytes:
    """Return an SVG as the renderer would, or the request."""
    (given,) = values
    if isinstance(given, str):
        return json.dumps([function, given, named]).encode()
    size = f'width="{given["width"] + given["height"] % 7}" height="{given["height"]:.1f}"'
    return f'<svg id="a" {size}><clipPath id="clip0"/><g clip-path="url(#clip0)"/></svg>'.encode()


def widths_of() -> Iterator[object]:
    """Yield plots at several widths, and several plots in one file."""
    plots = plots_of_long_names()
    for plot in plots:
        for width in (theme.COLUMN, 1.5 * theme.COLUMN, theme.PAGE):
            look = drawing.Style(width, title=width > 400)
            sized = drawing.sized_specification(plot, look)
            yield [plot.kind, width, sized["width"], sized.get("title")]
            legend, ticks, across = (sized["config"][part] for part in ("legend", "axis", "axisX"))
            yield [legend["labelLimit"], legend.get("layout")]
            yield [ticks["labelLimit"], ticks["titleLimit"], across]
            encodings = [view.get("encoding", {}) for view in sized.get("layer", [sized])]
            yield [view["color"].get("legend") for view in encodings if "color" in view]
            yield [view["y"].get("scale") for view in encodings if "y" in view]
            rows = [row for table in sized["datasets"].values() for row in table]
            for name in (NAME, "series", "row", "bar"):
                yield [name, *dict.fromkeys(row[name] for row in rows if name in row)]
    titled = structs.replace(plots[0], title="a " * 90)
    for width in (110.0, 386.0):  # from the second on, two names stand beside each other
        sized = drawing.sized_specification(titled, drawing.Style(width))
        yield [sized["title"], sized["layer"][0]["encoding"]["color"]["legend"]]
    with patch.object(renderer, "call_renderer", drawn):
        for count in (1, 3):
            captioned = [structs.replace(plot, caption=f"of {plot.kind}") for plot in plots[:count]]
            yield drawing.render_svg(captioned)
            yield drawing.render_png(captioned).decode()
            yield drawing.render_pdf(captioned, drawing.Style(500.0)).decode()


def texts_of() -> Iterator[str]:
    """Yield the runs of some tables as text."""
    name = "a name of more letters than are shown beside it"
    for width, *tables in (
        (50, made.two_entries()), (90, made.many_kinds()), (120, answers.odd()),
        (120, *made.entries(["lab/x", f"lab/{name}"])), (99, made.entries([name])[0]),
    ):  # fmt: skip
        labels = [f"{name} {n}" for n in range(2)] if len(tables) > 1 else []
        yield from tta.text_plot(api.material(*tables, labels=labels), width=width)


def plot_lines(make: Callable[[], tuple[Plot, ...]]) -> Iterator[str]:
    for part in (part for plot in make() for part in plot_parts(plot)):
        yield six_digits(json.dumps(plain(part), ensure_ascii=False, sort_keys=True))


SHARES = ([-0.2, None, None], [-0.1, -0.6, 1.4], [0.9, -0.2, 1.7], [1.5, None, 1.2],
          [-1.5, -0.9, 2.2], [2.4, 1.0, 2.5], [-6.0, None, None], [50.0, None, None])  # fmt: skip


def shares_of() -> Iterator[object]:
    """Yield the axes of shares of epochs and their intervals."""
    names = ("share_epochs", "share_epochs_low", "share_epochs_high")
    for shares in (SHARES[:1], SHARES[:2], SHARES[:4], SHARES[3:5], SHARES[4:6], SHARES[6:]):
        numbers = pl.DataFrame(shares, dict.fromkeys(names, pl.Float64), orient="row")
        columns = {"benchmark": pl.lit("b"), "group": pl.lit("g"), "with_epochs": 9}
        plot = variance._variance_plot("b", numbers.with_columns(**columns), 0.95)
        yield [*shares, plot.chart["layer"][-1]["encoding"]["x"]]


SINGLE = ("leaderboard", "record")


def refusals_of() -> Iterator[object]:
    """Yield the number of plots of each kind for some runs, or why there are none."""
    calls: list[object] = []
    runs = api.material(made.rows(made.FAST))
    kinds.all_plots(runs, without=["tta"], on_progress=lambda *call: calls.append(call))
    yield calls
    sides = made.entries(["lab/x"] * 3)
    days = pl.duration(days=30 * pl.col("entry").str.tail(1).cast(pl.Int64))
    since = pl.datetime(2018, 1, 1, time_zone="UTC") + days
    leaders = made.leaders().filter(pl.col("cost_per_hour") < 4).with_columns(started_at=since)
    first_best = leaders.with_columns(seconds=10_000 - pl.col("seconds"))
    for about, material, among in (
        ("one evaluation", api.material(made.rows([(100.0, 1)])), kinds.KINDS),
        ("no success", api.material(made.rows([(90.0, None)] * 3)), kinds.KINDS),
        ("two sides", api.material(*sides[:2], unit="evaluations"), kinds.KINDS),
        ("three sides", api.material(*sides), kinds.KINDS),
        ("leaders by cost", api.material(made.leaders(), unit="cost"), kinds.KINDS),
        ("60 days", api.material(leaders), SINGLE),
        ("the first is best", api.material(first_best), SINGLE),
        ("a run a side", api.material(*(side.filter(seed=1) for side in sides)), SINGLE),
        (
            "one value",
            api.material(sides[0].head(1), metric="top1_accuracy"),
            quality.OF_ANY_METRIC,
        ),
        ("5 settings", api.material(made.swept(others=3)), ["effects"]),
        ("6 settings", api.material(made.swept(others=4)), ["effects"]),
    ):
        for kind in among:
            try:
                result: object = len(kinds.KINDS[kind][0](material))
            except TtastatsError as error:
                result = f"{error.what}. {error.remedy}"
            yield [about, kind, result]


LOOKS = by_name(axes_of, looks_of, widths_of, texts_of, shares_of, refusals_of)


@cases("plots", **LOOKS, **{name: partial(plot_lines, make) for name, make in MADE.items()})
def test_plots_are_drawn_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_of_many_rows_those_farthest_from_1_are_drawn() -> None:
    places = [(row, place) for row in range(43) for place in range(2)]
    table = pl.DataFrame(places, ["order", "place"], orient="row").with_columns(
        ratio=1.1 ** (pl.col("order") - 20.0)
    )
    limited, note = speedups._limit_range(table)
    assert sorted(set(range(43)) - set(limited["order"])) == [19, 20, 21]
    assert (limited.height, note) == (80, "The 40 of 43 rows farthest from 1 are shown.")
    few = table.filter(pl.col("order") < 40)
    limited, note = speedups._limit_range(few)
    assert (limited.equals(few), note) == (True, "")
