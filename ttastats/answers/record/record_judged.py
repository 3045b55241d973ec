"""Is a set of runs a record by the rules of a contest, against a baseline?

What the rules ask for is checked one by one. There is a record if all that decides is passed, none
if something is shown to be otherwise; where the runs leave it open, it is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from ttastats.answers.record.contest_rules import Rules
from ttastats.answers.record.record_checks import (
    Check,
    Result,
    Sides,
    broken_off,
    evidence,
    number,
    once,
)
from ttastats.base import percentages, units
from ttastats.base.errors import TtastatsError
from ttastats.outcomes.budget import END
from ttastats.report.digits import Digits, digits_of
from ttastats.sides.options import Options
from ttastats.sides.pairing import Pair
from ttastats.sides.quality_comparison import compare, step_of
from ttastats.stats.means import AgainstNumber, MeanDifference, against
from ttastats.stats.quantiles import t_tail
from ttastats.stats.ranks import mann_whitney
from ttastats.table.extra import recorded

Verdict = Literal["record", "no record", "undecided"]
_SURE = 0.05  # of times, where rules ask for no test
_OURS = " (our requirement: the rules do not ask for a test)"


@dataclass(frozen=True, slots=True)
class JudgedRecord:
    """One benchmark judged: numbers for programs, checks for people, and the verdict."""

    checks: tuple[Check, ...]
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """Give the verdict that the deciding checks come to."""
        deciding = [one for one in self.checks if one.decides]
        if any(one.result == "failed" and one.disproves for one in deciding):
            return "no record"
        return "undecided" if self.against else "record"

    @property
    def against(self) -> tuple[Check, ...]:
        """Give the checks that keep it from being a record."""
        open_too = [one for one in self.checks if one.disproves and one.result == "not known"]
        failed = [one for one in self.checks if one.decides and one.result == "failed"]
        return (*failed, *(one for one in open_too if one.decides))


def judged(sides: Sides, rules: Rules, stated: float | None = None) -> JudgedRecord:
    """Judge the runs of B against those of A, or against what is stated of a baseline.

    Parameters
    ----------
    sides
        As tables of `at_budget.runs`, or where the rules have a time to a target of
        `time_to_target.runs`; of one benchmark, copies included.
    stated
        The baseline's seconds, steps or quality, where there is no A.

    Raises
    ------
    TtastatsError
        A side has too few runs to say anything.
    """
    if rules.value == "target":
        return _of_studies(sides, rules)
    with_value = {name: once(runs).filter("reached") for name, runs in sides.items()}
    missing = {
        name: once(runs).height + broken_off(runs) - with_value[name].height
        for name, runs in sides.items()
    }
    _expect_runs(with_value, rules)
    means = {name: float(runs["quality"].to_numpy().mean()) for name, runs in with_value.items()}
    quality = _quality(with_value, rules, stated)
    cost = _cost(with_value, rules, stated)
    counts = {name: runs.height for name, runs in with_value.items()}
    checks = (
        *quality.checks, *cost.checks, *_pairwise(with_value, means, rules),
        number(counts, missing, rules, "run"), *evidence(sides, rules),
    )  # fmt: skip
    found: dict[str, Any] = {f"n_{name.lower()}": n for name, n in counts.items()}
    found |= {f"quality_{name.lower()}": mean for name, mean in means.items()}
    return JudgedRecord(checks, found | dict(quality.numbers) | dict(cost.numbers))


def _expect_runs(sides: Sides, rules: Rules) -> None:
    """Refuse sides whose runs show no spread, where the rules rest on it."""
    for name, runs in sides.items():
        if runs.height < 2 and not (runs.height and rules.sigma):
            raise TtastatsError(
                f"{name} has {units.plural(runs.height, 'run')} with a value; a test needs at "
                f"least 2 per side{'' if rules.tested else _OURS}",
                where=f"--rules {rules.name}",
                remedy="Give more runs, or give the baseline as a number with --against.",
            )


# ------------------------------------------------------------------------------------ quality


def _quality(sides: Sides, rules: Rules, stated: float | None) -> JudgedRecord:
    if rules.counts == "quality":
        return _better_quality(sides, rules, stated)
    checks = [_meets(name, sides[name], rules) for name in sorted(sides, reverse=True)]
    p_value = of_target(sides["B"], rules).p_value
    return JudgedRecord(tuple(checks), {"quality_p": p_value})


def of_target(runs: pl.DataFrame, rules: Rules) -> AgainstNumber:
    """Test the mean quality of some runs against the target of the rules."""
    return against(
        runs["quality"].to_numpy(), rules.target or 0.0, higher_is_better=rules.meets == ">=",
        level=rules.level, resolution=step_of(runs), sigma=rules.sigma,
    )  # fmt: skip


def holds(found: AgainstNumber, rules: Rules) -> bool:
    """Tell whether a mean meets the target by the rules' own condition."""
    if rules.least_score is None or found.margin is None:
        return found.holds
    return found.margin * math.sqrt(found.n) >= rules.least_score * (1 - 1e-9)


