"""`summary` of many entries: sizes, the fastest of a size, and hidden rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator

import polars as pl
import pytest

from tests.accepted import Case, cases
from tests.made_curves import curve, logs
from tests.test_accepted_answers import screen
from tests.test_league import around, runs
from ttastats import api
from ttastats.outcomes import time_to_target
from ttastats.report import as_csv, as_json
from ttastats.report.answer import Report

#: Twenty entries on eight accelerators, the first shown to be the fastest, and four other sizes.
SIZES = {f"big/{size}": size for size in (16, 32, 64, 128)}
TIMES = {
    "fast/0": around(5, 0.1),
    **{f"slow/{n}": around(20 + n, 0.5, seed=n) for n in range(1, 20)},
    **{name: around(3, 0.2, seed=size) for name, size in SIZES.items()},
}


TABLE = runs(TIMES, SIZES)
OF_ONE_SIZE = {name: times for name, times in TIMES.items() if name not in SIZES}


def of_benchmarks(table: pl.DataFrame, names: str) -> pl.DataFrame:
    """Return the same runs as those of several benchmarks."""
    same = pl.col("run_id", "source", "content_digest")
    return pl.concat(table.with_columns(same + name, benchmark=pl.lit(name)) for name in names)


SHOWN: dict[str, Callable[[], Report]] = {
    "each size, and the fastest of the largest": lambda: api.summary(TABLE),
    "the first alone": lambda: api.summary(TABLE, top=3),
    "sorted": lambda: api.summary(TABLE, sort="-tta"),
    "all rows": lambda: api.summary(TABLE, top=0),
    "as many rows as asked for": lambda: api.summary(
        runs({f"s/{n:02}": [10.0 + n, 10.1 + n] for n in range(30)}), top=30
    ),
    "few rows": lambda: api.summary(TABLE, where=["accelerators>8"]),
    "of many benchmarks": lambda: api.summary(of_benchmarks(TABLE, "pqrstuvw")),
    "of a few without sizes": lambda: api.summary(of_benchmarks(runs(OF_ONE_SIZE), "pqr")),
    "equal times have no interval": lambda: api.summary(runs({"same/0": [10.0] * 5})),
    "a failed run": lambda: api.summary(runs({**OF_ONE_SIZE, "fail/1": [10.0] * 5 + [-50.0]})),
}


def standings() -> Iterator[str]:
    for name, answer in SHOWN.items():
        report = answer()
        yield f"---------- {name}: {len(report.rows)} rows for programs"
        yield screen(report)


@cases("screens", standings=standings)
def test_summaries_of_many_entries_are_shown_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_programs_wait_for_no_judgement_of_what_people_see(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report = api.summary(TABLE)
    monkeypatch.setattr("ttastats.answers.league.leagues", None)
    assert len(json.loads(as_json.render_json(report))["rows"]) == len(TIMES)
    with pytest.raises(TypeError):
        str(report)


@pytest.mark.parametrize("answer", [api.runs, api.summary, api.variance])
def test_rows_that_are_written_by_column_are_the_rows(
    answer: Callable[[pl.DataFrame], Report],
) -> None:
    report = answer(TABLE)
    assert report.typed_columns is not None
    text = as_json.render_json(report)
    assert json.loads(text)["rows"] == [dict(row) for row in report.rows]
    assert sum(line.startswith("  {") for line in text.split("\n")) >= len(report.rows)
    first = next(csv.DictReader(io.StringIO(as_csv.render_csv(report))))
    assert first.keys() == report.rows[0].keys()
    assert first["entry"] == report.rows[0]["entry"]


def test_an_infinite_time_is_null_in_json() -> None:
    report = api.summary(runs({"fail/0": [-10.0] * 3}))
    assert json.loads(as_json.render_json(report))["rows"][0]["ert_seconds"] is None


def test_the_order_of_its_rows_changes_no_run() -> None:
    curves = [curve(5.0, 4.0 + n / 10, 3.0, 3.5) for n in range(20)]
    table = logs(curves)
    mixed = table.sample(fraction=1.0, shuffle=True, seed=1)
    both = [time_to_target.runs(rows).sort("run_id", "source") for rows in (table, mixed)]
    assert both[0]["value_final"].unique().to_list() == [3.5]
    assert both[0].equals(both[1])
