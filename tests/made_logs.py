"""Logs made for a test: one run each, of as many evaluations and as much time as is asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

START_MS = 1_767_225_600_000  # 1 January 2026, UTC
TARGET = 0.9


def log(
    values: Sequence[float],
    *,
    status: str | None = "success",
    epoch_seconds: float = 10.0,
    after_seconds: float = 0.0,
    benchmark: str = "digits",
    seed: int = 0,
    more: Mapping[str, object] | None = None,
) -> str:
    """Return a log whose accuracy after epochs 1, 2, ... is `values`; the target is 0.9.

    `after_seconds` pass between the last evaluation and the end; `more` are further events.
    Logs that are equal are copies of one run; another `seed` makes a run of another hour.
    """
    clock = START_MS + seed * 3_600_000

    def event(key: str, value: object = None, **metadata: object) -> str:
        body = {"namespace": "", "time_ms": clock, "event_type": "POINT_IN_TIME", "key": key}
        return f":::MLLOG {json.dumps({**body, 'value': value, 'metadata': metadata})}"

    lines = [event("submission_benchmark", benchmark)]
    lines.append(event("seed", seed))
    lines += [event(key, value) for key, value in (more or {}).items()]
    lines.append(event("eval_target", TARGET, metric="accuracy", higher_is_better=True))
    lines.append(event("run_start"))
    for epoch, value in enumerate(values, start=1):
        lines.append(event("epoch_start", epoch_num=epoch))
        clock += round(1000 * epoch_seconds)
        lines.append(event("epoch_stop", epoch_num=epoch))
        lines.append(event("eval_accuracy", value, epoch_num=epoch))
    if status is not None:
        clock += round(1000 * after_seconds)
        lines.append(event("run_stop", status=status))
    return "\n".join(lines) + "\n"


def reaching(epochs: int, **more: Any) -> str:
    """Return the log of a run that meets its target after so many epochs and ends there."""
    return log([0.5] * (epochs - 1) + [0.95], **more)


def write(folder: Path, logs: Mapping[str, str | bytes]) -> Path:
    """Write logs below a folder by their paths; give the folder."""
    for name, content in logs.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
