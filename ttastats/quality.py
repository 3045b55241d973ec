"""Which quality target does a benchmark have, in which edition, in which metric?

Everything here comes from `benchmarks.toml`; this module only looks it up.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

#: Relative slack of a comparison with a target: systems log float32, where 21.8 is 21.799999.
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Target:
    """One metric a run must reach. `value` is None where each log names its own target."""

    metric: str
    higher_is_better: bool
    value: float | None
    runs: int
    source: str

    def is_met_by(self, value: float) -> bool:
        """Tell whether a value meets it, with the slack that crossings have; NaN never does."""
        if self.value is None:
            return False
        slack = abs(self.value) * TOLERANCE
        above, below = value >= self.value - slack, value <= self.value + slack
        return math.isfinite(value) and (above if self.higher_is_better else below)


@dataclass(frozen=True, slots=True)
class Scoring:
    """How the runs of an entry become its official score.

    `dropped` fastest and as many slowest runs are left out, and as many may fail; with
    `converging`, the first so many runs that converge count, and all others may fail.
    Initialisation must take less than `init_minutes`, None where no limit is known.
    """

    runs: int
    dropped: int
    converging: int | None
    init_minutes: float | None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What is known of a benchmark apart from its targets."""

    suite: str
    name: str
    title: str
    progress: Literal["epochs", "samples"]
    epoch_samples: int | None
    tokens_per_sample: int | None


@cache
def _facts() -> dict[str, Any]:
    text = resources.files("ttastats").joinpath("benchmarks.toml").read_text("utf-8")
    return tomllib.loads(text)


def editions(suite: str) -> tuple[str, ...]:
    """Give the known editions of a suite, oldest first."""
    return tuple(_facts()["editions"].get(suite, ()))


def suites_ending_at_run_stop() -> tuple[str, ...]:
    """Give the suites whose official time-to-accuracy is the length of the run."""
    ends = _facts()["time_to_accuracy_ends_at"]
    return tuple(suite for suite, end in ends.items() if end == "run_stop")


@cache
def benchmarks(suite: str) -> dict[str, Benchmark]:
    """Give the benchmarks of a suite by their canonical names."""
    rows = (row for row in _facts()["benchmark"] if row["suite"] == suite)
    return {
        row["name"]: Benchmark(
            suite,
            row["name"],
            row["title"],
            row["progress"],
            row.get("epoch_samples"),
            row.get("tokens_per_sample"),
        )
        for row in rows
    }


@cache
def canonical_name(suite: str, name: str, edition: str | None) -> str:
    """Give the canonical name of a benchmark: aliases and renamings resolved, others unchanged."""
    for row in _facts()["benchmark"]:
        if row["suite"] != suite:
            continue
        renamed = row.get("renamed_from")
        if renamed and renamed["name"] == name and _not_before(suite, edition, renamed["first"]):
            return str(row["name"])
        if name in row.get("aliases", ()):
            return str(row["name"])
    return name


@cache
def targets(suite: str, benchmark: str, edition: str | None) -> tuple[Target, ...]:
    """Give the quality targets of a benchmark in an edition; all must be met at one checkpoint.

    Without an edition the answer is given only where every edition agrees, since a guessed target
    would be a wrong result; otherwise it is empty.
    """
    rows = [
        row for row in _facts()["target"] if row["suite"] == suite and row["benchmark"] == benchmark
    ]
    if edition is None:
        values = {(row["metric"], row.get("value")) for row in rows}
        metrics = {row["metric"] for row in rows}
        rows = _one_per_metric(rows) if len(values) == len(metrics) else []
    else:
        rows = [row for row in rows if _covers(suite, row, edition)]
    return tuple(
        Target(row["metric"], row["meets"] == ">=", row.get("value"), row["runs"], row["source"])
        for row in rows
    )


@cache
def scoring(
    suite: str, benchmark: str, edition: str | None, division: str | None = None
) -> Scoring | None:
    """Give the rules of the official score, or None where there are none.

    There are none outside MLPerf Training, in an edition unknown, and for a benchmark that is not
    part of its edition. A division unknown is taken for the closed one.
    """
    found = targets(suite, benchmark, edition)
    rows = [row for row in _facts()["score"] if row["suite"] == suite]
    if edition is None or not found or not rows:
        return None
    own = [row for row in rows if row.get("benchmark") == benchmark]
    row = next(iter(own or (row for row in rows if "benchmark" not in row)))
    limit = _init_minutes(suite, edition, (division or "closed").lower())
    return Scoring(found[0].runs, row["dropped"], row.get("converging"), limit)


def _init_minutes(suite: str, edition: str, division: str) -> float | None:
    for row in _facts()["initialisation"]:
        if row["suite"] == suite and _covers(suite, row, edition):
            minutes: float | None = row["minutes"].get(division)
            return minutes
    return None


def scored_suites() -> tuple[str, ...]:
    """Give the suites that have an official score."""
    return tuple(dict.fromkeys(str(row["suite"]) for row in _facts()["score"]))


@cache
def metrics(suite: str, benchmark: str) -> dict[str, bool]:
    """Give the metrics of a benchmark in any edition, each with whether higher is better."""
    return {
        row["metric"]: row["meets"] == ">="
        for row in _facts()["target"]
        if row["suite"] == suite and row["benchmark"] == benchmark
    }


def _one_per_metric(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({row["metric"]: row for row in rows}.values())


def _covers(suite: str, row: dict[str, Any], edition: str) -> bool:
    if "first" not in row:
        return True
    known = editions(suite)
    if edition not in known:
        return False
    return known.index(row["first"]) <= known.index(edition) <= known.index(row["last"])


def _not_before(suite: str, edition: str | None, first: str) -> bool:
    known = editions(suite)
    return edition in known and known.index(edition) >= known.index(first)
