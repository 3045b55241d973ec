"""`targets`: one rule with `compare`, all official metrics together, each run once, no mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tests import made_logs
from tests.accepted import Case
from tests.made_curves import evaluation, logs, of
from tests.questions import Questions, accepted_answers
from ttastats import api, cli
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Run
from ttastats.ingestion.ingest import ingest
from ttastats.outcomes import time_to_target
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
        evaluation(
            index, value, metric=name, seconds=1000.0 + index, weights_seconds=pace * (index + 1),
            step=None, **facts,
        )
        for index, pair in enumerate(fid_and_clip)
        for (name, facts), value in zip(metrics.items(), pair, strict=True)
    )  # fmt: skip
    names = {"suite": "mlperf", "round": "v5.0", "benchmark": "stable_diffusion", "entry": "x"}
    ends = {"run_status": "success", "run_seconds": pace * len(fid_and_clip)}
    return Run(evaluations=evaluations, **(names | ends | {"accelerators": 8} | more))


#: CLIP is met at the first checkpoint, FID at the second; both at the third only.
APART = ((120.0, 0.16), (80.0, 0.14), (85.0, 0.17), (70.0, 0.18))
OFFICIAL = ("fid=90", "clip=0.15")


def curves(seed: int, entry: str, runs: int = 5, evaluations: int = 12) -> list[Run]:
    """Return runs of one setup with random times and curves."""
    draw = np.random.default_rng([seed, *entry.encode()])
    result = []
    for _ in range(runs):
        rise = np.cumsum(draw.lognormal(0.0, 0.5, evaluations))
        pace = 10.0 * draw.lognormal(0.0, 0.05)
        values = 0.9 * (1 - np.exp(-rise / 6))
        result.append(
            rising(values.tolist(), pace, "accuracy", 0.6, benchmark="digits", entry=entry)
        )
    return result


def rising(values: Sequence[float], pace: float, metric: str, target: float, **more: Any) -> Run:
    """Return a run with an evaluation after each epoch, each of which takes so long."""
    aim = {"metric": metric, "higher_is_better": True, "target_value": target, "step": None}
    return of(
        *(evaluation(n, value, seconds=pace * (n + 1), **aim) for n, value in enumerate(values)),
        **more,
    )


def paced(*paces: float, entry: str = "x") -> pl.DataFrame:
    return table(*(diffusion(*APART, pace=pace, entry=entry) for pace in paces))


THREE, FOUR, FAST = paced(10, 11, 12), paced(10, 11, 12, 13), paced(5, 6, 7, 5.5, entry="y")


def gnmt(*values: float) -> Run:
    names = {"suite": "mlperf", "round": "v0.5", "benchmark": "gnmt", "run_status": "success"}
    return rising(values, 10.0, "bleu", 21.799999, **names)


def differing() -> Report:
    a, b = (
        table(diffusion(*APART, entry=entry), diffusion(*APART, pace=9.0, entry=entry))
        for entry in "xy"
    )
    aimed = pl.when(metric="fid").then(80.0).otherwise("target_value")
    return api.targets(a, b.with_columns(target_value=aimed))


def of_two_goals() -> Report:
    """Return the targets of runs, some of which have another target for CLIP."""
    other = pl.when(metric="clip", entry="y").then(0.17).otherwise("target_value")
    runs = pl.concat([THREE, FAST]).with_columns(target_value=other)
    return api.targets(runs, by=["benchmark"], metric="fid")


def of_entries(names: str) -> Report:
    return api.targets(table(*(diffusion(*APART, entry=name) for name in names)))


QUESTIONS: Questions = {
    "one of two targets of each run differs": lambda: api.compare(
        *(
            table(*(diffusion(*APART, pace=pace) for pace in (9.0, 10.0, 11.0))).with_columns(
                target_value=pl.when(metric="clip").then(clip).otherwise("target_value")
            )
            for clip in (0.15, 0.16)
        )
    ),
    "all official metrics are met at one checkpoint": lambda: api.targets(THREE),
    "by the rule of compare": lambda: api.targets(FOUR, FAST),
    "which says": lambda: api.compare(FOUR, FAST, target=OFFICIAL),
    "a claim rests on constant epochs": lambda: api.targets(
        paced(10.0, 10.1, 9.9, 10.0), paced(8.0, 8.1, 7.9, 8.0, entry="y")
    ),
    "details of six groups": lambda: of_entries("abcdef"),
    "and of no more": lambda: of_entries("abcdefg"),
    "another metric varies": lambda: api.targets(THREE, metric="fid"),
    "beside the stricter of two targets": of_two_goals,
    "without one of the metrics": lambda: api.targets(THREE.filter(metric="clip")),
    "sides have different targets": differing,
    "within rounding of the official target": lambda: api.targets(
        table(gnmt(21.5, 21.9), gnmt(21.6, 22.0)), points=5
    ),
    "of one side nothing is adjusted": lambda: api.targets(table(*curves(0, "a"))),
    **{
        f"judged together, {seed}": lambda seed=seed: api.targets(  # type: ignore[misc]
            table(*curves(seed, "a")), table(*curves(seed, "b"))
        )
        for seed in range(2)
    },
}


@accepted_answers("targets", QUESTIONS)
@pytest.mark.usefixtures("in_codes")
def test_targets_are_answered_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


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
    rows = {row["entry"].rsplit("/", 1)[-1]: row for row in report.rows if row["official"]}
    assert {name: row["n_a"] for name, row in rows.items()} == {"small": 3, "large": 3}
    assert rows["small"]["ert_a_seconds"] == 40.0
    assert notes(report)["copies"].startswith("1 duplicate run")
    assert "runs_vary" not in notes(report)


def test_setups_that_are_pooled_on_request_are_noted(systems: Path) -> None:
    report = api.targets(systems, by=["benchmark"], points=3)
    assert at_official(report)["n_a"] == 6
    assert "global_batch_size" in notes(report)["runs_vary"]


def test_the_command_takes_columns_to_group_by(systems: Path) -> None:
    result = CliRunner().invoke(cli.app, ["targets", str(systems), "--by", "global_batch_size"])
    assert result.exit_code == 0
    assert all(f"\n digits · {size}\n" in result.stdout for size in (96, 224))


def test_logs_beside_result_files_do_not_count(tmp_path: Path) -> None:
    box = "v0.7/Example/results/box/minigo"
    logs = {
        f"{box}/result_{n}.txt": made_logs.reaching(3 + n, seed=n, benchmark="minigo")
        for n in range(3)
    }
    logs[f"{box}/worker/0.log"] = made_logs.reaching(30, benchmark="minigo")
    output = ingest([made_logs.write(tmp_path, logs)], tmp_path / "runs.parquet").output
    assert {row["n_a"] for row in api.targets(output, points=2).rows} == {3}


@pytest.mark.parametrize("by", ["source", "run_id", "source,run_id"])
def test_runs_may_be_grouped_by_what_identifies_them(by: str, systems: Path) -> None:
    answers = api.targets(systems, by=by.split(","), points=2).rows
    assert {row["n_a"] for row in answers} == {1}


@pytest.mark.parametrize("by", ["epochs", "reached", "target_value", "evaluations"])
def test_columns_that_depend_on_the_target_are_no_groups(by: str, systems: Path) -> None:
    with pytest.raises(TtastatsError, match=f"by=: {by} depends on the target"):
        api.targets(systems, by=[by])


def test_a_table_of_runs_has_no_evaluations_to_ask(systems: Path) -> None:
    with pytest.raises(TtastatsError, match="no benchmark has evaluations"):
        api.targets(api.run_table(systems))


@pytest.mark.parametrize("seed", range(2))
def test_no_range_is_stable_where_the_verdict_is_no_claim(seed: int) -> None:
    draw = np.random.default_rng(seed)
    level, noise, crossing = float(draw.uniform(0.3, 0.8)), draw.uniform(0.3, 0.5), seed % 2 == 0
    grid = (level * np.linspace(0.1, 1.0, 10)).tolist()

    def runs(entry: str, first: float, rest: float) -> list[Run]:
        """Return runs whose early evaluations come at one pace and the others at another."""
        result = []
        for _ in range(4):
            paces = np.where(np.arange(10) < 3, first, rest) * draw.lognormal(0, noise)
            aim = {"metric": "acc", "higher_is_better": True, "target_value": level, "step": None}
            every = zip(grid, np.cumsum(paces).tolist(), strict=True)
            rows = (evaluation(n, value, seconds=at, **aim) for n, (value, at) in enumerate(every))
            result.append(of(*rows, entry=entry, benchmark="own"))
        return result

    slow_start, fast_end = (2.0, 0.02) if crossing else (2.0, 2.0)
    report = api.targets(table(*runs("x", 1.0, 1.0)), table(*runs("y", slow_start, fast_end)))
    text = notes(report).get("stable_range", "")
    ratios = [row["speedup"] for row in report.rows]
    if at_official(report)["verdict"] in {"faster", "slower"}:
        assert "is the same at the evaluated targets" in text
    else:
        assert "is the same" not in text
    assert ("changes direction" in text) == (min(ratios) < 1 < max(ratios))
    assert crossing <= ("changes direction" in text)


@pytest.mark.parametrize("seed", range(3))
def test_one_pass_over_all_targets_answers_as_one_question_each(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = table(*curves(seed, "x", runs=4), *curves(seed + 10, "y", runs=3))
    report = api.targets(runs)
    assert len(report.rows) > 6
    for row in report.rows:
        goal = f"{row['metric']}>={row['target']}"
        (alone,) = api.summary(runs, target=[goal], where=[f"entry={row['entry']}"]).rows
        assert (row["n_a"], row["reached_a"]) == (alone["n"], alone["reached"])
        assert row["ert_a_seconds"] == alone["ert_seconds"]
    monkeypatch.setattr(time_to_target, "_BATCH", 2)  # pieces of two runs
    assert api.targets(runs).rows == report.rows
    # Nor does it matter where the rows of a run lie, but for the last digit of a sum.
    shuffled = api.targets(runs.sample(fraction=1.0, shuffle=True, seed=seed))
    for row, other in zip(report.rows, shuffled.rows, strict=True):
        assert {**other} == {**row, "ert_a_seconds": pytest.approx(row["ert_a_seconds"])}
