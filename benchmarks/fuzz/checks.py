"""What must hold for any bytes: no exception, no invented value, and a quick end."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress

from ttastats.base.errors import TtastatsError
from ttastats.base.records import Run
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry
from ttastats.table import tables

#: CPU seconds one dialect may take, and more for each byte.
SECONDS, SECONDS_PER_BYTE = 1.0, 5e-6
NUMBER = re.compile(rb"(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d++)?")
PLACE = "/x/v5.0/Org/results/system/benchmark/result_0.txt"


def findings(content: bytes, runs: list[Run]) -> Iterator[str]:
    """Yield what goes wrong with some bytes; the runs in them are added to `runs`."""
    present: set[float] | None = None
    for name, dialect in registry.dialects().items():
        begun = time.process_time()
        try:
            _ask_all(content)
            items = list(dialect.parse(log_from_bytes(content, PLACE)))
        except Exception:
            yield f"{name}: {traceback.format_exc(limit=-3)}"
            continue
        if time.process_time() - begun > SECONDS + SECONDS_PER_BYTE * len(content):
            yield f"{name}: {time.process_time() - begun:.1f} s for {len(content):,} bytes"
        for run in items:
            if not isinstance(run, Run):
                continue
            runs.append(run)
            if present is None and run.evaluations:
                present = numbers(content)
            yield from (f"{name}: {text}" for text in made_up(run, present or set()))


def _ask_all(content: bytes) -> None:
    """Ask every dialect whether it knows some bytes; several may."""
    with suppress(TtastatsError):
        registry.recognise(content, PLACE)


def made_up(run: Run, present: set[float]) -> Iterator[str]:
    """Yield the scores that are not in the text, and impossible figures."""
    for evaluation in run.evaluations:
        if evaluation.logged_value is not None and evaluation.logged_value not in present:
            yield f"the score {evaluation.logged_value} is not in the text"
    if run.run_seconds is not None and not 0 <= run.run_seconds < 3e11:
        yield f"a run of {run.run_seconds} seconds"


def numbers(content: bytes) -> set[float]:
    """Return every number that is written in a text."""
    return {number for text in NUMBER.findall(content) for number in both_signs(float(text))}


def both_signs(number: float) -> tuple[float, float]:
    return number, -number


def cannot_be_stored(runs: list[Run]) -> str | None:
    """Return why runs make no table, or None if they do."""
    sourced = [tables.SourcedRun(run, "a", "0" * 32, i, "fuzz") for i, run in enumerate(runs)]
    try:
        tables.table_of_runs(sourced)
    except Exception:
        return traceback.format_exc(limit=-2)
    return None
