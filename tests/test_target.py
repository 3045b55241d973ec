"""Targets of the user: how they are written, and of which benchmarks they can be asked."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ttastats.base.errors import TtastatsError
from ttastats.outcomes.target import parse, parse_all


@given(st.text() | st.from_regex(r"[a-z/@]+(=|<=|>=)-?[0-9.e]+%?"))
@example("a=" + "9" * 5000)
def test_any_text_is_a_target_or_is_refused(text: str) -> None:
    try:
        target = parse(text)
    except TtastatsError:
        return
    assert math.isfinite(target.value)


@pytest.mark.parametrize(
    ("texts", "what"),
    [(("0.7", "0.8"), "two targets without a metric"), (("a=1", "a=2"), "two targets of a")],
)
def test_two_targets_of_one_metric_are_refused(texts: tuple[str, ...], what: str) -> None:
    with pytest.raises(TtastatsError, match=what):
        parse_all(texts)
