"""Quality targets: every round, and what an unknown round may conclude."""

from __future__ import annotations

from importlib import resources

import msgspec
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


def test_without_a_round_only_an_undisputed_target_is_given() -> None:
    assert benchmarks.targets("mlperf", "resnet", None) == ()
    assert [t.value for t in benchmarks.targets("mlperf", "unet3d", None)] == [0.908]
    assert len(benchmarks.targets("mlperf", "maskrcnn", None)) == 2


@pytest.mark.parametrize(
    ("name", "round_", "canonical"),
    [
        ("mask", "v0.6", "maskrcnn"),
        ("gnn", "v4.1", "rgat"),
        ("language_model", "v1.0", "bert"),
        ("ssd", "v1.0", "ssd"),
        ("ssd", "v2.0", "retinanet"),
        ("ssd", None, "ssd"),
        ("my_own", "v5.0", "my_own"),
    ],
)
def test_names_are_resolved_by_round(name: str, round_: str | None, canonical: str) -> None:
    assert benchmarks.canonical_name("mlperf", name, round_) == canonical


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


@pytest.mark.parametrize(
    ("suite", "benchmark", "round_"),
    [
        ("dawnbench", "cifar10", None),
        ("mlperf", "bert", None),
        ("mlperf", "resnet", "v5.0"),
        ("mlperf", "my_own", "v5.0"),
        ("mlperf", "bert", "v9.9"),
    ],
)
def test_without_official_rules_there_is_no_scoring(
    suite: str, benchmark: str, round_: str | None
) -> None:
    assert benchmarks.scoring(suite, benchmark, round_, "closed") is None


def test_every_benchmark_of_every_round_can_be_scored_and_only_v05_has_no_limit() -> None:
    for round_ in benchmarks.rounds("mlperf"):
        for name in benchmarks.benchmarks_by_name("mlperf"):
            if benchmarks.targets("mlperf", name, round_):
                rules = benchmarks.scoring("mlperf", name, round_, "closed")
                assert rules is not None
                assert rules.runs > 2 * rules.dropped
                assert (rules.init_minutes is None) == (round_ == "v0.5"), (name, round_)


@pytest.mark.parametrize(
    ("written", "instead", "complaint"),
    [
        ('meets = ">="', 'meats = ">="', "unknown field `meats` - at `$.target[0]`"),
        (
            "value = 0.749",
            'value = "high"',
            "Expected `float | null`, got `str` - at `$.target[0].value`",
        ),
        ('meets = ">="', 'meets = ">"', "Invalid enum value '>' - at `$.target[0].meets`"),
        ("runs = 5\n", "", "missing required field `runs` - at `$.target[0]`"),
        ("[rounds]", "[round]", "unknown field `round`"),
    ],
)
def test_a_slip_in_the_file_is_named_with_its_place(
    written: str, instead: str, complaint: str
) -> None:
    text = resources.files("ttastats.base").joinpath("benchmarks.toml").read_text("utf-8")
    msgspec.toml.decode(text, type=benchmarks.Facts)
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.toml.decode(text.replace(written, instead, 1), type=benchmarks.Facts)
    assert complaint in str(caught.value)
