"""How does a run look as a DAWNBench entry? A table of its curve, and a description."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: The columns of the qualities that the format knows.
COLUMNS = {"top1_accuracy": "top1Accuracy", "top5_accuracy": "top5Accuracy", "f1": "f1Score"}


def curve_table(metrics: Sequence[str], rows: Iterable[Sequence[float | None]]) -> str:
    """Return the text of a DAWNBench table; a row holds epochs, seconds and metrics."""
    lines = ["\t".join(["epoch", "hours", *(COLUMNS[name] for name in metrics)])]
    for epoch, seconds, *qualities in rows:
        hours = None if seconds is None else seconds / 3600.0
        numbers = (epoch, hours, *qualities)
        lines.append("\t".join("" if number is None else f"{number!r}" for number in numbers))
    return "\n".join(lines) + "\n"


def description_json(fields: Mapping[str, Any]) -> str:
    """Return the text of a DAWNBench description."""
    return json.dumps(fields, indent=2) + "\n"
