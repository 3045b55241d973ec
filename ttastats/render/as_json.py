"""A report as one JSON object: raw numbers, null for unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from json import dumps
from typing import Any

import ttastats
from ttastats.report.cells import Report


def render(report: Report) -> str:
    """Give the report as JSON text. Infinity is the string "inf", since JSON has no such number."""
    return dumps(
        {
            "ttastats": ttastats.__version__,
            "command": report.command,
            "rows": [_plain(row) for row in report.rows],
            "notes": [
                {"code": note.code, "mark": note.mark, "text": note.text} for note in report.notes
            ],
        },
        indent=1,
        ensure_ascii=False,
        allow_nan=False,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value
