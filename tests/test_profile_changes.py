"""What accounts for a change of the time of a step, between two profiles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ttastats as tta
from tests.made_traces import Event, kernel, launch, operator, step, trace, written
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.stats.multiplicity import adjust_p_values


def steps(products: Sequence[float], norm: float = 20.0) -> list[Event]:
    """Return steps of a product of some lengths and a batch norm, 30 longer than both."""
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
    assert "not significant" in report.sentence


def test_a_profile_is_not_compared_with_itself(a: Path) -> None:
    with pytest.raises(TtastatsError, match="contains a profile that is also in A"):
        tta.compare_profiles(a, a)


def test_compare_knows_profiles_and_refuses_what_is_about_runs(a: Path, b: Path) -> None:
    shown = CliRunner().invoke(app, ["compare", str(a), str(b), "--confidence", "80%"])
    assert shown.exit_code == 0
    assert "change [80%]" in shown.output
    refused = CliRunner().invoke(app, ["compare", str(a), str(b), "--where", "seed=1"])
    assert isinstance(refused.exception, TtastatsError)
    assert "applies to runs" in str(refused.exception)


def test_single_operators_account_for_the_change_with_p_adjusted_for_their_number(
    a: Path, b: Path
) -> None:
    report = tta.compare_profiles(a, b, by="operator")
    rows = {row["name"]: row for row in report.rows}
    assert rows["aten::mm"]["change"] * 1e6 == pytest.approx(-30)
    assert rows["aten::native_batch_norm"]["share"] == pytest.approx(-0.2)
    parts = report.rows[1:]
    assert sum(row["change"] for row in parts) == pytest.approx(report.rows[0]["change"])
    ps = [row["p_value"] for row in parts]
    assert [row["p_adjusted"] for row in parts] == list(adjust_p_values(ps))
    assert f"Holm over {len(parts)}" in report.notes[0].text
    assert "aten::mm 0.0300 ms" in report.sentence


def test_parts_are_named_only_where_they_are_shown_to_change(tmp_path: Path) -> None:
    unsteady = (100, 108, 92, 101, 99, 104, 96, 100)
    a = profile(tmp_path / "a.parquet", steps(unsteady))
    b = profile(tmp_path / "b.parquet", steps([one - 1 for one in unsteady[::-1]], norm=10))
    said = tta.compare_profiles(a, b).sentence
    assert "batch norm 0.0100 ms" in said
    assert "matrix product" not in said


def test_a_part_that_changed_the_other_way_is_not_named_as_a_cause(tmp_path: Path) -> None:
    lengths = (100, 102, 98, 101, 99, 100)
    a = profile(tmp_path / "a.parquet", steps(lengths))
    b = profile(tmp_path / "b.parquet", steps([one - 30 for one in lengths], norm=25.0))
    report = tta.compare_profiles(a, b)
    (norm,) = [row for row in report.rows if row["name"] == "batch norm"]
    assert norm["change"] > 0
    assert norm["p_adjusted"] < 0.05
    assert report.sentence.endswith("matrix product 0.0300 ms.")


def test_the_smallest_changes_are_left_to_programs(tmp_path: Path) -> None:
    def many(extra: float) -> list[Event]:
        return [step(0, 0, 900), step(1, 900, 900)] + [
            operator(f"aten::add.{number}", 900 * one + 40 * number, 30 + extra * number, number)
            for one in (0, 1)
            for number in range(20)
        ]

    sides = [profile(tmp_path / f"{extra}.parquet", many(extra)) for extra in (0, 0.1)]
    report = tta.compare_profiles(*sides, by="operator")
    assert len(report.rows) == 1 + 20 + 1  # the whole, operators, the host between them
    assert len(report.tables[0].rows) == 16
    assert report.notes[-1].text.startswith("6 more")


def test_the_command_tells_work_apart_by_operators(a: Path, b: Path) -> None:
    shown = CliRunner().invoke(app, ["compare", str(a), str(b), "--by", "operator"])
    assert "aten::native_batch_norm" in shown.output
    refused = CliRunner().invoke(app, ["compare", str(a), str(b), "--by", "kernel"])
    assert "Choose work" in str(getattr(refused.exception, "remedy", ""))
