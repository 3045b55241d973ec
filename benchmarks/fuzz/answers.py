"""What must hold for every answer: it ends, has a known exit code, and contains nothing raw."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

from markdown_it import MarkdownIt

from ttastats import cli

#: CPU seconds a command may take over a table of some runs; drawing takes the longest.
SECONDS = 15.0
CODES = {0, 1, 2, 3}
_MARKDOWN = MarkdownIt("commonmark").enable("table")
#: Beginnings of names that would do something in a page; see `columns.HOSTILE`.
RAW = ("<img src=x", "</script><script>alert")


@dataclass(frozen=True, slots=True)
class Answer:
    """The exit code of a command, or None after an exception, and what is wrong with its answer."""

    code: int | None
    findings: tuple[str, ...]


def answer(words: Sequence[str]) -> Answer:
    """Run a command line in this process and say what is wrong with its answer."""
    begun = time.process_time()
    try:
        result = run(words)
    except Exception as error:
        return Answer(None, (escaped(error),))
    except BaseException as error:  # a panic of polars is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return Answer(None, (escaped(error),))
    findings = list(wrong(words, result))
    if (took := time.process_time() - begun) > SECONDS:
        findings.append(f"took {took:.0f} s")
    return Answer(result.code, tuple(findings))


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended, and what it printed."""

    code: int
    stdout: str
    stderr: str
    warnings: tuple[str, ...]


def run(words: Sequence[str]) -> Result:
    """Run a command in this process, with pipes for its output."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
        mock.patch.object(sys, "argv", ["ttastats", *words]),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else -1
    texts = tuple(f"{w.category.__name__}: {w.message} ({w.filename}:{w.lineno})" for w in warned)
    return Result(code, stdout.getvalue(), stderr.getvalue(), texts)


def wrong(words: Sequence[str], result: Result) -> Iterator[str]:
    """Yield the faults of an answer, by its code, on the screen or in its file."""
    yield from result.warnings
    if result.code not in CODES:
        yield f"exit code {result.code}"
    if "internal error" in result.stderr:
        yield result.stderr.strip()
    if result.code == 2 and (result.stdout or not result.stderr.strip()):
        yield f"refused with {result.stdout[:80]!r} and {result.stderr[:80]!r}"
    yield from steering(result.stdout + "\n" + result.stderr)
    if result.code == 2:
        return
    if "json" in words:
        yield from no_json(result.stdout)
    if "md" in words:
        yield from markup(result.stdout)
    if "-o" in words:
        yield from wrong_file(Path(words[words.index("-o") + 1]))


def escaped(error: BaseException) -> str:
    """Return an exception as text: its type, its message, and the last of our own lines."""
    steps = traceback.extract_tb(error.__traceback__)
    ours = [step for step in steps if "/ttastats/" in step.filename]
    trace = " < ".join(f"{Path(s.filename).name}:{s.lineno}" for s in reversed(ours[-4:]))
    message = str(error).partition("\n")[0][:200]
    return f"{type(error).__name__}: {message} ({trace})"


def steering(text: str) -> Iterator[str]:
    """Yield the control characters that a terminal would act on."""
    odd = {letter for letter in text if not letter.isprintable()} - {"\n"}
    if odd:
        yield f"prints {sorted(odd)!r}"


def markup(text: str) -> Iterator[str]:
    """Yield the parts of a name in Markdown that a page would treat as markup."""
    html = str(_MARKDOWN.render(text))
    yield from (f"Markdown holds {raw!r}" for raw in RAW if raw in html)


def no_json(text: str) -> Iterator[str]:
    """Yield why a text is not JSON, which knows neither NaN nor Infinity."""
    try:
        json.loads(text, parse_constant=not_json)
    except ValueError as error:
        yield f"no JSON: {error}"


def not_json(name: str) -> None:
    raise ValueError(f"{name} is no number")


def wrong_file(path: Path) -> Iterator[str]:
    """Yield the faults of an output file, if it exists."""
    if path.suffix == ".html" and path.exists():
        text = path.read_text("utf-8")
        yield from (f"{path.name} holds {raw!r}" for raw in RAW if raw in text)
        for data in re.findall(
            r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL
        ):
            yield from no_json(data)
    elif path.suffix == ".svg" and path.exists():
        try:
            ElementTree.parse(path)
        except ElementTree.ParseError as error:
            yield f"{path.name} is no XML: {error}"
    elif path.suffix == ".jsonl" and path.exists():
        for line in path.read_text("utf-8").splitlines()[:50]:
            yield from no_json(line)
