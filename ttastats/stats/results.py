"""What a statistic returns, and the words of verdicts.

Unknown is ``None`` and never NaN; infinite is ``math.inf``. Seconds and fractions, never percent.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FlagCode = Literal[
    "no_runs", "one_run", "zero_variance", "unbalanced", "constant_epochs", "unknown_epochs",
    "unknown_evaluation_interval", "no_success", "borderline", "convergence_differs",
    "convergence_not_used", "untimed_failures", "separate_sessions", "one_side_first",
    "drift",
    "pooled_setups", "no_look", "blocks_differ", "failed_runs", "failures_likely", "straggler",
    "grids_differ",
    "earlier_values", "interpolated", "not_evaluated", "looks_differ", "optimism_differs",
    "repeated_seeds", "paired_seeds", "parallel_runs", "these_blocks", "stalled_runs",
    "mixed_speeds", "begins_late", "clock_changed", "clock_start_estimated", "one_seed",
    "off_scale",
    "scale_unclear", "units_differ", "unusable_time",
]  # fmt: skip


def none_for_nan(values: Floats) -> list[float | None]:
    """Return an array as a list with None in place of NaN."""
    return [None if value != value else value for value in values.tolist()]


class Flag(Struct, frozen=True):
    """A warning beside a result: a code for programs, advice for people."""

    code: FlagCode
    message: str


Withheld = Literal["few_runs", "repeated_times", "unusual_run", "parts_cancel", "no_information"]
"""Why an estimate has no interval."""


class Estimate(Struct, frozen=True):
    """One quantity of a sample of ``n`` runs with its interval, or why that is ``withheld``."""

    estimate: float | None
    low: float | None
    high: float | None
    confidence: float
    n: int
    withheld: Withheld | None = None


class Ratio(Struct, frozen=True):
    """A over B with an interval made on the log scale; of two times it is the speedup of B.

    ``p_value`` is the two-sided p of "the ratio is 1", dual to the interval. ``se_log`` and ``df``
    are the standard error and Satterthwaite degrees of freedom of the log ratio.
    """

    estimate: float | None
    low: float | None
    high: float | None
    confidence: float
    p_value: float | None
    se_log: float | None
    df: float | None
    n_a: int
    n_b: int
    flags: tuple[Flag, ...] = ()


class Difference(Struct, frozen=True):
    """A minus B with its interval."""

    estimate: float | None
    low: float | None
    high: float | None
    confidence: float


Tone = Literal["plain", "good", "bad", "dim"]
"""The colour of a word, which never carries meaning alone."""


class Verdict(StrEnum):
    """What a comparison comes to, in a word about B; the value is the word in rows for programs.

    ``label`` is the word for people and ``signed`` the same behind a sign, so that no colour is
    needed. ``answer`` is that to "is B better?".
    """

    label: str
    signed: str
    tone: Tone
    answer: str

    def __new__(cls, word: str, *attributes: Any) -> Verdict:
        """Return the member of a word, with its sign, tone, answer and label."""
        verdict = str.__new__(cls, word)
        verdict._value_ = word
        sign, verdict.tone, verdict.answer, verdict.label = attributes
        verdict.signed = f"{sign} {'the same' if word == 'same' else verdict.label}"
        return verdict

    FASTER = "faster", "▲", "good", "Yes", "faster"
    SLOWER = "slower", "▼", "bad", "No", "slower"
    BETTER = "better", "▲", "good", "Yes", "better"
    WORSE = "worse", "▼", "bad", "No", "worse"
    EARLIER = "earlier", "<", "plain", "Yes", "earlier"
    LATER = "later", ">", "plain", "No", "later"
    SAME = "same", "=", "plain", "No", "same"
    UNDECIDED = "undecided", "~", "dim", "Undecided", "undecided"
    UNAVAILABLE = "unavailable", "–", "dim", "No verdict", "no verdict"
    NO_REFERENCE = "no reference", "–", "dim", "No verdict", "no reference"

    @property
    def directed(self) -> bool:
        """Return whether the verdict is "faster" or "slower", "better" or "worse"."""
        return self in _DIRECTED

    @property
    def decided(self) -> bool:
        """Return whether the verdict is a claim: a direction, or that the sides are the same."""
        return self.directed or self is Verdict.SAME

    @property
    def colour(self) -> Tone:
        """Return the colour of the verdict in a table; only directions have one."""
        return self.tone if self.directed else "plain"


_DIRECTED = frozenset(Verdict) - {
    Verdict.SAME, Verdict.UNDECIDED, Verdict.UNAVAILABLE, Verdict.NO_REFERENCE
}  # fmt: skip
