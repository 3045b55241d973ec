"""How does Lightning's `Trainer` record its run? `Trainer(..., callbacks=[Record(...)])`."""

from __future__ import annotations

import math
import os

from ttastats.base.errors import needs
from ttastats.recording.record import Following
from ttastats.recording.run_ends import reason_of

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ModuleNotFoundError:  # its name as a package of its own
    with needs("pytorch_lightning", "the callback", "lightning"):
        from pytorch_lightning import Callback, LightningModule, Trainer


class Record(Following, Callback):  # type: ignore[misc]  # the package may be absent
    """Record every validation of a training; takes the arguments of `ttastats.record`.

    Use the metric names of the module. With `stop_at_target`, training stops at the target.
    """

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start recording; the sanity check has ended by then."""
        after = trainer.global_step and (trainer.current_epoch or trainer.global_step)
        seed = os.environ.get("PL_GLOBAL_SEED")  # of `seed_everything`
        about = {"seed": int(seed)} if seed else {}
        self.begin(enabled=trainer.is_global_zero, after=after, **about)

    def on_train_batch_end(self, *_: object) -> None:
        """Note that the training goes on."""
        self.hear()

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record an evaluation."""
        met = self.record_evaluation(
            trainer.callback_metrics, epoch=_epochs_trained(trainer), step=trainer.global_step
        )
        # A metric that is not synchronised differs between workers, which must stop together.
        if self._stop and trainer.strategy.broadcast(met):
            trainer.should_stop = True

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Stop recording."""
        self.end()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Stop recording and log the exception."""
        self.end(reason_of(exception))


def _epochs_trained(trainer: Trainer) -> float | None:
    """Return the epochs trained with their fraction, or None if an epoch has no length."""
    batches = trainer.num_training_batches
    if not batches or math.isinf(batches):
        return None
    done = trainer.fit_loop.epoch_loop.batch_progress.current.ready
    return float(trainer.current_epoch + done / batches)
