"""What the charts of all kinds share: layers of the rows of tables, and colours of series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import polars as pl
from msgspec import Struct

from ttastats.output.plots import axes, theme
from ttastats.output.plots.material import OTHERS, Panel
from ttastats.output.plots.plot import Plot
from ttastats.report import fitting
from ttastats.report.harmless import escape_frame, escape_invisible, escape_json

#: The width in CSS pixels of a name that has a line of its own.
_WHOLE = 560
_TYPES = {"Q": "quantitative", "N": "nominal", "T": "temporal"}

#: How Vega-Lite encodes a channel.
Channel = dict[str, Any]
#: The colour of marks that no series tells apart.
BLUE: Channel = {"value": theme.COLOURS[0]}


class View(Struct, frozen=True):
    """A layer of a chart: rows of a table, how they are encoded, and their mark.

    Each method returns another view: the first five as Vega-Lite has it, the others with a mark
    that kinds of plots share.
    """

    specification: dict[str, Any]

    def transform(self, *steps: dict[str, Any]) -> View:
        """Return the view with more transforms of its rows."""
        whole = [*self.specification.get("transform", ()), *steps]
        return View(self.specification | {"transform": whole}) if steps else self

    def where(self, expression: str) -> View:
        """Return the view without the rows that do not fulfil an expression."""
        return self.transform({"filter": expression})

    def computing(self, **fields: str) -> View:
        """Return the view with more fields, each by an expression."""
        return self.transform(*({"calculate": how, "as": name} for name, how in fields.items()))

    def encode(self, **channels: Any) -> View:
        """Return the view with encodings: channels, names of fields, or the fields of a tooltip.

        Those of a tooltip have a title and a format behind them, if any.
        """
        encoding = dict(self.specification.get("encoding", {}))
        for channel, how in channels.items():
            if isinstance(how, str):
                encoding[channel] = field(how)
            elif isinstance(how, dict):
                encoding[channel] = how
            else:
                lines = ((line,) if isinstance(line, str) else line for line in how)
                encoding[channel] = [_tooltip_line(*line) for line in lines]
        return View(self.specification | {"encoding": encoding})

    def mark(self, kind: str, **look: Any) -> View:
        """Return the view with a mark for each row, or a line or area for all."""
        return View(self.specification | {"mark": {"type": kind, **look}})

    def interval(
        self, channel: Literal["x", "y"], low: str, high: str, where: str = "", **look: Any
    ) -> View:
        """Return a line between two fields, clipped at the frame, under the title of the axis.

        Rows without an end have none, nor do those that do not fulfil the expression `where`.
        """
        title = self.specification["encoding"][channel]["title"]
        conditions = [f"datum.{low} != null", f"datum.{high} != null", *filter(None, [where])]
        look = look or {"strokeWidth": 1.6, "strokeOpacity": 1}
        lines = self.where(" && ".join(conditions)).mark("rule", clip=True, **look)
        return lines.encode(**{channel: field(f"{low}:Q", title=title), f"{channel}2": high})

    def points(self, size: float, **look: Any) -> View:
        """Return a filled mark for each row."""
        return self.mark("point", filled=True, opacity=1, size=size, **look)

    def crosses(self, size: float, **look: Any) -> View:
        """Return a cross for each row of a run that failed."""
        look = {"shape": theme.FAILED_SHAPE, "size": size, "opacity": 1, **look}
        return self.where("!datum.reached").mark("point", **look)

    def labels(self, name: str, **look: Any) -> View:
        """Return text beside each row."""
        return self.mark("text", **look).encode(text=f"{name}:N")

    def end_labels(self, y: Channel, name: str) -> View:
        """Return lines of text at the right end of each row."""
        ends = self.encode(x={"value": "width"}, y=y)
        return ends.labels(name, align="right", baseline="middle", lineBreak=fitting.LINE)

    def reference(self, channel: Literal["x", "y"], title: str) -> View:
        """Return the line at 1, no change, on an axis."""
        at = field("unity:Q", title=title)
        return self.computing(unity="1").mark("rule", style="one").encode(**{channel: at})


#: One view, or several that are drawn over each other, the last on top.
Layers = Sequence[View]


def table_view(name: str, where: str = "", **computed: str) -> View:
    """Return a view of the rows of a table, or of those that fulfil an expression.

    Further fields are `computed` by the expressions of their names.
    """
    view = View({"data": {"name": name}})
    return (view.where(where) if where else view).computing(**computed)


def field(name: str, **properties: Any) -> Channel:
    """Return the encoding of a field: `x:Q` of numbers, `x:N` of names, `x:T` of times."""
    name, _, kind = name.partition(":")
    return {"field": name} | ({"type": _TYPES[kind]} if kind else {}) | properties


def _tooltip_line(name: str, title: str = "", form: str = "") -> Channel:
    words = {"title": title, "format": form}
    return field(name, **{key: word for key, word in words.items() if word})


def position(name: str, title: str, scale: Mapping[str, Any], axis: Mapping[str, Any]) -> Channel:
    """Return the encoding of a number by its position on an axis."""
    return field(f"{name}:Q", title=title, scale=scale, axis=axis)


def ratio_position(
    name: str,
    title: str,
    ratios: Iterable[float],
    ends: Iterable[float | None] = (),
    *,
    margin: float = 0.0,
) -> Channel:
    """Return the encoding of ratios and the ends of their intervals on a logarithmic axis.

    A horizontal one has a `margin` of so many pixels on the right, for text.
    """
    scale = axes.ratio_scale(ratios, ends)
    room = {"range": [0, {"expr": f"width - {margin:g}"}]} if margin else {}
    ticks = {"values": axes.round_ticks(scale.low, scale.high), "format": "~g"}
    return position(name, title, scale.vega | room, ticks)


def rows_by_name(name: str, **axis: Any) -> Channel:
    """Return the vertical encoding of rows by their names, in the order of the table."""
    axis = {"ticks": False, "domain": False, "grid": True, **axis}
    return field(f"{name}:N", title=None, sort=None, axis=axis)


def series_channels(
    labels: Sequence[str], name: str = "colour", *, key: bool = True
) -> tuple[Channel, Channel, Channel]:
    """Return colour, shape and dash of some series, alike in every plot; the others are grey.

    `key` is whether there is a legend, which one series has none of; long names get few columns.
    """
    legend: Channel | None = None
    if key and len(labels) > 1:
        longest = max(map(len, labels))
        columns = 1 if longest > 40 else 2 if longest > 14 else 4
        legend = {"title": None, "columns": min(columns, len(labels)), "symbolOpacity": 1}
        legend |= {"labelLimit": _WHOLE} if columns == 1 else {}
    number = {label: n for n, label in enumerate(labels) if label != OTHERS}

    def looking(looks: Sequence[Any], background: Any) -> Channel:
        ranged = [looks[number[x] % len(looks)] if x in number else background for x in labels]
        scale = {"domain": list(labels), "range": ranged}
        return field(f"{name}:N", legend=legend, scale=scale)

    return (
        looking(theme.COLOURS, theme.BEHIND),
        looking(theme.SHAPES, "stroke"),
        looking(theme.DASHES, [1, 0]),
    )


def runs_table(panel: Panel) -> tuple[str, pl.DataFrame]:
    """Return the table of runs that plots of a panel share: its name, and what tooltips need."""
    return f"runs: {panel.name}", panel.runs.select(
        "run", "benchmark", "system", "entry", "series", "colour", "order", "seed", "reached",
        "tta_seconds", "observed_seconds", "epochs", pl.col("value_final").round_sig_figs(6),
        pl.col("source").map_elements(fitting.short_path, pl.String),
    )  # fmt: skip


def with_run_tooltip(view: View, panel: Panel) -> View:
    """Return a view of runs with the tooltip that describes each, empty where unknown."""
    amount = axes.amount_expression("datum.observed_seconds", panel.axis)
    reached, missed = "reached after", "not reached in"
    if panel.at_budget:
        reached, missed = "value after", "no value after"
    elif panel.is_aimless:
        missed = "none; ended after"
    # Vega writes what is unknown as `null`, and as 0 where a format is given.
    columns = {
        "entry_": ("entry", "datum.entry"),
        "seed_": ("seed", "datum.seed"),
        "epochs_": ("epochs", "format(datum.epochs, '.4~g')"),
        "quality_": ("value_final", "format(datum.value_final, '.5~g')"),
    }
    words = {"outcome": f"(datum.reached ? '{reached} ' : '{missed} ') + ({amount})"} | {
        name: f"datum.{column} == null ? '' : {text}" for name, (column, text) in columns.items()
    }
    tooltip = [
        ("entry_:N", "entry"), ("source:N", "log"), ("seed_:N", "seed"), ("outcome:N", "target"),
        ("epochs_:N", "epochs"), ("quality_:N", "quality"),
    ]  # fmt: skip
    return view.computing(**words).encode(tooltip=tooltip)


def sentence_case(text: str) -> str:
    """Return a text with a capital at its start, unless it is a word such as `mAP`."""
    first = text.split(" ")[0]
    return text if first != first.lower() else text[:1].upper() + text[1:]


def make_plot(
    kind: str,
    subject: Panel | str | None,
    title: str,
    caption: Sequence[str],
    chart: Layers,
    data: Mapping[str, pl.DataFrame],
    *,
    height: float,
    described: str = "",
) -> Plot:
    """Return a plot of a panel, of a benchmark or of several.

    The title of a panel ends with its own, its caption begins with its runs. A plot is `described`
    to those who cannot see it by its title and, by default, its runs or caption.
    The width is that of the whole plot: labels take what they need, the plot has the rest.
    """
    runs = ""
    if isinstance(subject, Panel):
        title, runs, subject = f"{title}: {subject.title}", subject.counts_text, subject.benchmark
    text = " ".join(sentence.strip() for sentence in (runs, *caption) if sentence.strip())
    layer_specs = [view.specification for view in chart]
    data_source = layer_specs[0]["data"]
    shared = {"data": data_source} if all(x["data"] == data_source for x in layer_specs) else {}
    layers = [{name: part for name, part in x.items() if name not in shared} for x in layer_specs]
    specification = (shared | {"layer": layers} if len(layer_specs) > 1 else layer_specs[0]) | {
        "width": theme.PAGE,
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "description": f"{title}. {described or runs or text}",
    }
    # No renderer, page or screen gets a control character: some write invalid SVG, some abort.
    tables = {escape_invisible(name): escape_frame(frame) for name, frame in data.items()}
    title, text = escape_invisible(title), escape_invisible(text)
    return Plot(kind, title, text, escape_json(specification), tables, subject)
