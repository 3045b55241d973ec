"""Weights & Biases on disk: `run-ID.wandb` stores, histories of old versions, summaries."""

from __future__ import annotations

from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.wandb_names import HISTORY_FILE, SUMMARY_FILE

name = "wandb"

_MAGIC = b":W&B\xe1\xbe"


def recognises(head: bytes, path: str) -> bool:
    """Return whether a file is a store, by its first bytes, or beside one, by its name."""
    if head.startswith(_MAGIC):
        return True
    if not head or _MAGIC.startswith(head):  # cut in its first bytes
        return path.endswith((".wandb", HISTORY_FILE, SUMMARY_FILE))
    return b"{" in head[:8] and path.endswith((f"/{HISTORY_FILE}", f"/{SUMMARY_FILE}"))


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the runs of a file."""
    from ttastats_parsers import wandb_reading  # only such files need it

    yield from wandb_reading.parse(log)
