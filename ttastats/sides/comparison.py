"""Two sides of runs in numbers: which is faster, by how much, why, and how sure.

What is computed when is decided here; how is the business of `ttastats.stats`, and how it is
shown that of `ttastats.answers.compare.compare`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ttastats.base.units import p_text, plural, ratio_interval
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import SECONDS, Axis
from ttastats.sides import looks
from ttastats.sides.design import checks, findings
from ttastats.sides.numbers import SideNumbers, side
from ttastats.sides.options import Options
from ttastats.sides.pairing import Pair
from ttastats.stats.blocks import ByBlock, by_block
from ttastats.stats.decision import Bounds, Decision, decide, decide_by_fraction, margin_bounds
from ttastats.stats.fraction import fisher, newcombe
from ttastats.stats.moments import coefficient_of_variation
from ttastats.stats.multiplicity import adjusted, holm
from ttastats.stats.outcomes import Estimand as Mean
from ttastats.stats.outcomes import Outcomes, numbered, outcomes
from ttastats.stats.permutation import (
    permutation_test,
    permute_within,
    smallest_p,
    splits_within,
)
from ttastats.stats.power import detectable_ratio, runs_needed
from ttastats.stats.ranks import PairWins, mann_whitney, midranks, pair_wins
from ttastats.stats.results import Difference, Flag, FlagCode, Floats, Ratio
from ttastats.stats.speedup import Speedup, confidence_of, ratio_between, speedup
from ttastats.stats.verdict import Verdict

#: What the speedup is a ratio of: mean times, geometric means, expected times to a success (when
#: runs failed), times per epoch (when both sides converge alike), or nothing: fractions decide,
#: or, where there is "none", nothing is judged at all.
Estimand = Literal["mean", "geomean", "ert", "throughput", "fraction", "none"]


@dataclass(frozen=True, slots=True)
class Parts:
    """Why: the speedup of the successes is `throughput` x `progress`.

    Both are ratios of the same means as the speedup: exact for geometric means, and for arithmetic
    ones where epochs and time per epoch are independent. `cv_epoch_time_*` tell how steady the
    time per epoch was.
    """

    throughput: Ratio
    progress: Ratio
    cv_epoch_time_a: float | None
    cv_epoch_time_b: float | None


@dataclass(frozen=True, slots=True)
class PowerPlan:
    """What the runs at hand can show at 80 % power, and what the observed speedup would take.

    Both among the `tests` that are not decided yet, with unseen epochs allowed for.
    """

    cv: float
    n: int
    detectable: float | None
    needed: int | None
    tests: int


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One benchmark on two sides. `speedup` is A over B: above 1 means that B is faster.

    Both count on the `axis`; on one of progress `parts` is None, since throughput has none.
    `wins` is None where nothing is judged.
    """

    keys: Mapping[str, Any]
    a: SideNumbers
    b: SideNumbers
    estimand: Estimand = "none"
    progress_unit: str | None = None
    speedup: Speedup | None = None
    parts: Parts | None = None
    fraction: Difference | None = None
    fraction_p: float | None = None
    p_value: float | None = None
    p_permutation: float | None = None
    wins: PairWins | None = None
    other_mean: Ratio | None = None
    epochs_p: float | None = None
    plan: PowerPlan | None = None
    p_adjusted: float | None = None
    verdict: Decision | None = None
    flags: tuple[Flag, ...] = ()
    axis: Axis = SECONDS


def compare(pairs: Sequence[Pair], options: Options | None = None) -> tuple[Comparison, ...]:
    """Compare pairs of groups of runs and judge them together.

    One that is `unavailable`, or that no outcome could decide, is no test: it takes no part in
    the adjustment of the others.
    """
    options = options or Options()
    measured = [_measured(pair, options) for pair in pairs]
    return judged(measured, options)


