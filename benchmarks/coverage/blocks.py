"""How often comparisons within sessions are right, and how far sessions of one setup lie apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from benchmarks.coverage.cases import LN05
from benchmarks.coverage.figures import FREE, STEADY, Figure, Kind, by_mark, rate
from benchmarks.coverage.judging import directed, judge
from benchmarks.coverage.shapes import CONST, LN15, TRF, Failing, Floats, Runs, Shape, generator
from benchmarks.coverage.simulations import Plan, hit_rate
from ttastats.stats.blocks import difference_within_blocks
from ttastats.stats.logratio import satterthwaite
from ttastats.stats.means import Set, mean_difference, variance_between_sets
from ttastats.stats.outcomes import make_outcomes, time_term
from ttastats.stats.permutation import permute_within_blocks

Layout = tuple[tuple[int, int], ...]
"""Runs of A and of B in each block."""

EVEN: dict[str, Layout] = {
    "2 × 3+3": ((3, 3),) * 2,
    "3 × 2+2": ((2, 2),) * 3,
    "5 × 1+1": ((1, 1),) * 5,
    "5 × 2+2": ((2, 2),) * 5,
}
#: Sides that follow the blocks in part: A is mostly run in the first, B in the last.
UNEVEN: dict[str, Layout] = {
    "4+1, 1+4": ((4, 1), (1, 4)),
    "4+1, 2+2, 1+4": ((4, 1), (2, 2), (1, 4)),
    "3+1 twice, 2+2, 1+3 twice": ((3, 1), (3, 1), (2, 2), (1, 3), (1, 3)),
}
FEW_OF_A: dict[str, Layout] = {"2 × 1+4": ((1, 4),) * 2}
LAYOUTS = EVEN | UNEVEN | FEW_OF_A


@dataclass(frozen=True, slots=True)
class Blocked:
    """Two equal sides whose blocks vary by `spread` times what runs do, and perhaps their ratio.

    `apart` is by how many times what runs do the log of the ratio varies from block to block.
    """

    a: Shape
    b: Shape
    spread: float
    apart: float = 0.0
    failing: float = 0.0

    @property
    def name(self) -> str:
        """Return the names of the shapes, with the spread of the blocks."""
        shapes = self.a.name if self.a == self.b else f"{self.a.name} / {self.b.name}"
        fails = f", {self.failing:.0%} fail" if self.failing else ""
        difference = f", the difference {self.apart:g}×" if self.apart else ""
        return f"{shapes}{fails}, blocks vary {self.spread:g}×{difference}"

    @property
    def sigma(self) -> float:
        """Return the deviation of the log of one run, the larger of both sides'."""
        return max(float(np.sqrt(np.log1p(side.cv**2))) for side in (self.a, self.b))


CASES = (
    *(Blocked(LN05, LN05, spread) for spread in (0.0, 1.0, 3.0)),
    *(Blocked(TRF, TRF, spread) for spread in (1.0, 3.0)),
    *(Blocked(LN05, CONST, spread) for spread in (0.0, 1.0, 3.0)),
    *(Blocked(LN15, LN15, spread, failing=0.2) for spread in (1.0, 3.0)),
    Blocked(LN05, LN05, 3.0, apart=1.0),
)


def _labels(layout: Layout) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    a, b = (np.repeat(np.arange(len(layout)), [block[side] for block in layout]) for side in (0, 1))
    return a, b


def _sample_pairs(
    case: Blocked, layout: Layout, plan: Plan, ratio: float = 1.0
) -> Iterator[tuple[Runs, Runs]]:
    """Yield replicates of two sides in common blocks."""
    rng = generator(plan.seed, "blocks", case.name, str(layout), f"{ratio:g}")
    labels = _labels(layout)
    size = (plan.replicates, len(layout))
    common = case.spread * case.sigma * rng.standard_normal(size)
    difference = case.apart * case.sigma * rng.standard_normal(size)
    failing = Failing(case.failing, 1.5)
    sides = []
    for shape, blocks, effect in (
        (case.a, labels[0], common + difference),
        (case.b, labels[1], common),
    ):
        times, epochs = shape.successes((plan.replicates, blocks.size), rng)
        reached = rng.random(times.shape) >= failing.share
        times = np.where(reached, times, failing.stopped_at) * np.exp(effect[:, blocks])
        sides.append((times, reached, epochs, shape.evaluation_interval, blocks))
    for index in range(plan.replicates):
        a, b = (
            Runs(times[index], reached[index], None if epochs is None else epochs[index],
                 evaluation_interval, blocks=blocks)
            for times, reached, epochs, evaluation_interval, blocks in sides
        )  # fmt: skip
        yield replace(a, times=ratio * a.times), b


