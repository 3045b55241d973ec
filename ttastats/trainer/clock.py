"""Which clock fits a device?"""

from __future__ import annotations

import torch

from ttastats.clock import Clock


def clock_of(device: torch.device) -> Clock:
    """Give a clock that waits for a device."""
    if device.type == "cuda":
        return Clock(finish_device=lambda: torch.cuda.synchronize(device))
    return Clock()
