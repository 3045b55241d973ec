"""Which functions count as passed through, and how they are listed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks import trip
from tests.programs import python

SOURCE = '''
class Run:
    """Its body is no function."""

    def seconds(self):
        return sum(each for each in (lambda: [1, 2])())

def never():
    return 1

def twice():
    def inside():
        return 2
    return inside() + inside()

def start():
    total = twice()
    return total + Run().seconds()
'''


def test_named_functions_that_are_called_count_once(tmp_path: Path) -> None:
    path, module = tmp_path / "inside" / "a.py", dict[str, Any]()
    exec(compile(SOURCE, str(path), "exec"), module)
    passed = trip.passed(module["start"], [path.parent])
    assert [(one.name, one.line, one.lines, one.calls) for one in passed] == [
        ("Run.seconds", 5, 1, 1),
        ("twice", 11, 2, 1),
        ("twice.<locals>.inside", 12, 1, 2),
        ("start", 16, 2, 1),
    ]
    assert trip.passed(module["start"], [tmp_path / "elsewhere"]) == []
    assert sys.getprofile() is None


def test_functions_are_listed_by_folder() -> None:
    functions = [
        trip.Function(trip.HERE / "b" / "x.py", 3, "f", 2, 1),
        trip.Function(trip.HERE / "a" / "y.py", 1, "g", 4, 12),
    ]
    assert trip.table(functions, each=False) == [
        "functions  lines  folder",
        "        1      4  a",
        "        1      2  b",
        "        2      6  in 2 folders",
    ]
    assert trip.table(functions, each=True)[2] == "       12 ×   4    y.py:1 g"


def test_a_command_is_followed_from_its_first_import(tmp_path: Path) -> None:
    words = ["--list", "runs", str(tmp_path / "absent.parquet")]
    result = python(Path(trip.__file__), *words)
    assert result.returncode == 0
    assert "absent.parquet: no such file" in result.stderr
    lines = result.stdout.splitlines()
    assert any("__main__.py" in line and line.endswith(" main") for line in lines)
    assert any("tables.py" in line and line.endswith(" runs") for line in lines)
    assert any("store.py" in line for line in lines)
