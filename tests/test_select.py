"""Choosing rows and noticing what varies."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ttastats.base.errors import TtastatsError
from ttastats.outcomes import select
from ttastats.outcomes.select import parse_all

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


@pytest.mark.parametrize(
    ("conditions", "seconds"),
    [
        ([], [10.0, 20.5, 30.0]),
        (["benchmark=resnet"], [10.0, 30.0]),
        (["benchmark=resnet", "nodes=1"], [10.0]),
        (["system=dgx2*"], [20.5]),
        (["system=dgx"], []),
        (["system=*multi*"], [20.5]),
        (["system=dgx?"], [10.0]),
        (["system!=dgx1"], [20.5, 30.0]),
        (["system=*"], [10.0, 20.5]),
        (["system!=*"], [30.0]),
        (["benchmark>=s"], [20.5]),
        (["nodes>=16"], [20.5]),
        (["nodes!=1"], [20.5, 30.0]),
        (["nodes=*"], [10.0, 20.5]),
        (["nodes=1,16"], [10.0, 20.5]),
        (["nodes=1.0"], [10.0]),
        (["nodes!=1,16"], [30.0]),
        (["run_seconds<20.5"], [10.0]),
        (["run_seconds = 20.5"], [20.5]),
        (["run_seconds>2e1"], [20.5, 30.0]),
        (["benchmark=ssd,bert"], [20.5]),
        (["benchmark!=ssd,bert"], [10.0, 30.0]),
        (["system=dgx1,dgx2*"], [10.0, 20.5]),
        ([f"seed={2**53}"], [20.5]),
        (["started_at>=2024-01-31"], [20.5, 30.0]),
        (["started_at>2024-01-31"], [30.0]),
        (["started_at=2024-01-31"], [20.5]),
        (["started_at!=2024-01-31"], [10.0, 30.0]),
        (["started_at<=2024-01-31"], [10.0, 20.5]),
        (["started_at<2024-01-31"], [10.0]),
        (["started_at<2024-02-01T01:00+02:00"], [10.0]),
        (["started_at<=2024-01-31T23:30"], [10.0, 20.5]),
        (["reached=true"], [10.0]),
        (["reached=Yes"], [10.0]),
        (["reached=no"], [20.5]),
        (["reached!=true"], [20.5, 30.0]),
        (["cv>5%"], [20.5, 30.0]),
        (["cv<=0.1"], [10.0, 20.5]),
        (["cv<inf"], [10.0, 20.5]),
        (["flags=ert"], [10.0]),
        (["flags!=ert"], [20.5, 30.0]),
        (["round=v0.5"], []),
        (["round!=v0.5"], [10.0, 20.5, 30.0]),
        (["round>3"], []),
    ],
)
def test_rows_that_meet_every_condition_are_kept(
    conditions: list[str], seconds: list[float]
) -> None:
    assert select.where(TABLE, conditions).collect()["run_seconds"].to_list() == seconds


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            "benchmrk=resnet",
            "--where benchmrk=resnet: unknown column 'benchmrk'\n  Nearest: benchmark.",
        ),
        ("nodes=many", "--where nodes=many: 'many' is not a number"),
        ("nodes>nan", "--where nodes>nan: 'nan' is not a number"),
        ("nodes>1_000", "--where nodes>1_000: '1_000' is not a number"),
        ("nodes>10%", "--where nodes>10%: nodes is not a fraction\n  Write it without %."),
        ("nodes>*", "--where nodes>*: '*' is not a number"),
        ("run_seconds>5%", "--where run_seconds>5%: run_seconds is not a fraction"),
        ("reached=maybe", "--where reached=maybe: reached is true or false\n  Write reached=true."),
        ("reached>=5", "--where reached>=5: reached is true or false"),
        (
            "started_at>soon",
            "--where started_at>soon: 'soon' is not a date\n"
            "  Write 2024-01-31 or 2024-01-31T12:00, in UTC.",
        ),
        ("flags>1", "--where flags>1: flags contains lists and cannot be compared"),
    ],
)
def test_a_bad_condition_is_refused_with_a_reason(condition: str, message: str) -> None:
    with pytest.raises(TtastatsError) as refused:
        select.where(TABLE, [condition])
    assert str(refused.value).startswith(message)


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
        kept = select.where(TABLE, [f"{column}{operator}{text}"]).collect()
    except TtastatsError:
        return
    assert kept.height <= 3


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        (
            ["nodes>=1", "benchmark=resent"],
            "--where: no run has benchmark=resent\n  Nearest: resnet. Values: resnet, ssd.",
        ),
        (["benchmark=RESNET"], "--where: no run has benchmark=RESNET\n  Nearest: resnet. "),
        (["system=dgx3h*"], "--where: no run has system=dgx3h*\n  Nearest: dgx2h_multi"),
        (["nodes=99"], "--where: no run has nodes=99\n  nodes is one of 1, 16."),
        (
            ["run_seconds>99"],
            "--where: no run has run_seconds>99\n  run_seconds lies between 10 and 30.",
        ),
        (
            ["started_at>2025-01-01"],
            "--where: no run has started_at>2025-01-01\n  started_at lies between "
            "2024-01-01T00:00:00+00:00 and 2024-02-01T00:00:00+00:00.",
        ),
        (["round=v0.5"], "--where: no run has round=v0.5\n  round is unknown for every run."),
        (
            ["benchmark=ssd", "nodes<16"],
            "--where benchmark=ssd --where nodes<16: no run meets all conditions together\n"
            "  Each condition alone matches: benchmark=ssd (1 run), nodes<16 (1 run).",
        ),
    ],
)
def test_what_leaves_nothing_is_named_with_what_there_is(
    conditions: list[str], message: str
) -> None:
    error = select.unmet(TABLE.collect(), parse_all(conditions), "run")
    assert str(error).startswith(message)


def test_a_value_that_nothing_has_is_named_where_others_hide_it() -> None:
    asked = parse_all(["benchmark=resnet,sdd", "system!=dgx9", "nodes=1", "nodes!=*"])
    assert [note.text for note in select.remarks(TABLE.collect(), asked, "run")] == [
        "--where: no run has benchmark=sdd. Nearest: ssd. Values: resnet, ssd.",
        "--where: no run has system=dgx9. Nearest: dgx1. Values: dgx1, dgx2h_multi.",
    ]
