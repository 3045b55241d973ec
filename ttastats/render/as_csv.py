"""A report's rows as CSV: raw numbers, an empty cell for unknown."""

from __future__ import annotations

import csv
import io
from typing import Any

from ttastats.report.cells import Report

#: A cell that starts so would be run as a formula by a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def render(report: Report) -> str:
    """Give the rows as CSV text with a header line."""
    names = list(dict.fromkeys(name for row in report.rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in report.rows:
        writer.writerow([_cell(row.get(name)) for name in names])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ";".join(str(item) for item in value)
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return value
