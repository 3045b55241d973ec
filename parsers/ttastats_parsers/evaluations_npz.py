"""Stable-Baselines3's `evaluations.npz`: the returns of some episodes at each evaluation."""

from __future__ import annotations

from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log

name = "evaluations-npz"

_FILE = "evaluations.npz"


def recognises(head: bytes, path: str) -> bool:
    """Return whether `timesteps` is the first array, or the file has the name."""
    if head and not head.startswith(b"PK"):
        return False
    return path.endswith(f"/{_FILE}") or (
        b"timesteps.npy" in head[:4096] and b"results.npy" in head
    )


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the runs of a file."""
    from ttastats_parsers import evaluations_npz_reading  # only such files need it

    yield from evaluations_npz_reading.parse(log)
