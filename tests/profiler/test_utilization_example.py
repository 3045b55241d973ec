"""The example that measures what two papers show makes every plot and every table."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.plotting.test_profiled import profile
from ttastats.profiles import store


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    place = ROOT / "examples" / "reproduce_paper" / "utilization" / "__main__.py"
    return runpy.run_path(str(place))


def test_what_is_recorded_already_is_drawn_and_printed(
    example: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in example["PROFILES"]:
        store.write(profile(name), tmp_path / f"{name}.parquet")
    assert example["main"]([str(tmp_path)]) == 0
    printed, said = capsys.readouterr()
    assert said == ""  # nothing was recorded
    assert {one.stem for one in tmp_path.glob("*.svg")} == set(example["PLOTS"])
    words = " ".join(printed.split())
    # Of 100 GFLOP/s one operator achieves 50, one 80, and batch norm, 30 % of the time, none.
    assert "here: cifar10 34.5 GFLOP/s 34.5% 30.0% 50.0%" in words
    assert "no batch norm 8.00 ms 1.375" in words
    assert "here: digits_2_workers, gloo 50.0% 20.0% 10.0%" in words
    assert "aten::native_batch_norm 30.0% 0.0%" in words


def test_without_a_folder_it_says_what_it_does(
    example: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert example["main"]([]) == 2
    assert "FOLDER" in capsys.readouterr().err


def test_all_that_is_recorded_are_requests_of_workloads(example: dict[str, Any]) -> None:
    assert {request.workload for request in example["PROFILES"].values()} == {
        "cifar10", "digits", "digits-lm",
    }  # fmt: skip
    shown = {name for _, names in example["PLOTS"].values() for name in names}
    assert shown == set(example["PROFILES"])
