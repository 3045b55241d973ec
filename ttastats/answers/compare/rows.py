"""What are the numbers of one comparison for programs? A row, of times or of qualities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import polars as pl
from msgspec import UNSET, UnsetType, field

from ttastats.outcomes import left_out
from ttastats.outcomes.axis import AXES, SECONDS, Axis
from ttastats.outcomes.budget import Budget
from ttastats.outcomes.left_out import BothSides
from ttastats.report.answer import Report
from ttastats.report.grouping import row_keys
from ttastats.report.keys import LeftOutOfA, LeftOutOfB
from ttastats.report.row import Row
from ttastats.sides import blocking, setups
from ttastats.sides.comparison import Comparison
from ttastats.sides.design import findings
from ttastats.sides.options import Options
from ttastats.sides.other_metrics import Also
from ttastats.sides.pairing import Pair
from ttastats.sides.quality_comparison import QualityComparison
from ttastats.stats.decision import Decision
from ttastats.stats.means import MeanDifference
from ttastats.stats.results import Difference, Ratio
from ttastats.stats.speedup import Speedup, equivalence_confidence, time_saved
from ttastats.stats.verdict import Verdict

Number = float | None


class LookKeys(Row, frozen=True, kw_only=True):
    """The look at the runs, and its plan (`--sequential`)."""

    sequential: bool = True
    max_runs: int = 0
    look: int | None = None
    look_level: Number = None


class SameKeys(Row, frozen=True, kw_only=True):
    """What the sets of one setup say of sessions (`--same`)."""

    same: bool = True
    sets: int = 1
    between: Number = None
    between_high: Number = None
    smallest_claim: Number = None


class _AnyRow(Row, frozen=True, kw_only=True):
    """What all rows of comparisons have, whatever the order of their keys."""

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
    def carried(self) -> str:
        """Return what a claim carries by its design (`setups pooled`); empty without a claim."""
        return findings.words(self.get("conditions")) if self.word.decided else ""


class TimesRow(_AnyRow, frozen=True, kw_only=True):
    """The numbers of one comparison of times to a target."""

    a: str = "A"
    b: str = "B"
    axis: str = SECONDS.name
    n_a: int = 0
    reached_a: int = 0
    tta_a_seconds: Number = None
    cv_a: Number = None
    cv_a_low: Number = None
    cv_a_high: Number = None
    ert_a_seconds: Number = None
    setups_a: int = 1
    n_b: int = 0
    reached_b: int = 0
    tta_b_seconds: Number = None
    cv_b: Number = None
    cv_b_low: Number = None
    cv_b_high: Number = None
    ert_b_seconds: Number = None
    setups_b: int = 1
    estimand: str = "mean"
    speedup: Number = None
    speedup_low: Number = None
    speedup_high: Number = None
    time_saved: Number = None
    epoch_safe_low: Number = None
    epoch_safe_high: Number = None
    robust_low: Number = None
    robust_high: Number = None
    non_inferiority_low: Number = None
    inferiority_high: Number = None
    planning_cv: Number = None
    epoch_shift_a: float = 0.0
    epoch_shift_b: float = 0.0
    p_value: Number = None
    p_adjusted: Number = None
    p_permutation: Number = None
    progress_unit: str | None = None
    throughput_speedup: Number = None
    throughput_low: Number = None
    throughput_high: Number = None
    epochs_ratio: Number = None
    epochs_low: Number = None
    epochs_high: Number = None
    reached_difference: Number = None
    reached_difference_low: Number = None
    reached_difference_high: Number = None
    p_reached: Number = None
    prob_b_faster: Number = None
    other_mean_ratio: Number = None
    detectable_ratio: Number = None
    runs_needed: int | None = None
    verdict: str = Verdict.UNAVAILABLE.value
    dagger: bool = False
    conditions: list[str] = field(default_factory=list)
    marks: str = ""
    why: str | None = None
    claim: str | None = None
    flags: list[str] = field(default_factory=list)
    lost_a: LeftOutOfA = LeftOutOfA()
    lost_b: LeftOutOfB = LeftOutOfB()
    exceptions_a: str | None = None
    exceptions_b: str | None = None
    accelerators: Any = None
    hardware: Any = None
    target_metric: str | None = None
    target_value: Number = None
    also: Row = Row()
    look: LookKeys | UnsetType = UNSET
    blocks: Row = Row()
    same: SameKeys | UnsetType = UNSET
    factors: Row = Row()
    gate: str | UnsetType = UNSET

    @property
    def reason(self) -> str:
        """Return why there is no verdict, where there is none."""
        return (self.claim or "").removeprefix("no verdict: ")


class QualitiesRow(_AnyRow, frozen=True, kw_only=True):
    """The numbers of one comparison of qualities at a budget; `speedup` is that of the costs."""

    a: str = "A"
    b: str = "B"
    estimand: str = "quality"
    at: str = ""
    metric: str | None = None
    higher_is_better: bool = False
    axis: str = SECONDS.name
    n_a: int = 0
    missing_a: int = 0
    quality_a: Number = None
    sd_a: Number = None
    target_a: Number = None
    p_target_a: Number = None
    seconds_a: Number = None
    n_b: int = 0
    missing_b: int = 0
    quality_b: Number = None
    sd_b: Number = None
    target_b: Number = None
    p_target_b: Number = None
    seconds_b: Number = None
    difference: Number = None
    difference_low: Number = None
    difference_high: Number = None
    worse_by_low: Number = None
    worse_by_high: Number = None
    p_value: Number = None
    p_adjusted: Number = None
    verdict: str = Verdict.UNAVAILABLE.value
    why: str | None = None
    runs_needed: int | None = None
    speedup: Number = None
    speedup_low: Number = None
    speedup_high: Number = None
    p_speedup: Number = None
    conditions: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    lost_a: LeftOutOfA = LeftOutOfA()
    lost_b: LeftOutOfB = LeftOutOfB()
    blocks: Row = Row()
    exceptions_a: str | None = None
    exceptions_b: str | None = None
    same: SameKeys | UnsetType = UNSET
    gate: str | UnsetType = UNSET


CompareRow = TimesRow | QualitiesRow


def of(report: Report) -> tuple[CompareRow, ...]:
    """Return the rows of a comparison."""
    return tuple(row for row in report.records if isinstance(row, TimesRow | QualitiesRow))


def of_times(
    one: Comparison,
    pair: Pair,
    labels: tuple[str, str],
    by: Sequence[str],
    lost: BothSides,
    options: Options,
) -> TimesRow:
    """Return the row of a comparison of times."""
    found, plan = one.speedup, one.plan
    ratio = found.ratio if found else None
    one_sided: tuple[Number, Number] = (None, None)
    if found is not None:
        level = equivalence_confidence(found.ratio.confidence)
        one_sided = found.limits(level, epochs=True) or one_sided
    shifts = found.epoch_shifts if found else (0.0, 0.0)
    common = _common(one, pair, labels, by, lost)
    setup: dict[str, Any] = {name: setups.common(pair.a, pair.b, name) for name in setups.COLUMNS}
    common["keys"] |= {name: value for name, value in setup.items() if name in common["keys"]}
    targets = pl.concat(
        [runs.select("target_metric", "target_value") for runs in (pair.a, pair.b)],
        how="vertical_relaxed",
    ).unique()
    metric, value = targets.row(0) if targets.height == 1 else (None, None)
    look: LookKeys | UnsetType = UNSET
    if options.max_runs is not None:
        at = found.look if found else None
        look = LookKeys(
            max_runs=options.max_runs,
            look=at.n if at else None,
            look_level=at.level(1 - options.confidence) if at else None,
        )
    codes = (*pair.flags, *(flag.code for flag in one.flags), *lost.flags)
    return TimesRow(
        **common,
        **_of_sides(
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
            one.a,
            one.b,
        ),
        estimand=one.estimand,
        **_limits("speedup", ratio),
        time_saved=time_saved(ratio.estimate) if ratio and ratio.estimate else None,
        **(_allowing("epoch_safe", found) if found and found.unseen_epochs else {}),
        **(_allowing("robust", found, stragglers=True) if found else {}),
        non_inferiority_low=one_sided[0],
        inferiority_high=one_sided[1],
        planning_cv=plan.cv if plan else None,
        epoch_shift_a=shifts[0],
        epoch_shift_b=shifts[1],
        p_value=one.p_value,
        p_permutation=one.p_permutation,
        progress_unit=one.progress_unit,
        **_limits("throughput_speedup", one.parts.throughput if one.parts else None, "throughput"),
        **_limits("epochs_ratio", one.parts.progress if one.parts else None, "epochs"),
        **_limits("reached_difference", one.fraction),
        p_reached=one.fraction_p,
        prob_b_faster=one.wins.estimate if one.wins else None,
        other_mean_ratio=one.other_mean.estimate if one.other_mean else None,
        detectable_ratio=plan.detectable if plan else None,
        runs_needed=plan.needed if plan else None,
        **verdict_numbers(one.verdict),
        claim=one.verdict.claim,
        flags=list(dict.fromkeys(codes)),
        **setup,
        target_metric=metric,
        target_value=value,
        look=look,
        blocks=Row(keys=blocking.ratios(pair, one.by_block)),
    )


def of_qualities(
    one: QualityComparison,
    pair: Pair,
    labels: tuple[str, str],
    by: Sequence[str],
    lost: BothSides,
    budget: Budget,
) -> QualitiesRow:
    """Return the row of a comparison of qualities at a budget."""
    gap, ratio, limits = one.difference, one.ratio, one.one_sided
    worse_by: Sequence[Number] = (None, None)
    if limits is not None and all(map(math.isfinite, limits)):
        worse_by = sorted(-end if one.higher_is_better else end for end in limits)
    return QualitiesRow(
        **_common(one, pair, labels, by, lost),
        at=str(budget),
        metric=one.metric,
        higher_is_better=one.higher_is_better,
        **_of_sides(
            lambda side: {
                "n_{}": side.n,
                "missing_{}": side.missing,
                "quality_{}": side.mean,
                "sd_{}": side.sd,
                "target_{}": side.meets.threshold if side.meets else None,
                "p_target_{}": side.meets.p_value if side.meets else None,
                "seconds_{}": side.spent,
            },
            one.a,
            one.b,
        ),
        **_limits("difference", gap),
        worse_by_low=worse_by[0],
        worse_by_high=worse_by[1],
        p_value=gap.p_value if gap else None,
        verdict=one.verdict.word.value,
        why=one.verdict.why or None,
        runs_needed=gap.needed if gap else None,
        **_limits("speedup", ratio),
        p_speedup=ratio.p_value if ratio else None,
        conditions=list(one.verdict.conditions),
        flags=[
            *(flag.code for flag in (gap.flags if gap else ())),
            *(found.code for found in one.findings),
            *lost.flags,
        ],
        blocks=Row(keys=blocking.numbers(pair, one.by_block)),
    )


def _common(
    one: Comparison | QualityComparison,
    pair: Pair,
    labels: tuple[str, str],
    by: Sequence[str],
    lost: BothSides,
) -> dict[str, Any]:
    """Return what is known of times and of qualities by the same rules."""
    return {
        "keys": {name: one.keys.get(name) for name in row_keys(by)},
        "a": labels[0],
        "b": labels[1],
        "axis": one.axis.name,
        "p_adjusted": one.p_adjusted,
        "lost_a": LeftOutOfA(*lost.a.counts),
        "lost_b": LeftOutOfB(*lost.b.counts),
        **left_out.exceptions_of(pair.a, pair.b),
    }


def _of_sides(numbers: Callable[[Any], Mapping[str, Any]], a: object, b: object) -> dict[str, Any]:
    return {
        key.format(name): value
        for name, side in (("a", a), ("b", b))
        for key, value in numbers(side).items()
    }


def _limits(
    name: str, one: Ratio | Difference | MeanDifference | None, stem: str = ""
) -> dict[str, Any]:
    """Return an estimate and the limits of its interval, under the name of the interval."""
    if one is None:
        return {}
    stem = stem or name
    return {name: one.estimate, f"{stem}_low": one.low, f"{stem}_high": one.high}


def _allowing(name: str, found: Speedup, *, stragglers: bool = False) -> dict[str, Any]:
    """Return the interval that allows for unseen epochs and more, if anything bounds it."""
    limits = found.limits(found.ratio.confidence, epochs=True, stragglers=stragglers)
    if limits is None or not math.isfinite(limits[1]):
        return {}
    return {f"{name}_low": limits[0], f"{name}_high": limits[1]}


def verdict_numbers(verdict: Decision) -> dict[str, Any]:
    """Return what rows for programs tell of a verdict on times."""
    return {
        "verdict": verdict.word.value,
        "dagger": verdict.dagger,
        "conditions": list(verdict.conditions),
        "marks": verdict.marks,
        "why": verdict.why or None,
    }


C_co = TypeVar("C_co", bound="Comparison | QualityComparison", covariant=True)
R_co = TypeVar("R_co", bound=CompareRow, covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Shown(Generic[C_co, R_co]):
    """A comparison with its runs, its row, and the name that its group has in the report.

    `marked`: its claim is shown, with the marks of its conditions.
    """

    one: C_co
    pair: Pair
    row: R_co
    name: str
    left_out: BothSides
    also: tuple[Also, ...] = ()
    marked: bool = True


Times = Shown[Comparison, TimesRow]
Qualities = Shown[QualityComparison, QualitiesRow]