def times(plan: Plan) -> Iterator[Figure]:
    """Measure the interval that decides, and false claims, of equal sides within blocks."""
    for case in CASES:
        for name, layout in LAYOUTS.items():
            judgements = [judge(a, b) for a, b in _sample_pairs(case, layout, plan)]
            kind: Kind = "no promise" if case.apart else "coverage"
            hits = hit_rate([judgement.deciding for judgement in judgements], 1.0)
            yield Figure("blocks: covered", case.name, name, hits, kind)
            verdicts = [judgement.verdict for judgement in judgements]
            free = case.apart or case.failing
            kinds = FREE if case.apart else {**STEADY, "‡": "no promise"} if free else STEADY
            yield from by_mark("blocks: claims", case.name, name, verdicts, directed, kinds)


def qualities(plan: Plan) -> Iterator[Figure]:
    """Measure the interval of a difference of qualities within blocks, runs of deviation 1."""
    for spread in (0.0, 1.0, 3.0):
        for of_b in (1.0, 3.0):
            setup = f"normal, blocks vary {spread:g}×" + (", B's runs 3×" if of_b > 1 else "")
            for name, layout in LAYOUTS.items():
                labels = _labels(layout)
                rng = generator(plan.seed, "blocks of qualities", setup, name)
                hits = 0
                for _ in range(plan.replicates):
                    level = spread * rng.standard_normal(len(layout))
                    a = level[labels[0]] + rng.standard_normal(labels[0].size)
                    b = level[labels[1]] + of_b * rng.standard_normal(labels[1].size)
                    difference = mean_difference(a, b, blocks=labels, confidence=0.95)
                    if difference.low is None or difference.high is None:
                        continue
                    hits += difference.low <= 0 <= difference.high
                covered = rate(hits, plan.replicates)
                yield Figure("blocks: qualities", setup, name, covered, "coverage")


# ------------------------------------------------------------------- what else was considered

Test = Callable[[Floats, Floats, tuple[NDArray[np.intp], NDArray[np.intp]]], float]


def _one_variance(a: Floats, b: Floats, blocks: tuple[NDArray[np.intp], NDArray[np.intp]]) -> float:
    """Return the p value of least squares with one variance for both sides."""
    gap, part_a, part_b = difference_within_blocks(a, b, blocks)
    n_a, n_b = (np.bincount(of_side, minlength=int(blocks[0].max()) + 1) for of_side in blocks)
    df = a.size + b.size - n_a.size - 1
    squares = float((part_a.residuals**2).sum() + (part_b.residuals**2).sum())
    se = np.sqrt(squares / df / (n_a * n_b / (n_a + n_b)).sum())
    return float(2 * special.stdtr(df, -abs(gap) / se)) if se else 1.0


def _hc2(a: Floats, b: Floats, blocks: tuple[NDArray[np.intp], NDArray[np.intp]]) -> float:
    """Return p of each run's own squared residual (MacKinnon and White 1985; Bell, McCaffrey)."""
    gap, *parts = difference_within_blocks(a, b, blocks)
    variances, dfs = [], []
    for part in parts:
        squares = part.weights**2
        variances.append(float((squares * part.residuals**2 / part.one_minus_leverage).sum()))
        dfs.append(float(squares.sum() ** 2 / (squares**2 / part.one_minus_leverage).sum()))
    variance, df = sum(variances), satterthwaite(variances, dfs)
    return float(2 * special.stdtr(df, -abs(gap) / np.sqrt(variance))) if variance else 1.0


def _shipped(a: Floats, b: Floats, blocks: tuple[NDArray[np.intp], NDArray[np.intp]]) -> float:
    p_value = mean_difference(a, b, blocks=blocks, confidence=0.95).p_value
    return 1.0 if p_value is None else p_value


def _of_blocks(a: Floats, b: Floats, blocks: tuple[NDArray[np.intp], NDArray[np.intp]]) -> float:
    """Return the p value of a t test of the differences of each block's means."""
    gaps = [a[blocks[0] == k].mean() - b[blocks[1] == k].mean() for k in np.unique(blocks[0])]
    return float(stats.ttest_1samp(gaps, 0.0).pvalue)


def _ignored(a: Floats, b: Floats, _: tuple[NDArray[np.intp], NDArray[np.intp]]) -> float:
    p_value = mean_difference(a, b, confidence=0.95).p_value
    return 1.0 if p_value is None else p_value


def _dealt(a: Floats, b: Floats, blocks: tuple[NDArray[np.intp], NDArray[np.intp]]) -> float:
    rng = np.random.default_rng(0)
    return permute_within_blocks(np.concatenate([a, b]), a.size, np.concatenate(blocks), rng=rng)


