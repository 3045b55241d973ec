"""Is the mean of some runs shown to be as good as a number? One row per claim and group."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import polars as pl
from msgspec import Struct, structs

from ttastats.answers.qualities import budget_notes, rare_note
from ttastats.base import percentages, units
from ttastats.base.codes import CONDITIONS, Note, note
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.units import Digits, digits_for
from ttastats.outcomes import axis as axes
from ttastats.outcomes.budget import Budget
from ttastats.outcomes.left_out import standing
from ttastats.outcomes.target import is_upwards
from ttastats.outcomes.time_to_target import evaluation_interval
from ttastats.report import fields, grouping
from ttastats.report.answer import Report
from ttastats.report.cells import Column, PValue, Text
from ttastats.report.fields import Field
from ttastats.report.keys import High, LeftOutKeys, Low
from ttastats.report.row import Key, Number, Row
from ttastats.sides.budget_checks import bend, common_budgets, evaluated_there, places_taken
from ttastats.sides.findings import condition_names, condition_text, marks
from ttastats.sides.numbers import outcomes_of
from ttastats.sides.quality_comparison import step_of
from ttastats.stats.means import AgainstNumber, compare_exact, compare_with_number, smallest_change
from ttastats.stats.outcomes import Epochs, make_outcomes
from ttastats.stats.unseen import unseen_epochs

#: What of a run a claim is about, by its option.
CostUnit = Literal["seconds", "steps"]
_COLUMNS: dict[CostUnit, str] = {"seconds": "tta_seconds", "steps": "steps"}


class Limit(Struct, frozen=True):
    """The limit of the mean cost of runs: `<= 80` seconds."""

    unit: CostUnit
    threshold: float


class ClaimOptions(Struct, frozen=True):
    """How a claim is judged: the one-sided `level`, and a deviation of one run if it is known."""

    level: float
    sigma: float | None = None


#: Claims of which each has a sentence.
_SEVERAL = 3


class ClaimRow(Row, frozen=True, kw_only=True):
    """A claim about a group of runs: the mean of those that have a value against a threshold."""

    metric: Annotated[str | None, Key("the metric, `seconds` or `steps`")]
    higher_is_better: Annotated[bool, Key("whether the claim is that the mean is not lower")]
    at: Annotated[str, Key("where the runs are judged")]
    n: Annotated[int, Key("runs that have a value", "runs")]
    n_missing: Annotated[int, Key("runs that have none", "runs")]
    mean: Annotated[Number, Key("mean of the runs", "metric")]
    sd: Annotated[Number, Key("their standard deviation", "metric")]
    low: Low
    high: High
    threshold: Annotated[float, Key("what the mean is held against", "metric")]
    margin: Annotated[Number, Key("by how much the mean is better", "metric")]
    level: Annotated[float, Key("level of the one-sided test", "fraction")]
    p_value: Annotated[Number, Key("its p")]
    holds: Annotated[bool, Key("whether the claim holds of all runs, maybe under `conditions`")]
    conditions: Annotated[list[str], Key("codes of what it holds under, since runs cannot show it")]
    why: Annotated[str | None, Key("why it does not, though the test is passed")] = None
    curvature: Annotated[Number, Key("by how much interpolated values may be worse", "metric")] = (
        None
    )
    runs_needed: Annotated[int | None, Key("runs that would show the margin at 80% power", "runs")]
    flags: Annotated[list[str], Key("codes of what is particular to the numbers")]
    left_out: LeftOutKeys = LeftOutKeys()


def limits(seconds: str = "", steps: str = "") -> tuple[Limit, ...]:
    """Return the limits in options such as `<= 80` or `80` on seconds and steps."""
    texts: tuple[tuple[CostUnit, str], ...] = (("seconds", seconds), ("steps", steps))
    claims = []
    for unit, text in texts:
        match = re.fullmatch(r"\s*(?:<=?)?\s*([^\s%]+)\s*", text)
        value = percentages.parse_number(match[1]) if match else None
        invalid = text and (value is None or value <= 0)
        remedy = f"Write --{unit} '<= 80': at most 80 {unit} on average."
        raise_if(invalid, f"invalid claim {text!r}", f"--{unit}", remedy)
        if value is not None:
            claims.append(Limit(unit, value))
    return tuple(claims)


def report(
    runs: pl.DataFrame,
    by: Sequence[str] = grouping.ENTRY,
    *,
    threshold: float | None,
    limits: Sequence[Limit],
    budget: Budget | None,
    rules: ClaimOptions,
) -> Report:
    """Return the report of claims about runs at a budget or at their target.

    `threshold` is that of the quality, `limits` those of what the runs took to the target, or up to
    the budget.
    """
    by = tuple(by)
    _expect_values(runs, limits, budget)
    rows = [
        row
        for keys, group in grouping.group_runs(runs, by)
        for row in _claim_rows(
            _Group(grouping.key_values(keys), group, budget), threshold, limits, rules
        )
    ]
    table_fields: list[Field[ClaimRow]] = [
        Field(Column("claim"), lambda row: Text(_claim_text(row))),
        fields.text_field(
            "runs", lambda r: f"{r.n} +{r.n_missing} missing" if r.n_missing else str(r.n)
        ),
        fields.text_field("mean ±sd", lambda row: _digits(row).mean(row.mean, row.sd)),
        fields.text_field(
            f"[{percentages.percent_text(1 - 2 * rules.level)} CI]",
            lambda row: _digits(row).interval(row.low, row.high),
            rank=2,
        ),
        fields.text_field(
            "margin left",
            lambda row: "–" if row.margin is None else _digits(row).signed(row.margin),
            rank=1,
        ),
        Field(Column("p", "right"), lambda row: PValue(row.p_value)),
        Field(Column("verdict", rank=-1), _verdict_cell),
    ]
    budget_text = str(budget or "to the target")
    title = "   ".join(filter(None, (grouping.common_title(rows, by), budget_text)))
    of_one = len({row.keys["benchmark"] for row in rows}) == 1
    keys = grouping.row_keys(by, grouping.ENTRY)
    names = grouping.row_names(rows, [key for key in keys if key != "benchmark" or not of_one])
    if len(set(names)) < 2:
        names = [""] * len(rows)
    sentences = [_claim_sentence(row, name, rules) for row, name in zip(rows, names, strict=True)]
    is_long, counts = len(rows) > _SEVERAL, list[str]()
    for claim in dict.fromkeys(map(_claim_text, rows)):
        pairs = [(name, row.holds) for name, row in zip(names, rows, strict=True)
              if _claim_text(row) == claim]  # fmt: skip
        names_text = units.join_names([name for name, holds in pairs if holds], _SEVERAL)
        number = sum(holds for _, holds in pairs) or "none"
        counts.append(
            f"{claim} holds for {number} of {len(pairs)}{f' ({names_text})' if names_text else ''}."
        )
    details = [
        () if row.holds or not is_long else (text,)
        for row, text in zip(rows, sentences, strict=True)
    ]
    return grouping.group_report(
        "claim", rows, table_fields, runs, by, _claim_notes(rows, runs, budget, rules), title=title,
        details=details, sentence=" ".join(counts if is_long else sentences),
    )  # fmt: skip


def _expect_values(runs: pl.DataFrame, limits: Sequence[Limit], budget: Budget | None) -> None:
    reached_runs = standing(runs).filter("reached")
    if not reached_runs.height:
        return
    other_axis = axes.axis_of(runs).unit != "seconds"
    for limit in limits:
        unit, remedy = limit.unit, "`ttastats runs FILE` shows what the runs log."
        unknown = not reached_runs[_COLUMNS[unit]].count() or (unit == "seconds" and other_axis)
        raise_if(unknown, f"no run logs its {unit}", f"--{unit}", remedy)
    if budget is None or budget.amount is None or budget.unit == "seconds" or budget.interpolate:
        return
    if not evaluated_there(reached_runs, budget.amount):
        remedy = common_budgets([reached_runs], budget)
        raise TtastatsError(
            f"runs were last evaluated {places_taken(reached_runs, budget)}, before the budget",
            where=budget.option,
            remedy=f"{remedy[:1].upper()}{remedy[1:]}.",
        )


class _Group(Struct, frozen=True):
    """Runs about which something is claimed, their keys, and the budget if there is one."""

    keys: dict[str, Any]
    runs: pl.DataFrame
    budget: Budget | None

    def row(self, test: AgainstNumber, metric: str | None, *, higher: bool) -> ClaimRow:
        """Return the row of a claim about the runs of the group."""
        n_missing = self.runs.height - test.n
        names = ("n", "mean", "sd", "low", "high", "threshold", "margin", "level", "p_value",
                 "runs_needed")  # fmt: skip
        return ClaimRow(
            keys=self.keys,
            metric=metric,
            higher_is_better=higher,
            at=str(self.budget or "to the target"),
            n_missing=n_missing,
            holds=test.holds and not n_missing,
            conditions=[] if n_missing else list(test.conditions),
            flags=[flag.code for flag in test.flags],
            **{name: getattr(test, name) for name in names},
        )


def _claim_rows(
    group: _Group, threshold: float | None, limits: Sequence[Limit], rules: ClaimOptions
) -> Iterator[ClaimRow]:
    if threshold is not None:
        yield _quality_row(group, threshold, rules)
    for limit in limits:
        spent = group.runs.filter("reached")[_COLUMNS[limit.unit]].drop_nulls()
        values = spent.cast(pl.Float64).to_numpy()
        # Steps up to a budget are as the budget says; those to a target come in evaluations.
        if limit.unit == "steps" and group.budget is not None and spent.n_unique() == 1:
            test = compare_exact(values.size, float(values[0]), limit.threshold, rules.level)
        else:
            test = compare_with_number(
                values, limit.threshold, higher_is_better=False, level=rules.level,
                resolution=min(smallest_change(values), default=0.0),
                longer=0.0 if group.budget else _unseen_epochs(group.runs, limit.unit, rules.level),
                positive=True,
            )  # fmt: skip
        yield group.row(test, limit.unit, higher=False)


def _quality_row(group: _Group, threshold: float, rules: ClaimOptions) -> ClaimRow:
    runs, budget = group.runs, group.budget
    metric, upwards = runs["target_metric"].drop_nulls().first(), is_upwards(runs)

    def shifted(shift: float) -> AgainstNumber:
        return compare_with_number(
            runs["quality"].drop_nulls().to_numpy() + shift, threshold, higher_is_better=upwards,
            level=rules.level, resolution=step_of(runs), sigma=rules.sigma,
        )  # fmt: skip

    test = shifted(0.0)
    row = group.row(test, None if metric is None else str(metric), higher=upwards)
    if budget is None or not budget.interpolate or not test.n:
        return row
    curvature = bend(runs.filter("reached"))
    worse = None if curvature is None else max(0.0, -curvature if upwards else curvature)
    if worse == 0.0:
        return row
    row = structs.replace(row, curvature=worse, flags=[*row.flags, "interpolated"])
    if not row.holds:
        return row
    shifted_test = None if worse is None else shifted(-worse if upwards else worse)
    if shifted_test is not None and shifted_test.holds:
        return structs.replace(row, conditions=list(shifted_test.conditions))
    return structs.replace(
        row, holds=False, conditions=[], why=CONDITIONS["interpolated"], runs_needed=None
    )


def _unseen_epochs(runs: pl.DataFrame, unit: CostUnit, level: float) -> float:
    """Return the possible extra cost of runs on average by unseen epochs."""
    reached_runs = runs.filter("reached")
    if reached_runs.is_empty():
        return 0.0
    if unit == "steps":
        steps = reached_runs["steps"].drop_nulls().cast(pl.Float64).to_numpy()
        if not steps.size or steps.min() <= 0:
            return math.inf
        interval = evaluation_interval(reached_runs, "evaluation_interval_steps")
        side = make_outcomes(steps, progress=Epochs(steps, interval))
    else:
        side = outcomes_of(reached_runs)
    return unseen_epochs(side, level)


#: What numbers of a limit are written in; a quality has the unit of its metric.
_UNITS = {"seconds": " s", "steps": " steps"}


def _digits(row: ClaimRow) -> Digits:
    return digits_for([row.threshold], row.sd, row.mean, _UNITS.get(row.metric or "", ""))


def _claim_text(row: ClaimRow) -> str:
    sign = "≥" if row.higher_is_better else "≤"
    return f"{row.metric or 'quality'} {sign} {row.threshold:g}"


def _verdict_cell(row: ClaimRow) -> Text:
    if row.holds:
        daggers = f" {text}" if (text := marks(row.conditions).strip("*")) else ""
        condition_suffix = f", {text}" if (text := condition_names(row.conditions)) else ""
        return Text(f"holds{daggers}{condition_suffix}", "good")
    if row.margin is None:
        return Text("no run", "bad")
    reason = f": {row.why}" if row.why else ""
    return Text(f"not shown{reason}" if row.margin >= 0 else "not met", "bad")


def _claim_sentence(row: ClaimRow, name: str, rules: ClaimOptions) -> str:
    claim = f"{name}: {_claim_text(row)} {row.at}".removeprefix(": ")
    if row.margin is None:
        return f"{claim}: no run has a value."
    digits = _digits(row)
    p_value = "" if row.p_value is None else f" ({units.p_text(row.p_value)})"
    runs = units.plural(row.n, "run")
    level = f"at the {percentages.percent_text(rules.level)} level"
    much = digits.text(abs(row.margin))
    if row.holds:
        condition = f" {condition_text(row.conditions)}" if row.conditions else ""
        return f"{claim} holds {level}{condition}{p_value}: the mean of {runs} is better by {much}."
    text = f"{claim} is not confirmed {level}{p_value}: the mean of {runs} is"
    if row.margin <= 0:
        return f"{text} {'worse by ' + much if row.margin < 0 else 'no better'}."
    text += f" better by {much}"
    if row.n_missing:
        return f"{text}, but {units.plural(row.n_missing, 'run')} had no value."
    if row.why:
        worst = "any amount" if row.curvature is None else digits.text(row.curvature)
        return f"{text}, but {row.why} and may be worse by {worst}."
    if row.runs_needed is None:
        return f"{text}."
    n_more = row.runs_needed - row.n
    plan = f"{units.plural(n_more, 'more run')} of this kind ({row.runs_needed:,} in all)"
    return f"{text}; {plan} would be needed to confirm it (80% power)."


def _claim_notes(
    rows: Sequence[ClaimRow], runs: pl.DataFrame, budget: Budget | None, rules: ClaimOptions
) -> Iterator[Note]:
    if budget is not None:
        yield from budget_notes(runs, budget)
    tested = [row.n for row in rows if row.holds and row.p_value is not None]
    yield from rare_note(tested, 1 - rules.level)
    if any(row.n_missing for row in rows):
        yield note("runs_missing")
    held = {code for row in rows for code in row.conditions}
    if "constant_epochs" in held:
        yield note("constant_epochs.claim")
    if "equal_values" in held:
        yield note("equal_values")
    for flag in ("interpolated", "one_run"):
        if any(flag in row.flags for row in rows):
            yield note(f"{flag}.claim")
    if rules.sigma is not None:
        yield note("sigma_known", sigma=rules.sigma)
    if len(rows) > 1:
        yield note("several_claims", n=len(rows), level=rules.level)
