"""Published traces, with figures that were computed without this program."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ttastats import api
from ttastats.ingestion import traces
from ttastats.ingestion.sources import find
from ttastats.traces import answers, kineto

pytestmark = pytest.mark.real


def total(rows: pl.DataFrame, column: str, **where: Any) -> Any:
    return rows.filter(**where)[column].sum()


@pytest.fixture(scope="module")
def folder(real_logs: Path) -> Path:
    path = real_logs / "traces"
    if not path.is_dir():
        pytest.skip(f"no traces in {real_logs}")
    return path


@lru_cache
def read(path: Path) -> pl.DataFrame:
    return traces.read(find([str(path)])).rows


def shares(rows: pl.DataFrame) -> dict[str, float]:
    """Return the parts of all steps together as percentages."""
    steps = answers.step_table(rows)
    whole = steps["step_seconds"].sum()
    return {
        name.removesuffix("_seconds"): 100 * steps[name].sum() / whole
        for name in steps.columns
        if name.endswith("_seconds")
    }


def test_a_resnet_on_two_a100_waits_for_its_host(folder: Path) -> None:
    rows = read(folder / "nccl_parser_config_nccl_data.json.gz")
    parts = shares(rows)
    busy = parts["compute"] + parts["exposed"] + parts["copy"]
    assert busy == pytest.approx(23.8, abs=0.3)
    assert parts["communication"] == pytest.approx(7.1, abs=0.1)
    assert parts["exposed"] == pytest.approx(6.0, abs=0.1)
    kernels = answers.category_table(rows)
    share = dict(kernels.select("category", "share").iter_rows())
    assert 100 * share["batch norm"] == pytest.approx(27.1, abs=0.1)
    assert answers.step_table(rows)["step"].to_list() == [4, 5, 6]
    assert rows.filter(kind="collective")["bytes"].min() > 0
    on_device = rows.filter(pl.col("kind").is_in(["kernel", "collective"]))
    assert total(on_device, "calls") == 2700
    assert on_device["operator"].null_count() == 0


def test_a_recommender_on_eight_a100_hides_half_of_its_communication(folder: Path) -> None:
    rows = read(folder / "trace_diff_control_control.json.gz")
    parts = shares(rows)
    assert parts["compute"] + parts["exposed"] + parts["copy"] == pytest.approx(83.6, abs=0.1)
    assert parts["communication"] == pytest.approx(35.2, abs=0.1)
    assert parts["exposed"] == pytest.approx(18.9, abs=0.1)
    kernels = rows.filter(kind="kernel")
    on = kernels.filter("tensor_core")["seconds"].sum() / kernels["seconds"].sum()
    assert 100 * on == pytest.approx(23.6, abs=0.1)
    assert rows["rank"].unique().to_list() == [3]
    # Kernels of 2022 are found by the calls that launched them.
    known = kernels.filter(pl.col("operator").is_not_null())
    assert total(known, "calls") / total(kernels, "calls") > 0.99
    products = known.filter(operator="aten::addmm")
    assert total(products, "flops") == total(rows, "flops", name="aten::addmm", kind="operator")


def test_a_toy_on_an_mi250_is_all_waiting(folder: Path) -> None:
    rows = read(folder / "amd_trace_mi250_minitoy_train_ROCm6_2_kineto.json.gz")
    assert shares(rows)["compute"] == pytest.approx(1.2, abs=0.1)
    kernels = rows.filter(kind="kernel")
    assert total(kernels, "calls") == 14
    assert kernels["operator"].null_count() == 0
    products = kernels.filter(pl.col("flops") > 0)
    assert set(products["operator"]) == {"aten::addmm", "aten::mm"}
    assert products["tensor_core"].sum() == 2


def test_time_over_tensor_cores_is_that_of_the_kernels_durations(folder: Path) -> None:
    """Of the kernels that are not NCCL's, summed from the JSON itself."""
    (resnet,) = api.plot_profiles("work", folder / "nccl_parser_config_nccl_data.json.gz")
    assert "nccl_parser_config_nccl_data 30.5%, without batch norm 41.9%, " in resnet.caption
    rates, cores = api.plot_profiles("work", folder / "trace_diff_control_control.json.gz")
    assert "trace_diff_control_control 23.6%, " in cores.caption
    assert rates.data["work"]["flops_per_second"].max() == pytest.approx(30.5e12, rel=0.01)


def test_ranges_of_cupti_have_the_instructions_that_were_counted(folder: Path) -> None:
    (path,) = folder.glob("cupti_profiler_*")
    rows = read(path).filter(kind="kernel")
    assert total(rows, "calls") == 77
    assert rows["seconds"].null_count() == rows.height
    assert total(rows, "flops") > 1e10


def test_a_truncated_trace_gives_its_events(folder: Path) -> None:
    for path, share in zip(sorted(folder.glob("*.gz")), (0.3, 0.9, 0.3, 0.1), strict=False):
        data = gzip.decompress(path.read_bytes())
        trace = kineto.read_trace([data[: int(len(data) * share)]])
        assert [problem.code for problem in trace.problems if problem.severity == "warning"] == [
            "truncated_trace"
        ]
        assert trace.rows.filter(pl.col("kind") != "measure").height
