"""Two sides of runs in numbers: which is faster, by how much, why, and how sure.

What is computed when is decided here; how is the business of `ttastats.stats`, and how it is
shown that of `ttastats.report.compare`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ttastats.crossing import common_progress, evaluation_interval
from ttastats.pairing import Pair
from ttastats.stats.failures import ert_speedup, expected_time
from ttastats.stats.fraction import fisher, newcombe
from ttastats.stats.moments import coefficient_of_variation
from ttastats.stats.multiplicity import benjamini_hochberg, holm
from ttastats.stats.permutation import permutation_test
from ttastats.stats.power import detectable_ratio, runs_needed
from ttastats.stats.ranks import PairWins, mann_whitney, pair_wins
from ttastats.stats.results import Difference, Flag, Ratio, Significance
from ttastats.stats.speedup import (
    Epochs,
    Speedup,
    ratio_of_geometric_means,
    ratio_of_means,
    speedup,
)
from ttastats.stats.variation import cv_interval
from ttastats.stats.verdict import Verdict, decide, decide_by_fraction

Floats = NDArray[np.float64]
Mean = Literal["mean", "geomean"]

#: What the speedup is a ratio of: mean times, geometric means, expected times to a success (when
#: runs failed), times per epoch (when both sides converge alike), or nothing: fractions decide,
#: or, where there is "none", nothing is judged at all.
Estimand = Literal["mean", "geomean", "ert", "throughput", "fraction", "none"]


@dataclass(frozen=True, slots=True)
class Options:
    """How a comparison is made.

    `margin` is the difference (a fraction) that does not matter. `estimand` chooses the mean of
    times. `same_convergence` asserts that both sides need the same epochs, as equal recipes do;
    `epochs_fixed` that a side's epochs cannot vary. `fdr` controls the false discovery rate
    (Benjamini-Hochberg) in place of any false claim (Holm). `seed` is that of random splits.
    """

    ddof: int = 1
    margin: float = 0.01
    estimand: Mean = "mean"
    same_convergence: bool = False
    epochs_fixed: bool = False
    fdr: bool = False
    confidence: float = 0.95
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The runs of one side. Times in seconds; `times` and `progress` of runs that reached.

    `n_untimed` runs have no time at all and are part of `n` only.
    """

    n: int
    times: Floats
    observed: Floats
    reached: NDArray[np.bool_]
    progress: Floats | None
    quantum: float | None
    mean_seconds: float | None
    ert_seconds: float | None
    cv: float | None
    cv_low: float | None
    cv_high: float | None
    batch_sizes: tuple[int, ...]

    @property
    def n_reached(self) -> int:
        """Give the number of runs that reached the target."""
        return int(self.times.size)

    def multiset(self) -> Counter[float]:
        """Count how often each amount of progress was needed."""
        return Counter() if self.progress is None else Counter(self.progress.tolist())


