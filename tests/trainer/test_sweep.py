"""Does a sweep run its grid in turns, go on after a kill, and end in Table 7?"""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

import ttastats as tta
from tests.trainer.runs import OWN, request, small
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.report import as_table
from ttastats.report.answer import Report
from ttastats.trainer import experiment, tables, workloads
from ttastats.trainer.settings import Overrides

GRID = {"batch_size": [64, 512]}


def plan(root: Path, runs: int = 2, **changes: object) -> experiment.Plan:
    options = small(target=0.5, epochs=12, test_samples=300, **changes)
    return experiment.plan_runs(request(root), options, range(runs), GRID)


def report(sweep: experiment.Plan) -> Report:
    table = tables.table_of_logs([place.results for place in sweep.setups.values()])
    return tables.sweep_report(table, {name: place.system for name, place in sweep.setups.items()})


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sweep")
    experiment.make_runs(plan(root).missing)
    return root


def test_setups_take_turns_and_none_is_always_first(tmp_path: Path) -> None:
    runs = [run.settings for run in plan(tmp_path, runs=6).runs]
    assert [settings.seed for settings in runs] == [seed for seed in range(6) for _ in range(2)]
    first = [settings.batch_size for settings in runs[::2]]
    assert [{*first[place : place + 2]} for place in (0, 2, 4)] == [{64, 512}] * 3
    assert [run.settings for run in plan(tmp_path, runs=3).runs] == runs[:6]


BREAKING = """
from ttastats.trainer.workloads.digits import *

calls = []

def loss(outputs, targets, batch_size):
    calls.append(batch_size)
    if calls.count(512) > {first}:
        calls.clear()
        raise RuntimeError("CUDA out of memory")
    import torch
    return torch.nn.functional.cross_entropy(outputs, targets)
"""


@pytest.mark.parametrize("first", [0, 8], ids=["in its warm-up", "behind it"])
def test_a_setup_that_fails_stops_no_other_and_is_not_begun_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], first: int
) -> None:
    (tmp_path / "mine.py").write_text(BREAKING.format(first=first))
    words = (
        f"sweep {tmp_path}/mine.py --width 8 --target 0.99 --epochs 4 --batch-size 64,512 --runs 2 "
        f"--device cpu --emit-log {tmp_path}/logs"
    ).split()
    for there, failures in ((0, 2), (4, 0)):
        result = app(words, standalone_mode=False)
        said = capfd.readouterr().err
        assert (result or 0) == int(bool(failures))
        assert said.count("in loss: RuntimeError: CUDA out of memory") == failures
        assert ("4 of 4 runs are already complete" in said) == bool(there)
    runs = tta.runs(tmp_path / "logs").frame
    assert sorted(runs["run_status"]) == ["aborted"] * 2 + ["exception"] * 2


def test_every_combination_is_a_setup(tmp_path: Path) -> None:
    grid = {"batch_size": [64, 512], "width": [8], "precision": ["fp32", "bf16"], "optimizer": []}
    options = Overrides({"epochs": 2}, device="cpu")
    sweep = experiment.plan_runs(request(tmp_path), options, range(1), grid)
    assert list(sweep.setups) == [
        "batch_size 64, precision fp32",
        "batch_size 64, precision bf16",
        "batch_size 512, precision fp32",
        "batch_size 512, precision bf16",
    ]
    assert len({place.system for place in sweep.setups.values()}) == 4
    with pytest.raises(TtastatsError, match="are identical"):
        experiment.plan_runs(request(tmp_path), small(), range(1), {"batch_size": [64, 64]})


def test_only_other_settings_or_seeds_of_a_finished_sweep_are_run(swept: Path) -> None:
    again = plan(swept)
    assert (len(again.runs), len(again.missing)) == (4, 0)
    assert len(plan(swept, runs=3).missing) == 2
    assert len(plan(swept, optimizer="adamw").missing) == 4


def test_a_run_that_broke_off_is_made_again_and_has_failed(swept: Path, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(swept, root)
    first = plan(root)
    victim = first.setups["batch_size 512"].results / "result_1.txt"
    lines = victim.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if '"epoch_stop"' in line)
    torn = "".join(lines[: at + 1]) + lines[at + 1][:40]  # as a killed machine may leave it
    victim.write_text(torn)
    missing = plan(root).missing
    assert [(run.settings.seed, run.settings.batch_size) for run in missing] == [(1, 512)]
    experiment.make_runs(missing)
    assert plan(root).missing == ()
    assert victim.read_text() == torn
    assert (victim.parent / "result_2.txt").exists()
    rows = {row["setup"]: row for row in report(first).rows}
    assert {name: (row["reached"], row["n"]) for name, row in rows.items()} == {
        "batch_size 64": (2, 2),
        "batch_size 512": (2, 3),  # a log without an end may be that of a setup without memory
    }


