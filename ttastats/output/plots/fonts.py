"""The font of the plots: laid out, and embedded, so that a paper looks the same everywhere.

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

from ttastats.output.plots import theme

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
    shown = html.unescape(re.sub(r"<[^>]+>", "", "".join(_TEXT.findall(svg))))
    letters = "".join(sorted(set(shown)))
    if not letters.strip():
        return svg
    faces = ""
    for weight, name in _FACES.items():
        if weight == 400 or 'font-weight="600"' in svg:
            font = base64.b64encode(_font_subset(name, letters)).decode()
            faces += (
                f'@font-face{{font-family:"{theme.FAMILY}";font-weight:{weight};'
                f'src:url("data:font/woff;base64,{font}") format("woff")}}'
            )
    style = f"<defs><style>{faces}</style></defs>"
    head = svg.index(">") + 1
    return svg[:head] + style + svg[head:]


def text_width(text: str, size: float) -> float:
    """Return the width of a line of text in the unit of its font size."""
    known = _glyph_widths()
    return sum(known.get(ord(letter), 1.0) for letter in text) * size


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
