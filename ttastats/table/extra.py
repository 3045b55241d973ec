"""What does a run's log say that no column holds?"""

from __future__ import annotations

from typing import Any

import msgspec


def recorded(extra: str | None) -> dict[str, Any]:
    """Read the JSON object of the column `extra`; a table of others may hold any text there."""
    try:
        fields = msgspec.json.decode(extra or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
