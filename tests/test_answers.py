"""What `power` says of many groups; its numbers are accepted in `test_accepted_answers.py`."""

from __future__ import annotations

import polars as pl

from tests.test_compare import side
from ttastats import api


def test_power_counts_many_groups_without_a_plan_in_one_note() -> None:
    entries = [side([(300, 3)], entry=f"x{number}") for number in range(7)]
    report = api.power(pl.concat(entries))
    (note,) = [note.text for note in report.notes if note.code == "few_successes"]
    assert note.startswith("7 groups: no plan")
    report = api.power(pl.concat(entries[:6]))
    assert len([note for note in report.notes if note.code == "few_successes"]) == 6
