"""Any text log: regular expressions whose named groups are columns, carried from line to line."""

from __future__ import annotations

from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats.formats.own_logs.block import Block

name = "lines"


def recognises(_head: bytes) -> bool:
    """Recognise nothing: which lines count, only a block says."""
    return False


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the runs that the lines tell which match."""
    from ttastats_parsers.own_choice import UnfitError  # only own logs need these
    from ttastats_parsers.own_lines import rows_of
    from ttastats_parsers.own_runs import runs_of

    try:
        rows = rows_of(log, log.block or Block(""))
    except UnfitError as error:
        yield error.problem
        return
    yield from runs_of(rows, log)
