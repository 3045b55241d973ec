"""Intervals of a column are drawn beside it, on one axis with its ends in the title."""

from __future__ import annotations

import pytest

from ttastats.report.cells import Column, Line, Quantity, Table
from ttastats.report.render.pictures import with_pictures
from ttastats.report.render.words import cell_text


def drawn(*cells: Quantity) -> tuple[str, list[str]]:
    """Return the title and the cells of the picture of a column."""
    table = Table((Column("x", intervals=True),), tuple(Line((each,)) for each in cells))
    made = with_pictures(table)
    assert made.columns[1].drawn
    return made.columns[1].title, [cell_text(row.cells[1]) for row in made.rows]


def test_times_are_drawn_from_the_first_limit_to_the_last() -> None:
    title, lines = drawn(Quantity(110, "seconds", 100, 120), Quantity(190, "seconds", 180, 200))
    assert title == "100 s  3.33 min"
    assert lines == ["─●──", "           ──●─"]


def test_far_times_are_drawn_on_a_logarithmic_axis() -> None:
    near = drawn(Quantity(50, "seconds", 40, 60), Quantity(100, "seconds", 90, 110))[1]
    far = drawn(Quantity(50, "seconds", 40, 60), Quantity(1000, "seconds", 900, 1100))[1]
    assert len(near[0]) > 4
    assert far[0] == "─●─"


def test_one_is_marked_among_ratios() -> None:
    ratios = (Quantity(2.0, "ratio", 1.5, 3.0), Quantity(1.0, "ratio", 0.8, 1.25))
    title, lines = drawn(
        *ratios, Quantity(0.5, "ratio", 0.4, 0.6), Quantity(0.9, "ratio", 0.6, 2.0)
    )
    assert title == "0.4   1       3"
    assert lines == ["      │  ──●───", "     ─●──", "──●─  │", "   ───●─────"]


def test_a_wide_interval_is_cut_where_the_others_would_be_pressed_together() -> None:
    title, lines = drawn(Quantity(1.1, "ratio", 1.05, 1.15), Quantity(1.0, "ratio", 0.01, 90.0))
    assert title.split() == ["0.83", "1", "1.2"]
    assert lines[1] == "───────●───────"
    assert lines[0].count("─") >= 2


@pytest.mark.parametrize("cells", [
    (Quantity(1.0, "ratio", 0.9, 1.1),),
    (Quantity(1.0, "ratio", 0.9, 1.1), Quantity(None, "ratio")),
    (),
])  # fmt: skip
def test_fewer_than_two_intervals_are_not_drawn(cells: tuple[Quantity, ...]) -> None:
    table = Table((Column("x", intervals=True),), tuple(Line((each,)) for each in cells))
    assert with_pictures(table) == table


def test_a_row_without_a_number_has_no_picture() -> None:
    both = (Quantity(1.0, "seconds", 0.9, 1.1), Quantity(2.0, "seconds", 1.9, 2.1))
    assert drawn(*both, Quantity(None, "seconds"), Quantity(1.5, "seconds"))[1][2:] == [
        "",
        "       ●",
    ]
