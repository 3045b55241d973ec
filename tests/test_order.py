"""Does a claim say that its sides were made one after the other, and which blocks would help?"""

from __future__ import annotations

import html
import random
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.regression.linear_model import OLS

from tests.test_compare import side
from tests.test_sessions import BEGIN
from ttastats import api
from ttastats.report import as_html, as_json, as_markdown
from ttastats.report.answer import Report
from ttastats.sides.options import Options
from ttastats.stats.drift import common_trend, spread_of_blocks


def in_order(turns: str, draw: random.Random, *, drift: float = 0.0, lead: float = 1.0,
             pause: float = 0.0) -> tuple[pl.DataFrame, pl.DataFrame]:  # fmt: skip
    """Return runs of A and B in these turns on a machine that slows by a share an hour."""
    hours, rows = 0.0, dict[str, list[pl.DataFrame]](A=[], B=[])
    for place, name in enumerate(turns):
        hours += pause if place and turns[:place].count(name) == 0 else 0.0
        epochs = draw.choice([3, 4, 5])
        pace = 200 * (1 + drift * hours) * (1 + draw.gauss(0, 0.002))
        seconds = pace * epochs / (lead if name == "B" else 1)
        when = BEGIN + timedelta(hours=hours)
        entry = {"entry": name.lower(), "system": "one"}
        rows[name].append(side([(seconds, epochs)], started_at=when, **entry))
        hours += seconds / 3600
    a, b = (pl.concat(rows[name]) for name in "AB")
    return a, b


def guise(seed: int) -> tuple[str, random.Random]:
    draw = random.Random(f"order {seed}")
    n = draw.randint(8, 12)
    first, last = draw.choice(["AB", "BA"])
    return first * n + last * n, draw


@pytest.mark.parametrize("seed", range(2))
def test_sides_one_after_the_other_carry_the_order_in_every_form(seed: int) -> None:
    turns, draw = guise(seed)
    a, b = in_order(turns, draw, drift=0.02, lead=2.0, pause=draw.choice([0.0, 0.5, 0.9]))
    report = api.compare(a, b)
    (row,) = report.rows
    assert row["conditions"] == row["throughput_conditions"] == ["one_side_first", "drift"]
    assert " throughput (in this order, while time per epoch drifts)" in str(report)
    (text,) = (note.text for note in report.notes if note.code == "drift")
    assert "within both sides, time per epoch rises by" in text
    ranked = api.rank(pl.concat([a, b]))
    assert ranked.rows[0]["separable_if"]
    assert ranked.rows[0]["conditions"] == ["one_side_first", "drift"]


@pytest.mark.parametrize("pattern", ["AB", "ABBA", "BAAB"])
def test_sides_in_turn_carry_no_order(pattern: str) -> None:
    a, b = in_order(pattern * 5, random.Random(pattern), drift=0.02, lead=2.0)
    (row,) = api.compare(a, b).rows
    assert (row["verdict"], row["conditions"]) == ("faster", [])
    assert "throughput_conditions" not in row


def test_the_order_of_different_machines_is_only_noted() -> None:
    a, b = in_order("A" * 8 + "B" * 8, random.Random(1), lead=2.0)
    report = api.compare(a, b.with_columns(system=pl.lit("two")))
    assert report.rows[0]["conditions"] == []
    assert "one_side_first" in report.rows[0]["flags"]


def test_several_sessions_a_side_do_not_undo_their_order() -> None:
    days = [pl.concat(each) for each in zip(*(
        [table.with_columns(pl.col("started_at") + timedelta(days=day + 9 * (table is b)))
         for table in (a, b)]
        for day in range(3)
        for a, b in [in_order("ABAB", random.Random(day), lead=2.0)]
    ), strict=True)]  # fmt: skip
    (row,) = api.compare(*days).rows
    assert row["conditions"] == ["separate_sessions"]


def test_a_steady_machine_has_no_drift() -> None:
    a, b = in_order("A" * 8 + "B" * 8, random.Random(3), lead=2.0)
    assert not any("time per epoch rises" in note.text for note in api.compare(a, b).notes)


