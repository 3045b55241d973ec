"""Does a sweep run its grid in turns, go on after a kill, and end in Table 7?"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.trainer.runs import request, small
from ttastats.base.errors import TtastatsError
from ttastats.report.answer import Report
from ttastats.trainer import after, experiment, tables, workloads
from ttastats.trainer.settings import Overrides

GRID = {"batch_size": [64, 512]}


def plan(root: Path, runs: int = 2, **changes: object) -> experiment.Plan:
    options = small(target=0.5, epochs=12, test_samples=300, **changes)
    return experiment.plan_runs(request(root), options, range(runs), GRID)


def report(done: experiment.Plan) -> Report:
    table = after.table_of_logs([place.results for place in done.setups.values()])
    return tables.sweep_report(table, {name: place.system for name, place in done.setups.items()})


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sweep")
    experiment.make_runs(plan(root).missing)
    return root


def order(of: experiment.Plan) -> list[tuple[int, int]]:
    return [(one.settings.seed, one.settings.batch_size) for one in of.runs]


def test_setups_take_turns_and_none_is_always_first(tmp_path: Path) -> None:
    assert order(plan(tmp_path, runs=3)) == [
        (0, 64), (0, 512), (1, 512), (1, 64), (2, 64), (2, 512),
    ]  # fmt: skip


def test_every_combination_is_a_setup(tmp_path: Path) -> None:
    grid = {"batch_size": [64, 512], "width": [8], "precision": ["fp32", "bf16"], "optimizer": []}
    options = Overrides({"epochs": 2}, device="cpu")
    made = experiment.plan_runs(request(tmp_path), options, range(1), grid)
    assert list(made.setups) == [
        "batch_size 64, precision fp32",
        "batch_size 64, precision bf16",
        "batch_size 512, precision fp32",
        "batch_size 512, precision bf16",
    ]
    assert len({place.system for place in made.setups.values()}) == 4


def test_the_same_setup_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TtastatsError, match="are identical"):
        experiment.plan_runs(request(tmp_path), small(), range(1), {"batch_size": [64, 64]})


def test_a_finished_sweep_has_nothing_left_to_run(swept: Path) -> None:
    again = plan(swept)
    assert (len(again.runs), len(again.missing)) == (4, 0)


def test_other_settings_or_seeds_are_run(swept: Path) -> None:
    assert len(plan(swept, runs=3).missing) == 2
    assert len(plan(swept, optimizer="adamw").missing) == 4


def test_a_run_that_broke_off_is_made_again_and_has_failed(swept: Path, tmp_path: Path) -> None:
    import shutil

    root = tmp_path / "copy"
    shutil.copytree(swept, root)
    done = plan(root)
    victim = done.setups["batch_size 512"].results / "result_1.txt"
    lines = victim.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if '"epoch_stop"' in line)
    torn = "".join(lines[: at + 1]) + lines[at + 1][:40]  # as a killed machine may leave it
    victim.write_text(torn)
    missing = plan(root).missing
    assert [(one.settings.seed, one.settings.batch_size) for one in missing] == [(1, 512)]
    experiment.make_runs(missing)
    assert plan(root).missing == ()
    assert victim.read_text() == torn
    assert (victim.parent / "result_2.txt").exists()
    rows = {row["setup"]: row for row in report(done).rows}
    assert {name: (row["reached"], row["n"]) for name, row in rows.items()} == {
        "batch_size 64": (2, 2),
        "batch_size 512": (2, 3),  # a log without an end may be that of a setup without memory
    }


def test_any_value_of_the_recipe_is_an_axis(tmp_path: Path) -> None:
    grid = {"lr": [0.05, 0.1], "channels_last": [False, True], "threads": [1, 2]}
    made = experiment.plan_runs(request(tmp_path), small(), range(1), grid)
    assert len(made.runs) == 8
    assert len({one.settings.setup_digest() for one in made.runs}) == 8
    assert len({place.system for place in made.setups.values()}) == 8


WORKLOAD = """
import torch
from torch import nn
from ttastats.trainer.workloads.contract import Data, Recipe
RECIPE = Recipe(metric="error", higher_is_better=False, target=0.5, epochs=1, batch_size=8, lr=0.1)
def data():
    x = torch.linspace(-1, 1, 40)[:, None]
    return Data(x, 2 * x, x, 2 * x)
def model():
    return nn.Linear(1, 1)
def loss(outputs, targets):
    return (outputs - targets).square().mean()
def score(outputs, targets):
    return (outputs - targets).square().mean(1)
