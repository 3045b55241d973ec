"""Convergence held against a reference: published numbers, exact answers, and odd references."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ttastats.stats.convergence import (
    Reference,
    WeightedRuns,
    convergence_ratio,
    interpolate_reference,
    pass_rate,
    smallest_step,
    stopped_early,
)
from ttastats.stats.outcomes import Epochs, Outcomes, make_outcomes
from ttastats.stats.results import Floats
from ttastats.stats.speedup import ratio_of_means

#: The reference runs of llama2_70b_lora at batch size 8 (MLPerf Training v5.0), and ten runs of an
#: entry of that round (eight MI325X).
LORA = np.repeat([2688.0, 3072.0, 3456.0, 3840.0], [3, 9, 7, 1])
ENTRY = np.repeat([2688.0, 3072.0], [2, 8])


def measured(values: Floats, interval: float | None = None) -> Reference:
    return Reference((WeightedRuns(values),), interval or smallest_step(values))


def side(values: Floats, interval: float | None = None) -> Outcomes:
    return make_outcomes(values, progress=Epochs(values, interval))


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_a_measured_reference_gives_the_ratio_of_means() -> None:
    ratio = convergence_ratio(side(ENTRY, 384), measured(LORA), confidence=0.95)
    assert ratio.ratio.estimate == pytest.approx(2995.2 / LORA.mean())
    plain = ratio_of_means(ENTRY, LORA, confidence=0.95)
    assert ratio.limits(0.95, epochs=True) == pytest.approx((plain.low, plain.high))


def test_without_a_grid_runs_that_never_varied_bound_nothing() -> None:
    limits = convergence_ratio(
        side(np.full(3, 4.0)), measured(np.full(20, 4.0)), confidence=0.95
    ).limits(0.95, epochs=True)
    assert limits is not None
    assert math.isinf(limits[1])


def test_runs_of_an_interpolated_reference_are_those_of_both_brought_to_its_mean() -> None:
    low, high = np.array([90.0, 100, 110]), np.array([180.0, 200, 220])
    values, chances = interpolate_reference(low, high, 0.25, np.array([0.1])).pool()
    assert float(values @ chances) == pytest.approx(125)
    assert chances == pytest.approx([0.25] * 3 + [0.25 / 3] * 3)


@pytest.mark.parametrize(
    ("values", "step"),
    [([0.7, 0.75, 0.75, 0.9], 0.05), ([4.0, 4, 4], None), ([0.3, 0.1 + 0.2, 0.4], 0.1)],
)
def test_the_grid_is_the_smallest_real_step(values: list[float], step: float | None) -> None:
    assert smallest_step(np.array(values)) == (None if step is None else pytest.approx(step))


def test_early_is_before_the_references_median_run() -> None:
    reference = measured(LORA)
    assert (stopped_early(ENTRY, reference), stopped_early(LORA, reference)) == (2, 3)
    nearly = np.array([3072 - 150.0, 3072 - 300.0])  # an entry may have another grid
    assert stopped_early(nearly, reference) == 1
    assert stopped_early(np.array([3.9, 4.0]), Reference((WeightedRuns(np.full(5, 4.0)),))) == 1


class TestErrorRates:
    def test_too_few_runs_for_a_mean_have_none(self) -> None:
        assert pass_rate(measured(LORA), 1.0, 2, dropped=1, draws=100, rng=rng()) is None
