"""How are tables and programs put into a page so that they are small, exact, and known to it?"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from json import dumps

import polars as pl

from ttastats.output.plots.plot import Plot

#: In the order they need each other.
_PROGRAM = (
    "data.js", "choice.js", "league.js", "address.js", "hover.js", "drawing.js", "rows.js",
    "copy.js", "tables.js", "page.js",
)  # fmt: skip


def tables_json(frames: Sequence[pl.DataFrame]) -> str:
    """Return tables as a JSON list, each by columns; NaN and infinity are null."""
    written = (
        f'{{"height":{frame.height},"columns":{frame.select(pl.all().implode()).write_json()[1:-1]}}}'
        for frame in frames
    )
    return f"[{','.join(written)}]"


def plots_json(plots: Sequence[Plot]) -> str:
    """Return the charts and shared tables that the script reads when a section opens, as JSON."""
    tables, places = share_tables([plot.data for plot in plots])
    charts = [
        {"chart": plot.chart, "tables": mine} for plot, mine in zip(plots, places, strict=True)
    ]
    return f'{{"plots":{dumps(charts, allow_nan=False)},"tables":{tables_json(tables)}}}'


def share_tables(
    plots: Sequence[Mapping[str, pl.DataFrame]],
) -> tuple[list[pl.DataFrame], list[dict[str, int]]]:
    """Return the distinct tables of some plots, and for each plot the indices of its own.

    A table that plots share under one name is there once.
    """
    different: list[pl.DataFrame] = []
    by_name: dict[str, list[int]] = {}
    places = []
    for data in plots:
        mine = {}
        for name, frame in data.items():
            known = by_name.setdefault(name, [])
            same = (place for place in known if different[place].equals(frame))
            mine[name] = next(same, len(different))
            if mine[name] == len(different):
                different.append(frame)
                known.append(mine[name])
        places.append(mine)
    return different, places


def compress(text: str) -> str:
    """Return a text compressed as `unpacked` of data.js reads it."""
    return b64encode(zlib.compress(text.encode())).decode()


def package_file(name: str) -> str:
    """Return the text of a file of this package that becomes part of every page."""
    return files("ttastats.output.page").joinpath("parts", name).read_text("utf-8")


def page_script() -> str:
    """Return the script of pages: its parts inside one function."""
    return "(() => {\n'use strict';\n" + "\n".join(map(package_file, _PROGRAM)) + "})();\n"


def policy_digest(text: str) -> str:
    """Return the digest of an inline script or style for the content security policy."""
    return "'sha256-" + b64encode(sha256(text.encode()).digest()).decode() + "'"
