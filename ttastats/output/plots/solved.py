"""What share of the runs is done by when, and of the benchmarks within a factor of the best?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from ttastats.base import units
from ttastats.output.plots import axes, charts, theme
from ttastats.output.plots.material import Material, Panel
from ttastats.output.plots.plot import Plot, expect_plots, refuse_if
from ttastats.report.fitting import NAME
from ttastats.sides.numbers import expected_seconds
from ttastats.stats.multiplicity import performance_profile

SOLVED = "solved"
#: Fewer runs make no distribution.
_FEWEST = 3
_STEPS = 200
#: The height of the name of a line, as a share of that of the lines.
_LEVEL = 0.085
#: The pixels left of the axis that a name above it may take.
_BESIDE = 40
#: Times in a smaller ratio stand on a linear axis, which is hardly another.
_LOG_FROM = 1.5


def solved_plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot per benchmark that has a series of three runs, of which one reached."""
    plots = (
        _solved_plot(panel)
        for panel in material.panels
        if panel.series.filter(pl.col("n") >= _FEWEST, pl.col("reached_runs") > 0).height
    )
    message = f"a distribution needs {_FEWEST} runs of one setup"
    return expect_plots(plots, message, "`ttastats runs FILE` lists the runs.")


def _solved_table(panel: Panel) -> pl.DataFrame:
    """Return the steps of each series: the `share` of its runs done within `seconds`.

    A series ends where its longest run does, so that a flat end shows how long it was watched.
    Runs that failed count among all and never reach, so they keep the share below 1. That is no
    Kaplan-Meier curve on purpose: it would take a run that stopped early, diverged or out of its
    budget, for one that would have reached as the others did, and end at 1 where the slowest run
    is a success although a fifth of the runs failed.
    """
    series = []
    types = {"seconds": pl.Float64, "done": pl.Int64}
    for runs in panel.runs.partition_by("order", maintain_order=True):
        if runs.height < _FEWEST:
            continue
        times = np.sort(runs["tta_seconds"].filter(runs["reached"]).to_numpy())
        ranks = np.arange(1, times.size + 1)
        if times.size > _STEPS:
            thinned = np.unique(np.linspace(0, times.size - 1, _STEPS).round().astype(int))
            times, ranks = times[thinned], ranks[thinned]
        longest = runs["observed_seconds"].max()
        end = float(longest) if isinstance(longest, float) else 0.0
        seconds, done = [end / 100, end], [0, 0]
        if times.size:
            seconds, done = [times[0], *times, end], [0, *ranks, ranks[-1]]
        steps = pl.DataFrame({"seconds": seconds, "done": done}, types).select(
            "seconds", "done", (pl.col("done") / runs.height).alias("share"),
            *(pl.lit(runs[name][0]).alias(name) for name in ("order", "series", "colour")),
            pl.lit(runs.height).alias("n"),
        )  # fmt: skip
        series.append(steps)
    # What is drawn later lies above: the fastest, which have a colour, last.
    return panel.with_owners(pl.concat(series[::-1]))


def _line_ends(steps: pl.DataFrame, axis: axes.AmountAxis) -> pl.DataFrame:
    """Return the ends of coloured lines with the height of their labels.

    A name begins (`left`) or ends where its line does. Those that begin stand lowest, the last to
    end first, so that what joins a line with its name crosses few of the others.
    """
    low, high = (float(end) * axis.divisor for end in axis.scale["domain"])
    middle = (low * high) ** 0.5 if axis.scale.get("type") == "log" else (low + high) / 2
    at = pl.col("seconds")
    lasts = steps.group_by("series").agg(pl.all().last())
    ends = lasts.filter(pl.col("colour") == pl.col("series")).with_columns(left=at < middle)
    rank = pl.when("left").then(-at).otherwise(at)
    ordered = ends.sort(~pl.col("left"), rank, "series")
    level = 1 + _LEVEL * (pl.int_range(pl.len()) + 0.6)
    return ordered.with_columns(pl.col("series").alias(NAME), level=level)


