"""Is a set of runs a record by the rules of a contest, against a baseline?

What the rules ask for is checked one by one. There is a record if all that decides is passed, none
if something is shown to be otherwise; where the runs leave it open, it is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import polars as pl
from msgspec import Struct, field

from ttastats.answers.record.record_checks import Check, Rules, Sides, count_check, evidence, unique
from ttastats.base import percentages, units
from ttastats.base.errors import TtastatsError
from ttastats.base.units import digits_for
from ttastats.outcomes import left_out
from ttastats.outcomes.budget import END
from ttastats.sides.findings import condition_text
from ttastats.sides.options import Options
from ttastats.sides.pairing import Pair
from ttastats.sides.quality_comparison import QualityComparison, compare, step_of
from ttastats.stats import moments
from ttastats.stats.decision import side_of
from ttastats.stats.means import AgainstNumber, compare_with_number
from ttastats.stats.moments import t_tail
from ttastats.stats.permutation import mann_whitney_p
from ttastats.table.schema import parse_extra

_SURE = 0.05  # of times, where rules ask for no test
_OURS = " (our requirement: the rules do not ask for a test)"


class JudgedRecord(Struct, frozen=True):
    """One benchmark judged, or a part of it: checks for people, numbers for programs."""

    checks: tuple[Check, ...]
    numbers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> Literal["record", "no record", "undecided"]:
        """Return the verdict from the deciding checks."""
        if any(check.result == "failed" and check.disproves for check in self.against):
            return "no record"
        return "undecided" if self.against else "record"

    @property
    def against(self) -> tuple[Check, ...]:
        """Return the checks that prevent a record, failed ones first."""
        deciding = [check for check in self.checks if check.decides]
        unknown = [check for check in deciding if check.disproves and check.result == "not known"]
        return (*(check for check in deciding if check.result == "failed"), *unknown)


def judged(sides: Sides, rules: Rules, stated: float | None = None) -> JudgedRecord:
    """Return the judgement of the runs of B against A, or against a stated baseline.

    `sides` are runs of one benchmark, copies included, as tables of `at_budget.runs`, or where the
    rules have a time to a target of `time_to_target.runs`.
    """
    if rules.value == "target":
        return _judge_studies(sides, rules)
    with_value, missing = {}, {}
    for name, runs in sides.items():
        counting = unique(runs)
        there = with_value[name] = counting.filter("reached")
        missing[name] = counting.height + left_out.rows(runs).height - there.height
        if there.height < 2 and not (there.height and rules.sigma):  # no spread is shown
            raise TtastatsError(
                f"{name} has {units.plural(there.height, 'run')} with a value; a test needs at "
                f"least 2 per side{'' if rules.tested else _OURS}",
                where=f"--rules {rules.name}",
                remedy="Give more runs, or give the baseline as a number with --against.",
            )
    counts = {name: runs.height for name, runs in with_value.items()}
    means = {name: float(runs["quality"].to_numpy().mean()) for name, runs in with_value.items()}
    if rules.counts == "quality":
        quality = _judge_quality(with_value, rules, stated)
    else:  # that of each side by the target of the rules
        tests = {
            name: compare_with_threshold(with_value[name], rules)
            for name in sorted(sides, reverse=True)
        }
        meets = (_target_check(name, with_value[name], test, rules) for name, test in tests.items())
        quality = JudgedRecord(tuple(meets), {"quality_p": tests["B"].p_value})
    cost = _judge_cost(with_value, rules, stated)
    checks = (
        *quality.checks, *cost.checks, *_length_checks(with_value, means, rules),
        count_check(counts, missing, rules), *evidence(sides, rules),
    )  # fmt: skip
    numbers = {f"n_{name.lower()}": n for name, n in counts.items()} | {
        f"quality_{name.lower()}": mean for name, mean in means.items()
    }
    return JudgedRecord(checks, {**numbers, **quality.numbers, **cost.numbers})


def _make_check(
    name: str, figures: str, *, passed: bool, failed: bool = False, decides: bool = True
) -> Check:
    """Return a check; unknown if it neither passed nor failed."""
    return Check(
        name,
        "passed" if passed else "failed" if failed else "not known",
        figures,
        decides,
        disproves=True,
    )


def compare_with_threshold(
    runs: pl.DataFrame, rules: Rules, threshold: float | None = None
) -> AgainstNumber:
    """Return the test of the mean quality of runs against a number, or the target of the rules."""
    number, sigma = (rules.target or 0.0, rules.sigma) if threshold is None else (threshold, None)
    return compare_with_number(
        runs["quality"].to_numpy(), number, higher_is_better=rules.meets == ">=",
        level=rules.level, resolution=step_of(runs), sigma=sigma,
    )  # fmt: skip


def meets_target(test: AgainstNumber, rules: Rules) -> bool:
    """Return whether a mean meets the target by the rules' own condition."""
    if rules.least_score is None or test.margin is None:
        return test.holds
    return test.margin * math.sqrt(test.n) >= rules.least_score * (1 - 1e-9)


