"""How does Lightning's `Trainer` record its run? `Trainer(..., callbacks=[Record(...)])`."""

from __future__ import annotations

import math

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ModuleNotFoundError:  # its name as a package of its own
    from pytorch_lightning import Callback, LightningModule, Trainer

from ttastats.callbacks.following import Following
from ttastats.recording.run_ends import reason_of


class Record(Following, Callback):  # type: ignore[misc]  # the package may be absent
    """Record every validation of a training; takes the arguments of `ttastats.record`.

    Use the metric names of the module. With `stop_at_target`, training stops at the target.
    """

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin; the check of sanity comes before."""
        self.begin(enabled=trainer.is_global_zero)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Take an evaluation."""
        met = self.evaluated(
            trainer.callback_metrics, epoch=_epochs(trainer), step=trainer.global_step
        )
        if met and self._stop:
            trainer.should_stop = True

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """End."""
        self.end()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """End before the time."""
        self.end(reason_of(exception))


def _epochs(trainer: Trainer) -> float | None:
    """Return the epochs trained, parts of one included, where an epoch has a length."""
    batches = trainer.num_training_batches
    if not batches or math.isinf(batches):
        return None
    done = trainer.fit_loop.epoch_loop.batch_progress.current.ready
    return float(trainer.current_epoch + done / batches)
