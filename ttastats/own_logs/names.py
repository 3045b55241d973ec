"""What may a column be, going by its name: a metric of quality, a clock, a count of progress?

Nothing here looks at values. Whoever acts on a guess says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOWER = _words(
    "loss ppl perplexity wer cer ter bpb bpc bpd nll error err errors rmse mae mse mape fid kid "
    "fvd lpips divergence regret eer"
)
_HIGHER = _words(
    "acc accuracy map ap bleu sacrebleu rouge rouge1 rouge2 rougel meteor f1 auc auroc auprc "
    "reward rewards return returns score ssim psnr iou miou dice precision recall mrr ndcg elo "
    "success win winrate rew r2 mcc kappa spearman pearson hits top1 top5 acc1 acc5 em pass core"
)
_EVALUATED = _words("val valid validation eval evaluation test dev heldout holdout metrics")
_TRAINED = _words("train training tr")
#: Words that say of a column that it is none of quality, whatever else its name holds.
_NO_QUALITY = _words(
    "time runtime seconds sec secs ms minutes hours epoch epochs step steps iter iters iteration "
    "lr learning samples examples tokens num throughput speed memory eta count size interval every "
    "per second target batch"
)
_WORD = re.compile(r"mAP\d*|mIoU|[A-Z]{2,}(?=[A-Z][a-z]|\b|[_\d])\d*|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")

STEPS = ("step", "global_step", "Step", "_step", "iteration", "iter", "steps", "num_steps")
EPOCHS = ("epoch", "Epoch", "epochs", "num_epochs")
SAMPLES = ("samples", "consumed_samples", "consumed samples", "num_samples", "samples_count")

#: Clocks by name, with the seconds of one unit.
CLOCKS = {
    "seconds": 1.0,
    "time": 1.0,
    "_runtime": 1.0,
    "runtime": 1.0,
    "Runtime": 1.0,
    "time_s": 1.0,
    "time_sec": 1.0,
    "elapsed": 1.0,
    "elapsed_s": 1.0,
    "elapsed_seconds": 1.0,
    "elapsed_time": 1.0,
    "time_elapsed": 1.0,
    "time/time_elapsed": 1.0,
    "total_time": 1.0,
    "train_time": 1.0,
    "train_time_s": 1.0,
    "train_time_sec": 1.0,
    "training_time": 1.0,
    "training_seconds": 1.0,
    "wall_time": 1.0,
    "walltime": 1.0,
    "wall_seconds": 1.0,
    "wallclock": 1.0,
    "Relative Time (Process)": 1.0,
    "Relative Time (Wall)": 1.0,
    "time_ms": 1e-3,
    "elapsed_ms": 1e-3,
    "train_time_ms": 1e-3,
    "milliseconds": 1e-3,
    "minutes": 60.0,
    "time_min": 60.0,
    "elapsed_minutes": 60.0,
    "hours": 3600.0,
    "time_h": 3600.0,
}


def words(name: str) -> list[str]:
    """Give the words of a column's name in lower case: `valAcc@1` has `val`, `acc` and `1`."""
    return [word.lower() for word in _WORD.findall(name)]


def higher_is_better(metric: str) -> bool | None:
    """Guess from a metric's name whether higher is better; None where its name does not tell.

    The last word that tells decides: `accuracy_loss` is a loss. A score that is a loss, such as
    `score_error`, is rare, but an error rate called `map_error` is not.
    """
    for word in reversed(words(metric)):
        bare = word.rstrip("0123456789")
        if word in _LOWER or bare in _LOWER:
            return False
        if word in _HIGHER or bare in _HIGHER:
            return True
    return None


def metrics(columns: Iterable[str]) -> tuple[str, ...]:
    """Guess which columns are metrics of quality.

    Those that name a validation or a test; where there is none, those whose direction is known
    and that name no training.
    """
    known = [(name, _told(name)) for name in columns]
    measured = [
        (name, found)
        for name, found in known
        if higher_is_better(name) is not None and not found & _NO_QUALITY
    ]
    evaluated = tuple(name for name, found in measured if found & _EVALUATED)
    return evaluated or tuple(name for name, found in measured if not found & _TRAINED)


def _told(name: str) -> set[str]:
    """Give the words of a name; that a value is the mean of an epoch says nothing of what it is."""
    found = words(name)
    return set(found[:-1] if found[-1:] == ["epoch"] else found)


def clocks(columns: Iterable[str]) -> tuple[tuple[str, float], ...]:
    """Give the columns that may be a clock by their names, each with the seconds of its unit."""
    return tuple((name, CLOCKS[name]) for name in columns if name in CLOCKS)


def first_of(known: Sequence[str], columns: Iterable[str]) -> str | None:
    """Give the first of some known names that is a column."""
    present = set(columns)
    return next((name for name in known if name in present), None)
