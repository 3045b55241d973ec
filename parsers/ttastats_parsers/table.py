"""Tables with a header: CSV, TSV, JSON lines, JSON and Parquet, as a block describes them."""

from __future__ import annotations

from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log

name = "table"


def recognises(_head: bytes) -> bool:
    """Recognise nothing: any program may write a table, and only its block says what it means."""
    return False


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the runs of a table."""
    from ttastats_parsers.own_blocks import rows_of  # only own logs need these
    from ttastats_parsers.own_cells import unpivoted
    from ttastats_parsers.own_choice import UnfitError
    from ttastats_parsers.own_runs import runs_of

    try:
        rows = rows_of(log)
    except UnfitError as error:
        yield error.problem
        return
    if log.block is not None:
        rows = unpivoted(rows, log.block)
    yield from runs_of(rows, log)
