"""Quality targets: every round, and what an unknown round may conclude."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.accepted import Case, cases
from ttastats.base import benchmarks


def rules() -> Iterator[Any]:
    """Yield the targets and the scoring of every benchmark in every round, and in none."""
    for suite in ("mlperf", "dawnbench"):
        for round_, name in product(
            (*benchmarks.rounds(suite), None), benchmarks.benchmarks_by_name(suite)
        ):
            targets = benchmarks.targets(suite, name, round_)
            if targets:
                of = [[t.metric, t.higher_is_better, t.value, t.runs] for t in targets]
                scored = {
                    str(division): benchmarks.scoring(suite, name, round_, division)
                    for division in ("closed", "open", "Open", None)
                }
                yield [suite, round_, name, of, scored]


@cases("pieces", rules=rules)
def test_targets_and_scoring_of_every_round_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_every_benchmark_has_targets_with_a_source_and_a_number_of_runs() -> None:
    for suite in ("mlperf", "dawnbench"):
        rounds = benchmarks.rounds(suite) or (None,)
        for name in benchmarks.benchmarks_by_name(suite):
            targets = [t for round_ in rounds for t in benchmarks.targets(suite, name, round_)]
            assert targets, name
            assert all(target.source and target.runs >= 1 for target in targets), name
