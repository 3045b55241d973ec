"""Two sides of runs in numbers: which is faster, by how much, why, and how sure.

What is measured when is decided here; how is the business of `ttastats.stats`, and what is claimed
that of `ttastats.sides.contrast`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Literal, cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ttastats.base.errors import raise_if
from ttastats.base.units import plural, ratio_interval
from ttastats.outcomes import aims
from ttastats.outcomes import axis as axes
from ttastats.outcomes.time_to_target import common_progress
from ttastats.sides import checks, setups
from ttastats.sides.contrast import (
    Estimand,
    Parts,
    PowerPlan,
    Startup,
    TimesContrast,
    speedup_of,
    with_verdicts,
)
from ttastats.sides.findings import Finding, flag
from ttastats.sides.numbers import SideNumbers, side
from ttastats.sides.options import POWER, Options
from ttastats.sides.pairing import Pair
from ttastats.sides.proposals import propose
from ttastats.stats import permutation
from ttastats.stats.blocks import ByBlock, differences_by_block
from ttastats.stats.decision import Assumption, Decision, decide
from ttastats.stats.moments import coefficient_of_variation
from ttastats.stats.multiplicity import FIRST_LOOK, MOST_LOOKS, Look
from ttastats.stats.outcomes import Estimand as Mean
from ttastats.stats.outcomes import (
    Outcomes,
    fisher_p,
    make_outcomes,
    newcombe_difference,
)
from ttastats.stats.power import (
    detectable_ratio,
    detectable_with_failures,
    failing_like,
    runs_needed,
    runs_with_failures,
)
from ttastats.stats.results import Flag, FlagCode, Floats, Ratio, Verdict
from ttastats.stats.speedup import Speedup, compute_speedup, confidence_at, ratio_between

Comparison = TimesContrast[SideNumbers]


def compare(pairs: Sequence[Pair], options: Options) -> tuple[Comparison, ...]:
    """Return the comparisons of pairs of groups of runs, judged together.

    One that is `unavailable`, or that no outcome could decide, is no test: it takes no part in
    the adjustment of the others.
    """
    measured_pairs = []
    for pair in pairs:
        axis = axes.axis_of(pair.a)
        unit, column = axis.progress or common_progress(pair.a, pair.b)
        a, b = (
            side(runs, unit, column, ddof=options.ddof, confidence=options.confidence)
            for runs in (pair.a, pair.b)
        )
        # Where setups are pooled no sentence can name the size of a side.
        size_differences = setups.unlike_sizes(pair.a, pair.b) if a.pooled or b.pooled else ()
        findings = tuple(Finding(cast("FlagCode", code), text, "condition")
                         for code, text in size_differences)  # fmt: skip
        base = Comparison(pair.keys, a, b, axis, progress_unit=unit, findings=findings)
        reason = pair.unavailable or aims.unlike_times(pair.a, pair.b)
        if reason is None:
            base = measure(base, options)
            if aims.lack_target(pair.a, pair.b):
                advice = aims.advice(pair.a, pair.b).text.removesuffix(".")
                verdict = Decision(
                    Verdict.UNAVAILABLE, aims.NO_TARGET, options.margin, reason=advice
                )
                base = replace(base, verdict=verdict)
        else:
            verdict = Decision(Verdict.UNAVAILABLE, reason, options.margin, reason=reason)
            by_block = _log_ratios_by_block(a.outcomes, b.outcomes)
            base = replace(base, by_block=by_block, verdict=verdict)
        measured_pairs.append(base)
    measured_pairs = [
        with_clues(comparison, pairs, index) for index, comparison in enumerate(measured_pairs)
    ]
    comparisons = with_verdicts(measured_pairs, options)
    alpha = 1 - options.confidence
    tests = sum(
        comparison.p_adjusted is not None and comparison.p_adjusted >= alpha
        for comparison in comparisons
    )
    return tuple(
        replace(
            comparison,
            plan=_with_blocks(_power_plan(comparison, tests, options), comparison, pair, alpha),
        )
        for comparison, pair in zip(comparisons, pairs, strict=True)
    )


def with_clues(base: Comparison, pairs: Sequence[Pair] = (), index: int = 0) -> Comparison:
    """Return a comparison with the reasons to expect failures of the seemingly faster side.

    By its own runs, all of which end near the target, and by those of the `pairs` of its table, of
    which it is number `index`.
    """
    times = base.speedup
    if times is None or not times.ratio.estimate:
        return base
    side: Literal["a", "b"] = "b" if times.ratio.estimate > 1 else "a"
    clues = [*checks.failure_clues(pairs, index, side)] if pairs else []
    if end := (base.b if side == "b" else base.a).design.near_end:
        clues.append(flag("failures_likely", side=side.upper(), end=end))
    times = replace(times, doubts=(*times.doubts, *clues))
    return _add_flags(replace(base, speedup=times), *clues)


def measure(base: Comparison, options: Options, *, brief: bool = False) -> Comparison:
    """Return the comparison before judgement; `brief`: only the basis of its verdict."""
    a, b, alpha = base.a, base.b, 1 - options.confidence
    if a.design.blocked and b.design.blocked:
        by_block = _log_ratios_by_block(a.outcomes, b.outcomes)
        # Of one run a side in each block, the residuals hold what differs between blocks.
        paired = _is_paired(a.outcomes) and _is_paired(b.outcomes)
        base = replace(base, by_block=by_block, within_blocks=not paired)
    if not brief:
        timed = base.axis.progress is None
        design_findings = checks.findings(a.design, b.design, timed=timed)
        base = replace(base, findings=(*base.findings, *design_findings))
    base = replace(base, findings=(*base.findings, *_unit_findings(base)))
    if not brief:
        base = replace(base, flags=tuple(_run_flags(base, options)))
    if options.max_runs is not None:
        return _compare_at_look(base, options.max_runs, options)
    if not brief:
        base = replace(
            base,
            parts=speedup_parts(base, options),
            fraction=newcombe_difference(
                b.n_reached, b.n, a.n_reached, a.n, confidence=options.confidence
            ),
            fraction_p=_fraction_p(a, b, options.seed),
            wins=_pair_wins(a.outcomes, b.outcomes),
        )
    if not a.n_untimed + b.n_untimed and a.n_reached and b.n_reached:
        return _add_speedup(base, options, brief=brief)
    p_value = None
    # Only if the most extreme fractions of so many runs would be significant.
    if (a.n_reached or b.n_reached) and fisher_p(a.n, a.n, 0, b.n) < alpha:
        p_value = _fraction_p(a, b, options.seed) if brief else base.fraction_p
    return replace(base, estimand="fraction", p_value=p_value)


def _compare_at_look(base: Comparison, max_runs: int, options: Options) -> Comparison:
    """Return the comparison at a look of a plan; undecided if the plan has no such look."""
    look = plan_look(base.a, base.b, max_runs)
    if isinstance(look, str):
        base = _add_flags(base, flag("no_look", look=look))
        verdict = Decision(Verdict.UNDECIDED, "undecided", options.margin, flags=base.flags)
        # Another look may come, or was: the row takes its part of alpha all the same.
        return replace(base, p_value=1.0, verdict=verdict)
    a, b = base.a.outcomes, base.b.outcomes
    if not (a.n_reached and b.n_reached):
        p_of_fraction = look.p_value(_fraction_p(base.a, base.b, options.seed))
        return replace(base, estimand="fraction", p_value=p_of_fraction)
    times = speedup_of(base, options, look)
    p_value = times.ratio.p_value
    if p_value is None and times.ratio.low is not None:
        p_value = look.p_value(_permutation_p(a, b, options.seed))
    as_one = dataclasses.replace(options, confidence=confidence_at(options.confidence, look))
    base = _add_flags(base, *times.flags)
    estimand: Estimand = options.estimand if a.all_reached and b.all_reached else "ert"
    parts, wins = speedup_parts(base, as_one), _pair_wins(a, b)
    return replace(base, estimand=estimand, speedup=times, parts=parts, p_value=p_value, wins=wins)


def _pair_wins(a: Outcomes, b: Outcomes) -> permutation.PairWins | None:
    if not a.n or not b.n:
        return None
    return permutation.pair_wins(a.times, b.times, reached_a=a.reached, reached_b=b.reached)


def _add_speedup(base: Comparison, options: Options, *, brief: bool) -> Comparison:
    """Return the comparison with a speedup, its p, and the p of a permutation test.

    That test stands in where there is no variance for the first, and `brief` makes it there alone.
    """
    a, b, alpha = base.a.outcomes, base.b.outcomes, 1 - options.confidence
    estimand: Estimand = options.estimand if a.all_reached and b.all_reached else "ert"
    per_epoch = None
    if options.same_convergence:
        base, per_epoch = _outcomes_per_epoch(base, options)
    if per_epoch is not None:
        (a, b), estimand = per_epoch, "throughput"
        times = compute_speedup(
            a, b, estimand="mean", epochs_fixed=True, confidence=options.confidence
        )
    else:
        times = speedup_of(base, options)
        if estimand != "ert" and not brief:
            other: Mean = "mean" if options.estimand == "geomean" else "geomean"
            ratio = ratio_between(a, b, estimand=other, confidence=options.confidence)
            base = replace(base, other_mean=ratio)
    p_value, second = times.ratio.p_value, None
    stands_in = (
        p_value is None and times.ratio.low is not None and permutation.smallest_p(a.n, b.n) < alpha
    )
    # Runs of pooled setups cannot change places with each other, nor can few within blocks.
    pooled, blocks = a.clusters is not None or b.clusters is not None, _joined_blocks(a, b)
    few_splits = (
        blocks is not None and 2 / permutation.number_of_splits_within(blocks, a.n) >= alpha
    )
    if (stands_in or not brief) and not (pooled or few_splits):
        second = _permutation_p(a, b, options.seed)
        p_value = second if stands_in else p_value
    base = _add_flags(base, *times.flags)
    return replace(base, estimand=estimand, speedup=times, p_value=p_value, p_permutation=second)


def _outcomes_per_epoch(
    base: Comparison, options: Options
) -> tuple[Comparison, tuple[Outcomes, Outcomes] | None]:
    """Return times per epoch if the epochs of both sides may be the same, else a flag why not."""
    a, b = base.a, base.b
    if base.axis.progress:
        return _add_flags(base, flag("convergence_not_used.axis", noun=base.axis.noun)), None
    if a.progress is None or b.progress is None or not (a.all_reached and b.all_reached):
        reason = "failed" if base.progress_unit else "unlogged"
        return _add_flags(base, flag(f"convergence_not_used.{reason}")), None
    rng = np.random.default_rng(options.seed)
    epochs_p = permutation.permutation_test(a.progress, b.progress, rng=rng)
    base = replace(base, epochs_p=epochs_p)
    if epochs_p < 1 - options.confidence:
        return _add_flags(base, flag("convergence_differs", p=epochs_p)), None
    per_a, per_b = (
        make_outcomes(outcomes.times / progress, clusters=outcomes.clusters, blocks=outcomes.blocks)
        for outcomes, progress in ((a.outcomes, a.progress), (b.outcomes, b.progress))
    )
    return base, (per_a, per_b)


def _add_flags(base: Comparison, *flags: Flag) -> Comparison:
    return replace(base, flags=(*base.flags, *flags))


def _permutation_p(a: Outcomes, b: Outcomes, seed: int) -> float:
    """Return the p of a permutation test, within blocks if any; failed runs rank last."""
    rng, blocks = np.random.default_rng(seed), _joined_blocks(a, b)
    all_reached = a.all_reached and b.all_reached
    if blocks is None and all_reached:
        return permutation.permutation_test(a.times, b.times, rng=rng)
    if blocks is None:
        return permutation.mann_whitney_p(
            a.times, b.times, reached_a=a.reached, reached_b=b.reached, rng=rng
        )
    scores: Floats = np.concatenate([a.times, b.times])
    if all_reached:
        scores = np.log(scores)
    else:
        scores = np.where(np.concatenate([a.reached, b.reached]), scores, np.inf)
        for block in np.unique(blocks):
            scores[blocks == block] = permutation.midranks(scores[blocks == block])
    return permutation.permute_within_blocks(scores, a.n, blocks, rng=rng)


def _fraction_p(a: SideNumbers, b: SideNumbers, seed: int) -> float:
    """Return the exact p of "both sides reach equally often", within blocks if there are any."""
    blocks = _joined_blocks(a.outcomes, b.outcomes)
    if blocks is None or a.n_untimed or b.n_untimed:
        return fisher_p(a.n_reached, a.n, b.n_reached, b.n)
    reached = np.concatenate([a.outcomes.reached, b.outcomes.reached]).astype(np.float64)
    return permutation.permute_within_blocks(reached, a.n, blocks, rng=np.random.default_rng(seed))


def _log_ratios_by_block(a: Outcomes, b: Outcomes) -> ByBlock | None:
    """Return the log of B over A in each block, of geometric means; None if a run failed."""
    all_succeeded = a.n and b.n and a.all_reached and b.all_reached
    if a.blocks is None or b.blocks is None or not all_succeeded:
        return None
    return differences_by_block(np.log(a.times), np.log(b.times), (a.blocks, b.blocks))


def _is_paired(side: Outcomes) -> bool:
    """Return whether no block has two runs of a side, and there are some blocks."""
    blocks = side.blocks
    return blocks is not None and np.unique(blocks).size == blocks.size >= FIRST_LOOK


def _joined_blocks(a: Outcomes, b: Outcomes) -> NDArray[np.intp] | None:
    if a.blocks is None or b.blocks is None:
        return None
    return np.concatenate([a.blocks, b.blocks])


_BLOCKS_DIFFER = 0.05


def _run_flags(base: Comparison, options: Options) -> Iterator[Flag]:
    """Yield flags about the runs that limit the trust in a comparison."""
    a, b, by_block = base.a, base.b, base.by_block
    for name, n in (("A", a.n_untimed), ("B", b.n_untimed)):
        if n:
            unknown = f"unknown {'number of ' if base.axis.progress else ''}{base.axis.noun}"
            yield flag("untimed_failures", n=n, side=name, unknown=unknown)
    if by_block is not None and by_block.p_value is not None and by_block.p_value < _BLOCKS_DIFFER:
        ratios = ", ".join(f"{np.exp(-gap):.3f}" for gap in by_block.differences.values())
        yield flag("blocks_differ", p=by_block.p_value, ratios=ratios)
    yield from (finding.flag for finding in base.findings)
    seeds = checks.paired_seeds(a.design, b.design)
    if seeds is not None and a.all_reached and b.all_reached:
        paired = ratio_between(
            dataclasses.replace(a.outcomes, blocks=seeds[0]),
            dataclasses.replace(b.outcomes, blocks=seeds[1]),
            estimand=options.estimand,
            confidence=options.confidence,
        )
        ratio = ratio_interval(paired.estimate, paired.low, paired.high)
        yield flag("paired_seeds", n=a.n, ratio=ratio)


def _power_plan(comparison: Comparison, tests: int, options: Options) -> PowerPlan | None:
    """Return a plan from the spread of the runs; a claim has to hold among all open `tests`."""
    speedup, a, b = comparison.speedup, comparison.a, comparison.b
    n = min(a.n, b.n)
    if speedup is None or speedup.look is not None or n < 2 or a.pooled or b.pooled:
        return None
    ratio, shifts = speedup.ratio, speedup.epoch_shifts
    if not ratio.se_log or not ratio.estimate:
        return None
    alpha = (1 - options.confidence) / max(tests, 1)
    cv = ratio.se_log * float(np.sqrt(1 / (1 / a.n + 1 / b.n)))
    n_needed = n_certain = None
    # The side that is faster is the second of a plan.
    first, second = (a, b) if ratio.estimate > 1 else (b, a)
    of_first, of_second = failing_like(first.outcomes), failing_like(second.outcomes)
    failed = not (a.all_reached and b.all_reached) and a.outcomes.blocks is None
    if failed and of_first and of_second:
        sides = (of_first, of_second)
        if ratio.estimate != 1.0:
            n_needed, n_certain = (
                runs_with_failures(
                    ratio.estimate, sides, certain=is_certain, alpha=alpha, epoch_shifts=shifts
                )
                for is_certain in (False, True)
            )
        detectable = detectable_with_failures(n, sides, alpha=alpha, epoch_shifts=shifts)
        return PowerPlan(cv, n, detectable, n_needed, tests, n_certain)
    if ratio.estimate != 1.0:
        n_needed = runs_needed(ratio.estimate, cv, power=POWER, alpha=alpha, epoch_shifts=shifts)
    detectable = detectable_ratio(n, cv, power=POWER, alpha=alpha, epoch_shifts=shifts)
    return PowerPlan(cv, n, detectable, n_needed, tests)


def _with_blocks(
    plan: PowerPlan | None, comparison: Comparison, pair: Pair, alpha: float
) -> PowerPlan | None:
    """Return a plan with the proposed blocks of both sides, if they would help."""
    a, b = comparison.a, comparison.b
    if plan is None or not (a.all_reached and b.all_reached) or a.design.blocked:
        return plan
    blocks = propose([pair.a, pair.b], [np.log(side.outcomes.times) for side in (a, b)])
    within = blocks and blocks.detectable(power=POWER, alpha=alpha / max(plan.tests, 1))
    if not within or (plan.detectable or math.inf) <= math.exp(within):
        return plan
    return replace(plan, blocks=blocks, detectable_within=math.exp(within))


def speedup_parts(base: Comparison, options: Options) -> Parts | None:
    """Return the speedups per epoch and in epochs, None if a side has no epochs."""
    a, b = base.a, base.b
    if base.axis.progress or a.progress is None or b.progress is None:
        return None
    if not (a.n_reached and b.n_reached):
        return None
    steady = _steady_times(base)
    times_a, times_b = steady or (a.times, b.times)
    per_a, per_b = times_a / a.progress, times_b / b.progress

    def speedup(values_a: Floats, values_b: Floats) -> Speedup:
        sides = [
            make_outcomes(
                values,
                clusters=None if runs.clusters is None else runs.clusters[runs.reached],
                blocks=None if runs.blocks is None else runs.blocks[runs.reached],
            )
            for values, runs in ((values_a, a.outcomes), (values_b, b.outcomes))
        ]
        mean, level = options.estimand, options.confidence
        return compute_speedup(*sides, epochs_fixed=True, estimand=mean, confidence=level)

    def ratio(values_a: Floats, values_b: Floats) -> Ratio:
        return speedup(values_a, values_b).ratio

    cvs = coefficient_of_variation(per_a), coefficient_of_variation(per_b)
    startup = None
    if steady:
        seconds = (float((a.times - times_a).mean()), float((b.times - times_b).mean()))
        startup = Startup(*seconds, ratio(a.times / times_a, b.times / times_b))
    per_epoch = speedup(per_a, per_b)
    verdict = decide(per_epoch, margin=options.margin)
    condition_codes: list[Assumption | FlagCode] = []
    if verdict.word.directed:
        condition_codes.extend(verdict.conditions)
        condition_codes.extend(
            finding.code for finding in base.findings if finding.effect == "condition"
        )
    conditions = tuple(dict.fromkeys(condition_codes))
    return Parts(per_epoch.ratio, ratio(a.progress, b.progress), *cvs, startup, conditions)


#: Factors between units of time, and how near to one the pace of two sides is.
_UNITS = {60.0: "seconds and minutes", 1000.0: "milliseconds and seconds",
          3600.0: "seconds and hours"}  # fmt: skip
_SAME_FACTOR, _SAME_PROGRESS = 0.05, 2.0


def _unit_findings(base: Comparison) -> Iterator[Finding]:
    """Yield a finding if the pace of the sides differs as if their clocks had other units."""
    a, b = base.a, base.b
    if not (base.axis.is_time and a.n_reached and b.n_reached):
        return
    if a.progress is not None and b.progress is not None:
        unit = (base.progress_unit or "epochs").removesuffix("s")
        paces = [a.times / a.progress, b.times / b.progress]
    elif (
        (pace_a := a.design.pace)
        and (pace_b := b.design.pace)
        and pace_a.unit == pace_b.unit != "run"
    ):
        unit, paces = pace_a.unit, [pace.seconds[pace.seconds > 0] for pace in (pace_a, pace_b)]
    else:
        return
    if not min(pace.size for pace in paces):
        return
    ratio, times = (float(x.mean() / y.mean()) for x, y in (paces, (a.times, b.times)))
    factor, progress = max(ratio, 1 / ratio), times / ratio
    for of, names in _UNITS.items():
        near = abs(factor / of - 1) < _SAME_FACTOR
        if near and max(progress, 1 / progress) < _SAME_PROGRESS:
            yield Finding.worded(
                "units_differ", "condition", unit=unit, factor=factor, of=of, units=names
            )


#: A start-up counts from this share of a side's mean time, if most of its runs have one.
_STARTUP_SHARE = 0.02


def _steady_times(base: Comparison) -> tuple[Floats, Floats] | None:
    """Return the times of both sides without their start-up; None if it is unknown or short."""
    if not base.axis.is_time:
        return None
    a, b = base.a, base.b
    if a.startup is None or b.startup is None:
        return None
    long = any(
        startup.mean() >= _STARTUP_SHARE * times.mean() and np.median(startup) > 0
        for startup, times in ((a.startup, a.times), (b.startup, b.times))
    )
    steady = a.times - a.startup, b.times - b.startup
    return steady if long and min(steady[0].min(), steady[1].min()) > 0 else None


#: Runs a side of a plan that names none.
MAX_RUNS = 20


def plan_look(a: SideNumbers, b: SideNumbers, max_runs: int) -> Look | str:
    """Return the look of a plan at these runs, or the reason why the plan has none."""
    if a.pooled or b.pooled:
        return "several setups are pooled, and their runs are not independent"
    if unknown := a.n_untimed + b.n_untimed:
        return f"{plural(unknown, 'run')} failed after an unknown time"
    if a.n != b.n:
        return f"{a.n} vs {b.n} runs: a look needs equal numbers of runs"
    if a.n < FIRST_LOOK:
        return f"{plural(a.n, 'run')} per side: the first look is at {FIRST_LOOK}"
    if a.design.blocked and not (_is_paired(a.outcomes) and _is_paired(b.outcomes)):
        return "a block has several runs of a side"
    if a.n > max_runs:
        return f"{a.n} runs per side: the plan ended at {max_runs}; its verdict there is final"
    return Look(a.n, max_runs)


def check_plan(max_runs: int | None) -> None:
    """Raise an error for options that no plan of looks allows."""
    raise_if(
        max_runs is not None and not FIRST_LOOK <= max_runs <= MOST_LOOKS,
        f"the maximum must be {FIRST_LOOK} to {MOST_LOOKS} runs per side",
        f"--max-runs {max_runs}",
        f"Omit it for {MAX_RUNS}, or fix the number of runs in advance.",
    )
