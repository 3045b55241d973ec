"""Is a set of runs a record by the rules of a contest, against a baseline?

What the rules (`rules.toml`) and sound evidence ask for is checked one by one. There is a record if
all that decides is passed, none if something is shown to be otherwise; else it is undecided.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl
from msgspec import Struct

from ttastats.base import percentages, units
from ttastats.base.errors import TtastatsError, suggestion
from ttastats.base.units import digits_for
from ttastats.outcomes import left_out
from ttastats.outcomes.budget import END, Lengths, lengths
from ttastats.sides import pairing
from ttastats.sides.design import in_separate_sessions, speeds, starts
from ttastats.sides.findings import condition_text
from ttastats.sides.options import Options
from ttastats.sides.quality_comparison import QualityComparison, compare, step_of
from ttastats.stats import moments
from ttastats.stats.decision import side_of
from ttastats.stats.means import AgainstNumber, compare_with_number
from ttastats.stats.permutation import mann_whitney_p
from ttastats.table.schema import parse_extra

#: `told` is what nothing is asked of.
Result = Literal["passed", "failed", "not known", "told"]
_RESULTS: dict[bool | None, Result] = {True: "passed", False: "failed", None: "not known"}
#: The runs of each side by its letter; A is missing where there is no baseline.
Sides = Mapping[str, pl.DataFrame]

_MACHINE = ("hardware", "accelerators", "nodes")
_SURE = 0.05  # of times, where rules ask for no test
_OURS = " (our requirement: the rules do not ask for a test)"


class Rules(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The rules of one contest, as in `rules.toml`."""

    name: str
    title: str
    source: str
    read: str = ""  # the wording at the source that the rules were taken from
    counts: Literal["seconds", "steps", "quality"] = "seconds"  # what a record is better in
    metrics: tuple[str, ...] = ()  # names of the quality in logs; the first that logs have counts
    meets: Literal[">=", "<="] = "<="
    target: float | None = None  # of the mean quality
    earliest: bool = (
        False  # judged at the earliest common step where the target is met, not the end
    )
    level: float = 0.05  # of the one-sided t test of the mean
    sigma: float | None = None  # deviation of one run, if it is given: z instead of t
    tested: bool = True  # false: the rules ask for no test, and the level is ours
    least_score: float | None = None  # of margin times root of n, which then decides instead of p
    margin: float = 0.0  # by which a quality must beat that of the baseline
    most_seconds: float | None = None  # below which a run must stay
    replicate: str = ""  # extra field that numbers studies: their best times to the target count
    trials: tuple[int, ...] = ()  # numbers of trials that a study may have
    least_runs: int = 2  # runs (or studies) a side
    loss_per_step: float | None = None  # worth of a step between results of different length
    hint: str = ""  # how logs tell the quality, if not under its name
    remark: str = ""  # what else must be known


@cache
def all_rules() -> dict[str, Rules]:
    """Return all contest rules by their names."""
    text = resources.files("ttastats.answers.record").joinpath("rules.toml").read_bytes()
    (contests,) = msgspec.toml.decode(text, type=dict[str, tuple[Rules, ...]]).values()
    return {rules.name: rules for rules in contests}


def rules_named(name: str) -> Rules:
    """Return the rules of a name, or raise an error that lists the names."""
    if (rules := all_rules().get(name)) is not None:
        return rules
    raise TtastatsError(
        f"unknown rules {name!r}" if name else "no rules given",
        where="--rules",
        remedy=suggestion(name, all_rules(), "Rules", most=len(all_rules()))
        + " `--rules list` describes them.",
    )


class Check(Struct, frozen=True):
    """The result of one question about a record, with figures for people, numbers for programs.

    `decides`: there is no record unless it is passed; one that failed for want of evidence alone
    (`disproves` false) leaves it undecided.
    """

    name: str
    result: Result
    figures: str
    decides: bool = True
    disproves: bool = False
    numbers: Mapping[str, Any] = {}


