"""Rows that `ttastats export` wrote, or that another program wrote of a table: CSV, JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import polars as pl

from ttastats.base.errors import TtastatsError
from ttastats.base.json_safe import FORMULA
from ttastats.base.records import Evaluation, Problem, Run
from ttastats.formats.dialect import NO_EVALUATION, Log
from ttastats.table import schema
from ttastats.table.conform import conform
from ttastats_parsers import own_cells
from ttastats_parsers.exports import header_of
from ttastats_parsers.own_choice import UnfitError, texts

name = "ttastats-rows"

#: Columns that no other table has together.
_COLUMNS = frozenset({"run_id", "source", "run_status", "eval_index", "metric", "logged_value"})
#: Parsed JSON takes many times its bytes: a longer first line is none of ours.
_LONGEST = 1024 * 1024
_ESCAPED = FORMULA.replace("(^|;)", "(^|;)'")


def recognises(head: bytes) -> bool:
    """Recognise a header, or the keys of the first line, with columns of the table of runs."""
    if head.startswith(b'{"'):
        line = head[:_LONGEST].partition(b"\n")[0]
        if not all(f'"{column}"'.encode() in line for column in _COLUMNS):
            return False
        try:
            record = json.loads(line)
        except ValueError:
            return False
        return isinstance(record, dict) and record.keys() >= _COLUMNS
    return header_of(head) >= _COLUMNS


def parse(log: Log) -> Iterator[Run | Problem]:
    """Give the runs of the rows, as they are in the table that the rows are of."""
    data = log.read()
    try:
        rows = own_cells.rows_of(data)
        cells = rows.frame.select(texts(rows.frame[name]) for name in rows.frame.columns)
        if not data.startswith(b"{"):
            cells = cells.with_columns(pl.col(pl.String).str.replace_all(_ESCAPED, "${1}${2}"))
        table = conform(cells, log.name).collect()
    except UnfitError as error:
        yield error.problem
        return
    except TtastatsError as error:
        yield Problem("unreadable_file", error.what, "error")
        return
    yield from rows.problems
    for _, run in groupby(table.iter_rows(named=True), key=itemgetter(*schema.RUN)):
        yield _run([*run])


def _run(rows: list[dict[str, Any]]) -> Run:
    """Return the run of some rows."""
    head = rows[0]
    evaluations = tuple(
        Evaluation(row["eval_index"], **{key: row[key] for key in _OF_EVALUATION})
        for row in rows
        if row["metric"] is not None
    )
    return Run(
        **{key: head[key] for key in _OF_RUN},
        extra=schema.parse_extra(head["extra"]),
        evaluations=evaluations,
        problems=() if evaluations else (NO_EVALUATION,),
    )


_OF_RUN = {*Run.__struct_fields__} & {*schema.RUN_NAMES} - {"extra", "problems"}
_OF_EVALUATION = {*Evaluation.__struct_fields__} & {*schema.EVALUATION_NAMES}