def _target_check(name: str, runs: pl.DataFrame, test: AgainstNumber, rules: Rules) -> Check:
    digits = digits_for([test.threshold], test.sd, test.mean)
    sign = "≥" if rules.meets == ">=" else "≤"
    mean = digits.mean(test.mean, test.sd)
    figures = f"{_metric(runs)} {sign} {test.threshold:g}: mean {mean} of {runs.height}"
    if rules.least_score is not None and test.margin is not None:
        score = test.margin * math.sqrt(test.n)
        figures += f", margin × √n {score:.2g} (at least {rules.least_score:g})"
    if test.p_value is not None:
        kind = f"z with σ {rules.sigma:g}" if rules.sigma else "t"
        figures += f", one-sided {kind}: {_p_text(test.p_value, rules)}"
    figures += f", {condition_text(test.conditions)}" if test.conditions else ""
    figures += "" if rules.tested else _OURS
    passed, failed = meets_target(test, rules), test.margin is None or test.margin <= 0
    if not passed and not failed and (needed := test.runs_needed) and needed > test.n:
        figures += f"; {needed:,} such runs would show it"
    title = "quality" if name == "B" else "A's quality"
    return _make_check(title, figures, passed=passed, failed=failed, decides=name == "B")


def _judge_quality(sides: Sides, rules: Rules, stated: float | None) -> JudgedRecord:
    """Return whether B beats the quality of A, or a stated one, by the rules' margin."""
    up, p_value = 1 if rules.meets == ">=" else -1, None
    runs, values = sides["B"], sides["B"]["quality"].to_numpy()
    mean, sd = moments.mean(values), moments.standard_deviation(values)
    if "A" in sides:
        gap = _compare_sides(sides).difference
        if gap is None:
            remedy = "Select one with --metric."
            raise TtastatsError("the sides log different metrics", remedy=remedy)
        gain = up * gap.estimate
        if gap.se and gap.df:
            p_value = t_tail(gap.df, (gain - rules.margin) / gap.se)
    elif stated is not None:
        test = compare_with_threshold(sides["B"], rules, stated + up * rules.margin)
        gain = mean - stated if up > 0 else stated - mean
        p_value = test.p_value
    else:
        return JudgedRecord((_make_check("quality", "no baseline", passed=False),))
    digits = digits_for([], sd, mean)
    figures = (
        f"{_metric(runs)}: mean {digits.mean(mean, sd)} of {runs.height}, better by "
        f"{digits.signed(gain)} (at least {rules.margin:.2g})"
    )
    figures += "" if p_value is None else f": {_p_text(p_value, rules)}"
    shown = p_value is not None and p_value < rules.level
    check = _make_check("quality", figures, passed=shown, failed=gain <= rules.margin)
    return JudgedRecord((check,), {"quality_p": p_value})


def _compare_sides(sides: Sides) -> QualityComparison:
    return compare([Pair({}, sides["A"], sides["B"])], END, Options())[0]


def _metric(runs: pl.DataFrame) -> str:
    return str(runs["target_metric"].drop_nulls().first() or "quality")


def _p_text(p_value: float, rules: Rules) -> str:
    return f"{units.p_text(p_value)}, level {percentages.percent_text(rules.level)}"


