"""Nothing in the tests waits without a limit, or for a time instead of what happens."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import within

FOLDER = Path(__file__).parent
#: What runs a program; `tests/programs.py` does so with a limit.
RUNNING = {"run", "call", "check_call", "check_output"}
WAITING = {"wait", "communicate"}


def calls(tree: ast.AST) -> Iterator[tuple[int, str, str, bool]]:
    """Yield line, object, method and whether anything is passed of every call of a method."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = bool(node.args or node.keywords)
            yield node.lineno, ast.unparse(node.func.value), node.func.attr, given


def endless(text: str) -> list[int]:
    """Return the lines that may wait for ever, or for a time."""
    return [
        line
        for line, of, method, limited in calls(ast.parse(text))
        if (of == "subprocess" and method in RUNNING)
        or (of == "time" and method == "sleep")
        or (method in WAITING and not limited)
    ]


def test_no_test_waits_for_ever_or_for_a_time() -> None:
    paths = [path for path in FOLDER.rglob("*.py") if path.name != "programs.py"]
    found = {path.name: lines for path in paths if (lines := endless(path.read_text("utf-8")))}
    assert found == {}


@pytest.mark.parametrize(
    "line", ["time.sleep(1)", "subprocess.run(['x'], timeout=5)", "one.wait()", "a.b.communicate()"]
)
def test_such_a_line_is_found(line: str) -> None:
    assert endless(f"def test():\n    {line}\n") == [2]
    assert endless("one.wait(5)") == []


def test_too_much_work_is_noticed_on_any_machine() -> None:
    with pytest.raises(AssertionError), within(1e-6):
        sum(range(10_000))
