"""Generated logs: one run each, of the given evaluations and length."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: How a file with each ending is compressed.
COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zst": zstd.compress,
}  # fmt: skip
START_MS = 1_767_225_600_000  # 1 January 2026, UTC
TARGET = 0.9


def line(key: str, value: object = None, seconds: float = 0.0, **metadata: object) -> str:
    """Return an event `seconds` after the start of 2026."""
    stamp = START_MS + round(1000 * seconds)
    body = {"namespace": "", "time_ms": stamp, "event_type": "POINT_IN_TIME", "key": key}
    return f":::MLLOG {json.dumps({**body, 'value': value, 'metadata': metadata})}\n"


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
    clock = 3_600.0 * seed
    events = {"submission_benchmark": benchmark, "seed": seed, **(more or {})}
    lines = [line(key, value, clock) for key, value in events.items()]
    lines.append(line("eval_target", TARGET, clock, metric="accuracy", higher_is_better=True))
    lines.append(line("run_start", None, clock))
    for epoch, value in enumerate(values, start=1):
        lines.append(line("epoch_start", None, clock, epoch_num=epoch))
        clock += epoch_seconds
        lines.append(line("epoch_stop", None, clock, epoch_num=epoch))
        lines.append(line("eval_accuracy", value, clock, epoch_num=epoch))
    if status is not None:
        lines.append(line("run_stop", None, clock + after_seconds, status=status))
    return "".join(lines)


def reaching(epochs: int, **more: Any) -> str:
    """Return the log of a run that meets its target after the given epochs and ends there."""
    return log([0.5] * (epochs - 1) + [0.95], **more)


def write(folder: Path, logs: Mapping[str, str | bytes]) -> Path:
    """Write logs below a folder by their paths; return the folder."""
    for name, content in logs.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