def _judge_cost(sides: Sides, rules: Rules, stated: float | None) -> JudgedRecord:
    times = _judge_seconds(sides, stated if rules.counts == "seconds" else None, rules)
    if rules.counts != "steps":
        return times
    ours = _most_steps(sides["B"])
    theirs = _most_steps(sides["A"]) if "A" in sides else stated
    if ours is None or theirs is None:
        figures = "not logged" if ours is None else f"B {ours:,.0f}, no baseline"
        return JudgedRecord((_make_check("fewer steps", figures, passed=False), *times.checks))
    figures, fewer = f"A {theirs:,.0f}, B {ours:,.0f}", ours < theirs
    check = _make_check("fewer steps", figures, passed=fewer, failed=not fewer)
    numbers = {"steps_a": theirs, "steps_b": ours, **times.numbers}
    return JudgedRecord((check, *times.checks), numbers)


def _most_steps(runs: pl.DataFrame) -> float | None:
    """Return the steps of the longest run; None if unknown for one."""
    steps = runs["steps"]
    return None if steps.null_count() or steps.is_empty() else float(max(steps))


def _judge_seconds(sides: Sides, stated: float | None, rules: Rules) -> JudgedRecord:
    decides = rules.counts == "seconds"
    silent = [name for name, runs in sides.items() if runs["tta_seconds"].null_count()]
    if silent or (stated is None and "A" not in sides):
        figures = f"not in the logs of {' and '.join(silent)}" if silent else "no baseline"
        return JudgedRecord((_make_check("faster", figures, passed=False),) if decides else ())
    times = {name: runs["tta_seconds"].to_numpy() for name, runs in sides.items()}
    mean_b = float(times["B"].mean())
    estimate = low = high = p_value = None
    if "A" in sides:
        mean_a, ratio = float(times["A"].mean()), _compare_sides(sides).ratio
        if ratio is not None:
            estimate, low, high, p_value = ratio.estimate, ratio.low, ratio.high, ratio.p_value
    else:
        mean_a = stated or math.nan
        mean = compare_with_number(times["B"], mean_a, higher_is_better=False, level=_SURE / 2)
        estimate = mean_a / mean_b
        # A mean time that may be 0 or less bounds its reciprocal on one side only.
        low = mean_a / mean.high if mean.high else None
        high = None if mean.low is None else mean_a / mean.low if mean.low > 0 else math.inf
    figures = f"A {units.seconds(mean_a)}, B {units.seconds(mean_b)}"
    figures += "" if estimate is None else f": ratio {units.ratio_interval(estimate, low, high)}"
    figures += "" if p_value is None else f", {units.p_text(p_value)}"
    way = side_of(1.0, low, high)
    check = Check("time ratio", "told", figures, decides=False)
    if decides:
        check = _make_check("faster", figures, passed=way > 0, failed=way < 0)
    return JudgedRecord(
        (check,),
        {
            "seconds_a": mean_a, "seconds_b": mean_b, "seconds_ratio": estimate,
            "seconds_low": low, "seconds_high": high, "seconds_p": p_value,
        },
    )  # fmt: skip


def _length_checks(sides: Sides, means: Mapping[str, float], rules: Rules) -> Iterator[Check]:
    """Yield checks of results of different length against each other.

    The rules do not ask for it: a record may rest on its own runs alone.
    """
    if rules.loss_per_step is None or rules.least_score is None or "A" not in sides:
        return
    theirs, ours = (_most_steps(sides[name]) for name in ("A", "B"))
    if theirs is None or ours is None:
        return
    gain = means["A"] - means["B"] + (theirs - ours) * rules.loss_per_step
    score = gain / math.sqrt(1 / sides["A"].height + 1 / sides["B"].height)
    figures = f"{score:.2g}, at least {rules.least_score:g} shows that B is better than A"
    passed = score >= rules.least_score * (1 - 1e-9)
    yield Check("pairwise", "passed" if passed else "not known", figures, decides=False)