def _solved_plot(panel: Panel) -> Plot:
    steps, unit = _solved_table(panel), panel.axis
    axis = axes.amount_axis(steps["seconds"], unit, unit.noun, log_from=_LOG_FROM)
    ends = _line_ends(steps, axis)
    sparse = int((panel.series["n"] < _FEWEST).sum())
    caption = (
        panel.highlighted_text,
        f"Each line is the fraction of runs that {unit.success} (empirical distribution function).",
        ""
        if panel.runs["reached"].all()
        else "Failed runs are included, so their lines stay below 100%.",
        f"Not drawn: {sparse} with fewer than {_FEWEST} runs." if sparse else "",
        f"Lines of more than {_STEPS} runs are drawn with {_STEPS} steps."
        if (panel.series["reached_runs"] > _STEPS).any()
        else "",
    )
    color, _, dash = charts.series_channels(panel.coloured_labels, key=False)
    up, height = f"runs that {unit.success}", 1 + _LEVEL * ends.height
    scale: dict[str, Any] = {"domain": [0, height], "nice": False}
    shares = {"format": ".0%", "values": [0, 0.25, 0.5, 0.75, 1], "titleAnchor": "start"}
    y = charts.position("share", up, scale, shares)
    encodings = {"x": axis.x(), "y": y, "color": color}
    at, time = axis.field_expression("seconds"), axes.amount_expression("datum.seconds", unit)
    data = {f"solved: {panel.name}": steps, f"ends of solved: {panel.name}": ends}
    of_steps, of_ends = data
    tooltip = [("series:N", "runs of"), ("time:N", "within"), ("runs:N", "reached")]
    lines = (
        charts.table_view(of_steps, at=at, time=time, runs="datum.done + ' of ' + datum.n")
        .encode(**encodings, strokeDash=dash, detail="series:N", tooltip=tooltip)
        .mark("line", interpolate="step-after", strokeWidth=1.5, strokeOpacity=0.9)
    )
    last = charts.table_view(of_ends, at=at)
    joins = last.encode(**encodings, y2="level").mark("rule", strokeWidth=0.7, strokeOpacity=0.8)
    text = last.encode(x=axis.x(), y=charts.field("level:Q", title=up, scale=scale))
    # Names have so many pixels, of the place where their line ends.
    rooms = (
        ("datum.left", "left", 4, "width - scale('x', datum.at)"),
        ("!datum.left", "right", -4, f"scale('x', datum.at) + {_BESIDE}"),
    )
    labels = (
        text.where(condition).labels(
            NAME, align=side, dx=dx, baseline="middle", limit={"expr": room}
        )
        for condition, side, dx, room in rooms
    )
    title = f"Fraction of runs at the target over {unit.noun}"
    layers = (joins, lines, *labels)
    return charts.make_plot(SOLVED, panel, title, caption, layers, data, height=190.0 * height)


PROFILE = "profile"
_TAU_MAX = 4.0
#: Expected times of systems, by benchmark.
Times = Mapping[str, Mapping[str, float]]


