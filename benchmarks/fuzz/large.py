"""Single lines of 100 MB, each read in its own process, with its time and memory."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.fuzz import checks

SIZE = 100_000_000
_START = b':::MLLOG {"time_ms": 1600000000000, "key": "run_start", "value": null, "metadata": {}}'
_SCORE = (
    b':::MLLOG {"time_ms": 1600000001000, "key": "eval_accuracy", "value": 0.75, "metadata": {}}'
)


def _filled(before: bytes, piece: bytes, after: bytes = b"") -> bytes:
    return before + piece * (SIZE // len(piece)) + after


#: What fills the line, by name.
CASES: dict[str, Callable[[], bytes]] = {
    "output behind an event": lambda: _filled(_START + b"\n" + _SCORE, b"\r 58%|#####     "),
    "output before an event": lambda: _filled(_START + b"\n", b"loss 1.25 ", _SCORE),
    "a text that does not end": lambda: _filled(_START + b'\n:::MLLOG {"key": "', b"a"),
    "a list of numbers": lambda: _filled(
        _START + b'\n:::MLLOG {"key": "x", "value": [', b"0,", b"0]}"
    ),
    "brackets": lambda: _filled(_START + b'\n:::MLLOG {"key": "x", "value": ', b"["),
    "tokens": lambda: _filled(_START + b"\n", b":::MLL :::MLPv0.5.0 a 1 (:::MLLOG "),
    "events without line ends": lambda: _filled(b"", _SCORE + _START),
    "spaces": lambda: _filled(_START + b"\n:::MLLOG {", b" "),
    "nothing but zeros": lambda: _filled(b"", b"\x00"),
    "a table without line ends": lambda: _filled(b"epoch\thours\ttop1Accuracy\n", b"1\t2\t3"),
}


@dataclass(frozen=True, slots=True)
class Large:
    """The time and memory that reading one line took."""

    name: str
    findings: tuple[str, ...]
    seconds: float
    megabytes: float


def measure(name: str) -> Large:
    """Read one case with every dialect; memory is counted without the line itself."""
    content = CASES[name]()
    before = _peak()
    begun = time.process_time()
    findings = tuple(checks.findings(content, []))
    return Large(name, findings, time.process_time() - begun, _peak() - before)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def all_cases() -> list[Large]:
    """Read every case, one process after the other."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1, maxtasksperchild=1) as pool:
        return [pool.apply(measure, (name,)) for name in CASES]
