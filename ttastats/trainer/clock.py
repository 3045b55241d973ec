"""Which clock fits a device, and how long did this process wait for a core?"""

from __future__ import annotations

from pathlib import Path

import torch

from ttastats.recording.clock import Clock

_THREADS = Path("/proc/self/task")


def clock_of(device: torch.device) -> Clock:
    """Return a clock that waits for a device."""
    if device.type == "cuda":
        return Clock(finish_device=lambda: torch.cuda.synchronize(device))
    return Clock()


def waiting_seconds() -> float | None:
    """Return how long threads of this process waited for a core; None if unknown."""
    try:
        told = [path.read_text().split() for path in _THREADS.glob("*/schedstat")]
        return sum(int(waiting) for _, waiting, _ in told) / 1e9 if told else None
    except (OSError, ValueError):
        return None  # a thread has just ended, or this system tells something else
