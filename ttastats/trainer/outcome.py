"""What came of one run: its epochs, what each cost, and whether it reached the target."""

from __future__ import annotations

from dataclasses import dataclass

from ttastats.clock import Seconds


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch: what it taught, and what it cost. `number` counts from 1."""

    number: int
    quality: float
    train_loss: float
    training: Seconds
    evaluation: Seconds
    collective_seconds: float
    known_at_seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. `run` is the counted time; `dataset` the digest of the samples."""

    reached: bool
    epochs: tuple[Epoch, ...]
    run: Seconds
    dataset: str = ""
    notes: tuple[str, ...] = ()