def _meets(name: str, runs: pl.DataFrame, rules: Rules) -> Check:
    found = of_target(runs, rules)
    digits = digits_of([found.threshold], found.sd, found.mean)
    sign = "≥" if rules.meets == ">=" else "≤"
    said = f"{_metric(runs)} {sign} {found.threshold:g}: {_mean(runs, digits)}"
    if rules.least_score is not None and found.margin is not None:
        score = found.margin * math.sqrt(found.n)
        said += f", margin × √n {score:.2g} (at least {rules.least_score:g})"
    test = f"z with σ {rules.sigma:g}" if rules.sigma else "t"
    if found.p_value is not None:
        level = percentages.text(rules.level)
        said += f", one-sided {test}: {units.p_text(found.p_value)}, level {level}"
    said += "" if rules.tested else _OURS
    if holds(found, rules):
        result: Result = "passed"
    else:
        worse = found.margin is None or found.margin <= 0
        result = "failed" if worse else "not known"
        if not worse and (needed := found.needed) and needed > found.n:
            said += f"; {needed:,} such runs would show it"
    title = "quality" if name == "B" else "A's quality"
    return Check(title, result, said, decides=name == "B", disproves=True)


def _better_quality(sides: Sides, rules: Rules, stated: float | None) -> JudgedRecord:
    """Ask whether B beats the quality of A, or a stated one, by the margin of the rules."""
    b, up = sides["B"], 1 if rules.meets == ">=" else -1
    if "A" in sides:
        gap = _gap(sides)
        gain, p_value = up * gap.estimate, None
        if gap.se and gap.df:
            p_value = t_tail(gap.df, (gain - rules.margin) / gap.se)
    elif stated is not None:
        threshold = stated + up * rules.margin
        found = against(
            b["quality"].to_numpy(), threshold, higher_is_better=up > 0, level=rules.level,
            resolution=step_of(b),
        )  # fmt: skip
        gain, p_value = (found.margin or 0.0) + rules.margin, found.p_value
    else:
        return JudgedRecord((Check("quality", "not known", "no baseline", disproves=True),))
    values: Any = b["quality"]
    digits = digits_of([], values.std(), values.mean())
    said = (
        f"{_metric(b)}: {_mean(b, digits)}, better by {digits.signed(gain)} "
        f"(at least {rules.margin:.2g})"
    )
    said += (
        ""
        if p_value is None
        else f": {units.p_text(p_value)}, level {percentages.text(rules.level)}"
    )
    result: Result = "not known"
    if p_value is not None and p_value < rules.level:
        result = "passed"
    elif gain <= rules.margin:
        result = "failed"
    return JudgedRecord((Check("quality", result, said, disproves=True),), {"quality_p": p_value})


def _gap(sides: Sides) -> MeanDifference:
    (found,) = compare([Pair({}, sides["A"], sides["B"])], END, Options())
    if found.difference is None:
        raise TtastatsError("the sides log different metrics", remedy="Select one with --metric.")
    return found.difference


def _metric(runs: pl.DataFrame) -> str:
    return str(runs["target_metric"].drop_nulls().first() or "quality")


def _mean(runs: pl.DataFrame, digits: Digits) -> str:
    values: Any = runs["quality"]
    return f"mean {digits.mean(values.mean(), values.std())} of {values.len()}"


# --------------------------------------------------------------------------------------- cost


