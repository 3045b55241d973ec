"""What does the name of a metric or a column tell, and which value of a metric must be reached?

Whoever acts on a guess from a name says so. Only the standard library is imported: a training
script that records itself needs this.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ttastats.base import percentages
from ttastats.base.errors import TtastatsError, raise_if

_WORD = re.compile(r"[a-z0-9]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
#: `valloss`, `testacc`
_GLUED = re.compile(r"(?:val|valid|validation|eval|test)(?:loss|acc|accuracy|err|error|ppl|bpb)")

#: `metrics/mAP50-95(B)` is how ultralytics names what it evaluates.
_EVALUATED = {
    "eval", "evals", "evaluation", "val", "vals", "valid", "validation", "test", "testing",
    "heldout", "holdout", "metrics",
}  # fmt: skip
#: What evaluations and training report beside quality.
_BOOKKEEPING = {
    "runtime", "second", "seconds", "sec", "time", "timestamp", "duration", "throughput",
    "speed", "tps", "examples", "memory", "mem", "flops", "mfu", "gpu", "cpu", "price", "hour",
}  # fmt: skip
#: Words of names of columns that count epochs, and training steps.
EPOCH_WORDS = {"epoch", "epochs"}
STEP_WORDS = {"step", "steps", "iter", "iters", "iteration", "iterations"}
_PROGRESS = STEP_WORDS | EPOCH_WORDS | {
    "global", "samples", "tokens", "num", "number", "total", "count", "trainer", "is", "set",
    "split",
}  # fmt: skip
_SETTINGS = {"lr", "momentum", "grad", "gradient", "wd", "beta1", "beta2", "hparams"}
_LOWER = {
    "loss", "losses", "ppl", "perplexity", "wer", "cer", "ter", "bpb", "bpc", "bpd", "err",
    "error", "errors", "mae", "mse", "rmse", "mape", "nll", "fid", "kid", "ece", "brier", "kl",
    "divergence", "distance", "cost", "regret", "l1", "l2",
}  # fmt: skip
_HIGHER = {
    "acc", "accuracy", "correct", "f1", "bleu", "sacrebleu", "rouge", "rougel", "rougelsum",
    "meteor", "chrf", "map", "ap", "ar", "auc", "auroc", "auprc", "precision", "prec", "recall",
    "hits", "reward", "rewards", "rew", "return", "returns", "score", "iou", "miou", "dice", "r2",
    "psnr", "ssim", "ndcg", "mrr", "success", "winrate", "em", "exact", "match", "mcc",
    "matthews", "pearson", "spearman", "spearmanr", "kappa", "core", "specificity",
    "sensitivity",
}  # fmt: skip

#: `top1` and `top-5` are accuracies; `top_k` and the scale of a loss are settings.
_TOP = re.compile(r"(?<![a-z])top[^a-z0-9]?\d", re.IGNORECASE)
_SETTING = re.compile(
    r"(?:scaler?|shape|size|weights?|coeff?|factor)$"
    r"|(?<![a-z])(?:grad(?:ient)?|std|stdev|var)(?![a-z])",
    re.IGNORECASE,
)
#: `mean_r`, `ep_ret` are rewards.
_REWARD = re.compile(r"(?i)(?<![a-z])(?:mean|avg|ep|episode|total)[_ /.-]?(?:r|ret)(?![a-z])")

#: Counts by their names, the likeliest first.
COUNTS = {
    "step": ("step", "global_step", "Step", "_step", "iteration", "iter", "steps", "num_steps"),
    "epoch": ("epoch", "Epoch", "epochs", "num_epochs"),
    "samples": ("samples", "consumed_samples", "consumed samples", "num_samples", "samples_count"),
}
#: Words for the part of the data that is measured on: of training, and those that evaluate, the
#: likeliest metric first.
TRAINING = ("train", "training", "trn", "learn", "learning", "fit")
EVALUATING = (
    "val", "valid", "validation", "validate", "dev", "eval", "evaluation", "evaluate", "test",
    "testing", "holdout",
)  # fmt: skip
#: Seconds of the units of time, by the names that a block may give them; the first is usual.
SECONDS = {
    "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "min": 60.0, "minutes": 60.0, "h": 3600.0,
    "hours": 3600.0, "d": 86_400.0,
}  # fmt: skip
#: Units of time by their seconds.
UNITS = {seconds: unit for unit, seconds in reversed(SECONDS.items())}
_CLOCKS = {
    1.0: (
        "seconds", "time", "_runtime", "runtime", "Runtime", "time_s", "time_sec", "elapsed",
        "elapsed_s", "elapsed_seconds", "elapsed_time", "time_elapsed", "time/time_elapsed",
        "total_time", "train_time", "train_time_s", "train_time_sec", "training_time",
        "training_seconds", "wall_time", "walltime", "wall_seconds", "wallclock",
        "Relative Time (Process)", "Relative Time (Wall)",
    ),
    1e-3: ("time_ms", "elapsed_ms", "train_time_ms", "milliseconds"),
    60.0: ("minutes", "time_min", "elapsed_minutes"),
    3600.0: ("hours", "time_h"),
}  # fmt: skip
#: What `guess` calls the time of a bar of tqdm that came to its end.
OF_A_BAR = "elapsed_of_bar"
#: Clocks by name, with the seconds of one unit.
CLOCKS = {name: seconds for seconds, names in _CLOCKS.items() for name in names}
#: Names of counts beside those that are read without a word, in lower case.
LIKELY_COUNTS = {
    "step": {
        *COUNTS["step"], "iteration", "iterations", "num_iterations", "iters", "update",
        "updates", "timesteps", "total_timesteps", "env_steps", "train_step", "train_steps",
        "index",
    },
    "epoch": {*COUNTS["epoch"], "num_epoch", "train_epoch"},
    "samples": {
        *COUNTS["samples"], "sample", "images", "num_examples_seen", "samples_seen",
        "images_seen", "examples_seen", "examples", "train_samples", "total_samples",
    },
}  # fmt: skip
#: Clocks and time stamps by their plain names.
PLAIN_CLOCKS = {re.sub(r"[^a-z0-9]+", "_", name.lower()): unit for name, unit in CLOCKS.items()}
STAMPS = {"timestamp", "_timestamp", "date", "datetime", "wall_time", "stamp", "time"}
#: Words of time, those that tell of a part of the training, and units.
_TIME = {
    "time", "elapsed", "seconds", "secs", "sec", "duration", "runtime", "walltime", "wallclock",
    "clock", "minutes", "hours",
}  # fmt: skip
_OF_A_PART = {
    "per", "step", "iter", "iteration", "batch", "epoch", "eval", "evaluation", "val",
    "validation", "test", "inference", "data", "load", "loading", "logging", "forward",
    "backward", "eta", "remaining", "left", "avg", "average", "mean", "delta",
}  # fmt: skip
_NAMED_UNITS = {
    "ms": {"ms", "msec", "millis", "milliseconds"},
    "min": {"min", "mins", "minutes"},
    "h": {"h", "hr", "hrs", "hours"},
}


def evaluation_metrics(names: Iterable[str]) -> frozenset[str]:
    """Return the metrics of evaluations, judged by their names.

    Those whose names say so (`val_loss`, `eval/accuracy`, `testAcc`); where none does, all that
    may be a quality: no clock, no count of steps, no learning rate.
    """
    qualities: dict[str, set[str]] = {}
    for name in names:
        words = set(_WORD.findall(name.lower()))
        is_progress = words - _EVALUATED - {"train", "training"} <= _PROGRESS
        if not (name.startswith(("_", "system/")) or words & _BOOKKEEPING or is_progress):
            qualities[name] = words
    evaluated = frozenset(
        name for name in qualities if _split_words(name) & _EVALUATED or _GLUED.search(name.lower())
    )
    return evaluated or frozenset(
        name
        for name, words in qualities.items()
        if not (words & _SETTINGS or {"learning", "rate"} <= words or {"weight", "decay"} <= words)
    )


def higher_is_better(name: str) -> bool | None:
    """Return whether higher is better, judged by a metric's name; None if it does not show that."""
    words = _split_words(name)
    if _SETTING.search(name):
        return None
    if words & _LOWER or any(word.endswith("loss") for word in words):
        return False
    is_known = words & _HIGHER or _TOP.search(name) or _REWARD.search(name)
    if is_known or any(word.endswith("acc") for word in words):
        return True
    return None


