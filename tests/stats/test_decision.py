"""Equivalence tests and the grid that turns intervals into one word."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ttastats.stats.decision import decide, decide_by_fraction
from ttastats.stats.results import Flag, Ratio
from ttastats.stats.speedup import Limits


def evidence(
    shown: Limits,
    weaker: Limits,
    safe: Limits | None = None,
    safe_weaker: Limits | None = None,
    robust: Limits | None = None,
) -> Any:
    """Return a speedup with given intervals: shown, with unseen epochs, with stragglers too."""
    plain = {0.95: shown, 0.9: weaker}
    with_epochs = {0.95: safe or shown, 0.9: safe_weaker or safe or weaker}

    def limits(confidence: float, *, epochs: bool = False, stragglers: bool = False) -> Limits:
        if stragglers and robust is not None:
            return robust
        return (with_epochs if epochs else plain)[confidence]

    p = 0.5 if shown[0] <= 1 <= shown[1] else 0.01
    doubts = () if robust is None else (Flag("failed_runs", "1 of 5 runs of B failed"),)
    ratio = Ratio(1.0, *shown, 0.95, p, 0.01, 8.0, 5, 5)
    return SimpleNamespace(ratio=ratio, limits=limits, doubts=doubts)


WIDE = (0.5, 2.0)
FASTER, SAME = ((1.1, 1.2), (1.11, 1.19)), ((0.99, 1.01), (0.995, 1.005))


@pytest.mark.parametrize(
    ("given", "word", "marks", "claim"),
    [
        (((1.06, 1.20), (1.07, 1.19)), "faster", "", "faster by more than 5%"),
        (((1.02, 1.20), (1.03, 1.19)), "faster", "", "faster"),
        (((0.80, 0.94), (0.81, 0.93)), "slower", "", "slower by more than 5%"),
        (((0.80, 0.98), (0.81, 0.97)), "slower", "", "slower"),
        (((0.97, 1.03), (0.98, 1.02)), "same", "", "same within 5%"),
        (((0.97, 1.20), (0.98, 1.19)), "undecided", "", "not slower by more than 5%"),
        (((0.80, 1.03), (0.81, 1.02)), "undecided", "", "not faster by more than 5%"),
        (((0.80, 1.20), (0.81, 1.19)), "undecided", "", "undecided"),
        (((0.951, 1.06), (0.9525, 1.0499)), "same", "", "same within 5%"),
        (((0.951, 1.06), (0.9523, 1.0501)), "undecided", "", "undecided"),
        (((1.0, 1.3), (1.01, 1.2)), "undecided", "", "not slower by more than 5%"),
        # With the epochs that may have gone unseen:
        ((*FASTER, (1.06, 1.4)), "faster", "", "faster by more than 5%"),
        ((*FASTER, (1.01, 1.4)), "faster", "", "faster"),
        ((*FASTER, (0.90, 1.4)), "faster", "†", "faster by more than 5%"),
        ((*SAME, (0.9, 1.1), (0.92, 1.08)), "undecided", "", "undecided"),
        ((*SAME, (0.98, 1.02)), "same", "", "same within 5%"),
        # With a straggler that may have:
        ((*FASTER, None, None, (1.5, 1.7)), "faster", "", "faster by more than 5%"),
        ((*FASTER, None, None, (0.8, 1.8)), "faster", "‡", "faster by more than 5%"),
        ((*FASTER, WIDE, WIDE, WIDE), "faster", "†‡", "faster by more than 5%"),
        ((*SAME, None, None, (0.8, 1.8)), "same", "‡", "same within 5%"),
    ],
)
def test_intervals_decide(given: tuple[Any, ...], word: str, marks: str, claim: str) -> None:
    d = decide(evidence(*given), margin=0.05)
    assert (d.word, d.marks, d.claim, d.margin) == (word, marks, claim, 0.05)


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
    decision = decide_by_fraction(*counts, alpha=0.05, margin=0.01)
    assert (decision.word, decision.claim) == (word, claim)
