"""Which workloads are there, and how is a user's own file turned into one?"""

from __future__ import annotations

import ast
import importlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import torch

from ttastats.base.errors import TtastatsError, raise_if
from ttastats.trainer import BUILT_IN
from ttastats.trainer.workloads import contract
from ttastats.trainer.workloads.contract import REQUIRED, Workload

_PACKAGE, _FOLDER = __name__, Path(__file__).parent
_TORCH = Path(torch.__file__).parent
#: The trainer's own side of the bargain, which all workloads import.
_NO_WORKLOADS = frozenset({_FOLDER / "__init__.py", _FOLDER / "contract.py"})


@cache
def load_workload(name: str) -> Workload:
    """Return a built-in workload by its name, or one defined in a Python file."""
    if name in BUILT_IN:
        try:
            names = vars(importlib.import_module(BUILT_IN[name]))
        except ModuleNotFoundError as error:
            message = f"needs the package {error.name}"
            remedy = 'Install it: pip install "ttastats[train]"'
            raise TtastatsError(message, where=f"workload {name}", remedy=remedy) from error
    else:
        remedy = f"Choose {', '.join(BUILT_IN)}, or give a Python file such as mine.py."
        raise_if(Path(name).suffix != ".py", f"unknown workload {name!r}", remedy=remedy)
        names = _run_file(Path(name))
    path = Path(names["__file__"])
    absent = [word for word in REQUIRED if word not in names]
    remedy = "docs/trainer.md describes what a workload must define."
    raise_if(absent, f"does not define {', '.join(absent)}", str(path), remedy)
    name = name if name in BUILT_IN else path.stem.replace("_", "-")
    try:
        return contract.make_workload(name, path.read_text("utf-8"), imported_sources(path), names)
    except TtastatsError as error:
        raise TtastatsError(error.what, where=str(path), remedy=error.remedy) from None


def _run_file(path: Path) -> dict[str, Any]:
    """Run a Python file as a script, and return its names."""
    raise_if(not path.is_file(), "no such file", str(path), "Check the path.")
    folder = str(path.resolve().parent)
    if folder not in sys.path:  # as for a script: what lies beside the file can be imported
        sys.path.insert(0, folder)
    module = ModuleType(f"ttastats_workload_{path.stem}")
    module.__file__ = str(path)
    try:
        # Not by its loader: of a file changed within a second that might run the kept bytecode.
        exec(compile(path.read_bytes(), path, "exec"), vars(module))  # noqa: S102 - as a script
    except (Exception, SystemExit) as error:  # the file is the user's own and may do anything
        line, _, trace = _last_line(error, str(path))
        if isinstance(error, SyntaxError) and error.filename == str(path):
            line = error.lineno or 0
        message = f"cannot be run: {type(error).__name__}: {error}"
        where = f"{path}, line {line}" if line else str(path)
        raise TtastatsError(message, where=where, remedy=trace.rstrip()) from error
    return vars(module)


@contextmanager
def mistakes_located(name: str) -> Iterator[None]:
    """Name file, line and hook of an exception that a workload brings about."""
    try:
        yield
    except (Exception, SystemExit) as error:
        workload = load_workload(name)
        line, function, trace = _last_line(error, workload.file)
        refused = error if isinstance(error, TtastatsError) else None
        if refused is not None and (refused.where or not line):
            raise
        where = f"{workload.file}, line {line}, in {function}" if line else _cause(error, workload)
        if not where:
            raise
        if refused is not None:
            raise TtastatsError(refused.what, where=where, remedy=refused.remedy) from None
        message = str(error).strip().partition("\n")[0]
        text = f"{type(error).__name__}: {message}".removesuffix(": ")
        raise TtastatsError(text, where=where, remedy=trace.rstrip()) from error


def _cause(error: BaseException, workload: Workload) -> str:
    """Return the hook that has led to an exception outside the file, if PyTorch raised it."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    is_torch = any(Path(file).is_relative_to(_TORCH) for file in files)
    if is_torch or isinstance(error, torch.OutOfMemoryError):
        return getattr(error, "hook", workload.model.where)
    return getattr(error, "hook", "")


def _last_line(error: BaseException, file: str) -> tuple[int, str, str]:
    """Return the last line and function of a file in a traceback, and the traceback from it on.

    The line is 0 if the traceback does not pass through the file.
    """
    line, function, start = 0, "", error.__traceback__
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == file:
            start = start if line else trace
            line, function = trace.tb_lineno, code.co_name
        trace = trace.tb_next
    return line, function, "".join(traceback.format_exception(type(error), error, start))


def imported_sources(path: Path) -> tuple[str, ...]:
    """Return the texts of all files that a file imports, directly or not, in a fixed order.

    Those in its folder, and the workloads that come with the trainer, describe a workload too. They
    are found in its text: what a function imports when it is called counts as well.
    """
    first = path.resolve()
    files, waiting = {first}, [first]
    while waiting:
        new = set(_imported_files(waiting.pop(), first.parent)) - files - _NO_WORKLOADS
        files |= new
        waiting += new
    return tuple(sorted(file.read_text("utf-8", "replace") for file in files - {first}))


def _imported_files(path: Path, folder: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # nothing imports from it; it says so when it is run
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module_files(folder, alias.name)
        elif isinstance(node, ast.ImportFrom):
            parent = path.parents[node.level - 1] if node.level else folder
            for alias in node.names:
                yield from _module_files(parent, f"{node.module or ''}.{alias.name}".lstrip("."))


def _module_files(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files that importing a dotted name runs; the last part need not be a module."""
    if name.startswith(f"{_PACKAGE}."):
        folder, name = _FOLDER, name.removeprefix(f"{_PACKAGE}.")
    path, words = folder, name.split(".")
    for word in words if words[0] != "ttastats" else ():  # a checkout may lie in the folder
        path /= word
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                yield file
