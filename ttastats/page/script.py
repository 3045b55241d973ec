"""Which programs run in a page? Vega, Vega-Lite and our own, each known by its digest."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

#: In the order they need each other.
_OWN = ("data.js", "choice.js", "hover.js", "drawing.js", "rows.js", "tables.js", "page.js")


def part(name: str) -> str:
    """Give a file of this package that becomes part of every page."""
    return files("ttastats.page").joinpath("parts", name).read_text("utf-8")


def own() -> str:
    """Give our own program: its parts in one function, so that they see each other only."""
    return "(() => {\n'use strict';\n" + "\n".join(map(part, _OWN)) + "})();\n"


@cache
def vega() -> str:
    """Give Vega, Vega-Lite and vega-embed as one script; making it takes two seconds.

    Raises
    ------
    ValueError
        The script could end the element it stands in.
    """
    import vl_convert  # a large library

    text = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError("the script of Vega cannot stand in a page")
    return text


def digest(text: str) -> str:
    """Give what the content security policy of a page calls an inline script or style."""
    return "'sha256-" + b64encode(sha256(text.encode()).digest()).decode() + "'"