def _judge_studies(sides: Sides, rules: Rules) -> JudgedRecord:
    """Return the judgement of studies: the median over studies of their best trials."""
    studies = {name: _best_trials(runs, rules) for name, runs in sides.items()}
    medians = {name: float(best["best"].median()) for name, best in studies.items()}  # type: ignore[arg-type]
    counts = {name: best.height for name, best in studies.items()}
    trials = {
        name: list(map(str, best["trials"].unique().sort())) for name, best in studies.items()
    }
    texts = {name: " or ".join(some) for name, some in trials.items()}
    required = " or ".join(map(str, rules.trials))
    one_of = [[str(number)] for number in rules.trials]
    equal = all(some == trials["B"] for some in trials.values()) and trials["B"] in one_of
    figures = f"{units.join_names([f'{name} {text}' for name, text in texts.items()])} per study"
    if not equal:
        figures += f"; the rules require {required} in every study"
    checks = [
        count_check(counts, {}, rules),
        Check("trials", "passed" if equal else "failed", figures),
    ]
    for name in sorted(sides, reverse=True):
        ends = (*studies[name]["best"], medians[name])
        *times, middle = (units.seconds(x, 4) if math.isfinite(x) else "–" for x in ends)
        middle = "not reached" if middle == "–" else middle
        named = units.join_names(trials[name], between=" or ")
        figures = f"median {middle} of the best of {named} trials: {units.join_names(times)}"
        title, reached = "quality" if name == "B" else "A's quality", math.isfinite(medians[name])
        checks.append(
            _make_check(title, figures, passed=reached, failed=not reached, decides=name == "B")
        )
    numbers: dict[str, float | None] = {f"n_{name.lower()}": n for name, n in counts.items()}
    numbers |= {f"seconds_{name.lower()}": median for name, median in medians.items()}
    known = "A" in sides and math.isfinite(medians["B"])
    numbers["seconds_ratio"] = medians["A"] / medians["B"] if known else None
    faster = _faster_check(studies, medians, comparable=equal)
    return JudgedRecord((*checks, faster, *evidence(sides, rules)), numbers)


def _best_trials(runs: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Return the best time of each study; infinite if none of its trials reached."""
    runs = unique(runs)
    names = [parse_extra(text).get(rules.replicate) for text in runs["extra"].to_list()]
    if None in names:
        raise TtastatsError(
            f"not all runs record their {rules.replicate}",
            where=f"--rules {rules.name}",
            remedy="Take it from the path when you ingest: --files "
            f"'.../{rules.replicate}_{{{rules.replicate}}}/...'",
        )
    if runs.filter(pl.col("reached") & pl.col("tta_seconds").is_null()).height:
        raise TtastatsError(
            "runs reached the target and do not tell when", where=f"--rules {rules.name}"
        )
    time = pl.when("reached").then("tta_seconds").otherwise(float("inf"))
    return (
        runs.with_columns(study=pl.Series(map(str, names), dtype=pl.String), time=time)
        .group_by("study", maintain_order=True)
        .agg(best=pl.col("time").min(), trials=pl.len())
        .sort("study")
    )


def _faster_check(
    studies: Mapping[str, pl.DataFrame], medians: Mapping[str, float], *, comparable: bool
) -> Check:
    """Return the check of medians, with a rank test against chance."""
    if "A" not in studies:
        return _make_check("faster", "no baseline", passed=False)
    if not comparable:
        return _make_check("faster", "not judged with these numbers of trials", passed=False)
    if not (b := medians["B"]) < (a := medians["A"]):
        figures = "the median of B is not less than that of A"
        return _make_check("faster", figures, passed=False, failed=True)
    # Times that were not reached rank last and tie.
    ranked = [best["best"].replace(float("inf"), 1e300).to_numpy() for best in studies.values()]
    one_sided = mann_whitney_p(*ranked, rng=np.random.default_rng(1)) / 2
    ratio = "A's median does not reach it"
    if math.isfinite(a):
        ratio = f"ratio of medians {units.ratio(a / b)}"
    figures = f"{ratio}, one-sided rank test of studies: {units.p_text(one_sided)}{_OURS}"
    return _make_check("faster", figures, passed=one_sided <= _SURE + 1e-9)
