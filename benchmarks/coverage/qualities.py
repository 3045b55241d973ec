"""How often intervals and claims about mean qualities at a budget are right about made-up runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from benchmarks.coverage.figures import Figure, Kind, Rate, rate
from benchmarks.coverage.judging import side
from benchmarks.coverage.shapes import (
    CONST,
    LN15,
    RARE03,
    RARE10,
    SSD,
    TRF,
    Floats,
    Size,
    draw,
    generator,
)
from benchmarks.coverage.simulations import Plan, hit_rate, sizes
from ttastats.stats.means import (
    AgainstNumber,
    MeanDifference,
    compare_with_number,
    mean_difference,
    mean_quality,
)
from ttastats.stats.unseen import unseen_epochs

LEVEL = 0.05
SIZES = sizes("3", "5", "10", "20", "5+10", "3+20")

#: Steps over which the mean of rounded values is summed.
_STEPS = np.arange(-40, 41)


@dataclass(frozen=True, slots=True)
class Quality:
    """How final losses vary: by a normal distribution of deviation `sd`, rounded to `step`.

    `bad` is the share of runs that end `far` deviations worse; `skewed` runs follow an exponential
    distribution instead, or, by the `log_sd`, a lognormal one. Those that are `alike` but for the
    bad ones have two values.
    """

    name: str
    sd: float = 1.0
    step: float = 0.0
    bad: float = 0.0
    far: float = 4.0
    skewed: bool = False
    log_sd: float = 0.0
    alike: bool = False

    def draw(self, size: Size, rng: np.random.Generator, offset: Floats) -> Floats:
        """Draw qualities of shape `size` about `offset`, shape (replicates, 1)."""
        noise = rng.exponential(1.0, size) - 1 if self.skewed else rng.normal(0, 1, size)
        if self.log_sd:
            noise = np.exp(self.log_sd * noise) - np.exp(self.log_sd**2 / 2)
        noise *= not self.alike
        worse = self.far * (rng.random(size) < self.bad)
        values: Floats = offset + self.sd * (noise + worse)
        return self.step * np.round(values / self.step) if self.step else values

    def mean(self, offset: Floats) -> Floats:
        """Return the mean of what is logged, of shape (replicates,)."""
        centre = offset[:, 0] + self.sd * self.bad * self.far
        if not self.step:
            return centre
        if self.bad or self.skewed:
            raise ValueError("rounded values are normal ones here")
        edges = (_STEPS + 0.5) * self.step
        below = special.ndtr((edges - offset) / self.sd)
        shares = np.diff(below, prepend=0.0, axis=1)
        means: Floats = shares @ (_STEPS * self.step)
        return means


NORMAL = Quality("normal")
QUALITIES = (
    (NORMAL, NORMAL),
    (NORMAL, Quality("normal, 3 times the spread", sd=3.0)),
    *(
        (rounded, rounded)
        for rounded in (
            Quality("normal, rounded to its deviation", step=1.0),
            Quality("normal, rounded to 2 deviations", step=2.0),
            Quality("normal, rounded to 5 deviations", step=5.0),
        )
    ),
    *(
        (odd, odd)
        for odd in (
            Quality("skewed (exponential)", skewed=True),
            Quality("one run in ten 4 deviations worse", bad=0.1),
        )
    ),
    (NORMAL, Quality("one run in ten 4 deviations worse", bad=0.1)),
)


#: More of which `claim` is asked.
_LONG_TAILS = (
    Quality("skewed (lognormal, 0.5)", log_sd=0.5),
    Quality("two values, one run in ten the worse", bad=0.1, alike=True),
)


def _name(a: Quality, b: Quality) -> str:
    return a.name if a == b else f"{a.name} / {b.name}"


def differences(plan: Plan) -> Iterator[Figure]:
    """Measure the interval of a difference of means, and claims where there is none."""
    for a, b in QUALITIES:
        for runs, (n_a, n_b) in SIZES.items():
            rng = generator(plan.seed, "quality", _name(a, b), runs)
            offset = rng.uniform(0, 1, (plan.replicates, 1)) * max(a.step, 1.0)
            # Equal means of what is logged: B is moved by what its own runs differ.
            offset_b = offset - b.sd * b.bad * b.far + a.sd * a.bad * a.far
            drawn_a = a.draw((plan.replicates, n_a), rng, offset)
            drawn_b = b.draw((plan.replicates, n_b), rng, offset_b)
            truth = b.mean(offset_b) - a.mean(offset)
            shifts = [
                mean_difference(u, v, resolution=max(a.step, b.step), confidence=0.95)
                for u, v in zip(drawn_a, drawn_b, strict=True)
            ]
            gaps = [_gap_limits(shift, true) for shift, true in zip(shifts, truth, strict=True)]
            hits = hit_rate(gaps, 0.0)
            yield Figure("quality difference", _name(a, b), runs, hits, "coverage")
            claims = sum(gap is not None and not gap[0] <= 0 <= gap[1] for gap in gaps)
            yield Figure(
                "quality claims", _name(a, b), runs, rate(claims, len(gaps)), "false claim"
            )


def _gap_limits(difference: MeanDifference, truth: float) -> tuple[float, float] | None:
    """Return the interval of the error of a difference."""
    if difference.low is None or difference.high is None:
        return None
    return float(difference.low - truth), float(difference.high - truth)


#: Of one mean with a long tail on one side, an interval promises nothing.
_ODD: Kind = "no promise"

#: Shapes of times about which something is claimed.
_TIMES = (CONST, TRF, RARE10, RARE03, SSD, LN15)


def claims(plan: Plan) -> Iterator[Figure]:
    """Measure how often a mean that equals a number is shown to be better than it."""
    for quality in (
        *dict.fromkeys(quality for pair in QUALITIES for quality in pair),
        *_LONG_TAILS,
    ):
        odd = quality.skewed or bool(quality.bad) or bool(quality.log_sd)
        for n in (2, 3, 5, 10, 20):
            rng = generator(plan.seed, "claim", quality.name, str(n))
            offset = rng.uniform(0, 1, (plan.replicates, 1)) * max(quality.step, 1.0)
            samples = quality.draw((plan.replicates, n), rng, offset)
            pairs = list(zip(samples, quality.mean(offset), strict=True))
            lower = [_claim(x, true, quality, higher=False) for x, true in pairs]
            upper = [_claim(x, true, quality, higher=True) for x, true in pairs]
            strict = [_claim(x, true, quality, higher=False, level=0.01) for x, true in pairs]
            setup, runs = quality.name, str(n)
            yield Figure("claim, lower is better", setup, runs, _bare(lower), "false claim")
            yield Figure("claim, higher is better", setup, runs, _bare(upper), "false claim")
            claim_rate = rate(sum(test.holds for test in lower), len(lower))
            yield Figure(
                "claims with or without a condition", setup, runs, claim_rate, "no promise"
            )
            yield Figure("claims at 1%", setup, runs, _bare(strict), "no promise")
            if quality is NORMAL:
                yield Figure("right claims, bare", setup, runs, _right(n, rng, plan), "no promise")
            means = [mean_quality(x, resolution=quality.step, confidence=0.95) for x, _ in pairs]
            limits = [
                (interval.low - true, interval.high - true)
                for interval, (_, true) in zip(means, pairs, strict=True)
                if interval.low is not None and interval.high is not None
            ]
            promise: Kind = _ODD if odd else "coverage"
            yield Figure("mean quality", setup, runs, hit_rate(limits, 0.0), promise)


def claims_about_times(plan: Plan) -> Iterator[Figure]:
    """Measure how often a mean time that equals a number is shown to be shorter."""
    for shape in _TIMES:
        for n in (3, 5, 10, 20):
            rng = generator(plan.seed, "claim about times", shape.name, str(n))
            sample_runs = draw(shape, (plan.replicates, n), rng)
            tests = []
            for replicate in range(plan.replicates):
                runs = side(sample_runs.row(replicate))
                longer = unseen_epochs(runs, LEVEL)
                tests.append(
                    compare_with_number(
                        runs.times, 1.0, higher_is_better=False, level=LEVEL, longer=longer
                    )
                )
            yield Figure("claim, times", shape.name, str(n), _bare(tests), "false claim")
            claim_rate = rate(sum(test.holds for test in tests), len(tests))
            yield Figure("claims about times, all", shape.name, str(n), claim_rate, "no promise")


def _right(n: int, rng: np.random.Generator, plan: Plan) -> Rate | None:
    """Return which share of right claims about normal samples has no condition, at 95 % power."""
    limit = float(special.stdtrit(n - 1, 1 - LEVEL))
    better = float(special.nctdtrinc(n - 1, 0.05, limit))
    samples = rng.normal(-better / np.sqrt(n), 1.0, (plan.replicates, n))
    right = [test for x in samples if (test := _claim(x, 0.0, NORMAL, higher=False)).holds]
    return rate(sum(not test.conditions for test in right), len(right))


def _claim(
    values: Floats, truth: float, quality: Quality, *, higher: bool, level: float = LEVEL
) -> AgainstNumber:
    return compare_with_number(
        values, truth, higher_is_better=higher, level=level, resolution=quality.step
    )


def _bare(tests: list[AgainstNumber]) -> Rate | None:
    return rate(sum(test.holds and not test.conditions for test in tests), len(tests))
