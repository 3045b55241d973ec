"""How is a step recorded by PyTorch's own profiler, without a word on the screen?"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function

#: What is said on the screen of each start and stop, and of memory that was there before.
_CHATTER = (b"USDT:", b"Memory block of unknown size was allocated before the profiling started")


class Recorder:
    """Records from `start` to `stop`, then writes a trace; steps stand between marks."""

    def __init__(self, device: torch.device, *, memory: bool = False) -> None:
        activities = [ProfilerActivity.CPU]
        if device.type == "cuda":
            activities.append(ProfilerActivity.CUDA)
        self._device = device
        self._profile = profile(
            activities=activities, record_shapes=not memory, profile_memory=memory
        )
        self._steps = itertools.count()

    def start(self) -> None:
        """Begin to record."""
        with quietly():
            self._profile.start()

    def stop(self, path: Path) -> None:
        """End, and write the trace."""
        with quietly():
            self._profile.stop()
            self._profile.export_chrome_trace(str(path))

    @contextmanager
    def step(self) -> Iterator[None]:
        """Mark a step, which is the work of a `with` block."""
        with record_function(f"ProfilerStep#{next(self._steps)}"):
            yield
            if self._device.type == "cuda":
                torch.cuda.synchronize(self._device)


@contextmanager
def quietly() -> Iterator[None]:
    """Keep what the profiler says off the screen, and let everything else through."""
    sys.stderr.flush()
    screen = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(screen, 2)
            os.close(screen)
            caught.seek(0)
            said = [line for line in caught if not any(words in line for words in _CHATTER)]
            os.write(2, b"".join(said))
