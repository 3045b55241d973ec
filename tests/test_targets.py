"""`targets`: one rule with `compare`, all official metrics together, each run once, no mixtures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tests import made_logs
from tests.made_curves import logs
from ttastats import api, cli
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Evaluation, Run
from ttastats.ingestion.ingest import ingest
from ttastats.report.answer import Report


def notes(report: Report) -> dict[str, str]:
    return {note.code: note.text for note in report.notes}


def at_official(report: Report) -> dict[str, Any]:
    (row,) = [dict(row) for row in report.rows if row["official"]]
    return row


def table(*runs: Run) -> pl.DataFrame:
    return logs(runs)


def diffusion(*fid_and_clip: tuple[float, float], pace: float = 10.0, **more: Any) -> Run:
    """Return a run evaluated after its end, whose two metrics must be met at one checkpoint."""
    metrics: dict[str, dict[str, Any]] = {
        "fid": {"higher_is_better": False, "target_value": 90.0},
        "clip": {"higher_is_better": True, "target_value": 0.15},
    }
    evaluations = tuple(
        Evaluation(
            index=index, metric=name, value=value, logged_value=value, epoch=float(index + 1),
            seconds=1000.0 + index, weights_seconds=pace * (index + 1), **facts,
        )
        for index, pair in enumerate(fid_and_clip)
        for (name, facts), value in zip(metrics.items(), pair, strict=True)
    )  # fmt: skip
    fields: dict[str, Any] = {
        "suite": "mlperf", "round": "v5.0", "benchmark": "stable_diffusion", "entry": "x",
        "run_status": "success", "run_seconds": pace * len(fid_and_clip), "accelerators": 8,
    }  # fmt: skip
    return Run(evaluations=evaluations, **(fields | more))


#: CLIP is met at the first checkpoint, FID at the second; both at the third only.
APART = ((120.0, 0.16), (80.0, 0.14), (85.0, 0.17), (70.0, 0.18))
OFFICIAL = ("fid=90", "clip=0.15")


def test_all_official_metrics_are_met_at_one_checkpoint() -> None:
    report = api.targets(table(*[diffusion(*APART, pace=pace) for pace in (10.0, 11.0, 12.0)]))
    row = at_official(report)
    assert (row["metric"], row["target"], row["reached_a"]) == ("clip", 0.15, 3)
    assert row["ert_a_seconds"] == 33.0  # the third checkpoint, not the first
    assert notes(report)["together"] == (
        "stable_diffusion: clip varies; fid 90 must be met at the same checkpoint."
    )


def test_the_official_row_is_what_compare_says_by_the_same_rule() -> None:
    a = table(*[diffusion(*APART, pace=pace) for pace in (10.0, 11.0, 12.0, 13.0)])
    b = table(*[diffusion(*APART, pace=pace, entry="y") for pace in (5.0, 6.0, 7.0, 5.5)])
    row = at_official(api.targets(a, b))
    (other,) = api.compare(a, b, target=OFFICIAL).rows
    for name in ("n_a", "reached_b", "ert_a_seconds", "speedup", "speedup_low", "speedup_high",
                 "p_value", "verdict", "dagger"):  # fmt: skip
        assert row[name] == other[name], name


def test_a_claim_that_rests_on_constant_epochs_says_so_at_other_targets_too() -> None:
    a = table(*[diffusion(*APART, pace=pace) for pace in (10.0, 10.1, 9.9, 10.0)])
    b = table(*[diffusion(*APART, pace=pace, entry="y") for pace in (8.0, 8.1, 7.9, 8.0)])
    row = at_official(api.targets(a, b))
    assert (row["verdict"], row["dagger"], row["marks"]) == ("faster", True, "†")
    assert row["conditions"] == ["constant_epochs"]


def test_details_are_told_of_six_groups_and_of_no_more() -> None:
    entries = [diffusion(*APART, entry=name) for name in "abcdefg"]
    assert "first_failure" in notes(api.targets(table(*entries[:6])))
    assert "first_failure" not in notes(api.targets(table(*entries)))


def test_another_official_metric_may_vary() -> None:
    runs = table(*[diffusion(*APART, pace=pace) for pace in (10.0, 11.0, 12.0)])
    row = at_official(api.targets(runs, metric="fid"))
    assert (row["metric"], row["target"], row["ert_a_seconds"]) == ("fid", 90.0, 33.0)


def test_without_one_of_the_metrics_no_row_is_called_official() -> None:
    runs = table(*[diffusion(*APART, pace=pace) for pace in (10.0, 11.0, 12.0)])
    report = api.targets(runs.filter(pl.col("metric") == "clip"))
    assert not any(row["official"] for row in report.rows)
    assert notes(report)["no_official_target"].startswith("stable_diffusion: no official target")


def test_sides_with_different_targets_have_no_official_row() -> None:
    a, b = (
        table(diffusion(*APART, entry=entry), diffusion(*APART, pace=9.0, entry=entry))
        for entry in "xy"
    )
    b = b.with_columns(
        pl.when(metric="fid").then(80.0).otherwise("target_value").alias("target_value")
    )
    report = api.targets(a, b)
    assert not any(row["official"] for row in report.rows)
    assert "no_official_target" in notes(report)


@pytest.fixture
def systems(tmp_path: Path) -> Path:
    """Return three runs of each of two systems; one run lies there twice."""
    logs = {
        f"{system}/{n}.log": made_logs.reaching(
            epochs + n, seed=10 * epochs + n, more={"global_batch_size": 32 * epochs}
        )
        for system, epochs in (("small", 3), ("large", 7))
        for n in range(3)
    }
    logs["small/copy.log"] = logs["small/0.log"]
    return ingest([made_logs.write(tmp_path, logs)], tmp_path / "runs.parquet").output


def test_one_file_is_answered_by_entry_and_each_run_counts_once(systems: Path) -> None:
    report = api.targets(systems, points=3)
    found = {row["entry"].rsplit("/", 1)[-1]: row for row in report.rows if row["official"]}
    assert {name: row["n_a"] for name, row in found.items()} == {"small": 3, "large": 3}
    assert found["small"]["ert_a_seconds"] == 40.0
    assert notes(report)["copies"].startswith("1 duplicate run")
    assert "runs_vary" not in notes(report)


def test_set_ups_that_are_mixed_because_it_was_asked_are_said(systems: Path) -> None:
    report = api.targets(systems, by=["benchmark"], points=3)
    assert at_official(report)["n_a"] == 6
    assert "global_batch_size" in notes(report)["runs_vary"]


def test_the_command_takes_columns_to_group_by(systems: Path) -> None:
    found = CliRunner().invoke(cli.app, ["targets", str(systems), "--by", "global_batch_size"])
    assert found.exit_code == 0
    assert all(f"\n digits · {size}\n" in found.stdout for size in (96, 224))


def test_logs_beside_result_files_do_not_count(tmp_path: Path) -> None:
    box = "v0.7/Example/results/box/minigo"
    logs = {
        f"{box}/result_{n}.txt": made_logs.reaching(3 + n, seed=n, benchmark="minigo")
        for n in range(3)
    }
    logs[f"{box}/worker/0.log"] = made_logs.reaching(30, benchmark="minigo")
    output = ingest([made_logs.write(tmp_path, logs)], tmp_path / "runs.parquet").output
    assert {row["n_a"] for row in api.targets(output, points=2).rows} == {3}


def test_a_target_within_rounding_of_the_official_one_is_no_second_row() -> None:
    def gnmt(*values: float) -> Run:
        evaluations = tuple(
            Evaluation(
                index=n, metric="bleu", value=value, logged_value=value, seconds=10.0 * (n + 1),
                higher_is_better=True, target_value=21.799999, epoch=float(n + 1),
            )
            for n, value in enumerate(values)
        )  # fmt: skip
        return Run(
            suite="mlperf", round="v0.5", benchmark="gnmt", run_status="success",
            run_seconds=10.0 * len(values), evaluations=evaluations,
        )  # fmt: skip

    rows = api.targets(table(gnmt(21.5, 21.9), gnmt(21.6, 22.0)), points=5).rows
    assert [(row["target"], row["official"], row["reached_a"]) for row in rows] == [
        (21.5, False, 2),
        (21.6, False, 2),
        (21.7, False, 2),
        (21.799999, True, 2),
        (21.9, False, 2),
    ]


@pytest.mark.parametrize("by", ["source", "run_id", "source,run_id"])
def test_runs_may_be_grouped_by_what_identifies_them(by: str, systems: Path) -> None:
    answers = api.targets(systems, by=by.split(","), points=2).rows
    assert {row["n_a"] for row in answers} == {1}


@pytest.mark.parametrize("by", ["epochs", "reached", "target_value", "evaluations"])
def test_what_depends_on_the_target_is_no_group(by: str, systems: Path) -> None:
    with pytest.raises(TtastatsError, match=f"--by: {by} depends on the target"):
        api.targets(systems, by=[by])


def test_a_table_of_runs_has_no_evaluations_to_ask(systems: Path) -> None:
    with pytest.raises(TtastatsError, match="no benchmark has evaluations"):
        api.targets(api.run_table(systems))


def curves(seed: int, entry: str, runs: int = 5, evaluations: int = 12) -> list[Run]:
    """Return runs of one setup that differ by chance: when they pass each quality, and how fast."""
    draw = np.random.default_rng([seed, *entry.encode()])
    found = []
    for _ in range(runs):
        rise = np.cumsum(draw.lognormal(0.0, 0.5, evaluations))
        pace = 10.0 * draw.lognormal(0.0, 0.05)
        values = 0.9 * (1 - np.exp(-rise / 6))
        found.append(
            Run(
                benchmark="digits", entry=entry, run_status="unknown",
                run_seconds=pace * evaluations,
                evaluations=tuple(
                    Evaluation(index=n, metric="accuracy", value=float(value),
                               logged_value=float(value), seconds=pace * (n + 1),
                               epoch=float(n + 1), higher_is_better=True, target_value=0.6)
                    for n, value in enumerate(values)
                ),
            )
        )  # fmt: skip
    return found


def test_targets_of_one_group_are_judged_together() -> None:
    alone, together = 0, 0
    for seed in range(4):
        report = api.targets(table(*curves(seed, "a")), table(*curves(seed, "b")))
        rows = [row for row in report.rows if row["p_value"] is not None]
        tests = {row["tests"] for row in rows}
        assert len(tests) == 1
        distinct = {(row["p_value"], row["speedup"]) for row in rows}
        assert tests == {len(distinct)}
        ordered = sorted(p for p, _ in distinct)
        steps = [p * (len(ordered) - n) for n, p in enumerate(ordered)]
        adjusted = dict(zip(ordered, np.minimum(np.maximum.accumulate(steps), 1.0), strict=True))
        for row in rows:
            assert row["p_adjusted"] == pytest.approx(adjusted[row["p_value"]])
            decided = row["verdict"] in {"faster", "slower"}
            assert not decided or row["p_adjusted"] < 0.05
        alone += any(row["p_value"] < 0.05 for row in rows)
        together += any(row["verdict"] in {"faster", "slower"} for row in rows)
    assert alone > together


def test_the_note_says_that_the_targets_are_judged_together() -> None:
    report = api.targets(table(*curves(0, "a")), table(*curves(0, "b")))
    assert (
        "p and verdicts hold for all targets of a group together (Holm" in notes(report)["method"]
    )
    assert "Holm" not in notes(api.targets(table(*curves(0, "a"))))["method"]
