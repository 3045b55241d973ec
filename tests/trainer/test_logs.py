"""Are the logs what the official tools and our own reader expect?"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.resources
import io
import json
import logging
import re
from pathlib import Path

import pytest

from tests.trainer.runs import events, request, small, trained
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.recording import run_log
from ttastats.recording.run_log import Clock, RunLog
from ttastats.trainer import experiment, session, tables, workloads
from ttastats.trainer.session import FinishedRun
from ttastats.trainer.settings import Settings

RULES = importlib.resources.files("ttastats.trainer") / "rules" / "ttastats_common.yaml"


def rulesets() -> list[str]:
    checker = pytest.importorskip("mlperf_logging.compliance_checker.mlp_compliance")
    return [ruleset for ruleset in checker.rule_choices() if ruleset != "0.6.0"]


def test_the_events_of_an_epoch_come_in_order(two_runs: list[FinishedRun]) -> None:
    logged = events(two_runs[0].log)
    keys, times = ([event[name] for event in logged] for name in ("key", "time_ms"))
    assert times == sorted(times)
    first = keys.index("block_start")
    assert keys[first : first + 8] == [
        "block_start", "epoch_start", "epoch_stop", "tracked_stats",
        "eval_start", "eval_accuracy", "eval_stop", "block_stop",
    ]  # fmt: skip
    epochs = len(two_runs[0].outcome.checkpoints)
    assert keys.count("eval_accuracy") == keys.count("tracked_stats") == epochs
    assert keys.index("init_stop") < keys.index("run_start") < keys.index("train_samples") < first


def test_the_log_holds_all_settings_that_decide_the_run(two_runs: list[FinishedRun]) -> None:
    every = events(two_runs[1].log)
    logged = {event["key"]: event for event in every}
    assert logged["seed"]["value"] == 1
    assert logged["seed"]["metadata"]["file"] == "ttastats/trainer/events.py"
    assert logged["global_batch_size"]["value"] == 64
    assert logged["train_samples"]["value"] == 1198
    assert logged["eval_samples"]["value"] == 599
    settings = two_runs[1].settings
    assert Settings(**logged["settings"]["value"]) == settings
    source = logged["workload_source"]["value"]
    assert hashlib.sha256(source.encode()).hexdigest() == settings.sha256
    assert 'metric="accuracy"' in source
    assert logged["dataset_sha256"]["value"] == two_runs[1].outcome.dataset
    target = logged["eval_target"]
    assert (target["value"], target["metadata"]["higher_is_better"]) == (0.85, True)
    assert logged["run_stop"]["metadata"]["status"] == "success"
    totals = logged["run_totals"]["value"]
    assert totals["training_seconds"] + totals["evaluation_seconds"] <= totals["wall_seconds"]
    trained = [event["value"]["wall_seconds"] for event in every if event["key"] == "tracked_stats"]
    assert totals["training_seconds"] == pytest.approx(sum(trained), abs=1e-4)
    signs = {"eval_start": -1, "eval_stop": 1}
    evaluated = sum(signs.get(event["key"], 0) * event["time_ms"] for event in every) / 1000
    assert totals["evaluation_seconds"] == pytest.approx(evaluated, abs=1e-4)
    last = logged["eval_accuracy"]["metadata"]  # the event that was logged last
    assert last["training_seconds"] == totals["training_seconds"]
    assert 0 < last["training_cpu_seconds"] < last["cpu_seconds"] <= totals["cpu_seconds"]


def test_the_test_quality_is_measured_after_the_run(tmp_path: Path) -> None:
    (only,) = trained(tmp_path, small(target=0.3, epochs=9, test_samples=300))
    logged = events(only.log)
    keys = [event["key"] for event in logged]
    (tested,) = (event for event in logged if event["metadata"].get("metric") == "test_accuracy")
    assert logged.index(tested) > keys.index("run_stop")
    assert 0 <= tested["value"] * 300 == pytest.approx(round(tested["value"] * 300))
    assert next(event["value"] for event in logged if event["key"] == "eval_samples") == 299
    (run,) = api.summary(tables.table_of_logs([only.log.parent])).rows
    assert all(complies(only.log, ruleset) for ruleset in rulesets())
    assert (run["reached"], run["epochs_mean"]) == (1, only.outcome.checkpoints[-1].epoch)
    whole, parted = (workloads.load_workload("digits").data(None, test_samples=n) for n in (0, 300))
    parts = [*parted.eval_inputs.tolist(), *parted.test[0].tolist()]
    assert sorted(parts) == sorted(whole.eval_inputs.tolist())
    with pytest.raises(TtastatsError, match="from 0 to 598"):
        trained(tmp_path, small(test_samples=599))


def complies(log: Path, ruleset: str) -> bool:
    checker = pytest.importorskip("mlperf_logging.compliance_checker.mlp_compliance")
    logging.disable(logging.CRITICAL)
    try:
        with (
            importlib.resources.as_file(RULES) as rules,
            contextlib.redirect_stdout(io.StringIO()),
        ):
            official = checker.make_checker("training", ruleset, True, False)
            valid, *_ = checker.main(str(log), str(rules), official)
    finally:
        logging.disable(logging.NOTSET)
    return bool(valid)


def test_the_official_checker_accepts_the_logs_with_our_rules(
    two_runs: list[FinishedRun], tmp_path: Path
) -> None:
    (missed,) = trained(tmp_path, small(target=0.9999, epochs=1))
    for log in (two_runs[0].log, missed.log):
        assert [complies(log, ruleset) for ruleset in rulesets()] == [True] * len(rulesets())


@pytest.mark.parametrize("lost", ["run_stop", "seed", "eval_accuracy", "epoch_stop", "init_stop"])
def test_the_official_checker_refuses_a_log_that_lacks_an_event(
    lost: str, two_runs: list[FinishedRun], tmp_path: Path
) -> None:
    lines = [
        line for line in two_runs[0].log.read_text().splitlines() if f'"key": "{lost}"' not in line
    ]
    torn = tmp_path / "result_0.txt"
    torn.write_text("\n".join(lines) + "\n")
    assert not complies(torn, rulesets()[-1])


def test_the_official_checker_accepts_the_description_of_the_system(
    two_runs: list[FinishedRun],
) -> None:
    checker = pytest.importorskip("mlperf_logging.system_desc_checker.system_desc_checker")
    path = two_runs[0].log.parent.parent.parent.parent / "systems" / "machine.json"
    for ruleset in ("1.0.0", "4.1.0", "5.1.0"):
        assert checker.check_system_desc(str(path), "training", ruleset)[0]


def test_our_own_lines_equal_those_of_the_official_package() -> None:
    reason = "the official package is not installed"
    mllog = pytest.importorskip("mlperf_logging.mllog.mllog", reason=reason)
    ours, official = io.StringIO(), io.StringIO()
    clock = Clock()
    moment = clock.stamp()
    log = RunLog(Path("log"), ours, clock)
    log.begin("init_start", at=moment)
    log.point("settings", {"a": [1, 2.5, None, True], "ü": "“”"}, at=moment)
    log.point("eval_accuracy", 0.1 + 0.2, at=moment, epoch_num=3, samples_count=10)
    log.end("run_stop", at=moment, status="success")
    theirs = logging.Logger("official", logging.INFO)
    theirs.addHandler(logging.StreamHandler(official))
    other = mllog.MLLogger(logger=theirs, root_dir=re.escape(str(run_log.ROOT)))
    time = {"time_ms": moment.time_ms}
    other.start("init_start", None, **time)
    other.event("settings", {"a": [1, 2.5, None, True], "ü": "“”"}, **time)
    labels = {"epoch_num": 3, "samples_count": 10}
    other.event("eval_accuracy", 0.1 + 0.2, metadata=labels, **time)
    other.end("run_stop", None, metadata={"status": "success"}, **time)
    here, there = (re.sub(r'"lineno": \d+', "", log.getvalue()) for log in (ours, official))
    assert here == there
    assert len(ours.getvalue().splitlines()) == 4


def test_dawnbench_files_hold_the_same_curve(tmp_path: Path) -> None:
    planned = experiment.plan_runs(request(tmp_path, dawnbench=True), small(), (0,)).runs
    (run,) = session.make_all(planned, session.Watcher())
    (table,) = planned[0].folder.dawnbench.glob("*.tsv")
    assert json.loads(table.with_suffix(".json").read_text())["logFilename"] == run.log.name
    account = api.ingest([table], tmp_path / "entry.parquet")
    assert account.problems == ()
    rows = api.read(tmp_path / "entry.parquet").collect()
    assert rows.get_column("value").to_list() == pytest.approx(
        [checkpoint.quality for checkpoint in run.outcome.checkpoints], abs=1e-6
    )
    assert rows.get_column("epoch").to_list() == [1.0, 2.0]
    assert rows.get_column("seconds").to_list() == pytest.approx(
        [c.known_at.wall - c.evaluated for c in run.outcome.checkpoints], abs=1e-5
    )
    assert set(rows["benchmark"]) == {"digits"}
    assert set(rows["target_value"]) == {0.96}
    account = api.ingest([tmp_path / "Test"], tmp_path / "both.parquet")
    (row,) = api.summary(tmp_path / "both.parquet").rows
    assert (account.runs, row["n"], row["entry"]) == (2, 1, "Test/machine")
    with pytest.raises(TtastatsError, match="not bits_per_pixel"):
        experiment.plan_runs(request(tmp_path, "digits-lm", dawnbench=True), small(), (0,))
