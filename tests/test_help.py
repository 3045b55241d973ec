"""What the help of a command says beside its options, and what a shell proposes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from tests.test_cli import run
from ttastats.cli import app, complete

COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_stand_in_the_help_and_can_be_parsed(command: str) -> None:
    shown = run(command, "--help").stdout.split("\n  Examples:\n")[1]
    examples = [line.strip() for line in shown.splitlines() if line]
    assert len(examples) == 2
    for example in examples:
        program, name, *words = shlex.split(example)
        assert (program, name) == ("ttastats", command)
        COMMANDS[command].make_context(name, words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("export", "export: FILE... and --output are missing"),
        ("export runs.parquet", "export: --output is missing"),
        ("filter", "filter: FILE... and --output are missing"),
        ("profile", "profile: WHAT... is missing"),
        ("plot -o speedups.svg", "plot: KIND is missing"),
    ],
)
def test_where_an_argument_is_missing_the_examples_are_shown(words: str, message: str) -> None:
    done = run(*words.split())
    first, second = COMMANDS[words.split()[0]].epilog.splitlines()[2:]
    examples = f"  Examples: {first.strip()}\n            {second.strip()}\n"
    assert (done.returncode, done.stderr) == (2, f"ttastats: {message}\n{examples}")


@pytest.mark.parametrize("command", COMMANDS)
def test_what_stands_for_a_value_is_named(command: str) -> None:
    shown = run(command, "--help").stdout
    assert re.findall(r"<(?:str|path|int|float|text)>", shown) == []


def test_columns_are_proposed_behind_those_that_stand() -> None:
    assert complete.columns("benchmark,submi") == ["benchmark,submitter"]
    assert complete.columns("nothing_like_it") == []


def test_values_of_the_named_tables_are_proposed(
    two_systems: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ingest", two_systems / "one_gpu", "-o", tmp_path / "a.parquet")
    monkeypatch.setenv("COMP_WORDS", f"ttastats summary {tmp_path}/a.parquet --where benchmark=")
    assert complete.conditions("benchm") == ["benchmark="]
    assert complete.conditions("benchmark=d") == ["benchmark=digits"]
    assert complete.conditions("no_column=d") == []
    monkeypatch.setenv("COMP_WORDS", f"ttastats summary {tmp_path}/none.parquet --where b")
    assert complete.conditions("benchmark=d") == []


def test_units_are_proposed() -> None:
    assert complete.units("sam") == ["samples"]
