"""Which parts of a step a throughput came from: profiles beside the runs of the same systems."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

import ttastats as tta
from tests.made_curves import evaluation, logs, of
from tests.test_cli import run
from tests.test_profile_changes import profile, steps
from ttastats.report.answer import Report
from ttastats.table import store as run_store
from ttastats.traces import table

PACE_A, PACE_B = (20.0, 20.4, 19.8, 20.2), (16.0, 16.3, 15.9, 16.1)


def runs(pace: tuple[float, ...]) -> pl.DataFrame:
    """Return runs of two epochs that end at the target after so many seconds."""
    facts = {"run_status": "success", "global_batch_size": 10, "train_samples": 1000}
    return logs(
        [
            of(
                evaluation(0, 5.0, seconds=length / 2, target_value=3.28),
                evaluation(1, 3.2, seconds=length, target_value=3.28),
                run_seconds=length,
                **facts,
            )
            for length in pace
        ]
    )


def of_one_process(path: Path) -> Path:
    table.write_profile(table.read_profiles([path]).filter(pl.col("name") != "world_size"), path)
    return path


@pytest.fixture
def a(tmp_path: Path) -> Path:
    return of_one_process(profile(tmp_path / "a.parquet", steps((100, 102, 98, 100))))


@pytest.fixture
def b(tmp_path: Path) -> Path:
    return of_one_process(profile(tmp_path / "b.parquet", steps((70, 71, 69, 70), norm=25.0)))


def notes(report: Report) -> dict[str, str]:
    return {note.code: note.text for note in report.notes}


def test_factors_multiply_to_the_throughput_of_the_runs(a: Path, b: Path) -> None:
    (row,) = tta.compare(runs(PACE_A), runs(PACE_B), profiles=(a, b)).rows
    assert row["step_factor"] == pytest.approx(150 / 125)
    parts = [
        value
        for key, value in row.items()
        if key.endswith("_factor") and key not in ("step_factor", "rest_factor")
    ]
    assert math.prod(parts) == pytest.approx(row["step_factor"])
    whole = row["step_factor"] * row["rest_factor"]
    assert whole == pytest.approx(row["throughput_speedup"]) == pytest.approx(80.4 / 64.3)
    shares = row["matrix_product_share"], row["batch_norm_share"], row["rest_share"]
    assert sum(shares) == pytest.approx(1)
    mean = 25 / math.log(150 / 125)
    assert row["matrix_product_factor"] == pytest.approx(math.exp(30 / mean))
    assert row["matrix_product_a_seconds"] == pytest.approx(100e-6)


def test_one_profile_has_no_noise_and_repeated_ones_do(a: Path, b: Path, tmp_path: Path) -> None:
    alone = tta.compare(runs(PACE_A), runs(PACE_B), profiles=(a, b))
    assert alone.rows[0]["matrix_product_factor_low"] is None
    assert "have no intervals" in notes(alone)["factors"]
    several = [
        profile(tmp_path / side / f"{shift}.parquet", steps((pace + shift, pace + shift)))
        for side, pace in (("of_a", 100), ("of_b", 70))
        for shift in (0, 3)
    ]
    for sides in ((several[:2], several[2:]), (tmp_path / "of_a", tmp_path / "of_b")):
        report = tta.compare(runs(PACE_A), runs(PACE_B), profiles=sides)
        (row,) = report.rows
        assert row["matrix_product_factor_low"] < row["matrix_product_factor"]
        assert row["rest_factor_low"] < row["rest_factor"] < row["rest_factor_high"]
        assert "over 2 profiles of A and 2 of B" in notes(report)["factors"]


def test_what_cannot_be_explained_is_not(a: Path, b: Path) -> None:
    sides, profiles = (runs(PACE_A), runs(PACE_B)), (a, b)
    assert "unexplained" in notes(tta.compare(*sides, profiles=profiles, unit="epochs"))
    unsized = [side.with_columns(train_samples=pl.lit(None, pl.Int64)) for side in sides]
    assert "step_lengths" in notes(tta.compare(*sides, profiles=profiles))
    assert "step_lengths" not in notes(tta.compare(*unsized, profiles=profiles))


def test_the_options_of_the_command(a: Path, b: Path, tmp_path: Path) -> None:
    for name, pace in (("ra", PACE_A), ("rb", PACE_B)):
        run_store.write(runs(pace), tmp_path / f"{name}.parquet")
    files = [str(tmp_path / f"{name}.parquet") for name in ("ra", "rb")]
    both = ["--profile-a", str(a), "--profile-b", str(b)]
    shown = run("compare", *files, *both)
    assert "= throughput of the runs" in shown.stdout
    assert "matrix_product_share" in run("compare", *files, *both, "--format", "csv").stdout
    alone = run("compare", *both)
    assert "A step of B is" in alone.stdout
    lacking = run("compare", *files, "--profile-a", str(a))
    assert lacking.returncode == 2
    assert "Add --profile-b" in lacking.stderr
    assert "Pass it as --profile-a" in run("compare", files[0], a).stderr
    assert "nothing to compare" in run("compare").stderr
