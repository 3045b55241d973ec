"""From which batch size on does a larger one hardly train more samples a second? (TBD, Figure 4)"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

#: A batch size is large enough when twice as many samples a step give less than so much more.
GAIN = 0.05


def gains(throughputs: Mapping[int, float]) -> dict[int, float]:
    """Return the gain of throughput per doubling up to each batch size from the next smaller one.

    `throughputs` are samples per second by batch size; the smallest batch has no gain.
    """
    return {
        large: (throughputs[large] / throughputs[small]) ** (1 / math.log2(large / small)) - 1
        for small, large in pairwise(sorted(throughputs))
    }


def point(throughputs: Mapping[int, float]) -> int | None:
    """Return the first batch size from which doubling gains less than `GAIN`; None if none is."""
    gained = gains(throughputs)
    steps = pairwise(sorted(throughputs))
    return next((small for small, large in steps if gained[large] < GAIN), None)
