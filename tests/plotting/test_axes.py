"""Names and colours that people can tell apart, and curves that are thinned evenly."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttastats.output.plots import theme
from ttastats.output.plots.curves import evenly_spaced
from ttastats.report import fitting


@given(st.lists(st.text("ab/. ", min_size=1, max_size=90), min_size=1, max_size=6, unique=True))
def test_different_names_stay_different(given_names: list[str]) -> None:
    assert len(set(fitting.short_names(given_names).values())) == len(given_names)


def test_long_names_lose_what_does_not_tell_them_apart() -> None:
    counts = ("8", "64", "512")
    long = [f"a_system_of_a_submitter_{n}_with_accelerators_of_one_kind_alone" for n in counts]
    names = list(fitting.short_names(long).values())
    assert all(n in text for n, text in zip(counts, names, strict=True))
    assert max(map(len, names)) <= 50


def test_colours_do_not_carry_meaning_alone() -> None:
    assert len(set(theme.COLOURS)) == len(set(theme.SHAPES)) == theme.HIGHLIGHTS


@pytest.mark.parametrize(("rows", "expected"), [(1, [0]), (3, [0, 1, 2]), (9, [0, 2, 4, 6, 8])])
def test_first_and_last_stay_and_what_is_between_is_even(rows: int, expected: list[int]) -> None:
    frame = pl.DataFrame({"group": ["a"] * rows, "n": range(rows)})
    assert frame.filter(evenly_spaced(5, ["group"]))["n"].to_list() == expected


@given(st.lists(st.integers(0, 3), min_size=1, max_size=200), st.integers(2, 20))
def test_every_group_keeps_its_ends_and_not_many_more_than_asked(
    groups: list[int], most: int
) -> None:
    frame = pl.DataFrame({"group": groups}).with_row_index("n")
    thinned = frame.filter(evenly_spaced(most, ["group"]))
    for name in set(groups):
        before = frame.filter(pl.col("group") == name)["n"].to_list()
        after = thinned.filter(pl.col("group") == name)["n"].to_list()
        assert (after[0], after[-1]) == (before[0], before[-1])
        assert len(after) <= most + 1
