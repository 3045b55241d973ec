"""What authors state of their runs comes out of the commands, from logs nobody has described.

A target that no run meets makes `runs` give the last value and the whole time of each.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.test_cli import run
from ttastats import Account, ingest

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def stated(wild: Path) -> dict[str, dict[str, Any]]:
    return {one["setup"]: one for one in json.loads((wild / "truth.json").read_text("utf-8"))}


@pytest.fixture(scope="module")
def table(wild: Path, ingested_round: Callable[[str], Account]) -> Path:
    return Path(str(ingested_round("wild").output))


def rows(command: str, table: Path, *options: str) -> list[dict[str, Any]]:
    done = run(command, table, "-f", "json", *options)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return found


def spread(runs: list[dict[str, Any]], name: str) -> tuple[float, float]:
    values = [each[name] for each in runs]
    return statistics.mean(values), statistics.stdev(values)


def test_means_and_deviations_of_all_setups_of_an_export(
    table: Path, stated: dict[str, dict[str, Any]]
) -> None:
    setups = {
        name.removeprefix("Lucas-longxutang "): one["stated_by_authors"]
        for name, one in stated.items()
        if one["kind"] == "wandb-export"
    }
    ours = ["--where", "source=*wandb_export*", "--target", "val/loss<=3.4"]
    summary = {row["entry"]: row for row in rows("summary", table, *ours)}
    runs = rows("runs", table, *ours)
    assert summary.keys() == setups.keys()
    assert len(setups) == 16
    for entry, theirs in setups.items():
        row, own = summary[entry], [each for each in runs if each["entry"] == entry]
        assert row["n"] == len(own) == theirs["n"]
        ours = (row["tta_mean_seconds"], row["tta_std_seconds"], *spread(own, "value_final"))
        names = ("runtime_mean", "runtime_std", "val_loss_mean", "val_loss_std")
        assert ours == pytest.approx(tuple(theirs[name] for name in names), rel=1e-8)


def test_medians_of_three_studies_of_algoperf(
    table: Path, stated: dict[str, dict[str, Any]]
) -> None:
    setups = {n: one["check"] for n, one in stated.items() if one["kind"] == "algoperf"}
    assert len(setups) >= 8
    for name, check in setups.items():
        entry, _, benchmark = name.rpartition("/")[2].partition(" ")
        theirs = [float(each) for each in check["best_trial_tta_per_study"]]
        best = []
        for study in range(len(theirs)):
            which = (f"entry={entry}", f"benchmark={benchmark}", f"source=*/study_{study}/*")
            trials = rows("runs", table, *(word for one in which for word in ("--where", one)))
            best.append(min(t["tta_seconds"] if t["reached"] else math.inf for t in trials))
        assert best == pytest.approx(theirs, abs=1e-5)
        median = float(check["median_over_studies"])
        assert statistics.median(best) == pytest.approx(median, abs=1e-5)


def test_the_submitted_value_of_parameter_golf(
    wild: Path, tmp_path: Path, stated: dict[str, dict[str, Any]]
) -> None:
    setup = stated["2026-04-09_SP8192_3LayerRecur_ParResid_QK525_LegalTTT"]
    block = {
        "files": "{entry}/train_seed{seed}.log",
        "line": r"^quantized_ttt val_loss:\S+ val_bpb:(?P<val_bpb>\S+)",
        "metric": "val_bpb",
    }
    ingest([wild / "parameter-golf"], tmp_path / "golf.parquet", block=block)
    runs = rows("runs", tmp_path / "golf.parquet")
    mean, deviation = spread(runs, "value_final")
    theirs = setup["stated_by_authors"]
    assert sorted(each["seed"] for each in runs) == theirs["seeds"]
    assert (round(mean, 3), round(deviation, 4)) == (theirs["val_bpb"], theirs["val_bpb_std"])
