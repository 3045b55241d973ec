"""Evenly spaced rows stand for the rest."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttastats.output.plots.curves import evenly_spaced


@pytest.mark.parametrize(("rows", "kept"), [(1, [0]), (3, [0, 1, 2]), (9, [0, 2, 4, 6, 8])])
def test_first_and_last_stay_and_what_is_between_is_even(rows: int, kept: list[int]) -> None:
    frame = pl.DataFrame({"group": ["a"] * rows, "n": range(rows)})
    assert frame.filter(evenly_spaced(5, ["group"]))["n"].to_list() == kept


@given(st.lists(st.integers(0, 3), min_size=1, max_size=200), st.integers(2, 20))
def test_every_group_keeps_its_ends_and_not_many_more_than_asked(
    groups: list[int], most: int
) -> None:
    frame = pl.DataFrame({"group": groups}).with_row_index("n")
    kept = frame.filter(evenly_spaced(most, ["group"]))
    for name in set(groups):
        before = frame.filter(pl.col("group") == name)["n"].to_list()
        after = kept.filter(pl.col("group") == name)["n"].to_list()
        assert (after[0], after[-1]) == (before[0], before[-1])
        assert len(after) <= most + 1
