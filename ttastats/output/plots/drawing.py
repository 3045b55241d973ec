"""How plots become a file: SVG and PDF with their fonts, PNG, and HTML that needs no net."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ttastats.base import atomic
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.json_safe import script_json
from ttastats.base.stores import Place
from ttastats.output.plots import renderer, theme
from ttastats.report import as_html
from ttastats.report.fitting import LINE, NAME, wrapped_names

if TYPE_CHECKING:
    from ttastats.output.plots.plot import Plot

#: CSS pixels to the inch; SVG and HTML count in them, PDF in points.
_PIXELS, _POINTS = 96.0, 72.0
#: The width in CSS pixels of what stands beside a name of a legend, and left of a legend.
_SYMBOL, _BESIDE_LEGEND = 30.0, 50.0
#: The share of the width that names beside rows and lines may take.
_NAMES = 0.34
#: What HTML holds beside each other, other formats hold one above the other, so far apart.
_MOST_STACKED, _GAP = 3, 10.0
_SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"')
_NAME = re.compile(r'(id="|url\(#|href="#)(?=clip|gradient)')
_PROGRAM = """
const plots = JSON.parse(document.getElementById("plots").textContent);
// Errors only: Vega warns of each layer that no run is drawn in.
const how = {mode: "vega-lite", renderer: "svg", actions: false, logLevel: 1};
plots.forEach((plot, n) => vegaEmbed(`#plot-${n}`, plot, how));
"""


class Style(Struct, frozen=True):
    """How a plot is to look: its whole width in CSS pixels, with or without its title."""

    width: float = theme.PAGE
    title: bool = True
    dpi: float = 2 * _PIXELS


_USUAL = Style()


def render_svg(plots: Sequence[Plot], look: Style = _USUAL) -> str:
    """Return plots as one SVG of the true size with embedded glyphs."""
    return theme.embed_fonts(_with_unit_size(_stack_on_white(plots, look), 1 / _PIXELS, "in"))


def render_png(plots: Sequence[Plot], look: Style = _USUAL) -> bytes:
    """Return plots as PNG."""
    # ppi is written into the file; the number of dots is the product of both over 72.
    how = {"scale": _POINTS / _PIXELS, "ppi": look.dpi}
    return renderer.call_renderer("svg_to_png", _stack_on_white(plots, look), **how)


def render_pdf(plots: Sequence[Plot], look: Style = _USUAL) -> bytes:
    """Return plots as PDF of the true size with embedded fonts."""
    # The converter takes a pixel for a point, so the size is said in points.
    stacked = _with_unit_size(_stack(plots, look), _POINTS / _PIXELS, "")
    return renderer.call_renderer("svg_to_pdf", stacked)


def _stack_on_white(plots: Sequence[Plot], look: Style) -> str:
    """Return plots as `_stack` on white, since the page may have any colour."""
    head, end, content = _stack(plots, look).partition(">")
    return f'{head}{end}<rect width="100%" height="100%" fill="white"/>{content}'


def _stack(plots: Sequence[Plot], look: Style) -> str:
    """Return plots below each other in one SVG, sizes in pixels."""
    placed, top, widths = [], 0.0, list[float]()
    for n, plot in enumerate(plots):
        laid_out = renderer.call_renderer("vegalite_to_svg", sized_specification(plot, look))
        # Every clip and gradient gets a name that no other plot of the file has.
        svg = _NAME.sub(rf"\g<1>p{n}-", laid_out.decode())
        # What programs that read aloud look for.
        texts = f"<title>{escape(plot.title)}</title><desc>{escape(plot.caption)}</desc>"
        described = svg.replace(">", f' role="img">{texts}', 1)
        if len(plots) == 1:
            return described
        width, height = (float(size) for size in _SIZE.findall(svg)[0])
        placed.append(f'<svg y="{top:g}"{described.removeprefix("<svg")}')
        widths.append(width)
        top += height + _GAP
    widest = max(widths)
    size = f'width="{widest:g}" height="{top:g}" viewBox="0 0 {widest:g} {top:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(placed)}</svg>'


def render_html(plots: Sequence[Plot], look: Style = _USUAL) -> str:
    """Return a page with some plots that needs no network."""
    return as_html.fill_html(
        "output/plots/page.html",
        plots=plots,
        data=script_json([sized_specification(plot, look) for plot in plots]),
        program=f"{renderer.vega_script()}\n{_PROGRAM}",
    )


def sized_specification(plot: Plot, look: Style) -> dict[str, Any]:
    """Return the specification for a width; a narrow plot has smaller letters."""
    width, narrow = look.width, look.width < 1.5 * theme.COLUMN
    size = 9.5 if narrow else 11.0
    whole = plot.specification(font_size=size)
    whole["width"], config = width, whole["config"]
    views = [view.get("encoding", {}) for view in (whole, *whole.get("layer", ()))]
    row_axes = [view["y"] for view in views if view.get("y", {}).get("type") == "nominal"]
    config["legend"]["labelLimit"] = width - 40
    config["axis"] |= {"labelLimit": width, "titleLimit": width - 10}
    if row_axes:  # names push the plot to the right: its legend may begin above them
        config["legend"]["layout"] = {"top": {"anchor": "end"}}
    _fit_legends(views, width if row_axes else width - _BESIDE_LEGEND, size)
    if narrow:  # in the middle, a long title would be cut
        config["axisX"]["titleAnchor"] = "end"
    rows = [row for table in whole["datasets"].values() for row in table]
    _shorten_row_names(rows, row_axes, width, size)
    if look.title:  # a letter is about half as wide as it is high
        whole["title"] = {"text": wrap(plot.title, max(20, int(width / 6.2))) or [""]}
    return whole


def _fit_legends(views: Sequence[Mapping[str, Any]], room: float, size: float) -> None:
    """Limit the columns of legends so that all names fit."""
    for how in (how for view in views for how in view.values() if isinstance(how, dict)):
        legend, domain = how.get("legend"), how.get("scale", {}).get("domain", ())
        names = [name for name in domain if isinstance(name, str)]
        if legend and names:
            longest = max(theme.text_width(name, size) for name in names)
            most = max(1, int(room / (longest + _SYMBOL)))
            legend["columns"] = min(legend.get("columns", len(names)), most)
            legend["labelLimit"] = room


def _shorten_row_names(
    rows: Sequence[dict[str, Any]], row_axes: Sequence[dict[str, Any]], width: float, size: float
) -> None:
    """Shorten the names beside rows and lines, and in the order of rows, unless all fit."""
    columns, limit = {NAME, *(how["field"] for how in row_axes)}, _NAMES * width
    cells = [(row, name) for row in rows for name in columns if isinstance(row.get(name), str)]
    names = dict.fromkeys(row[name] for row, name in cells)

    def fits(line: str) -> bool:
        return theme.text_width(line, size) <= limit

    if all(fits(line) for name in names for line in name.split(LINE)):
        return
    short = wrapped_names(names, fits, int(limit / (size * 0.4)))
    for row, name in cells:
        row[name] = short[row[name]]
    for scale in (how.get("scale", {}) for how in row_axes):
        if "domain" in scale:
            scale["domain"] = [short.get(name, name) for name in scale["domain"]]


def _with_unit_size(svg: str, factor: float, unit: str) -> str:
    """Return an SVG with its size in a unit of length for paper."""

    def length(match: re.Match[str]) -> str:
        return f'{match[1]}="{float(match[2]) * factor:.4f}{unit}"'

    head, end, content = svg.partition(">")
    return "".join((re.sub(r'\b(width|height)="([\d.]+)"', length, head), end, content))


_FORMATS: dict[str, Callable[[Sequence[Plot], Style], str | bytes]] = {
    ".svg": render_svg,
    ".pdf": render_pdf,
    ".png": render_png,
    ".html": render_html,
}


def expect_drawable(output: Path, inputs: Sequence[Place] = ()) -> None:
    """Raise an error before any work if plots cannot be written to an output of this name."""
    unknown, extensions = output.suffix.lower() not in _FORMATS, ", ".join(_FORMATS)
    remedy = f"Use one of these extensions: {extensions}."
    raise_if(unknown, "has no supported plot format", str(output), remedy)
    atomic.expect_no_input(output, inputs)
    atomic.expect_file_place(output)


def write_plots(output: Path, plots: Sequence[Plot], look: Style) -> None:
    """Write plots in the format of the output's extension, atomically.

    All but .html hold the plots of one benchmark, and few.
    """
    expect_drawable(output)
    suffix = output.suffix.lower()
    names = list(dict.fromkeys(plot.benchmark or "" for plot in plots))
    several = len(names) > 1
    if suffix != ".html" and (several or len(plots) > _MOST_STACKED):
        titles = "; ".join(plot.title for plot in plots)
        kinds_text = (
            f" ({', '.join(names)}) for one file" if several else f" for one file: {titles}"
        )
        condition = f"benchmark={names[0]}" if several else "round=..."
        raise TtastatsError(
            f"{len(plots)} plots{kinds_text}",
            where=plots[0].kind,
            remedy=f"Select one with --where {condition}, or write all to an .html file.",
        )
    image = _FORMATS[suffix](plots, look)
    with atomic.replacing(output) as temporary:
        temporary.write_bytes(image.encode() if isinstance(image, str) else image)