"""


def planned(path: Path, root: Path, runs: int = 2) -> experiment.Plan:
    asked = request(root, str(path))
    return experiment.plan_runs(asked, Overrides(device="cpu"), range(runs))


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "line.py"
    path.write_text(WORKLOAD)
    workloads.load_workload.cache_clear()
    return path


def test_more_runs_are_the_seeds_that_are_missing(workload: Path, tmp_path: Path) -> None:
    first = planned(workload, tmp_path)
    experiment.make_runs(first.missing)
    more = planned(workload, tmp_path, runs=5)
    assert [one.settings.seed for one in more.missing] == [2, 3, 4]
    assert {one.place for one in more.runs} == {first.runs[0].place}
    elsewhere = tmp_path / "copy" / "line.py"
    elsewhere.parent.mkdir()
    elsewhere.write_text(WORKLOAD)
    assert planned(elsewhere, tmp_path).missing == ()


def test_a_changed_file_makes_other_runs_of_another_entry(workload: Path, tmp_path: Path) -> None:
    before = planned(workload, tmp_path)
    experiment.make_runs(before.missing)
    workload.write_text(WORKLOAD.replace("lr=0.1", "lr=0.3"))
    workloads.load_workload.cache_clear()
    after_change = planned(workload, tmp_path)
    assert len(after_change.missing) == 2
    assert after_change.runs[0].place != before.runs[0].place
    experiment.make_runs(after_change.missing)
    assert planned(workload, tmp_path).missing == ()
    workload.write_text(WORKLOAD)
    workloads.load_workload.cache_clear()
    assert planned(workload, tmp_path).missing == ()


@pytest.mark.parametrize("last", ["init_start", "settings", "run_start"])
def test_a_run_that_was_killed_in_its_beginning_is_made_in_the_same_place(
    last: str, workload: Path, tmp_path: Path
) -> None:
    before = planned(workload, tmp_path)
    experiment.make_runs(before.missing)
    log = before.runs[1].place.results / "result_1.txt"
    lines = log.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if f'"key": "{last}"' in line)
    log.write_text("".join(lines[: at + 1]))
    again = planned(workload, tmp_path)
    assert [one.settings.seed for one in again.missing] == [1]
    assert again.runs[1].place == before.runs[1].place


def test_table_7_sets_throughput_beside_time_to_accuracy(swept: Path) -> None:
    first, second = report(plan(swept)).rows
    assert (first["setup"], first["verdict"]) == ("batch_size 64", "baseline")
    assert (first["throughput_speedup"], first["speedup"]) == (1.0, 1.0)
    assert (first["speedup_low"], first["speedup_high"]) == (None, None)  # it is no estimate
    assert second["setup"] == "batch_size 512"
    assert second["verdict"] in {"faster", "slower", "same", "undecided"}
    for key in ("throughput_speedup", "speedup", "cpu_throughput_speedup", "cpu_tta_speedup"):
        assert second[key] > 0
    assert second["epochs_ratio"] == pytest.approx(first["epochs_mean"] / second["epochs_mean"])


def test_table_5_compares_what_runs_are_worth_on_data_that_stopped_none(swept: Path) -> None:
    done = plan(swept)
    found = report(done)
    for row, place in zip(found.rows, done.setups.values(), strict=True):
        values = after.table_of_logs([place.results]).filter(metric="test_accuracy")["value"]
        assert (row["test_n"], row["test_mean"]) == (2, pytest.approx(values.mean()))
        assert row["test_sd"] == pytest.approx(values.std())
        assert row["deciding_mean"] >= 0.5
    first, second = found.rows
    assert (first["test_difference"], first["test_verdict"]) == (None, None)
    difference = second["test_mean"] - first["test_mean"]
    assert second["test_difference"] == pytest.approx(difference)
    assert second["test_difference_low"] < difference < second["test_difference_high"]
    table = found.tables[1]
    assert "at the end of the runs, on data that were not used to stop them" in table.title
    assert [row.cells[-1].text for row in table.rows] == ["baseline", second["test_verdict"]]


def test_a_sweep_of_which_one_setup_kept_no_test_part_has_no_table_5(swept: Path) -> None:
    done = plan(swept)
    table = after.table_of_logs([place.results for place in done.setups.values()])
    systems = {name: place.system for name, place in done.setups.items()}
    last = pl.col("system") == list(systems.values())[-1]
    silent = table.filter(~(last & (pl.col("metric") == "test_accuracy")))
    assert len(tables.sweep_report(silent, systems).tables) == 1


def test_the_tables_show_the_setups_in_words(swept: Path) -> None:
    import io

    from rich.console import Console

    from ttastats.report.render import as_table

    stream = io.StringIO()
    as_table.print_report(report(plan(swept)), Console(file=stream, width=200))
    text = stream.getvalue()
    assert "speedup over batch_size 64" in text
    assert "batch_size 512 trains" in text
