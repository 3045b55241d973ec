"""Do settings differ in how many runs reach the target? Few runs fail, so logits have no limits.

Two groups: Boschloo's exact test (1970). More settings: a logistic model whose likelihood is
penalised so that its estimates stay finite (Firth 1993), with the penalised likelihood ratio test
of each setting (Heinze and Schemper 2002). Wald's test of a logit finds little and is not used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from ttastats.stats.effects import Setting
from ttastats.stats.results import Bools, Floats

#: Beyond so many runs Boschloo's test takes seconds.
_MOST = 400


def setting_p_values(reached: Bools, settings: Sequence[Setting]) -> list[float | None]:
    """Return the p of "it does not matter for reaching" of each setting; None if no run failed."""
    if reached.all() or not reached.any():
        return [None] * len(settings)
    if len(settings) == 1 and settings[0].levels.max() == 1 and reached.size <= _MOST:
        return [boschloo_p(reached, settings[0])]
    terms = [setting.design_columns for setting in settings]
    whole = penalised_likelihood(reached, terms, ())
    return [
        float(
            special.chdtrc(
                term.shape[1], 2 * max(whole - penalised_likelihood(reached, terms, (n,)), 0.0)
            )
        )
        for n, term in enumerate(terms)
    ]


def boschloo_p(reached: Bools, setting: Setting) -> float:
    """Return the p of Boschloo's exact test of two levels."""
    from scipy.stats import boschloo_exact  # takes seconds to import

    table = [
        [int((reached == outcome)[setting.levels == level].sum()) for level in (0, 1)]
        for outcome in (True, False)
    ]
    return float(boschloo_exact(table).pvalue)


def penalised_likelihood(reached: Bools, terms: Sequence[Floats], without: Sequence[int]) -> float:
    """Return the largest penalised log likelihood of a logit fit without some terms.

    The penalty is that of all terms, whichever are without effect.
    """
    blocks = [np.ones((reached.size, 1)), *terms]
    matrix = np.column_stack(blocks)
    free = np.concatenate(
        [np.full(block.shape[1], n - 1 not in without) for n, block in enumerate(blocks)]
    )
    y, b = reached.astype(np.float64), np.zeros(matrix.shape[1])
    best = _likelihood(matrix, y, b)
    for _ in range(200):
        p = special.expit(matrix @ b)
        weights = p * (1 - p)
        information = matrix.T @ (matrix * weights[:, np.newaxis])
        leverage = np.einsum("ij,jk,ik->i", matrix, np.linalg.pinv(information), matrix) * weights
        score = matrix.T @ (y - p + leverage * (0.5 - p))
        step = np.zeros(b.size)
        step[free] = np.linalg.lstsq(information[np.ix_(free, free)], score[free], rcond=None)[0]
        step *= min(1.0, 2 / max(float(np.abs(step).max()), 1e-300))
        while (value := _likelihood(matrix, y, b + step)) < best - 1e-12:
            step /= 2
        b, best = b + step, value
        if np.abs(step).max() < 1e-9:
            break
    return best


def _likelihood(matrix: Floats, y: Floats, b: Floats) -> float:
    p = np.clip(special.expit(matrix @ b), 1e-12, 1 - 1e-12)
    information = matrix.T @ (matrix * (p * (1 - p))[:, np.newaxis])
    value = y @ np.log(p) + (1 - y) @ np.log1p(-p) + np.linalg.slogdet(information)[1] / 2
    return float(value)