def _check(name: str, outcome: bool | None, figures: str, **fields: Any) -> Check:
    """Return a check of the evidence; not known where `outcome` is None."""
    return Check(name, _RESULTS[outcome], figures, **fields)


def _claim(name: str, passed: bool | None, figures: str, **more: Any) -> Check:
    """Return a check of a requirement of the rules."""
    return _check(name, passed, figures, disproves=True, **more)


class JudgedRecord(Struct, frozen=True):
    """One benchmark, judged."""

    checks: tuple[Check, ...]

    @property
    def numbers(self) -> dict[str, Any]:
        """Return the numbers of all checks."""
        return {name: n for check in self.checks for name, n in check.numbers.items()}

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
    checks = _study_checks(sides, rules) if rules.replicate else _run_checks(sides, rules, stated)
    return JudgedRecord((*checks, *evidence(sides, rules)))


def unique(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs that count, without copies."""
    first = pl.struct("source_digest", "run_id").is_first_distinct()
    return left_out.counted(runs).filter(pl.col("source_digest").is_null() | first)


def _run_checks(sides: Sides, rules: Rules, stated: float | None) -> Iterator[Check]:
    runs, n_missing = {}, {}
    for name, table in sides.items():
        distinct_runs = unique(table)
        valued = runs[name] = distinct_runs.filter("reached")
        n_missing[name] = distinct_runs.height + left_out.rows(table).height - valued.height
        if valued.height < 2 and not (valued.height and rules.sigma):  # no spread is shown
            raise TtastatsError(
                f"{name} has {units.plural(valued.height, 'run')} with a value; a test needs at "
                f"least 2 per side{'' if rules.tested else _OURS}",
                where=f"--rules {rules.name}",
                remedy="Give more runs, or give the baseline as a number with --against.",
            )
    pairs = [pairing.Pair({}, runs["A"], runs["B"])] if "A" in runs else []
    contrast = next(iter(compare(pairs, END, Options())), None)
    if rules.counts == "quality":
        yield _gain_check(runs["B"], contrast, rules, stated)
    else:
        yield from (_target_check(name, runs[name], rules) for name in sorted(runs, reverse=True))
    if rules.counts == "steps":
        yield _steps_check(runs, stated)
    yield from _seconds_check(runs, contrast, rules, stated)
    means = {name: float(table["quality"].to_numpy().mean()) for name, table in runs.items()}
    yield from _length_check(runs, means, rules)
    counts = {name: table.height for name, table in runs.items()}
    yield _count_check(counts, rules, n_missing, quality=means)


def _count_check(
    counts: Mapping[str, int],
    rules: Rules,
    n_missing: Mapping[str, int],
    **means: Mapping[str, float],
) -> Check:
    """Return the check of the number of runs (or studies) a side, with their means."""
    forms = ("study", "studies") if rules.replicate else ("run", "runs")
    figures = units.join_names([f"{name} {units.plural(n, *forms)}" for name, n in counts.items()])
    if too_few := min(counts.values()) < rules.least_runs:
        figures += f"; the rules require {rules.least_runs}"
    missing_texts = [f"{n} of {name} without a value" for name, n in n_missing.items() if n]
    numbers = {f"{key}_{name.lower()}": number
               for key, by_side in {"n": counts, **means}.items()
               for name, number in by_side.items()}  # fmt: skip
    figures = "; ".join([figures, *missing_texts])
    return _check("runs", not (too_few or missing_texts), figures, numbers=numbers)


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


def _target_check(name: str, runs: pl.DataFrame, rules: Rules) -> Check:
    """Return the check of whether the mean quality of a side meets the target of the rules."""
    test = compare_with_threshold(runs, rules)
    sign = "≥" if rules.meets == ">=" else "≤"
    mean = digits_for([test.threshold], test.sd, test.mean).mean(test.mean, test.sd)
    figures = f"{_metric(runs)} {sign} {test.threshold:g}: mean {mean} of {runs.height}"
    margin = test.margin or 0.0
    if rules.least_score is not None:
        score = margin * math.sqrt(test.n)
        figures += f", margin × √n {score:.2g} (at least {rules.least_score:g})"
    if test.p_value is not None:
        kind = f"z with σ {rules.sigma:g}" if rules.sigma else "t"
        figures += f", one-sided {kind}: {_p_text(test.p_value, rules)}"
    figures += f", {condition_text(test.conditions)}" if test.conditions else ""
    figures += "" if rules.tested else _OURS
    outcome = meets_target(test, rules) or (None if margin > 0 else False)
    if outcome is None and (n_needed := test.runs_needed) and n_needed > test.n:
        figures += f"; {n_needed:,} such runs would show it"
    if name == "A":
        return _claim("A's quality", outcome, figures, decides=False)
    return _claim("quality", outcome, figures, numbers={"quality_p": test.p_value})


def _gain_check(
    runs: pl.DataFrame, contrast: QualityComparison | None, rules: Rules, stated: float | None
) -> Check:
    """Return the check of whether B beats the quality of A, or a stated one, by the margin."""
    up, p_value = 1 if rules.meets == ">=" else -1, None
    values = runs["quality"].to_numpy()
    mean, sd = moments.mean(values), moments.standard_deviation(values)
    if contrast is not None:
        gap = contrast.difference
        if gap is None:
            remedy = "Select one with --metric."
            raise TtastatsError("the sides log different metrics", remedy=remedy)
        gain = up * gap.estimate
        if gap.se and gap.df:
            p_value = moments.t_tail(gap.df, (gain - rules.margin) / gap.se)
    elif stated is not None:
        gain = up * (mean - stated)
        p_value = compare_with_threshold(runs, rules, stated + up * rules.margin).p_value
    else:
        return _claim("quality", None, "no baseline")
    digits = digits_for([], sd, mean)
    figures = (
        f"{_metric(runs)}: mean {digits.mean(mean, sd)} of {runs.height}, better by "
        f"{digits.signed(gain)} (at least {rules.margin:.2g})"
    )
    figures += "" if p_value is None else f": {_p_text(p_value, rules)}"
    outcome = p_value is not None and p_value < rules.level
    unknown = not outcome and gain > rules.margin
    numbers = {"quality_p": p_value}
    return _claim("quality", None if unknown else outcome, figures, numbers=numbers)


def _metric(runs: pl.DataFrame) -> str:
    return str(runs["target_metric"].drop_nulls().first() or "quality")


def _p_text(p_value: float, rules: Rules) -> str:
    return f"{units.p_text(p_value)}, level {percentages.percent_text(rules.level)}"


def _most_steps(runs: pl.DataFrame) -> float | None:
    """Return the steps of the longest run; None if unknown for one."""
    steps = runs["steps"]
    return None if steps.null_count() or steps.is_empty() else float(max(steps))


def _steps_check(runs: Sides, stated: float | None) -> Check:
    a, b = _most_steps(runs["A"]) if "A" in runs else stated, _most_steps(runs["B"])
    if a is None or b is None:
        figures = "not logged" if b is None else f"B {b:,.0f}, no baseline"
        return _claim("fewer steps", None, figures)
    numbers = {"steps_a": a, "steps_b": b}
    return _claim("fewer steps", b < a, f"A {a:,.0f}, B {b:,.0f}", numbers=numbers)


def _seconds_check(
    runs: Sides, contrast: QualityComparison | None, rules: Rules, stated: float | None
) -> Iterator[Check]:
    """Yield the check of times, which only informs where another thing counts."""
    decides = rules.counts == "seconds"
    silent = " and ".join(name for name, table in runs.items() if table["tta_seconds"].null_count())
    if silent or (contrast is None and (stated is None or not decides)):
        figures = f"not in the logs of {silent}" if silent else "no baseline"
        yield from [_claim("faster", None, figures)] if decides else []
        return
    times = {name: table["tta_seconds"].to_numpy() for name, table in runs.items()}
    mean_b, p_value = float(times["B"].mean()), None
    estimate = low = high = None
    if contrast is None:
        mean_a = stated or math.nan
        mean = compare_with_number(times["B"], mean_a, higher_is_better=False, level=_SURE / 2)
        estimate = mean_a / mean_b
        # A mean time that may be 0 or less bounds its reciprocal on one side only.
        low = mean_a / mean.high if mean.high else None
        high = None if mean.low is None else mean_a / mean.low if mean.low > 0 else math.inf
    else:
        mean_a, ratio = float(times["A"].mean()), contrast.ratio
        if ratio is not None:
            estimate, low, high, p_value = ratio.estimate, ratio.low, ratio.high, ratio.p_value
    figures = f"A {units.seconds(mean_a)}, B {units.seconds(mean_b)}"
    figures += "" if estimate is None else f": ratio {units.ratio_interval(estimate, low, high)}"
    figures += "" if p_value is None else f", {units.p_text(p_value)}"
    numbers = {
        "seconds_a": mean_a, "seconds_b": mean_b, "seconds_ratio": estimate,
        "seconds_low": low, "seconds_high": high, "seconds_p": p_value,
    }  # fmt: skip
    outcome = {1: True, -1: False}.get(side_of(1.0, low, high))
    if decides:
        yield _claim("faster", outcome, figures, numbers=numbers)
    else:
        yield Check("time ratio", "told", figures, decides=False, numbers=numbers)


def _length_check(runs: Sides, means: Mapping[str, float], rules: Rules) -> Iterator[Check]:
    """Yield the check of results of different length, for which the rules do not ask."""
    if rules.loss_per_step is None or rules.least_score is None or "A" not in runs:
        return
    a, b = (_most_steps(runs[name]) for name in ("A", "B"))
    if a is None or b is None:
        return
    gain = means["A"] - means["B"] + (a - b) * rules.loss_per_step
    score = gain / math.sqrt(1 / runs["A"].height + 1 / runs["B"].height)
    figures = f"{score:.2g}, at least {rules.least_score:g} shows that B is better than A"
    outcome = score >= rules.least_score * (1 - 1e-9) or None
    yield _check("pairwise", outcome, figures, decides=False)


def _study_checks(sides: Sides, rules: Rules) -> Iterator[Check]:
    """Yield the checks of studies: the median over studies of their best trials."""
    studies = {name: _best_trials(runs, rules) for name, runs in sides.items()}
    medians = {name: float(np.median(best["best"])) for name, best in studies.items()}
    counts = {name: best.height for name, best in studies.items()}
    yield _count_check(counts, rules, {}, seconds=medians)
    trials = {name: best["trials"].unique().sort().to_list() for name, best in studies.items()}
    texts = {name: " or ".join(map(str, numbers)) for name, numbers in trials.items()}
    figures = f"{units.join_names([f'{name} {text}' for name, text in texts.items()])} per study"
    equal = any(all(numbers == [n] for numbers in trials.values()) for n in rules.trials)
    if not equal:
        figures += f"; the rules require {' or '.join(map(str, rules.trials))} in every study"
    yield _check("trials", equal, figures)
    for name in sorted(sides, reverse=True):
        *times, middle = (
            units.seconds(end, 4) if math.isfinite(end) else "–"
            for end in (*studies[name]["best"], medians[name])
        )
        reached = math.isfinite(medians[name])
        figures = (
            f"median {middle if reached else 'not reached'} of the best of {texts[name]} trials: "
            f"{units.join_names(times)}"
        )
        title = "quality" if name == "B" else "A's quality"
        yield _claim(title, reached, figures, decides=name == "B")
    yield _studies_faster_check(studies, medians, comparable=equal)


def _best_trials(runs: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """Return the best time of each study; infinite if none of its trials reached."""
    runs = unique(runs)
    names = [parse_extra(text).get(rules.replicate) for text in runs["extra"].to_list()]
    where = f"--rules {rules.name}"
    if None in names:
        raise TtastatsError(
            f"not all runs record their {rules.replicate}",
            where=where,
            remedy="Take it from the path when you ingest: --files "
            f"'.../{rules.replicate}_{{{rules.replicate}}}/...'",
        )
    if runs.filter(pl.col("reached") & pl.col("tta_seconds").is_null()).height:
        raise TtastatsError("runs reached the target and do not tell when", where=where)
    time = pl.when("reached").then("tta_seconds").otherwise(float("inf"))
    studies = pl.Series("study", map(str, names), dtype=pl.String)
    return runs.group_by(studies).agg(best=time.min(), trials=pl.len()).sort("study")


def _studies_faster_check(
    studies: Sides, medians: Mapping[str, float], *, comparable: bool
) -> Check:
    """Return the check of medians, with a rank test against chance."""
    if "A" not in studies:
        return _claim("faster", None, "no baseline")
    a, b = medians["A"], medians["B"]
    numbers = {"seconds_ratio": a / b if math.isfinite(b) else None}
    if not comparable:
        figures = "not judged with these numbers of trials"
        return _claim("faster", None, figures, numbers=numbers)
    if not b < a:
        figures = "the median of B is not less than that of A"
        return _claim("faster", False, figures, numbers=numbers)
    # Times that were not reached rank last and tie.
    ranked = [best["best"].replace(float("inf"), 1e300).to_numpy() for best in studies.values()]
    one_sided = mann_whitney_p(*ranked, rng=np.random.default_rng(1)) / 2
    finite = math.isfinite(a)
    ratio = f"ratio of medians {units.ratio(a / b)}" if finite else "A's median does not reach it"
    figures = f"{ratio}, one-sided rank test of studies: {units.p_text(one_sided)}{_OURS}"
    return _claim("faster", one_sided <= _SURE + 1e-9 or None, figures, numbers=numbers)


def evidence(all_sides: Sides, rules: Rules) -> Iterator[Check]:
    """Yield the checks of the design of each side's runs; `all_sides` includes copies."""
    sides = {name: unique(runs) for name, runs in all_sides.items()}
    copies = [
        f"{units.plural(n, 'copy', 'copies')} in {name}"
        for name, runs in all_sides.items()
        if (n := left_out.standing(runs).height - sides[name].height)
    ]
    if "A" in sides and (n_shared := len(pairing.shared_contents(sides["A"], sides["B"]))):
        copies.append(f"{units.plural(n_shared, 'run')} of A also in B")
    figures = f"{units.join_names(copies)}; each run counts once" if copies else "none"
    yield _check("copies", not copies, figures)
    yield _seeds_check(sides, rules)
    mixtures = _mixed_texts({name: sorted(runs["entry"].drop_nulls().unique())
                             for name, runs in sides.items()})  # fmt: skip
    mixtures += [f"{name} mixes two speeds: {speeds_text}, as of two machines"
                 for name, runs in sides.items() if (speeds_text := speeds(runs))]  # fmt: skip
    yield _check("one setup", not mixtures, "; ".join(mixtures) or "one entry a side")
    yield _machines_check(sides, rules)
    yield _order_check(sides)
    if rules.most_seconds is not None:
        yield _limit_check(sides["B"], rules.most_seconds)
    elif not rules.replicate:
        yield _stop_check(sides)


def _seeds_check(sides: Sides, rules: Rules) -> Check:
    if rules.replicate:
        return _check("seeds", None, "trials are selected within studies", decides=False)
    repeated = []
    for name, runs in sides.items():
        counts = sorted(Counter(runs["seed"].drop_nulls()).items())
        if seeds := [f"{seed} {n} times" for seed, n in counts if n > 1]:
            repeated.append(f"{name}: {units.join_names(seeds)}")
    if repeated:
        return _check("seeds", False, f"repeated: {'; '.join(repeated)}")
    if silent := " and ".join(name for name, runs in sides.items() if runs["seed"].null_count()):
        return _check("seeds", None, f"seed missing in some logs of {silent}")
    return _check("seeds", True, "unique")


def _mixed_texts(kinds: Mapping[str, list[str]]) -> list[str]:
    return [f"{name} mixes {units.join_names(of)}" for name, of in kinds.items() if len(of) > 1]


def _machines_check(sides: Sides, rules: Rules) -> Check:
    machines: dict[str, list[str]] = {}
    for name, runs in sides.items():
        kinds = runs.filter(pl.col("hardware").is_not_null()).select(_MACHINE).unique()
        machines[name] = [
            f"{f'{accelerators} x ' if accelerators else ''}{hardware}"
            f"{f' on {nodes} nodes' if nodes and nodes > 1 else ''}"
            for hardware, accelerators, nodes in kinds.sort(_MACHINE).iter_rows()
        ]
    of_time = rules.counts == "seconds"
    if mixtures := _mixed_texts(machines):
        return _check("machines", False, "; ".join(mixtures), disproves=False, decides=of_time)
    if silent := " and ".join(name for name, kinds in machines.items() if not kinds):
        seconds = {name: runs["run_seconds"].drop_nulls().sort() for name, runs in sides.items()}
        times = [
            f"runs of {name} took {units.seconds(of[0], 4)} to {units.seconds(of[-1], 4)}"
            for name, of in seconds.items()
            if of.len()
        ]
        times_text = f"; {units.join_names(times)}" if times else ""
        return _check("machines", None, f"not in the logs of {silent}{times_text}")
    (b,) = machines["B"]
    if of_time and "A" not in machines:
        return _check("machines", None, f"B ran on {b}; no baseline runs")
    if "A" in machines and machines["A"] != [b]:
        figures = f"A ran on {machines['A'][0]}, B on {b}"
        return _check("machines", False, figures, decides=of_time)
    return _check("machines", True, b)


def _order_check(sides: Sides) -> Check:
    started = [starts(runs) for runs in sides.values()]
    outcome, figures = None, "start times are not logged"
    if "A" not in sides:
        figures = "no baseline runs"
    elif None not in started and in_separate_sessions(*started):
        outcome, figures = False, "all runs of one side started before the first of the other"
    elif None not in started:
        starts_and_names = [
            (start, name) for name, runs in sides.items() for start in runs["started_at"]
        ]
        turns = 1 + sum(
            earlier != later for (_, earlier), (_, later) in pairwise(sorted(starts_and_names))
        )
        outcome, figures = True, f"interleaved, in {turns} turns"
    return _check("order", outcome, figures, decides=False)


def _limit_check(b: pl.DataFrame, limit: float) -> Check:
    times = b["tta_seconds"]
    if times.null_count():
        return _check("time", None, f"the logs of B do not show that {limit:g} s was kept")
    longest = float(max(times))
    figures = f"the longest run of B took {longest:.7g} s; under {limit:g} s is required"
    return _claim("time", longest < limit, figures)


def _stop_check(sides: Sides) -> Check:
    """Return the check of whether all runs of a side end after the same training."""
    ends = {name: _lengths_of(runs.filter("reached")) for name, runs in sides.items()}
    shortest = {
        name: "" if end.equal else f"{end.text(end.least)} to " for name, end in ends.items()
    }
    figures = units.join_names(
        [f"{name} {shortest[name]}{end.text(end.most)}" for name, end in ends.items()]
    )
    unequal_units = {end.unit for end in ends.values() if not end.equal}
    # Times of equal training vary: alone they do not show another stop.
    if unequal_units == {"seconds"}:
        figures = f"steps, samples and epochs not logged; {figures}"
        return _check("same stop", None, figures)
    return _check("same stop", not unequal_units, figures)


def _lengths_of(runs: pl.DataFrame) -> Lengths:
    """Return the lengths of runs, in steps if all log them.

    Without steps, samples and epochs, runs with the same number of evaluations, 2 or more, have
    one length.
    """
    length = lengths(runs)
    without_clock = lengths(runs.with_columns(observed_seconds=pl.lit(None, pl.Float64)))
    by_clock = length.unit == "seconds" and not length.equal
    is_fixed_length = by_clock and without_clock.equal and without_clock.most > 1
    return length if runs["steps"].null_count() and not is_fixed_length else without_clock
