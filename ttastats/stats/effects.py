"""Which of several settings changes a time, and by what factor, when they were varied together?

Least squares of logs on one design for every part, so that the effect on a time is the sum of those
on epochs and on time per epoch. A setting of levels has a residual variance per level, over what
the fit leaves of its runs (Welch 1947 in a linear model; Satterthwaite's degrees of freedom), a
number HC3 with Student's t (MacKinnon and White 1985). Where a setting is constant within a
session, sessions and not runs are independent: CR2 with the degrees of freedom of Bell and
McCaffrey (2002).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from scipy import special

from ttastats.stats.blocks import BlockedSide, Labels
from ttastats.stats.logratio import LogTerm, ratio_of_log
from ttastats.stats.moments import is_constant
from ttastats.stats.results import Bools, Floats, Ratio

#: Residual degrees of freedom below which nothing has an interval.
FEWEST_DF = 4
_NOTHING = 1e-9
#: Less than this share of what is summed is what processors round differently.
_ROUNDING = 1e-12


class Setting(Struct, frozen=True, eq=False):
    """The level of each run, 0 for the base; ``number`` is the log2 of it if that is a number."""

    levels: Labels
    number: Floats | None = None

    @property
    def design_columns(self) -> Floats:
        """Return the columns of the setting in a design matrix, shape (n, k)."""
        if self.number is not None:
            return np.asarray(self.number - self.number.mean())[:, np.newaxis]
        return _dummies(self.levels)


class Effect(Struct, frozen=True):
    """The ratio of a level to the base, or of a doubling, with the interval that decides.

    ``plain`` is that of least squares with one variance. ``uneven``: a level with fewer runs has at
    least twice the deviation of another; the interval may cover 92 instead of 95 %.
    """

    ratio: Ratio
    plain: Ratio
    uneven: bool = False


class Share(Struct, frozen=True):
    """Of the variance of a part, what a term explains beside the others (type II).

    ``share`` of a term without any effect is df / (n - 1) on average; ``omega2`` is 0.
    """

    share: float | None
    omega2: float | None


class Part(Struct, frozen=True):
    """What each term does to one part: settings in their order, then pairs of settings.

    ``shares`` are those of the terms, of the sessions if these are a block, and of the residuals.
    """

    effects: tuple[tuple[Effect, ...], ...]
    shares: tuple[Share, ...]


class Design(Struct, frozen=True, eq=False):
    """Runs by settings, by pairs of them, and by sessions, a term unless settings nest them."""

    settings: tuple[Setting, ...]
    pairs: tuple[tuple[int, int], ...] = ()
    sessions: Labels | None = None
    nested: bool = False

    @property
    def terms(self) -> list[Floats]:
        """Return the columns of each term: settings, interactions, and the block if any."""
        single = [setting.design_columns for setting in self.settings]
        pairs = [
            np.einsum("ij,ik->ijk", single[a], single[b]).reshape(len(single[a]), -1)
            for a, b in self.pairs
        ]
        blocks = [] if self.sessions is None or self.nested else [_dummies(self.sessions)]
        return [*single, *pairs, *blocks]

    @property
    def df(self) -> int:
        """Return the residual degrees of freedom."""
        columns = sum(int(term.shape[1]) for term in self.terms)
        return int(self.settings[0].levels.size) - 1 - columns

    @property
    def has_intervals(self) -> bool:
        """Return whether there are enough residuals and sessions for intervals."""
        if self.df < FEWEST_DF or not self.nested or self.sessions is None:
            return self.df >= FEWEST_DF
        columns = self.settings[0].levels.size - self.df
        return int(self.sessions.max()) + 1 >= columns + 2 and all(
            setting.number is not None or np.unique(self.sessions[setting.levels == level]).size > 1
            for setting in self.settings
            for level in np.unique(setting.levels)
        )


def _dummies(levels: Labels) -> Floats:
    return np.equal.outer(levels, np.arange(1, levels.max() + 1)).astype(np.float64)


def _design_matrix(terms: Sequence[Floats], n: int) -> Floats:
    return np.column_stack([np.ones(n), *terms])


def _least_squares(y: Floats, terms: Sequence[Floats], **options: Any) -> Any:
    from statsmodels.regression.linear_model import OLS  # takes seconds to import

    return OLS(y, _design_matrix(terms, y.size)).fit(**options)


def full_rank(terms: Sequence[Floats]) -> bool:
    """Return whether the effects of all terms can be separated."""
    matrix = _design_matrix(terms, len(terms[0]))
    return bool(np.linalg.matrix_rank(matrix) == matrix.shape[1])


def aliased_settings(settings: Sequence[Setting]) -> tuple[int, ...]:
    """Return the indices of the fewest settings always changed together, or none."""
    columns = [setting.design_columns for setting in settings]
    for size in range(2, len(settings) + 1):
        for numbers in combinations(range(len(settings)), size):
            if not full_rank([columns[number] for number in numbers]):
                return numbers
    return ()


def fit_part(y: Floats, design: Design, *, confidence: float) -> Part:
    """Return the fit of the log of one part, shape (n,), on a design of full rank."""
    terms = design.terms
    fit = _least_squares(y, terms)
    matrix, inverse, residuals = fit.model.exog, fit.model.pinv_wexog, fit.resid
    # What rounding leaves of a perfect fit is no spread.
    residuals[np.abs(residuals) < _ROUNDING * max(float(np.abs(y).max()), 1.0)] = 0.0
    one_minus_leverage = 1 - np.einsum("ij,ji->i", matrix, inverse)
    mse = float(residuals @ residuals) / max(design.df, 1)
    constant = is_constant(np.exp(y))
    unknown = [LogTerm(1.0, None, 0.0)] if constant or not design.has_intervals else []

    def effect(contrast: Floats, levels: Labels, counts: tuple[int, int], numeric: bool) -> Effect:
        weights = inverse.T @ contrast
        if design.nested and design.sessions is not None:
            spread = [_clustered(matrix, inverse, residuals, weights, design.sessions)]
        elif numeric:
            variance = (
                _hc3(y, terms, contrast, weights, one_minus_leverage > _NOTHING) if mse else 0.0
            )
            spread = [LogTerm(1.0, variance, design.df)]
        else:
            spread = _level_variances(residuals, weights, one_minus_leverage, levels)
        log = 0.0 if constant else _sum_of_products(weights, y)
        pooled = [LogTerm(1.0, mse * float(weights @ weights), design.df)]
        uneven = (
            not numeric
            and not design.nested
            and _unequal_spread(residuals, one_minus_leverage, levels)
        )
        return Effect(
            ratio_of_log(log, unknown or spread, confidence, *counts),
            ratio_of_log(log, unknown or pooled, confidence, *counts),
            uneven and not unknown,
        )

    effects = tuple(
        tuple(
            effect(contrast, levels, count, numeric)
            for contrast, count in zip(contrasts, counts, strict=True)
        )
        for levels, numeric, contrasts, counts in _term_contrasts(design, matrix.shape[1])
    )
    return Part(effects, tuple(_term_shares(y, design, terms, mse)))


_Contrasts = tuple[Labels, bool, list[Floats], list[tuple[int, int]]]


def _term_contrasts(design: Design, width: int) -> Iterator[_Contrasts]:
    """Yield each effect term's levels, whether it is numeric, its contrasts and counts.

    With interactions, the effect of a setting is its mean over the levels of the others.
    """
    ends = np.cumsum([1, *(term.shape[1] for term in design.terms)])
    columns_of_terms = [np.arange(*ends_of_term) for ends_of_term in pairwise(ends)]
    of_pairs = list(zip(design.pairs, columns_of_terms[len(design.settings) :], strict=False))
    for number, setting in enumerate(design.settings):
        contrasts = [*np.eye(width)[columns_of_terms[number]]]
        for (a, b), columns in of_pairs:
            partner = design.settings[b if a == number else a]
            if number not in (a, b) or partner.number is not None:
                continue
            grid = columns.reshape(columns_of_terms[a].size, -1)
            for k, contrast in enumerate(contrasts):
                contrast[grid[k] if a == number else grid[:, k]] = 1 / (partner.levels.max() + 1)
        count = np.bincount(setting.levels)
        counts = [(int(count[0]), int(runs)) for runs in count[1:]]
        if setting.number is not None:
            counts = [(setting.levels.size, setting.levels.size)]
        yield setting.levels, setting.number is not None, contrasts, counts
    for (a, b), columns in of_pairs:
        first_setting, second_setting = design.settings[a], design.settings[b]
        numeric = first_setting.number is not None or second_setting.number is not None
        cells = first_setting.levels * (second_setting.levels.max() + 1) + second_setting.levels
        yield cells, numeric, [*np.eye(width)[columns]], [(cells.size, cells.size)] * columns.size


def _hc3(
    y: Floats, terms: Sequence[Floats], contrast: Floats, weights: Floats, free: Bools
) -> float | None:
    """Return the HC3 variance of a contrast; None where a run fitted exactly is part of it."""
    if np.abs(weights[~free]).max(initial=0.0) > _NOTHING:
        return None
    with warnings.catch_warnings(action="ignore"):  # columns of the runs fitted exactly are empty
        fit = _least_squares(y[free], [term[free] for term in terms], cov_type="HC3", use_t=True)
        return float(np.squeeze(fit.t_test(contrast).sd)) ** 2


def _level_variances(
    residuals: Floats, weights: Floats, one_minus_leverage: Floats, levels: Labels
) -> list[LogTerm]:
    """Return the variance and df of a contrast from each level's runs."""
    of_levels = (levels == level for level in np.unique(levels))
    sides = (
        BlockedSide(residuals[runs], weights[runs], one_minus_leverage[runs]) for runs in of_levels
    )
    contributing = (side for side in sides if np.abs(side.weights).max() > _NOTHING)
    return [LogTerm(1.0, *side.variance()) for side in contributing]


