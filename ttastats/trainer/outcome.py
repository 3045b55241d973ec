"""What came of one run: its checkpoints, what each cost, and whether it reached the target."""

from __future__ import annotations

from dataclasses import dataclass

from ttastats.recording.clock import Seconds


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A stretch of training and the evaluation after it, and what the run cost until then.

    `epoch` are the epochs trained by then, `trained` and `evaluated` the time spent on each by
    then, `known_at` all that was on the clock when the quality was known.
    """

    epoch: float
    step: int
    samples: int
    quality: float
    train_loss: float
    trained: Seconds
    evaluated: float
    known_at: Seconds


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. `run` is the counted time; `dataset` the digest of the samples."""

    reached: bool
    checkpoints: tuple[Checkpoint, ...]
    run: Seconds
    dataset: str = ""
    notes: tuple[str, ...] = ()
