"""Could a difference be an accident of which run carries which label?

p is the share of splits of the pooled runs that are at least as extreme as the one observed, by
enumeration where that is cheap and by seeded random splits otherwise. Tests of ranks are a second
opinion, never the verdict: with two-valued epochs they may call a difference of equal mean times.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from ttastats.stats.logratio import safe_exp
from ttastats.stats.moments import as_sample, mean
from ttastats.stats.outcomes import make_outcomes
from ttastats.stats.results import Floats

ENUMERATED_SPLITS = 200_000
"""Enumerate up to this many splits: 10 runs against 10 are 184 756."""

DRAWS = 9_999
"""Random splits otherwise; with the observed one that makes p a multiple of 1/10 000."""

TOLERANCE = 1e-9
"""Splits this close to the observed one count as ties: their sums differ by rounding only."""

RUNS_AT_ONCE = 4_000_000
"""Bounds the memory of random splits."""


def permutation_test(
    times_a: ArrayLike, times_b: ArrayLike, *, rng: np.random.Generator | None = None
) -> float:
    """Return the two-sided p of a permutation test of the mean log of positive values.

    Where the sides differ in size and both have 2 runs, splits are ordered by Welch's t, which
    keeps the test honest when the spreads differ (Janssen 1997).
    """
    a, b = as_sample(times_a), as_sample(times_b)
    studentised = a.size != b.size and min(a.size, b.size) > 1
    logs = np.log(np.concatenate([a, b]))
    return permute_scores(logs, a.size, rng=rng, studentised=studentised)


def permute_scores(
    scores: Floats,
    n_a: int,
    *,
    rng: np.random.Generator | None = None,
    studentised: bool = False,
    draws: int = DRAWS,
) -> float:
    """Return the permutation p of the difference in mean score of the first ``n_a`` and the rest.

    ``scores``: shape (n_a + n_b,), logs or ranks. The p counts splits by the size of the statistic,
    not twice the smaller tail. ValueError where random splits are needed and no ``rng`` is given.
    """
    n_b = scores.size - n_a
    exact = number_of_splits(n_a, n_b) <= ENUMERATED_SPLITS
    centred = scores - mean(scores)
    # Splits are told by the smaller side: fewer sums, same difference but for its sign.
    pooled = centred if n_a <= n_b else np.concatenate([centred[n_a:], centred[:n_a]])
    features = np.stack([pooled, pooled**2]) if studentised else pooled[np.newaxis]
    n, n_rest = sorted((n_a, n_b))
    totals = features.sum(axis=1, keepdims=True)
    observed = float(_difference(features[:, :n].sum(axis=1, keepdims=True), totals, n, n_rest)[0])
    scale = abs(observed) if studentised else float(np.max(np.abs(centred)))
    # An infinite t ties with infinite ones only.
    limit = abs(observed) - (TOLERANCE * scale if math.isfinite(scale) else 0.0)
    splits: Iterable[Floats]
    if exact:
        splits = [features[:, _all_choices(scores.size, n)].sum(axis=2)]
    elif rng is not None:
        splits = _random_sums(features, n, rng, draws)
    else:
        raise ValueError("too many splits to enumerate: a random generator is needed")
    extreme = total = 0 if exact else 1  # the observed split is one more
    for sums in splits:
        values = np.abs(_difference(sums, totals, n, n_rest))
        extreme += int(np.count_nonzero(values >= limit))
        total += values.size
    return extreme / total


def permute_within_blocks(
    scores: Floats, n_a: int, blocks: NDArray[np.intp], *, rng: np.random.Generator
) -> float:
    """Return the permutation p where runs change sides within their block only.

    Blocks weigh n_a n_b / (n_a + n_b): splits are ordered by how far the sum of A lies from that of
    its blocks' means.
    """
    exact = number_of_splits_within(blocks, n_a) <= ENUMERATED_SPLITS
    sums, observed, size = np.zeros(1 if exact else DRAWS), 0.0, 0.0
    for block in np.unique(blocks):
        in_block = blocks == block
        n = int(in_block[:n_a].sum())
        if n in {0, int(in_block.sum())}:
            continue
        centred = scores[in_block] - mean(scores[in_block])
        size = max(size, float(np.abs(centred).max()))
        observed += float(centred[:n].sum())
        if exact:
            sums = np.add.outer(sums, centred[_all_choices(centred.size, n)].sum(axis=1)).ravel()
        else:
            drawn = _random_sums(centred[np.newaxis], n, rng, DRAWS)
            sums = sums + np.concatenate([part[0] for part in drawn])
    extreme = int(np.count_nonzero(np.abs(sums) >= abs(observed) - TOLERANCE * size))
    return extreme / sums.size if exact else (extreme + 1) / (sums.size + 1)


def number_of_splits_within(blocks: NDArray[np.intp], n_a: int) -> float:
    """Return the number of splits of the runs within every block, at most 1e300."""
    of_a, of_b = (np.bincount(part, minlength=blocks.max() + 1) for part in np.split(blocks, [n_a]))
    return min(1e300, math.prod(map(number_of_splits, of_a.tolist(), of_b.tolist())))


def _difference(sums: Floats, totals: Floats, n: int, n_rest: int) -> Floats:
    """Return the difference of means of splits from one side's sums, as Welch's t with squares."""
    sums_of_rest = totals - sums
    gap: Floats = sums[0] / n - sums_of_rest[0] / n_rest
    if len(sums) == 1:
        return gap
    # What cancellation leaves of equal values is noise, and would make t finite by chance.
    noise = 1e-12 * totals[1, 0]
    squares = (sums[1] - sums[0] ** 2 / n, sums_of_rest[1] - sums_of_rest[0] ** 2 / n_rest)
    variance = sum(
        np.where(square <= noise, 0.0, square) / (size - 1) / size
        for square, size in zip(squares, (n, n_rest), strict=True)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0.0, 0.0, gap / np.sqrt(variance))


@lru_cache(maxsize=1)  # 15 MB at most; every row of a page asks for those of the same sizes
def _all_choices(size: int, n: int) -> NDArray[np.intp]:
    """Return every choice of ``n`` of ``size`` members, shape (choices, n)."""
    count = math.comb(size, n)
    members = itertools.chain.from_iterable(itertools.combinations(range(size), n))
    return np.fromiter(members, dtype=np.intp, count=count * n).reshape(count, n)


def _random_sums(
    features: Floats, n: int, rng: np.random.Generator, draws: int
) -> Iterator[Floats]:
    """Yield sums of the features over random choices of ``n`` runs.

    A coin per run is ten times faster than to shuffle; it selects too many or too few, and as coins
    know no order the surplus is dropped, or the shortfall added, without favouring any choice.
    """
    size = features.shape[1]
    threshold = round(256 * n / size)
    at_once = max(1, RUNS_AT_ONCE // size)
    for start in range(0, draws, at_once):
        count = min(at_once, draws - start)
        words = rng.integers(0, 2**64, size=(count, -(-size // 8)), dtype=np.uint64)
        in_sample = words.view(np.uint8)[:, :size] < threshold
        surpluses = np.count_nonzero(in_sample, axis=1) - n
        for k in np.flatnonzero(surpluses):
            surplus = int(surpluses[k])
            switched = np.flatnonzero(in_sample[k] == (surplus > 0))
            switched = rng.choice(switched, abs(surplus), replace=False, shuffle=False)
            in_sample[k, switched] = surplus < 0
        # Not `@`: on a busy machine the threads of BLAS wait for each other, ten times over.
        yield np.einsum("fr,cr->fc", features, in_sample, dtype=np.float64)


def number_of_splits(n_a: int, n_b: int) -> float:
    """Return the number of splits of the pooled runs, at most 1e300."""
    if n_a + n_b <= 1000:
        return float(math.comb(n_a + n_b, n_a))
    log_number = math.lgamma(n_a + n_b + 1) - math.lgamma(n_a + 1) - math.lgamma(n_b + 1)
    return min(1e300, safe_exp(log_number))


def smallest_p(n_a: int, n_b: int) -> float:
    """Return the smallest two-sided p of an exact test of these sizes: 0.0079 for 5 and 5."""
    # With equal sizes the mirrored split is always as extreme.
    return (2 if n_a == n_b else 1) / number_of_splits(n_a, n_b)


class PairWins(Struct, frozen=True):
    """Pairs of runs that B wins, ties counted half: ``estimate`` = ``wins`` / ``pairs``."""

    estimate: float
    wins: float
    pairs: int


def midranks(values: Floats) -> Floats:
    """Return ranks from 1, ties sharing the mean of theirs; infinite values are tied last."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last_ranks = np.cumsum(counts)
    return np.asarray(((last_ranks - counts + 1 + last_ranks) / 2)[inverse], np.float64)