def _mixed(a: Floats, b: Floats, blocks: tuple[NDArray[np.intp], NDArray[np.intp]]) -> float:
    """Return Wald's p of a mixed model with a random intercept for blocks (REML)."""
    import warnings

    import statsmodels.api as sm

    design = np.column_stack([np.ones(a.size + b.size), np.repeat([0.0, 1.0], [a.size, b.size])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = sm.MixedLM(np.concatenate([a, b]), design, groups=np.concatenate(blocks))
            return float(model.fit(reml=True).pvalues[1])
        except np.linalg.LinAlgError:
            return 1.0


#: It takes long, and is asked half of the replicates of some cells.
_MIXED = "mixed model (statsmodels)"
CANDIDATES: dict[str, Test] = {
    "what is done: fixed effects, a variance a side": _shipped,
    "fixed effects, HC2": _hc2,
    "fixed effects, one variance": _one_variance,
    "permutation within blocks": _dealt,
    "t test of the blocks' means": _of_blocks,
    _MIXED: _mixed,
    "blocks ignored (Welch)": _ignored,
}
_CANDIDATE_CASES = {
    "0×": Blocked(LN05, LN05, 0.0),
    "1×": Blocked(LN05, LN05, 1.0),
    "3×": Blocked(LN05, LN05, 3.0),
    "3×, B constant": Blocked(LN05, CONST, 3.0),
    "3×, TRF": Blocked(TRF, TRF, 3.0),
}
_CANDIDATE_LAYOUTS = ("2 × 3+3", "3 × 2+2", "5 × 1+1", "4+1, 2+2, 1+4")


def candidates(plan: Plan) -> Iterator[Figure]:
    """Measure how often each test decides at 5 %: falsely, and rightly."""
    for effect, quantity in ((0.0, "blocks: candidates"), (2.0, "blocks: power of candidates")):
        for name in _CANDIDATE_LAYOUTS:
            for column, case in _CANDIDATE_CASES.items():
                if effect and column not in {"0×", "3×"}:
                    continue
                yield from _decided(case, name, column, effect, quantity, plan)


def _decided(
    case: Blocked, name: str, column: str, effect: float, quantity: str, plan: Plan
) -> Iterator[Figure]:
    layout = LAYOUTS[name]
    ratio = float(np.exp(effect * case.sigma))
    pairs = [
        (np.log(a.times), np.log(b.times)) for a, b in _sample_pairs(case, layout, plan, ratio)
    ]
    for test_name, test in CANDIDATES.items():
        if test_name == _MIXED and (effect or column not in {"0×", "3×"}):
            continue
        tested = pairs[: max(2, len(pairs) // (2 if test_name == _MIXED else 1))]
        hits = sum(test(a, b, _labels(layout)) < 0.05 for a, b in tested)
        share = rate(hits, len(tested))
        yield Figure(quantity, f"{name}: {test_name}", column, share, "no promise")


# ----------------------------------------------------------------------- sessions of one setup


def sessions(plan: Plan) -> Iterator[Figure]:
    """Measure what `compare --same` says of k sets of runs, one from each of k sessions."""
    for spread, share, n in ((0.0, 0.0, 5), (1.0, 0.0, 5), (3.0, 0.0, 5),
                             (0.0, 0.2, 3), (0.0, 0.2, 5), (0.0, 0.2, 10)):  # fmt: skip
        setup = f"LN05, sessions vary {spread:g}×"
        setup = "LN01, 1 session in 5 is 6% slow" if share else setup
        sigma = Blocked(LN05, LN05, spread).sigma
        for sets in (2, 3, 5):
            rng = generator(plan.seed, "sessions of one setup", setup, f"{sets} of {n}")
            beyond = bounded = 0
            for _ in range(plan.replicates):
                seconds, _ = LN05.successes((sets + 2, n), rng)
                effects = spread * sigma * rng.standard_normal((sets + 2, 1))
                if share:  # runs vary by 1 %
                    seconds = np.exp(0.01 * rng.standard_normal((sets + 2, n)))
                    effects += 0.06 * (rng.random((sets + 2, 1)) < share)
                terms = [
                    time_term(make_outcomes(of_set), "mean") for of_set in seconds * np.exp(effects)
                ]
                logs = [float(np.log(term.estimate)) for term in terms]
                variances = [
                    Set(log, term.variance or 0.0, term.df)
                    for log, term in zip(logs, terms, strict=True)
                ]
                variance = variance_between_sets(variances[:sets], confidence=0.95)
                beyond += abs(logs[sets] - logs[sets + 1]) > variance.smallest_claim
                bounded += variance.highest >= spread * sigma
            runs = f"{sets} sets of {n}"
            far = rate(beyond, plan.replicates)
            yield Figure(
                "sessions: beyond", setup, runs, far, "excluded" if share else "false claim"
            )
            if not share:
                coverage = rate(bounded, plan.replicates)
                yield Figure("sessions: bound", setup, runs, coverage, "coverage")


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure all of it."""
    for measurement in (times, qualities):
        yield from measurement(plan)
    yield from candidates(plan.few(4))
