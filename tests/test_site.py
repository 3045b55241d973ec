"""The generated pages of the site are complete."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import PurePosixPath
from types import ModuleType

import pytest

import ttastats
from tests.conftest import ROOT
from ttastats.cli.commands import COMMANDS, make_command


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "build" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_and_option_is_described(pages: ModuleType) -> None:
    text = pages.commands()
    for name, command in ((name, make_command(name)) for name in COMMANDS):
        page = text.split(f"### `ttastats {name}`\n")[1].split("\n##")[0]
        assert command.help.split("\n")[0].split(".")[0] in page
        assert f"$ {command.epilog.splitlines()[2].strip()}\n" in page
        for option in command.params:
            assert (
                option.metavar if option.param_type_name == "argument" else option.opts[0]
            ) in page
            assert option.help, f"{name} {option.opts[0]} has no help"


@pytest.mark.parametrize("name", sorted(set(dir(ttastats)) - {"__version__"}))
def test_every_public_name_is_described(pages: ModuleType, name: str) -> None:
    assert f"::: ttastats.{name}\n" in pages.api()
    assert inspect.getdoc(getattr(ttastats, name))


def test_every_public_name_is_in_one_group(pages: ModuleType) -> None:
    listed = [name for names in pages.GROUPS.values() for name in names]
    assert sorted(listed) == sorted(set(dir(ttastats)) - {"__version__"})
    compare = pages.commands().split("### `ttastats compare`\n")[1].split("\n##")[0]
    assert "--fail-on" in compare.split("**Gate (exit code 3)**")[1].split("\n**")[0]


def test_the_site_begins_with_a_result(pages: ModuleType) -> None:
    text = pages.result_first(pages.moved("README.md"))
    question, plot, answer = text.split("\n\n")[1:4]
    assert question.endswith("that?**")
    assert plot.startswith("![Accuracy over time")
    assert "is 1.74× faster than" in answer


def test_links_lead_to_pages_of_the_site_and_other_files_are_named(pages: ModuleType) -> None:
    text = "[a](docs/columns.md#x) ![b](docs/plots/y.svg) [c](examples/z) [d](https://e.f)"
    assert pages.with_links("[`x/y`](x/y)", PurePosixPath()) == "`x/y`"
    assert pages.with_links(text, PurePosixPath()) == (
        "[a](columns.md#x) ![b](plots/y.svg) c (`examples/z`) [d](https://e.f)"
    )
    assert pages.with_links("[i](../README.md)", PurePosixPath("docs")) == "[i](index.md)"
