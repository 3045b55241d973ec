"""Hugging Face Trainer: `trainer_state.json`, whose `log_history` holds all that was logged."""

from __future__ import annotations

from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log

name = "hf-trainer"

_FILE = "trainer_state.json"
_KEYS = (b'"log_history"', b'"global_step"')


def recognises(head: bytes, path: str) -> bool:
    """Return whether a file is a trainer state, by its name or its keys."""
    if head and b"{" not in head[:8]:
        return False
    return path.endswith(f"/{_FILE}") or (
        path.endswith(".json") and all(key in head for key in _KEYS)
    )


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the runs of a file."""
    from ttastats_parsers import hf_trainer_reading  # only such files need it

    yield from hf_trainer_reading.parse(log)
