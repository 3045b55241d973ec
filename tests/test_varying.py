"""In what the runs of a group differ: setup columns, and settings that the logs record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests import made_logs
from ttastats import api
from ttastats.ingestion.ingest import ingest
from ttastats.outcomes import settings
from ttastats.report.grouping import failed_notes, group_notes
from ttastats.table import schema


def runs(**columns: list[Any]) -> pl.DataFrame:
    height = len(next(iter(columns.values())))
    unknown = {name: [None] * height for name in schema.RUN_NAMES if name not in columns}
    return pl.DataFrame(columns | unknown, schema_overrides=dict(schema.POLARS))


def recorded(*settings: dict[str, Any] | str | None, **columns: list[Any]) -> pl.DataFrame:
    texts = [one if isinstance(one, str | None) else json.dumps(one) for one in settings]
    return runs(extra=texts, benchmark=["a"] * len(texts), **columns)


def test_what_varies_inside_a_group_is_named() -> None:
    table = runs(benchmark=["a", "a", "b"], nodes=[1, 2, 4], system=["x", "x", "y"])
    assert settings.differing_columns(table, ["benchmark"]) == {"nodes": (("a",),)}
    assert settings.differing_columns(table, ["benchmark", "nodes"]) == {}
    assert [*settings.differing_columns(table, [])] == ["benchmark", "system", "nodes"]


def test_unknown_values_do_not_vary() -> None:
    assert (
        settings.differing_columns(runs(benchmark=["a", "a"], nodes=[None, 2]), ["benchmark"]) == {}
    )


def test_the_setup_columns_exist() -> None:
    assert set(settings.SETUP) <= set(schema.RUN_NAMES)


def test_settings_that_differ_are_named_learning_rates_first() -> None:
    one = {"opt_adam_beta_1": 0.9, "opt_base_learning_rate": 0.1, "init_seconds": 3.0}
    two = {"opt_adam_beta_1": 0.8, "opt_base_learning_rate": 0.2, "init_seconds": 4.0}
    assert [*settings.differing_settings(recorded(one, two), ["benchmark"])] == [
        "opt_base_learning_rate",
        "opt_adam_beta_1",
    ]


def test_settings_of_different_groups_do_not_vary() -> None:
    table = recorded({"lr": 1}, {"lr": 2}, system=["x", "y"])
    assert settings.differing_settings(table, ["benchmark", "system"]) == {}
    assert settings.differing_settings(table, ["benchmark"]) == {"lr": (("a",),)}


@pytest.mark.parametrize("other", [None, {}, {"lr": None}, "not json", "[1]"])
def test_what_is_not_recorded_does_not_vary(other: dict[str, Any] | str | None) -> None:
    assert settings.differing_settings(recorded({"lr": 1}, other), ["benchmark"]) == {}


def test_runs_may_be_grouped_by_all_they_record() -> None:
    assert settings.differing_settings(recorded({"lr": 1}, {"lr": 2}), ["extra"]) == {}


def test_runs_of_two_learning_rates_in_one_group_are_said(tmp_path: Path) -> None:
    logs = {
        f"{n}.log": made_logs.reaching(
            3 + n, seed=n, more={"opt_base_learning_rate": rate, "global_batch_size": 32}
        )
        for n, rate in enumerate((0.1, 0.1, 0.2))
    }
    output = ingest([made_logs.write(tmp_path, logs)], tmp_path / "runs.parquet").output
    notes = {note.code: note.text for note in api.summary(output).notes}
    assert notes["runs_vary"] == (
        "warning: groups mix setups that differ in recorded settings (`extra`): "
        "opt_base_learning_rate. A statistic of a mixed group may be meaningless."
    )


def test_of_several_groups_those_of_different_setups_are_named() -> None:
    systems = [f"s{n // 2}" for n in range(12)]
    rates = [0.1, 0.2] * 5 + [0.1, 0.1]
    table = recorded(*({"lr": rate} for rate in rates), system=systems).with_columns(
        set_aside=pl.lit(None, pl.String), observed_seconds=pl.lit(1.0)
    )
    (note,) = [one for one in group_notes(table, ["system"]) if one.code == "runs_vary"]
    assert "recorded settings (`extra`): lr (s0, s1, s2 and 2 more)." in note.text
    numbered = table.with_columns(pair=pl.col("system").rank("dense") - 1)
    names = [f"resnet {n}" for n in range(6)]
    (note,) = [one for one in group_notes(numbered, ["pair"], names) if one.code == "runs_vary"]
    assert "lr (resnet 0, resnet 1, resnet 2 and 2 more)" in note.text


def test_a_run_that_missed_another_target_than_its_own_is_told_in_plain_words() -> None:
    table = runs(run_status=["success", "aborted", "success"]).with_columns(
        reached=pl.Series([False, False, True]), evaluations=3, target_value=1.0
    )
    (note,) = failed_notes(table)
    assert note.text == (
        "2 of 3 runs did not reach the target (1 aborted, 1 status success, but the target was not "
        "met); all count in n and in the expected time (ERT), not in the mean."
    )
