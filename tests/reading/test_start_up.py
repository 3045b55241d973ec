"""Start-up is told apart from the work: a factor of its own, beside a steady throughput."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.made_logs import write
from tests.reading.asking import ask
from tests.reading.curves import GUISES, Curves, compared
from ttastats.base.records import ESTIMATED_START

in_guises = pytest.mark.parametrize("seed", GUISES)


@in_guises
def test_start_up_is_a_factor_beside_a_steady_throughput(seed: int, tmp_path: Path) -> None:
    draw = Curves(seed)
    pace, startup = draw.draw.uniform(15, 30), draw.draw.uniform(60, 200)
    clock = draw.draw.choice(("elapsed", "seconds", "wall_time"))
    for side, each, before in (("a", pace, 0.0), ("b", 0.8 * pace, startup)):
        for run in range(4):
            lines = [f"{draw.unit},{clock},val_acc"] + [
                f"{row['progress']},{row['seconds']:.3f},{row['quality']:.5f}"
                for row in draw.rows(each, startup=before, seed=run)
            ]
            write(tmp_path, {f"{side}/seed{run}.csv": "\n".join(lines) + "\n"})
    answer = ask("compare", tmp_path / "a", tmp_path / "b", "--guess", "--target", "val_acc>=0.9")
    (row,) = answer.rows
    ratio = pace * draw.hit / (0.8 * pace * draw.hit + startup)
    assert row["speedup"] == pytest.approx(ratio, rel=0.01)
    assert row["throughput_speedup"] == pytest.approx(1.25, rel=0.01)
    assert row["startup_b_seconds"] == pytest.approx(startup, rel=0.02)
    factors = row["startup_ratio"] * row["throughput_speedup"] * row["epochs_ratio"]
    assert factors == pytest.approx(row["speedup"], rel=0.01)
    assert "start-up before the first epoch is a factor of its own" in answer.text
    assert "B 0" not in answer.text


def why(a: pl.DataFrame, b: pl.DataFrame) -> dict[str, Any]:
    return compared(a, b)[0]


@in_guises
def test_start_up_below_two_percent_or_the_noise_is_no_factor(seed: int) -> None:
    draw = Curves(seed)
    pace = draw.draw.uniform(20, 60)
    short = draw.side(0.8 * pace, startup=0.015 * pace * draw.hit)
    assert why(draw.side(pace), short)["startup_ratio"] is None
    noisy = [row | {"seconds": row["seconds"] + draw.draw.uniform(0, 0.6) * pace}
             for n in range(4) for row in draw.rows(0.8 * pace, seed=n)]  # fmt: skip
    assert why(draw.side(pace), draw.table(noisy))["startup_ratio"] is None


@in_guises
def test_start_up_needs_a_known_start_and_three_evaluations(seed: int) -> None:
    draw = Curves(seed)
    pace = draw.draw.uniform(20, 60)
    slow: dict[str, Any] = {"startup": 5 * pace}
    assert why(draw.side(pace), draw.side(0.8 * pace, **slow))["startup_ratio"] is not None
    estimated = draw.side(0.8 * pace, clock_zero=ESTIMATED_START, **slow)
    assert why(draw.side(pace), estimated)["startup_ratio"] is None
    draw.length = draw.hit = 2
    assert why(draw.side(pace), draw.side(0.8 * pace, **slow))["startup_ratio"] is None


@in_guises
def test_epochs_that_count_from_0_are_no_start_up(seed: int) -> None:
    draw = Curves(seed)
    pace = draw.draw.uniform(20, 60)

    def from_zero(pace: float) -> pl.DataFrame:
        rows = (row for n in range(4) for row in draw.rows(pace, seed=n))
        return draw.table([row | {"progress": row["progress"] - draw.every} for row in rows])

    assert why(from_zero(pace), from_zero(0.8 * pace))["startup_ratio"] is None


def test_an_evaluation_of_untrained_weights_hides_no_start_up() -> None:
    draw = Curves(7)
    first = draw.rows(16.0, startup=100.0)[0] | {"progress": 0, "seconds": 0.5, "quality": 0.1}
    rows = [row | {"run": f"b{n}", "seed": n} for n in range(4)
            for row in (first, *draw.rows(16.0, startup=100.0, seed=n))]  # fmt: skip
    row = why(draw.side(20.0), draw.table(rows))
    assert row["startup_b_seconds"] == pytest.approx(100, rel=0.02)
    assert row["throughput_speedup"] == pytest.approx(1.25, rel=0.01)


def test_official_runs_keep_the_time_per_epoch_of_the_paper() -> None:
    draw, sides = Curves(8), []
    for pace, startup in ((20.0, 0.0), (16.0, 100.0)):
        side = draw.side(pace, startup=startup)
        sides.append(side.with_columns(suite=pl.lit("mlperf"), benchmark=pl.lit("resnet")))
    row = why(*sides)
    assert row["startup_ratio"] is None
    assert row["throughput_speedup"] == pytest.approx(row["speedup"])
