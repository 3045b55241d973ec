"""What accounts for a change of the time of a step, between two profiles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ttastats as tta
from tests.made_traces import Event, kernel, launch, operator, step, trace, written
from ttastats.cli import app
from ttastats.errors import TtastatsError


def steps(products: Sequence[float], norm: float = 20.0) -> list[Event]:
    """Give steps of a product of some lengths and a batch norm, 30 longer than both."""
    found: list[Event] = []
    zero = 0.0
    for number, product in enumerate(products):
        own, length = 10 * number, product + norm + 30
        found += [
            step(number, zero, length),
            operator("aten::mm", zero + 1, 5, own + 1),
            launch(zero + 2, own + 1),
            kernel("gemm", zero + 10, product, own + 1),
            operator("aten::native_batch_norm", zero + 7, 2, own + 2),
            launch(zero + 8, own + 2),
            kernel("bn_fw_tr_1C11", zero + 10 + product, norm, own + 2),
        ]
        zero += length
    return found


def profile(path: Path, *traces: list[Event]) -> Path:
    folder = path.with_suffix("")
    for number, events in enumerate(traces):
        written(folder / f"{number}.json", trace(events, 0))
    tta.ingest([folder], path)
    return path


@pytest.fixture
def a(tmp_path: Path) -> Path:
    return profile(tmp_path / "a.parquet", steps((100, 102, 98, 100)))


@pytest.fixture
def b(tmp_path: Path) -> Path:
    return profile(tmp_path / "b.parquet", steps((70, 71, 69, 70), norm=25.0))


def test_kinds_of_work_and_parts_account_for_the_whole_change(a: Path, b: Path) -> None:
    report = tta.compare_profiles(a, b)
    rows = {row["name"]: row for row in report.rows}
    assert rows["whole step"]["change"] * 1e6 == pytest.approx(-25)
    assert rows["matrix product"]["change"] * 1e6 == pytest.approx(-30)
    assert rows["batch norm"]["change"] * 1e6 == pytest.approx(5)
    rest = [row["change"] for name, row in rows.items() if name != "whole step"]
    assert sum(rest) == pytest.approx(rows["whole step"]["change"])
    assert "shorter (1.20 times as fast): matrix product 0.0300 ms" in report.sentence


def test_steps_are_the_samples_of_one_profile_and_profiles_of_several(
    a: Path, tmp_path: Path
) -> None:
    several = [steps((70 + shift, 71 + shift)) for shift in (0, 4, 8)]
    b = profile(tmp_path / "b.parquet", *several)
    whole = tta.compare_profiles(a, b).rows[0]
    assert (whole["n_a"], whole["n_b"]) == (4, 3)
    assert whole["change_high"] - whole["change_low"] > 10e-6  # of profiles, which differ by 4


def test_what_is_not_shown_is_undecided(a: Path, tmp_path: Path) -> None:
    b = profile(tmp_path / "b.parquet", steps((90, 112, 95, 104)))
    report = tta.compare_profiles(a, b)
    assert "undecided" in report.sentence


def test_a_profile_is_not_compared_with_itself(a: Path) -> None:
    with pytest.raises(TtastatsError, match="holds a profile that A holds too"):
        tta.compare_profiles(a, a)


def test_compare_knows_profiles_and_refuses_what_is_about_runs(a: Path, b: Path) -> None:
    shown = CliRunner().invoke(app, ["compare", str(a), str(b), "--confidence", "80%"])
    assert shown.exit_code == 0
    assert "change [80%]" in shown.output
    refused = CliRunner().invoke(app, ["compare", str(a), str(b), "--where", "seed=1"])
    assert isinstance(refused.exception, TtastatsError)
    assert "is about runs" in str(refused.exception)
