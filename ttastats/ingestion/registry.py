"""Which log formats are known, and which one is a file?"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple, cast

from ttastats.base.errors import raise_if, warn
from ttastats.base.records import Problem, Run
from ttastats.formats import config
from ttastats.formats.block import Block
from ttastats.formats.dialect import Dialect, Log

#: Entry-point group under which other distributions offer dialects.
GROUP = "ttastats.dialects"


class _OwnLogs(NamedTuple):
    """A dialect that only a block selects: tables with a header, or lines that match patterns."""

    name: str

    def recognises(self, _head: bytes) -> bool:
        """Recognise nothing: only a block says what such a log means."""
        return False

    def parse(self, log: Log) -> Iterator[Run | Problem]:
        # Only own logs need these.
        from ttastats_parsers import own_blocks, own_cells, own_runs, parts

        if "part" in log.named:
            return parts.runs_of(log)
        rows_of = own_cells.rows_of_lines if self.name == "lines" else own_blocks.rows_of
        return own_runs.runs_of(rows_of, log)


@cache
def dialects() -> Mapping[str, Dialect]:
    """Return the dialects by name: those of ttastats, then those of other packages."""
    import ttastats_parsers  # imports ttastats itself, so not at the top

    loaded = [
        cast("Dialect", import_module(f"ttastats_parsers.{module}"))
        for module in ttastats_parsers.BUILTIN
    ]
    loaded += [_OwnLogs("table"), _OwnLogs("lines")]
    for point in entry_points(group=GROUP):
        try:
            loaded.append(point.load())
        except Exception as error:
            text = f"the dialect {point.name!r} of {point.value!r} cannot be loaded: {error}"
            warn(text, RuntimeWarning)
    return {dialect.name: dialect for dialect in loaded}


@cache
def _recognisers() -> tuple[list[tuple[Dialect, Any]], list[tuple[Dialect, Any]]]:
    """Return the dialects with the functions that recognise a head, and a head with its path."""
    by_head: list[tuple[Dialect, Any]] = []
    by_path: list[tuple[Dialect, Any]] = []
    for dialect in dialects().values():
        takes_path = len(inspect.signature(dialect.recognises).parameters) > 1
        (by_path if takes_path else by_head).append((dialect, dialect.recognises))
    return by_head, by_path


def named(name: str) -> Dialect:
    """Return a dialect by its name; a TtastatsError lists those that exist."""
    dialects_by_name = dialects()
    remedy = f"Known dialects: {', '.join(sorted(dialects_by_name))}."
    raise_if(name not in dialects_by_name, f"unknown dialect {name!r}", remedy=remedy)
    return dialects_by_name[name]


def recognise(head: bytes, path: str = "/") -> Dialect | None:
    """Return the one dialect recognising the first block of a file; several are an error."""
    by_head, by_path = _recognisers()
    claimants = [dialect for dialect, recognises in by_head if recognises(head)]
    claimants += [dialect for dialect, recognises in by_path if recognises(head, path)]
    message = f"recognised by several dialects: {', '.join(dialect.name for dialect in claimants)}"
    raise_if(len(claimants) > 1, message, remedy="Select one with --dialect.")
    return claimants[0] if claimants else None


def recognised_preset(head: bytes, path: str) -> tuple[Block, Mapping[str, str]] | None:
    """Return the block of the one preset matching a file, and the groups in its path."""
    matches = config.matching_presets(head, path)
    message = f"matches several presets: {', '.join(matches)}"
    remedy = "Select one with --preset, or in ttastats.toml."
    raise_if(len(matches) > 1, message, remedy=remedy)
    return next(((config.preset_block(name), groups) for name, groups in matches.items()), None)
