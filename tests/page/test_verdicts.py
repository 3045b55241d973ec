"""What the sentences of a page say, and what they may not."""

from __future__ import annotations

from typing import Any

from tests.compare_rows import typed
from ttastats.answers.compare.sentences import conclusions
from ttastats.report.answer import Report
from ttastats.report.cells import Conclusion
from ttastats.report.grouping import BENCHMARK

COMPARED: dict[str, Any] = {
    "why": None,
    "suite": "mlperf", "round": "v0.5", "benchmark": "resnet", "a": "old", "b": "new",
    "n_a": 5, "n_b": 5, "reached_a": 5, "reached_b": 5, "estimand": "mean",
    "speedup": 2.0, "speedup_low": 1.6, "speedup_high": 2.5,
    "p_value": 0.0004, "p_adjusted": 0.0004,
    "progress_unit": "epochs", "throughput_speedup": 4.0, "throughput_low": 3.9,
    "throughput_high": 4.1, "epochs_ratio": 0.5, "epochs_low": 0.4, "epochs_high": 0.625,
    "runs_needed": 12, "verdict": "faster", "conditions": [],
    "claim": "faster by more than 1%", "flags": [],
}  # fmt: skip


def compared(*rows: dict[str, Any], by: tuple[str, ...] = BENCHMARK) -> Report:
    return Report("compare", tuple(map(typed, rows)), (), by=by)


def said(**changes: Any) -> Conclusion:
    (verdict,) = conclusions(compared(COMPARED | changes))
    return verdict


UNDECIDED = {"verdict": "undecided", "claim": "undecided", "speedup_low": 0.9, "p_adjusted": 0.12}


def test_a_claim_about_pooled_setups_has_a_word_and_a_tone_of_its_own() -> None:
    pooled = {"conditions": ["pooled_setups"]}
    shown = [(one.word, one.tone) for one in (said(), said(**pooled), said(**pooled, **UNDECIDED))]
    assert shown == [("faster", "good"), ("faster, setups pooled", "bad"), ("undecided", "dim")]


def test_names_do_not_depend_on_the_order_of_keys() -> None:
    turned = dict(reversed((COMPARED | {"entry": "x", "round": "v0.6"}).items()))
    two = (COMPARED | {"entry": None}, turned)
    report = compared(*two, by=(*BENCHMARK, "entry"))
    assert [each.about for each in conclusions(report)] == ["v0.5 resnet", "v0.6 resnet x"]
