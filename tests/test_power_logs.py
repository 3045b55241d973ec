"""The energy of a run, from the power logs that lie beside it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

import ttastats as tta
from tests.made_logs import line
from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import log_from_bytes
from ttastats.table import store
from ttastats_parsers import mlperf_mllog

RESULT = "".join(
    (
        line("submission_benchmark", "resnet"),
        line("run_start", None, 10),
        line("eval_accuracy", 0.76, 30, epoch_num=40),
        line("run_stop", None, 30, status="success"),
    )
)


def power(*watts: tuple[float, float], efficiency: float | None = None) -> str:
    first = line("conversion_eff", efficiency) if efficiency is not None else ""
    return first + "".join(line("power_reading", value, at) for at, value in watts)


def test_nodes_and_switches_add_up_with_their_efficiencies() -> None:
    files = {
        "node_0.txt": power((0, 100), (40, 100), efficiency=0.5),
        "node_1.txt": power((0, 300), (40, 300)),
        "sw_0.txt": line("conversion_eff", 0.9) + line("interconnect_power_est", 50),
        "total_power.txt": "nonsense",
    }
    folder = "/v5.0/Org/results/box/resnet"
    beside = {f"{folder}/power/result_0/{name}": text.encode() for name, text in files.items()}
    (run,) = mlperf_mllog.parse(log_from_bytes(RESULT.encode(), f"{folder}/result_0.txt", beside))
    assert isinstance(run, Run)
    assert run.extra["energy_joules"] == pytest.approx(20 * (50 + 300 + 45))


def test_without_power_logs_no_folder_is_listed() -> None:
    places: list[object] = []
    log = log_from_bytes(RESULT.encode(), "/v5.0/Org/results/box/resnet/result_0.txt")
    log = msgspec.structs.replace(log, listing=lambda place: places.append(place) or ())
    (run,) = mlperf_mllog.parse(log)
    assert not isinstance(run, Problem)
    assert places == []


def test_the_energy_of_real_results_is_near_the_official_figure(
    real_logs: Path, tmp_path: Path
) -> None:
    """The official one is the mean power of the measurement times the length of the run."""
    official = pytest.importorskip("mlperf_logging.result_summarizer.result_summarizer")
    folder = real_logs / "v5.0/Lenovo/results/SR780aV3-8xB200_SXM_180GB/bert"
    tta.ingest([folder], tmp_path / "bert.parquet")
    rows = store.read_tables([tmp_path / "bert.parquet"]).collect().unique("source").sort("source")
    assert rows.height == len(list(folder.glob("result_*.txt"))) == 10
    for row in rows.iter_rows(named=True):
        known = json.loads(row["extra"])["energy_joules"]
        result = folder / row["source"].rpartition("/")[2]
        expected = official._compute_total_power(
            str(folder), str(result), row["run_seconds"] * 1000, "5.0.0"
        )
        assert known == pytest.approx(expected, rel=0.15)
    (summary,) = tta.summary(tmp_path / "bert.parquet", unit="energy").rows
    assert summary["reached"] == summary["n"] == 10
