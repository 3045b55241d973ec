"""How many functions of the project does a command pass through, and in how many folders?

`python benchmarks/trip.py` compares the runs of examples/two_systems; words behind it are another
command of `ttastats`. A function is a named function or method that is called at least once,
imports included. Lambdas, comprehensions, class bodies, modules, and methods that a library writes
(`__init__` of a dataclass) are not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HERE = Path(__file__).resolve().parent.parent
#: The folders whose functions are counted.
PACKAGES = (HERE / "ttastats", HERE / "parsers" / "ttastats_parsers")
SYSTEMS = HERE / "examples" / "two_systems" / "Example" / "results"


@dataclass(frozen=True, slots=True, order=True)
class Function:
    """A function that was called: its file, its first line, and how often."""

    path: Path
    line: int
    name: str
    #: Lines with code, without the line of `def`.
    lines: int
    calls: int


def passed(call: Callable[[], object], packages: Iterable[Path] = PACKAGES) -> list[Function]:
    """Return the functions of some folders that a call passes through, by file and line."""
    homes, calls = tuple(packages), Counter[CodeType]()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls[frame.f_code] += 1

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(
        Function(Path(code.co_filename), code.co_firstlineno, code.co_qualname, _lines(code), n)
        for code, n in calls.items()
        if _is_named(code) and any(home in Path(code.co_filename).parents for home in homes)
    )


def _is_named(code: CodeType) -> bool:
    """Return whether code is of a function with a name: no module, class, lambda or generator."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")


def _lines(code: CodeType) -> int:
    return len({line for *_, line in code.co_lines() if line} - {code.co_firstlineno})


def table(functions: Iterable[Function], *, one_by_one: bool) -> list[str]:
    """Return a line for each folder and, with `one_by_one`, for each of its functions."""
    folders: dict[str, list[Function]] = {}
    for function in functions:
        folders.setdefault(str(function.path.parent.relative_to(HERE)), []).append(function)
    lines = ["functions  lines  folder"]
    for folder, inside in sorted(folders.items()):
        lines.append(f"{len(inside):9}  {sum(f.lines for f in inside):5}  {folder}")
        if one_by_one:
            lines += [
                f"{f.calls:9} × {f.lines:3}    {f.path.name}:{f.line} {f.name}" for f in inside
            ]
    everything = [function for inside in folders.values() for function in inside]
    total = sum(function.lines for function in everything)
    return [*lines, f"{len(everything):9}  {total:5}  in {len(folders)} folders"]


def main(arguments: Any = None) -> int:
    """Run a command under a profile hook, and print the functions it called."""
    parser = argparse.ArgumentParser(prog="python benchmarks/trip.py", description=__doc__)
    parser.add_argument("--list", action="store_true", help="each function, with calls × lines")
    parser.add_argument("words", nargs=argparse.REMAINDER, help="behind `ttastats`")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        words = options.words or ["compare", *_two_systems(Path(scratch))]
        print(*table(passed(lambda: _run(words)), one_by_one=options.list), sep="\n")
    return 0


def _two_systems(folder: Path) -> list[str]:
    names = ("one_gpu", "eight_gpus")
    for name in names:  # in another process: what is imported here no longer calls anything then
        command = [sys.executable, "-m", "ttastats", "ingest", str(SYSTEMS / name)]
        subprocess.run(command, check=True, cwd=folder, capture_output=True)
    return [str(folder / f"{name}.parquet") for name in names]


def _run(words: list[str]) -> None:
    from ttastats.cli import main as run  # that of `__main__` ends the process

    sys.argv = ["ttastats", *words]
    unseen = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(unseen), contextlib.suppress(SystemExit):
        run()


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
