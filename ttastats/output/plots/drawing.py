"""How a plot becomes a file: SVG and PDF with their fonts, PNG, and HTML that needs no net."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any, Protocol

from ttastats.base.json_safe import script_text
from ttastats.output.plots import fonts, renderer, theme, vega
from ttastats.report.render import as_html

#: CSS pixels to the inch; SVG and HTML count in them, PDF in points.
_PIXELS, _POINTS = 96.0, 72.0


class Drawable(Protocol):
    """What is drawn: a title, a caption, and a Vega-Lite specification with its data in it."""

    @property
    def title(self) -> str:
        """Return what stands above it."""
        ...

    @property
    def caption(self) -> str:
        """Return what its marks mean."""
        ...

    def specification(self, **config: Any) -> dict[str, Any]:
        """Return the specification; `config` is what `theme.config` takes."""
        ...


@dataclass(frozen=True, slots=True)
class Style:
    """How a plot is to look: its whole width in CSS pixels, with or without its title."""

    width: float = theme.PAGE
    title: bool = True
    dpi: float = 2 * _PIXELS


def svg(plots: Sequence[Drawable], look: Style | None = None) -> str:
    """Return SVG of the true size with the glyphs it needs; several are stacked."""
    stacked = _on_white(_stacked(plots, look or Style()))
    return fonts.embedded(_sized(stacked, 1 / _PIXELS, "in"))


def png(plots: Sequence[Drawable], look: Style | None = None) -> bytes:
    """Return PNG."""
    look = look or Style()
    stacked = _on_white(_stacked(plots, look))
    # ppi is written into the file; the number of dots is the product of both over 72.
    return renderer.call("svg_to_png", stacked, scale=_POINTS / _PIXELS, ppi=look.dpi)


def pdf(plots: Sequence[Drawable], look: Style | None = None) -> bytes:
    """Return PDF of the true size, its fonts embedded."""
    # The converter takes a pixel for a point, so the size is said in points.
    stacked = _sized(_stacked(plots, look or Style()), _POINTS / _PIXELS, "")
    return renderer.call("svg_to_pdf", stacked)


def _on_white(drawn: str) -> str:
    """Put white behind a plot: a file cannot know on which colour it will stand."""
    head = drawn.index(">") + 1
    return f'{drawn[:head]}<rect width="100%" height="100%" fill="white"/>{drawn[head:]}'


def _stacked(plots: Sequence[Drawable], look: Style) -> str:
    """Return one SVG of plots below each other, sizes in pixels."""
    drawn = [
        # Every clip and gradient gets a name that no other plot of the file has.
        _NAME.sub(rf"\g<1>p{n}-", _laid_out(plot, look))
        for n, plot in enumerate(plots)
    ]
    if len(drawn) == 1:
        return _described(drawn[0], plots[0])
    placed, top, widest = [], 0.0, 0.0
    for one, plot in zip(drawn, plots, strict=True):
        width, height = (float(size) for size in _SIZE.findall(one)[0])
        described = _described(one, plot)
        placed.append(described.replace("<svg ", f'<svg y="{top:g}" ', 1))
        top, widest = top + height + _GAP, max(widest, width)
    size = f'width="{widest:g}" height="{top:g}" viewBox="0 0 {widest:g} {top:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(placed)}</svg>'


def _laid_out(plot: Drawable, look: Style) -> str:
    return renderer.call("vegalite_to_svg", specification(plot, look)).decode()


_SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"')
_NAME = re.compile(r'(id="|url\(#|href="#)(?=clip|gradient)')
_GAP = 10.0


def html(plots: Sequence[Drawable], look: Style | None = None) -> str:
    """Return a page with some plots that needs no network: programs and data are in it."""
    look = look or Style()
    return as_html.filled(
        "output/plots/page.html",
        plots=plots,
        data=script_text([specification(plot, look) for plot in plots]),
        program=f"{vega.program()}\n{_PROGRAM}",
    )


_PROGRAM = """
const plots = JSON.parse(document.getElementById("plots").textContent);
// Errors only: Vega warns of each layer that no run is drawn in.
const how = {mode: "vega-lite", renderer: "svg", actions: false, logLevel: 1};
plots.forEach((plot, n) => vegaEmbed(`#plot-${n}`, plot, how));
"""


def specification(plot: Drawable, look: Style) -> dict[str, Any]:
    """Return the specification for one width; a narrow plot has smaller letters."""
    narrow = look.width < 1.5 * theme.COLUMN
    found = plot.specification(font_size=9.5 if narrow else 11.0)
    found["width"] = look.width
    if narrow:
        found = _narrowed(found, look.width)
    if look.title:  # a letter is about half as wide as it is high
        found["title"] = {"text": wrap(plot.title, max(20, int(look.width / 6.2))) or [""]}
    return found


def _narrowed(specification: dict[str, Any], width: float) -> dict[str, Any]:
    """Return a specification whose names and titles fit a column of a paper."""
    config = specification["config"]
    fitting: dict[str, dict[str, Any]] = {
        "legend": {"labelLimit": width - 40},
        "axis": {"labelLimit": round(0.5 * width), "titleLimit": width - 10},
        "axisX": {"titleAnchor": "end"},  # in the middle, a long title would be cut
    }
    if _longest(specification.get("encoding", {}).get("y")):
        # Names beside bars push the plot to the right: its legend may begin above them.
        fitting["legend"]["layout"] = {"top": {"anchor": "end"}}
    config = config | {part: config.get(part, {}) | more for part, more in fitting.items()}
    views = [_fewer_columns(view, width) for view in specification.get("layer", ())]
    layers = {"layer": views} if views else {}
    return _fewer_columns(specification, width) | layers | {"config": config}


def _fewer_columns(view: dict[str, Any], width: float) -> dict[str, Any]:
    """Return a view whose legends have so few columns that the longest name fits each."""
    encoding = dict(view.get("encoding", {}))
    for channel, how in encoding.items():
        legend = how.get("legend") if isinstance(how, dict) else None
        if legend and "columns" in legend and (longest := _longest(how)):
            most = max(1, int(width / (_LETTER * longest + _SYMBOL)))
            columns = min(legend["columns"], most)
            fitting = {"columns": columns, "labelLimit": width - 40}
            encoding[channel] = how | {"legend": legend | fitting}
    return view | {"encoding": encoding} if encoding else view


def _longest(how: Any) -> int:
    """Return the length of the longest name that a channel shows, 0 where it shows none."""
    domain = how.get("scale", {}).get("domain", ()) if isinstance(how, dict) else ()
    return max((len(name) for name in domain if isinstance(name, str)), default=0)


#: The width in CSS pixels of a letter of a legend, and of what stands beside a name.
_LETTER, _SYMBOL = 5.0, 30.0


def _sized(drawn: str, factor: float, unit: str) -> str:
    """Say the size in a unit of length, so that a paper gets it as wide as asked for."""

    def said(match: re.Match[str]) -> str:
        return f'{match[1]}="{float(match[2]) * factor:.4f}{unit}"'

    head, rest = drawn[: drawn.index(">") + 1], drawn[drawn.index(">") + 1 :]
    return re.sub(r'\b(width|height)="([\d.]+)"', said, head) + rest


def _described(drawn: str, plot: Drawable) -> str:
    """Return an SVG what programs that read aloud look for."""
    head = drawn.index(">")
    texts = f"<title>{escape(plot.title)}</title><desc>{escape(plot.caption)}</desc>"
    return f'{drawn[:head]} role="img">{texts}{drawn[head + 1 :]}'