def judged(measured: Sequence[Comparison], options: Options) -> tuple[Comparison, ...]:
    """Judge comparisons together: p values and claims about the margin share one alpha."""
    p_values = adjusted([one.p_value for one in measured], fdr=options.fdr)
    waiting = sum(one.speedup is None and options.max_runs is not None for one in measured)
    bounds = margin_bounds([one.speedup for one in measured], options.margin, waiting)
    open_tests = sum(p is not None and p >= 1 - options.confidence for p in p_values)
    return tuple(
        _judged(replace(one, p_adjusted=p, plan=_plan(one, open_tests, options)), within, options)
        if one.verdict is None
        else one
        for one, p, within in zip(measured, p_values, bounds, strict=True)
    )


def _measured(pair: Pair, options: Options) -> Comparison:
    axis = axes.of(pair.a)
    unit, column = axes.progress_of(pair.a, pair.b)
    a, b = (
        side(runs, unit, column, ddof=options.ddof, confidence=options.confidence)
        for runs in (pair.a, pair.b)
    )
    base = Comparison(pair.keys, a, b, progress_unit=unit, axis=axis)
    if pair.unavailable is None:
        return measured(base, options)
    return replace(
        base,
        verdict=Decision(
            Verdict.UNAVAILABLE, pair.unavailable, options.margin, reason=pair.unavailable
        ),
    )


def measured(base: Comparison, options: Options) -> Comparison:
    """Give what is measured of two sides, before it is judged among others."""
    if options.max_runs is not None:
        return _at_look(base, options.max_runs, options)
    a, b, level = base.a, base.b, options.confidence
    fraction_p = _fraction_p(a, b, options.seed)
    described = replace(
        base,
        parts=None if base.axis.progress else _parts(a, b, options),
        fraction=newcombe(b.n_reached, b.n, a.n_reached, a.n, confidence=level),
        fraction_p=fraction_p,
        flags=_flags(a, b, base.axis),
    )
    if not _times_can_decide(a, b):
        p_value = fraction_p if _fractions_can_decide(a, b, 1 - level) else None
        return replace(described, estimand="fraction", p_value=p_value, wins=_wins(a, b))
    return _with_speedup(replace(described, wins=_wins(a, b)), options)


def _at_look(base: Comparison, most: int, options: Options) -> Comparison:
    """Measure two sides at a look of a plan; undecided where the plan has none at such runs.

    What the look cannot answer for is left out: a second test, the fractions and how many runs a
    fixed plan would take.
    """
    flags = _flags(base.a, base.b, base.axis)
    look = looks.look(base.a, base.b, most)
    if isinstance(look, str):
        flags = (*flags, Flag("no_look", f"not a planned look, so undecided: {look}"))
        verdict = Decision(Verdict.UNDECIDED, "undecided", options.margin, flags=flags)
        # Another look may come, or was: the row takes its part of alpha all the same.
        return replace(base, p_value=1.0, verdict=verdict, flags=flags)
    a, b = base.a.outcomes, base.b.outcomes
    found = speedup(
        a,
        b,
        epochs_fixed=options.epochs_fixed,
        estimand=options.estimand,
        confidence=options.confidence,
        look=look,
        late=checks.late(base.a.design, base.b.design),
    )
    p_value = found.ratio.p_value
    if p_value is None and found.ratio.low is not None:
        p_value = look.p_value(second_opinion(a, b, options.seed))
    as_one = replace(options, confidence=confidence_of(options.confidence, look))
    return replace(
        base,
        estimand=options.estimand,
        speedup=found,
        parts=None if base.axis.progress else _parts(base.a, base.b, as_one),
        p_value=p_value,
        wins=_wins(base.a, base.b),
        flags=(*flags, *found.flags),
    )


