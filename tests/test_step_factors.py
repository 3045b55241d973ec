"""Which parts of a step a throughput came from: profiles beside the runs of the same systems."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ttastats as tta
from tests.made_curves import evaluation, logs, of
from tests.test_cli import run
from tests.test_profile_changes import profile, steps
from ttastats.base.errors import TtastatsError
from ttastats.report.answer import Report
from ttastats.table import store as run_store
from ttastats.traces import store, table
from ttastats.traces.table import measure_row

PACE_A, PACE_B = (20.0, 20.4, 19.8, 20.2), (16.0, 16.3, 15.9, 16.1)


def runs(pace: tuple[float, ...], **more: Any) -> pl.DataFrame:
    """Return runs of two epochs that end at the target after so many seconds."""
    own = {"run_status": "success", "benchmark": "lm", "global_batch_size": 10} | more
    own = {"train_samples": 1000} | own
    return logs(
        [
            of(
                evaluation(0, 5.0, seconds=length / 2, target_value=3.28),
                evaluation(1, 3.2, seconds=length, target_value=3.28),
                run_seconds=length,
                **own,
            )
            for length in pace
        ]
    )


def told(path: Path, *more: Mapping[str, Any], **columns: Any) -> Path:
    """Add measures to a profile, and write some of its columns anew."""
    rows = store.read_profiles([path])
    own = table.frame_of(more, profile_id=rows["profile_id"][0], profile="made")
    named = [pl.lit(value).alias(name) for name, value in columns.items()]
    store.write_profile(pl.concat([rows, own]).with_columns(named), path)
    return path


def of_one_process(path: Path) -> Path:
    store.write_profile(store.read_profiles([path]).filter(pl.col("name") != "world_size"), path)
    return path


@pytest.fixture
def a(tmp_path: Path) -> Path:
    return of_one_process(profile(tmp_path / "a.parquet", steps((100, 102, 98, 100))))


@pytest.fixture
def b(tmp_path: Path) -> Path:
    return of_one_process(profile(tmp_path / "b.parquet", steps((70, 71, 69, 70), norm=25.0)))


def compared(a: Path, b: Path, *, of_b: pl.DataFrame | None = None, **more: Any) -> Report:
    other = runs(PACE_B) if of_b is None else of_b
    return tta.compare(runs(PACE_A), other, profiles=(a, b), **more)


def notes(report: Report) -> dict[str, str]:
    return {note.code: note.text for note in report.notes}


def test_factors_multiply_to_the_throughput_of_the_runs(a: Path, b: Path) -> None:
    (row,) = compared(a, b).rows
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


def test_the_sentence_tells_the_largest_shares_and_what_is_left(a: Path, b: Path) -> None:
    said = compared(a, b).sentence
    assert said.endswith(
        "Of the throughput's 1.25, on a log scale: matrix product 0.98, batch "
        "norm -0.16, not in the profiles 0.18."
    )


def test_a_throughput_that_may_be_none_has_no_shares(a: Path, b: Path) -> None:
    report = compared(a, b, of_b=runs((20.3, 15.9, 22.4, 24.0)))
    assert report.rows[0]["matrix_product_share"] is None
    assert report.rows[0]["matrix_product_factor"] > 1
    assert "not significantly different" in report.sentence


def test_one_profile_has_no_noise_and_repeated_ones_do(a: Path, b: Path, tmp_path: Path) -> None:
    alone = compared(a, b)
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


def test_batches_of_two_sizes_are_compared_by_the_sample(a: Path, b: Path) -> None:
    told(a, measure_row("batch_size", 10))
    told(b, measure_row("batch_size", 20))
    report = compared(a, b, of_b=runs(PACE_B, global_batch_size=20))
    assert report.rows[0]["step_factor"] == pytest.approx(2 * 150 / 125)
    assert "a step of A has 10 samples, one of B 20" in notes(report)["samples"]
    assert "profile_of_others" not in notes(report)


def test_the_workers_of_a_step_share_its_samples(a: Path, b: Path) -> None:
    told(a, measure_row("batch_size", 10))
    told(b, measure_row("batch_size", 5), measure_row("workers_step_seconds", 1e-4, of="2"))
    report = compared(a, b)
    assert report.rows[0]["step_factor"] == pytest.approx(150 / 125)
    assert "profile_of_others" not in notes(report)


def test_steps_of_runs_and_of_profiles_are_set_side_by_side(a: Path, b: Path) -> None:
    report = compared(a, b)
    # Ten seconds an epoch of 100 steps, and a profile of 150 microseconds.
    said = notes(report)["step_lengths"]
    assert "a step takes 100 ms in the runs of A, 670 times as long as in its profile" in said
    unknown = compared(a, b, of_b=runs(PACE_B, train_samples=None))
    assert "of B" not in notes(unknown)["step_lengths"]


def test_what_does_not_belong_together_is_said(a: Path, b: Path) -> None:
    told(a, measure_row("batch_size", 32), origin="recorded", source="digits")
    told(b, measure_row("device_name", of="0", text="NVIDIA H200"))
    slow = runs(PACE_B, hardware="DGX A100", accelerators=8)
    (first, second) = (
        note.text for note in compared(a, b, of_b=slow).notes if note.code == "profile_of_others"
    )
    assert first == (
        "profiles and runs of A do not match: the profile is of digits, the runs "
        "of lm; a step of the profile has 32 samples, one of the runs 10."
    )
    assert "the profile is of Example GPU, NVIDIA H200, the runs of DGX A100" in second
    same = runs(PACE_B, hardware="8x H200 SXM", accelerators=8)
    texts = [note.text for note in compared(a, b, of_b=same).notes]
    assert any("the profile is of 1 process, the runs used 8 accelerators" in one for one in texts)


def test_what_counts_cpu_time_is_said_beside_runs_that_do_not(a: Path, b: Path) -> None:
    told(a, measure_row("uninstrumented_step_seconds", 1e-4, text="by CPU time of the thread"))
    assert "--in cpu-seconds" in notes(compared(a, b))["clocks"]
    assert "clocks" not in notes(compared(told(a, text="by the wall"), b))


def test_no_throughput_is_explained_where_none_is_known(a: Path, b: Path) -> None:
    report = compared(a, b, unit="epochs")
    assert "the profiles cannot be used" in notes(report)["unexplained"]
    assert "step_factor" not in report.rows[0]


def test_profiles_explain_one_comparison(a: Path, b: Path) -> None:
    with pytest.raises(TtastatsError, match="2 comparisons"):
        tta.compare(runs(PACE_A), runs(PACE_B), runs(PACE_B), profiles=(a, b))
    with pytest.raises(TtastatsError, match="profiles apply to times to a target"):
        compared(a, b, at_end=True)


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
