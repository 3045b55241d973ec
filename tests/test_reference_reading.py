"""The public logs, read a second time by slow code that shares nothing with the parsers.

All files are read where TTASTATS_LONG is set, else every fourth; `test_real` counts them all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pytest

from tests.reference import slow_reader
from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats.ingestion import registry

pytestmark = pytest.mark.real

#: Files that hold a start, by round. Power logs and descriptions hold none.
RUNS = {"v0.5": 600, "v0.6": 425, "v0.7": 940, "v5.0": 1717}


class Pair(NamedTuple):
    """One file, read by the project and by the slow reader."""

    path: Path
    found: list[Run | Problem]
    slow: slow_reader.Reading | None

    @property
    def runs(self) -> list[Run]:
        return [item for item in self.found if isinstance(item, Run)]


def read(path: Path) -> Pair | None:
    """Read a file in both ways, or give None where no start of a run is in its bytes."""
    content = path.read_bytes()
    if b"run_start" not in content or b":::ML" not in content:
        return None
    dialect = registry.recognise(content)
    log = Log(PurePosixPath(path.parent), path.name, partial(iter, (content,)))
    found = list(dialect.parse(log)) if dialect else []
    return Pair(path, found, slow_reader.read(content))


def differences(pair: Pair) -> Iterator[str]:
    """Yield in what the two readings of a file differ."""
    if pair.slow is None or len(pair.runs) != 1:
        yield f"{len(pair.runs)} runs, read slowly {pair.slow}"
        return
    (run,), slow = pair.runs, pair.slow
    if run.run_status != slow.status:
        yield f"status {run.run_status}, read slowly {slow.status}"
    if slow.seconds is not None and abs((run.run_seconds or 0.0) - float(slow.seconds)) > 1e-6:
        yield f"seconds {run.run_seconds}, read slowly {slow.seconds}"
    if sorted(e.logged_value for e in run.evaluations if e.logged_value is not None) != sorted(
        slow.scores
    ):
        yield f"{len(run.evaluations)} evaluations, read slowly {len(slow.scores)}"


@pytest.mark.parametrize("name", RUNS)
def test_every_run_is_what_a_slow_reading_of_its_text_says(name: str, real_logs: Path) -> None:
    files = sorted(path for path in (real_logs / name).rglob("*") if path.is_file())
    step = 1 if os.environ.get("TTASTATS_LONG") else 8
    pairs = [pair for path in files[::step] if (pair := read(path))]
    assert [str(pair.path) for pair in pairs if not pair.found] == []
    number = len([pair for pair in pairs if pair.runs])
    assert number == RUNS[name] if step == 1 else number > 0.1 * RUNS[name]
    differing = {str(pair.path): said for pair in pairs if (said := list(differences(pair)))}
    assert differing == {}
