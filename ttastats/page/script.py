"""Which programs run in a page? Vega, Vega-Lite and our own, each known by its digest."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from ttastats.plotting.vega import bundle

#: In the order they need each other.
_OWN = (
    "data.js", "choice.js", "league.js", "address.js", "hover.js", "drawing.js", "rows.js",
    "copy.js", "tables.js", "page.js",
)  # fmt: skip


def part(name: str) -> str:
    """Give a file of this package that becomes part of every page."""
    return files("ttastats.page").joinpath("parts", name).read_text("utf-8")


def own() -> str:
    """Give our own program: its parts in one function, so that they see each other only."""
    return "(() => {\n'use strict';\n" + "\n".join(map(part, _OWN)) + "})();\n"


def vega() -> str:
    """Give Vega, Vega-Lite and vega-embed, which our own program calls."""
    return bundle("window.vegaEmbed = vegaEmbed;")


def digest(text: str) -> str:
    """Give what the content security policy of a page calls an inline script or style."""
    return "'sha256-" + b64encode(sha256(text.encode()).digest()).decode() + "'"
