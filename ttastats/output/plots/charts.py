"""What the charts of all kinds share: tables of runs, colours of series, layers by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt
import polars as pl

from ttastats.output.plots import axes, names, theme
from ttastats.output.plots.material import OTHERS, Panel
from ttastats.output.plots.plot import Plot
from ttastats.report.render.harmless import visible, visible_frame, visible_in

#: The width in CSS pixels of a name that has a line of its own.
_WHOLE = 560
#: One chart, or several that are drawn over each other, the last on top.
Drawn = alt.Chart | Sequence[alt.Chart]


def table_of_runs(panel: Panel) -> pl.DataFrame:
    """Return what charts and tooltips need of each run."""
    return panel.runs.select(
        "run", "benchmark", "system", "entry", "series", "colour", "order", "seed", "reached",
        "tta_seconds", "observed_seconds", "epochs", pl.col("value_final").round_sig_figs(6),
        pl.col("source").map_elements(names.file_of, pl.String),
    )  # fmt: skip


def runs_name(panel: Panel) -> str:
    """Return the name under which plots share a panel's runs."""
    return f"runs: {panel.name}"


def rows(name: str, where: str = "", **computed: str) -> alt.Chart:
    """Return a chart of the rows of a table, or of those that fulfil an expression, without marks.

    Further fields are `computed` by the expressions of their names.
    """
    chart = alt.Chart(alt.NamedData(name=name))
    chart = chart.transform_filter(where) if where else chart
    return chart.transform_calculate(**computed) if computed else chart


# A series has the same colour, shape and dash in every plot.


def series(
    labels: Sequence[str], field: str = "colour", *, key: bool = True
) -> tuple[alt.Color, alt.Shape, alt.StrokeDash]:
    """Return the encodings of some series; the others are grey and small.

    `key` is whether there is a legend.
    """
    domain = list(labels)
    known: dict[str, Any] = {"shorthand": f"{field}:N", "legend": legend(labels) if key else None}
    number = {label: n for n, label in enumerate(domain) if label != OTHERS}

    def scale(looks: Sequence[Any], behind: Any) -> alt.Scale:
        ranged = [looks[number[one] % len(looks)] if one in number else behind for one in domain]
        return alt.Scale(domain=domain, range=ranged)

    return (
        alt.Color(**known, scale=scale(theme.COLOURS, theme.BEHIND)),
        alt.Shape(**known, scale=scale(theme.SHAPES, "stroke")),
        alt.StrokeDash(**known, scale=scale(theme.DASHES, [1, 0])),
    )


def legend(labels: Sequence[str]) -> Any:
    """Return the legend of some series, none for one; long names stand in few columns."""
    if len(labels) < 2:
        return None
    longest = max(len(label) for label in labels)
    columns = 1 if longest > 40 else 2 if longest > 14 else 4
    limit = _WHOLE if columns == 1 else alt.Undefined
    return alt.Legend(
        title=None, columns=min(columns, len(labels)), symbolOpacity=1, labelLimit=limit
    )


def position(
    channel: Literal["x", "y"],
    field: str,
    title: str,
    scale: Mapping[str, Any],
    axis: Mapping[str, Any],
) -> Any:
    """Return the encoding of a number by its place, on an axis as `axes` describes it."""
    kind = alt.X if channel == "x" else alt.Y
    return kind(f"{field}:Q", title=title, scale=alt.Scale(**scale), axis=alt.Axis(**axis))


def x(axis: axes.TimeAxis, field: str = "at") -> Any:
    """Return the horizontal encoding of a field already counted as the axis counts."""
    return position("x", field, axis.title, axis.scale, {"grid": False, **axis.axis})


def y(field: str, metric: str, scale: alt.Scale, **axis: Any) -> alt.Y:
    """Return the vertical encoding of the values of a metric.

    Vega-Lite writes the title of a field into expressions, where the name of a metric could end a
    string; it shows that of an axis as it is. Layers share an axis if all have the same title.
    """
    # Vega takes `toString` for what every object has. It trims what it draws.
    titled = alt.Axis(title=f"{metric} ", **axis)
    return alt.Y(f"{field}:Q", title="value", scale=scale, axis=titled)


def leaving(scale: Mapping[str, Any], pixels: float) -> dict[str, Any]:
    """Return a horizontal scale that leaves pixels on the right, for words or numbers."""
    return {**scale, "range": [0, alt.ExprRef(f"width - {pixels:g}")]}


def named_rows(field: str, **axis: Any) -> alt.Y:
    """Return the vertical encoding of rows by their names, in the order of the table."""
    return alt.Y(
        f"{field}:N", title=None, sort=None, axis=alt.Axis(ticks=False, domain=False, **axis)
    )


# Layers by name: marks, with their look, on a chart of rows that says where they stand.


