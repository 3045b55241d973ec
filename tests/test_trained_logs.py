"""How are the logs of `ttastats train` read: which of them count, and by which clock?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import ttastats as tta
from tests.made_logs import line, write
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.recording import run_log

TARGET = 0.9


def settings(seed: int) -> dict[str, Any]:
    return {
        "workload": "mine.py", "sha256": "5eed", "seed": seed, "device": "cpu", "data": None,
        "values": {"lr": 0.1},
    }  # fmt: skip


def log(seed: int, qualities: Sequence[float], reason: str = "target") -> str:
    """Return the log of a run: of ten seconds of an epoch half are training, a fifth CPU time."""
    events = {
        run_log.RECORDER: "ttastats 0", "submission_benchmark": "mine",
        "submission_division": "open", "seed": seed, "settings": settings(seed),
    }  # fmt: skip
    lines = [line(key, value) for key, value in events.items()]
    lines.append(line("eval_target", TARGET, metric="accuracy", higher_is_better=True))
    lines.append(line("run_start"))
    for epoch, quality in enumerate(qualities, start=1):
        parts = {"cpu_seconds": 2.0, "training_seconds": 5.0, "training_cpu_seconds": 1.0}
        clocks = {name: seconds * epoch for name, seconds in parts.items()}
        about = {"epoch_num": epoch, "metric": "accuracy", **clocks}
        lines.append(line("eval_accuracy", quality, 10 * epoch, **about))
    status = "success" if reason == "target" else "aborted"
    lines.append(line("run_stop", None, 10 * len(qualities), status=status, reason=reason))
    return "".join(lines)


def ingested(root: Path, *logs: str) -> Path:
    files = {f"results/machine/mine/result_{n}.txt": text for n, text in enumerate(logs)}
    files["systems/machine.json"] = json.dumps({"submitter": "local", "system_name": "machine"})
    api.ingest([write(root / "local", files)], root / "runs.parquet")
    return root / "runs.parquet"


REACHED = (0.5, 0.95)


def test_runs_that_were_stopped_count_as_censored_if_the_user_says_so(tmp_path: Path) -> None:
    table = ingested(tmp_path, log(0, REACHED), log(1, (0.5,), "SIGINT"))
    (row,) = tta.summary(table, censor_stopped=True).rows
    assert (row["n"], row["reached"]) == (2, 1)
    assert row["ert_seconds"] == 30.0  # 20 to the target and 10 without


@pytest.mark.parametrize(("waiting", "noted"), [(0.1, False), (2.0, True), (None, False)])
def test_waiting_for_a_core_is_noted_where_seconds_count(
    waiting: float | None, noted: bool, tmp_path: Path
) -> None:
    totals = {"waiting_seconds": waiting, "cpu_seconds_all_workers": 4.0}
    text = line("run_totals", totals, 99)
    table = ingested(tmp_path, *(log(seed, (*REACHED,)) + text for seed in range(3)))
    for report in (tta.summary(table), tta.variance(table), tta.summary(table, clock="training")):
        assert ("contended" in {note.code for note in report.notes}) is noted
    assert "contended" not in {note.code for note in tta.summary(table, unit="epochs").notes}


def test_exported_logs_have_the_same_times_on_all_clocks(tmp_path: Path) -> None:
    broken = (log(7, (0.5,), "SIGTERM"), log(8, (0.5,), "exception"))
    table = ingested(tmp_path, log(0, REACHED), log(1, (0.5, 0.6, 0.95)), *broken)
    tta.export(table, tmp_path / "exported")
    api.ingest([tmp_path / "exported"], tmp_path / "again.parquet")
    for options in ({}, {"clock": "training"}, {"unit": "cpu-seconds", "clock": "training"}):
        before, after = (tta.summary(at, **options) for at in (table, tmp_path / "again.parquet"))
        for key in ("n", "reached", "tta_mean_seconds"):
            assert after.rows[0][key] == before.rows[0][key], key


def test_a_clock_that_is_none_is_refused(tmp_path: Path) -> None:
    table = ingested(tmp_path, log(0, REACHED))
    with pytest.raises(TtastatsError, match="unknown clock 'lunch'"):
        tta.summary(table, clock="lunch")
    with pytest.raises(TtastatsError, match="epochs counts no time"):
        tta.summary(table, clock="training", unit="epochs")


def test_dawnbench_files_beside_the_logs_are_read_as_what_they_are_and_counted_once(
    tmp_path: Path,
) -> None:
    curve = [(epoch, 5.0 * epoch, 100 * value) for epoch, value in enumerate(REACHED, start=1)]
    identity = {"benchmark": "mine", "entry": "local/machine", "target": TARGET}
    fields = {"author": "local", "framework": "PyTorch", "hardware": "machine"}
    fields |= {"ttastats": {**identity, "settings": settings(0)}}
    files = {"a_run0.tsv": run_log.curve_table(["top1_accuracy"], curve)}
    files["a_run0.json"] = run_log.description_json(fields)
    folder = write(tmp_path / "local" / "dawnbench" / "mine", files)
    api.ingest([folder], tmp_path / "alone.parquet")
    (row,) = tta.runs(tmp_path / "alone.parquet").rows
    assert (row["benchmark"], row["entry"], row["seed"]) == ("mine", "local/machine", 0)
    assert (row["reached"], row["tta_seconds"], row["target_value"]) == (True, 10.0, TARGET)
    table = ingested(tmp_path, log(0, REACHED), log(1, REACHED))
    (both,) = tta.summary(table).rows
    assert (both["n"], both["tta_mean_seconds"]) == (2, 20.0)
