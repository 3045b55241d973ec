"""Comparisons that are repeated after every run a side, as a user meets them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.test_compare import VARIED_A, VARIED_B, compared, side
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.sides.options import Options


def test_claims_about_a_margin_hold_at_every_look() -> None:
    same = [(300 + 0.5 * (k % 3), 3) for k in range(6)]
    report = compared(side(same), side(same), max_runs=20, margin=0.01, epochs_fixed=True)
    (look,) = report.rows
    assert "sequential" in {note.code for note in report.notes}
    assert look["verdict"] == "same"
    (fixed,) = compared(side(same), side(same), margin=0.001, epochs_fixed=True).rows
    assert look["non_inferiority_low"] < fixed["non_inferiority_low"]


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ({"at_end": True}, {}),
        ({"also": ["top1_accuracy"], "prior": "missing.parquet"}, {}),
        ({}, {"same_convergence": True}),
        ({}, {"max_runs": 2}),
        ({}, {"max_runs": 201}),
    ],
)
def test_what_holds_at_no_look_is_refused(more: Any, options: Any) -> None:
    with pytest.raises(TtastatsError, match=r"sequentially valid|runs per side"):
        api.compare(
            side(VARIED_A), side(VARIED_B), options=Options(**{"max_runs": 20} | options), **more
        )


def test_a_plan_without_looks_is_refused() -> None:
    words = ["compare", "a.parquet", "b.parquet", "--max-runs", "8"]
    with pytest.raises(TtastatsError, match="needs --sequential"):
        app(words, standalone_mode=False)
