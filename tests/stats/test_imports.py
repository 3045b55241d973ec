"""What importing the package costs."""

from __future__ import annotations

from pathlib import Path

import ttastats.stats
from tests.programs import python

FOLDER = Path(ttastats.stats.__file__).parent
ROOT = FOLDER.parents[1]


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {statement}; print(*sys.modules)"
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_no_module_loads_the_slow_parts_of_scipy_or_statsmodels() -> None:
    names = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
    loaded = loaded_after("; ".join(f"import ttastats.stats.{name}" for name in names))
    assert {f"ttastats.stats.{name}" for name in names} <= loaded
    assert not {"scipy.stats", "scipy.optimize", "statsmodels"} & loaded
