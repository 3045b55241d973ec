"""`scaling`: what makes one curve, and what is said of curves that mix setups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from tests.accepted import Case
from tests.plotting import made
from tests.questions import Questions, accepted_answers
from ttastats import api


def entry(name: str, accelerators: int, seconds: float, **more: Any) -> pl.DataFrame:
    """Return three runs of about so many seconds on so many accelerators."""
    times: Sequence[made.Outcome] = [(seconds * spread, 5) for spread in (0.99, 1.0, 1.01)]
    setup = {"accelerators": accelerators, "hardware": "old", "framework": "one"}
    return made.rows(times, entry=name, **(setup | more))


def two(names: tuple[str, str], seconds: tuple[float, float], **more: Any) -> pl.DataFrame:
    """Return the runs of a curve of two entries, on 8 and on 16 accelerators."""
    sizes = zip(names, (8, 16), seconds, strict=True)
    return pl.concat(entry(*size, **more) for size in sizes)


OLD = two(("old_8", "old_16"), (800.0, 420.0))
TWO_KINDS = pl.concat([OLD, two(("new_8", "new_16"), (400.0, 210.0), hardware="new")])
FAILED = made.rows([(100.0, None)] * 3, entry="old_32", accelerators=32, hardware="old")
TWO_SOFTWARES = pl.concat([OLD, two(("x_8", "x_16"), (300.0, 160.0), framework="two")])
ROUNDS = pl.concat(
    [
        two(("a", "b"), (800.0, 420.0)),
        two(("c", "d"), (90.0, 46.0), benchmark="bert"),
        two(("e", "f"), (600.0, 310.0), round="v5.0"),
    ]
)
UNKNOWN = two(("a", "b"), (800.0, 420.0), hardware=None)
APART = pl.concat([entry("old_8", 8, 800.0), entry("new_16", 16, 210.0, hardware="new")])
BASE = entry("old_1", 1, 800.0)
HALF: Sequence[made.Outcome] = [(100.0, 5), (101.0, 5), (99.0, 5), *[(100.0, None)] * 3]
EIGHT = made.rows(HALF, accelerators=8, hardware="old", framework="one", entry="old_8")
SINGLE = pl.concat([BASE.filter(seed=0), EIGHT.filter(seed=0)], how="diagonal_relaxed")
OF_SUBMITTERS = [
    TWO_KINDS.with_columns(
        pl.col("run_id", "source", "content_digest") + name, submitter=pl.lit(name)
    )
    for name in "ab"
]

QUESTIONS: Questions = {
    "a curve is of one hardware": lambda: api.scaling(TWO_KINDS),
    "at a scale no run reached": lambda: api.scaling(
        pl.concat([TWO_KINDS, FAILED.with_columns(framework=pl.lit("one"))], how="diagonal_relaxed")
    ),
    "a curve is of one software": lambda: api.scaling(TWO_SOFTWARES),
    "benchmarks and rounds are never mixed": lambda: api.scaling(ROUNDS, by=["submitter"]),
    "a mixture that was asked for": lambda: api.scaling(TWO_KINDS, by=["submitter"]),
    "unknown hardware": lambda: api.scaling(UNKNOWN),
    "other hardware at another scale makes no curve": lambda: api.scaling(APART),
    "failed runs count": lambda: api.scaling(pl.concat([BASE, EIGHT], how="diagonal_relaxed")),
    "as compare counts them": lambda: api.compare(BASE, EIGHT, by=["benchmark"]),
    "entries of one run": lambda: api.scaling(SINGLE),
    "several curves": lambda: api.scaling(pl.concat(OF_SUBMITTERS)),
    "the least, the middle and the most efficient of four": lambda: api.scaling(
        pl.concat(
            two((f"{kind}_8", f"{kind}_16"), (800.0, 420.0 + 40 * number), hardware=kind)
            for number, kind in enumerate("abcd")
        )
    ),
}


@accepted_answers("scaling", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_curves_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_titles_and_marks_tell_curves_and_failed_runs() -> None:
    assert api.scaling(TWO_KINDS).tables[0].title == "mlperf v4.0 lab one"
    assert "framework" in [column.title for column in api.scaling(TWO_SOFTWARES).tables[0].columns]
    (table,) = api.scaling(pl.concat([BASE, EIGHT], how="diagonal_relaxed")).tables
    marks = [getattr(cell, "mark", "") for line in table.rows for cell in line.cells]
    assert marks.count("ᶠ") == 1


def test_plots_draw_the_curves_of_the_report() -> None:
    (plot,) = api.plot("scaling", TWO_KINDS)
    drawn = next(data for name, data in plot.data.items() if name.startswith("scaling"))
    assert set(drawn["curve"]) == {"old", "new"}
    curves = drawn.filter(measure="time-to-accuracy")
    assert dict(curves.select("entry", "base_entry").rows()) == {
        row["entry"]: row["base_entry"] for row in api.scaling(TWO_KINDS).rows
    }
