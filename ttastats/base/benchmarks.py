"""What does `benchmarks.toml` say of benchmarks: names, rounds, quality targets, scores?"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from ttastats.base.metrics import Target

#: Progress of at least this size is samples, however it is named: no run has more epochs.
FEWEST_SAMPLES = 20_000


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of the file: of all rounds, or of `first` to `last`, both included."""

    suite: str
    source: str = ""
    first: str | None = None
    last: str | None = None

    def covers(self, round_: str | None) -> bool:
        """Return whether the row holds for a round; if the round is unknown, for all rounds."""
        if self.first is None or self.last is None:
            return True
        rounds_ = rounds(self.suite)
        first, last = rounds_.index(self.first), rounds_.index(self.last)
        return round_ in rounds_[first : last + 1]


class Benchmark(_Row, frozen=True, kw_only=True):
    """What is known of a benchmark apart from its targets."""

    name: str
    title: str
    progress: Literal["epochs", "samples"]
    epoch_samples: int | None = None
    tokens_per_sample: int | None = None
    aliases: tuple[str, ...] = ()


class _Renamed(_Row, frozen=True, kw_only=True):
    benchmark: str
    name: str


class _Target(_Row, frozen=True, kw_only=True):
    benchmark: str
    metric: str
    meets: Literal[">=", "<="]
    runs: int
    value: float | None = None


class _Score(_Row, frozen=True, kw_only=True):
    dropped: int
    benchmark: str | None = None
    converging: int | None = None


class _Initialisation(_Row, frozen=True, kw_only=True):
    minutes: dict[str, float]


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    rounds: dict[str, tuple[str, ...]]
    time_to_accuracy_ends_at: dict[str, Literal["run_stop", "evaluation"]]
    score: tuple[_Score, ...]
    initialisation: tuple[_Initialisation, ...]
    benchmark: tuple[Benchmark, ...]
    renamed: tuple[_Renamed, ...]
    target: tuple[_Target, ...]


class Scoring(msgspec.Struct, frozen=True):
    """How the runs of an entry become its official score.

    `dropped` fastest and as many slowest runs are left out, and as many may fail; with
    `converging`, the first so many runs that converge count, and all others may fail.
    Initialisation must take less than `init_minutes`, None where no limit is known.
    """

    runs: int
    dropped: int
    converging: int | None
    init_minutes: float | None


@cache
def _load() -> Facts:
    """Return the parsed content of `benchmarks.toml`."""
    text = resources.files("ttastats.base").joinpath("benchmarks.toml").read_bytes()
    return msgspec.toml.decode(text, type=Facts)


def rounds(suite: str) -> tuple[str, ...]:
    """Return the known rounds of a suite, oldest first."""
    return _load().rounds.get(suite, ())


def suites_ending_at_run_stop() -> tuple[str, ...]:
    """Return the suites whose official time-to-accuracy is the length of the run."""
    ends = _load().time_to_accuracy_ends_at
    return tuple(suite for suite, end in ends.items() if end == "run_stop")


@cache
def benchmarks_by_name(suite: str) -> dict[str, Benchmark]:
    """Return the benchmarks of a suite by their canonical names."""
    return {row.name: row for row in _load().benchmark if row.suite == suite}


@cache
def canonical_name(suite: str, name: str, round_: str | None) -> str:
    """Return the canonical name of a benchmark; a name that is not known is returned as it is."""
    for row in _load().renamed:
        if (row.suite, row.name) == (suite, name) and row.covers(round_):
            return row.benchmark
    names = (row.name for row in benchmarks_by_name(suite).values() if name in row.aliases)
    return next(names, name)


@cache
def targets(suite: str, benchmark: str, round_: str | None) -> tuple[Target, ...]:
    """Return the quality targets of a benchmark in a round; one checkpoint must meet all of them.

    Without a round the answer is given only where every round agrees, since a guessed target
    would be a wrong result; otherwise it is empty.
    """
    rows = _target_rows(suite, benchmark)
    if round_ is None:
        by_metric = {row.metric: row for row in rows}
        agree = len({(row.metric, row.value) for row in rows}) == len(by_metric)
        rows = tuple(by_metric.values()) if agree else ()
    else:
        rows = tuple(row for row in rows if row.covers(round_))
    return tuple(
        Target(row.metric, row.meets == ">=", row.value, row.runs, row.source) for row in rows
    )


def _target_rows(suite: str, benchmark: str) -> tuple[_Target, ...]:
    rows = _load().target
    return tuple(row for row in rows if (row.suite, row.benchmark) == (suite, benchmark))


@cache
def scoring(
    suite: str, benchmark: str, round_: str | None, division: str | None = None
) -> Scoring | None:
    """Return the rules of the official score of a benchmark, or None if it has none.

    There are none outside MLPerf Training, in a round unknown, and for a benchmark that is not
    part of its round. A division unknown is taken for the closed one.
    """
    goals = targets(suite, benchmark, round_)
    rows = {row.benchmark: row for row in _load().score if row.suite == suite}
    if round_ is None or not goals or not rows:
        return None
    row = rows.get(benchmark) or rows[None]
    limits = (
        limit.minutes.get((division or "closed").lower())
        for limit in _load().initialisation
        if limit.suite == suite and limit.covers(round_)
    )
    return Scoring(goals[0].runs, row.dropped, row.converging, next(limits, None))


def scored_suites() -> tuple[str, ...]:
    """Return the suites that have an official score."""
    return tuple(dict.fromkeys(row.suite for row in _load().score))


@cache
def metrics(suite: str, benchmark: str) -> dict[str, bool]:
    """Return the target metrics of a benchmark in any round, each with whether higher is better."""
    return {row.metric: row.meets == ">=" for row in _target_rows(suite, benchmark)}
