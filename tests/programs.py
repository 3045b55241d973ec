"""Programs that a test starts, with this Python and this checkout, and waits with a limit.

A test waits for what happens, never for a time; what does not happen is given up after `PATIENCE`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

#: Seconds after which something will not happen any more: fifty times what the slowest of it takes
#: on an idle machine. TTASTATS_PATIENCE multiplies it.
PATIENCE = 600.0 * float(os.environ.get("TTASTATS_PATIENCE", "1"))


def environment(**more: str) -> dict[str, str]:
    """Return the environment in which another process finds the package."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}


def call(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and return its output."""
    given: dict[str, Any] = {"env": environment(), "capture_output": True, "text": True}
    return subprocess.run(
        [str(word) for word in words], check=False, timeout=PATIENCE, **(given | options)
    )


def python(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python to its end and return its output."""
    return call(sys.executable, *words, **options)


def start(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Start Python and return the process, whose stderr can be read."""
    given: dict[str, Any] = {"env": environment(), "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, *map(str, words)], **(given | options))


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for the end of a process and return its code and its output."""
    try:
        stdout, stderr = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, stdout or "", stderr or ""


def wait_until(happens: Callable[[], object], within: subprocess.Popen[str] | None = None) -> None:
    """Wait until a condition holds; fail if a process that must live until then has ended."""
    end = time.monotonic() + PATIENCE
    while not happens():
        if within is not None and within.poll() is not None:
            pytest.fail(f"the process ended: {finish(within)}")
        if time.monotonic() > end:
            pytest.fail("it did not happen")
        time.sleep(0.02)


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Fail where a block takes more of the CPU than so many seconds of an idle machine.

    They are far more than it needs, and far less than work does that grows with the square of its
    input. How much slower the machine is now is measured when it matters.
    """
    begun = time.process_time()
    yield
    spent = time.process_time() - begun
    if spent > seconds:
        assert spent <= seconds * _slowness()


def _slowness() -> float:
    begun = time.process_time()
    sum(number % 7 for number in range(10_000_000))
    return max(1.0, (time.process_time() - begun) / 0.5)