def planned(path: Path, root: Path, runs: int = 2) -> experiment.Plan:
    workloads.load_workload.cache_clear()
    sweep = request(root, str(path))
    return experiment.plan_runs(sweep, Overrides(device="cpu"), range(runs))


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "line.py"
    path.write_text("from beside_the_line import RATE\n" + OWN.replace("0.1, 8", "RATE, 8"))
    (tmp_path / "beside_the_line.py").write_text("RATE = 0.1\n")
    return path


def test_more_runs_are_the_seeds_that_are_missing(workload: Path, tmp_path: Path) -> None:
    first = planned(workload, tmp_path)
    experiment.make_runs(first.missing)
    more = planned(workload, tmp_path, runs=5)
    assert [run.settings.seed for run in more.missing] == [2, 3, 4]
    assert {run.folder for run in more.runs} == {first.runs[0].folder}
    elsewhere = tmp_path / "copy" / "line.py"
    elsewhere.parent.mkdir()
    for name in ("line.py", "beside_the_line.py"):
        shutil.copy(tmp_path / name, elsewhere.parent)
    assert planned(elsewhere, tmp_path).missing == ()


@pytest.mark.parametrize(
    ("name", "value", "other"),
    [("line.py", "target=0.01", "target=0.02"), ("beside_the_line.py", "0.1", "0.2")],
)
def test_a_changed_file_makes_other_runs_of_another_entry(
    name: str, value: str, other: str, workload: Path, tmp_path: Path
) -> None:
    before = planned(workload, tmp_path)
    experiment.make_runs(before.missing)
    logged = (before.runs[0].folder.results / "result_0.txt").read_text()
    assert '"key": "workload_import", "value": "RATE = 0.1\\n"' in logged
    changed = tmp_path / name
    text = changed.read_text()
    changed.write_text(text.replace(value, other))
    after_change = planned(workload, tmp_path)
    assert len(after_change.missing) == 2
    assert after_change.runs[0].folder != before.runs[0].folder
    experiment.make_runs(after_change.missing)
    assert planned(workload, tmp_path).missing == ()
    changed.write_text(text)
    assert planned(workload, tmp_path).missing == ()


@pytest.mark.parametrize("last", ["init_start", "settings", "run_start"])
def test_a_run_that_was_killed_in_its_beginning_is_made_in_the_same_place(
    last: str, workload: Path, tmp_path: Path
) -> None:
    before = planned(workload, tmp_path)
    experiment.make_runs(before.missing)
    log = before.runs[1].folder.results / "result_1.txt"
    lines = log.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if f'"key": "{last}"' in line)
    log.write_text("".join(lines[: at + 1]))
    again = planned(workload, tmp_path)
    assert [run.settings.seed for run in again.missing] == [1]
    assert again.runs[1].folder == before.runs[1].folder


def test_table_7_sets_throughput_beside_time_to_accuracy(swept: Path) -> None:
    answer = report(plan(swept))
    first, second = answer.rows
    assert (first["setup"], first["verdict"]) == ("batch_size 64", "baseline")
    assert (first["throughput_speedup"], first["speedup"]) == (1.0, 1.0)
    assert (first["speedup_low"], first["speedup_high"]) == (None, None)  # it is no estimate
    assert second["setup"] == "batch_size 512"
    assert second["verdict"] in {"faster", "slower", "same", "undecided"}
    for key in ("throughput_speedup", "speedup", "cpu_throughput_speedup", "cpu_tta_speedup"):
        assert second[key] > 0
    assert second["epochs_ratio"] == pytest.approx(first["epochs_mean"] / second["epochs_mean"])
    stream = io.StringIO()
    as_table.print_report(answer, Console(file=stream, width=200))
    assert "speedup over batch_size 64" in stream.getvalue()
    assert "batch_size 512 trains" in stream.getvalue()


def test_table_5_compares_what_runs_are_worth_on_data_that_stopped_none(swept: Path) -> None:
    sweep = plan(swept)
    answer = report(sweep)
    for row, place in zip(answer.rows, sweep.setups.values(), strict=True):
        values = tables.table_of_logs([place.results]).filter(metric="test_accuracy")["value"]
        assert (row["test_n"], row["test_mean"]) == (2, pytest.approx(values.mean()))
        assert row["test_sd"] == pytest.approx(values.std())
        assert row["deciding_mean"] >= 0.5
    first, second = answer.rows
    assert (first["test_difference"], first["test_verdict"]) == (None, None)
    difference = second["test_mean"] - first["test_mean"]
    assert second["test_difference"] == pytest.approx(difference)
    assert second["test_difference_low"] < difference < second["test_difference_high"]
    table = answer.tables[1]
    assert "at the end of the runs, on data that were not used to stop them" in table.title
    assert [row.cells[-1].text for row in table.rows] == ["baseline", second["test_verdict"]]
    systems = {name: place.system for name, place in sweep.setups.items()}
    every = tables.table_of_logs([place.results for place in sweep.setups.values()])
    last = pl.col("system") == list(systems.values())[-1]
    untested = every.filter(~(last & (pl.col("metric") == "test_accuracy")))
    assert len(tables.sweep_report(untested, systems).tables) == 1
