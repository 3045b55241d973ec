"""Equivalence tests and the grid that turns intervals into one word."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from tests.stats.made import compared
from ttastats.stats.decision import decide, decide_by_fraction, margin_bounds
from ttastats.stats.results import Flag, Ratio
from ttastats.stats.speedup import Limits


def ratio(low: float | None, high: float | None, confidence: float, p: float | None) -> Ratio:
    return Ratio(1.0, low, high, confidence, p, 0.01, 8.0, 5, 5)


@dataclass(frozen=True)
class Fixed:
    """Evidence whose intervals are given: shown, with unseen epochs, with stragglers too."""

    ratio: Ratio
    plain: dict[float, Limits]
    safe: dict[float, Limits]
    robust: dict[float, Limits] | None = None
    doubts: tuple[Flag, ...] = ()

    def limits(
        self, confidence: float, *, epochs: bool = False, stragglers: bool = False
    ) -> Limits | None:
        chosen = self.safe if epochs else self.plain
        if stragglers and self.robust is not None:
            chosen = self.robust
        return chosen[confidence]


def evidence(
    shown: Limits,
    weaker: Limits,
    safe: Limits | None = None,
    safe_weaker: Limits | None = None,
    robust: Limits | None = None,
) -> Fixed:
    p = 0.5 if shown[0] <= 1 <= shown[1] else 0.01
    return Fixed(
        ratio(*shown, 0.95, p),
        {0.95: shown, 0.9: weaker},
        {0.95: safe or shown, 0.9: safe_weaker or weaker},
        None if robust is None else {0.95: robust, 0.9: robust},
        () if robust is None else (Flag("failed_runs", "1 of 5 runs of B failed"),),
    )


WIDE = (0.5, 2.0)


@pytest.mark.parametrize(
    ("shown", "weaker", "word", "claim"),
    [
        ((1.06, 1.20), (1.07, 1.19), "faster", "faster by more than 5%"),
        ((1.02, 1.20), (1.03, 1.19), "faster", "faster"),
        ((0.80, 0.94), (0.81, 0.93), "slower", "slower by more than 5%"),
        ((0.80, 0.98), (0.81, 0.97), "slower", "slower"),
        ((0.97, 1.03), (0.98, 1.02), "same", "same within 5%"),
        ((0.97, 1.20), (0.98, 1.19), "undecided", "not slower by more than 5%"),
        ((0.80, 1.03), (0.81, 1.02), "undecided", "not faster by more than 5%"),
        ((0.80, 1.20), (0.81, 1.19), "undecided", "undecided"),
        ((0.951, 1.06), (0.9525, 1.0499), "same", "same within 5%"),
        ((0.951, 1.06), (0.9523, 1.0501), "undecided", "undecided"),
        ((1.0, 1.3), (1.01, 1.2), "undecided", "not slower by more than 5%"),
    ],
)
def test_the_interval_alone_decides(
    shown: tuple[float, float], weaker: tuple[float, float], word: str, claim: str
) -> None:
    found = decide(evidence(shown, weaker), margin=0.05)
    assert (found.word, found.assumes_constant_epochs, found.claim) == (word, False, claim)
    assert found.margin == 0.05


@pytest.mark.parametrize(
    ("safe", "word", "dagger", "claim"),
    [
        ((1.06, 1.4), "faster", False, "faster by more than 5%"),
        ((1.01, 1.4), "faster", False, "faster"),
        (
            (0.90, 1.4),
            "faster",
            True,
            "faster by more than 5%",
        ),
    ],
)
def test_the_epoch_safe_interval_decides_about_the_dagger(
    safe: tuple[float, float], word: str, dagger: bool, claim: str
) -> None:
    found = decide(evidence((1.1, 1.2), (1.11, 1.19), safe, safe), margin=0.05)
    assert (found.word, found.assumes_constant_epochs, found.claim) == (word, dagger, claim)


def test_a_claim_that_a_straggler_could_undo_carries_the_second_mark() -> None:
    strong, weak = (1.5, 1.7), (0.8, 1.8)
    found = decide(evidence((1.1, 1.2), (1.11, 1.19), robust=weak))
    assert (found.word, found.conditions, found.marks) == ("faster", ("no_stragglers",), "‡")
    assert decide(evidence((1.1, 1.2), (1.11, 1.19), robust=strong)).conditions == ()
    both = decide(evidence((1.1, 1.2), (1.11, 1.19), WIDE, WIDE, robust=WIDE))
    assert both.marks == "†‡"
    same = decide(evidence((0.99, 1.01), (0.995, 1.005), robust=weak), margin=0.05)
    assert (same.word, same.marks) == ("same", "‡")


def test_same_needs_the_epoch_safe_interval_as_well() -> None:
    shown, weaker = (0.99, 1.01), (0.995, 1.005)
    assert decide(evidence(shown, weaker), margin=0.05).word == "same"
    wide = decide(evidence(shown, weaker, (0.9, 1.1), (0.92, 1.08)), margin=0.05)
    assert (wide.word, wide.claim) == ("undecided", "undecided")
    narrow = decide(evidence(shown, weaker, (0.98, 1.02), (0.98, 1.02)), margin=0.05)
    assert narrow.word == "same"


def test_two_p_values_on_different_sides_of_alpha_are_borderline() -> None:
    strong = evidence((1.02, 1.2), (1.03, 1.19))
    (flag,) = decide(strong, p_permutation=0.2).flags
    assert flag.code == "borderline"
    assert decide(strong, p_permutation=0.02).flags == ()
    coarse = dataclasses.replace(strong, ratio=replace(strong.ratio, n_a=3, n_b=3))
    assert decide(coarse, p_permutation=0.1).flags == ()
    reachable = Fixed(ratio(1.02, 1.2, 0.8, 0.01), {0.8: (1.02, 1.2)}, {0.8: (1.02, 1.2)})
    for n, codes in ((3, ["borderline"]), (2, [])):  # of 20 splits, 2 are the most extreme, of 6
        sized = dataclasses.replace(reachable, ratio=replace(reachable.ratio, n_a=n, n_b=n))
        assert [flag.code for flag in decide(sized, p_permutation=0.35).flags] == codes
    least = dataclasses.replace(
        reachable, ratio=replace(reachable.ratio, n_a=3, n_b=3, confidence=0.9)
    )
    limits = {0.9: (1.02, 1.2)}
    at_its_best = dataclasses.replace(least, plain=limits, safe=limits)
    assert decide(at_its_best, p_permutation=0.1).flags == (), "3 against 3 give no p below 0.1"


@pytest.mark.parametrize(
    ("counts", "word", "claim"),
    [
        ((5, 5, 0, 5), "slower", "slower (fraction reached 5/5 vs 0/5)"),
        ((0, 5, 5, 5), "faster", "faster (fraction reached 0/5 vs 5/5)"),
        ((2, 2, 0, 2), "undecided", "undecided (fraction reached 2/2 vs 0/2)"),
        ((0, 9, 0, 9), "unavailable", "no runs reached the target on either side"),
    ],
)
def test_a_side_that_never_succeeds_is_judged_by_the_fraction(
    counts: tuple[int, int, int, int], word: str, claim: str
) -> None:
    found = decide_by_fraction(*counts)
    assert (found.word, found.claim) == (word, claim)


def test_a_margin_is_two_one_sided_welch_tests() -> None:
    rng = np.random.default_rng(2)
    seen = set()
    for _ in range(200):
        a, b = rng.lognormal(0, 0.02, 9), rng.lognormal(0.03, 0.03, 7)
        found = compared(a, b, estimand="geomean")
        x, y, limit = np.log(a), np.log(b), math.log(1.05)
        above = stats.ttest_ind(x + limit, y, equal_var=False, alternative="greater").pvalue
        below = stats.ttest_ind(x - limit, y, equal_var=False, alternative="less").pvalue
        (bounds,) = margin_bounds([found], 0.05)
        assert (bounds.not_slower is not None) == (above < 0.05)
        assert (bounds.not_faster is not None) == (below < 0.05)
        seen.add((above < 0.05, below < 0.05))
    assert seen >= {(True, True), (False, True), (True, False)} - {(True, False)}
