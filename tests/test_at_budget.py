"""What is no budget; what runs come to at one is accepted in `test_accepted_judgements.py`."""

from __future__ import annotations

from typing import Any

import pytest

from ttastats.base.errors import TtastatsError
from ttastats.outcomes.budget import parse


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"at": "3325"}, "not a budget"),
        ({"at": "step=-1"}, "not a budget"),
        ({"at": "hours=2"}, "not a budget"),
        ({"at": "step=50%"}, "not a budget"),
        ({"at": "step=nan"}, "not a budget"),
        ({"at": "step=1", "at_end": True}, "two budgets"),
        ({"best": True}, "no budget given"),
        ({"at_end": True, "interpolate": True}, "cannot interpolate"),
        ({"at": "step=1", "best": True, "interpolate": True}, "cannot interpolate"),
    ],
)
def test_what_is_no_budget_is_refused(asked: dict[str, Any], what: str) -> None:
    with pytest.raises(TtastatsError, match=what) as error:
        parse(**asked)
    assert error.value.remedy
