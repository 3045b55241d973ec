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


def steps(products: Sequence[float], norm: float = 20.0) -> list[Event]:
    """Return steps of a matrix product and a batch norm of these lengths, plus 30."""
    events: list[Event] = []
    zero = 0.0
    for number, product in enumerate(products):
        first, length = 10 * number, product + norm + 30
        events += [
            step(number, zero, length),
            operator("aten::mm", zero + 1, 5, first + 1),
            launch(zero + 2, first + 1),
            kernel("gemm", zero + 10, product, first + 1),
            operator("aten::native_batch_norm", zero + 7, 2, first + 2),
            launch(zero + 8, first + 2),
            kernel("bn_fw_tr_1C11", zero + 10 + product, norm, first + 2),
        ]
        zero += length
    return events


def profile(path: Path, *traces: list[Event]) -> Path:
    folder = path.with_suffix("")
    for number, events in enumerate(traces):
        written(folder / f"{number}.json", trace(events, 0))
    tta.ingest([folder], path)
    return path


@pytest.fixture
def a(tmp_path: Path) -> Path:
    return profile(tmp_path / "a.parquet", steps((100, 102, 98, 100)))


def test_what_is_not_shown_is_undecided(a: Path, tmp_path: Path) -> None:
    b = profile(tmp_path / "b.parquet", steps((90, 112, 95, 104)))
    assert "not significant" in tta.compare_profiles(a, b).sentence


def test_a_profile_is_not_compared_with_itself(a: Path) -> None:
    with pytest.raises(TtastatsError, match="contains a profile that is also in A"):
        tta.compare_profiles(a, a)


def test_the_smallest_changes_are_left_to_programs(tmp_path: Path) -> None:
    def many(extra: float) -> list[Event]:
        return [step(0, 0, 900), step(1, 900, 900)] + [
            operator(f"aten::add.{number}", 900 * index + 40 * number, 30 + extra * number, number)
            for index in (0, 1)
            for number in range(20)
        ]

    sides = [profile(tmp_path / f"{extra}.parquet", many(extra)) for extra in (0, 0.1)]
    report = tta.compare_profiles(*sides, by="operator")
    assert len(report.rows) == 1 + 20 + 1  # the whole, operators, the host between them
    assert len(report.tables[0].rows) == 16
    assert report.notes[-1].text.startswith("6 more")


def test_the_command_tells_work_apart_by_operators(a: Path, tmp_path: Path) -> None:
    b = profile(tmp_path / "b.parquet", steps((70, 71, 69, 70), norm=25.0))
    shown = CliRunner().invoke(app, ["compare", str(a), str(b), "--by", "operator"])
    assert "aten::native_batch_norm" in shown.output
    refused = CliRunner().invoke(app, ["compare", str(a), str(b), "--by", "kernel"])
    assert "Choose work" in str(getattr(refused.exception, "remedy", ""))


@pytest.mark.parametrize(
    "words", ["--also loss", "--block day", "--same", "--baseline x", "--target 0.9"]
)
def test_options_about_runs_are_refused_for_profiles(words: str, a: Path) -> None:
    for files in ([str(a), str(a)], ["--profile-a", str(a), "--profile-b", str(a)]):
        refused = CliRunner().invoke(app, ["compare", *files, *words.split()]).exception
        assert isinstance(refused, TtastatsError)
        assert refused.where == words.split()[0]
        assert refused.what == "applies to runs, but the files are profiles"
