"""What does a `ttastats.toml` say, and where is it wrong?"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ttastats.base.errors import TtastatsError
from ttastats.base.nearest import among
from ttastats.formats.own_logs import expressions, presets
from ttastats.formats.own_logs.block import Block, Said, block_of

_HEADER = re.compile(r"^[ \t]*\[\[\s*logs\s*\]\]", re.MULTILINE)


def blocks(text: str, shown: str, root: str) -> tuple[Block, ...]:
    """Return the blocks of a file; `shown` names it, and its patterns start at the folder `root`.

    Raises
    ------
    TtastatsError
        It is no TOML, a key is unknown, or what it says cannot be read: with file and line.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TtastatsError(f"invalid TOML: {error}", where=shown, remedy=_QUOTES) from error
    for key in content:
        if key != "logs":
            raise TtastatsError(
                f"unknown table {key!r}",
                where=_place(shown, text, 0, key),
                remedy="Each kind of logs needs a [[logs]] table.",
            )
    tables = content.get("logs", [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise TtastatsError(
            "logs is not a list of tables", where=shown, remedy="Start each table with [[logs]]."
        )
    starts = [match.start() for match in _HEADER.finditer(text)] or [0]
    return tuple(
        described(table, partial(_place, shown, text, starts[min(number, len(starts) - 1)]), root)
        for number, table in enumerate(tables)
    )


_QUOTES = (
    "Quote strings; use single quotes for patterns with a backslash: line = 'step (?P<step>\\d+)'."
)


def described(said: Said, where: Callable[[str], str], root: str, *, quiet: bool = False) -> Block:
    """Return one block, what its preset says included; what it says itself goes first.

    Raises
    ------
    TtastatsError
        It, or one of its regular expressions, cannot be read.
    """
    name = said.get("preset")
    base: Mapping[str, Any] = {}
    if name is not None:
        if name not in presets.presets():
            raise TtastatsError(
                f"unknown preset {name!r}",
                where=where("preset"),
                remedy=among(str(name), presets.presets(), "Presets", most=40),
            )
        base = presets.presets()[name].said
    source = presets.presets()[name].target_source if name and "metric" not in said else "user"
    block = block_of(
        {**base, **said}, where, root=root, preset=name, quiet=quiet, target_source=source
    )
    for pattern in block.line:
        expressions.expect(pattern, where("line"), named=True)
    if block.new_run not in {None, "step back", "time back", "row"}:
        expressions.expect(str(block.new_run), where("new_run"))
        if not block.line:
            raise TtastatsError(
                f"new_run = {block.new_run!r} is a regular expression, but the block has no line",
                where=where("new_run"),
                remedy='For tables use "step back", "time back" or "row", or name the columns '
                "that identify runs with run.",
            )
    return block


def _place(shown: str, text: str, start: int, key: str) -> str:
    """Return file and the line of a key of the table that starts there, or that of the table."""
    end = next((match.start() for match in _HEADER.finditer(text, start + 1)), len(text))
    end = end if end > start else len(text)
    found = re.compile(rf"""^\s*["']?{re.escape(key)}["']?\s*[=\]]""", re.MULTILINE)
    match = found.search(text, start, end) if key else None
    position = match.end() if match else min(start + 1, len(text))
    return f"{shown}:{text.count(chr(10), 0, position) + 1}"
