"""The help of commands, and the completions of a shell."""

from __future__ import annotations

import re
import shlex
from itertools import chain
from pathlib import Path

import pytest

from tests.test_cli import run
from ttastats.cli import commands, complete

COMMANDS = {name: commands.make_command(name) for name in commands.COMMANDS}


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_stand_in_the_help_and_can_be_parsed(command: str) -> None:
    shown = run(command, "--help").stdout.split("\n  Examples:\n")[1].split("\n\n")[0]
    examples = [line.strip() for line in shown.splitlines()]
    assert len(examples) >= 2
    for example in examples:
        program, name, *words = shlex.split(example)
        assert (program, name) == ("ttastats", command)
        COMMANDS[command].make_context(name, words)


def sections(*words: str) -> dict[str, list[str]]:
    """Return the first words of the entries of a help, by section."""
    parts = re.split(r"^(\S.*):\n", run(*words).stdout, flags=re.MULTILINE)[1:]
    return {
        title: re.findall(r"^  (\S+)", text, re.MULTILINE)
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }


def test_the_help_begins_with_the_five_commands_of_the_usual_way() -> None:
    listed = sections("--help")
    assert list(listed)[1] == "From logs to an answer"
    assert listed["From logs to an answer"] == ["guess", "ingest", "summary", "compare", "report"]
    assert [*chain(*list(listed.values())[1:])] == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_stands_in_one_section(command: str) -> None:
    whole = "--help-all" if "--help-all" in run(command, "--help").stdout else "--help"
    listed = [name.rstrip(",") for names in sections(command, whole).values() for name in names]
    every = COMMANDS[command].get_params(COMMANDS[command].make_context(
        command, [], resilient_parsing=True))  # fmt: skip
    spelled = {p.name: p.opts for p in every if p.param_type_name == "option"}
    assert sorted(name for name in listed if name.startswith("-")) == sorted(
        min(names, key=len) for names in spelled.values()
    )


def test_options_of_a_long_help_are_grouped_by_what_they_are_for() -> None:
    listed = sections("compare", "--help-all")
    assert list(listed) == [
        "Arguments", "Sides and runs", "What counts", "Judgement", "Gate (exit code 3)", "Causes",
        "Output",
    ]  # fmt: skip
    assert listed["Sides and runs"][:3] == ["--a", "--b", "--baseline"]
    assert listed["Gate (exit code 3)"] == ["--fail-on", "--require"]
    assert list(sections("filter", "--help")) == ["Arguments", "Options"]


def test_the_help_of_a_long_command_is_read_without_scrolling() -> None:
    lines = run("compare", "--help").stdout.splitlines()
    assert len(lines) <= 24
    options = sections("compare", "--help")["Most used"]
    assert {"--a", "--b", "--by", "--target", "--fail-on", "-f,"} <= set(options)
    assert lines[-1].split() == ["--help-all", "Show", "all", "41", "options."]
    claims = sections("claim", "--help")["Most used"]
    assert {"--quality", "--seconds", "--steps"} <= set(claims), "options of the command itself"
    (where,) = (line for line in lines if "--where" in line)
    assert where.endswith("Filter runs: benchmark=bert,rgat."), "it is cut at a comma"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("export", "export: FILE... and --output are missing"),
        ("export runs.parquet", "export: --output is missing"),
        ("filter", "filter: FILE... and --output are missing"),
        ("profile", "profile: WHAT... is missing"),
        ("runs --top 3", "runs: FILE... is missing"),
        ("plot -o speedups.svg", "plot: KIND is missing"),
    ],
)
def test_where_an_argument_is_missing_the_examples_are_shown(words: str, message: str) -> None:
    result = run(*words.split())
    first, second = COMMANDS[words.split()[0]].epilog.splitlines()[2:]
    examples = f"  Examples: {first.strip()}\n            {second.strip()}\n"
    assert (result.returncode, result.stderr) == (2, f"ttastats: {message}\n{examples}")


@pytest.mark.parametrize("command", COMMANDS)
def test_placeholders_of_values_are_named(command: str) -> None:
    shown = run(command, "--help").stdout
    assert re.findall(r"<(?:str|path|int|float|text)>", shown) == []


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


def test_names_are_proposed_behind_those_that_stand() -> None:
    assert complete.columns("benchmark,submi") == ["benchmark,submitter"]
    assert complete.columns("nothing_like_it") == []
    assert complete.units("sam") == ["samples"]
