"""What importing the package costs, and that it keeps to arrays."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import ttastats.stats
from tests.programs import python

FOLDER = Path(ttastats.stats.__file__).parent
ROOT = FOLDER.parents[1]


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {statement}; print(*sys.modules)"
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_package_itself_loads_neither_numpy_nor_scipy() -> None:
    loaded = loaded_after("import ttastats.stats")
    if "polars" not in loaded:  # the parent package may need arrays of its own
        assert "scipy" not in loaded
    assert not {"scipy.stats", "statsmodels"} & loaded


def test_no_module_loads_the_slow_parts_of_scipy_or_statsmodels() -> None:
    names = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
    loaded = loaded_after("; ".join(f"import ttastats.stats.{name}" for name in names))
    assert {f"ttastats.stats.{name}" for name in names} <= loaded
    assert not {"scipy.stats", "scipy.optimize", "statsmodels"} & loaded


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_module_needs_arrays_only_and_prints_nothing(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= set(sys.stdlib_module_names) | {"numpy", "scipy", "statsmodels", "ttastats"}
    calls = {
        n.func.id
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    assert not {"print", "open", "input"} & calls
