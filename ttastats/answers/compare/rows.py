"""What are the numbers of one comparison for programs? A row, of times or of qualities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Generic, TypeVar

import polars as pl
from msgspec import UNSET, Struct, UnsetType, field

from ttastats.outcomes import left_out
from ttastats.outcomes.axis import AXES, SECONDS, Axis
from ttastats.outcomes.budget import Budget
from ttastats.outcomes.target import asked
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.grouping import row_keys
from ttastats.report.row import Key, Number, Row
from ttastats.sides import blocking, setups
from ttastats.sides.comparison import Comparison
from ttastats.sides.findings import condition_list
from ttastats.sides.options import Options
from ttastats.sides.pairing import Pair
from ttastats.sides.quality_comparison import OtherMetric, QualityComparison
from ttastats.stats.decision import OF_STRAGGLERS, Decision
from ttastats.stats.means import MeanDifference
from ttastats.stats.results import Difference, Ratio, Verdict
from ttastats.stats.speedup import Speedup, equivalence_confidence, time_saved

_Label = Annotated[str, Key("what the side is called")]
_Estimand = Annotated[
    str, Key("what is compared: mean, geomean, ert (a run failed) or quality (at a budget)")
]
_Setups = Annotated[int, Key("setups of the side", "setups")]
_EpochSafe = Annotated[Number, Key("limit of the speedup that allows for unseen epochs", "ratio")]
_Robust = Annotated[
    Number, Key("limit of the speedup that allows for unseen epochs and stragglers", "ratio")
]
_Setup = Annotated[str, Key("setup of the side in words, where the sides differ")]
_Deciding = Annotated[
    Number, Key("limit of the interval that decides, where it is not that of the speedup", "ratio")
]
_Shift = Annotated[
    float, Key("change of the mean if every run took one evaluation interval more", "fraction")
]
_Startup = Annotated[
    Number, Key("mean start-up before the first epoch, where it is a factor", "seconds")
]
_RunsNeeded = Annotated[int | None, Key("runs on each side that would decide", "runs")]
_Flags = Annotated[list[str], Key("codes of what is particular to the runs")]
_Exceptions = Annotated[str | None, Key("exceptions that ended runs, each with its number")]
_Gated = Annotated[str, Key("what the gate comes to for this row")]
_WithValue = Annotated[int, Key("runs that have a value at the budget", "runs")]
_Missing = Annotated[int, Key("runs that have none", "runs")]
_Quality = Annotated[Number, Key("mean quality at the budget", "metric")]
_Deviation = Annotated[Number, Key("its standard deviation", "metric")]
_Target = Annotated[Number, Key("target of the runs", "metric")]
_PTarget = Annotated[Number, Key("one-sided p that the mean does not meet the target")]
_Spent = Annotated[Number, Key("mean cost of the value: time, or what `axis` counts", "axis")]
_WorseBy = Annotated[Number, Key("one-sided limit of how much worse B is", "metric")]
_VerdictOfQualities = Annotated[str, Key("of B: better, worse, same, undecided or unavailable")]


class LookKeys(Row, frozen=True, kw_only=True):
    """The look at the runs, and its plan (`--sequential`)."""

    sequential: Annotated[
        bool, Key("whether the runs are looked at more than once (`--sequential`)")
    ] = True
    max_runs: Annotated[int, Key("most runs on each side of the plan", "runs")] = 0
    look: Annotated[int | None, Key("runs on each side at this look", "runs")] = None
    look_level: Annotated[Number, Key("level of the test at this look", "fraction")] = None


_OF_SETS = "fraction; at a budget, unit of the metric"


class SameKeys(Row, frozen=True, kw_only=True):
    """The variation between sessions by the sets of one setup (`--same`)."""

    same: Annotated[bool, Key("whether the sides are of one setup (`--same`)")] = True
    sets: Annotated[int, Key("sets of runs", "sets")] = 1
    between: Annotated[Number, Key("standard deviation between sessions", _OF_SETS)] = None
    between_high: Annotated[Number, Key("its upper limit, one-sided", _OF_SETS)] = None
    unlike: Annotated[
        Number, Key("share of sessions unlike these that so many do not exclude", "fraction")
    ] = None
    smallest_claim: Annotated[
        Number, Key("smallest difference of two sessions that is worth claiming", _OF_SETS)
    ] = None


class _AnyRow(Row, frozen=True, kw_only=True):
    """The common keys of all rows of comparisons, whatever their order."""

    @property
    def word(self) -> Verdict:
        """Return the verdict."""
        return Verdict(self.get("verdict"))

    @property
    def benchmark(self) -> str | None:
        """Return the benchmark, which is a key of every row."""
        return self.keys.get("benchmark")

    @property
    def on(self) -> Axis:
        """Return the axis on which the sides are compared."""
        return AXES[self.get("axis")]

    @property
    def carried(self) -> tuple[str, ...]:
        """Return the conditions of a claim by design (`setups pooled`); none without a claim."""
        return condition_list(self.get("conditions")) if self.word.decided else ()


class TimesRow(_AnyRow, frozen=True, kw_only=True):
    """The numbers of one comparison of times to a target.

    With `--also METRIC`, keys that begin with its name follow: `METRIC_a`, `METRIC_b`,
    `METRIC_difference` with its limits, p and verdict; with `--block`, `blocks`, `blocks_alone` and
    `p_blocks_differ`; with profiles, the factors of the throughput.
    """

    a: _Label = "A"
    b: _Label = "B"
    axis: key.AxisName = SECONDS.name
    n_a: key.RunCount = 0
    reached_a: key.ReachedCount = 0
    tta_a_seconds: key.TtaMean = None
    cv_a: key.Cv = None
    cv_a_low: key.Low = None
    cv_a_high: key.High = None
    ert_a_seconds: key.Ert = None
    setups_a: _Setups = 1
    n_b: key.RunCount = 0
    reached_b: key.ReachedCount = 0
    tta_b_seconds: key.TtaMean = None
    cv_b: key.Cv = None
    cv_b_low: key.Low = None
    cv_b_high: key.High = None
    ert_b_seconds: key.Ert = None
    setups_b: _Setups = 1
    estimand: _Estimand = "mean"
    speedup: key.SpeedupOfB = None
    speedup_low: key.Low = None
    speedup_high: key.High = None
    time_saved: Annotated[Number, Key("share of the time of A that B saves", "fraction")] = None
    epoch_safe_low: _EpochSafe = None
    epoch_safe_high: _EpochSafe = None
    robust_low: _Robust = None
    robust_high: _Robust = None
    non_inferiority_low: Annotated[
        Number, Key("one-sided lower limit of the speedup, unseen epochs included", "ratio")
    ] = None
    inferiority_high: Annotated[
        Number, Key("one-sided upper limit of the speedup, unseen epochs included", "ratio")
    ] = None
    planning_cv: Annotated[
        Number, Key("coefficient of variation that `runs_needed` is for", "fraction")
    ] = None
    epoch_shift_a: _Shift = 0.0
    epoch_shift_b: _Shift = 0.0
    p_value: key.PAlone = None
    p_adjusted: key.PAdjusted = None
    p_permutation: Annotated[Number, Key("p of no difference by permutation of the runs")] = None
    progress_unit: Annotated[
        str | None, Key("unit in which the runs count progress: epochs, samples or steps")
    ] = None
    throughput_speedup: Annotated[Number, Key("time per epoch of A over that of B", "ratio")] = None
    throughput_low: key.Low = None
    throughput_high: key.High = None
    throughput_conditions: Annotated[
        list[str] | UnsetType,
        Key("codes of what a throughput that differs holds under, where it does"),
    ] = UNSET
    epochs_ratio: Annotated[Number, Key("epochs to the target of A over those of B", "ratio")] = (
        None
    )
    epochs_low: key.Low = None
    epochs_high: key.High = None
    startup_a_seconds: _Startup = None
    startup_b_seconds: _Startup = None
    startup_ratio: Annotated[
        Number, Key("factor of the speedup by start-up, beside throughput and epochs", "ratio")
    ] = None
    reached_difference: Annotated[
        Number, Key("share of runs that reached the target, B minus A", "fraction")
    ] = None
    reached_difference_low: key.Low = None
    reached_difference_high: key.High = None
    p_reached: Annotated[Number, Key("p of no difference of these shares")] = None
    prob_b_faster: Annotated[
        Number, Key("how often a run of B is faster than one of A", "fraction")
    ] = None
    other_mean_ratio: Annotated[
        Number, Key("the speedup by the other mean: geometric, or arithmetic", "ratio")
    ] = None
    detectable_ratio: Annotated[
        Number, Key("the speedup that so many runs detect with 80% power", "ratio")
    ] = None
    runs_needed: _RunsNeeded = None
    runs_needed_certain: Annotated[
        int | None,
        Key("where a run failed, runs for a claim that holds too if further runs fail", "runs"),
    ] = None
    verdict: key.VerdictOfTimes = Verdict.UNAVAILABLE.value
    dagger: key.Dagger = False
    conditions: key.Conditions = field(default_factory=list)
    marks: key.Marks = ""
    why: key.Why = None
    claim: Annotated[str, Key("the verdict in words, as the table shows it")] = ""
    flags: _Flags = field(default_factory=list)
    lost_a: key.LeftOutOfA = key.LeftOutOfA()
    lost_b: key.LeftOutOfB = key.LeftOutOfB()
    exceptions_a: _Exceptions = None
    exceptions_b: _Exceptions = None
    accelerators: Annotated[
        Any, Key("accelerators, where both sides have as many", "accelerators")
    ] = None
    hardware: Annotated[Any, Key("hardware, where both sides have the same")] = None
    target_metric: Annotated[
        str | None, Key("metric of the target, where all runs have the same")
    ] = None
    target_value: Annotated[Number, Key("its value", "metric")] = None
    target: Annotated[str, Key("the target of both sides, in words")] = ""
    setup_a: _Setup = ""
    setup_b: _Setup = ""
    sides_differ_in: Annotated[
        list[str], Key("accelerators, nodes, division or hardware, where the sides differ in them")
    ] = field(default_factory=list)
    deciding_low: _Deciding = None
    deciding_high: _Deciding = None
    also: Row = Row()
    look: LookKeys | UnsetType = UNSET
    blocks: Row = Row()
    same: SameKeys | UnsetType = UNSET
    factors: Row = Row()
    gate: _Gated | UnsetType = UNSET
    #: key.Why there is no verdict, where there is none; programs read it in the claim.
    reason: str = field(default="", name="")

    @property
    def all_reached(self) -> bool:
        """Return whether no run of either side failed."""
        return self.reached_a == self.n_a and self.reached_b == self.n_b


class QualitiesRow(_AnyRow, frozen=True, kw_only=True):
    """The numbers of one comparison of qualities at a budget; `speedup` is that of the costs."""

    a: _Label = "A"
    b: _Label = "B"
    estimand: _Estimand = "quality"
    at: Annotated[str, Key("the budget")] = ""
    metric: Annotated[str | None, Key("the metric of the quality")] = None
    higher_is_better: Annotated[bool, Key("whether more of it is better")] = False
    axis: key.AxisName = SECONDS.name
    n_a: _WithValue = 0
    missing_a: _Missing = 0
    quality_a: _Quality = None
    sd_a: _Deviation = None
    target_a: _Target = None
    p_target_a: _PTarget = None
    seconds_a: _Spent = None
    n_b: _WithValue = 0
    missing_b: _Missing = 0
    quality_b: _Quality = None
    sd_b: _Deviation = None
    target_b: _Target = None
    p_target_b: _PTarget = None
    seconds_b: _Spent = None
    difference: Annotated[Number, Key("mean quality of B minus that of A", "metric")] = None
    difference_low: key.Low = None
    difference_high: key.High = None
    worse_by_low: _WorseBy = None
    worse_by_high: _WorseBy = None
    p_value: key.PAlone = None
    p_adjusted: key.PAdjusted = None
    verdict: _VerdictOfQualities = Verdict.UNAVAILABLE.value
    why: key.Why = None
    runs_needed: _RunsNeeded = None
    speedup: Annotated[Number, Key("cost of A over that of B", "ratio")] = None
    speedup_low: key.Low = None
    speedup_high: key.High = None
    p_speedup: Annotated[Number, Key("p of no difference of the costs")] = None
    conditions: key.Conditions = field(default_factory=list)
    flags: _Flags = field(default_factory=list)
    lost_a: key.LeftOutOfA = key.LeftOutOfA()
    lost_b: key.LeftOutOfB = key.LeftOutOfB()
    blocks: Row = Row()
    exceptions_a: _Exceptions = None
    exceptions_b: _Exceptions = None
    same: SameKeys | UnsetType = UNSET
    gate: _Gated | UnsetType = UNSET
    #: What people read; programs have the numbers.
    sentence: str = field(default="", name="")


CompareRow = TimesRow | QualitiesRow


def rows_of(report: Report) -> tuple[CompareRow, ...]:
    """Return the rows of a comparison."""
    return tuple(row for row in report.records if isinstance(row, TimesRow | QualitiesRow))


def times_row(contrast: Comparison, pair: Pair, by: Sequence[str], options: Options) -> TimesRow:
    """Return the row of a comparison of times."""
    speedup, plan, parts = contrast.speedup, contrast.plan, contrast.parts
    ratio, startup = speedup.ratio if speedup else None, parts.startup if parts else None
    common = _common_keys(contrast, pair, by)
    setup_columns = ("accelerators", "hardware")
    setup: dict[str, Any] = {name: setups.common(pair.a, pair.b, name) for name in setup_columns}
    common["keys"] |= {name: value for name, value in setup.items() if name in common["keys"]}
    side_targets = [runs.select("target_metric", "target_value") for runs in (pair.a, pair.b)]
    targets = pl.concat(side_targets, how="vertical_relaxed").unique()
    metric, value = targets.row(0) if targets.height == 1 else (None, None)
    columns, setup_a, setup_b = setups.differing(pair.a, pair.b)
    look: LookKeys | UnsetType = UNSET
    if options.max_runs is not None:
        look = LookKeys(max_runs=options.max_runs)
        if speedup and (at := speedup.look):
            level = at.level(1 - options.confidence)
            look = LookKeys(max_runs=options.max_runs, look=at.n, look_level=level)
    codes = (*pair.flags, *(flag.code for flag in contrast.flags), *pair.lost.flags)
    return TimesRow(
        **common,
        **_side_keys(
            lambda side: {
                "n_{}": side.n,
                "reached_{}": side.n_reached,
                "tta_{}_seconds": side.mean_seconds,
                "cv_{}": side.cv,
                "cv_{}_low": side.cv_low,
                "cv_{}_high": side.cv_high,
                "ert_{}_seconds": side.ert_seconds,
                "setups_{}": len(side.design.setups),
            },
            contrast.a,
            contrast.b,
        ),
        estimand=contrast.estimand,
        **interval_keys("speedup", ratio),
        time_saved=time_saved(ratio.estimate) if ratio and ratio.estimate else None,
        **(_allowance_keys(speedup) if speedup else {}),
        planning_cv=plan.cv if plan else None,
        p_value=contrast.p_value,
        p_permutation=contrast.p_permutation,
        progress_unit=contrast.progress_unit,
        **interval_keys("throughput_speedup", parts.throughput if parts else None, "throughput"),
        throughput_conditions=[*parts.conditions] if parts and parts.conditions else UNSET,
        **interval_keys("epochs_ratio", parts.progress if parts else None, "epochs"),
        startup_a_seconds=startup.a_seconds if startup else None,
        startup_b_seconds=startup.b_seconds if startup else None,
        startup_ratio=startup.ratio.estimate if startup else None,
        **interval_keys("reached_difference", contrast.fraction),
        p_reached=contrast.fraction_p,
        prob_b_faster=contrast.wins.estimate if contrast.wins else None,
        other_mean_ratio=contrast.other_mean.estimate if contrast.other_mean else None,
        detectable_ratio=plan.detectable if plan else None,
        runs_needed=plan.needed if plan else None,
        runs_needed_certain=plan.certain if plan else None,
        **verdict_numbers(contrast.verdict),
        claim=contrast.verdict.claim,
        reason=contrast.verdict.reason,
        flags=list(dict.fromkeys(codes)),
        **setup,
        target_metric=metric,
        target_value=value,
        target=asked(pair.a, pair.b),
        setup_a=setup_a,
        setup_b=setup_b,
        sides_differ_in=columns,
        **_deciding_keys(speedup, contrast.verdict),
        look=look,
        blocks=Row(keys=blocking.block_keys(pair, contrast.by_block, ratios=True)),
    )


def qualities_row(
    contrast: QualityComparison, pair: Pair, by: Sequence[str], budget: Budget
) -> QualitiesRow:
    """Return the row of a comparison of qualities at a budget."""
    gap, ratio, limits = contrast.difference, contrast.ratio, contrast.one_sided
    worse_by: Sequence[Number] = (None, None)
    if limits is not None and all(map(math.isfinite, limits)):
        worse_by = sorted(-end if contrast.higher_is_better else end for end in limits)
    return QualitiesRow(
        **_common_keys(contrast, pair, by),
        at=str(budget),
        metric=contrast.metric,
        higher_is_better=contrast.higher_is_better,
        **_side_keys(
            lambda side: {
                "n_{}": side.n,
                "missing_{}": side.missing,
                "quality_{}": side.mean,
                "sd_{}": side.sd,
                "target_{}": side.meets.threshold if side.meets else None,
                "p_target_{}": side.meets.p_value if side.meets else None,
                "seconds_{}": side.spent,
            },
            contrast.a,
            contrast.b,
        ),
        **interval_keys("difference", gap),
        worse_by_low=worse_by[0],
        worse_by_high=worse_by[1],
        p_value=gap.p_value if gap else None,
        verdict=contrast.verdict.word.value,
        why=contrast.verdict.why or None,
        runs_needed=gap.runs_needed if gap else None,
        **interval_keys("speedup", ratio),
        p_speedup=ratio.p_value if ratio else None,
        conditions=list(contrast.verdict.conditions),
        flags=[
            *(flag.code for flag in (gap.flags if gap else ())),
            *(finding.code for finding in contrast.findings),
            *pair.lost.flags,
        ],
        blocks=Row(keys=blocking.block_keys(pair, contrast.by_block)),
    )


def _common_keys(
    contrast: Comparison | QualityComparison, pair: Pair, by: Sequence[str]
) -> dict[str, Any]:
    (a, b), lost = pair.labels, pair.lost
    return {
        "keys": {name: contrast.keys.get(name) for name in row_keys(by)},
        "a": a,
        "b": b,
        "axis": contrast.axis.name,
        "p_adjusted": contrast.p_adjusted,
        "lost_a": key.LeftOutOfA(*lost.a.counts),
        "lost_b": key.LeftOutOfB(*lost.b.counts),
        **left_out.exceptions_of(pair.a, pair.b),
    }


def _side_keys(numbers: Callable[[Any], Mapping[str, Any]], a: object, b: object) -> dict[str, Any]:
    return {
        key.format(name): value
        for name, side in (("a", a), ("b", b))
        for key, value in numbers(side).items()
    }


def interval_keys(
    name: str,
    interval: Ratio | Difference | MeanDifference | None,
    stem: str = "",
    *,
    factor: float = 1.0,
) -> dict[str, Any]:
    """Return an estimate and the limits of its interval as keys, each times a factor."""
    ends = (interval.estimate, interval.low, interval.high) if interval else (None, None, None)
    keys = (name, f"{stem or name}_low", f"{stem or name}_high")
    scaled = (None if end is None else end * factor for end in ends)
    return dict(zip(keys, scaled, strict=True))


def _allowance_keys(speedup: Speedup) -> dict[str, Any]:
    """Return the limits of a speedup that allow for unseen epochs, and for stragglers, as keys."""
    confidence = speedup.ratio.confidence
    one_sided = speedup.limits(equivalence_confidence(confidence), epochs=True)
    low, high = one_sided or (None, None)
    a, b = speedup.epoch_shifts
    keys: dict[str, Any] = {"non_inferiority_low": low, "inferiority_high": high}
    keys |= {"epoch_shift_a": a, "epoch_shift_b": b}
    widened = {"robust": speedup.limits(confidence, epochs=True, stragglers=True)}
    if speedup.unseen_epochs:
        widened["epoch_safe"] = speedup.limits(confidence, epochs=True)
    for name, limits in widened.items():
        if limits is not None and math.isfinite(limits[1]):
            keys |= {f"{name}_low": limits[0], f"{name}_high": limits[1]}
    return keys


def _deciding_keys(speedup: Speedup | None, verdict: Decision) -> dict[str, Any]:
    """Return the deciding interval of a direction as keys, where it is not that of the speedup.

    Undecided is what no allowance but that for evaluation intervals could have decided.
    """
    if speedup is None or verdict.word in {Verdict.SAME, Verdict.UNAVAILABLE}:
        return {}
    conditions, is_directed = verdict.conditions, verdict.word.directed
    limits = speedup.limits(
        speedup.ratio.confidence,
        epochs=is_directed and "constant_epochs" not in conditions,
        stragglers=is_directed and bool(speedup.doubts) and OF_STRAGGLERS.isdisjoint(conditions),
    )
    if limits is None or limits == (speedup.ratio.low, speedup.ratio.high) or math.isinf(limits[1]):
        return {}
    return {"deciding_low": limits[0], "deciding_high": limits[1]}


def verdict_numbers(verdict: Decision) -> dict[str, Any]:
    """Return the keys of a verdict on times."""
    return {
        "verdict": verdict.word.value,
        "dagger": verdict.assumes_constant_epochs,
        "conditions": list(verdict.conditions),
        "marks": verdict.marks,
        "why": verdict.why or None,
    }


C_co = TypeVar("C_co", bound="Comparison | QualityComparison", covariant=True)
R_co = TypeVar("R_co", bound=CompareRow, covariant=True)


class Result(Struct, Generic[C_co, R_co], frozen=True, eq=False):
    """A comparison with its runs, row and name; `marked`: its claim and conditions are shown."""

    contrast: C_co
    pair: Pair
    row: R_co
    name: str
    also: tuple[OtherMetric, ...] = ()
    marked: bool = True

    def get(self, name: str) -> Any:
        """Return the value of a key of the row."""
        return self.row.get(name)


Times = Result[Comparison, TimesRow]
Qualities = Result[QualityComparison, QualitiesRow]
