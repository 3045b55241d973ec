"""Sides made of times and epochs, for tests of many answers; a verdict does not favour a side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.made_curves import evaluation, logs, of
from ttastats import api
from ttastats.outcomes import time_to_target
from ttastats.report.answer import Report
from ttastats.sides.options import Options

Outcome = tuple[float, float | None]  # seconds, epochs to the target or None for a failed run


def side(outcomes: Sequence[Outcome], benchmark: str = "resnet", **more: Any) -> pl.DataFrame:
    """Return runs with these times and epochs; an evaluation ends each epoch."""
    aim = {"metric": "top1_accuracy", "higher_is_better": True, "target_value": 0.759, "step": None}
    runs = []
    for seconds, epochs in outcomes:
        last = int(epochs or 10)
        evaluations = (
            evaluation(epoch - 1, 0.76 if epoch == epochs else 0.7,
                       seconds=seconds * epoch / last, epoch=float(epoch), **aim)
            for epoch in range(1, last + 1)
        )  # fmt: skip
        facts: dict[str, Any] = {
            "suite": "mlperf", "round": "v4.0", "benchmark": benchmark, "entry": "one",
            "run_status": "success" if epochs else "aborted", "run_seconds": seconds,
        }  # fmt: skip
        runs.append(of(*evaluations, **facts | more))
    return time_to_target.runs(logs(runs))


def compared(a: pl.DataFrame, *others: pl.DataFrame, **options: Any) -> Report:
    view = options.pop("view", None)
    return api.compare(a, *others, options=Options(**options), view=view)


def row(a: Sequence[Outcome], b: Sequence[Outcome], **options: Any) -> dict[str, Any]:
    (result,) = compared(side(a), side(b), **options).rows
    return dict(result)


VARIED_A: list[Outcome] = [(300, 3), (402, 4), (301, 3), (399, 4), (302, 3)]
VARIED_B: list[Outcome] = [(150, 3), (201, 4), (151, 3), (149, 3), (199, 4)]
STEADY: list[Outcome] = [(300, 3), (301, 3), (299, 3), (300.5, 3), (299.5, 3)]


outcomes = st.lists(
    st.tuples(st.floats(10, 1000), st.one_of(st.none(), st.integers(1, 6).map(float))),
    min_size=2,
    max_size=6,
)


@settings(max_examples=8)
@given(outcomes, outcomes)
def test_whatever_the_runs_a_comparison_is_symmetric(a: list[Outcome], b: list[Outcome]) -> None:
    ahead, back = row(a, b), row(b, a)
    opposite = {"faster": "slower", "slower": "faster"}
    assert back["verdict"] == opposite.get(ahead["verdict"], ahead["verdict"])
    if ahead["speedup"] is None or back["speedup"] is None:
        assert ahead["speedup"] is back["speedup"]
    else:
        assert ahead["speedup"] == pytest.approx(1 / back["speedup"])