def _unequal_spread(residuals: Floats, one_minus_leverage: Floats, levels: Labels) -> bool:
    """Return whether a level with fewer runs spreads twice as much as another."""
    count, df = np.bincount(levels), np.bincount(levels, weights=one_minus_leverage)
    has_df = (count > 0) & (df > 1e-6)
    deviation = np.sqrt(np.bincount(levels, weights=residuals**2)[has_df] / df[has_df])
    noisy = deviation[:, np.newaxis] > 2 * deviation
    return bool((noisy & (count[has_df][:, np.newaxis] < count[has_df])).any())


def _clustered(
    matrix: Floats, inverse: Floats, residuals: Floats, weights: Floats, sessions: Labels
) -> LogTerm:
    """Return the CR2 variance of a contrast, with the degrees of freedom of Bell and McCaffrey."""
    variance, projections = 0.0, []
    for session in np.unique(sessions):
        runs = sessions == session
        within = np.eye(int(runs.sum())) - matrix[runs] @ inverse[:, runs]
        values, vectors = np.linalg.eigh((within + within.T) / 2)
        positive = values > 1e-8
        root = (vectors[:, positive] / np.sqrt(values[positive])) @ vectors[:, positive].T
        adjusted = root @ weights[runs]
        variance += _sum_of_products(adjusted, residuals[runs]) ** 2
        projection = -matrix @ (inverse[:, runs] @ adjusted)
        projection[runs] += adjusted
        projections.append(projection)
    products = np.array(projections) @ np.array(projections).T
    return LogTerm(1.0, variance, float(np.trace(products) ** 2 / (products**2).sum()))


