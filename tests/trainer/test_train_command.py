"""`ttastats train` and `ttastats sweep` as a user meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests import programs
from ttastats.base.codes import Note
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.cli.commands import make_command
from ttastats.cli.train import _say_next, overrides
from ttastats.recording.run_log import ResultFolder
from ttastats.report.answer import Report

#: Where torch is absent, what the module of the commands imports, and what the commands print.
WITHOUT_TORCH = """
import contextlib, io, json, sys
sys.modules["torch"] = None
import ttastats.cli.train
ends = [[name for name in ("polars", "scipy") if name in sys.modules]]
for words in (["train", "--help"], ["sweep", "--help"], ["train"], ["sweep"]):
    sys.argv, out, err = ["ttastats", *words], io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            ttastats.cli.main()
        except SystemExit as end:
            ends.append([end.code or 0, out.getvalue(), err.getvalue()])
print(json.dumps(ends))
"""


def test_without_torch_there_is_help_and_the_install_command() -> None:
    process = programs.python("-c", WITHOUT_TORCH)
    assert process.returncode == 0, process.stderr
    imported, *ends = json.loads(process.stdout)
    assert imported == []
    for code, printed, _ in ends[:2]:
        assert code == 0
        assert "--emit-log" in printed
    for code, printed, message in ends[2:]:
        assert (code, printed) == (2, "")
        assert 'pip install "ttastats[train]"' in message
        assert "Traceback" not in message


def invoke(*arguments: object) -> Any:
    """Run a command in this process, which has imported torch already."""
    pytest.importorskip("torch", reason="training needs PyTorch")
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_run_without_logs_reaches_its_target_and_shows_a_time() -> None:
    result = invoke("train", "--width", 8, "--target", 0.5)
    assert result.exception is None
    row = next(line for line in result.stdout.splitlines() if line.split()[:1] == ["digits"])
    assert " 1/1 " in row
    assert re.search(r"\d (ms|s|min)\b", row.split("1/1")[1].split("–")[0])
    assert "∞" not in result.stdout


def test_training_prints_a_summary_and_keeps_the_logs(tmp_path: Path) -> None:
    result = invoke(
        "train", "--runs", 2, "--seed", 7, "--width", 8, "--target", 0.5, "--epochs", 9,
        "--device", "cpu", "--emit-log", tmp_path, "--org", "Test", "--system", "machine",
        "--dawnbench",
    )  # fmt: skip
    assert result.exception is None
    assert result.stderr.startswith(f"workload digits, logs in {tmp_path}/\n")
    assert "Test/machine" in result.stdout
    assert "2/2" in result.stdout
    results = tmp_path / "Test" / "results"  # not the DAWNBench files, which say the same again
    assert f"next: ttastats ingest {results} -o {tmp_path.name}.parquet &&" in result.stderr
    assert "CV of epochs" in result.stderr
    assert "epoch 1/" not in result.stderr  # progress is for terminals
    files = sorted(str(path.relative_to(tmp_path / "Test")) for path in tmp_path.rglob("*.*"))
    name = "dawnbench/digits/Test_digits_machine_pytorch_run"
    entries = [f"{name}{number}.{ending}" for number in (0, 1) for ending in ("json", "tsv")]
    logs = [f"results/machine/digits/result_{number}.txt" for number in (0, 1)]
    assert files == [*entries, *logs, "systems/machine.json"]
    assert json.loads((tmp_path / "Test/systems/machine.json").read_text())["submitter"] == "Test"


def test_a_sweep_ends_with_what_each_option_does_and_goes_on_where_it_was(tmp_path: Path) -> None:
    command = ("sweep", "--batch-size", "64,128", "--width", 8, "--target", 0.2, "--epochs", 9)
    command += ("--device", "cpu", "--emit-log", tmp_path, "--system", "machine")
    both = invoke(*command, "--set", "lr=0.05,0.1", "--runs", 1)
    table_7, effects = both.stdout.split(" effects\n")
    assert "speedup over batch_size 64, lr 0.05" in table_7
    assert "batch_size 128 vs 64" in effects
    assert "lr 0.1 vs 0.05" in effects
    first, second = (invoke(*command, "--runs", 2) for _ in range(2))
    assert (both.exception, first.exception, second.exception) == (None, None, None)
    assert "speedup over batch_size 64 (" in first.stdout
    assert first.stdout == second.stdout
    assert "4 of 4 runs are already complete" in second.stderr
    assert " effects\n" not in first.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "imagenet"), "'imagenet'\n  Choose digits, digits-small, digits-lm, or"),
        (("train", "--dawnbench"), "Add --emit-log."),
        (("train", "--optimizer", "lion"), "no learning rate"),
        (("sweep", "--batch-size", "64,many"), "'many' is not a whole number"),
        (("sweep", "--precision", "fp8"), "--precision"),
        (("train", "--set", "lr=0.1,0.2"), "`sweep` takes several"),
        (("train", "--set", "lr"), "Write --set NAME=VALUE once"),
        (("train", "--set", "width=8", "--width", "8"), "is set twice"),
        (("train", "--set", "lrr=1"), "Nearest: lr"),
    ],
)
def test_mistakes_are_answered_by_one_message(arguments: tuple[str, ...], message: str) -> None:
    result = invoke(*arguments)
    assert isinstance(result.exception, TtastatsError)
    assert message in str(result.exception)
    assert result.stdout == ""


def test_setups_are_named_by_what_a_step_is_before_where_a_run_ends() -> None:
    pytest.importorskip("torch", reason="training needs PyTorch")
    given = {"epochs": "1,2", "set": ["lr=0.1,0.2"], "batch_size": "64,128", "device": "cpu"}
    options, grid = overrides("digits", given)
    assert list(grid) == ["batch_size", "epochs", "lr"]
    assert (options.device, options.data) == ("cpu", None)


@pytest.mark.parametrize(("code", "clock"), [("contended", " --in cpu-seconds"), ("other", "")])
def test_the_next_command_counts_by_the_clock_that_tells(
    code: str, clock: str, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = pytest.importorskip("ttastats.trainer.experiment", exc_type=ImportError)
    plan = experiment.Plan((), (), {"": ResultFolder(Path("logs"), "local", "one", "digits")})
    report = Report("summary", (), (), (Note(code, "said"),), "")
    _say_next(report, Path("logs"), plan)
    stderr = capsys.readouterr().err
    assert stderr == (f"next: ttastats ingest logs/ && ttastats variance logs.parquet{clock}\n")


@pytest.mark.parametrize(
    ("words", "workload", "folder"),
    [
        ("train", "digits", None),
        ("train --emit-log", "digits", "logs"),
        ("train --emit-log --runs 2", "digits", "logs"),
        ("train --runs 2 --emit-log", "digits", "logs"),
        ("train digits-small --emit-log", "digits-small", "logs"),
        ("train --emit-log digits-small", "digits-small", "logs"),
        ("train --emit-log digits-small --runs 2", "digits-small", "logs"),
        ("train --emit-log mine.py", "mine.py", "logs"),
        ("train --emit-log other digits-small", "digits-small", "other"),
        ("train --emit-log other --runs 2", "digits", "other"),
        ("train --emit-log=other digits-small", "digits-small", "other"),
        ("train --emit-log=digits-small", "digits", "digits-small"),
        ("train --emit-log digits digits-lm", "digits-lm", "digits"),
        ("train digits-lm --emit-log digits", "digits-lm", "digits"),
        ("train --emit-log digits-lm", "digits", "digits-lm"),  # there is such a folder
        ("sweep", "digits", "sweep"),
        ("sweep --emit-log", "digits", "sweep"),
        ("sweep --emit-log digits-small --runs 2", "digits-small", "sweep"),
        ("sweep --emit-log other digits-small", "digits-small", "other"),
    ],
)
def test_a_folder_for_logs_may_be_left_out(
    words: str, workload: str, folder: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("digits-lm").mkdir()
    name, *others = words.split()
    given = make_command(name).make_context(name, others).params
    assert (given["workload"], given["emit_log"] and str(given["emit_log"])) == (workload, folder)
