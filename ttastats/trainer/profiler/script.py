"""How does any training script record a profile of its steps? It alone then imports PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttastats.base import atomic
from ttastats.base.errors import needs
from ttastats.base.forks import expect_threads

if TYPE_CHECKING:
    from torch import nn

    from ttastats.trainer.profiler.recording import Profile


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

    Raises
    ------
    TtastatsError
        PyTorch is not installed, or the file cannot be written.
    """
    expect_threads()
    with needs("torch", "recording a profile", "ttastats[train]"):
        import torch

        from ttastats.trainer.profiler.memory import TrainingState
        from ttastats.trainer.profiler.recording import Profile, ProfileSubject, Recording

    file = Path(path)
    atomic.expect_file_place(file)
    if model is None:  # where this process has computed so far
        device, state = torch.device("cuda" if torch.cuda.is_initialized() else "cpu"), None
    else:
        device = next((weight.device for weight in model.parameters()), torch.device("cpu"))
        optimizers = optimizer if isinstance(optimizer, Sequence) else [optimizer]
        state = TrainingState(model, tuple(part for part in optimizers if part is not None))
    compiled = type(model).__name__ == "OptimizedModule"
    recording = Recording(device, state, steps=steps, compiled=compiled)
    source = Path(sys.argv[0]).as_posix()
    return Profile(file, recording, ProfileSubject(file.stem, source, precision, samples))