def _cost(sides: Sides, rules: Rules, stated: float | None) -> JudgedRecord:
    """Say what B takes beside A: what decides where the rules count it, and times in any case."""
    times = _seconds(sides, stated if rules.counts == "seconds" else None, rules)
    if rules.counts != "steps":
        return times
    ours = _steps(sides["B"])
    theirs = _steps(sides["A"]) if "A" in sides else stated
    if ours is None or theirs is None:
        said = "not logged" if ours is None else f"B {ours:,.0f}, no baseline"
        return JudgedRecord(
            (Check("fewer steps", "not known", said, disproves=True), *times.checks)
        )
    result: Result = "passed" if ours < theirs else "failed"
    said = f"A {theirs:,.0f}, B {ours:,.0f}"
    check = Check("fewer steps", result, said, disproves=True)
    return JudgedRecord(
        (check, *times.checks), {"steps_a": theirs, "steps_b": ours, **times.numbers}
    )


def _steps(runs: pl.DataFrame) -> float | None:
    """Give the steps of the longest run; None where one does not tell."""
    told = runs["steps"]
    return None if told.null_count() or told.is_empty() else float(max(told))


def _seconds(sides: Sides, stated: float | None, rules: Rules) -> JudgedRecord:
    decides = rules.counts == "seconds"
    found = {name: runs["tta_seconds"] for name, runs in sides.items()}
    silent = [name for name, one in found.items() if one.null_count()]
    if silent or (stated is None and "A" not in sides):
        if not decides:
            return JudgedRecord(())
        said = f"not in the logs of {' and '.join(silent)}" if silent else "no baseline"
        return JudgedRecord((Check("faster", "not known", said, disproves=True),))
    mean_b = float(found["B"].to_numpy().mean())
    if "A" in sides:
        (both,) = compare([Pair({}, sides["A"], sides["B"])], END, Options())
        ratio = both.ratio
        mean_a = float(found["A"].to_numpy().mean())
        estimate, low, high, p_value = (
            (ratio.estimate, ratio.low, ratio.high, ratio.p_value) if ratio else (None,) * 4
        )
    else:
        mean_a = stated or math.nan
        one = against(found["B"].to_numpy(), mean_a, higher_is_better=False, level=_SURE / 2)
        estimate, p_value = mean_a / mean_b, None
        # A mean time that may be 0 or less bounds its reciprocal on one side only.
        low = mean_a / one.high if one.high else None
        high = None if one.low is None else mean_a / one.low if one.low > 0 else math.inf
    result: Result = "not known"
    if low is not None and high is not None:
        result = "passed" if low > 1 else "failed" if high < 1 else "not known"
    said = f"A {units.seconds(mean_a)}, B {units.seconds(mean_b)}"
    said += "" if estimate is None else f": ratio {units.ratio_interval(estimate, low, high)}"
    said += "" if p_value is None else f", {units.p_text(p_value)}"
    check = Check("faster", result, said, disproves=True)
    if not decides:
        check = Check("time ratio", "told", said, decides=False)
    return JudgedRecord(
        (check,),
        {
            "seconds_a": mean_a, "seconds_b": mean_b, "seconds_ratio": estimate,
            "seconds_low": low, "seconds_high": high, "seconds_p": p_value,
        },
    )  # fmt: skip


def _pairwise(sides: Sides, means: Mapping[str, float], rules: Rules) -> Iterator[Check]:
    """Set results of different length against each other by what a step is worth.

    The rules do not ask for it: a record may rest on its own runs alone.
    """
    if rules.loss_per_step is None or rules.least_score is None or "A" not in sides:
        return
    theirs, ours = (_steps(sides[name]) for name in ("A", "B"))
    if theirs is None or ours is None:
        return
    gain = (means["A"] - means["B"]) * (1 if rules.meets == "<=" else -1)
    gain += (theirs - ours) * rules.loss_per_step
    score = gain / math.sqrt(1 / sides["A"].height + 1 / sides["B"].height)
    said = f"{score:.2g}, at least {rules.least_score:g} shows that B is better than A"
    result: Result = "passed" if score >= rules.least_score * (1 - 1e-9) else "not known"
    yield Check("pairwise", result, said, decides=False)


# ------------------------------------------------------------------------------------ studies