def on_places(draw: random.Random, differ: float, lead: float, *, host: bool) -> list[pl.DataFrame]:
    """Return A and B in turn on several days or hosts that differ."""
    sides: tuple[list[pl.DataFrame], ...] = ([], [])
    for place in range(4):
        level = 1 + differ * (place - 1.5)
        for number in range(6):
            seconds = 300 * level * (1 + draw.gauss(0, 0.005)) / (lead if number % 2 else 1)
            at = timedelta(minutes=20 * number + 7 * place, days=0 if host else place)
            more: dict[str, Any] = {"extra": {"hostname": f"n{place}"}} if host else {}
            runs = side([(seconds, 3 + number % 4 // 2)], started_at=BEGIN + at, **more)
            sides[number % 2].append(runs.with_columns(entry=pl.lit("ab"[number % 2])))
    return [pl.concat(each) for each in sides]


@pytest.mark.parametrize("host", [False, True])
def test_blocks_are_proposed_before_any_plan_of_runs(host: bool) -> None:
    block = "hostname" if host else "day"
    a, b = on_places(random.Random(4), 0.05, 1.02, host=host)
    report = api.compare(a, b)
    assert report.rows[0]["verdict"] == "undecided"
    codes = [note.code for note in report.notes]
    assert codes.index("blocks_proposed") < codes.index("power")
    assert f"--block {block}` would find" in report.notes[codes.index("blocks_proposed")].text
    within = api.compare(a, b, block=(block,))
    assert within.rows[0]["verdict"] == "faster"
    assert "blocks_proposed" not in {note.code for note in within.notes}
    assert api.power(pl.concat([a, b])).notes[0].code == "blocks_proposed"


def forms(report: Report) -> list[str]:
    """Return a report on a screen, in Markdown, JSON and HTML."""
    made = str(report), as_markdown.render_markdown(report), as_json.render_json(report)
    return [*made, html.unescape(as_html.render_html(report))]


@pytest.mark.parametrize("host", [False, True])
def test_places_that_are_alike_are_no_blocks(host: bool) -> None:
    a, b = on_places(random.Random(5), 0.0, 1.0, host=host)
    for report in (api.compare(a, b), api.power(pl.concat([a, b]))):
        assert "blocks_proposed" not in {note.code for note in report.notes}


@pytest.mark.parametrize("seed", range(2))
def test_trend_and_spread_are_those_of_nested_linear_models(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, levels = int(rng.integers(12, 40)), int(rng.integers(2, 5))
    sides, blocks = rng.integers(0, 2, n), rng.integers(0, levels, n)
    x = rng.uniform(0, 9, n)
    y = rng.normal(0, 1, n) + sides + 0.1 * x + rng.normal(0, 1, levels)[blocks]
    side_columns, block_columns = (np.equal.outer(z, np.unique(z)) * 1.0 for z in (sides, blocks))
    less, line, more = (
        OLS(y, np.column_stack([side_columns, *also])).fit()
        for also in ([], [x], [block_columns[:, 1:]])
    )
    trend = common_trend(x, y, sides)
    assert trend is not None
    assert (trend.slope, trend.p_value) == pytest.approx((line.params[-1], line.pvalues[-1]))
    spread = spread_of_blocks(y, sides, blocks)
    assert spread is not None
    assert spread.p_value == pytest.approx(more.compare_f_test(less)[1])
    assert spread.within == pytest.approx(np.sqrt(more.mse_resid))
    assert spread.df == more.df_resid


def test_the_spread_between_blocks_is_right_on_average() -> None:
    rng = np.random.default_rng(1)
    blocks, sides = np.repeat(np.arange(6), 5), rng.integers(0, 2, 30)
    squares = []
    for _ in range(2000):
        y = rng.normal(0, 1, 6)[blocks] * 2 + rng.normal(0, 1, 30)
        spread = spread_of_blocks(y, sides, blocks)
        assert spread is not None
        squares.append(spread.between**2)
    assert np.mean(squares) == pytest.approx(4, rel=0.07)


def test_too_few_or_constant_runs_have_neither() -> None:
    two, one = np.arange(2), np.ones(2)
    assert common_trend(one * 1.0, one * 2.0, two) is None
    assert spread_of_blocks(one * 2.0, two, two) is None
    assert spread_of_blocks(np.ones(8), np.arange(8) % 2, np.arange(8) // 4) is None


def test_a_plan_of_looks_names_the_looks_at_which_it_holds() -> None:
    a, b = in_order("AB" * 6, random.Random(1), lead=2.0)
    looked = api.compare(a, b, options=Options(max_runs=20))
    for report in (looked, api.power(pl.concat([a, b]), max_runs=20)):
        (text,) = (note.text for note in report.notes if note.code == "sequential")
        assert text.startswith("--sequential: ")
        assert "3 to 20 runs per side" in text or "a look after every run from 3 on" in text
