"""Published records, and rules of studies; what each check notices is an accepted judgement."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats

import ttastats as tta
from tests import programs
from tests.conftest import ROOT
from tests.made_curves import evaluation, logs, of
from tests.test_cli import run
from tests.wild_tables import nanochat, nanogpt, parameter_golf, track_3
from ttastats.answers.record import record_checks
from ttastats.table import store


def test_rules_are_complete_and_have_a_source() -> None:
    assert list(record_checks.all_rules()) == [
        "nanogpt-track-1", "nanogpt-track-2", "nanogpt-track-3", "parameter-golf", "nanochat",
        "airbench", "algoperf", "plain",
    ]  # fmt: skip
    for rules in record_checks.all_rules().values():
        assert rules.source
        assert rules.title
        assert rules.read or rules.name == "plain"
        assert (rules.target is None) == (rules.name in {"parameter-golf", "algoperf", "plain"})
    listed = run("record", "--rules", "list")
    assert listed.returncode == 0
    assert all(name in listed.stdout for name in record_checks.all_rules())


def test_exit_codes(tmp_path: Path) -> None:
    a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
    for path, seconds in ((a, 80.0), (b, 70.0)):
        ends = [evaluation(1, 3.277 + n / 1e4, seconds=seconds + n, step=300) for n in range(3)]
        store.write(logs([of(evaluation(0, seconds), end) for end in ends]), path)
    assert run("record", a, b, "--rules", "nanogpt-track-1").returncode == 0
    assert run("record", b, a, "--rules", "nanogpt-track-1").returncode == 3
    assert run("record", a, b, "--rules", "nanochat").returncode == 2
    assert run("record").returncode == 2


def of_files(*words: str | Path) -> dict[str, Any]:
    result = run("record", *words, "-f", "json")
    assert result.returncode in {0, 3}, result.stderr
    (row,) = json.loads(result.stdout)["rows"]
    assert (result.returncode == 0) == (row["verdict"] == "record")
    return dict(row)


@pytest.mark.real
def test_record_89_of_the_nanogpt_speedrun_as_its_authors_state_it(
    wild: Path, tmp_path: Path
) -> None:
    row = of_files(*nanogpt(wild, tmp_path), "--rules", "nanogpt-track-1")
    stated = json.loads((wild / "truth.json").read_text("utf-8"))[1]["stated_by_authors"]
    assert (row["verdict"], row["n_a"], row["n_b"]) == ("record", 13, 13)
    names = ("quality_a", "quality_b", "quality_p", "seconds_ratio")
    theirs = [3.2782461538, stated["mean_val_loss"], stated["p"], stated["speedup"]]
    assert [row[name] for name in names] == pytest.approx(theirs)
    limits = [row["seconds_low"], row["seconds_high"]]
    assert limits == pytest.approx([1.01164, 1.01456], abs=1e-5)
    assert row["seconds_p"] == pytest.approx(stated["welch_p_time"], rel=0.01)
    assert row["not_known"] == ["seeds", "machines", "order"]


@pytest.mark.real
@pytest.mark.parametrize(
    ("table", "rules", "stated"),
    [
        (track_3, "nanogpt-track-3 --against 3500",
         {"verdict": "record", "n_b": 20, "steps_b": 3375, "quality_b": 3.278929,
          "quality_p": stats.norm.sf(0.004789657608 / 0.0013)}),
        (nanochat, "nanochat --against 5940",
         {"verdict": "no record", "n_b": 20, "quality_b": 0.238905}),
        (parameter_golf, "parameter-golf --against 1.085", {"verdict": "no record"}),
    ],
)  # fmt: skip
def test_results_are_judged_by_their_written_rules(
    table: Callable[..., Path], rules: str, stated: dict[str, Any], wild: Path, tmp_path: Path
) -> None:
    row = of_files(table(wild, tmp_path), "--rules", *rules.split())
    assert {name: row[name] for name in stated} == pytest.approx(stated)


@pytest.mark.real
def test_three_seeds_of_parameter_golf_beat_the_record_before(wild: Path, tmp_path: Path) -> None:
    table = parameter_golf(wild, tmp_path)
    row = of_files(table, "--rules", "parameter-golf", "--against", "1.1147")
    assert (row["verdict"], row["n_b"]) == ("record", 3)
    assert row["quality_b"] == pytest.approx(1.081002877)
    assert {"seeds: passed", "time: passed"} <= set(row["checks"])
    seeds = pl.Series([1.08079352, 1.08103103, 1.08118408])
    theirs = stats.ttest_1samp(seeds, 1.1147 - 0.0072135, alternative="less")
    assert row["quality_p"] == pytest.approx(theirs.pvalue, rel=0.01)


@pytest.mark.real
def test_medians_of_studies_of_algoperf(
    wild: Path, ingested_round: Callable[[str], tta.Account]
) -> None:
    table = ingested_round("wild").output
    where = ["source=*/algoperf/*", "entry=baseline", "benchmark=*"]
    report = tta.judge_record(table, rules="algoperf", where=where)
    medians = {row["benchmark"]: row["seconds_b"] for row in report.rows}
    checked = 0
    for setup in json.loads((wild / "truth.json").read_text("utf-8")):
        if setup["kind"] == "algoperf":
            benchmark = setup["setup"].rpartition(" ")[2]
            theirs = [float(seconds) for seconds in setup["check"]["best_trial_tta_per_study"]]
            assert medians[benchmark] == pytest.approx(statistics.median(theirs), abs=1e-5)
            checked += 1
    assert checked == len(medians) == 8


@pytest.mark.real
def test_the_page_of_all_records_has_a_line_for_each(wild: Path, tmp_path: Path) -> None:
    example = ROOT / "examples" / "nanogpt_records"
    if not example.exists():
        pytest.skip("an installed copy has no examples")
    page = tmp_path / "audit.md"
    process = programs.python(example, wild / "modded-nanogpt", "-o", page)
    assert process.returncode == 0, process.stderr
    text = page.read_text("utf-8")
    folder = "2026-07-17_FP8DownProjection"
    assert f"| {folder}/this_pr | 13 | 3.2784 | 0.00067 | 1,390 | 79.7 s | record |" in text
    assert f"| {folder}/baseline | 13 | 3.2782 | 0.0043 | 1,390 | 80.7 s | loss shown; no" in text
    assert "| 20 | 3.2789 | 0.00011 | 3,375 | 495.8 s | loss shown; no baseline |" in text
    assert text.count("\n## ") == 3