def _of_studies(sides: Sides, rules: Rules) -> JudgedRecord:
    """Judge times to a target: the best of the trials of a study, the median over studies."""
    times = {name: _best(runs, rules) for name, runs in sides.items()}
    medians = {name: float(one["best"].median()) for name, one in times.items()}  # type: ignore[arg-type]
    counts = {name: one.height for name, one in times.items()}
    trials = _trials(times, rules)
    checks = [
        number(counts, {}, rules, "study"),
        trials,
        *(_reached(name, times[name], medians[name]) for name in sorted(sides, reverse=True)),
        _faster(times, medians, comparable=trials.result == "passed"),
        *evidence(sides, rules),
    ]
    ratio = medians["A"] / medians["B"] if "A" in sides and math.isfinite(medians["B"]) else None
    found: dict[str, Any] = {f"n_{name.lower()}": n for name, n in counts.items()}
    found |= {f"seconds_{name.lower()}": median for name, median in medians.items()}
    return JudgedRecord(tuple(checks), found | {"seconds_ratio": ratio})


def _best(runs: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Give the best time of each study; infinite where none of its trials reached the target."""
    told = [recorded(text).get(rules.replicate) for text in once(runs)["extra"].to_list()]
    if None in told:
        raise TtastatsError(
            f"not all runs record their {rules.replicate}",
            where=f"--rules {rules.name}",
            remedy="Take it from the path when you ingest: --files "
            f"'.../{rules.replicate}_{{{rules.replicate}}}/...'",
        )
    if once(runs).filter(pl.col("reached") & pl.col("tta_seconds").is_null()).height:
        raise TtastatsError(
            "runs reached the target and do not tell when", where=f"--rules {rules.name}"
        )
    time = pl.when("reached").then("tta_seconds").otherwise(float("inf"))
    return (
        once(runs)
        .with_columns(study=pl.Series(map(str, told), dtype=pl.String), time=time)
        .group_by("study", maintain_order=True)
        .agg(best=pl.col("time").min(), trials=pl.len())
        .sort("study")
    )


def _trials(times: Mapping[str, pl.DataFrame], rules: Rules) -> Check:
    """Check that studies have equal numbers of trials: the best of more is better by chance."""
    numbers = {name: sorted(one["trials"].unique()) for name, one in times.items()}
    each = [f"{name} {' or '.join(map(str, some))}" for name, some in numbers.items()]
    said = f"{units.listed(each)} per study"
    equal = len({n for some in numbers.values() for n in some}) == 1
    if equal and numbers["B"][0] in rules.trials:
        return Check("trials", "passed", said)
    required = " or ".join(map(str, rules.trials))
    return Check("trials", "failed", f"{said}; the rules require {required} in every study")


def _reached(name: str, found: pl.DataFrame, median: float) -> Check:
    times = found["best"].to_list()
    each = units.listed([units.seconds(one, 4) if math.isfinite(one) else "–" for one in times])
    told = units.seconds(median, 4) if math.isfinite(median) else "not reached"
    trials = units.listed([str(n) for n in found["trials"].unique().sort()], between=" or ")
    said = f"median {told} of the best of {trials} trials: {each}"
    title = "quality" if name == "B" else "A's quality"
    result: Result = "passed" if math.isfinite(median) else "failed"
    return Check(title, result, said, decides=name == "B", disproves=True)


def _faster(
    times: Mapping[str, pl.DataFrame], medians: Mapping[str, float], *, comparable: bool
) -> Check:
    """Compare medians, as the rules do, and ask by ranks whether chance could have ordered them."""
    if "A" not in times:
        return Check("faster", "not known", "no baseline", disproves=True)
    if not comparable:
        return Check(
            "faster", "not known", "not judged with these numbers of trials", disproves=True
        )
    a, b = medians["A"], medians["B"]
    if not b < a:
        return Check(
            "faster", "failed", "the median of B is not less than that of A", disproves=True
        )
    # Times that were not reached rank last and tie.
    ranked = [one["best"].replace(float("inf"), 1e300).to_numpy() for one in times.values()]
    one_sided = mann_whitney(*ranked, rng=np.random.default_rng(1)) / 2
    ratio = (
        f"ratio of medians {units.ratio(a / b)}"
        if math.isfinite(a)
        else "A's median does not reach it"
    )
    said = f"{ratio}, one-sided rank test of studies: {units.p_text(one_sided)}"
    result: Result = "passed" if one_sided <= _SURE + 1e-9 else "not known"
    return Check("faster", result, said + _OURS, disproves=True)
