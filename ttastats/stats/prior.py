"""What does the noise of earlier entries add to that of a few runs?

Variances of logs, never means: s2 ~ s0^2 F(n - 1, d0), so that earlier entries are worth d0 degrees
of freedom at s0^2 (Smyth 2004, the moderated t), fitted by maximum likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from scipy import special

from ttastats.stats.logratio import LogTerm, ratio_of_log
from ttastats.stats.results import Floats, Ratio

#: Entries that show how variances vary, and the largest share of them without any noise.
LEAST_ENTRIES, MOST_CONSTANT = 5, 0.2
#: Degrees of freedom a prior may be worth; below the least it is worthless.
MOST_DF, LEAST_DF = 20.0, 0.5
#: No variance, and the bound of the fit. A share of the median stands for none.
_NONE, _BOUND, _FLOOR = 1e-12, 200.0, 1e-4
#: Where the runs vary so much more than the prior has it, they have another noise.
_MISFIT = 0.2
#: Of what the fit says a prior is worth: few entries make variances look more alike than they are.
_WORTH = 0.5
#: Equal runs of a side that show a coarse count, not how little noise there is.
_EQUAL = 4


class Prior(Struct, frozen=True):
    """What earlier entries say of the variance of one run, or in `refused` why they say nothing.

    `df` is what they are worth, `constant` the share of them without noise.
    """

    entries: int
    constant: float = 0.0
    df: float = 0.0
    variance: float = 0.0
    refused: str = ""

    def shrink(self, variance: float, df: float) -> float:
        """Return the variance of one run, pooled from its sample and the earlier entries."""
        return (self.df * self.variance + df * variance) / (self.df + df)


def make_prior(variances: Sequence[float], dfs: Sequence[float]) -> Prior:
    """Return the prior from earlier entries; refuse too few, and entries without noise."""
    s2, df = np.asarray(variances, dtype=np.float64), np.asarray(dfs, dtype=np.float64)
    if s2.size < LEAST_ENTRIES:
        return Prior(int(s2.size), refused="prior_few_entries")
    made = Prior(int(s2.size), float(np.mean(s2 < _NONE)))
    if made.constant > MOST_CONSTANT:
        return replace(made, refused="prior_no_noise")
    d0, variance = fit_prior(s2, df)
    made = replace(made, df=min(_WORTH * d0, MOST_DF), variance=variance)
    return replace(made, refused="prior_worthless") if d0 < LEAST_DF else made


def fit_prior(s2: Floats, df: Floats) -> tuple[float, float]:
    """Return degrees of freedom d0 (at most 200) and scale s0^2 by maximum likelihood."""
    from scipy import optimize  # costs start-up time

    s2 = np.maximum(s2, _FLOOR * float(np.median(s2[s2 > 0])))

    def loss(at: Floats) -> float:
        d0, x = math.exp(at[0]), s2 / math.exp(at[1])
        return -float(np.sum(
            -special.betaln(df / 2, d0 / 2) + df / 2 * np.log(df / d0)
            + (df / 2 - 1) * np.log(x) - (df + d0) / 2 * np.log1p(df * x / d0) - at[1]
        ))  # fmt: skip

    start = math.log(float(np.median(s2)))
    fits = [optimize.minimize(loss, [first, start], method="Nelder-Mead") for first in (0, 1.5, 3)]
    best = min(fits, key=lambda fit: float(fit.fun))
    return min(math.exp(best.x[0]), _BOUND), math.exp(best.x[1])


def consistent_with(logs: Sequence[Floats], priors: Sequence[Prior]) -> bool:
    """Return whether the variances of both sides are plausible under their priors."""
    dfs = [float(side.size - 1) for side in logs]
    ratio = sum(df * float(np.var(side, ddof=1)) / prior.variance
                for df, side, prior in zip(dfs, logs, priors, strict=True)) / sum(dfs)  # fmt: skip
    return float(special.fdtrc(sum(dfs), min(prior.df for prior in priors), ratio)) >= _MISFIT


def too_coarse(logs: Sequence[Floats]) -> bool:
    """Return whether the values of a side are too coarse for a test of their means."""
    equal = [side.size for side in logs if not np.ptp(side)]
    return len(equal) == len(logs) or max(equal, default=0) >= _EQUAL


def moderated_ratio(a: Floats, b: Floats, of_a: Prior, of_b: Prior, confidence: float) -> Ratio:
    """Return B over A of geometric means by a moderated t test, each side with its prior."""
    terms = []
    for side, prior in ((a, of_a), (b, of_b)):
        df = side.size - 1.0
        variance = prior.shrink(float(np.var(side, ddof=1)), df) / side.size
        terms.append(LogTerm(1.0, variance, prior.df + df))
    ratio = ratio_of_log(float(b.mean() - a.mean()), terms, confidence, b.size, a.size)
    return ratio if ratio.se_log else replace(ratio, p_value=1.0)
