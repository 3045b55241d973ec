"""Which quality must be reached, and does a value reach it?

Only the standard library is imported: a training script that records itself needs this.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
        above, below = value >= self.value - slack, value <= self.value + slack
        return math.isfinite(value) and (above if self.higher_is_better else below)
