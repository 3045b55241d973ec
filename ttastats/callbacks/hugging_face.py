"""How does the Hugging Face `Trainer` record its run? `Trainer(..., callbacks=[Record(...)])`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ttastats.base.errors import needs
from ttastats.recording.record import Following

with needs("transformers", "the callback", "transformers"):
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments


class Record(Following, TrainerCallback):  # type: ignore[misc]  # the package may be absent
    """Record every evaluation of a training; takes the arguments of `ttastats.record`.

    Use the metric names of the `Trainer` (`eval_accuracy`). With `stop_at_target`, training stops
    at the target.
    """

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Start recording."""
        per_worker = args.train_batch_size * args.gradient_accumulation_steps
        self.begin(
            enabled=state.is_world_process_zero,
            seed=args.seed,
            global_batch_size=per_worker * args.world_size,
            learning_rate=args.learning_rate,
            after=state.epoch or state.global_step,
        )

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Note that the training goes on."""
        self.hear()

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: Mapping[str, float],
        **_: Any,
    ) -> None:
        """Record an evaluation; stop the training when the target is met."""
        met = self.record_evaluation(metrics, epoch=state.epoch, step=state.global_step)
        if met and self._stop:
            control.should_training_stop = True

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Stop recording."""
        self.end()
