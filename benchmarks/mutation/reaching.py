"""Which tests call which functions, and how long does each test take?"""

from __future__ import annotations

import ast
import builtins
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest

#: Of each file, the tests that call the function of a line; line 0 has all that call any.
Calls = dict[str, dict[int, list[str]]]

_NOTE = "__note_a_call__"


def replace_code(changed: Callable[[str], CodeType | None]) -> None:
    """Make Python import the code that `changed` returns for a file, if it returns any."""
    original = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        return changed(loader.path) or original(loader, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


class Map:
    """A plugin of pytest that records the functions that each test calls."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = frozenset(files)
        self._now: set[tuple[str, int]] = set()
        self._at_import = self._now
        self._calls: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self._failed: set[str] = set()
        setattr(builtins, _NOTE, lambda path, line: self._now.add((path, line)))

    def code(self, path: str) -> CodeType | None:
        """Return the code of a file that records each call, or None for other files."""
        if path not in self._files:
            return None
        tree = ast.parse(Path(path).read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                note = ast.parse(f"{_NOTE}({path!r}, {node.lineno})").body
                node.body[:0] = note  # a docstring is not needed here
        return compile(tree, path, "exec")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Time a test."""
        begun = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - begun

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Record the fixtures, perhaps of all tests of a file."""
        self._now = self._calls[item.nodeid.split("::")[0]]
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Record the functions that a test calls."""
        self._now = self._calls[item.nodeid]
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the tests that failed: they would kill every mutant."""
        if not report.passed:
            self._failed.add(report.nodeid)

    def calls(self) -> Calls:
        """Return the tests of each function, quickest first, without those that did not pass."""
        tests_of: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for name, calls in self._calls.items():
            tests = {test for test in self.seconds if name in (test, test.split("::")[0])}
            for file, line in calls:
                tests_of[file][line] |= tests - self._failed
                tests_of[file][0] |= tests - self._failed
        for file, line in self._at_import:  # what it made, any test of the file may use
            tests_of[file][line] |= tests_of[file][0]
        quickest = self.seconds.__getitem__
        return {
            file: {line: sorted(tests, key=quickest) for line, tests in of_file.items()}
            for file, of_file in tests_of.items()
        }


def mapped(
    files: Sequence[str], tests: Sequence[str], path: Path
) -> tuple[Calls, dict[str, float]]:
    """Return the tests of each function of some files, and their seconds.

    They are kept in a file for next time. The tests run in a process of their own, so that nothing
    of the product is imported here.
    """
    if not path.exists():
        child = os.fork()
        if not child:
            try:
                _map(files, tests, path)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    content = json.loads(path.read_text("utf-8"))
    calls = {
        file: {int(line): names for line, names in of_file.items()}
        for file, of_file in content["calls"].items()
    }
    return calls, content["seconds"]


def _map(files: Sequence[str], tests: Sequence[str], path: Path) -> None:
    plugin = Map(files)
    replace_code(plugin.code)
    pytest.main([*tests, "-q", "-p", "no:cacheprovider"], [plugin])
    path.write_text(json.dumps({"calls": plugin.calls(), "seconds": plugin.seconds}), "utf-8")
