"""How does a Keras model record its run? `model.fit(..., callbacks=[Record(...)])`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ttastats.base.errors import needs
from ttastats.recording.record import Following

with needs("keras", "the callback", "keras"):
    from keras.callbacks import Callback


class Record(Following, Callback):  # type: ignore[misc]  # the package may be absent
    """Record every epoch of a training; takes the arguments of `ttastats.record`.

    Use the metric names of Keras (`val_accuracy`). With `stop_at_target`, training stops at the
    target.
    """

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        """Start recording."""
        self._is_first = True
        self.begin()

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Record where a resumed training goes on."""
        if self._is_first and epoch:
            self.resume_at(epoch)
        self._is_first = False

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Note that the training goes on."""
        self.hear()

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Record an evaluation; Keras counts epochs from 0."""
        if self.record_evaluation(logs or {}, epoch=epoch + 1) and self._stop:
            self.model.stop_training = True

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """Stop recording."""
        self.end()
