"""The example that measures what two papers show makes every plot and every table."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import ROOT
from tests.plotting.test_profiled import profile
from ttastats.traces.table import write_profile


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    place = ROOT / "examples" / "reproduce_paper" / "utilization" / "__main__.py"
    return runpy.run_path(str(place))


def test_recorded_profiles_are_drawn_and_printed(
    example: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in example["PROFILES"]:
        write_profile(profile(name), tmp_path / f"{name}.parquet")
    assert example["main"]([str(tmp_path)]) == 0
    stdout, stderr = capsys.readouterr()
    assert stderr == ""  # nothing was recorded
    assert {path.stem for path in tmp_path.glob("*.svg")} == set(example["PLOTS"])
    words = " ".join(stdout.split())
    # Of 100 GFLOP/s one operator achieves 50, one 80, and batch norm, 30 % of the time, none.
    assert "here: cifar10 34.5 GFLOP/s 34.5% 30.0% 50.0%" in words
    assert "no batch norm 8.00 ms 1.375" in words
    assert "here: digits_2_workers, gloo 50.0% 20.0% 10.0%" in words
    assert "here: cifar10 aten::native_batch_norm 30.0% " in words


def test_tables_of_tbd_are_printed_beside_those_of_here(
    example: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in example["PROFILES"]:
        rows = profile(name)
        if name == "digits_lm":
            rows = rows.filter(pl.col("category").ne_missing("batch norm"))
        write_profile(rows, tmp_path / f"{name}.parquet")
    assert example["main"]([str(tmp_path)]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "Table V: TensorFlow, ResNet-50 bn_fw 5.5% 42.3%" in words
    assert "Table VI: MXNet, ResNet-50 mxnet_generic 2.9% 25.4%" in words
    assert "Table V: TensorFlow, ResNet-50 2 of 5 10.2% below 100% –" in words
    assert "Table VI: MXNet, ResNet-50 2 of 5 17.4% below 100% –" in words
    # 8 MB in 3 ms, at 1 FLOP per byte 2.67 of 38 GFLOP/s.
    assert "here: cifar10 1 of 1 30.0% 7.0% yes" in words
    assert "here: digits_lm 0 of 1 0.0% – has no batch norm" in words
    assert "paper: Sockeye 89.0% –" in words
    assert "here: cifar10 80.0% 100 B" in words
    assert "that of batch norm is estimated" in words


@pytest.mark.parametrize(
    ("others", "moved", "agrees"), [(5, 1e9, "no"), (4, 1e9, "yes"), (4, 1e12, "no")]
)
def test_batch_norm_agrees_with_tbd_if_it_is_long_and_below_the_average(
    example: dict[str, Any], others: int, moved: float, agrees: str
) -> None:
    usual = {"section": "operator", "share": 0.1, "seconds": 1.0, "of_average": None}
    rows = [{**usual, "name": f"op{n}", "category": "copy"} for n in range(others)]
    norm = {"bytes": moved, "average_flops_per_second": 1e10}
    rows.append({**usual, **norm, "name": "aten::native_batch_norm", "category": "batch norm"})
    table = example["_batch_norm"]([], dict.fromkeys(example["_ONE_WORKER"], rows))
    assert {row.cells[-1].text for row in table.rows} == {agrees}


def test_without_a_folder_it_says_what_it_does(
    example: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert example["main"]([]) == 2
    assert "FOLDER" in capsys.readouterr().err


def test_all_that_is_recorded_are_requests_of_workloads(example: dict[str, Any]) -> None:
    workloads = {Path(request.workload).stem for request in example["PROFILES"].values()}
    assert workloads == {"cifar10", "digits", "digits-lm"}
    shown = {name for _, names in example["PLOTS"].values() for name in names}
    assert shown == set(example["PROFILES"])
