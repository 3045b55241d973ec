"""Which commands there are; each is imported when somebody names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from ttastats.cli.command import Command
from ttastats.cli.examples import EXAMPLES
from ttastats.cli.logs import taking_logs
from ttastats.cli.options import flat

#: The commands in the order of the help, each with the module of this folder that has it.
COMMANDS = {
    "guess": "guess", "ingest": "ingest", "runs": "tables", "summary": "tables",
    "rank": "tables", "variance": "tables", "compare": "compare", "claim": "claim",
    "targets": "compare", "report": "report", "plot": "plot", "power": "tables",
    "scaling": "tables", "score": "tables",
    "rcp": "rcp", "record": "record", "problems": "tables", "profile": "profile",
    "export": "export", "filter": "subset", "train": "train", "sweep": "train",
}  # fmt: skip


class Group(TyperGroup):
    """The program, which makes a command out of its function when it is asked for by name."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Mapping[str, TyperCommand] = _Commands()  # type: ignore[assignment]


class _Commands(Mapping[str, TyperCommand]):
    def __getitem__(self, name: str) -> TyperCommand:
        return _command(name, COMMANDS[name])

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@cache
def _command(name: str, module: str) -> TyperCommand:
    options = flat(getattr(import_module(f"ttastats.cli.{module}"), name))
    called = taking_logs(options) if "files" in signature(options).parameters else options
    examples = "\n".join(f"  ttastats {example}" for example in EXAMPLES[name])
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(cls=Command, epilog=f"\b\nExamples:\n{examples}")(called)
    return cast("TyperCommand", typer.main.get_command(alone))