def _sum_of_products(a: Floats, b: Floats) -> float:
    """Return a sum of products, 0 if rounding alone is left of it."""
    total = float(a @ b)
    return total if abs(total) > _ROUNDING * float(np.abs(a) @ np.abs(b)) else 0.0


def _term_shares(y: Floats, design: Design, terms: Sequence[Floats], mse: float) -> Iterator[Share]:
    """Yield each term's share of the variance, and the residuals'; nothing if nothing varies."""
    total = float(((y - y.mean()) ** 2).sum())
    total = 0.0 if total < _NOTHING**2 * y.size else total
    settings, end = len(design.settings), len(design.settings) + len(design.pairs)
    for number, term in enumerate(terms):
        other_terms = [
            candidate
            for position, candidate in enumerate(terms)
            if position != number
            # Type II: beside what does not contain it.
            and not (settings <= position < end and number in design.pairs[position - settings])
        ]
        squares = float(
            _least_squares(y, other_terms).ssr - _least_squares(y, [*other_terms, term]).ssr
        )
        squares = squares if squares > _ROUNDING * total else 0.0
        omega2 = (squares - term.shape[1] * mse) / (total + mse) if total else None
        yield Share(squares / total if total else None, omega2)
    residual = mse * design.df / total if total else None
    yield Share(residual and round(residual, 12), None)


