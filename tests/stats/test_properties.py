"""Properties that hold for any runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stats.made import compared, decompose_speedup, decompose_variance, ert_ratio
from ttastats.stats.decision import decide
from ttastats.stats.means import mean_interval
from ttastats.stats.outcomes import (
    Epochs,
    expected_time,
    fisher_p,
    newcombe_difference,
)
from ttastats.stats.permutation import mann_whitney_p, pair_wins, permutation_test
from ttastats.stats.results import Ratio
from ttastats.stats.speedup import (
    ratio_of_geometric_means,
    ratio_of_means,
)
from ttastats.stats.variation import cv_interval

quick = settings(max_examples=60, deadline=None, database=None, derandomize=True)

# Milliseconds to weeks, on a grid that makes ties common.
seconds = st.one_of(
    st.integers(1, 12).map(float),
    st.floats(1e-3, 1e6).map(lambda x: float(f"{x:.4g}")),
)
epochs = st.integers(1, 9).map(float)
run = st.tuples(seconds, epochs, st.booleans())


def runs(smallest: int = 1, largest: int = 6) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    return st.lists(run, min_size=smallest, max_size=largest)


def columns(side: list[tuple[Any, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    times, progress, reached = zip(*side, strict=True)
    return np.array(times), np.array(progress), np.array(reached)


def close(a: float | None, b: float | None, *, rel: float = 1e-7) -> bool:
    if a is None or b is None:
        return a is b
    return a == b or math.isclose(a, b, rel_tol=rel, abs_tol=1e-12)


def inverted(there: Ratio, back: Ratio) -> bool:
    def inverse(x: float | None) -> float | None:
        return None if x is None else math.inf if x == 0 else 1 / x

    return (
        close(inverse(there.estimate), back.estimate)
        and close(inverse(there.high), back.low)
        and close(inverse(there.low), back.high)
        and close(there.p_value, back.p_value)
    )


def no_nan(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isnan(value)
    if isinstance(value, np.ndarray):
        return not bool(np.isnan(value.astype(float)).any())
    if isinstance(value, tuple | list):
        return all(no_nan(v) for v in value)
    fields = getattr(value, "__struct_fields__", {})
    return all(no_nan(getattr(value, name)) for name in fields)


@quick
@given(runs(), runs())
def test_trading_sides_inverts_every_ratio_and_its_interval(a: list[Any], b: list[Any]) -> None:
    (t_a, e_a, s_a), (t_b, e_b, s_b) = columns(a), columns(b)
    assert inverted(
        ratio_of_means(t_a, t_b, confidence=0.95), ratio_of_means(t_b, t_a, confidence=0.95)
    )
    assert inverted(
        ratio_of_geometric_means(t_a, t_b, confidence=0.95),
        ratio_of_geometric_means(t_b, t_a, confidence=0.95),
    )
    assert inverted(ert_ratio(t_a, s_a, t_b, s_b), ert_ratio(t_b, s_b, t_a, s_a))
    there, back = Epochs(e_a, 1.0), Epochs(e_b, 1.0)
    ahead, behind = compared(t_a, t_b, there, back), compared(t_b, t_a, back, there)
    for allowed in ({"epochs": True}, {"stragglers": True}, {"epochs": True, "stragglers": True}):
        low, high = ahead.limits(0.9, **allowed) or (None, None)
        low_back, high_back = behind.limits(0.9, **allowed) or (None, None)
        assert close(low, 1 / high_back if high_back else high_back)
        assert close(high, 1 / low_back if low_back else None if low_back is None else math.inf)
    forth, home = decompose_speedup(t_a, e_a, t_b, e_b), decompose_speedup(t_b, e_b, t_a, e_a)
    assert inverted(forth.throughput, home.throughput)
    assert inverted(forth.epochs, home.epochs)


@quick
@given(runs(), runs())
def test_trading_sides_mirrors_tests_wins_and_differences(a: list[Any], b: list[Any]) -> None:
    (t_a, _, s_a), (t_b, _, s_b) = columns(a), columns(b)
    assert close(permutation_test(t_a, t_b), permutation_test(t_b, t_a))
    assert close(mann_whitney_p(t_a, t_b), mann_whitney_p(t_b, t_a))
    assert close(pair_wins(t_a, t_b).estimate, 1 - pair_wins(t_b, t_a).estimate)
    counts_a, counts_b = (int(s_a.sum()), s_a.size), (int(s_b.sum()), s_b.size)
    there, back = (
        newcombe_difference(*counts_a, *counts_b, confidence=0.95),
        newcombe_difference(*counts_b, *counts_a, confidence=0.95),
    )
    assert close(there.low, None if back.high is None else -back.high)
    assert close(fisher_p(*counts_a, *counts_b), fisher_p(*counts_b, *counts_a))


units = st.sampled_from([1 / 60, 1e-3, 60.0, 3600.0, 7.3])


@quick
@given(runs(2), runs(2), units, st.randoms(use_true_random=False))
def test_neither_the_unit_of_time_nor_the_order_of_runs_changes_anything(
    a: list[Any], b: list[Any], unit: float, random: Any
) -> None:
    shuffled = list(a)
    random.shuffle(shuffled)
    (t, e, s), (t_b, e_b, s_b) = columns(a), columns(b)
    t2, e2, s2 = columns(shuffled)
    pairs = [
        (
            ratio_of_means(t, t_b, confidence=0.95),
            ratio_of_means(t2 * unit, t_b * unit, confidence=0.95),
        ),
        (ert_ratio(t, s, t_b, s_b), ert_ratio(t2 * unit, s2, t_b * unit, s_b)),
        (
            decompose_speedup(t, e, t_b, e_b).throughput,
            decompose_speedup(t2 * unit, e2, t_b * unit, e_b).throughput,
        ),
    ]
    for ratio, scaled in pairs:
        assert close(ratio.estimate, scaled.estimate)
        assert close(ratio.low, scaled.low, rel=1e-6)
        assert close(ratio.p_value, scaled.p_value, rel=1e-6)
    assert close(permutation_test(t, t_b), permutation_test(t2 * unit, t_b * unit))
    assert close(
        cv_interval(t, confidence=0.95, ddof=1).high,
        cv_interval(t2 * unit, confidence=0.95, ddof=1).high,
        rel=1e-6,
    )
    shares = [decompose_variance(*x).share_epochs.estimate for x in ((t, e), (t2 * unit, e2))]
    assert close(*shares, rel=1e-5)


@quick
@given(runs(), runs(), seconds)
def test_a_further_failed_run_never_makes_a_side_look_better(
    a: list[Any], b: list[Any], lost: float
) -> None:
    (t_a, _, s_a), (t_b, _, s_b) = columns(a), columns(b)
    worse_t, worse_s = np.append(t_b, lost), np.append(s_b, False)
    before = expected_time(t_b, s_b).estimate
    after = expected_time(worse_t, worse_s).estimate
    assert before is not None
    assert after is not None
    assert after >= before
    ratio = ert_ratio(t_a, s_a, t_b, s_b).estimate
    worse = ert_ratio(t_a, s_a, worse_t, worse_s).estimate
    if ratio is not None:
        assert worse is not None
        assert worse <= ratio * (1 + 1e-12)
    reached = pair_wins(t_a, t_b, reached_b=s_b).estimate * t_b.size
    assert pair_wins(t_a, worse_t, reached_b=worse_s).estimate * worse_t.size == pytest.approx(
        reached
    )


@quick
@given(runs(), runs())
def test_no_result_ever_holds_a_nan(a: list[Any], b: list[Any]) -> None:
    (t_a, e_a, s_a), (t_b, e_b, s_b) = columns(a), columns(b)
    both = compared(t_a, t_b, Epochs(e_a, 1.0), Epochs(e_b, 1.0))
    results = [
        both,
        decide(both, margin=0.01),
        ert_ratio(t_a, s_a, t_b, s_b),
        decompose_speedup(t_a, e_a, t_b, e_b),
        decompose_variance(t_a, e_a),
        pair_wins(t_a, t_b),
        cv_interval(t_a, epochs=e_a, evaluation_interval=1.0, confidence=0.95, ddof=1),
        mean_interval(t_a, confidence=0.95),
        permutation_test(t_a, t_b),
    ]
    assert no_nan(results)


@quick
@given(runs(2), runs(2))
def test_an_interval_holds_its_estimate_and_its_p_agrees_with_it(
    a: list[Any], b: list[Any]
) -> None:
    (t_a, e_a, _), (t_b, e_b, _) = columns(a), columns(b)
    both = compared(t_a, t_b, Epochs(e_a, 1.0), Epochs(e_b, 1.0))
    for ratio in (both.ratio, ratio_of_geometric_means(t_a, t_b, confidence=0.95)):
        if ratio.low is None or ratio.high is None or ratio.estimate is None:
            continue
        assert ratio.low <= ratio.estimate * (1 + 1e-12)
        assert ratio.estimate <= ratio.high * (1 + 1e-12)
    low, high, p = both.ratio.low, both.ratio.high, both.ratio.p_value
    assert low is not None
    assert high is not None
    if p is not None and abs(p - 0.05) > 1e-9:
        assert (p < 0.05) == (low > 1 or high < 1)
