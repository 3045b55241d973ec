"""The public logs, read a second time by slow code that shares nothing with the parsers.

All files are read where TTASTATS_LONG is set, else every fourth; `test_real` counts them all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath

import pytest

from tests.reference import slow_reader
from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats.ingestion import registry

pytestmark = pytest.mark.real

#: Files that hold a start, by round. Power logs and descriptions hold none.
RUNS = {"v0.5": 600, "v0.6": 425, "v0.7": 940, "v5.0": 1717}


def read(path: Path) -> tuple[list[Run | Problem], slow_reader.Reading | None] | None:
    """Read a file in both ways, or give None where no start of a run is in its bytes."""
    content = path.read_bytes()
    if b"run_start" not in content or b":::ML" not in content:
        return None
    dialect = registry.recognise(content)
    log = Log(PurePosixPath(path.parent), path.name, partial(iter, (content,)))
    return list(dialect.parse(log)) if dialect else [], slow_reader.read(content)


def differences(runs: list[Run], slow: slow_reader.Reading | None) -> Iterator[str]:
    """Yield in what the two readings of a file differ."""
    if slow is None or len(runs) != 1:
        yield f"{len(runs)} runs, read slowly {slow}"
        return
    (run,) = runs
    if run.run_status != slow.status:
        yield f"status {run.run_status}, read slowly {slow.status}"
    if slow.seconds is not None and abs((run.run_seconds or 0.0) - float(slow.seconds)) > 1e-6:
        yield f"seconds {run.run_seconds}, read slowly {slow.seconds}"
    scores = sorted(e.logged_value for e in run.evaluations if e.logged_value is not None)
    if scores != sorted(slow.scores):
        yield f"{len(run.evaluations)} evaluations, read slowly {len(slow.scores)}"


@pytest.mark.parametrize("name", RUNS)
def test_every_run_is_what_a_slow_reading_of_its_text_says(name: str, real_logs: Path) -> None:
    files = sorted(path for path in (real_logs / name).rglob("*") if path.is_file())
    step = 1 if os.environ.get("TTASTATS_LONG") else 8
    number, wrong = 0, {}
    for path in files[::step]:
        if (both := read(path)) is not None:
            runs = [item for item in both[0] if isinstance(item, Run)]
            number += bool(runs)
            if said := list(differences(runs, both[1])):
                wrong[path] = said
    assert number == RUNS[name] if step == 1 else number > 0.1 * RUNS[name]
    assert wrong == {}
