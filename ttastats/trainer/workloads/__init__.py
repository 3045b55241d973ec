"""Which workloads are there, and how is a user's own file turned into one?"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from ttastats.base.errors import TtastatsError
from ttastats.trainer.built_in import BUILT_IN
from ttastats.trainer.imports import imported
from ttastats.trainer.workloads import contract
from ttastats.trainer.workloads.contract import REQUIRED, Workload


@cache
def load(name: str) -> Workload:
    """Return a built-in workload by its name, or the one in a Python file.

    Raises
    ------
    TtastatsError
        There is no such workload, its packages are missing, or its file lacks a required name.
    """
    if name in BUILT_IN:
        return _workload(name, _built_in(name))
    path = Path(name)
    if path.suffix != ".py":
        raise TtastatsError(
            f"unknown workload {name!r}",
            remedy=f"Choose {', '.join(BUILT_IN)}, or give a Python file such as mine.py.",
        )
    return _workload(path.stem.replace("_", "-"), _from_file(path))


def _built_in(name: str) -> ModuleType:
    try:
        return importlib.import_module(BUILT_IN[name])
    except ModuleNotFoundError as error:
        raise TtastatsError(
            f"needs the package {error.name}",
            where=f"workload {name}",
            remedy='Install it: pip install "ttastats[train]"',
        ) from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise TtastatsError("no such file", where=str(path), remedy="Check the path.")
    spec = importlib.util.spec_from_file_location(f"ttastats_workload_{path.stem}", path)
    if spec is None:
        raise TtastatsError("is not a Python file", where=str(path))
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:  # as for a script: what lies beside the file can be imported
        sys.path.insert(0, folder)
    try:
        # Not by its loader: of a file changed within a second that might run the kept bytecode.
        exec(compile(path.read_bytes(), path, "exec"), vars(module))  # noqa: S102 - as a script
    except Exception as error:  # the file is the user's own and may do anything
        raise TtastatsError(
            f"cannot be run: {type(error).__name__}: {error}",
            where=str(path),
            remedy="The file is run as Python; fix it and retry.",
        ) from error
    return module


def _workload(name: str, module: ModuleType) -> Workload:
    missing = [word for word in REQUIRED if not hasattr(module, word)]
    if missing:
        raise TtastatsError(
            f"does not define {', '.join(missing)}",
            where=str(module.__file__),
            remedy="docs/trainer.md describes what a workload must define.",
        )
    path = Path(str(module.__file__))
    try:
        return contract.workload(name, path.read_text("utf-8"), imported(path), vars(module))
    except TtastatsError as error:
        raise TtastatsError(error.what, where=str(module.__file__), remedy=error.remedy) from None