def _with_speedup(base: Comparison, options: Options) -> Comparison:
    a, b = base.a, base.b
    if options.same_convergence:
        base = _same_convergence(base, options)
        if base.speedup is not None:
            return base
    times = speedup(
        a.outcomes,
        b.outcomes,
        epochs_fixed=options.epochs_fixed,
        estimand=options.estimand,
        confidence=options.confidence,
        late=checks.late(a.design, b.design),
    )
    succeeded = a.all_reached and b.all_reached
    found = _tested(base, a.outcomes, b.outcomes, times, options)
    if not succeeded:
        return replace(found, estimand="ert")
    other: Mean = "mean" if options.estimand == "geomean" else "geomean"
    ratio = ratio_between(a.outcomes, b.outcomes, estimand=other, confidence=options.confidence)
    return replace(found, estimand=options.estimand, other_mean=ratio)


def _same_convergence(base: Comparison, options: Options) -> Comparison:
    """Compare times per epoch, unless runs failed or the epochs rule out that they are alike."""
    a, b = base.a, base.b
    rng = np.random.default_rng(options.seed)
    if base.axis.progress:
        message = f"--same-convergence ignored: {base.axis.noun} are compared"
        return _flagged(base, "convergence_not_used", message)
    if a.progress is None or b.progress is None or not (a.all_reached and b.all_reached):
        reason = "some runs failed" if base.progress_unit else "epochs are not logged"
        return _flagged(base, "convergence_not_used", f"--same-convergence ignored: {reason}")
    epochs_p = permutation_test(a.progress, b.progress, rng=rng)
    base = replace(base, epochs_p=epochs_p)
    if epochs_p < 1 - options.confidence:
        message = f"--same-convergence refused: epochs to target differ ({p_text(epochs_p)})"
        return _flagged(base, "convergence_differs", message)
    per_a, per_b = (
        outcomes(one.times / progress, clusters=one.outcomes.clusters, blocks=one.outcomes.blocks)
        for one, progress in ((a, a.progress), (b, b.progress))
    )
    ratio = speedup(per_a, per_b, epochs_fixed=True, confidence=options.confidence)
    return replace(_tested(base, per_a, per_b, ratio, options), estimand="throughput")


def _flagged(base: Comparison, code: FlagCode, message: str) -> Comparison:
    return replace(base, flags=(*base.flags, Flag(code, message)))


def _tested(
    base: Comparison, a: Outcomes, b: Outcomes, ratio: Speedup, options: Options
) -> Comparison:
    """Add a speedup with its p, and the p of a test that assumes no distribution.

    That test stands in where there is no variance for the first; runs of pooled setups cannot
    change places with each other, so that there it would be wrong.
    """
    base = replace(base, speedup=ratio, flags=(*base.flags, *ratio.flags))
    p_value, alpha = ratio.ratio.p_value, 1 - options.confidence
    if not _can_change_places(a, b, alpha):
        return replace(base, p_value=p_value)
    second = second_opinion(a, b, options.seed)
    if _second_decides(ratio.ratio, alpha):
        p_value = second
    return replace(base, p_value=p_value, p_permutation=second)


def _can_change_places(a: Outcomes, b: Outcomes, alpha: float) -> bool:
    """Tell whether there is a second opinion: runs of one setup each, enough of them in blocks."""
    if a.clusters is not None or b.clusters is not None:
        return False
    blocks = _blocks(a, b)
    return blocks is None or 2 / splits_within(blocks, a.n) < alpha


def _second_decides(ratio: Ratio, alpha: float) -> bool:
    """Tell whether the second opinion stands in for a t test that has no variance."""
    decides = ratio.p_value is None and ratio.low is not None
    return decides and smallest_p(ratio.n_a, ratio.n_b) < alpha


def told_apart(
    sides: Sequence[SideNumbers], confidence: float = 0.95
) -> frozenset[tuple[int, int]]:
    """Return the pairs of sides of which the first is shown to be faster, all judged together.

    It is what `compare` says of all pairs of them, by the same p values, adjusted for as many by
    Holm, and the same intervals. What it says besides is not computed.
    """
    options = Options(confidence=confidence)
    pairs = list(combinations(range(len(sides)), 2))
    found = [_in_brief(sides[a], sides[b], options) for a, b in pairs]
    p_values = holm([one.p_value for one in found])
    words = {
        pair: _judged(replace(one, p_adjusted=p), Bounds(), options).verdict
        for pair, one, p in zip(pairs, found, p_values, strict=True)
        if p is not None and p < 1 - confidence
    }
    return frozenset(
        (a, b) if verdict.word is Verdict.SLOWER else (b, a)
        for (a, b), verdict in words.items()
        if verdict is not None and verdict.word.directed
    )


