"""How does the Hugging Face `Trainer` record its run? `Trainer(..., callbacks=[Record(...)])`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ttastats.callbacks.following import Following


class Record(TrainerCallback):  # type: ignore[misc]  # the package may be absent
    """Records every evaluation of a training; takes what `ttastats.record` takes.

    Metrics are called as the `Trainer` calls them (`eval_accuracy`). With `stop_at_target` the
    training ends when the target is met.
    """

    def __init__(
        self,
        logs: str | PathLike[str],
        *,
        stop_at_target: bool = False,
        also: Iterable[str] = (),
        **asked: Any,
    ) -> None:
        self._following = Following(logs, asked, also)
        self._stop = stop_at_target

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Begin."""
        each = args.train_batch_size * args.gradient_accumulation_steps
        self._following.begin(
            enabled=state.is_world_process_zero,
            seed=args.seed,
            global_batch_size=each * args.world_size,
            learning_rate=args.learning_rate,
        )

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: Mapping[str, float],
        **_: Any,
    ) -> None:
        """Take an evaluation."""
        met = self._following.evaluated(metrics, epoch=state.epoch, step=state.global_step)
        if met and self._stop:
            control.should_training_stop = True

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """End."""
        self._following.end()
