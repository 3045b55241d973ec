"""How are tables and pictures put into a page so that they are small, exact and mere data?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from json import dumps
from typing import Any

import polars as pl

#: Inside a script element these could end it, or a line of it.
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def script_safe(value: Any) -> str:
    """Give JSON text that nothing in it can lead out of a `script` element."""
    return dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(
        _ESCAPES
    )


def tables(frames: Sequence[pl.DataFrame]) -> str:
    """Give tables as a JSON list: of each the columns, as `column` writes them."""
    return f"[{','.join(map(table, frames))}]"


def table(frame: pl.DataFrame) -> str:
    """Give a table as JSON text."""
    columns = (f"{script_safe(each.name)}:{column(each)}" for each in frame.get_columns())
    return f'{{"height":{frame.height},"columns":{{{",".join(columns)}}}}}'


def column(values: pl.Series) -> str:
    """Give a column: its values, or, where they repeat, what differs and indices into that.

    An index stands for as many rows in succession as `lengths` says beside it.
    Unknown and infinite are null; else the shortest digits that give back the same number.
    """
    if values.dtype == pl.String and values.n_unique() * 2 <= len(values):
        distinct = values.drop_nulls().unique(maintain_order=True)
        places = {value: place for place, value in enumerate(distinct)}
        repeated = values.rle().struct.unnest()
        parts = {
            "values": distinct.to_list(),
            "codes": [places.get(value) for value in repeated.get_column("value")],
            "lengths": repeated.get_column("len").to_list(),
        }
        return script_safe(parts)
    return f"[{','.join(_plain(value) for value in values.to_list())}]"


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return _number(value)
    return script_safe(value.isoformat() if isinstance(value, datetime) else value)


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "null"  # no place on an axis, and no number of JSON
    return repr(int(value) if value.is_integer() and abs(value) < 1e15 else value)


def shared(
    pictures: Sequence[Mapping[str, pl.DataFrame]],
) -> tuple[list[pl.DataFrame], list[dict[str, int]]]:
    """Give the different tables of some pictures, and where in them each picture finds its own.

    A table that pictures share under one name is there once.
    """
    different: list[pl.DataFrame] = []
    places: dict[str, list[int]] = {}
    found = []
    for data in pictures:
        mine = {}
        for name, frame in data.items():
            known = places.setdefault(name, [])
            same = next((place for place in known if different[place].equals(frame)), None)
            if same is None:
                same = len(different)
                different.append(frame)
                known.append(same)
            mine[name] = same
        found.append(mine)
    return different, found
