"""Parsing of conditions and targets, and the rows that meet conditions."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.accepted import Case, cases
from ttastats.base.errors import TtastatsError
from ttastats.outcomes import select, target
from ttastats.outcomes.select import Condition, parse, parse_all

TABLE = pl.DataFrame(
    {
        "benchmark": ["resnet", "ssd", "resnet"],
        "system": ["dgx1", "dgx2h_multi", None],
        "nodes": [1, 16, None],
        "run_seconds": [10.0, 20.5, 30.0],
        "seed": [2**53 + 1, 2**53, None],
        "started_at": [
            datetime(2024, 1, 1, tzinfo=UTC),
            datetime(2024, 1, 31, 23, 30, tzinfo=UTC),
            datetime(2024, 2, 1, tzinfo=UTC),
        ],
        "reached": [True, False, None],
        "cv": [0.05, 0.1, math.inf],
        "flags": [["few_runs", "ert"], [], None],
        "round": [None, None, None],
    },
    schema_overrides={"nodes": pl.Int64, "started_at": pl.Datetime("us", "UTC")},
).lazy()


#: Conditions that runs meet or do not, each alone and some together.
MET = (
    "", "benchmark=resnet", "benchmark=resnet&nodes=1", "system=dgx2*", "system=dgx",
    "system=*multi*", "system=dgx?", "system!=dgx1", "system=*", "system!=*", "benchmark>=s",
    "nodes>=16", "nodes!=1", "nodes=*", "nodes=1,16", "nodes=1.0", "nodes!=1,16",
    "run_seconds<20.5", "run_seconds = 20.5", "run_seconds>2e1", "benchmark=ssd,bert",
    "benchmark!=ssd,bert", "system=dgx1,dgx2*", f"seed={2**53}", "started_at>=2024-01-31",
    "started_at>2024-01-31", "started_at=2024-01-31", "started_at!=2024-01-31",
    "started_at<=2024-01-31", "started_at<2024-01-31", "started_at<2024-02-01T01:00+02:00",
    "started_at<=2024-01-31T23:30", "reached=true", "reached=Yes", "reached=no", "reached!=true",
    "cv>5%", "cv<=0.1", "cv<inf", "flags=ert", "flags!=ert", "round=v0.5", "round!=v0.5",
    "round>3",
)  # fmt: skip
BAD = (
    "benchmrk=resnet", "nodes=many", "nodes>nan", "nodes>1_000", "nodes>10%", "nodes>*",
    "run_seconds>5%", "reached=maybe", "reached>=5", "started_at>soon", "flags>1",
)  # fmt: skip
UNMET = (
    "nodes>=1&benchmark=resent", "benchmark=RESNET", "system=dgx3h*", "nodes=99", "run_seconds>99",
    "started_at>2025-01-01", "round=v0.5", "benchmark=ssd&nodes<16",
)  # fmt: skip
#: Conditions as they may be written, and what is none.
WRITTEN = (
    "benchmark=resnet", "benchmark==resnet", " nodes >= 8 ", "benchmark=bert,rgat",
    "benchmark!=bert , rgat", 'entry="a,b",c', r"entry=a\,b,c", r"source=C:\logs\x", "source=C:\\",
    r'entry="say \"a\""', 'entry="a" b', "entry=a=b", "cv>10%", "resnet", "", "=x", "x=", "x=bert,",
    "x=bert,,rgat", 'x=""', "nodes>1,2",
)  # fmt: skip
TARGETS = (("0.7", "0.8"), ("a=1", "a=2"), ("0.75", "a>=75%", '"b c"<=1e-3'))


def written() -> Iterator[Any]:
    """Yield parsed conditions and targets, written as text again."""
    for text in WRITTEN:
        try:
            condition = parse(text, "--a")
        except TtastatsError as error:
            yield [text, str(error)]
        else:
            assert parse(str(condition), "--a") == condition
            yield [text, condition.column, condition.operator, condition.values, condition.place]
    for texts in TARGETS:
        try:
            yield [*texts, [str(condition) for condition in target.parse_all(texts)]]
        except TtastatsError as error:
            yield [*texts, str(error)]


def conditions() -> Iterator[Any]:
    """Yield the runs that meet conditions, and the errors of impossible conditions."""
    for text in (*MET, *BAD):
        try:
            rows = select.where(TABLE, list(filter(None, text.split("&")))).collect()
        except TtastatsError as error:
            yield [text, str(error)]
        else:
            yield [text, rows["run_seconds"].to_list()]
    for text in UNMET:
        yield [text, str(select.unmet(TABLE.collect(), parse_all(text.split("&")), "run"))]
    for values in ([5, 5], [*range(8)], [*range(9)], [0.25, 0.5], [*"abcdefgh"], [*"abcdefghi"],
                   ["x" * 100], ["x" * 101], ["a", "x" * 101], [True], [None]):  # fmt: skip
        table = pl.DataFrame({"seed": values})
        yield [values, select.there_are(table, parse("seed>99"), "run")]
    hidden = ["benchmark=resnet,sdd", "system!=dgx9", "nodes=1", "nodes!=*"]
    yield [note.text for note in select.remarks(TABLE.collect(), parse_all(hidden), "run")]


@cases("pieces", conditions=conditions, written=written)
def test_conditions_choose_runs_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


@example(['"a"', "a\\,b", "a\\"], "=")
@example(["=", " a "], "=")
@example(["=1"], "<")
@example(["<", ">1"], "=")
@settings(max_examples=40)
@given(st.lists(st.text(min_size=1), min_size=1), st.sampled_from(["=", "!="]))
def test_values_are_written_so_that_they_are_read_again(values: list[str], operator: str) -> None:
    written = Condition("entry", operator, tuple(values))
    assert parse(str(written)) == written
    assert parse_all([written, "nodes=2"]) == (written, Condition("nodes", "=", ("2",)))


def test_moments_are_those_of_utc_wherever_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert select.where(TABLE, ["started_at>=2024-01-31T23:30"]).collect().height == 2
    finally:
        monkeypatch.undo()
        time.tzset()


@given(
    st.sampled_from(TABLE.collect_schema().names()),
    st.sampled_from(["=", "!=", ">", "<=", ""]),
    st.text() | st.integers().map(str) | st.floats().map(str) | st.datetimes().map(str),
)
@example("started_at", ">", "0001-01-01T00:00+05:00")
@example("started_at", "<", "9999-12-31T23:59-05:00")
@example("seed", "=", "9" * 5000)
@example("seed", "<", "99999999999999999999999")
def test_any_text_is_a_condition_or_is_refused(column: str, operator: str, text: str) -> None:
    try:
        rows = select.where(TABLE, [f"{column}{operator}{text}"]).collect()
    except TtastatsError:
        return
    assert rows.height <= 3


@given(st.text() | st.from_regex(r"[a-z/@]+(=|<=|>=)-?[0-9.e]+%?"))
@example("a=" + "9" * 5000)
def test_any_text_is_a_target_or_is_refused(text: str) -> None:
    try:
        assert math.isfinite(target.parse(text).value)
    except TtastatsError:
        return
