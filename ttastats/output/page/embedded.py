"""How are tables and programs put into a page so that they are small, exact, and known to it?"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from math import isfinite

import polars as pl

from ttastats.base.json_safe import plain, script_text

#: In the order they need each other.
_PROGRAM = (
    "data.js", "choice.js", "league.js", "address.js", "hover.js", "drawing.js", "rows.js",
    "copy.js", "tables.js", "page.js",
)  # fmt: skip


def tables(frames: Sequence[pl.DataFrame]) -> str:
    """Return tables as a JSON list: of each the columns, as `column` writes them."""
    return f"[{','.join(map(table, frames))}]"


def table(frame: pl.DataFrame) -> str:
    """Return a table as JSON text."""
    columns = (f"{script_text(each.name)}:{column(each)}" for each in frame.get_columns())
    return f'{{"height":{frame.height},"columns":{{{",".join(columns)}}}}}'


def column(values: pl.Series) -> str:
    """Return a column: its values, or, where they repeat, what differs and indices into that.

    An index stands for as many rows in succession as `lengths` says beside it.
    Unknown and infinite are null; else the shortest digits that give back the same number.
    """
    repeated = values.rle().struct.unnest()
    # Distinct values and run lengths are shorter for words that repeat, and for long stretches.
    if values.dtype == pl.String:
        short = values.n_unique() * 2 <= len(values)
    else:
        short = not values.dtype.is_float() and repeated.height * 4 <= len(values)
    if short:
        distinct = values.drop_nulls().unique(maintain_order=True)
        places = {value: place for place, value in enumerate(distinct)}
        parts = {
            "values": distinct.to_list(),
            "codes": [places.get(value) for value in repeated.get_column("value")],
            "lengths": repeated.get_column("len").to_list(),
        }
        return script_text(parts)
    if values.dtype.is_float():
        return script_text([None if each is None else _short(each) for each in values.to_list()])
    return script_text(plain(values.to_list()))


def _short(value: float) -> float | None:
    """Return a whole number without its `.0`, and null for what JSON does not know."""
    if not isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def shared(
    plots: Sequence[Mapping[str, pl.DataFrame]],
) -> tuple[list[pl.DataFrame], list[dict[str, int]]]:
    """Return the different tables of some plots, and where in them each plot finds its own.

    A table that plots share under one name is there once.
    """
    different: list[pl.DataFrame] = []
    places: dict[str, list[int]] = {}
    tables = []
    for data in plots:
        mine = {}
        for name, frame in data.items():
            known = places.setdefault(name, [])
            same = next((place for place in known if different[place].equals(frame)), None)
            if same is None:
                same = len(different)
                different.append(frame)
                known.append(same)
            mine[name] = same
        tables.append(mine)
    return different, tables


def part(name: str) -> str:
    """Return a file of this package that becomes part of every page."""
    return files("ttastats.output.page").joinpath("parts", name).read_text("utf-8")


def program() -> str:
    """Return our own program: its parts in one function, so that they see each other only."""
    return "(() => {\n'use strict';\n" + "\n".join(map(part, _PROGRAM)) + "})();\n"


def digest(text: str) -> str:
    """Return what the content security policy of a page calls an inline script or style."""
    return "'sha256-" + b64encode(sha256(text.encode()).digest()).decode() + "'"
