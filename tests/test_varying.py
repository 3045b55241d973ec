"""How the runs of a group differ: setup columns, and settings that the logs record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests import made_logs
from tests.accepted import Case, cases
from ttastats import api
from ttastats.ingestion.ingest import ingest
from ttastats.outcomes import settings
from ttastats.report.grouping import failed_notes, group_notes
from ttastats.sides import setups
from ttastats.table import schema


def runs(**columns: list[Any]) -> pl.DataFrame:
    height = len(next(iter(columns.values())))
    unknown = {name: [None] * height for name in schema.RUN_NAMES if name not in columns}
    return pl.DataFrame(columns | unknown, schema_overrides=dict(schema.POLARS))


def recorded(*settings: dict[str, Any] | str | None, **columns: list[Any]) -> pl.DataFrame:
    texts = [s if isinstance(s, str | None) else json.dumps(s) for s in settings]
    return runs(extra=texts, benchmark=["a"] * len(texts), **columns)


ONE = {"opt_adam_beta_1": 0.9, "opt_base_learning_rate": 0.1, "init_seconds": 3.0}
OTHER = {"opt_adam_beta_1": 0.8, "opt_base_learning_rate": 0.2, "init_seconds": 4.0}
OF_TWO = recorded({"lr": 1}, {"lr": 2}, system=["x", "y"])
OF_SYSTEMS = recorded(
    *({"lr": rate} for rate in [0.1, 0.2] * 5 + [0.1, 0.1]),
    system=[f"s{n // 2}" for n in range(12)],
).with_columns(set_aside=pl.lit(None, pl.String), observed_seconds=pl.lit(1.0))


def varying() -> Iterator[Any]:
    """Yield the columns that differ within groups, and how they are described."""
    table = runs(benchmark=["a", "a", "b"], nodes=[1, 2, 4], system=["x", "x", "y"])
    unknown = runs(benchmark=["a", "a"], nodes=[None, 2])
    for frame, by in ((table, ["benchmark"]), (table, ["benchmark", "nodes"]), (table, []),
                      (unknown, ["benchmark"])):  # fmt: skip
        yield ["columns", by, settings.differing_columns(frame, by)]
    of_settings = [(recorded(ONE, OTHER), ["benchmark"]), (OF_TWO, ["benchmark", "system"]),
                   (OF_TWO, ["benchmark"]), (OF_TWO, ["extra"])]  # fmt: skip
    of_settings += [
        (recorded({"lr": 1}, other), ["benchmark"])
        for other in (None, {}, {"lr": None}, "not json", "[1]")
    ]
    for frame, by in of_settings:
        yield ["settings", by, settings.differing_settings(frame, by)]
    yield list(group_notes(OF_SYSTEMS, ["system"]))
    numbered = OF_SYSTEMS.with_columns(pair=pl.col("system").rank("dense") - 1)
    yield list(group_notes(numbered, ["pair"], [f"resnet {n}" for n in range(6)]))
    missed = runs(run_status=["success", "aborted", "success"]).with_columns(
        reached=pl.Series([False, False, True]), evaluations=3, target_value=1.0
    )
    yield list(failed_notes(missed))
    for names in (["x", None], ["x", "y", "z"], ["x", "y", "z", "w"], [None]):
        frame = runs(hardware=names, entry=[*map(str, range(len(names)))])
        yield ["described", names, setups.values_text(frame, "hardware")]


@cases("pieces", varying=varying)
@pytest.mark.usefixtures("in_codes")
def test_varying_settings_are_named_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_the_setup_columns_exist() -> None:
    assert set(settings.SETUP) <= set(schema.RUN_NAMES)


def test_settings_of_logs_that_vary_in_one_group_are_noted(tmp_path: Path) -> None:
    logs = {
        f"{n}.log": made_logs.reaching(3 + n, seed=n, more={"opt_base_learning_rate": rate})
        for n, rate in enumerate((0.1, 0.1, 0.2))
    }
    output = ingest([made_logs.write(tmp_path, logs)], tmp_path / "runs.parquet").output
    notes = {note.code: note.text for note in api.summary(output).notes}
    assert "recorded settings (`extra`): opt_base_learning_rate. A" in notes["runs_vary"]
