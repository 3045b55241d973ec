"""What the charts of all kinds share: tables of runs, scales of series, tooltips, layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from ttastats.output.plots import axes, names, theme
from ttastats.output.plots.material import OTHERS, Panel
from ttastats.output.plots.plot import Plot
from ttastats.report.render.harmless import visible, visible_frame, visible_in


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


def colour_scale(labels: Sequence[str]) -> tuple[alt.Scale, alt.Scale]:
    """Return the scales of colour and shape of some series; the others are grey and small."""
    some = [label for label in labels if label != OTHERS]
    colours = [theme.COLOURS[n % theme.HIGHLIGHTS] for n in range(len(some))]
    shapes = [theme.SHAPES[n % theme.HIGHLIGHTS] for n in range(len(some))]
    if OTHERS in labels:
        colours.append(theme.BEHIND)
        shapes.append("stroke")
    domain = list(labels)
    return alt.Scale(domain=domain, range=colours), alt.Scale(domain=domain, range=shapes)


def dash_scale(labels: Sequence[str]) -> alt.Scale:
    """Return the scale of the dashes of some series, a second cue beside colour."""
    dashes = [theme.DASHES[n % len(theme.DASHES)] for n in range(len(labels))]
    ranged = [[1, 0] if label == OTHERS else own for label, own in zip(labels, dashes, strict=True)]
    return alt.Scale(domain=list(labels), range=ranged)


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


#: The width in CSS pixels of a name that has a line of its own.
_WHOLE = 560


def x(axis: axes.TimeAxis, field: str = "at") -> alt.X:
    """Return the horizontal encoding of a field already counted as the axis counts."""
    return alt.X(
        f"{field}:Q",
        title=axis.title,
        scale=alt.Scale(**axis.scale),
        axis=alt.Axis(grid=False, **axis.axis),
    )


def y(field: str, metric: str, scale: alt.Scale, **axis: Any) -> alt.Y:
    """Return the vertical encoding of the values of a metric.

    Vega-Lite writes the title of a field into expressions, where the name of a metric could end a
    string; it shows that of an axis as it is. Layers share an axis if all have the same title.
    """
    # Vega takes `toString` for what every object has. It trims what it draws.
    titled = alt.Axis(title=f"{metric} ", **axis)
    return alt.Y(f"{field}:Q", title="value", scale=scale, axis=titled)


def tooltips(*fields: str | tuple[str, ...]) -> list[alt.Tooltip]:
    """Return what a mark says when it is pointed at: fields, with a title and a format if any."""
    keys = ("shorthand", "title", "format")
    said = ((field,) if isinstance(field, str) else field for field in fields)
    found: list[dict[str, Any]] = [dict(zip(keys, words, strict=False)) for words in said]
    return [alt.Tooltip(**{key: word for key, word in one.items() if word}) for one in found]


def run_tooltip() -> list[alt.Tooltip]:
    """Return which run a mark stands for; see `said` for the fields."""
    return tooltips(
        ("entry_:N", "entry"), ("source:N", "log"), ("seed_:N", "seed"), ("outcome:N", "target"),
        ("epochs_:N", "epochs"), ("quality_:N", "quality"),
    )  # fmt: skip


def said(panel: Panel) -> dict[str, str]:
    """Return the expressions that say to people what a run is and came to; the unknown is empty."""
    amount = axes.said("datum.observed_seconds", panel.axis)
    reached, missed = "reached after", "not reached in"
    if panel.at_budget:
        reached, missed = "value after", "no value after"
    return {
        "outcome": f"(datum.reached ? '{reached} ' : '{missed} ') + ({amount})",
        "entry_": _known("entry", "datum.entry"),
        "seed_": _known("seed", "datum.seed"),
        "epochs_": _known("epochs", "format(datum.epochs, '.4~g')"),
        "quality_": _known("value_final", "format(datum.value_final, '.5~g')"),
    }


def _known(field: str, words: str) -> str:
    # Vega writes what is unknown as `null`, and as 0 where a format is given.
    return f"datum.{field} == null ? '' : {words}"


def fastest_above() -> alt.Order:
    """Draw the points of the fastest last, over those of the others."""
    return alt.Order("order:Q", sort="descending")


def opening(text: str) -> str:
    """Return a text as the start of a title; words such as `mAP` stay as they are written."""
    first = text.split(" ")[0]
    return text if first != first.lower() else text[:1].upper() + text[1:]


#: One chart, or several that are drawn over each other, the last on top.
Drawn = alt.Chart | Sequence[alt.Chart]


def _finished(chart: Drawn, *, height: float, description: str) -> dict[str, Any]:
    """Return the chart as a Vega-Lite specification without configuration.

    The width is that of the whole plot: labels take what they need, the plot has the rest.
    """
    specification = _unit(chart) if isinstance(chart, alt.Chart) else _layered(chart)
    return specification | {
        "width": theme.PAGE,
        "$schema": alt.SCHEMA_URL,
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "description": description,
    }


def _layered(charts: Sequence[alt.Chart]) -> dict[str, Any]:
    """Return layers as `alt.layer` does, which copies every part of each four times."""
    layers = [_unit(chart) for chart in charts]
    if any(chart.data is not charts[0].data for chart in charts):
        return {"layer": layers}
    return {"layer": [_without_data(layer) for layer in layers], "data": layers[0]["data"]}


def _without_data(layer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in layer.items() if key != "data"}


def _unit(chart: alt.Chart) -> dict[str, Any]:
    return dict(chart.to_dict(validate=False, context={"top_level": False}))


def bands(base: alt.Chart, metric: str, scale: alt.Scale, *opacities: float) -> list[alt.Chart]:
    """Return the band of nearly all, and that of the middle half, of what has quantiles."""
    return [
        base.mark_area(opacity=opacity, clip=True).encode(
            y=y(low, metric, scale), y2=alt.Y2(f"{high}:Q")
        )
        for (low, high), opacity in zip(_BANDS, opacities, strict=True)
    ]


_BANDS = (("low", "high"), ("lower", "upper"))


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
    """
    text = " ".join(sentence.strip() for sentence in caption if sentence.strip())
    runs, benchmark = (of.counted, of.benchmark) if isinstance(of, Panel) else ("", of)
    description = f"{title}. {described or runs or text}"
    specification = _finished(chart, height=height, description=description)
    # No renderer, page or screen gets a control character: some write invalid SVG, some abort.
    shown = {visible(name): visible_frame(frame) for name, frame in data.items()}
    return Plot(kind, visible(title), visible(text), visible_in(specification), shown, benchmark)
