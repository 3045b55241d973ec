"""How does a value become JSON, also inside a page, or text of CSV that does nothing?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from json import dumps
from typing import Any

#: Where a spreadsheet would take text of CSV for a formula: at its start, or after a semicolon,
#: since that ends a cell where the comma is for decimals. Some also take the full-width signs.
FORMULA = r"(^|;)([=+\-@\t\r\n＝＋－＠])"
#: Inside a script element these could end it, or a line of it.
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def json_value(value: Any) -> Any:
    """Return a value without what JSON cannot hold: dates as text, NaN and infinity as null."""
    if isinstance(value, Mapping):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def script_json(value: Any) -> str:
    """Return a value as JSON text that is safe inside an HTML `script` element."""
    text = dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)
