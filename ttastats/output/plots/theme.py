"""How plots look: colours that colour-blind readers can tell, shapes, fonts, light and dark.

The charts carry the colours of series, which are legible on white and on near-black. All else
(text, axes, rules) is coloured by `config`, or by the configuration of the page they stand on.

Source Sans Pro is free (SIL Open Font License), narrow enough for a column and comes as a small
package. Text stays text: it can be searched and read aloud, which outlines cannot.
"""

from __future__ import annotations

import base64
import html
import io
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

#: The colours of Okabe and Ito (2008) that show on white and on black alike; the purple is darker,
#: since to who sees no green theirs is the grey of the others.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#C554A0", "#E69F00", "#56B4E9")
#: What is neither, and what stands back behind them.
GREY, BEHIND = "#8C8C8C", "#B0B0B0"
#: Colour is never the only difference.
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
#: Lines have no shape.
DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 1], [1, 3])
#: Series that get a colour and a shape of their own.
HIGHLIGHTS = len(COLOURS)
#: A run that failed: where it stopped, and that it would have gone on.
FAILED_SHAPE, FAILED_DASH = "M-1,-1L1,1M-1,1L1,-1", [4, 2]
#: A mean: a line across the interval, which hides no run.
MEAN_SHAPE = "M0,-1L0,1"

FAMILY = "Source Sans Pro"
# A name that ends in a number would have to be quoted, and renderers differ in that.
FONT = f"{FAMILY}, Helvetica, Arial, sans-serif"

#: The width of a column of a paper, in CSS pixels (3.3 in at 96 to the inch).
COLUMN = 3.3 * 96
#: Around a plot, in CSS pixels; its width does not count it.
PADDING = 4.0
#: The width of a page.
PAGE = 640.0

_LIGHT = {"ink": "#1B1B1B", "soft": "#5A5A5A", "line": "#8A8A8A", "grid": "#E4E4E4"}
_DARK = {"ink": "#EDEDED", "soft": "#B0B0B0", "line": "#8A8A8A", "grid": "#3A3A3A"}


def theme_config(*, dark: bool = False, font_size: float = 11.0) -> dict[str, Any]:
    """Return the Vega-Lite configuration of all plots, with a transparent background.

    `font_size` is that of axis labels in pixels; the rest follows from it.
    """
    tone, size = _DARK if dark else _LIGHT, font_size
    words = {
        "labelColor": tone["ink"], "labelFontSize": size, "titleFontSize": size,
        "titleFontWeight": 400,
    }  # fmt: skip
    title = {
        "anchor": "start", "frame": "bounds", "color": tone["ink"], "fontSize": size + 2,
        "fontWeight": 600, "subtitleColor": tone["soft"], "subtitleFontSize": size, "offset": 8,
    }  # fmt: skip
    axis = {
        "titleColor": tone["ink"], "domainColor": tone["line"], "tickColor": tone["line"],
        "gridColor": tone["grid"], "gridWidth": 0.6, "tickSize": 4, "labelLimit": 260,
        "labelOverlap": True,
    }  # fmt: skip
    legend = {
        "orient": "top", "direction": "horizontal", "titleOrient": "left",
        "titleColor": tone["soft"], "labelLimit": 230, "symbolSize": 50,
        "symbolBaseFillColor": GREY, "symbolBaseStrokeColor": GREY,
        "rowPadding": 1, "columnPadding": 12, "offset": 4, "padding": 0,
    }  # fmt: skip
    # As styles, since a colour of `config.text` would win over these.
    styles = {
        "text": {"color": tone["ink"], "fontSize": size - 0.5},
        "rule": {"color": tone["line"]},
        "area": {"color": tone["line"]},
        "target": {"color": tone["soft"], "strokeWidth": 1.2, "strokeDash": [1, 2]},
        "target-label": {"color": tone["soft"], "fontSize": size - 0.5},
        "mean": {"color": tone["ink"], "strokeWidth": 1.6, "opacity": 1},
        "ideal": {"color": tone["line"], "strokeWidth": 1, "strokeDash": [4, 3]},
        "one": {"color": tone["line"], "strokeWidth": 1.2},
    }
    return {
        "background": "transparent", "font": FONT, "padding": PADDING, "view": {"stroke": None},
        "title": title, "axis": words | axis, "axisX": {"labelFlush": False},
        "axisY": {"titlePadding": 6}, "legend": words | legend, "style": styles,
    }  # fmt: skip


_TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)
_FACES = {400: "Regular", 600: "Semibold"}


def font_folder() -> Path:
    """Return the folder of the font's files."""
    # Its module opens every font when imported; the folder is all that is needed.
    spec = find_spec("font_source_sans_pro")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("font-source-sans-pro is not installed: reinstall ttastats")
    return Path(spec.origin).with_name("files")


def embed_fonts(svg: str) -> str:
    """Return an SVG with the glyphs that it shows embedded."""
    text = html.unescape(re.sub(r"<[^>]+>", "", "".join(_TEXT.findall(svg))))
    letters = "".join(sorted(set(text)))
    if not letters.strip():
        return svg
    faces = ""
    for weight, name in _FACES.items():
        if weight == 400 or 'font-weight="600"' in svg:
            font = base64.b64encode(_font_subset(name, letters)).decode()
            faces += (
                f'@font-face{{font-family:"{FAMILY}";font-weight:{weight};'
                f'src:url("data:font/woff;base64,{font}") format("woff")}}'
            )
    style = f"<defs><style>{faces}</style></defs>"
    head = svg.index(">") + 1
    return svg[:head] + style + svg[head:]


def text_width(text: str, size: float) -> float:
    """Return the width of a line of text in the unit of its font size."""
    widths = _glyph_widths()
    return sum(widths.get(ord(letter), 1.0) for letter in text) * size


@cache
def _glyph_widths() -> dict[int, float]:
    from fontTools.ttLib import TTFont  # costs start-up time

    with TTFont(font_folder() / f"SourceSansPro-{_FACES[400]}.ttf", lazy=True) as font:
        tables: Any = font
        widths, em = tables["hmtx"], tables["head"].unitsPerEm
        return {code: widths[glyph][0] / em for code, glyph in tables.getBestCmap().items()}


@cache
def _font_subset(name: str, letters: str) -> bytes:
    """Return the font reduced to some letters, as WOFF."""
    from fontTools import subset as tools  # costs start-up time

    options = tools.Options(flavor="woff", layout_features=["kern", "liga"], notdef_outline=True)
    options.drop_tables += ["FFTM"]
    stream = io.BytesIO()
    with tools.load_font(str(font_folder() / f"SourceSansPro-{name}.ttf"), options) as font:
        subsetter = tools.Subsetter(options)
        subsetter.populate(text=letters)
        subsetter.subset(font)
        font.flavor = "woff"
        font.save(stream)
    return stream.getvalue()
