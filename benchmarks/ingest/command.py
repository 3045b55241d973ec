"""The command line: which measurements are made, of which folders, and where the page goes."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.ingest import rounds, sizes
from benchmarks.ingest.measuring import FailedError

MADE: dict[str, Callable[[Path, Path, int], list[str]]] = {
    "workers": sizes.workers,
    "one-log": sizes.one_log,
    "small-files": sizes.small_files,
    "many-files": sizes.many_files,
    "own-logs": sizes.own_logs,
}


def main(arguments: Sequence[str]) -> int:
    """Measure, write the page, and return the exit code."""
    options = _parser().parse_args(arguments)
    lines = [_MARK, "", _HOW, _setting_text(arguments)]
    try:
        with _scratch(options.scratch) as scratch:
            for name in options.rounds:
                lines += rounds.compared(
                    options.folder / name, scratch, options.turns, options.summarizer
                )
            for name in options.made:
                lines += MADE[name](options.folder / options.rounds[-1], scratch, options.turns)
    except (FailedError, FileNotFoundError) as error:
        print(f"ingest: {error}", file=sys.stderr)
        return 2
    text = "\n".join(lines) + "\n"
    if options.output is None:
        print(text, end="")
    else:
        options.output.write_text(_above(options.output) + text, "utf-8")
    return 0


def _above(page: Path) -> str:
    """Return the part of a page that was written by hand, which is kept."""
    if not page.exists():
        return ""
    head, mark, _ = page.read_text("utf-8").partition(_MARK)
    return head if mark else ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/ingest",
        description="Measure what reading logs costs, against grep, Python, the official parser.",
    )
    parser.add_argument("folder", type=Path, help="holds the public rounds, such as v5.0")
    parser.add_argument("--rounds", nargs="+", default=["v5.0"], help="folders in it; v5.0")
    parser.add_argument("--turns", type=int, default=3, help="of every command; 3")
    parser.add_argument(
        "--made", nargs="*", choices=MADE, default=[], help="measurements on made logs (13 GB)"
    )
    parser.add_argument(
        "--summarizer", action="store_true", help="once, the official summarizer of results too"
    )
    parser.add_argument("--scratch", type=Path, help="where made logs may lie for a while")
    parser.add_argument("-o", "--output", type=Path, help="page to write, stdout otherwise")
    return parser


@contextmanager
def _scratch(parent: Path | None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ttastats-ingest-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_MARK = "<!-- From here on written by `python benchmarks/ingest`. -->"
_HOW = """## What it costs

Every figure is the median of several turns; in a turn the commands run one after the other on the
same files, each in a fresh process, and a ratio is the median of the ratios within a turn. The CPU
time of a process counts user and system time of all it starts; files are in the page cache. Peak
memory is that of the largest process.
"""


def _setting_text(arguments: Sequence[str]) -> str:
    model = "an unknown processor"
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((s.split(":")[1].strip() for s in lines if s.startswith("model name")), model)
    hidden = arguments.index("--scratch") if "--scratch" in arguments else len(arguments)
    words = [*arguments[:hidden], *arguments[hidden + 2 :]]
    peer = "with" if importlib.util.find_spec("mlperf_logging") else "without"
    return (
        f"Command: `python benchmarks/ingest {' '.join(words)}`. Machine: {os.cpu_count()} cores "
        f"of {model}, shared with other work; Python {sys.version.split()[0]}, {peer} the official "
        "parser.\n"
    )
