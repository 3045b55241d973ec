"""How much of the spread of logs comes from sessions, hosts, seeds, and from runs themselves?

A variance for each source, estimated together by restricted maximum likelihood (REML): sources may
cross or lie within one another. The p of "this source adds nothing" is that of the likelihood
ratio; as a variance cannot be negative, half of that of chi-square (Self and Liang 1987).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy import special

from ttastats.stats.effects import FEWEST_DF, Labels
from ttastats.stats.results import Floats

#: Values of a source below which its variance says nothing.
FEWEST = 3
_NOTHING = 1e-12
#: Twice a difference of log likelihoods that is rounding.
_NO_GAIN = 1e-3

Part = tuple[float | None, float | None, float | None]
"""A share of the variance, the standard deviation it comes from, and p of none."""


def told_apart(sources: Sequence[Labels], fixed: Floats) -> list[bool]:
    """Return which sources have a variance beside those before them and that of the runs."""
    n = len(fixed)
    left = np.eye(n) - fixed @ np.linalg.pinv(fixed)
    bases, answers = [(left @ left).ravel()], []
    for labels in sources:
        more = np.array([*bases, (left @ np.equal.outer(labels, labels) @ left).ravel()])
        gram = more @ more.T
        scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
        rank = np.linalg.matrix_rank(gram / np.outer(scale, scale), tol=1e-8, hermitian=True)
        several = np.unique(labels).size >= FEWEST and n - fixed.shape[1] >= FEWEST_DF
        answers.append(bool(several and rank == len(more)))
        if answers[-1]:
            bases = [*more]
    return answers


def spread(y: Floats, sources: Sequence[Labels], fixed: Floats) -> list[Part]:
    """Return what each source adds to logs, and last what is left; None where nothing varies.

    The sources can be told apart; `fixed` is the design of what is no source, with the mean.
    """
    if np.ptp(y) < _NOTHING:
        return [(None, None, None)] * (len(sources) + 1)
    size = float(y.std())
    variances, whole = _reml(y / size, sources, fixed)
    p_values: list[float | None] = []
    for place in range(len(sources)):
        others = [*sources[:place], *sources[place + 1 :]]
        gain = 2 * (whole - _reml(y / size, others, fixed)[1])
        if gain < _NO_GAIN:  # near a variance of 0 the search ends too early
            answer = spread(y, others, fixed)
            return [*answer[:place], (0.0, 0.0, 1.0), *answer[place:]]
        p_values.append(float(special.chdtrc(1, gain)) / 2)
    shares = np.array(variances) / sum(variances)
    deviations = size * np.sqrt(variances)
    return [*zip(shares.tolist(), deviations.tolist(), [*p_values, None], strict=True)]


def _reml(y: Floats, sources: Sequence[Labels], fixed: Floats) -> tuple[list[float], float]:
    """Return the variances, of the runs last, and the restricted log likelihood."""
    if not sources:
        from statsmodels.regression.linear_model import OLS

        fit = OLS(y, fixed).fit()
        of_fixed = np.linalg.slogdet(fixed.T @ fixed)[1]
        return [fit.scale], -(fit.df_resid * (np.log(2 * np.pi * fit.scale) + 1) + of_fixed) / 2
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    names = [str(place) for place in range(len(sources))]
    levels = [np.unique(labels) for labels in sources]
    columns = [[each.astype(str).tolist()] for each in levels]
    members = [
        [np.equal.outer(labels, each).astype(np.float64)]
        for labels, each in zip(sources, levels, strict=True)
    ]
    with warnings.catch_warnings(action="ignore"):  # of variances of 0, which are answers
        parts = VCSpec(names, columns, members)
        fit = MixedLM(y, fixed, groups=np.zeros(y.size), exog_vc=parts).fit(reml=True)
    return [*map(float, fit.vcomp), float(fit.scale)], float(fit.llf)
