"""A report's rows as CSV: raw numbers, an empty cell for unknown, and text that does nothing."""

from __future__ import annotations

import csv
import io
import re
from functools import lru_cache
from typing import Any

import polars as pl

from ttastats.base.json_safe import FORMULA
from ttastats.report.answer import Report
from ttastats.report.harmless import escape_frame, escape_invisible


def render_csv(report: Report) -> str:
    """Return the rows of a report as CSV text with a header line.

    In text cells a `'` stands before what a spreadsheet would take for a formula, and characters
    that show nothing are spelled out. Numbers are as they are.
    """
    if (frame := report.typed_columns) is not None:
        texts = pl.col(pl.String).replace("", None).str.replace_all(FORMULA, "${1}'${2}")
        lists = pl.col(pl.List(pl.String), pl.List(pl.Int64)).cast(pl.List(pl.String))
        flat = frame.with_columns(lists.list.join(";"))
        return escape_frame(flat.with_columns(texts)).write_csv()
    names = list(dict.fromkeys(name for row in report.rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in report.rows:
        writer.writerow([_csv_cell(row.get(name)) for name in names])
    return text.getvalue()


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        value = ";".join(map(str, value))
    return _csv_text(value) if isinstance(value, str) else value


@lru_cache(maxsize=4096)  # most texts are the names of groups, of many rows each
def _csv_text(text: str) -> str:
    return escape_invisible(re.sub(FORMULA, r"\1'\2", text))
