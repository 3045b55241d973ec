"""Where MLCommons' own parser reads a run, the time is the same; where it cannot, ours is there.

All files are read where TTASTATS_LONG is set, else some of each submitter of the two large rounds.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ttastats.base.records import Run
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry

pytest.importorskip("mlperf_logging", reason="the official parser is not installed")
from mlperf_logging.compliance_checker import mlp_parser

pytestmark = pytest.mark.real

#: The official grammar of a round, what one of its time units is in seconds, and, of how many
#: files, one is read, but for those of `ONLY_OURS`.
ROUNDS = {"v0.6": ("0.6.0", 1.0, 8), "v0.7": ("0.7.0", 1e-3, 32), "v5.0": ("5.0.0", 1e-3, 32)}
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
    """One run: its length in seconds by our reading and by the official one."""

    path: Path
    ours: float | None
    official: float | None


def official_seconds(path: Path, ruleset: str, unit: float) -> float | None:
    """Return the time between the first start and stop that the official parser finds."""
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


def our_seconds(path: Path, content: bytes) -> float | None:
    dialect = registry.recognise(content)
    log = log_from_bytes(content, str(path))
    runs: list[Any] = [r for r in (dialect.parse(log) if dialect else ()) if isinstance(r, Run)]
    return runs[0].run_seconds if runs and runs[0].run_status != "truncated" else None


def only_we_may_read(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    whose = folder.name, parts[0]
    return whose in ONLY_OURS and LIES_IN.get(whose, parts[0]) in parts


@cache
def readings(folder: Path) -> tuple[Reading, ...]:
    """Read the runs of a round in both ways."""
    ruleset, unit, every = ROUNDS[folder.name]
    step = 1 if os.environ.get("TTASTATS_LONG") else every
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    some = (p for n, p in enumerate(files) if n % step == 0 or only_we_may_read(p, folder))
    contents = ((path, path.read_bytes()) for path in some)
    return tuple(
        Reading(path, our_seconds(path, content), official_seconds(path, ruleset, unit))
        for path, content in contents
        if b":::ML" in content and b"run_start" in content
    )


@pytest.mark.parametrize("name", ROUNDS)
def test_the_time_is_the_official_parsers_to_the_millisecond(name: str, real_logs: Path) -> None:
    both = [r for r in readings(real_logs / name) if r.official is not None]
    assert len(both) >= {"v0.6": 50, "v0.7": 25, "v5.0": 50}[name]
    assert [r for r in both if r.ours is None or abs(r.ours - (r.official or 0.0)) > 5e-4] == []


def test_the_runs_that_the_official_parser_cannot_read_are_read(real_logs: Path) -> None:
    lost = Counter(
        (name, reading.path.relative_to(real_logs / name).parts[0])
        for name in ROUNDS
        for reading in readings(real_logs / name)
        if reading.official is None and reading.ours is not None
    )
    assert lost == ONLY_OURS
