"""What is our own program of a page, and by which digests does a page know its programs?"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

#: In the order they need each other.
_OWN = (
    "data.js", "choice.js", "league.js", "address.js", "hover.js", "drawing.js", "rows.js",
    "copy.js", "tables.js", "page.js",
)  # fmt: skip


def part(name: str) -> str:
    """Return a file of this package that becomes part of every page."""
    return files("ttastats.output.page").joinpath("parts", name).read_text("utf-8")


def own() -> str:
    """Return our own program: its parts in one function, so that they see each other only."""
    return "(() => {\n'use strict';\n" + "\n".join(map(part, _OWN)) + "})();\n"


def digest(text: str) -> str:
    """Return what the content security policy of a page calls an inline script or style."""
    return "'sha256-" + b64encode(sha256(text.encode()).digest()).decode() + "'"
