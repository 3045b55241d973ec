"""What each function of the statistics gives for some made-up samples, as it was accepted.

Other tests say why the numbers are right; these notice when any of them moves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT, matches_accepted, plain
from ttastats.stats import (
    blocks,
    convergence,
    decision,
    decompose,
    factors,
    fraction,
    logratio,
    means,
    moments,
    multiplicity,
    outliers,
    permutation,
    power,
    quantiles,
    scaling,
    sensitivity,
    sequential,
    speedup,
    unseen,
    variation,
)
from ttastats.stats.outcomes import Epochs, Outcomes, expected_time, outcomes

ACCEPTED = ROOT / "tests" / "reference" / "numbers"


def times(n: int, draw: int = 0) -> np.ndarray:
    return np.round(np.random.default_rng(n + 100 * draw).lognormal(3, 0.2, n), 3)


def flags(n: int, failed: int) -> np.ndarray:
    return np.arange(n) >= failed


def epochs(n: int, draw: int = 0) -> np.ndarray:
    return np.random.default_rng(n + 100 * draw).integers(3, 7, n).astype(float)


SIZES = (1, 2, 3, 5, 12)
SAMPLES = {f"{n}": times(n) for n in (0, *SIZES)} | {"same": np.full(4, 7.5), "mixed": times(60, 1)}
CONFIDENCE = (0.9, 0.95)
Numbers = Iterator[tuple[Any, Any]]


def of_one_sample() -> Numbers:
    for (name, values), c in product(SAMPLES.items(), CONFIDENCE):
        yield ("mean_interval", name, c), means.mean_interval(values, confidence=c)
        yield ("cv", name, c), variation.cv_interval(values, confidence=c)
        yield ("cv, ddof 0", name, c), variation.cv_interval(values, confidence=c, ddof=0)
        if values.size > 1:
            yield ("delta", name, c), variation.delta_limits(values, c)
    for name, values in SAMPLES.items():
        constant = np.full(values.size, 4.0)
        for evaluation_interval in (None, 0.5, 4.0):
            said = variation.cv_interval(
                values, epochs=constant, evaluation_interval=evaluation_interval
            )
            yield ("cv of constant epochs", name, evaluation_interval), said
        varied = variation.cv_interval(values, epochs=epochs(values.size), evaluation_interval=1.0)
        yield ("cv of epochs", name), varied
        for failed, drop in product((0, 1, 2), (1, 2)):
            found = means.olympic_mean(values, n_failed=failed, drop=drop)
            yield ("olympic", name, failed, drop), found
        if values.size:
            yield ("moments", name), (moments.mean(values), moments.geometric_mean(values))
        yield ("constant", name), moments.is_constant(values)
        yield ("outliers", name), outliers.outliers(values).tolist()
        yield ("z", name), outliers.modified_z(values).tolist()
    far = np.array([5.0, 5.0, 5.1, 5.2, 5.1, 9.0, 1.0, 5.05])
    yield "outliers", (outliers.outliers(far).tolist(), outliers.modified_z(far).tolist())
    half = np.array([5.0, 5.0, 5.0, 5.0, 5.0, 5.2, 9.0])
    yield (
        "outliers of equal",
        (outliers.outliers(half).tolist(), outliers.modified_z(half).tolist()),
    )
    for cv, n in product((0.05, 0.4, 1.5), (2, 3, 10)):
        yield ("vangel", cv, n), [variation.vangel_limits(cv, n, c) for c in CONFIDENCE]


def of_fractions() -> Numbers:
    for k, n in ((0, 1), (1, 1), (0, 5), (3, 5), (5, 5), (9, 10), (10, 10)):
        for c in CONFIDENCE:
            yield ("wilson", k, n, c), fraction.wilson(k, n, confidence=c)
            yield ("at least", k, n, c), fraction.reached_at_least(k, n, confidence=c)
        for other, m in ((0, 4), (2, 4), (4, 4), (7, 12)):
            for c in CONFIDENCE:
                yield (
                    ("newcombe", k, n, other, m, c),
                    fraction.newcombe(k, n, other, m, confidence=c),
                )
            yield ("fisher", k, n, other, m), fraction.fisher(k, n, other, m)
            for p, margin in ((None, 0.01), (0.2, 0.2)):
                found = decision.decide_by_fraction(k, n, other, m, p_value=p, margin=margin)
                yield ("decide", k, n, other, m, p), found


def of_decided_fractions() -> Numbers:
    for few, many in product((0, 1, 2), (10, 11, 12)):
        for pair in ((few, 12, many, 12), (many, 12, few, 12), (few, 12, many - 3, 9)):
            yield pair, decision.decide_by_fraction(*pair)


def sides() -> dict[str, Outcomes]:
    """Return sides of a comparison: varied or constant epochs, some failures, pooled setups."""
    found = {}
    for n in (1, 2, 5, 12):
        found[f"{n}"] = outcomes(times(n, 2), progress=Epochs(epochs(n, 2), 1.0))
        found[f"{n} alike"] = outcomes(times(n, 3), progress=Epochs(np.full(n, 4.0), 0.5))
    found["faster"] = outcomes(times(5, 2) / 3, progress=Epochs(np.full(5, 4.0), None))
    found["much faster"] = outcomes(times(12, 5) / 9, progress=Epochs(epochs(12, 5), 1.0))
    found["unknown epochs"] = outcomes(times(5, 4))
    found["some failed"] = outcomes(times(6, 4), flags(6, 2), progress=Epochs(np.full(4, 4.0), 1.0))
    found["all failed"] = outcomes(times(3, 4), flags(3, 3))
    found["pooled"] = outcomes(times(9, 5), clusters=[1, 1, 1, 2, 2, 3, 3, 3, 3])
    found["no variance"] = outcomes(np.full(4, 7.5), progress=Epochs(np.full(4, 4.0), 1.0))
    return found


def of_two_sides() -> Numbers:
    made = sides()
    for (name_a, a), name_b in product(made.items(), ("5", "5 alike")):
        for fixed, mean, c in ((False, "mean", 0.95), (True, "geomean", 0.9)):
            one = speedup.speedup(a, made[name_b], epochs_fixed=fixed, estimand=mean, confidence=c)
            about = (name_a, name_b, mean)
            yield about, (one.ratio, one.unseen_epochs, one.epoch_shifts, one.flags)
            yield (
                ("limits", *about),
                [
                    one.limits(confidence, epochs=e, stragglers=s)
                    for e, s, confidence in product((False, True), (False, True), (0.9, 0.95))
                ],
            )
            for p, second, margin in ((None, None, 0.01), (0.001, 0.2, 0.1), (0.2, 0.01, 0.3)):
                said = decision.decide(one, margin=margin, p_value=p, p_permutation=second)
                yield ("verdict", *about, p), (said.word, said.claim, said.marks, said.flags)
    for margin in (0.01, 0.2, 0.5):
        many = [None] + [speedup.speedup(made["5"], b) for b in made.values()]
        yield ("bounds", margin), decision.margin_bounds(many, margin)
    yield "expected of none", expected_time([], [])
    for name, side in made.items():
        yield ("shift", name), unseen.epoch_shift(side)
        yield ("expected", name), expected_time(side.times, side.reached)


def of_chance() -> Numbers:
    for n, m in ((1, 1), (2, 3), (4, 4), (5, 5), (12, 12), (30, 5)):
        a, b = times(n, 6), times(m, 7) / 1.3
        rng = np.random.default_rng(5)
        yield ("permutation", n, m), permutation.permutation_test(a, b, rng=rng)
        scores = np.concatenate([a, b])
        for studentised in (False, *([True] if min(n, m) > 1 else [])):
            rng = np.random.default_rng(5)
            found = permutation.permute_scores(
                scores, n, rng=rng, studentised=studentised, draws=500
            )
            yield ("scores", n, m, studentised), found
        rng = np.random.default_rng(5)
        tied = (np.round(a / 5), np.round(b / 5))
        reached = (flags(n, n // 3), flags(m, m // 4))
        yield ("ranks", n, m), permutation.mann_whitney(*tied, rng=rng, draws=500)
        yield ("wins", n, m), permutation.pair_wins(*tied)
        said = permutation.pair_wins(*tied, reached_a=reached[0], reached_b=reached[1])
        yield ("wins with failures", n, m), said
        yield ("worst", n), permutation.worst_rank_times(tied[0], reached[0]).tolist()
        yield ("splits", n, m), (permutation.number_of_splits(n, m), permutation.smallest_p(n, m))
    yield "midranks", permutation.midranks(np.array([3.0, 1.0, 3.0, 2.0, 2.0, 2.0])).tolist()


def of_many() -> Numbers:
    p_values = (0.01, None, 0.04, 0.03, 0.5, 0.012)
    yield "holm", multiplicity.adjusted(p_values)
    yield "fdr", multiplicity.adjusted(p_values, fdr=True)
    yield "none", (multiplicity.adjusted([None]), multiplicity.adjusted([], fdr=True))
    made = sides()
    ratios = [speedup.ratio_between(made["5"], made[name]) for name in ("12", "2", "faster")]
    for count in (1, 2, 3):
        for c in CONFIDENCE:
            found = multiplicity.geometric_mean_speedup(ratios[:count], confidence=c)
            yield ("mean speedup", count, c), found
    bound = speedup.ratio_between(made["5"], made["all failed"])
    yield "with a bound", multiplicity.geometric_mean_speedup([*ratios, bound])
    cases = ((1, 2, None), (5, 12, 0.1), (4, 4, 0.0), (2, 7, 0.3))
    yield "variance flags", [logratio.variance_flags(*case) for case in cases]
    pairs = ((1.0, 2.0), (0.0, 2.0), (0.0, 0.0))
    yield "exponentials", [logratio.safe_exp(one) for one in (-800.0, 708.9, 709.0, 709.95, 800.0)]
    yield "satterthwaite", [logratio.satterthwaite(pair, (3, 8)) for pair in pairs]
    curves = [np.array(one) for one in ([0.1, 0.5, 0.4], [0.3, 0.45, 0.6], [0.2, 0.7])]
    for higher, points in product((False, True), (1, 2, 5)):
        yield (
            ("grid", higher, points),
            (
                sensitivity.target_grid(curves, points, higher_is_better=higher),
                sensitivity.hardest_common_target(curves, higher_is_better=higher),
            ),
        )
    yield "no curves", (sensitivity.target_grid([], 3), sensitivity.hardest_common_target([]))
    words = {0.1: "faster", 0.2: "faster", 0.3: "undecided", 0.4: "faster", 0.5: "faster"}
    yield "stable", [sensitivity.stable_range(words, target) for target in words]
    table = [[1.0, 2.0, 4.0], [2.0, 2.0, np.inf], [np.inf, 1.0, 8.0]]
    yield "profile", multiplicity.performance_profile(table, [1.0, 1.5, 2.0, 4.0], tau_max=5.0)


def of_parts() -> Numbers:
    for n in (2, 3, 12):
        yield ("variance", n), decompose.decompose_variance(times(n, 8), epochs(n, 8))
        constant = np.full(n, 4.0)
        yield ("variance, constant", n), decompose.decompose_variance(times(n, 8), constant)
    for n, m in ((1, 2), (2, 2), (5, 12)):
        for c in CONFIDENCE:
            yield (
                ("speedup", n, m, c),
                decompose.decompose_speedup(
                    times(n, 8), epochs(n, 8), times(m, 9), epochs(m, 9), confidence=c
                ),
            )
    for n in (1, 2, 3):
        constant = (times(n, 8), np.full(n, 4.0))
        yield ("speedup of constant", n), decompose.decompose_speedup(*constant, *constant)
    for scale, n in product((2, 8, 24), (1, 5)):
        base = scaling.ScalePoint(8, times(5, 8), epochs(5, 8))
        point = scaling.ScalePoint(scale, times(n, 9) / 2, epochs(n, 9))
        yield ("scaling", scale, n), scaling.scaling(base, point, confidence=0.9)
    for samples in ([times(3)], [times(3), times(4)], [times(3), times(4) / 2, times(5) / 3]):
        scales = [8 * 2**k for k in range(len(samples))]
        yield ("slope", len(samples)), scaling.loglog_slope(scales, samples)
    yield "one scale", scaling.loglog_slope([8, 8], [times(3), times(4)])


def of_plans() -> Numbers:
    for cv, shifts in product((0.0, 0.02, 0.1, 0.8), ((0.0, 0.0), (0.05, 0.0), (0.2, 0.1))):
        for ratio, p in product((0.8, 0.99, 1.0, 1.05, 3.0), (0.8, 0.95)):
            found = power.runs_needed(ratio, cv, power=p, epoch_shifts=shifts)
            yield ("needed", ratio, cv, p, shifts), found
        for n in (1, 2, 5, 40):
            found = power.detectable_ratio(n, cv, alpha=0.1, epoch_shifts=shifts)
            yield ("detectable", n, cv, shifts), found
        for effect, n in product((0.02, 0.3), (2, 9)):
            if cv:
                yield ("power", effect, n, cv, shifts), power.power_of(effect, n, cv, 0.05, shifts)
    for n, c in product((1, 2, 5, 30), CONFIDENCE):
        yield ("unseen", n, c), unseen.unseen_share(n, c)
        for number, evaluation_interval in ((4.0, 0.5), (1.0, 1.0), (0.5, 2.0)):
            found = unseen.cv_epochs_high(number, n, evaluation_interval, c)
            yield ("cv of epochs", n, c, number), found
    for c in (0.1, 0.5, 0.9, 0.975):
        yield (
            ("quantiles", c),
            (
                quantiles.normal_quantile(c),
                quantiles.two_sided_z(c),
                quantiles.chi2_quantile(c, 3),
                quantiles.beta_quantile(c, 2.0, 5.0),
                [quantiles.two_sided_t(df, c) for df in (1, 3.5, 100)],
                [quantiles.t_tail(df, 2.0) for df in (1, 3.5, 100)],
            ),
        )


def of_means() -> Numbers:
    samples = {name: values / 7 for name, values in SAMPLES.items()} | {
        "decimals": np.array([0.94]),
        "tiny": np.array([1e-14, 4e-14, 2e-14]),
        "large": np.array([1e9, 1e9 + 1e-4, -3.0, 1e9 + 2]),
    }
    for name, values in samples.items():
        yield ("smallest change", name), means.smallest_change(values)
        for step in (0.0, 0.5):
            yield ("quality", name, step), means.mean_quality(values, resolution=step)
        for threshold, higher in product((2.5, 3.5), (False, True)):
            for level, sigma, step in ((0.05, None, 0.0), (0.01, 0.3, 0.0), (0.05, None, 0.5)):
                found = means.against(
                    values, threshold, higher_is_better=higher, level=level, sigma=sigma,
                    resolution=step,
                )  # fmt: skip
                yield ("against", name, threshold, higher, level), [found, found.needed]
    for a, b in product(("1", "2", "5", "12", "same"), ("2", "5", "same")):
        for step, c in ((0.0, 0.95), (0.5, 0.9)):
            found = means.difference(samples[a], samples[b], resolution=step, confidence=c)
            more = [found.one_sided(), found.needed]
            yield ("difference", a, b, step), [found, *more]
    for step in (0.0, 0.9):
        clusters = ([1, 1, 2, 2, 3], None)
        found = means.difference(samples["5"], samples["12"], clusters=clusters, resolution=step)
        yield ("difference of setups", step), found
    for n, value, level in product((1, 4), (3.0, 3.9), (0.05, 0.2)):
        yield ("by design", n, value, level), means.by_design(n, value, 3.5, level)
    for margin, known, number in product((0.1, 1.0), (False, True), (1, 2)):
        found = power.runs_for_mean(margin, 0.4, samples=number, level=0.05, sigma_known=known)
        yield ("runs for a mean", margin, known, number), found


def of_looks() -> Numbers:
    for n, most in ((3, 3), (5, 12), (12, 12), (4, 200)):
        look = sequential.Look(n, most)
        for alpha in (0.01, 0.05, 0.5):
            yield ("level", n, most, alpha), look.level(alpha)
        yield ("p", n, most), [look.p_value(p) for p in (0.0, 0.001, 0.04, 0.9, 1.0)]
    yield "crossings", sequential.crossings([1, 2, 4], [0.001, 0.01, 0.1])
    yield "no looks", sequential.crossings([], [])
    for ratio, cv, most in (
        (1.0, 0.0, 6),
        (1.2, 0.0, 3),
        (1.2, 0.1, 3),
        (1.2, 0.1, 5),
        (0.6, 0.5, 4),
    ):
        yield ("expected", ratio, cv, most), sequential.expected(ratio, cv, most)
    made, look = sides(), sequential.Look(5, 12)
    for a, b in (("5", "faster"), ("12", "much faster"), ("5", "all failed"), ("1", "1")):
        one = speedup.speedup(made[a], made[b], look=look)
        yield ("at a look", a, b), [one.ratio, one.limits(0.95), one.limits(0.9, epochs=True)]


def references() -> dict[str, convergence.Reference]:
    """Return measured and interpolated references, of runs that vary or never do."""
    varied = np.array([3.0, 3.0, 4.0, 4.0, 5.0, 4.0])
    more, alike = np.array([6.0, 5.0, 6.0, 7.0]), np.full(4, 5.0)
    found = {
        name: convergence.Reference((convergence.WeightedRuns(runs),), step)
        for name, runs, step in (
            ("varied", varied, 1.0), ("alike", alike, 0.5), ("unknown", alike, None),
            ("one", varied[:1], None),
        )
    }  # fmt: skip
    far = np.array([0.02, -0.01])
    for place in (0.25, 0.5):
        found[f"between, {place}"] = convergence.between(varied, more, place, far)
        found[f"between equal, {place}"] = convergence.between(alike, more, place, far[:0])
    return found


def of_convergence() -> Numbers:
    entries = {
        "varied": ([3.0, 4.0, 3.0], None, 1.0),
        "alike": ([4.0, 4.0], None, 0.5),
        "unknown": ([4.0, 4.0], None, None),
        "failed": ([4.0, 5.0, 4.0], [True, False, True], 1.0),
        "one": ([4.0], None, 1.0),
    }
    for (name, held), (entry, (amounts, reached, step)) in product(
        references().items(), entries.items()
    ):
        counted = np.array(amounts)[np.array(reached)] if reached else np.array(amounts)
        side = outcomes(amounts, reached, progress=Epochs(counted, step))
        found = convergence.convergence(side, held)
        limits = [found.limits(c, epochs=e) for c, e in product((0.95, 0.9), (False, True))]
        yield ("ratio", name, entry), [found.ratio, found.unseen_epochs, limits]
    for name, held in references().items():
        pool = [one.tolist() for one in held.pool()]
        yield ("reference", name), [held.mean, held.n, held.interval, held.misfit, pool]
        early = [convergence.stopped_early(np.array([n]), held) for n in (3.0, 3.4, 3.6, 4.0, 4.6)]
        yield ("early", name), early
        for n, dropped, faster in ((1, 0, 0.0), (3, 1, 0.0), (5, 1, 0.1), (2, 1, 0.0)):
            rng = np.random.default_rng(3)
            share = convergence.passes(
                held, 4.0, n, dropped=dropped, faster=faster, draws=200, rng=rng
            )
            yield ("passes", name, n, faster), share
    sizes, means_of = [8.0, 16.0, 32.0, 40.0], [4.0, 5.0, 5.5, 7.0]
    for count in (1, 2, 3, 4):
        yield ("misfits", count), convergence.misfits(sizes[:count], means_of[:count]).tolist()
    for values in ([], [4.0], [4.0, 4.0 + 1e-7], [4.0, 4.5, 7.0]):
        yield ("step", values), convergence.smallest_step(np.array(values))


def of_blocks() -> Numbers:
    cases = {
        "one": ([0] * 6, [0] * 5),
        "two": ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1]),
        "uneven": ([0, 0, 0, 0, 2, 1], [2, 2, 0, 1, 1]),
        "of one side": ([0, 0, 1, 1, 3, 3], [0, 0, 2, 1, 1]),
        "of one run": ([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4]),
        "no common benchmark": ([0] * 6, [1] * 5),
    }
    a, b = times(6), times(5, 2) / 1.3
    for name, numbers in cases.items():
        first, second = (np.array(one) for one in numbers)
        for kind, values in (("varied", a), ("alike", np.where(first == 1, 6.0, 5.0))):
            by = blocks.by_block(values, b, (first, second))
            yield ("by block", name, kind), [by.differences, by.p_value]
            if name == "no common benchmark":
                continue
            gap, *parts = blocks.of_values(values, b, (first, second))
            yield ("of values", name, kind), [gap, *(one.variance(4.0) for one in parts)]
            found = means.difference(values, b, blocks=(first, second), resolution=0.1)
            yield ("difference", name, kind), found
            for failed in (0, 2):
                one = outcomes(values, flags(6, failed), blocks=first)
                other = outcomes(b, flags(5, failed // 2), blocks=second)
                for mean in ("mean", "geomean") if not failed else ("mean",):
                    made = speedup.speedup(one, other, estimand=mean)  # type: ignore[arg-type]
                    yield ("speedup", name, kind, failed, mean), [made.ratio, made.limits(0.9)]
        together, rng = np.concatenate([first, second]), np.random.default_rng(4)
        yield ("splits", name), permutation.splits_within(together, 6)
        scores = np.round(np.log(np.concatenate([a, b])), 1)
        yield ("permuted", name), permutation.permute_within(scores, 6, together, rng=rng)
    many = np.array([0, 1] * 15)
    long, rng = np.log(times(30, 3)), np.random.default_rng(4)
    yield "permuted, drawn", permutation.permute_within(long, 14, many, rng=rng)


def of_factors() -> Numbers:
    a, b = (np.column_stack([times(n, draw) / part for draw, part in ((1, 1), (2, 3), (3, 40))])
            for n in (4, 6))  # fmt: skip
    gone = b.copy()
    gone[:, 1] = 0.0
    terms = {"a": a, "b": b, "gone": gone, "one": a[:1], "as a": a * (1 + 1e-7)}
    for one, other in product(terms, ("b", "gone", "one", "as a")):
        for c in CONFIDENCE:
            found = factors.factors(terms[one], terms[other], confidence=c)
            yield ("factors", one, other, c), found
    timed = sides()
    ratios = [speedup.ratio_between(timed["5"], timed[n]) for n in ("faster", "1", "all failed")]
    yield "rest", [factors.rest(*pair) for pair in product(ratios, repeat=2)]


FUNCTIONS: tuple[Callable[[], Numbers], ...] = (
    of_one_sample, of_fractions, of_two_sides, of_chance, of_many, of_parts, of_plans, of_means,
    of_decided_fractions, of_looks, of_convergence, of_blocks, of_factors,
)  # fmt: skip


@pytest.mark.parametrize("numbers", FUNCTIONS, ids=lambda function: function.__name__)
def test_numbers_are_as_accepted(numbers: Callable[[], Numbers]) -> None:
    lines = [f"{json.dumps(plain([about, found]))}\n" for about, found in numbers()]
    assert matches_accepted(ACCEPTED / f"{numbers.__name__}.txt", "".join(lines))
