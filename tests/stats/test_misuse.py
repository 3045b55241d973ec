"""Values that no sample can have are refused with a ValueError."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.stats.made import compared
from ttastats.stats import moments, multiplicity, outcomes, power, speedup
from ttastats.stats.decision import decide
from ttastats.stats.means import mean_interval
from ttastats.stats.outcomes import Epochs, make_outcomes


def progress(epochs: float) -> Epochs:
    return Epochs(np.array([epochs]), 1.0)


MISUSE: dict[str, list[Callable[[], Any]]] = {
    "times and epochs must be finite and positive": [
        *(
            lambda bad=bad: mean_interval([1.0, bad], confidence=0.95)
            for bad in (math.nan, 0.0, -2.0, math.inf)
        ),
        *(lambda bad=bad: make_outcomes([1.0], progress=progress(bad)) for bad in (0.0, math.nan)),
        lambda: make_outcomes([0.0], [True]),
        lambda: make_outcomes([-1.0], [False]),
    ],
    "confidence must lie between 0 and 1": [
        lambda: moments.two_sided_t(3, 0.0),
        lambda: moments.two_sided_t(math.inf, 1.0),
        lambda: outcomes.wilson_interval(1, 2, 95.0),
    ],
    "confidence must lie between 0.5 and 1": [
        lambda: speedup.equivalence_confidence(0.5),
        lambda: speedup.equivalence_confidence(1.0),
    ],
    "a margin is a positive fraction": [
        *(lambda bad=bad: decide(compared([1, 2], [1, 2]), margin=bad) for bad in (0.0, math.inf)),
    ],
}


@pytest.mark.parametrize("message", MISUSE)
def test_misuse_is_refused(message: str) -> None:
    for call in MISUSE[message]:
        with pytest.raises(ValueError, match=message):
            call()


def test_values_at_a_limit_are_allowed() -> None:
    assert multiplicity.adjust_p_values([0.0, 1.0]) == (0.0, 1.0)
    assert power.runs_needed(1.1, 0.0, power=0.8, alpha=0.05) == 3
    assert make_outcomes([0.0], [False]).times.tolist() == [0.0]