def _pooled_ranks(
    times_a: ArrayLike, times_b: ArrayLike, reached_a: ArrayLike | None, reached_b: ArrayLike | None
) -> tuple[Floats, int]:
    """Return the ranks of the runs of A and, behind them, of B, and the number of runs of A."""
    sides = make_outcomes(times_a, reached_a), make_outcomes(times_b, reached_b)
    times = [np.where(side.reached, side.times, math.inf) for side in sides]
    return midranks(np.concatenate(times)), sides[0].n


def mann_whitney_p(
    times_a: ArrayLike,
    times_b: ArrayLike,
    *,
    reached_a: ArrayLike | None = None,
    reached_b: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    draws: int = DRAWS,
) -> float:
    """Return the two-sided p of the Mann-Whitney test; runs that failed rank last and tie."""
    ranks, n_a = _pooled_ranks(times_a, times_b, reached_a, reached_b)
    return permute_scores(ranks, n_a, rng=rng, draws=draws)


def pair_wins(
    times_a: ArrayLike,
    times_b: ArrayLike,
    *,
    reached_a: ArrayLike | None = None,
    reached_b: ArrayLike | None = None,
) -> PairWins:
    """Return P(B faster) over all pairs of runs, an effect size (Brunner and Munzel 2000)."""
    ranks, n_a = _pooled_ranks(times_a, times_b, reached_a, reached_b)
    pairs = n_a * (ranks.size - n_a)
    wins = float(ranks[:n_a].sum()) - n_a * (n_a + 1) / 2
    return PairWins(wins / pairs, wins, pairs)