def _in_brief(a: SideNumbers, b: SideNumbers, options: Options) -> Comparison:
    """Measure two sides so far as faster or slower rests on it."""
    base, alpha = Comparison({}, a, b), 1 - options.confidence
    if not _times_can_decide(a, b):
        can_decide = _fractions_can_decide(a, b, alpha)
        return replace(base, p_value=_fraction_p(a, b, options.seed) if can_decide else None)
    one, other = a.outcomes, b.outcomes
    found = speedup(
        one,
        other,
        estimand=options.estimand,
        confidence=options.confidence,
        late=checks.late(a.design, b.design),
    )
    p_value = found.ratio.p_value
    if _second_decides(found.ratio, alpha) and _can_change_places(one, other, alpha):
        p_value = second_opinion(one, other, options.seed)
    return replace(base, speedup=found, p_value=p_value)


def second_opinion(a: Outcomes, b: Outcomes, seed: int) -> float:
    """Give the p of a permutation test; failed runs rank behind all others.

    Where there are blocks, runs change sides within theirs, and ranks are those in it.
    """
    rng, blocks = np.random.default_rng(seed), _blocks(a, b)
    if blocks is not None:
        return permute_within(_scores(a, b, blocks), a.n, blocks, rng=rng)
    if a.all_reached and b.all_reached:
        return permutation_test(a.times, b.times, rng=rng)
    return mann_whitney(a.times, b.times, reached_a=a.reached, reached_b=b.reached, rng=rng)


def _scores(a: Outcomes, b: Outcomes, blocks: NDArray[np.intp]) -> Floats:
    times = np.concatenate([a.times, b.times])
    if a.all_reached and b.all_reached:
        logs: Floats = np.log(times)
        return logs
    times = np.where(np.concatenate([a.reached, b.reached]), times, np.inf)
    found = np.empty(times.size)
    for block in np.unique(blocks):
        found[blocks == block] = midranks(times[blocks == block])
    return found


def _fraction_p(a: SideNumbers, b: SideNumbers, seed: int) -> float:
    """Give the exact p of "both sides reach equally often", within blocks where there are any."""
    blocks = _blocks(a.outcomes, b.outcomes)
    if blocks is None or a.n_untimed or b.n_untimed:
        return fisher(a.n_reached, a.n, b.n_reached, b.n)
    reached = np.concatenate([a.outcomes.reached, b.outcomes.reached]).astype(np.float64)
    return permute_within(reached, a.n, blocks, rng=np.random.default_rng(seed))


def in_blocks(a: Outcomes, b: Outcomes) -> ByBlock | None:
    """Give the log of B over A in each block, of geometric means; None if a run failed."""
    if a.blocks is None or b.blocks is None or not (a.n and b.n):
        return None
    if not (a.all_reached and b.all_reached):
        return None
    return by_block(np.log(a.times), np.log(b.times), (a.blocks, b.blocks))


def _blocks(a: Outcomes, b: Outcomes) -> NDArray[np.intp] | None:
    """Give the blocks of the runs of A and, behind them, of B."""
    if a.blocks is None or b.blocks is None:
        return None
    return np.concatenate([a.blocks, b.blocks])


def _times_can_decide(a: SideNumbers, b: SideNumbers) -> bool:
    """Tell whether both sides have a success, and every run a time."""
    return not (a.n_untimed or b.n_untimed) and bool(a.n_reached and b.n_reached)


