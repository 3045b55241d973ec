"""Which files beside a workload's own does it import, of those that describe the workload too?

Those in its folder, and the workloads that come with the trainer; found in the text, so that what
a function imports only when it is called counts, and what another program has loaded does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

_BUILT_IN = "ttastats.trainer.workloads"
_FOLDER = Path(__file__).parent / "workloads"
#: The trainer's own side of the bargain, which all workloads import.
_NO_WORKLOADS = frozenset({_FOLDER / "__init__.py", _FOLDER / "contract.py"})


def imported(path: Path) -> tuple[str, ...]:
    """Return texts of the files that a file imports, and that those import, in a fixed order."""
    first = path.resolve()
    found, waiting = {first}, [first]
    while waiting:
        new = set(_imported_by(waiting.pop(), first.parent)) - found - _NO_WORKLOADS
        found |= new
        waiting += new
    return tuple(sorted(one.read_text("utf-8", "replace") for one in found - {first}))


def _imported_by(path: Path, folder: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # nothing imports from it; it says so when it is run
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(folder, alias.name)
        elif isinstance(node, ast.ImportFrom):
            place = path.parents[node.level - 1] if node.level else folder
            for alias in node.names:
                yield from _files(place, f"{node.module or ''}.{alias.name}".lstrip("."))


def _files(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files that importing a dotted name runs; its last word need not be a module."""
    if name.startswith(f"{_BUILT_IN}."):
        folder, name = _FOLDER, name.removeprefix(f"{_BUILT_IN}.")
    place, words = folder, name.split(".")
    for word in words if words[0] != "ttastats" else ():  # a checkout may lie in the folder
        place /= word
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                yield file
