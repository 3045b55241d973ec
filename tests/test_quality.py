"""Quality targets: every round, and what an unknown round may conclude."""

from __future__ import annotations

import pytest

from ttastats.base import benchmarks


@pytest.mark.parametrize(
    ("benchmark", "round_", "expected"),
    [
        ("resnet", "v0.5", {("top1_accuracy", True, 0.749)}),
        ("resnet", "v4.0", {("top1_accuracy", True, 0.759)}),
        ("gnmt", "v0.7", {("bleu", True, 24.0)}),
        ("maskrcnn", "v3.1", {("bbox_map", True, 0.377), ("segm_map", True, 0.339)}),
        ("bert", "v0.7", {("masked_lm_accuracy", True, 0.712)}),
        ("bert", "v5.0", {("masked_lm_accuracy", True, 0.72)}),
        ("stable_diffusion", "v5.0", {("fid", False, 90.0), ("clip", True, 0.15)}),
        ("llama31_405b", "v5.0", {("log_perplexity", False, 5.6)}),
        ("rnnt", "v1.0", {("word_error_rate", False, 0.058)}),
        ("resnet", "v5.0", set()),
    ],
)
def test_targets_are_those_of_the_round(
    benchmark: str, round_: str, expected: set[tuple[str, bool, float]]
) -> None:
    found = benchmarks.targets("mlperf", benchmark, round_)
    assert {(t.metric, t.higher_is_better, t.value) for t in found} == expected


def test_every_benchmark_has_targets_with_a_source_and_a_number_of_runs() -> None:
    for suite in ("mlperf", "dawnbench"):
        for name in benchmarks.benchmarks_by_name(suite):
            rounds = benchmarks.rounds(suite) or (None,)
            found = [t for round_ in rounds for t in benchmarks.targets(suite, name, round_)]
            assert found, name
            assert all(target.source and target.runs >= 1 for target in found), name


def test_every_round_has_benchmarks() -> None:
    for round_ in benchmarks.rounds("mlperf"):
        named = [
            b
            for b in benchmarks.benchmarks_by_name("mlperf")
            if benchmarks.targets("mlperf", b, round_)
        ]
        assert len(named) >= 6, round_


@pytest.mark.parametrize(
    ("benchmark", "round_", "division", "expected"),
    [
        ("bert", "v5.0", "closed", (10, 1, 1, 30)),
        ("bert", "v5.0", "Open", (10, 1, 1, 240)),
        ("bert", "v5.0", None, (10, 1, 1, 30)),
        ("bert", "v1.1", "open", (10, 1, 1, 30)),
        ("resnet", "v0.7", "closed", (5, 1, 1, 20)),
        ("resnet", "v0.5", "closed", (5, 1, 1, None)),
        ("unet3d", "v4.0", "closed", (40, 4, 4, 30)),
        ("ncf", "v0.5", "closed", (100, 1, 50, None)),
        ("llama31_405b", "v5.0", "closed", (3, 1, 1, 30)),
    ],
)
def test_scoring_rules_are_those_of_benchmark_round_and_division(
    benchmark: str, round_: str, division: str | None, expected: tuple[int, int, int, float | None]
) -> None:
    rules = benchmarks.scoring("mlperf", benchmark, round_, division)
    assert rules is not None
    failures = rules.dropped if rules.converging is None else rules.runs - rules.converging
    found = (rules.runs, rules.dropped, failures, rules.init_minutes)
    assert found == expected


def test_every_benchmark_of_every_round_can_be_scored_and_only_v05_has_no_limit() -> None:
    for round_ in benchmarks.rounds("mlperf"):
        for name in benchmarks.benchmarks_by_name("mlperf"):
            if benchmarks.targets("mlperf", name, round_):
                rules = benchmarks.scoring("mlperf", name, round_, "closed")
                assert rules is not None
                assert rules.runs > 2 * rules.dropped
                assert (rules.init_minutes is None) == (round_ == "v0.5"), (name, round_)
