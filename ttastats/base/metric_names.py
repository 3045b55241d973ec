"""What does the name of a metric tell: was it measured in an evaluation, is more of it better?"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[a-z0-9]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
#: `valloss`, `testacc`
_GLUED = re.compile(r"(?:val|valid|validation|eval|test)(?:loss|acc|accuracy|err|error|ppl|bpb)")

#: `metrics/mAP50-95(B)` is how ultralytics names what it evaluates.
_EVALUATED = frozenset(
    {
        "eval", "evals", "evaluation", "val", "vals", "valid", "validation", "test", "testing",
        "heldout", "holdout", "metrics",
    }
)  # fmt: skip
#: What evaluations and training report beside quality.
_BOOKKEEPING = frozenset(
    {
        "runtime", "second", "seconds", "sec", "time", "timestamp", "duration", "throughput",
        "speed", "tps", "examples", "memory", "mem", "flops", "mfu", "gpu", "cpu",
    }
)  # fmt: skip
#: Words of names of columns that count epochs, and training steps.
EPOCH_WORDS = frozenset({"epoch", "epochs"})
STEP_WORDS = frozenset({"step", "steps", "iter", "iters", "iteration", "iterations"})
_PROGRESS = STEP_WORDS | EPOCH_WORDS | {
    "global", "samples", "tokens", "num", "number", "total", "count", "trainer",
}  # fmt: skip
_SETTINGS = frozenset({"lr", "momentum", "grad", "gradient", "wd", "beta1", "beta2", "hparams"})
_LOWER = frozenset(
    {
        "loss", "losses", "ppl", "perplexity", "wer", "cer", "ter", "bpb", "bpc", "bpd", "err",
        "error", "errors", "mae", "mse", "rmse", "mape", "nll", "fid", "kid", "ece", "brier", "kl",
        "divergence", "distance", "cost", "regret",
    }
)  # fmt: skip
_HIGHER = frozenset(
    {
        "acc", "accuracy", "top", "f1", "bleu", "sacrebleu", "rouge", "rougel", "rougelsum",
        "meteor", "chrf", "map", "ap", "ar", "auc", "auroc", "auprc", "precision", "recall",
        "reward", "rewards", "rew", "return", "returns", "score", "iou", "miou", "dice", "r2",
        "psnr", "ssim", "ndcg", "mrr", "success", "winrate", "em", "exact", "match", "mcc",
        "matthews", "pearson", "spearman", "spearmanr", "kappa", "core", "specificity",
        "sensitivity",
    }
)  # fmt: skip


def evaluation_metrics(names: Iterable[str]) -> frozenset[str]:
    """Return which of these metric names are measured in evaluations, judged by their names.

    Those whose names say so (`val_loss`, `eval/accuracy`, `testAcc`); where none does, all that
    may be a quality: no clock, no count of steps, no learning rate.
    """
    known = [name for name in names if not _is_bookkeeping(name)]
    return frozenset(filter(_is_evaluation, known)) or frozenset(
        name for name in known if not _is_setting(name)
    )


def higher_is_better(name: str) -> bool | None:
    """Return whether higher is better, judged by a metric's name; None if it does not show that."""
    words = _split_words(name)
    words |= {word.rstrip("0123456789") for word in words}
    if words & _LOWER or any(word.endswith("loss") for word in words):
        return False
    if words & _HIGHER or any(word.endswith("acc") for word in words):
        return True
    return None


def _split_words(name: str) -> set[str]:
    """Return the lower-case words of a name, split at separators and camel case."""
    return {*_WORD.findall(name.lower()), *(word.lower() for word in _CAMEL.findall(name))}


def _is_evaluation(name: str) -> bool:
    words = _split_words(name)
    words |= {word.rstrip("0123456789") for word in words}
    return bool(words & _EVALUATED) or _GLUED.search(name.lower()) is not None


def _is_bookkeeping(name: str) -> bool:
    words = set(_WORD.findall(name.lower()))
    rest = words - _EVALUATED - {"train", "training"}
    return name.startswith(("_", "system/")) or bool(words & _BOOKKEEPING) or rest <= _PROGRESS


def _is_setting(name: str) -> bool:
    words = set(_WORD.findall(name.lower()))
    return bool(words & _SETTINGS) or {"learning", "rate"} <= words or {"weight", "decay"} <= words
