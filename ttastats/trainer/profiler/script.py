"""How does any training script record a profile of its own steps? By `with profile(...)`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

import torch
from torch import nn

from ttastats.base import atomic
from ttastats.base.errors import raise_if
from ttastats.traces import store
from ttastats.trainer.profiler.memory import TrainingState
from ttastats.trainer.profiler.recording import About, Recording, profile_rows

#: The profiles that scripts of this process have written, the last one last.
WRITTEN: list[Path] = []


def profile(
    path: str | PathLike[str],
    *,
    model: nn.Module | None = None,
    optimizer: Any = None,
    samples: int | None = None,
    precision: str = "fp32",
    steps: int | None = None,
) -> Profile:
    """Record the first steps of a `with` block; each ends with a call of `step`.

    The first steps warm up; then come steps that nobody watches, steps that are watched, and some
    that count FLOPs and look at the memory. After that, `done` is true and a step costs nothing.

    Parameters
    ----------
    path
        The Parquet file to write when the block ends.
    model, optimizer
        What is trained and by what, one or several: without a model nothing is told of memory.
    samples
        Samples of a step, for the throughput.
    precision
        That of matrix products, whose measured peak the step is compared with.
    steps
        Steps that are watched; as many as seem enough by default.
    """
    place = Path(path)
    atomic.expect_file_place(place)
    if model is None:  # where this process has computed so far
        device, state = torch.device("cuda" if torch.cuda.is_initialized() else "cpu"), None
    else:
        device = next((weight.device for weight in model.parameters()), torch.device("cpu"))
        optimizers = optimizer if isinstance(optimizer, Sequence) else [optimizer]
        state = TrainingState(model, tuple(part for part in optimizers if part is not None))
    compiled = type(model).__name__ == "OptimizedModule"
    recording = Recording(device, state, steps=steps, compiled=compiled)
    source = Path(sys.argv[0]).as_posix()
    return Profile(place, recording, About(place.stem, source, precision, samples))


class Profile:
    """A profile that is being recorded."""

    def __init__(self, path: Path, recording: Recording, about: About) -> None:
        self._path, self._recording, self._about = path, recording, about

    @property
    def done(self) -> bool:
        """Return whether enough steps have been recorded."""
        return self._recording.done

    def step(self) -> None:
        """Mark the end of a step."""
        self._recording.step()

    def __enter__(self) -> Self:
        self._recording.step()
        return self

    def __exit__(self, *why: Any) -> None:
        """Write the profile, unless the block failed."""
        if why[0] is None and self.done:
            store.write_profile(profile_rows(self._recording, self._about, ()), self._path)
            WRITTEN.append(self._path)
            return
        self._recording.stop()
        remedy = "Call step() after each step, about thirty times; steps=5 records fewer."
        raise_if(why[0] is None, "too few steps for a profile", str(self._path), remedy)