def against_direction(name: str, higher: bool, logged: bool | None = None) -> str:
    """Return why `>=` (`higher`) or `<=` is no target of a metric; empty if it may be one.

    Of a metric whose name tells a direction, the logs may have `logged` another on purpose.
    """
    by_name = higher_is_better(name)
    if by_name is None or (by_name if logged is None else logged) is higher:
        return ""
    better, sign = ("lower", "<=") if higher else ("higher", ">=")
    return f"{name} is better the {better} it is, so that its target has {sign}"


def metric_rank(name: str) -> tuple[bool, bool]:
    """Return a sort key of metrics: qualities before losses, validation before test."""
    return higher_is_better(name) is not True, "test" in name.lower()


def _split_words(name: str) -> set[str]:
    """Return the lower-case words of a name, with and without numbers at their ends.

    It is split at separators and camel case.
    """
    words = {*_WORD.findall(name.lower()), *(word.lower() for word in _CAMEL.findall(name))}
    return words | {word.rstrip("0123456789") for word in words}


def guess_metrics(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the quality metrics of evaluations among columns, judged by their names."""
    names = tuple(columns)
    measured = evaluation_metrics(names)
    return tuple(
        name
        for name in names
        if name in measured and higher_is_better(name) is not None and "train" not in name.lower()
    )


def guess_clocks(columns: Iterable[str]) -> tuple[tuple[str, float], ...]:
    """Return the columns that may be a clock by their names, with their units in seconds."""
    return tuple((name, CLOCKS[name]) for name in columns if name in CLOCKS)


def first_known(known: Sequence[str], columns: Iterable[str]) -> str | None:
    """Return the first known name among columns, or None."""
    column_names = set(columns)
    return next((name for name in known if name in column_names), None)


def plain(name: str) -> str:
    """Return a name in lower case, its words parted by underscores."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def unit_of(name: str) -> str | None:
    """Return the unit of a column whose name has a word of time, or None."""
    words = set(plain(name).split("_"))
    if not words & _TIME or words & _OF_A_PART:
        return None
    return next((unit for unit, unit_words in _NAMED_UNITS.items() if words & unit_words), "s")


def unit_of_each(name: str, part: str = "epoch") -> str | None:
    """Return the unit of a column with the time of each epoch, or step, by its name."""
    words = "|".join(STEP_WORDS if part == "step" else EPOCH_WORDS)
    remainder = re.sub(f"(^|_)(per_|of_)?({words})(_|$)", "_", plain(name))
    return unit_of(remainder) if remainder != plain(name) else None


#: Qualities that may be above 1 although other runs are below.
_UNBOUNDED = re.compile(r"(?i)(?<![a-z])(rew|rewards?|returns?|scores?|gain|psnr|elo)(?![a-z])")
#: No fraction is larger, noise and rounding included.
LARGEST_FRACTION = 1.5


def may_be_share(metric: str) -> bool:
    """Return whether a metric of which more is better may be a share, by its name."""
    return _UNBOUNDED.search(metric) is None


#: Relative slack of a comparison with a target: systems log float32, where 21.8 is 21.799999.
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Target:
    """One metric a run must reach. `value` is None where each log names its own target."""

    metric: str
    higher_is_better: bool
    value: float | None
    runs: int
    source: str

    def is_met_by(self, value: float) -> bool:
        """Return whether a value meets the target, within the tolerance; NaN never does."""
        if self.value is None:
            return False
        slack = abs(self.value) * TOLERANCE
        if self.higher_is_better:
            return math.isfinite(value) and value >= self.value - slack
        return math.isfinite(value) and value <= self.value + slack


_GOAL = re.compile(r"\s*(>=|<=)?\s*(.*?)\s*", re.DOTALL)


def parse_goal(
    metric: str, target: float | str, higher_is_better: bool | None
) -> tuple[float, bool | None]:
    """Return the value and the direction of a target such as `0.94`, `94%` or `>=0.94`.

    The direction is None where neither the sign nor the caller tells it.
    """
    match = _GOAL.fullmatch(str(target))
    sign, number = match.groups() if match else (None, "")
    value = percentages.parse_number(number)
    if value is None:
        remedy = "Write 0.94, '94%', '>=0.94' or '<=3.28'."
        raise TtastatsError(f"{target!r} is not a quality target", where="target=", remedy=remedy)
    direction = {">=": True, "<=": False, None: higher_is_better}[sign]
    contradicts = f"{target!r} contradicts higher_is_better={higher_is_better}"
    is_other = sign and higher_is_better not in {None, direction}
    raise_if(is_other, contradicts, "target=", "Remove one of them.")
    contradiction = sign and higher_is_better is None and against_direction(metric, sign == ">=")
    raise_if(contradiction, str(contradiction), "target=", "If it is not, add higher_is_better.")
    return value, direction
