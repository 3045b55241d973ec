"""Which runs are set against which, and what is said of those that are not."""

from __future__ import annotations

from tests.test_compare import VARIED_A, VARIED_B, side
from ttastats import comparison
from ttastats.pairing import Pair


class TestPairsThatCannotBeJudged:
    def test_say_why_and_have_no_p(self) -> None:
        pair = Pair({"benchmark": "resnet"}, side(VARIED_A), side(VARIED_B), "the same runs")
        (found,) = comparison.compare([pair])
        assert found.verdict is not None
        assert (found.verdict.word, found.verdict.claim) == ("unavailable", "the same runs")
        assert (found.p_value, found.p_adjusted, found.speedup) == (None, None, None)
        assert (found.a.n, found.a.mean_seconds) == (5, 340.8)

    def test_take_no_part_in_the_adjustment_of_others(self) -> None:
        judged = Pair({"benchmark": "resnet"}, side(VARIED_A), side(VARIED_B))
        unjudged = Pair({"benchmark": "ssd"}, side(VARIED_A), side(VARIED_B), "the same runs")
        alone, beside = comparison.compare([judged]), comparison.compare([judged, unjudged])
        assert alone[0].p_adjusted == alone[0].p_value == beside[0].p_adjusted