def _fractions_can_decide(a: SideNumbers, b: SideNumbers, alpha: float) -> bool:
    """Tell whether the most extreme fractions of so many runs would be significant."""
    some = bool(a.n_reached or b.n_reached)
    return some and fisher(a.n, a.n, 0, b.n) < alpha


def _wins(a: SideNumbers, b: SideNumbers) -> PairWins | None:
    one, other = a.outcomes, b.outcomes
    if not one.n or not other.n:
        return None
    return pair_wins(one.times, other.times, reached_a=one.reached, reached_b=other.reached)


_BLOCKS_DIFFER = 0.05


def _flags(a: SideNumbers, b: SideNumbers, axis: Axis) -> tuple[Flag, ...]:
    """Flag what the runs themselves say about how far a comparison of them can be trusted."""
    found = []
    for name, one in (("A", a), ("B", b)):
        if one.n_untimed:
            unknown = f"unknown {'number of ' if axis.progress else ''}{axis.noun}"
            message = (
                f"{plural(one.n_untimed, 'run')} of {name} failed after an {unknown}: no speedup"
            )
            found.append(Flag("untimed_failures", message))
    each = in_blocks(a.outcomes, b.outcomes)
    if each is not None and each.p_value is not None and each.p_value < _BLOCKS_DIFFER:
        ratios = ", ".join(f"{np.exp(-gap):.3f}" for gap in each.differences.values())
        message = (
            f"the ratio varies between blocks more than between runs ({p_text(each.p_value)}): "
            f"{ratios}; the verdict is for their mean, and another block may differ"
        )
        found.append(Flag("blocks_differ", message))
    check = checks.findings if _times_can_decide(a, b) else checks.of_runs
    return (*found, *(one.flag for one in check(a.design, b.design)), *_paired_seeds(a, b))


def _paired_seeds(a: SideNumbers, b: SideNumbers) -> Iterator[Flag]:
    """Flag sides that share their seeds, with what a comparison within seeds gives."""
    blocks = checks.paired_seeds(a.design, b.design)
    if blocks is None or not (a.all_reached and b.all_reached):
        return
    paired = ratio_between(
        *(replace(side.outcomes, blocks=seeds) for side, seeds in zip((a, b), blocks, strict=True))
    )
    message = (
        f"A and B have the same {a.n} seeds; compared within seeds (--block seed): "
        f"{ratio_interval(paired.estimate, paired.low, paired.high)}"
    )
    yield Flag("paired_seeds", message)


def _plan(one: Comparison, tests: int, options: Options) -> PowerPlan | None:
    """Plan from the spread seen, as a CV of one run: SE(log S) = CV sqrt(2/n) at equal n.

    A claim has to hold among all `tests` that are not decided yet, as Holm's step-down asks, and
    for epochs not seen.
    """
    found = one.speedup
    ratio = found.ratio if found else None
    n = min(one.a.n, one.b.n)
    if found is None or ratio is None or n < 2 or not ratio.se_log or not ratio.estimate:
        return None
    if found.look is not None:
        return None
    if one.a.pooled or one.b.pooled:
        return None
    alpha = (1 - options.confidence) / max(tests, 1)
    cv = ratio.se_log * float(np.sqrt(1 / (1 / one.a.n + 1 / one.b.n)))
    shifts = found.epoch_shifts
    needed = None
    if ratio.estimate != 1.0:
        needed = runs_needed(ratio.estimate, cv, alpha=alpha, epoch_shifts=shifts)
    detectable = detectable_ratio(n, cv, alpha=alpha, epoch_shifts=shifts)
    return PowerPlan(cv, n, detectable, needed, tests)


def _judged(one: Comparison, bounds: Bounds, options: Options) -> Comparison:
    verdict = _decided(one, bounds, options)
    wrong = checks.findings(one.a.design, one.b.design)
    found = [_by_clusters(one, each, verdict, options) for each in wrong]
    if one.a.design.blocked and one.b.design.blocked:
        each, alpha = in_blocks(one.a.outcomes, one.b.outcomes), 1 - options.confidence
        found += findings.these_blocks(each, one.p_value, one.p_adjusted, alpha)
    verdict = findings.judged(verdict, found)
    flags = (one.flags, verdict.flags, (each.flag for each in found))
    return replace(one, verdict=verdict, flags=tuple(dict.fromkeys(chain.from_iterable(flags))))


