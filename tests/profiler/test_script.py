"""Any script records a profile of its own steps, and the command runs such scripts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import ttastats as tta
from tests.conftest import ROOT
from tests.profiler.nets import trained
from tests.test_cli import run
from ttastats.base.errors import TtastatsError

SCRIPT = """
import torch, ttastats as tta
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
with tta.profile({path!r}, steps=2) as prof:
    while not prof.done:
        model(torch.randn(4, 8)).sum().backward()
        prof.step()
"""


def recorded(path: Path, step: Callable[[], None], **options: Any) -> tta.Report:
    """Record one step, and return its report."""
    with tta.profile(path, steps=1, **options) as prof:
        while not prof.done:
            step()
            prof.step()
    return tta.profiled(path)


@pytest.fixture
def step() -> Callable[[], None]:
    step, _ = trained(nn.Linear(8, 8), torch.randn(4, 8))
    return step


def test_steps_after_the_last_that_is_watched_cost_nothing(
    step: Callable[[], None], tmp_path: Path
) -> None:
    with tta.profile(tmp_path / "p.parquet", steps=2, samples=4) as prof:
        for number in range(50):
            assert prof.done == (number >= 8 + 2 * 2 + 1)
            step()
            prof.step()
    report = tta.profiled(tmp_path / "p.parquet")
    names = {row["name"] for row in report.rows}
    assert {"aten::addmm", "samples_per_second", "step_seconds"} <= names
    assert not any(row["section"] == "memory" for row in report.rows)
    notes = [note.text for note in report.notes]
    assert "clock of a recorded step: CPU time of the thread." in notes


def test_several_threads_are_timed_by_the_wall_with_a_note(
    step: Callable[[], None], tmp_path: Path
) -> None:
    torch.set_num_threads(2)
    texts = [note.text for note in recorded(tmp_path / "p.parquet", step).notes]
    assert "clock of a recorded step: wall-clock." in texts
    assert any(text.startswith("wall-clock time includes delays") for text in texts)


def test_with_a_model_the_memory_is_measured(tmp_path: Path) -> None:
    model = nn.Linear(8, 8)
    step, state = trained(model, torch.randn(4, 8), momentum=0.9)
    report = recorded(tmp_path / "p.parquet", step, model=model, optimizer=state.optimizers[0])
    memory = {row["name"]: row["bytes"] for row in report.rows if row["section"] == "memory"}
    assert memory["weights"] == memory["optimizer state"] == 4 * (64 + 8)


def test_too_few_steps_are_no_profile_and_no_error(
    step: Callable[[], None], tmp_path: Path
) -> None:
    with pytest.warns(RuntimeWarning, match="too few steps"), tta.profile(tmp_path / "p.parquet"):
        step()
    assert not (tmp_path / "p.parquet").exists()


def test_a_failing_step_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> None:
        with tta.profile(tmp_path / "p.parquet") as prof:
            prof.step()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert not (tmp_path / "p.parquet").exists()
    assert torch.ones(2).sum() == 2


def test_a_place_that_cannot_be_written_to_is_refused_before_the_first_step(tmp_path: Path) -> None:
    with pytest.raises(TtastatsError, match="folder does not exist"):
        tta.profile(tmp_path / "missing" / "p.parquet")


class TestCommand:
    def test_a_script_is_run_and_what_it_wrote_is_shown(self, tmp_path: Path) -> None:
        script = tmp_path / "mine.py"
        script.write_text(SCRIPT.format(path=str(tmp_path / "p.parquet")))
        result = run("profile", script)
        assert result.returncode == 0
        assert "aten::addmm" in result.stdout
        assert (tmp_path / "p.parquet").exists()

    def test_a_script_without_a_profile_gets_help(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ttastats.trainer.profiler.recording.WRITTEN", [])
        script = tmp_path / "mine.py"
        script.write_text("print('nothing')\n")
        result = run("profile", script)
        assert result.returncode == 2
        assert "recorded no profile" in result.stderr

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("p.parquet", "no such file"),
            ("p.parquet --batch-size 8", "--batch-size: only applies when a workload is profiled"),
            ("p.parquet --ablation", "--ablation: only applies when"),
            ("p.parquet -o kept.parquet", "--output: only applies when"),
            ("digits --batch-sizes 8,x", "invalid batch sizes"),
            ("digits --width 8,16", "takes one value"),
            ("digits --set target=0.5", "has no effect on a step"),
            ("digits --without bn", "unknown layers 'bn'"),
            ("digit", "unknown workload 'digit'"),
            ("digits digits-lm", "at a time"),
        ],
    )
    def test_impossible_profiles_are_refused(
        self, words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result = run("profile", *words.split())
        assert result.returncode == 2
        assert message in result.stderr

    def test_a_workload_is_profiled_with_all_that_can_be_measured(self, tmp_path: Path) -> None:
        path = tmp_path / "p.parquet"
        words = ["--width", "4", "--steps", "2", "--batch-sizes", "8,16", "--ablation"]
        result = run("profile", "digits", *words, "-o", path, "--format", "json")
        assert result.returncode == 0, result.stderr
        rows = tta.profiled(path).rows
        named = [(row["section"], str(row["name"])) for row in rows]
        assert [name for section, name in named if section == "batch_size"] == ["8", "16"]
        assert next(name for section, name in named if section == "ablation") == "all layers"
        assert sum(section == "memory" for section, _ in named) == 5
        (flops,) = {row["flops"] for row in rows if row["name"] == "aten::convolution_backward"}
        assert flops > 0

    def test_a_workload_of_one_s_own_is_profiled_by_the_contract_of_train(self) -> None:
        path = ROOT / "examples" / "workloads" / "diabetes.py"
        result = run("profile", path, "--steps", "1", "--batch-size", "16", "--set", "hidden=8")
        assert result.returncode == 0, result.stderr
        assert "samples per step" in result.stdout
        assert "nothing was saved this time" in result.stderr

    def test_a_compiled_network_is_timed_by_the_wall_and_its_graphs_compute(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        # The graph is traced and runs as it is: to compile it takes a minute.
        monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
        monkeypatch.setenv("CXX", sys.executable)
        workload, path = ROOT / "examples" / "workloads" / "diabetes.py", tmp_path / "p.parquet"
        words = ("--steps", "1", "--batch-size", "16", "--set", "hidden=8", "--compile")
        result = run("profile", workload, *words, "-o", path, "-v")
        assert result.returncode == 0, result.stderr
        assert "clock of a recorded step: wall-clock" in result.stdout
        kinds = {row["name"] for row in tta.profiled(path).rows if row["section"] == "category"}
        assert {"compiled", "matrix product"} <= kinds

    @pytest.mark.usefixtures("worker_output")  # else later tests could not read what workers say
    def test_two_workers_tell_how_long_they_communicate(self, tmp_path: Path) -> None:
        path = tmp_path / "p.parquet"
        words = ["--width", "4", "--batch-size", "16", "--workers", "2", "--steps", "2"]
        result = run("profile", "digits", *words, "-o", path, "-v")
        assert result.returncode == 0, result.stderr
        rows = tta.profiled(path).rows
        (workers,) = (row for row in rows if row["section"] == "workers")
        assert workers["name"] == "2"
        # An all-reduce lies within the step; how long it is, nobody can say here.
        assert 0 < workers["under_way_share"] < 1
        assert workers["pure_share"] > 0
        weights = next(row["bytes"] for row in rows if row["name"] == "optimizer state")
        assert workers["bytes"] == weights  # SGD keeps one number for each gradient
        samples = next(row["value"] for row in rows if row["name"] == "samples")
        assert samples == 8  # of each worker
        assert "the share of each of 2 workers in 16" in result.stdout

    def test_layers_are_left_out_of_the_whole_profile(self, tmp_path: Path) -> None:
        path = tmp_path / "p.parquet"
        words = ("--width", "4", "--steps", "1", "--without", "batch norm,relu")
        assert run("profile", "digits", *words, "-o", path).returncode == 0
        names = {row["name"] for row in tta.profiled(path).rows}
        assert "aten::convolution" in names
        assert not names & {"aten::native_batch_norm", "aten::relu_", "batch norm"}
