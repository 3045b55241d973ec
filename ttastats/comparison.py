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

from ttastats.stats.failures import ert_speedup, expected_time
from ttastats.stats.fraction import fisher, newcombe
from ttastats.stats.multiplicity import holm
from ttastats.stats.permutation import permutation_test
from ttastats.stats.ranks import mann_whitney
from ttastats.stats.results import Difference, Flag, Ratio, Significance
from ttastats.stats.speedup import Epochs, Speedup, ratio_of_means, speedup
from ttastats.stats.variation import cv_interval
from ttastats.stats.verdict import Verdict, decide, decide_by_fraction

Floats = NDArray[np.float64]
Estimand = Literal["mean", "ert", "fraction"]

#: What training is counted in, best first, with the column of its evaluation interval.
_PROGRESS = (
    ("epochs", "epoch_quantum"),
    ("samples", "sample_quantum"),
    ("steps", "step_quantum"),
)


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

    Both are ratios of arithmetic means, so that they multiply to the ratio of mean times;
    `interaction` is what independence of epochs and time per epoch would make 1.
    """

    throughput: Ratio
    progress: Ratio
    interaction: float


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One benchmark on two sides. `speedup` is A over B: above 1 means that B is faster."""

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


def compare(
    pairs: Sequence[tuple[Mapping[str, Any], pl.DataFrame, pl.DataFrame]],
    *,
    ddof: int = 1,
    margin: float = 0.01,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[Comparison, ...]:
    """Compare matched groups of runs and judge them together.

    Parameters
    ----------
    pairs
        Keys of a group, the runs of A, the runs of B, as `crossing.runs` gives them.
    margin
        Times that differ by less than this fraction count as the same.
    seed
        That of the permutation test, where it cannot enumerate every split.
    """
    raw = [
        _compare_one(keys, a, b, ddof, confidence, np.random.default_rng(seed))
        for keys, a, b in pairs
    ]
    adjusted = holm([one.p_value for one in raw])
    return tuple(
        _judged(replace(one, p_adjusted=p), margin, 1 - confidence)
        for one, p in zip(raw, adjusted, strict=True)
    )


def _compare_one(
    keys: Mapping[str, Any],
    runs_a: pl.DataFrame,
    runs_b: pl.DataFrame,
    ddof: int,
    confidence: float,
    rng: np.random.Generator,
) -> Comparison:
    unit, quantum = _common_progress(runs_a, runs_b)
    a, b = (_side(runs, unit, quantum, ddof, confidence) for runs in (runs_a, runs_b))
    counts = (a.n_reached, a.n, b.n_reached, b.n)
    fraction = newcombe(b.n_reached, b.n, a.n_reached, a.n, confidence=confidence)
    fraction_p = fisher(*counts).p_value
    base = Comparison(
        keys, a, b, "fraction", unit, None, _parts(a, b, confidence), fraction, fraction_p,
        p_value=fraction_p, p_permutation=None,
    )  # fmt: skip
    if not a.n_reached or not b.n_reached:
        return base
    estimand: Estimand
    if a.n_reached == a.n and b.n_reached == b.n:
        epochs = [None if s.progress is None else Epochs(s.progress, s.quantum) for s in (a, b)]
        ratio = speedup(
            a.times, b.times, epochs_a=epochs[0], epochs_b=epochs[1], confidence=confidence
        )
        estimand, second = "mean", permutation_test(a.times, b.times, rng=rng)
    else:
        sides = (a.observed, a.reached, b.observed, b.reached)
        ratio = ert_speedup(*sides, confidence=confidence)
        estimand, second = "ert", _worst_rank(a, b, rng)
    p_value = ratio.ratio.p_value if ratio.ratio.p_value is not None else second.p_value
    return replace(
        base, estimand=estimand, speedup=ratio, p_value=p_value, p_permutation=second.p_value
    )


def _worst_rank(a: Side, b: Side, rng: np.random.Generator) -> Significance:
    """Rank failed runs behind every run that reached: a test that needs no expected time."""
    return mann_whitney(a.observed, b.observed, reached_a=a.reached, reached_b=b.reached, rng=rng)


def _judged(one: Comparison, margin: float, alpha: float) -> Comparison:
    if one.speedup is None:
        verdict = decide_by_fraction(
            one.a.n_reached, one.a.n, one.b.n_reached, one.b.n,
            alpha=alpha, p_value=one.p_adjusted, margin=margin,
        )  # fmt: skip
        return replace(one, verdict=verdict)
    verdict = decide(
        one.speedup, margin=margin, p_value=one.p_adjusted, p_permutation=one.p_permutation
    )
    return replace(one, verdict=verdict)


def _common_progress(*sides: pl.DataFrame) -> tuple[str | None, str | None]:
    """Give the best unit that every run that reached tells on both sides."""
    for unit, quantum in _PROGRESS:
        solved = [runs.filter("reached").get_column(unit) for runs in sides]
        if all(not column.null_count() and (column > 0).all() for column in solved):
            return unit, quantum
    return None, None


def _side(
    runs: pl.DataFrame, unit: str | None, quantum_name: str | None, ddof: int, confidence: float
) -> Side:
    solved = runs.filter("reached")
    timed = runs.filter(pl.col("observed_seconds").is_not_null())
    times = _floats(solved.get_column("tta_seconds"))
    progress = _floats(solved.get_column(unit)) if unit else None
    quantum = runs.get_column(quantum_name).min() if quantum_name else None
    quantum = float(quantum) if isinstance(quantum, int | float) else None
    observed = _floats(timed.get_column("observed_seconds"))
    reached = timed.get_column("reached").to_numpy()
    ert = expected_time(observed, reached).estimate if timed.height == runs.height else None
    spread = cv_interval(
        times, epochs=progress, eval_quantum=quantum, confidence=confidence, ddof=ddof
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


def _parts(a: Side, b: Side, confidence: float) -> Parts | None:
    if a.progress is None or b.progress is None or not a.n_reached or not b.n_reached:
        return None
    throughput = ratio_of_means(a.times / a.progress, b.times / b.progress, confidence=confidence)
    progress = ratio_of_means(a.progress, b.progress, confidence=confidence)
    whole = float(a.times.mean() / b.times.mean())
    explained = (throughput.estimate or 1.0) * (progress.estimate or 1.0)
    return Parts(throughput, progress, whole / explained)
