"""Accepted expectations: how a case is declared, compared with its file, and renewed.

In accepted answers a text of `codes.TEXTS` stands as its key and its fields (`in_codes`), so that a
new wording moves one line of `reference/texts.txt`, and the screens that show it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from string import Formatter
from typing import Any

import pytest
from rich.console import Console

from tests.conftest import ROOT, matches_accepted, plain
from ttastats.base.codes import TEXTS
from ttastats.report import as_table
from ttastats.report.answer import Report

REFERENCE = ROOT / "tests" / "reference"


@dataclass(frozen=True, slots=True)
class Case:
    """The lines of an accepted file: strings as they are, all else as JSON."""

    folder: str
    name: str
    lines: Callable[[], Iterable[Any]]

    def is_as_accepted(self) -> bool:
        """Compare the lines with those of the file, or renew it where TTASTATS_ACCEPT is set."""
        lines = (line if isinstance(line, str) else as_json(line) for line in self.lines())
        text = "".join(f"{line}\n" for line in lines)
        return matches_accepted(REFERENCE / self.folder / f"{self.name}.txt", text)


def in_full(report: Report) -> str:
    """Return the printed form of a report with all notes, at any width."""
    stream = io.StringIO()
    as_table.print_report(report, Console(file=stream, color_system=None), verbose=True)
    return stream.getvalue().rstrip("\n")


def as_json(value: Any) -> str:
    """Return a value in JSON, with numbers to six digits."""
    return json.dumps(plain(value), ensure_ascii=False, default=str)


def cases(folder: str, **lines: Callable[[], Iterable[Any]]) -> pytest.MarkDecorator:
    """Return a decorator that runs a test with each case, named by its file."""
    every = [Case(folder, name, make) for name, make in lines.items()]
    return pytest.mark.parametrize("case", every, ids=lambda case: case.name)


def by_name(*functions: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return functions by name, as cases."""
    return {function.__name__: function for function in functions}


def parts(
    name: str, of_seed: Callable[[int], Iterable[Any]], seeds: int, count: int = 1
) -> dict[str, Callable[[], Iterator[Any]]]:
    """Return cases that split the seeds, so that each is quick: `name_0` has every count-th."""

    def lines(part: int) -> Iterator[Any]:
        return chain.from_iterable(map(of_seed, range(part, seeds, count)))

    return {f"{name}_{part}" if count > 1 else name: partial(lines, part) for part in range(count)}


def in_codes() -> dict[str, str]:
    """Return the texts of all codes without their words: `few_runs(runs={runs}; limit={limit})`."""
    return {key: f"{key}({'; '.join(_fields(template))})" for key, template in TEXTS.items()}


def _fields(template: str) -> dict[str, None]:
    """Return what fills a template, without words that a number chooses: `{n:# run/runs}`."""
    parts = ((name, spec or "") for _, name, spec, _ in Formatter().parse(template) if name)
    return dict.fromkeys(
        f"{name}={{{name}}}" if spec[:1] in {"", "#", "?"} else f"{name}={{{name}:{spec}}}"
        for name, spec in parts
    )
