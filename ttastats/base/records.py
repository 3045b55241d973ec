"""What a log says, as plain data: runs, their evaluations, and the problems met on the way.

Records are structs of msgspec: they are made by the hundred thousand, at a fifth of the price of a
frozen dataclass. `msgspec.structs.replace` gives a copy with other fields.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal

import msgspec

RunStatus = Literal[
    "success", "aborted", "truncated", "unknown", "stopped", "exception", "unreadable", "missing"
]
Severity = Literal["info", "warning", "error"]

#: `Run.clock_zero` of a clock whose first stamp is that of the first evaluation, so that the start
#: is extrapolated by the run's own pace; and of one that begins in the middle of the training, so
#: that it tells a pace but no time since the start.
ESTIMATED_START, UNKNOWN_START = "estimated", "unknown"

#: No run lasts longer, 30 years: such a number is no time since a start.
LONGEST_SECONDS = 1e9

#: `Run.suite` of a run that is one measured time, of which no quality is known.
TIMES_ALONE = "times alone"

#: Columns and keys of answers by the names they had in the version before, which conditions,
#: options and attributes still take.
FORMER_NAMES = {"edition": "round"}


class Problem(msgspec.Struct, frozen=True, gc=False):
    """Something in the input that a person may have to know.

    `info` changes nothing, `warning` was resolved by a stated rule, `error` means that something
    the log should hold could not be used.
    """

    code: str
    message: str
    severity: Severity = "warning"
    line: int | None = None
    source: str | None = None

    @property
    def place(self) -> str:
        """Return the file of the problem, and the line if known."""
        return f"{self.source}" if self.line is None else f"{self.source}:{self.line}"


class Evaluation(msgspec.Struct, frozen=True, gc=False):
    """One metric measured on one checkpoint.

    `seconds` count from the start of the run to the moment the value was known; `weights_seconds`
    to the moment the evaluated weights existed, where the log tells. Evaluations of one checkpoint
    share `index`. `value` is in base units (fractions, BLEU points); `logged_value` is untouched.
    """

    index: int
    metric: str
    value: float | None
    logged_value: float | None
    seconds: float | None
    higher_is_better: bool | None = None
    logged_unit: str | None = None
    weights_seconds: float | None = None
    epoch: float | None = None
    step: int | None = None
    samples: int | None = None
    line: int | None = None
    target_value: float | None = None
    target_source: str | None = None


class Run(msgspec.Struct, frozen=True):
    """One training run as its log tells it; unknown is None.

    `run_seconds` is the length of the observation, which is the censoring time of a run that did
    not reach its target. `zero_progress` is the training that was done at second 0, in the unit of
    the evaluations, where the log shows that. `extra` keeps what has no column of its own. `entry`
    names what repeated runs share; a parser that cannot know it leaves it None and it becomes the
    log's folder.
    """

    suite: str | None = None
    round: str | None = None
    benchmark: str | None = None
    division: str | None = None
    submitter: str | None = None
    system: str | None = None
    entry: str | None = None
    hardware: str | None = None
    accelerators: int | None = None
    nodes: int | None = None
    framework: str | None = None
    seed: int | None = None
    global_batch_size: int | None = None
    train_samples: int | None = None
    cost_per_hour: float | None = None
    started_at: datetime | None = None
    clock: str | None = None
    clock_zero: str | None = None
    run_status: RunStatus = "unknown"
    run_seconds: float | None = None
    zero_progress: float | None = None
    scaling_factor: float | None = None
    evaluations: tuple[Evaluation, ...] = ()
    problems: tuple[Problem, ...] = ()
    extra: Mapping[str, Any] = msgspec.field(default_factory=dict)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector while many records without cycles are created.

    It would walk every live object again and again.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
