"""The public logs, read by two readers that share nothing with the parsers: what differs is wrong.

One is slow code of our own, the other MLCommons' parser where it is installed: the time of a run is
the same, and where that parser cannot read it, ours is there. All files are read where
TTASTATS_LONG is set, else some of each round; `test_real` counts them all.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.reference import slow_reader
from ttastats.base.records import Run
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry

pytestmark = pytest.mark.real


class Round(NamedTuple):
    """A round: its files that hold a start, of how many files one is read, the official grammar.

    `read` are the runs that the official parser reads of these at least, `unit` its unit of time in
    seconds.
    """

    runs: int
    every: int
    ruleset: str = ""
    unit: float = 0.0
    read: int = 0


ROUNDS = {
    "v0.5": Round(600, 16),
    "v0.6": Round(425, 16, "0.6.0", 1.0, 25),
    "v0.7": Round(940, 32, "0.7.0", 1e-3, 25),
    "v5.0": Round(1717, 32, "5.0.0", 1e-3, 50),
}
#: Runs that only we read: by the official parser's account of why, by round and submitter.
ONLY_OURS = {
    ("v0.6", "Intel"): 10,  # metadata is a Python literal
    ("v0.6", "NVIDIA"): 10,  # no run_stop: the end of minigo stands in eval_result
    ("v0.7", "Alibaba"): 15,  # `time_s` where `time_ms` is wanted
    ("v0.7", "Intel"): 5,  # payloads without quotes
}
#: Where those of a submitter lie who has many others.
LIES_IN = {("v0.6", "Intel"): "minigo", ("v0.6", "NVIDIA"): "minigo", ("v0.7", "Intel"): "resnet"}


class Reading(NamedTuple):
    """What we read of a file and what the slow reader reads; every so many are a sample."""

    path: Path
    runs: list[Run]
    slow: slow_reader.Reading | None
    in_sample: bool


@cache
def readings(folder: Path) -> tuple[Reading, ...]:
    """Return the readings of files of a round that hold a start of a run."""
    step = 1 if os.environ.get("TTASTATS_LONG") else ROUNDS[folder.name].every
    read = []
    for number, path in enumerate(sorted(path for path in folder.rglob("*") if path.is_file())):
        parts = path.relative_to(folder).parts
        whose = folder.name, parts[0]
        only_ours = whose in ONLY_OURS and LIES_IN.get(whose, parts[0]) in parts
        if number % step and not only_ours:
            continue
        content = path.read_bytes()
        if b"run_start" in content and b":::ML" in content:
            dialect = registry.recognise(content)
            items: Any = dialect.parse(log_from_bytes(content, str(path))) if dialect else ()
            runs = [item for item in items if isinstance(item, Run)]
            read.append(Reading(path, runs, slow_reader.read(content), number % step == 0))
    return tuple(read)


def differences(runs: list[Run], slow: slow_reader.Reading | None) -> Iterator[str]:
    """Yield the differences between the two readings of a file."""
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


@pytest.mark.parametrize("name", ROUNDS)
def test_every_run_is_what_a_slow_reading_of_its_text_says(name: str, real_logs: Path) -> None:
    about, read = ROUNDS[name], readings(real_logs / name)
    number = sum(bool(reading.runs) for reading in read if reading.in_sample)
    is_whole = bool(os.environ.get("TTASTATS_LONG"))
    assert number == about.runs if is_whole else number > 0.8 * about.runs / about.every
    wrong = {r.path: texts for r in read if (texts := list(differences(r.runs, r.slow)))}
    assert wrong == {}


@cache
def official_seconds(path: Path, ruleset: str, unit: float) -> float | None:
    """Return the time between the first start and stop that the official parser finds."""
    reason = "the official parser is not installed"
    module = "mlperf_logging.compliance_checker.mlp_parser"
    mlp_parser = pytest.importorskip(module, reason=reason)
    try:
        lines, _ = mlp_parser.parse_file(str(path), ruleset=ruleset)
    except KeyError:  # it raises where a line has no `time_ms`
        return None
    times: dict[str, float] = {}
    for line in lines:
        times.setdefault(line.key, line.timestamp)
    if "run_start" not in times or "run_stop" not in times:
        return None
    return float((times["run_stop"] - times["run_start"]) * unit)


def test_the_time_is_the_official_parsers_to_the_millisecond(real_logs: Path) -> None:
    only_ours: Counter[tuple[str, str]] = Counter()
    for name, about in ROUNDS.items():
        read, wrong = 0, []
        for path, runs, _, _ in readings(real_logs / name) if about.ruleset else ():
            official = official_seconds(path, about.ruleset, about.unit)
            is_whole = bool(runs) and runs[0].run_status != "truncated"
            ours = runs[0].run_seconds if is_whole else None
            read += official is not None
            if official is not None and (ours is None or abs(ours - official) > 5e-4):
                wrong.append((path, ours, official))
            if official is None and ours is not None:
                only_ours[name, path.relative_to(real_logs / name).parts[0]] += 1
        assert (read >= about.read, wrong) == (True, [])
    assert only_ours == ONLY_OURS
