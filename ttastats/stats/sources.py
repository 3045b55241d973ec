"""How much of a spread comes from sessions, hosts, seeds and runs?

A variance for each source, estimated together by restricted maximum likelihood (REML): sources may
cross or lie within one another. The p of "this source adds nothing" is that of the likelihood
ratio; as a variance cannot be negative, half of that of chi-square (Self and Liang 1987). The
interval of a share holds what the same ratio does not refuse, the other shares at their likeliest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from scipy import special

from ttastats.stats.blocks import Labels
from ttastats.stats.effects import FEWEST_DF
from ttastats.stats.results import Floats

#: Values of a source below which its variance says nothing.
FEWEST = 3
_NOTHING = 1e-12
#: Values of all sources up to which shares have an interval: its time grows with their cube.
_MOST_LEVELS = 150
#: A share that is nearly none.
_NEARLY = 1e-6


class Part(NamedTuple):
    """A share of the variance with its limits, the standard deviation of it, and p of none."""

    share: float | None = None
    low: float | None = None
    high: float | None = None
    std: float | None = None
    p: float | None = None


def separable(sources: Sequence[Labels], fixed: Floats) -> list[bool]:
    """Return for each source whether its variance is separable from those before it."""
    n = len(fixed)
    residual_maker = np.eye(n) - fixed @ np.linalg.pinv(fixed)
    bases, answers = [(residual_maker @ residual_maker).ravel()], []
    for labels in sources:
        candidates = np.array(
            [*bases, (residual_maker @ np.equal.outer(labels, labels) @ residual_maker).ravel()]
        )
        gram = candidates @ candidates.T
        scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
        rank = np.linalg.matrix_rank(gram / np.outer(scale, scale), tol=1e-8, hermitian=True)
        is_estimable = np.unique(labels).size >= FEWEST and n - fixed.shape[1] >= FEWEST_DF
        answers.append(bool(is_estimable and rank == len(candidates)))
        if answers[-1]:
            bases = [*candidates]
    return answers


def variance_parts(
    y: Floats, sources: Sequence[Labels], fixed: Floats, confidence: float
) -> list[Part]:
    """Return each source's share of the variance of logs, and last the residual's.

    `fixed` is the design of what is no source, with the mean.
    """
    if np.ptp(y) < _NOTHING:
        return [Part()] * (len(sources) + 1)
    size = float(y.std())
    loss = reml_loss(y / size, sources, fixed)
    count = len(sources) + 1
    starts = [
        np.full(count, 1 / count),
        np.append(np.full(count - 1, 0.01), 1 - 0.01 * (count - 1)),
    ]
    best, shares = min(
        (_minimise(lambda at: loss(at)[0], start) for start in starts), key=itemgetter(0)
    )
    limit = best + float(special.chdtri(1, 1 - confidence))

    def profile_loss(number: int, share: float) -> float:
        other_shares = np.delete(shares, number) + _NEARLY
        return _minimise(
            lambda x: loss(np.insert((1 - share) * x, number, share))[0],
            other_shares / other_shares.sum(),
        )[0]

    is_small = sum(np.unique(labels).size for labels in sources) <= _MOST_LEVELS
    parts = []
    for number, share in enumerate(shares.tolist()):
        low = high = p = None
        if is_small:
            low, high = _share_limits(partial(profile_loss, number), limit, share)
        if number < len(sources):
            gain = max(profile_loss(number, 0.0) - best, 0.0)
            p = float(special.chdtrc(1, gain)) / 2 if share > _NEARLY else 1.0
        std = size * float(np.sqrt(share * loss(shares)[1]))
        # The search ends within 1e-6, so what follows differs between processors.
        parts.append(Part(round(share, 6), low, high, std, p))
    return parts


Loss = Callable[[Floats], tuple[float, float]]


def reml_loss(y: Floats, sources: Sequence[Labels], fixed: Floats) -> Loss:
    """Return a function from variance shares to -2 log REML and the variance of one run."""
    basis = np.linalg.qr(fixed)[0]
    members = [np.equal.outer(labels, np.unique(labels)) for labels in sources]
    source_of_column = np.repeat(np.arange(len(sources)), [matrix.shape[1] for matrix in members])
    # What no fixed effect explains: a matrix as large as there are values of sources.
    z = np.hstack([*members, y[:, np.newaxis]]).astype(np.float64)
    z -= basis @ (basis.T @ z)
    gram, df = z.T @ z, y.size - fixed.shape[1]
    cross_products, across, total = gram[:-1, :-1], gram[:-1, -1], float(gram[-1, -1])
    of_fixed = float(np.linalg.slogdet(fixed.T @ fixed)[1]) + df * (np.log(2 * np.pi) + 1)

    def loss(shares: Floats) -> tuple[float, float]:
        root = np.sqrt(shares[:-1] / max(shares[-1], _NEARLY))[source_of_column]
        lower = np.linalg.cholesky(np.eye(root.size) + root[:, np.newaxis] * cross_products * root)
        explained = np.linalg.solve(lower, root * across)
        variance = max(total - float(explained @ explained), _NOTHING) / df
        log = 2 * float(np.log(np.diag(lower)).sum())
        return df * float(np.log(variance)) + log + of_fixed, variance / max(shares[-1], _NEARLY)

    return loss


def _shares_of_cuts(cuts: Floats) -> Floats:
    """Return shares that sum to 1: each cut takes its part of what those before it left."""
    remainders = np.cumprod(np.append(1.0, 1 - cuts))
    return np.asarray(np.append(cuts, 1.0) * remainders, dtype=np.float64)


def _minimise(of: Callable[[Floats], float], start: Floats) -> tuple[float, Floats]:
    """Return the minimum of a loss over shares that sum to 1, and these shares."""
    from scipy import optimize  # costs start-up time

    if start.size < 2:
        return of(np.ones(1)), np.ones(1)
    shares_before = np.append(0.0, np.cumsum(start)[:-2])
    cuts = np.clip(start[:-1] / np.maximum(1 - shares_before, _NEARLY), 1e-3, 1 - 1e-3)
    limits = [(0, 1 - _NEARLY)] * cuts.size
    best = optimize.minimize(
        lambda at: of(_shares_of_cuts(at)),
        cuts,
        method="L-BFGS-B",
        bounds=limits,
        options={"ftol": 1e-6, "maxiter": 25},
    )
    return float(best.fun), _shares_of_cuts(best.x)


def _share_limits(loss: Callable[[float], float], limit: float, share: float) -> list[float]:
    """Return the interval of a share: where its loss rises by more than the limit."""
    from scipy import optimize  # costs start-up time

    inner = min(max(share, _NEARLY), 1 - _NEARLY)
    ends = []
    for end in (0.0, 1.0):
        far = min(max(end, _NEARLY), 1 - _NEARLY)
        if loss(inner) >= limit:  # so sharp that the search ends beside it
            ends.append(inner)
        elif loss(far) <= limit:
            ends.append(end)
        else:
            bracket = (far, inner)
            search = optimize.root_scalar(lambda at: loss(at) - limit, bracket=bracket, xtol=1e-3)
            ends.append(float(search.root))
    return ends
