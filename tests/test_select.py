"""Choosing rows and noticing what varies."""

from __future__ import annotations

import polars as pl
import pytest

from ttastats import schema, select
from ttastats.errors import TtastatsError

TABLE = pl.DataFrame(
    {
        "benchmark": ["resnet", "ssd", "resnet"],
        "system": ["dgx1", "dgx2h_multi", None],
        "nodes": [1, 16, None],
        "run_seconds": [10.0, 20.5, 30.0],
    },
    schema_overrides={"nodes": pl.Int64},
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
        (["nodes>=16"], [20.5]),
        (["nodes!=1"], [20.5, 30.0]),
        (["run_seconds<20.5"], [10.0]),
        (["run_seconds = 20.5"], [20.5]),
    ],
)
def test_rows_that_meet_every_condition_are_kept(
    conditions: list[str], seconds: list[float]
) -> None:
    assert select.where(TABLE, conditions).collect()["run_seconds"].to_list() == seconds


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("resnet", "is not a condition"),
        ("benchmrk=resnet", "no column is called 'benchmrk'"),
        ("nodes=many", "is not of the column's type"),
    ],
)
def test_a_bad_condition_is_refused_with_a_reason(condition: str, reason: str) -> None:
    with pytest.raises(TtastatsError, match=reason):
        select.where(TABLE, [condition])


def runs(**columns: list[object]) -> pl.DataFrame:
    height = len(next(iter(columns.values())))
    empty = {name: [None] * height for name in select.SETUP}
    return pl.DataFrame(empty | columns, schema_overrides={"nodes": pl.Int64})


def test_what_varies_inside_a_group_is_named() -> None:
    table = runs(benchmark=["a", "a", "b"], nodes=[1, 2, 4], system=["x", "x", "y"])
    assert select.varying(table, ["benchmark"]) == ("nodes",)
    assert select.varying(table, ["benchmark", "nodes"]) == ()
    assert select.varying(table, []) == ("benchmark", "system", "nodes")


def test_unknown_values_do_not_vary() -> None:
    assert select.varying(runs(benchmark=["a", "a"], nodes=[None, 2]), ["benchmark"]) == ()


def test_the_setup_columns_exist() -> None:
    assert set(select.SETUP) <= set(schema.RUN_NAMES)
