"""TensorBoard event files: scalars of TensorFlow 1 and 2, PyTorch, JAX and Keras."""

from __future__ import annotations

from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log

name = "tfevents"

NAME = "tfevents."
#: What the first record of a file says, behind the 12 bytes that tell its length.
_VERSION = b"brain.Event:"
_NO_EVENTS = (".json", ".csv", ".txt")


def recognises(head: bytes, path: str) -> bool:
    """Return whether a file has events, by its name or its first record."""
    if NAME in path.rpartition("/")[2] and not path.endswith(_NO_EVENTS):
        return not head.startswith(b"{")
    return _VERSION in head[12:64]


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the runs of a file."""
    from ttastats_parsers import tfevents_reading  # only such files need it

    yield from tfevents_reading.parse(log)
