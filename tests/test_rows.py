"""A row of an answer is a struct whose fields are the keys of JSON and CSV."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest

from ttastats.answers.summary import SummaryRow
from ttastats.report.keys import LeftOutKeys
from ttastats.report.row import Key, Row, expect_kind, key_descriptions


class Made(Row, frozen=True):
    """A row with a part, a key of another name, and a key that may be absent."""

    seconds: Annotated[float | None, Key("a time", "seconds")]
    from_: Annotated[str, Key("where it begins")] = msgspec.field(name="from")
    left_out: LeftOutKeys = LeftOutKeys()
    often: Annotated[int | msgspec.UnsetType, Key("how often", "times")] = msgspec.UNSET


def test_the_keys_of_a_row_are_its_groups_then_its_fields_and_those_of_its_parts() -> None:
    names = ["seconds", "from", "interrupted", "rejected_logs", "missing_runs", "often"]
    row = Made(None, "start", LeftOutKeys(1, 2, 3), keys={"entry": "x"}, often=4)
    assert [*row.to_dict().items()] == [
        ("entry", "x"), *zip(names, (None, "start", 1, 2, 3, 4), strict=True)
    ]  # fmt: skip
    assert [*Made(1.0, "start").to_dict()] == names[:-1]
    assert [*key_descriptions(Made)] == names
    assert key_descriptions(Made)["seconds"] == Key("a time", "seconds")


def test_rows_of_another_answer_are_refused() -> None:
    row = Made(1.0, "start")
    assert expect_kind([row], Made) == (row,)
    with pytest.raises(TypeError, match="SummaryRow"):
        expect_kind([row], SummaryRow)