def nonlinearity_p(y: Floats, design: Design, number: int) -> float | None:
    """Return the p of "a numeric setting acts per doubling" against one effect per value."""
    setting = design.settings[number]
    free = int(setting.levels.max()) - 1
    terms = design.terms
    terms_by_value = [*terms[:number], _dummies(setting.levels), *terms[number + 1 :]]
    if free < 1 or design.df - free < FEWEST_DF or not full_rank(terms_by_value):
        return None
    by_value = _least_squares(y, terms_by_value)
    return float(by_value.compare_f_test(_least_squares(y, terms))[1]) if by_value.ssr else None


#: Beyond so many runs Boschloo's test takes seconds.
_MOST_RUNS = 400


def setting_p_values(reached: Bools, settings: Sequence[Setting]) -> list[float | None]:
    """Return the p of "it does not matter for reaching" of each setting; None if no run failed.

    Two groups: Boschloo's exact test (1970). More: the likelihood ratio test of each setting in a
    logistic model, penalised so that its estimates stay finite (Firth 1993; Heinze and Schemper
    2002).
    """
    if reached.all() or not reached.any():
        return [None] * len(settings)
    if len(settings) == 1 and settings[0].levels.max() == 1 and reached.size <= _MOST_RUNS:
        from scipy.stats import boschloo_exact  # takes seconds to import

        levels = settings[0].levels
        table = [np.bincount(levels[reached == outcome], minlength=2) for outcome in (True, False)]
        return [float(boschloo_exact(table).pvalue)]
    terms = [setting.design_columns for setting in settings]
    full_likelihood = penalised_likelihood(reached, terms)
    gains = [
        max(full_likelihood - penalised_likelihood(reached, terms, n), 0.0)
        for n in range(len(terms))
    ]
    return [
        float(special.chdtrc(term.shape[1], 2 * gain))
        for term, gain in zip(terms, gains, strict=True)
    ]


def penalised_likelihood(
    reached: Bools, terms: Sequence[Floats], without: int | None = None
) -> float:
    """Return the largest penalised log likelihood of a logit fit, without one of the terms.

    The penalty is that of all terms, whichever are without effect.
    """
    from scipy import optimize  # costs start-up time

    blocks = [np.ones((reached.size, 1)), *terms]
    matrix, y = np.column_stack(blocks), reached.astype(np.float64)
    free = np.repeat([n - 1 != without for n in range(len(blocks))], [b.shape[1] for b in blocks])

    def loss(effects: Floats) -> tuple[float, Floats]:
        all_effects = np.zeros(free.size)
        all_effects[free] = effects
        p = np.clip(special.expit(matrix @ all_effects), 1e-12, 1 - 1e-12)
        weights = p * (1 - p)
        information = matrix.T @ (matrix * weights[:, np.newaxis])
        likelihood = y @ np.log(p) + (1 - y) @ np.log1p(-p) + np.linalg.slogdet(information)[1] / 2
        leverage = np.einsum("ij,jk,ik->i", matrix, np.linalg.pinv(information), matrix) * weights
        score = matrix.T @ (y - p + leverage * (0.5 - p))
        return -float(likelihood), -score[free]

    start = np.zeros(int(free.sum()))
    return -float(optimize.minimize(loss, start, jac=True, options={"gtol": 1e-9}).fun)
