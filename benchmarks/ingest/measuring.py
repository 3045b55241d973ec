"""What does a command cost, in a fresh process?"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a command took.

    `cpu` counts user and system time of the process and of those it started; `peak` is in bytes
    and that of the largest of them. The system hands the peak of a parent on to what it starts:
    so this program imports little, and no peak below its own (some 20 MB) can be seen. `stolen` is
    the share of this machine's processors that its host gave to others meanwhile.
    """

    cpu: float
    wall: float
    peak: int
    output: str
    stolen: float = 0.0


class FailedError(Exception):
    """A command that failed, with its output."""


def measured(command: Sequence[str], cwd: Path | None = None) -> Cost:
    """Run a command to its end, reading all it writes.

    Raises
    ------
    FailedError
        It did not end well; a command that says so by a code of 1 may have rejected some input.
    """
    path = os.pathsep.join([str(ROOT), str(ROOT / "parsers")])
    environment = {**os.environ, "LC_ALL": "C", "PYTHONPATH": path}
    # Importing polars here sets it, and a command would inherit it as if a user had chosen it.
    environment.pop("_RJEM_MALLOC_CONF", None)
    stolen, start = _stolen(), time.perf_counter()
    process = subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    allowed = {0, 1} if "ttastats" in command else {0}
    assert process.stdout is not None
    last = b""
    while block := os.read(process.stdout.fileno(), 1 << 20):
        last = (last + block)[-2000:]
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if process.returncode not in allowed:
        raise FailedError(f"{' '.join(command)} ended with {process.returncode}")
    output = last.decode("utf-8", "replace").strip()
    share = (_stolen() - stolen) / wall / (os.cpu_count() or 1)
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024, output, share)


def _stolen() -> float:
    """Return the seconds a virtual machine had to wait for its host; 0 where nothing tells."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return 0.0
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def reader(name: str, *arguments: str | Path, python: str = sys.executable) -> list[str]:
    """Return the command line that runs a function of the module `readers`."""
    return [python, "-m", "benchmarks.ingest.readers", name, *map(str, arguments)]


def grep(folder: Path) -> list[str]:
    """Return the command line that prints every line with the token."""
    return ["grep", "-rhaF", ":::ML", str(folder)]


def ours(folder: Path, output: Path, *options: str, afresh: bool = True) -> list[str]:
    """Return the command line of `ttastats ingest`, whose earlier output is removed first."""
    if afresh:
        output.unlink(missing_ok=True)
    return [sys.executable, "-m", "ttastats", "ingest", str(folder), "-o", str(output), *options]


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return the ratios of measurements of the same turn, sorted."""
    return sorted(our / their for our, their in zip(ours, theirs, strict=True))


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median of the ratios of turns."""
    return median(ratios(ours, theirs))