def performance_profile_plots(material: Material) -> tuple[Plot, ...]:
    """Return a performance profile of the systems of the most common size.

    Systems of 8 and of 512 accelerators are no rivals, and sides are what `speedups` shows.
    """
    sides = "`plot speedups` shows sides."
    refuse_if(material.compares, "a performance profile takes one file", sides)
    size, times = _most_common_size(material.panels)
    refuse_if(
        len(times) < 2,
        "a performance profile needs two systems with the same number of accelerators and "
        "runs on two benchmarks",
        "Give more logs.",
    )
    table, scores = _profile_lines(times)
    labels = list(scores)[: theme.HIGHLIGHTS]
    benchmarks = len({name for row in times.values() for name in row})
    best = ", ".join(f"{label} {scores[label]:.2f}" for label in labels)
    hidden, of_size = len(scores) - len(labels), pl.col("accelerators") == size
    several = "a lower score, is" if hidden == 1 else "lower scores, are"
    runs = sum(panel.runs.filter(of_size).height for panel in material.panels)
    caption = (
        f"{units.plural(runs, 'run')}. A line says on what share of the {benchmarks} benchmarks a "
        f"system's {material.axis.expected} to a success is within a factor of the best of those "
        "shown and not shown; a benchmark that it was not run on or never solved counts as missed. "
        f"Score, the area up to {_TAU_MAX:g}: {best}.",
        f"{hidden} more, with {several} not shown." if hidden else "",
        "Systems of other sizes are no rivals: `--where accelerators=...` chooses them.",
    )
    color, _, dash = charts.series_channels(labels, "series")
    ticks = {"values": [1, 1.25, 1.5, 2, 2.5, 3, 4], "grid": False, "format": "~g"}
    scale = {"type": "log", "domain": [1, _TAU_MAX], "nice": False}
    across = f"factor of the best {material.axis.expected} (log scale)"
    shares = {"format": ".0%", "tickCount": 5}
    line = charts.table_view("profile").encode(
        x=charts.position("tau", across, scale, ticks),
        y=charts.position("share", "share of benchmarks", {"domain": [0, 1]}, shares),
        color=color,
        strokeDash=dash,
        tooltip=[
            ("series:N", "of"), ("tau:Q", "within a factor of", ".3~r"),
            ("share:Q", "of the benchmarks", ".0%"),
        ],
    )  # fmt: skip
    line = line.mark("line", interpolate="step-after", strokeWidth=1.8, strokeOpacity=0.9)
    title = f"Performance profile of {len(times)} systems of {units.plural(size, 'accelerator')}"
    data = {"profile": table.filter(pl.col("series").is_in(labels))}
    plot = charts.make_plot(
        PROFILE, None, title, caption, [line], data, height=200.0, described=f"{best}."
    )
    return (plot,)


def _most_common_size(panels: Sequence[Panel]) -> tuple[int, Times]:
    """Return the most common number of accelerators, and the times of its systems."""
    times: dict[int, dict[str, dict[str, float]]] = {}
    for panel in panels:
        sized = panel.runs.drop_nulls(["system", "accelerators", "observed_seconds"])
        groups = sized.group_by("accelerators", "system", maintain_order=True)
        for (size, system), runs in groups:
            ert = expected_seconds(runs)
            if ert is not None and np.isfinite(ert):
                times.setdefault(int(size), {}).setdefault(str(system), {})[panel.name] = ert
    classes = {
        size: {name: row for name, row in systems.items() if len(row) > 1}
        for size, systems in times.items()
    }
    return max(classes.items(), key=lambda item: (len(item[1]), -item[0]), default=(0, {}))


def _profile_lines(times: Times) -> tuple[pl.DataFrame, dict[str, float]]:
    """Return the lines of the systems and their scores, the best first."""
    systems = list(times)
    benchmarks = list(dict.fromkeys(name for row in times.values() for name in row))
    matrix = np.array([[times[s].get(b, np.inf) for b in benchmarks] for s in systems])
    ratios = matrix / matrix.min(axis=0)
    rises = ratios[np.isfinite(ratios) & (ratios <= _TAU_MAX)]
    taus = np.unique(np.concatenate([[1.0], rises, [_TAU_MAX]]))
    profile = performance_profile(matrix, taus, tau_max=_TAU_MAX)
    order = np.argsort(-profile.scores, kind="stable")
    table = pl.DataFrame(
        {"tau": taus, "share": profile.shares[index], "series": systems[index]} for index in order
    )
    table = table.explode("tau", "share").with_columns(system=pl.col("series"))
    return table, {systems[index]: float(profile.scores[index]) for index in order}
