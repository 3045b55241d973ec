"""The example that reproduces a paper tests its published means, and trains runs beside them."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from tests.accepted import in_full
from tests.conftest import ROOT, matches_accepted
from ttastats.report.answer import Report

FOLDER = ROOT / "examples" / "reproduce_paper"
ACCEPTED = ROOT / "tests" / "reference" / "answers" / "unseen_data_of_the_paper.txt"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / "__main__.py"))


@pytest.fixture(scope="module")
def paper() -> dict[str, Any]:
    return tomllib.loads((FOLDER / "paper.toml").read_text("utf-8"))


def test_the_tables_of_unseen_data_are_as_accepted(
    example: dict[str, Any], paper: dict[str, Any]
) -> None:
    tables = (example["_table_5"](paper["table_5"]), example["_table_6"](paper["table_6"]))
    printed = in_full(Report("reproduce_paper", (), tables, example["_NOTES"]))
    assert matches_accepted(ACCEPTED, printed + "\n")


def test_the_difference_of_table_6_is_that_of_scipy_from_summary_statistics(
    example: dict[str, Any], paper: dict[str, Any]
) -> None:
    table = example["_table_6"](paper["table_6"])
    for row, printed in zip(paper["table_6"], table.rows, strict=True):
        sides = [(mean, (3 / 2) ** 0.5 * sd, 3) for mean, sd in (row["dgx1"], row["reference"])]
        theirs = stats.ttest_ind_from_stats(*sides[0], *sides[1], equal_var=False)
        assert printed.cells[5].value == pytest.approx(theirs.pvalue)


def test_without_a_folder_of_logs_the_usage_is_printed(
    example: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert example["main"]([]) == 2
    assert "FOLDER [SWEEP]" in capsys.readouterr().err


def test_a_sweep_is_made_once_and_its_quality_on_unseen_data_compared(
    example: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="training needs PyTorch")
    from ttastats.trainer import experiment
    from ttastats.trainer.settings import Overrides

    def of_few_epochs(request: Any, settings: Overrides, *others: Any) -> Any:
        return plan(request, Overrides({**settings.values, "target": 0.5}), *others)

    plan = experiment.plan_runs
    monkeypatch.setattr(experiment, "plan_runs", of_few_epochs)
    table = example["sweep"](tmp_path, range(1))
    logs = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result_*.txt")}
    assert len(logs) == 2
    assert [row.cells[0].text for row in table.rows] == ["batch_size 32", "batch_size 128"]
    assert "on data that were not used to stop them (cf. Table 5)" in table.title
    assert example["sweep"](tmp_path, range(1)) == table
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result_*.txt")} == logs