@dataclass(frozen=True, slots=True)
class Parts:
    """Why: the speedup of the successes is `throughput` x `progress` x `interaction`.

    Both are ratios of the same means as the speedup, so that they multiply to it; `interaction`
    is 1 for geometric means, and for arithmetic ones where epochs and time per epoch are
    independent. `cv_epoch_time_*` tell how steady the time per epoch was.
    """

    throughput: Ratio
    progress: Ratio
    interaction: float
    cv_epoch_time_a: float | None
    cv_epoch_time_b: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What the runs at hand can show at 80 % power, and what the observed speedup would take."""

    cv: float
    n: int
    detectable: float | None
    needed: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One benchmark on two sides. `speedup` is A over B: above 1 means that B is faster.

    `wins` is None where nothing is judged.
    """

    keys: Mapping[str, Any]
    a: Side
    b: Side
    estimand: Estimand
    progress_unit: str | None
    speedup: Speedup | None
    parts: Parts | None
    fraction: Difference
    fraction_p: float | None
    p_value: float | None
    p_permutation: float | None
    wins: PairWins | None
    other_mean: Ratio | None = None
    epochs_p: float | None = None
    plan: Plan | None = None
    p_adjusted: float | None = None
    verdict: Verdict | None = None

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Give every warning once."""
        found = (
            *(self.speedup.flags if self.speedup else ()),
            *(self.verdict.flags if self.verdict else ()),
        )
        return tuple(dict.fromkeys(found))


def compare(pairs: Sequence[Pair], options: Options | None = None) -> tuple[Comparison, ...]:
    """Compare pairs of groups of runs and judge them together.

    One that is `unavailable` is no test: it takes no part in the adjustment of the others.
    """
    options = options or Options()
    raw = [
        _compare_one(pair, options) if pair.unavailable is None else _not_compared(pair, options)
        for pair in pairs
    ]
    adjust = benjamini_hochberg if options.fdr else holm
    adjusted = adjust([one.p_value for one in raw])
    return tuple(
        _judged(replace(one, p_adjusted=p), options) if one.verdict is None else one
        for one, p in zip(raw, adjusted, strict=True)
    )


def _not_compared(pair: Pair, options: Options) -> Comparison:
    """Describe both sides and claim nothing but the reason why."""
    unit, quantum = common_progress(pair.a, pair.b)
    a, b = (_side(runs, unit, quantum, options) for runs in (pair.a, pair.b))
    alpha = round(1 - options.confidence, 12)
    return Comparison(
        keys=pair.keys,
        a=a,
        b=b,
        estimand="none",
        progress_unit=unit,
        speedup=None,
        parts=None,
        fraction=Difference(None, None, None, options.confidence, a.n, b.n),
        fraction_p=None,
        p_value=None,
        p_permutation=None,
        wins=None,
        verdict=Verdict("unavailable", False, pair.unavailable or "", options.margin, alpha),
    )


def _compare_one(pair: Pair, options: Options) -> Comparison:
    unit, quantum = common_progress(pair.a, pair.b)
    a, b = (_side(runs, unit, quantum, options) for runs in (pair.a, pair.b))
    fraction = newcombe(b.n_reached, b.n, a.n_reached, a.n, confidence=options.confidence)
    fraction_p = fisher(a.n_reached, a.n, b.n_reached, b.n).p_value
    base = Comparison(
        keys=pair.keys,
        a=a,
        b=b,
        estimand="fraction",
        progress_unit=unit,
        speedup=None,
        parts=_parts(a, b, options),
        fraction=fraction,
        fraction_p=fraction_p,
        p_value=fraction_p,
        p_permutation=None,
        wins=pair_wins(a.observed, b.observed, reached_a=a.reached, reached_b=b.reached),
    )
    if not a.n_reached or not b.n_reached:
        return base
    all_reached = a.n_reached == a.n and b.n_reached == b.n
    compared = _compare_times(base, options) if all_reached else _compare_failures(base, options)
    return replace(compared, plan=_plan(compared))


def _compare_times(base: Comparison, options: Options) -> Comparison:
    """Compare sides of which every run reached the target."""
    a, b, rng = base.a, base.b, np.random.default_rng(options.seed)
    if options.same_convergence and a.progress is not None and b.progress is not None:
        per_a, per_b = a.times / a.progress, b.times / b.progress
        ratio = speedup(per_a, per_b, epochs_fixed=True, confidence=options.confidence)
        test = permutation_test(per_a, per_b, rng=rng)
        epochs_p = permutation_test(a.progress, b.progress, rng=rng).p_value
        return _with_speedup(base, "throughput", ratio, test, epochs_p)
    epochs = [None if s.progress is None else Epochs(s.progress, s.quantum) for s in (a, b)]
    ratio = speedup(
        a.times,
        b.times,
        epochs_a=epochs[0],
        epochs_b=epochs[1],
        epochs_fixed=options.epochs_fixed,
        estimand=options.estimand,
        confidence=options.confidence,
    )
    other = ratio_of_means if options.estimand == "geomean" else ratio_of_geometric_means
    test = permutation_test(a.times, b.times, rng=rng)
    compared = _with_speedup(base, options.estimand, ratio, test)
    return replace(compared, other_mean=other(a.times, b.times, confidence=options.confidence))


def _compare_failures(base: Comparison, options: Options) -> Comparison:
    """Compare expected times to a success; failed runs rank behind all others in the test."""
    a, b = base.a, base.b
    sides = (a.observed, a.reached, b.observed, b.reached)
    ratio = ert_speedup(*sides, confidence=options.confidence)
    test = mann_whitney(
        a.observed,
        b.observed,
        reached_a=a.reached,
        reached_b=b.reached,
        rng=np.random.default_rng(options.seed),
    )
    return _with_speedup(base, "ert", ratio, test)


def _with_speedup(
    base: Comparison,
    estimand: Estimand,
    ratio: Speedup,
    test: Significance,
    epochs_p: float | None = None,
) -> Comparison:
    p_value = ratio.ratio.p_value if ratio.ratio.p_value is not None else test.p_value
    return replace(
        base,
        estimand=estimand,
        speedup=ratio,
        p_value=p_value,
        p_permutation=test.p_value,
        epochs_p=epochs_p,
    )


def _plan(one: Comparison) -> Plan | None:
    """Plan from the spread seen, as a CV of one run: SE(log S) = CV sqrt(2/n) at equal n."""
    ratio = one.speedup.ratio if one.speedup else None
    n = min(one.a.n, one.b.n)
    if ratio is None or n < 2 or not ratio.se_log or not ratio.estimate:
        return None
    cv = ratio.se_log * float(np.sqrt(1 / (1 / one.a.n + 1 / one.b.n)))
    needed = None if ratio.estimate == 1.0 else runs_needed(ratio.estimate, cv).n
    return Plan(cv, n, detectable_ratio(n, cv).ratio, needed)


def _judged(one: Comparison, options: Options) -> Comparison:
    margin = options.margin
    if one.speedup is None:
        verdict = decide_by_fraction(
            one.a.n_reached, one.a.n, one.b.n_reached, one.b.n,
            alpha=1 - options.confidence, p_value=one.p_adjusted, margin=margin,
        )  # fmt: skip
        return replace(one, verdict=verdict)
    verdict = decide(
        one.speedup, margin=margin, p_value=one.p_adjusted, p_permutation=one.p_permutation
    )
    return replace(one, verdict=verdict)


def _side(runs: pl.DataFrame, unit: str | None, quantum_name: str | None, options: Options) -> Side:
    solved = runs.filter("reached")
    timed = runs.filter(pl.col("observed_seconds").is_not_null())
    times = _floats(solved.get_column("tta_seconds"))
    progress = _floats(solved.get_column(unit)) if unit else None
    quantum = evaluation_interval(runs, quantum_name) if quantum_name else None
    observed = _floats(timed.get_column("observed_seconds"))
    reached = timed.get_column("reached").to_numpy()
    ert = expected_time(observed, reached).estimate if timed.height == runs.height else None
    spread = cv_interval(
        times,
        epochs=progress,
        eval_quantum=quantum,
        confidence=options.confidence,
        ddof=options.ddof,
    )
    return Side(
        n=runs.height,
        times=times,
        observed=observed,
        reached=reached,
        progress=progress,
        quantum=quantum,
        mean_seconds=float(times.mean()) if times.size else None,
        ert_seconds=ert,
        cv=spread.estimate,
        cv_low=spread.low,
        cv_high=spread.high,
        batch_sizes=tuple(runs.get_column("global_batch_size").drop_nulls().unique().sort()),
    )


def _floats(column: pl.Series) -> Floats:
    return column.cast(pl.Float64).to_numpy()


def _parts(a: Side, b: Side, options: Options) -> Parts | None:
    if a.progress is None or b.progress is None or not a.n_reached or not b.n_reached:
        return None
    ratio = ratio_of_means if options.estimand == "mean" else ratio_of_geometric_means
    per_a, per_b = a.times / a.progress, b.times / b.progress
    throughput = ratio(per_a, per_b, confidence=options.confidence)
    progress = ratio(a.progress, b.progress, confidence=options.confidence)
    whole = ratio(a.times, b.times, confidence=options.confidence)
    explained = (throughput.estimate or 1.0) * (progress.estimate or 1.0)
    return Parts(
        throughput,
        progress,
        (whole.estimate or 1.0) / explained,
        coefficient_of_variation(per_a),
        coefficient_of_variation(per_b),
    )
