"""What does a `ttastats.toml` say, and where is it wrong?"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ttastats.base.errors import TtastatsError
from ttastats.base.nearest import suggestion
from ttastats.formats.own_logs import presets
from ttastats.formats.own_logs.block import BACK, Block, Keys, parse_block

_HEADER = re.compile(r"^[ \t]*\[\[\s*logs\s*\]\]", re.MULTILINE)
#: A group with a name.
_NAMED = re.compile(r"\(\?P?<[A-Za-z_]")


def blocks(text: str, shown: str, root: str) -> tuple[Block, ...]:
    """Return the blocks in the text of a `ttastats.toml`; `shown` names it in errors."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TtastatsError(f"invalid TOML: {error}", where=shown, remedy=_QUOTES) from error
    for key in content:
        if key != "logs":
            raise TtastatsError(
                f"unknown table {key!r}",
                where=_key_position(shown, text, 0, key),
                remedy="Each kind of logs needs a [[logs]] table.",
            )
    tables = content.get("logs", [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise TtastatsError(
            "logs is not a list of tables", where=shown, remedy="Start each table with [[logs]]."
        )
    starts = [match.start() for match in _HEADER.finditer(text)] or [0]
    return tuple(
        complete_block(
            table, partial(_key_position, shown, text, starts[min(number, len(starts) - 1)]), root
        )
        for number, table in enumerate(tables)
    )


_QUOTES = (
    "Quote strings; use single quotes for patterns with a backslash: line = 'step (?P<step>\\d+)'."
)


def complete_block(
    keys: Keys, where: Callable[[str], str], root: str, *, quiet: bool = False
) -> Block:
    """Return one block, completed by its preset, whose settings it overrides."""
    name = keys.get("preset")
    known = {} if name is None else presets.load_presets()
    if name is not None and name not in known:
        raise TtastatsError(
            f"unknown preset {name!r}",
            where=where("preset"),
            remedy=suggestion(str(name), known, "Presets", most=40),
        )
    base: Mapping[str, Any] = {} if name is None else known[name].keys
    source = "user" if name is None else known[name].target_source
    if "metric" in keys:  # which is to be there
        base = {key: value for key, value in base.items() if key != "otherwise"}
        source = "user"
    block = parse_block(
        {**base, **keys}, where, root=root, preset=name, quiet=quiet, target_source=source
    )
    for pattern in block.line:
        _expect_expression(pattern, where("line"), named=True)
    if block.new_run not in {None, *BACK, "row"}:
        _expect_expression(str(block.new_run), where("new_run"))
        if not block.line:
            raise TtastatsError(
                f"new_run = {block.new_run!r} is a regular expression, but the block has no line",
                where=where("new_run"),
                remedy='For tables use "step back", "time back" or "row", or name the columns '
                "that identify runs with run.",
            )
    return block


def _expect_expression(pattern: str, where: str, *, named: bool = False) -> None:
    """Raise an error for an invalid regular expression, or one without its named groups.

    Logs are matched by the engine of Rust, by way of polars: it takes time in proportion to a
    line's length, whatever the expression, so that none can run forever. What it does not know
    (looking ahead or behind, back references) is refused here, not when a log is read.
    """
    import polars as pl  # a command that reads no logs of one's own needs none

    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.PolarsError as error:
        reason = str(error).removeprefix("regex error: ").partition("This error occurred")[0]
        reason = " ".join(reason.rpartition("error: ")[2].split())
        raise TtastatsError(
            f"invalid regular expression {pattern!r}: {reason}",
            where=where,
            remedy="Expressions run in linear time, so (?=...), (?!...), (?<=...) and \\1 are "
            "not supported; see docs.rs/regex.",
        ) from error
    if named and not _NAMED.search(pattern):
        raise TtastatsError(
            f"the regular expression {pattern!r} has no named group",
            where=where,
            remedy="Named groups become columns: 'step (?P<step>\\d+) loss (?P<val_loss>\\S+)'.",
        )


def _key_position(shown: str, text: str, start: int, key: str) -> str:
    """Return the file and line of a key of the table that begins at `start`."""
    end = next((match.start() for match in _HEADER.finditer(text, start + 1)), len(text))
    end = end if end > start else len(text)
    written = re.compile(rf"""^\s*["']?{re.escape(key)}["']?\s*[=\]]""", re.MULTILINE)
    match = written.search(text, start, end) if key else None
    position = match.end() if match else min(start + 1, len(text))
    return f"{shown}:{text.count(chr(10), 0, position) + 1}"
