"""What is written where? The end of a name says whether it is CSV, JSON lines or logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from ttastats.base import atomic
from ttastats.base.errors import TtastatsError
from ttastats.output.export import logs
from ttastats.output.export.logs import Exported
from ttastats.report.render.as_csv import FORMULA
from ttastats.table import schema, store


def _write_csv(table: pl.LazyFrame, output: Path) -> None:
    """Write a table as CSV, with `'` before text that a spreadsheet would take for a formula."""
    inert = table.with_columns(pl.col(pl.String).str.replace_all(FORMULA, "${1}'${2}"))
    inert.sink_csv(output, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")


#: Writers of rows; an object of JSON lines has null for unknown.
_WRITERS: dict[str, Callable[[pl.LazyFrame, Path], None]] = {
    ".csv": _write_csv,
    ".jsonl": pl.LazyFrame.sink_ndjson,
    ".ndjson": pl.LazyFrame.sink_ndjson,
}
#: Ends of names that promise a table of another format, with what to do instead.
_OTHER_TABLES = {".parquet": "Use `ttastats filter` to write Parquet."} | dict.fromkeys(
    (".pq", ".arrow", ".feather", ".json", ".tsv", ".txt", ".xlsx", ".html", ".sqlite"),
    "Use NAME.csv or NAME.jsonl for rows, a folder for logs, and `ttastats filter` for Parquet.",
)


def is_row_format(output: Path) -> bool:
    """Return whether an output name means rows, not a folder of logs."""
    return output.suffix.lower() in _WRITERS


def export(table: pl.LazyFrame, output: Path) -> Exported:
    """Write a table as rows (`NAME.csv`, `NAME.jsonl`) or as a folder of logs (any other name)."""
    ending = output.suffix.lower()
    if ending in _OTHER_TABLES:
        raise TtastatsError(
            f"{ending} is not an export format", where=str(output), remedy=_OTHER_TABLES[ending]
        )
    runs = table.select(schema.RUN).unique().select(pl.len()).collect().item()
    if not runs:
        raise TtastatsError("no run meets the conditions")
    write = _WRITERS.get(ending)
    if write is None:
        return logs.write_logs(table, output)
    if output.exists() and store.is_ttastats_table(output):
        raise atomic.overwrite_error(output, "is a ttastats table")
    with atomic.replacing(output) as temporary:
        write(table, temporary)
    return Exported(output, runs, {})
