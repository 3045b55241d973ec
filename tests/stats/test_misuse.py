"""What no sample can be is refused with a ValueError that says so."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ttastats.stats import (
    decision,
    fraction,
    moments,
    multiplicity,
    permutation,
    power,
    quantiles,
    scaling,
    speedup,
    unseen,
    variation,
)
from ttastats.stats.logratio import LogTerm
from ttastats.stats.outcomes import Epochs, outcomes

ONE = np.ones(1)


def progress(*epochs: float) -> Epochs:
    return Epochs(np.array(epochs), 1.0)


MISUSE: dict[str, list[Callable[[], Any]]] = {
    "-1 of 2 runs cannot have reached": [lambda: fraction.wilson(-1, 2)],
    "3 of 2 runs cannot have reached": [
        lambda: fraction.wilson(3, 2),
        lambda: fraction.reached_at_least(3, 2),
        lambda: fraction.fisher(3, 2, 1, 2),
    ],
    "no runs for side A": [
        lambda: fraction.newcombe(0, 0, 1, 2),
        lambda: moments.as_side([], "A"),
        lambda: moments.as_outcomes([], [], "A"),
        lambda: outcomes([], name="A"),
        lambda: permutation.number_of_splits(0, 2),
    ],
    "no runs for side B": [lambda: permutation.number_of_splits(2, 0)],
    r"times must be one-dimensional, not of shape \(1, 2\)": [lambda: moments.as_sample([[1, 2]])],
    "epochs must be finite and positive": [
        lambda: moments.as_pair([1.0], [0.0]),
        lambda: outcomes([1.0], progress=progress(0.0)),
        lambda: outcomes([1.0], progress=progress(math.inf)),
        lambda: outcomes([1.0], progress=progress(math.nan)),
    ],
    "2 times but 1 epochs$": [lambda: outcomes([1.0, 2.0], progress=progress(1.0))],
    "2 times but 1 epochs of side B": [
        lambda: outcomes([1.0, 2.0], progress=progress(1.0), name="B"),
        lambda: moments.as_pair([1.0, 2.0], [1.0], "B"),
    ],
    "times must be finite and positive": [
        lambda: moments.as_sample([1.0, 0.0]),
        lambda: moments.as_sample([math.nan]),
        lambda: moments.as_outcomes([0.0], [True]),
        lambda: moments.as_outcomes([-1.0], [False]),
    ],
    "2 times but 1 values of reached": [lambda: moments.as_outcomes([1.0, 2.0], [True])],
    "1 times but 1 values of reached": [lambda: moments.as_outcomes([[1.0]], [[True]])],
    "2 times but 3 clusters": [lambda: outcomes([1.0, 2.0], clusters=[1, 1, 2])],
    "p values lie between": [
        lambda: multiplicity.adjusted([-0.1]),
        lambda: multiplicity.adjusted([1.1], fdr=True),
    ],
    "alpha must lie between 0 and 1, not 0": [
        lambda: power.runs_needed(1.1, 0.1, alpha=0),
    ],
    "alpha must lie between 0 and 1, not 1": [
        lambda: power.detectable_ratio(3, 0.1, alpha=1),
    ],
    "a ratio is positive and finite, not 0": [lambda: power.runs_needed(0, 0.1)],
    "a ratio is positive and finite, not inf": [lambda: power.runs_needed(math.inf, 0.1)],
    "a CV is a fraction of 0 or more: -0.1": [lambda: power.runs_needed(1.1, -0.1)],
    "a CV is a fraction of 0 or more: inf": [lambda: power.detectable_ratio(3, math.inf)],
    "power must lie between 0 and 1, not 0": [lambda: power.runs_needed(1.1, 0.1, power=0)],
    "power must lie between 0 and 1, not 1": [lambda: power.detectable_ratio(3, 0.1, power=1)],
    "one row per system": [
        lambda: multiplicity.performance_profile([1.0], [1.0]),
        lambda: multiplicity.performance_profile([[]], [1.0]),
    ],
    "times must be positive": [lambda: multiplicity.performance_profile([[1.0, 0.0]], [1.0])],
    "tau_max must exceed 1, not inf": [
        lambda: multiplicity.performance_profile([[1.0]], [1.0], tau_max=math.inf)
    ],
    r"confidence must lie between 0 and 1, not 0\.0": [lambda: quantiles.check_confidence(0.0)],
    r"confidence must lie between 0 and 1, not 1\.0": [lambda: quantiles.check_confidence(1.0)],
    "confidence must lie between 0.5 and 1": [
        lambda: speedup.equivalence_confidence(0.5),
        lambda: speedup.equivalence_confidence(1.0),
    ],
    "numbers of accelerators are positive: 0, 8": [
        lambda: scaling.scaling(scaling.ScalePoint(0, ONE, ONE), scaling.ScalePoint(8, ONE, ONE))
    ],
    "numbers of accelerators are positive: 8, 0": [
        lambda: scaling.scaling(scaling.ScalePoint(8, ONE, ONE), scaling.ScalePoint(0, ONE, ONE))
    ],
    r"a speedup is positive, not 0\.0": [lambda: speedup.time_saved(0.0)],
    "2 runs needed per side for an interval": [
        lambda: unseen.Bounded(LogTerm(1.0, None, 0), 1, 1, 0.0).half_widths(
            0.95, epochs=True, stragglers=True
        )
    ],
    "at least 1 run needed, not 0": [lambda: unseen.unseen_share(0)],
    "2 runs needed for a coefficient": [lambda: variation.delta_limits(ONE)],
    "a margin is a positive fraction": [
        lambda: decision.check_margin(0.0),
        lambda: decision.check_margin(math.inf),
    ],
}


@pytest.mark.parametrize("message", MISUSE)
def test_misuse_is_refused(message: str) -> None:
    for call in MISUSE[message]:
        with pytest.raises(ValueError, match=message):
            call()


def test_what_lies_at_an_edge_is_allowed() -> None:
    assert fraction.wilson(2, 2).estimate == 1.0
    assert multiplicity.adjusted([0.0, 1.0]) == (0.0, 1.0)
    assert power.runs_needed(1.1, 0.0) == 3
    assert scaling.scaling(
        scaling.ScalePoint(1, ONE, ONE), scaling.ScalePoint(1, ONE, ONE)
    ).efficiency.estimate == pytest.approx(1.0)
    assert unseen.unseen_share(1) == pytest.approx(0.975)
    assert moments.as_outcomes([0.0], [False])[0].tolist() == [0.0]
    assert permutation.number_of_splits(1, 1) == 2
