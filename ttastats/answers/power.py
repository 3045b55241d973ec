"""How many runs are needed to see a difference, and what can so many runs see?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
import polars as pl
from msgspec import UNSET, Struct, UnsetType, structs

from ttastats.answers.summary import rows_of
from ttastats.base.codes import Note, note, wording
from ttastats.base.percentages import percent_text
from ttastats.base.units import percent
from ttastats.outcomes import aims
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import SECONDS, Axis
from ttastats.report import fields, grouping
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Quantity, Text
from ttastats.report.fields import Field
from ttastats.report.keys import AxisName, High, LeftOutKeys, Low, ReachedCount
from ttastats.report.row import Key, Number, Row
from ttastats.sides.proposals import propose
from ttastats.stats.multiplicity import FIRST_LOOK, simulate_plan
from ttastats.stats.outcomes import make_outcomes, time_term
from ttastats.stats.power import (
    LEAST_RUNS,
    Failing,
    detectable_ratio,
    detectable_with_failures,
    failing_like,
    runs_needed,
    runs_with_failures,
)

#: Differences that are asked about if the user names none.
EFFECTS = (0.01, 0.02, 0.05, 0.1, 0.2)

#: By effect, as the ratio of the means: `1.05`.
_ByEffect = dict[str, int | None]


class LooksKeys(Row, frozen=True):
    """The average cost of a plan of looks."""

    max_runs: Annotated[int, Key("most runs a side of a plan of looks", "runs")]
    sequential_runs: Annotated[
        dict[str, float | None], Key("runs a side that it takes on average, by ratio", "runs")
    ]
    sequential_decided: Annotated[
        dict[str, float | None], Key("how often it ends decided, by ratio", "fraction")
    ]


class PowerRow(Row, frozen=True, kw_only=True):
    """The plan for one CV: of a group of runs, or supposed."""

    n: Annotated[int | None, Key("runs on each side", "runs", "runs per side")]
    cv: Annotated[
        Number,
        Key(
            "coefficient of variation that the plan is for; where runs failed, that of the "
            "expected time to a success",
            "fraction",
        ),
    ]
    detectable_ratio: Annotated[Number, Key("the ratio that `n` runs detect", "ratio")]
    runs_needed: Annotated[_ByEffect, Key("runs on each side to detect a ratio, by ratio", "runs")]
    cv_low: Low
    cv_high: High
    reached: ReachedCount | UnsetType = UNSET
    axis: AxisName | UnsetType = UNSET
    runs_needed_certain: Annotated[
        _ByEffect | UnsetType,
        Key("where runs failed, runs for a claim that holds too if further runs fail", "runs"),
    ] = UNSET
    runs_needed_low: Annotated[_ByEffect, Key("the same at the lower limit of the CV", "runs")]
    runs_needed_high: Annotated[_ByEffect, Key("the same at the upper limit of the CV", "runs")]
    looks: LooksKeys | UnsetType = UNSET
    left_out: LeftOutKeys | UnsetType = UNSET


def from_runs(
    runs: pl.DataFrame,
    by: Sequence[str],
    *,
    effects: Sequence[float],
    n: int | None,
    power: float,
    max_runs: int | None = None,
    confidence: float,
) -> Report:
    """Return the plan for each group from the CV of its runs; `n` replaces their number.

    With `max_runs` also what a plan of looks, of so many runs a side, takes on average.
    """
    plan = _Plan(effects, power, max_runs, confidence)
    rows, cautions, failed = list[PowerRow](), list[Note](), False
    groups_by_benchmark: dict[Any, list[pl.DataFrame]] = {}
    groups, axis = grouping.group_runs(runs, by), axes.axis_of(runs)
    summed = rows_of(groups, ddof=1, confidence=confidence)
    for (keys, group), spread in zip(groups, summed, strict=True):
        reached = spread.reached
        # Two runs show a CV. Where others failed it takes three, as for an interval of it: from
        # fewer, the CV shows little more than how many failed.
        n_required = 2 if reached == group.height else 3
        cv = low = high = failing = None
        if reached == group.height >= n_required:
            cv, low, high = spread.cv, spread.cv_low, spread.cv_high
            groups_by_benchmark.setdefault(keys.get("benchmark"), []).append(group)
        elif reached >= n_required:
            cv, failing = _with_failures(group)
        if is_aimless := not reached and aims.lack_target(group):
            cautions.append(aims.advice(runs))
        failed = failed or (reached < group.height and not is_aimless)
        if reached < n_required and not is_aimless:
            known_keys = {of: value for of, value in keys.items() if value is not None}
            names = (str(known_keys[of]) for of in known_keys if of not in {"suite", "round"})
            of = f"{name}: " if (name := " ".join(names)) else ""
            total = math.ceil(n_required * group.height / reached) if reached else 0
            rate = wording("few_successes.rate", total=total) if 0 < reached < group.height else ""
            cautions.append(
                note(
                    "few_successes", of=of, reached=reached, n=group.height, needed=n_required,
                    rate=rate,
                )
            )  # fmt: skip
        row = plan.row(cv, low, high, group.height if n is None else n, failing)
        common_keys = {"keys": grouping.key_values(keys), "axis": axis.name}
        rows.append(structs.replace(row, reached=reached, **common_keys))
    cautions = [*dict.fromkeys(cautions)]
    if len(cautions) > 6:
        cautions = [note("few_successes.groups", n=len(cautions))]
    table_fields = plan.shown(grouping.shown_keys(rows, by))
    notes = [
        *cautions,
        *plan.proposals(groups_by_benchmark, n),
        *plan.notes(rows, axis, failed=failed),
    ]
    answer = plan.sentence(rows)
    return grouping.group_report(
        "power", rows, table_fields, runs, by, notes, names=(), sentence=answer
    )


def _with_failures(group: pl.DataFrame) -> tuple[float | None, Failing | None]:
    """Return the CV of the expected time to a success, as of one run, and the ends of runs."""
    timed_runs = group.filter(pl.col("observed_seconds").is_not_null())
    side = make_outcomes(
        timed_runs["observed_seconds"].to_numpy(), timed_runs["reached"].to_numpy()
    )
    variance = time_term(side, "mean").variance
    if variance is None:
        return None, None
    return math.sqrt(variance * side.n), failing_like(side)


def from_cv(
    cv: float,
    *,
    effects: Sequence[float],
    n: int | None,
    power: float,
    max_runs: int | None = None,
    confidence: float,
) -> Report:
    """Return the plan for a known or assumed CV (a fraction)."""
    plan = _Plan(effects, power, max_runs, confidence)
    rows = (plan.row(cv, None, None, n),)
    table = fields.make_table(rows, plan.shown(()), "")
    notes = tuple(plan.notes(rows, SECONDS, failed=False))
    return Report("power", rows, (table,), notes, plan.sentence(rows))


class _Plan(Struct, frozen=True):
    """The question: the differences, the power, and the most runs of a plan of looks."""

    effects: Sequence[float]
    power: float
    max_runs: int | None
    confidence: float

    @property
    def ratios(self) -> dict[str, float]:
        """Return the ratio of the means by its name: `1.05`."""
        return {f"{1 + effect:g}": 1 + effect for effect in self.effects}

    def row(
        self,
        cv: float | None,
        low: float | None,
        high: float | None,
        n: int | None,
        failing: Failing | None = None,
    ) -> PowerRow:
        """Return the row for a CV with its limits, and `n` runs a side, some `failing`."""
        power, alpha = self.power, round(1 - self.confidence, 12)
        sides, detectable = failing and (failing, failing), None
        if n and sides:
            detectable = detectable_with_failures(n, sides, power=power, alpha=alpha)
        elif n and cv is not None:
            detectable = detectable_ratio(n, cv, power=power, alpha=alpha)
        looks: LooksKeys | UnsetType = UNSET
        if (max_runs := self.max_runs) is not None:
            ends = {
                name: None if cv is None else simulate_plan(ratio, cv, max_runs, alpha)
                for name, ratio in self.ratios.items()
            }
            runs = {name: end.runs if end else None for name, end in ends.items()}
            decided_shares = {name: end.decided if end else None for name, end in ends.items()}
            looks = LooksKeys(max_runs, runs, decided_shares)

        def needed(cv: float | None) -> _ByEffect:
            if cv is None or math.isinf(cv):
                return dict.fromkeys(self.ratios)
            return {
                name: runs_needed(ratio, cv, power=power, alpha=alpha)
                for name, ratio in self.ratios.items()
            }

        def simulated(*, certain: bool) -> _ByEffect:
            return {
                name: runs_with_failures(x, sides, certain=certain, power=power, alpha=alpha)
                if sides
                else None
                for name, x in self.ratios.items()
            }

        return PowerRow(
            n=n,
            cv=cv,
            detectable_ratio=detectable,
            runs_needed=simulated(certain=False) if sides else needed(cv),
            runs_needed_certain=simulated(certain=True) if sides else UNSET,
            cv_low=low,
            cv_high=high,
            runs_needed_low=needed(low),
            runs_needed_high=needed(high),
            looks=looks,
        )

    @property
    def middle(self) -> float:
        """Return the first difference of the answer."""
        return 0.05 if 0.05 in self.effects else self.effects[len(self.effects) // 2]

    def sentence(self, rows: Sequence[PowerRow]) -> str:
        """Return the runs for one difference in a sentence, of one row or over all."""
        name, text_fields = f"{1 + self.middle:g}", {
            "effect": percent_text(self.middle), "power": self.power,
        }  # fmt: skip
        planned = [row for row in rows if row.runs_needed[name] is not None]
        runs_of_rows = sorted(row.runs_needed[name] or 0 for row in planned)
        if not planned:
            return ""
        if len(rows) > 1:
            lowest, middle, highest = (
                f"{runs_of_rows[n]:,}" for n in (0, len(runs_of_rows) // 2, -1)
            )
            if lowest == highest:
                return wording("power_alike", needed=lowest, n=len(planned), **text_fields)
            return wording("power_several", least=lowest, most=highest, middle=middle,
                           n=len(planned), **text_fields)  # fmt: skip
        (row,) = planned
        low, high = row.runs_needed_low[name], row.runs_needed_high[name]
        limits = f" ({low:,} to {high:,} by the interval of the CV)" if low and high else ""
        now_text = ""
        if row.n and row.detectable_ratio is not None:
            now_text = wording("power_now", n=row.n, found=f"{row.detectable_ratio:.3f}")
        return wording(
            "power_one", needed=f"{runs_of_rows[0]:,}", limits=limits, now=now_text, **text_fields
        )

    def shown(self, keys: Sequence[str]) -> list[Field[PowerRow]]:
        """Return the columns of a plan, with those of looks if there are any.

        Differences far from that of the answer, and the numbers of runs at hand, give way first.
        """

        def needed(name: str, row: PowerRow) -> Quantity | Text:
            if row.runs_needed_certain:
                runs = row.runs_needed[name], row.runs_needed_certain[name]
                likely_text, certain_text = (
                    "–" if number is None else f"{number:,}" for number in runs
                )
                return Text(f"{likely_text}‡ / {certain_text}")
            low, high = row.runs_needed_low[name], row.runs_needed_high[name]
            return Quantity(row.runs_needed[name], "count", low, high)

        def taken(name: str, row: PowerRow) -> str:
            runs = row.looks.sequential_runs[name] if row.looks else None
            decided_share = row.looks.sequential_decided[name] if row.looks else None
            return "–" if runs is None else f"{runs:.1f} ({decided_share:.0%})"

        def rank(effect: float) -> int:
            return 1 + round(4 * abs(math.log(effect / self.middle)))

        level = f"CV [{percent_text(self.confidence)}]"
        titles = [(e, f"{1 + e:g}", f"{100 * e:.3g}%") for e in self.effects]
        looks = titles if self.max_runs is not None else []
        return [
            *fields.key_fields(keys),
            fields.number_field(level, "cv", "fraction", interval=True),
            *fields.number_fields(PowerRow, "n", rank=9),
            fields.text_field("can detect", lambda row: f"{row.detectable_ratio:.3f}×"
                         if row.detectable_ratio is not None else "–", rank=1),
            *(Field(Column(f"runs for {title}", "right", rank=rank(e)), partial(needed, name))
              for e, name, title in titles),
            *(fields.text_field(f"looks for {title}", partial(taken, name), rank=rank(e))
              for e, name, title in looks),
        ]  # fmt: skip

    def proposals(
        self, groups: Mapping[Any, Sequence[pl.DataFrame]], n: int | None
    ) -> Iterator[Note]:
        """Yield a note on the common blocks of groups of runs, by benchmark, to keep."""
        texts, alpha = list[str](), round(1 - self.confidence, 12)
        for benchmark, sides in groups.items():
            blocks = propose(sides, [np.log(runs["observed_seconds"].to_numpy()) for runs in sides])
            runs = n or min(side.height for side in sides)
            if blocks and (
                detectable := blocks.detectable(power=self.power, alpha=alpha, runs=runs)
            ):
                texts.append(wording("blocks_proposed.power", block=blocks.name, n=runs,
                                    name=f"{benchmark}: " if len(groups) > 1 else "",
                                    between=percent(math.expm1(blocks.spread.between)),
                                    p=blocks.spread.p_value,
                                    found=percent(math.expm1(detectable))))  # fmt: skip
        if texts:
            yield note("blocks_proposed", each=texts)

    def notes(self, rows: Sequence[PowerRow], axis: Axis, *, failed: bool) -> Iterator[Note]:
        """Yield notes on the method of the plan, and on the uncertain CV of few runs."""
        yield note("method.power", mean=axis.mean, power=self.power, least=LEAST_RUNS)
        planned = [row for row in rows if row.cv is not None and row.keys]
        if any(row.cv_high is not None for row in planned):
            yield note("plan_range")
        if any(row.cv_high is None and not row.runs_needed_certain for row in planned):
            yield note("plan_guess")
        if self.max_runs is not None:
            yield note("sequential.power", max_runs=self.max_runs, first=FIRST_LOOK)
        if failed:
            yield note("failed_runs.power", expected=axis.expected)
        if any(row.cv == 0 for row in rows):
            yield note("zero_variance.power")
