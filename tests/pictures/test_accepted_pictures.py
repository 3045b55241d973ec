"""Every kind of picture is specified, captioned and given its numbers as was accepted.

A change of these files is a change of what is drawn: look at the pictures before you accept it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import polars as pl
import pytest

from tests import test_accepted_answers as answers
from tests.conftest import ROOT, matches_accepted, plain
from tests.pictures import made, test_profiled
from ttastats import api
from ttastats.pictures.picture import Picture
from ttastats.pictures.profiled import kinds, shared

ACCEPTED = ROOT / "tests" / "reference" / "pictures"

BENCHMARKS = ("resnet", "unet", "rgat")


def some(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.filter(pl.col("benchmark").is_in(BENCHMARKS))


MADE: dict[str, Callable[[], tuple[Picture, ...]]] = {
    "of_two_sides": lambda: api.pictures(
        *(made.rows(times, entry="lab/x") for times in (made.SLOW, made.FAST)),
        labels=["before", "after"],
    ),
    "of_leaders": lambda: api.pictures(made.leaders()),
    "of_failures": lambda: api.pictures(some(answers.both())),
    "of_scales": lambda: api.pictures(answers.scales(), unit="epochs"),
    "of_targets": lambda: api.plot("targets", answers.speedruns()[0]),
    "of_speedups": lambda: api.plot("speedups", some(answers.before()), some(answers.after())),
    "of_profiles": lambda: of_profiles("made"),
    "of_two_profiles": lambda: of_profiles("one", "two"),
}


def of_profiles(*names: str) -> tuple[Picture, ...]:
    return kinds.all_pictures(
        shared.by_name([(name, test_profiled.profile(name)) for name in names])
    )


def told(picture: Picture) -> Iterator[object]:
    """Give what makes a picture; of long tables some rows."""
    yield [picture.kind, picture.benchmark, picture.title]
    yield picture.caption
    for name in picture.data:
        rows = picture.rows(name)
        yield [name, len(rows), list(rows[0]) if rows else []]
        for row in rows[:: max(1, len(rows) // 6)]:
            yield [plain(value) for value in row.values()]
    layers = picture.chart.get("layer", ())
    yield {**picture.chart, "layer": len(layers)}
    yield from layers


@pytest.mark.parametrize("name", MADE)
def test_pictures_are_drawn_as_accepted(name: str) -> None:
    lines = [
        f"{json.dumps(plain(one), ensure_ascii=False)}\n"
        for picture in MADE[name]()
        for one in told(picture)
    ]
    assert matches_accepted(ACCEPTED / f"{name}.txt", "".join(lines))
