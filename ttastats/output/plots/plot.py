"""What is a plot? A chart without its data, the data by name, and what its marks mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
from msgspec import Struct

from ttastats.base.errors import TtastatsError
from ttastats.base.json_safe import json_value

if TYPE_CHECKING:
    import altair as alt

_T = TypeVar("_T")
#: Columns a reader may choose rows by: a row stays if each that its table has is chosen.
FILTERS = ("benchmark", "system", "entry")


class NothingToDrawError(TtastatsError):
    """These runs have no such plot; the error says why. A page leaves the plot out."""


def refuse_if(
    holds: object, message: str, remedy: str | None = None, *, where: str | None = None
) -> None:
    """Raise a NothingToDrawError if a condition holds."""
    if holds:
        raise NothingToDrawError(message, where=where, remedy=remedy)


class Plot(Struct, frozen=True, eq=False):
    """One plot.

    `chart` is a Vega-Lite specification whose data sets are references (`{"name": ...}`) to
    tables in `data`; plots that show the same table share it under one name. It names no
    colours of text and axes: those are the business of `theme.theme_config`. `caption` says n
    and what marks and intervals mean, and, where runs were left out or drawn together, how many.
    `benchmark` names the one benchmark it shows, None if it shows several.
    """

    kind: str
    title: str
    caption: str
    chart: Mapping[str, Any]
    data: Mapping[str, pl.DataFrame]
    benchmark: str | None = None

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a table as JSON values: no NaN or infinity, times in UTC."""
        return [json_value(row) for row in self.data[name].iter_rows(named=True)]

    def specification(self, **config: Any) -> dict[str, Any]:
        """Return the Vega-Lite specification with its data; `config` is for `theme_config`."""
        from ttastats.output.plots import theme

        return {
            **deepcopy(dict(self.chart)),
            "config": theme.theme_config(**config),
            "datasets": {name: self.rows(name) for name in self.data},
        }

    def altair(self) -> alt.Chart | alt.LayerChart:
        """Return an Altair chart with the data in it, to be changed and shown."""
        import altair as alt  # costs start-up time

        chart = alt.Chart.from_dict(self.specification())
        if not isinstance(chart, alt.Chart | alt.LayerChart):
            raise TypeError(f"a plot is one view, not {type(chart).__name__}")
        return chart

    def to_svg(self, *, width: float = 640.0, title: bool = True) -> str:
        """Return the plot as SVG with its font in it; `width` in CSS pixels, of all there is."""
        from ttastats.output.plots import drawing  # costs start-up time

        return drawing.render_svg([self], drawing.Style(width, title))

    def save(self, path: str | Path, *, width: float = 640.0, title: bool = True) -> None:
        """Write the plot as .svg, .pdf, .png or .html; `width` in CSS pixels (96 an inch)."""
        Plots([self]).save(path, width=width, title=title)

    def __repr__(self) -> str:
        return f"<Plot {self.kind}: {self.title}>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return the plot for a notebook, which may be offline."""
        return {"image/svg+xml": self.to_svg(), "text/plain": f"{self.title}\n{self.caption}"}


class Plots(tuple[Plot, ...]):
    """Plots in their order; a notebook shows them below each other."""

    __slots__ = ()

    def save(self, path: str | Path, *, width: float = 640.0, title: bool = True) -> None:
        """Write all to one file as `Plot.save`; those of several benchmarks only to .html."""
        from ttastats.output.plots import drawing  # costs start-up time

        drawing.write_plots(Path(path), self, drawing.Style(width, title))

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "<no plots>"

    def _repr_html_(self) -> str:
        """Return the plots for a notebook, which may be offline."""
        return "".join(f"<div>{plot.to_svg()}</div>" for plot in self)


def expect_plots(
    plots: Iterable[Plot], message: str, remedy: str | None = None
) -> tuple[Plot, ...]:
    """Return some plots; raise a NothingToDrawError if there are none."""
    all_plots = tuple(plots)
    refuse_if(not all_plots, message, remedy)
    return all_plots


def plots_or_none(draw: Callable[[_T], tuple[Plot, ...]], subject: _T) -> tuple[Plot, ...]:
    """Return the plots of a kind, empty if there is nothing to draw."""
    try:
        return draw(subject)
    except NothingToDrawError:
        return ()