def interval(
    base: alt.Chart,
    channel: Literal["x", "y"],
    ends: tuple[str, str],
    title: str,
    *,
    where: str = "",
    **look: Any,
) -> Any:
    """Return a line between two fields on the axis of that title, cut by the frame.

    Rows without an end have none, nor do those that do not fulfil the expression `where`.
    """
    low, high = ends
    known = [f"datum.{low} != null", f"datum.{high} != null", *filter(None, [where])]
    start = (alt.X if channel == "x" else alt.Y)(f"{low}:Q", title=title)
    end = (alt.X2 if channel == "x" else alt.Y2)(f"{high}:Q")
    lines = base.transform_filter(" && ".join(known)).mark_rule(
        clip=True, **(look or {"strokeWidth": 1.6, "strokeOpacity": 1})
    )
    return lines.encode(**{channel: start, f"{channel}2": end})


def points(base: alt.Chart, size: float, **look: Any) -> Any:
    """Return a filled mark for each row."""
    return base.mark_point(filled=True, opacity=1, size=size, **look)


def label(base: alt.Chart, field: str, **look: Any) -> Any:
    """Return words beside each row."""
    return base.mark_text(**look).encode(text=alt.Text(f"{field}:N"))


def line_at_one(base: alt.Chart, channel: Literal["x", "y"], title: str) -> Any:
    """Return the line of no change on the axis of that title."""
    at: Any = (alt.X if channel == "x" else alt.Y)("unity:Q", title=title)
    return base.transform_calculate(unity="1").mark_rule(style="one").encode(**{channel: at})


def bands(base: alt.Chart, metric: str, scale: alt.Scale, **opacities: float) -> list[alt.Chart]:
    """Return the bands between quantiles, each named by its lower end."""
    return [
        base.mark_area(opacity=opacity, clip=True).encode(
            y=y(low, metric, scale), y2=alt.Y2(f"{_HIGHER[low]}:Q")
        )
        for low, opacity in opacities.items()
    ]


_HIGHER = {"low": "high", "lower": "upper"}


# Words and the plot as a whole.


def tooltips(*fields: str | tuple[str, ...]) -> list[alt.Tooltip]:
    """Return what a mark says when it is pointed at: fields, with a title and a format if any."""
    keys = ("shorthand", "title", "format")
    named = ((field,) if isinstance(field, str) else field for field in fields)
    pairs: list[dict[str, Any]] = [dict(zip(keys, words, strict=False)) for words in named]
    return [alt.Tooltip(**{key: word for key, word in each.items() if word}) for each in pairs]


def run_tooltip() -> list[alt.Tooltip]:
    """Return which run a mark stands for; see `about_runs` for the fields."""
    return tooltips(
        ("entry_:N", "entry"), ("source:N", "log"), ("seed_:N", "seed"), ("outcome:N", "target"),
        ("epochs_:N", "epochs"), ("quality_:N", "quality"),
    )  # fmt: skip


def about_runs(panel: Panel) -> dict[str, str]:
    """Return the expressions of what a run is and came to, in words; the unknown is empty."""
    amount = axes.said("datum.observed_seconds", panel.axis)
    reached, missed = "reached after", "not reached in"
    if panel.at_budget:
        reached, missed = "value after", "no value after"
    # Vega writes what is unknown as `null`, and as 0 where a format is given.
    known = {
        "entry_": ("entry", "datum.entry"),
        "seed_": ("seed", "datum.seed"),
        "epochs_": ("epochs", "format(datum.epochs, '.4~g')"),
        "quality_": ("value_final", "format(datum.value_final, '.5~g')"),
    }
    return {"outcome": f"(datum.reached ? '{reached} ' : '{missed} ') + ({amount})"} | {
        name: f"datum.{field} == null ? '' : {words}" for name, (field, words) in known.items()
    }


def opening(text: str) -> str:
    """Return a text as the start of a title; words such as `mAP` stay as they are written."""
    first = text.split(" ")[0]
    return text if first != first.lower() else text[:1].upper() + text[1:]


def plot(
    kind: str,
    of: Panel | str | None,
    title: str,
    caption: Sequence[str],
    chart: Drawn,
    data: Mapping[str, pl.DataFrame],
    *,
    height: float,
    described: str = "",
) -> Plot:
    """Return a plot of a panel, of a benchmark or of several; empty sentences are left out.

    It is `described` to those who cannot see it by its title and, by default, its runs or caption.
    The width is that of the whole plot: labels take what they need, the plot has the rest.
    """
    text = " ".join(sentence.strip() for sentence in caption if sentence.strip())
    runs, benchmark = (of.counted, of.benchmark) if isinstance(of, Panel) else ("", of)
    layers = [chart] if isinstance(chart, alt.Chart) else list(chart)
    drawn = [dict(each.to_dict(validate=False, context={"top_level": False})) for each in layers]
    # As `alt.layer` does, which copies every part of each layer four times.
    specification = drawn[0] if isinstance(chart, alt.Chart) else {"layer": drawn}
    if chart is not layers[0] and all(each.data is layers[0].data for each in layers):
        data_of_each = [each.pop("data") for each in drawn]
        specification["data"] = data_of_each[0]
    specification |= {
        "width": theme.PAGE,
        "$schema": alt.SCHEMA_URL,
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "description": f"{title}. {described or runs or text}",
    }
    # No renderer, page or screen gets a control character: some write invalid SVG, some abort.
    shown = {visible(name): visible_frame(frame) for name, frame in data.items()}
    return Plot(kind, visible(title), visible(text), visible_in(specification), shown, benchmark)