def _by_clusters(
    one: Comparison, found: findings.Finding, verdict: Decision, options: Options
) -> findings.Finding:
    """Return what was found as a note if runs clustered by session or seed give the same verdict.

    The spread between clusters then enters the interval; it takes two of them on each side.
    """
    clusters, ratio = found.clusters, one.speedup.ratio if one.speedup else None
    if found.effect != "condition" or clusters is None or ratio is None or ratio.p_value is None:
        return found
    few = any(np.unique(labels).size < 2 for labels in clusters)
    if few or one.estimand == "throughput" or one.a.pooled or one.b.pooled:
        return found
    sides = [
        replace(side.outcomes, clusters=numbered(labels, labels.size))
        for side, labels in zip((one.a, one.b), clusters, strict=True)
    ]
    by_cluster = speedup(
        *sides,
        epochs_fixed=options.epochs_fixed,
        estimand=options.estimand,
        confidence=options.confidence,
        late=checks.late(one.a.design, one.b.design),
    )
    p_value = by_cluster.ratio.p_value
    if p_value is not None and one.p_adjusted is not None:
        p_value = min(1.0, p_value * one.p_adjusted / (ratio.p_value or one.p_adjusted or 1.0))
    same = decide(by_cluster, margin=options.margin, p_value=p_value).word == verdict.word
    return replace(found, effect="note") if same else found


def _decided(one: Comparison, bounds: Bounds, options: Options) -> Decision:
    margin = options.margin
    if one.speedup is None:
        return decide_by_fraction(
            one.a.n_reached, one.a.n, one.b.n_reached, one.b.n,
            alpha=1 - options.confidence, p_value=one.p_adjusted, margin=margin,
        )  # fmt: skip
    verdict = decide(
        one.speedup,
        margin=margin,
        p_value=one.p_adjusted,
        p_permutation=one.p_permutation,
        bounds=bounds,
    )
    if verdict.word is Verdict.UNDECIDED and _shown_without_allowance(one, margin):
        return replace(verdict, why=findings.WORDS["grids_differ"])
    return verdict


def _shown_without_allowance(one: Comparison, margin: float) -> bool:
    """Tell whether a direction would be shown if evaluation intervals did not differ."""
    found = one.speedup
    if found is None or found.a is None or found.b is None or not (found.a.late or found.b.late):
        return False
    alike = replace(found, a=replace(found.a, late=0.0), b=replace(found.b, late=0.0))
    permuted = one.p_permutation
    verdict = decide(alike, margin=margin, p_value=one.p_adjusted, p_permutation=permuted)
    return verdict.word.directed


def _parts(a: SideNumbers, b: SideNumbers, options: Options) -> Parts | None:
    if a.progress is None or b.progress is None or not a.n_reached or not b.n_reached:
        return None
    per_a, per_b = a.times / a.progress, b.times / b.progress

    def ratio(x: Floats, y: Floats) -> Ratio:
        one, other = (
            outcomes(
                values,
                clusters=_reached(which, which.outcomes.clusters),
                blocks=_reached(which, which.outcomes.blocks),
            )
            for values, which in ((x, a), (y, b))
        )
        return ratio_between(one, other, estimand=options.estimand, confidence=options.confidence)

    return Parts(
        ratio(per_a, per_b),
        ratio(a.progress, b.progress),
        coefficient_of_variation(per_a),
        coefficient_of_variation(per_b),
    )


def _reached(one: SideNumbers, labels: NDArray[np.intp] | None) -> NDArray[np.intp] | None:
    return None if labels is None else labels[one.outcomes.reached]
