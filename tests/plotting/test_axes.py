"""Axes and names that people can read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ttastats.output.plots import names, theme


@given(st.lists(st.text("ab/. ", min_size=1, max_size=90), min_size=1, max_size=6, unique=True))
def test_different_names_stay_different(given_names: list[str]) -> None:
    assert len(set(names.short_names(given_names).values())) == len(given_names)


def test_long_names_lose_what_does_not_tell_them_apart() -> None:
    counts = ("8", "64", "512")
    long = [f"a_system_of_a_submitter_{n}_with_accelerators_of_one_kind_alone" for n in counts]
    found = list(names.short_names(long).values())
    assert all(n in text for n, text in zip(counts, found, strict=True))
    assert max(map(len, found)) <= 50


def test_colours_do_not_carry_meaning_alone() -> None:
    assert len(set(theme.COLOURS)) == len(set(theme.SHAPES)) == theme.HIGHLIGHTS
