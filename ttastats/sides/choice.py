"""Which runs of a source meet the conditions of a question, and which sides do they make?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import get_args

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.base import arguments, units
from ttastats.base.codes import Note, note
from ttastats.base.errors import TtastatsError, nearest_names, raise_if
from ttastats.ingestion import given
from ttastats.outcomes import aims, at_budget, axis, scales, select, settings, time_to_target
from ttastats.outcomes.left_out import standing, with_stopped
from ttastats.outcomes.select import Condition, parse_all
from ttastats.outcomes.target import UserTarget, rows_with_targets
from ttastats.outcomes.target import parse_all as parse_targets
from ttastats.sides.options import Targets, Where, several
from ttastats.sides.pairing import Side, refuse_overlap
from ttastats.sides.question import (
    Question,
    Selection,
    Source,
    expect_names_for_all,
    labels,
)
from ttastats.table import schema
from ttastats.table.frames import is_frame


class Choice(Struct, frozen=True, eq=False):
    """The runs of a question, one row each (`time_to_target.runs`), and notes on the choice.

    `rows` is the tidy table of their evaluations. `of_answer` are conditions on the numbers of
    the answer, for the report to meet.
    """

    runs: pl.DataFrame
    rows: pl.LazyFrame
    notes: tuple[Note, ...] = ()
    of_answer: tuple[Condition, ...] = ()


#: Conditions by the kind of their columns.
_Conditions = Mapping[select.Kind, tuple[Condition, ...]]


def rows(source: Source, where: Where = ()) -> pl.LazyFrame:
    """Return the rows of the tidy table that meet all conditions."""
    table, conditions = _table_and_conditions(source, where)
    frame, conditions, setting_columns = _add_settings(given.tidy(table), conditions)
    _refuse_unknown(conditions["other"], schema.EVALUATION_NAMES, frame)
    if conditions["result"]:
        by_runs = Selection(table, (*conditions["run"], *conditions["result"]))
        return select.where(choose_runs(by_runs).rows, conditions["evaluation"])
    return select.where(frame, (*conditions["run"], *conditions["evaluation"])).drop(
        setting_columns
    )


def choose_runs(
    source: Source,
    where: Where = (),
    target: Targets = (),
    *,
    by_evaluation: bool = False,
    of_answer: bool = False,
    metric: str = "",
    name: str = "",
) -> Choice:
    """Return the runs that meet the conditions, judged by all their evaluations.

    Conditions on runs come before the judgement, those on its results after it. A table of judged
    runs is taken as it is: its target is settled. `by_evaluation` takes conditions on evaluations
    and keeps the runs with one that meets all of them; `of_answer` leaves conditions on other
    columns in `where` to the report; `metric` is what is asked beside the targets; `name` is what
    errors call the source, if there are several.
    """
    table, conditions = _table_and_conditions(source, where)
    of_side = source.conditions if isinstance(source, Selection) else ()
    judged_runs = given.given_runs(table)
    targets = parse_targets(arguments.targets("target", target)) if judged_runs is None else ()
    with given.asked_about([metric, *(goal.metric or "" for goal in targets)]):
        frame = given.as_named(given.tidy(table)) if judged_runs is None else judged_runs.lazy()
    frame, conditions, setting_columns = _add_settings(frame, conditions)
    other_conditions = [
        condition for condition in conditions["other"] if not of_answer or condition in of_side
    ]
    _refuse_unknown(other_conditions, schema.EVALUATION_NAMES if by_evaluation else (), frame)
    if conditions["evaluation"] and not by_evaluation:
        raise TtastatsError(
            f"{conditions['evaluation'][0].column} is a column of evaluations, but this command "
            "selects whole runs",
            where=conditions["evaluation"][0].place,
            remedy="Use --target for another quality target. `ttastats runs` lists the runs "
            "with such an evaluation; `ttastats export FILE -o rows.csv` writes the rows.",
        )
    try:
        if judged_runs is None:
            return _judge_rows(frame, conditions, targets, setting_columns)
        runs = select.where(frame, conditions["run"]).drop(setting_columns).collect()
        if runs.is_empty():
            raise select.unmet(frame.collect(), conditions["run"], "run")
        return _filter_by_result(runs, conditions, pl.LazyFrame(schema=schema.POLARS))
    except TtastatsError as error:
        if not name:
            raise
        where_ = f"{name}: {error.where}" if error.where else name
        raise TtastatsError(error.what, where=where_, remedy=error.remedy) from None


def _table_and_conditions(source: Source, where: Where) -> tuple[given.Source, _Conditions]:
    """Return the table of a source, and its conditions by the kind of their columns."""
    selection = source if isinstance(source, Selection) else Selection(source, ())
    kinds: dict[select.Kind, tuple[Condition, ...]] = dict.fromkeys(get_args(select.Kind), ())
    for condition in (*parse_all(arguments.conditions("where", where)), *selection.conditions):
        kinds[select.kind(condition.column)] += (condition,)
    return selection.table, kinds


def _add_settings(
    frame: pl.LazyFrame, conditions: _Conditions
) -> tuple[pl.LazyFrame, _Conditions, list[str]]:
    """Return a table with columns for settings in conditions, the conditions, and the columns."""
    if not conditions["other"]:
        return frame, conditions, []
    runs = frame.select(*schema.RUN, "extra").unique(schema.RUN).collect()
    setting_names = settings.setting_names(runs["extra"])
    names = {
        condition: settings.full_name(condition.column, setting_names)
        for condition in conditions["other"]
    }
    setting_columns = sorted({name for name in names.values() if name is not None})
    if not setting_columns:
        return frame, conditions, []
    columns_added = (settings.column(runs["extra"], name) for name in setting_columns)
    values = runs.select(*schema.RUN, *columns_added).lazy()
    frame = frame.join(values, on=schema.RUN, how="left", maintain_order="left")
    run_conditions, other_conditions = [*conditions["run"]], []
    for condition, name in names.items():
        if name is None:
            other_conditions.append(condition)
        else:
            run_conditions.append(replace(condition, column=name))
    conditions = {**conditions, "run": tuple(run_conditions), "other": tuple(other_conditions)}
    return frame, conditions, setting_columns


def _refuse_unknown(
    conditions: Sequence[Condition], evaluation_names: Sequence[str], frame: pl.LazyFrame
) -> None:
    """Raise an error for the first condition, if any: its column is nowhere."""
    columns = (*select.of_runs(), *evaluation_names)
    for condition in conditions:
        extras = frame.select("extra").unique().collect()["extra"]
        error = settings.unknown(condition.column, columns, extras, condition.option)
        if nearest_names(condition.column, (*columns, *settings.setting_names(extras))):
            raise error
        hint = (
            "Columns of an answer, such as cv or verdict, can be used with --where in summary, "
            "variance, effects, power, scaling, score, rcp and compare."
        )
        raise TtastatsError(error.what, where=error.where, remedy=f"{hint}\n  {error.remedy}")


def _judge_rows(
    frame: pl.LazyFrame,
    conditions: _Conditions,
    targets: Sequence[UserTarget],
    setting_columns: Sequence[str],
) -> Choice:
    """Return the runs of a tidy table that meet conditions, judged by targets."""
    rows = select.where(frame, conditions["run"]).drop(setting_columns)
    if conditions["evaluation"]:
        having = select.where(rows, conditions["evaluation"]).select(schema.RUN).unique()
        rows = rows.join(having, on=schema.RUN, how="semi")
    suitable, left_out = rows_with_targets(rows, targets)
    runs = time_to_target.runs(suitable, targets)
    runs = runs if targets else aims.with_best(runs, suitable)
    if runs.is_empty():
        run_columns = {*schema.RUN, *(condition.column for condition in conditions["run"])}
        run_values = frame.select(sorted(run_columns)).unique(schema.RUN).collect()
        of_evaluations = conditions["evaluation"]
        if (
            not of_evaluations
            or select.where(run_values.lazy(), conditions["run"]).collect().is_empty()
        ):
            raise select.unmet(run_values, conditions["run"], "run")
        evaluations = (
            select.where(frame, conditions["run"])
            .select([condition.column for condition in of_evaluations])
            .collect()
        )
        raise select.unmet(evaluations, of_evaluations, "evaluation")
    by_result = _filter_by_result(runs, conditions, suitable)
    # Which values no run has takes another look at the file.
    value_conditions = [
        condition
        for condition in conditions["run"]
        if condition.operator == "!=" or len(condition.values) > 1
    ]
    names = {condition.column for condition in value_conditions}
    notes = (
        select.remarks(frame.select(names).unique().collect(), value_conditions, "run")
        if value_conditions
        else []
    )
    notes += [Note("not_asked", text) for text in left_out]
    return replace(by_result, notes=(*notes, *by_result.notes))


def _filter_by_result(
    judged_runs: pl.DataFrame, conditions: _Conditions, tidy: pl.LazyFrame
) -> Choice:
    """Return the judged runs that meet conditions on their results, with their rows."""
    of_results = conditions["result"]
    if not of_results:
        return Choice(judged_runs, tidy, (), conditions["other"])
    runs = select.where(judged_runs.lazy(), of_results).collect()
    if runs.is_empty():
        raise select.unmet(judged_runs, of_results, "run")
    notes = select.remarks(judged_runs, of_results, "run")
    texts = " ".join(condition.place for condition in of_results)
    notes.append(note("chosen_by_result", conditions=texts, n=runs.height, all=judged_runs.height))
    rows = tidy.join(runs.lazy().select(schema.RUN), on=schema.RUN, how="semi")
    return Choice(runs, rows, tuple(notes), conditions["other"])


def sides(
    sources: Sequence[Source], question: Question, *, of_answer: bool = False
) -> list[Choice]:
    """Return the runs of each source; errors name the source if there are several.

    All are on one axis or, at a budget, on none, with their quality there (`at_budget.runs`).
    """
    unit, names = axis.by_clock(question.unit, question.clock), labels(sources)
    priced, budget = question.price != "", question.budget
    prices = [question.price] if isinstance(question.price, str | float | int) else question.price
    counts_text = f"{units.plural(len(prices), 'price')} for {units.plural(len(sources), 'side')}"
    one_each = "Give one for all, or one for each side in their order."
    raise_if(len(prices) not in {1, len(sources)}, counts_text, "--price", one_each)
    needs, remedy = "needs --in cost", "Add --in cost, or remove --price."
    raise_if(priced and unit != "cost", needs, "--price", remedy)
    choices, parts = [], []
    for source, label in zip(sources, names, strict=True):
        is_part = isinstance(source, Selection)
        name = label if len(sources) > 1 and not is_part else ""
        where, target = question.where, question.target
        side = choose_runs(
            source, where, target, of_answer=of_answer, metric=question.metric, name=name
        )
        choices.append(side)
        # Two files may hold the same run, sent in twice; two parts of one table must not.
        if is_part or is_frame(source):
            parts.append((label, side.runs))
    if len(parts) > 1:
        refuse_overlap(parts)
    if question.censor_stopped:
        choices = [replace(choice, runs=with_stopped(choice.runs)) for choice in choices]
    if priced:
        each_price = zip(choices, prices if len(prices) > 1 else cycle(prices), strict=False)
        hours = [axis.hourly_price(choice.runs, price) for choice, price in each_price]
        choices = [
            replace(
                choice, runs=choice.runs.with_columns(hour), rows=choice.rows.with_columns(hour)
            )
            for choice, hour in zip(choices, hours, strict=True)
        ]
    if budget is not None:
        targets, metric = question.goals, question.metric
        for number, side in enumerate(choices):
            problem = "this is a table of runs without evaluations"
            remedy = "Give the table written by `ttastats ingest`."
            raise_if(side.rows.head(1).collect().is_empty(), problem, budget.option, remedy)
            runs = at_budget.runs(side.rows, budget, targets=targets, metric=metric)
            if question.censor_stopped:
                runs = with_stopped(runs)
            letter = chr(ord("A") + number) if len(choices) > 1 else ""
            at_budget.expect_some(runs, side.rows, budget, letter)
            choices[number] = replace(side, runs=runs)
        scales.expect_one([standing(choice.runs) for choice in choices], budget.option)
        return _add_setting_columns(choices, question.by)
    choices = _add_setting_columns(choices, question.by)
    tables, text = axis.on_common_axis([choice.runs for choice in choices], unit)
    notes = (Note("axis", text),) if text else ()
    return [
        replace(choice, runs=runs, notes=(*choice.notes, *notes))
        for choice, runs in zip(choices, tables, strict=True)
    ]


def _add_setting_columns(choices: Sequence[Choice], by: Sequence[str]) -> list[Choice]:
    """Return the runs with a column for each recorded setting in `by`."""
    frames = [choice.runs for choice in choices]
    for name in by:
        if any(name in frame.columns for frame in frames):
            continue
        values = settings.values(pl.concat([frame["extra"] for frame in frames]), name)
        if values is None:
            continue
        for number, frame in enumerate(frames):
            frames[number] = frame.with_columns(values.head(frame.height).alias(name))
            values = values.slice(frame.height)
    return [replace(choice, runs=frame) for choice, frame in zip(choices, frames, strict=True)]


def runs_and_keys(
    source: Source, question: Question, by_default: Sequence[str]
) -> tuple[Choice, tuple[str, ...]]:
    """Return the runs of a source and the grouping columns."""
    (side,) = sides([source], question, of_answer=True)
    return side, group_keys(question.by, by_default, side)


def group_keys(by: Sequence[str], by_default: Sequence[str], side: Choice) -> tuple[str, ...]:
    """Return the grouping columns; raise an error for an unknown one."""
    by = several(by)
    _expect_columns(by, side)
    return by or tuple(by_default)


def _expect_columns(by: Sequence[str], side: Choice) -> None:
    if unknown := [name for name in by if name not in side.runs.columns]:
        raise settings.unknown(unknown[0], side.runs.columns, side.runs["extra"], "--by")


def as_sides(choices: Sequence[Choice], question: Question, names: Sequence[str]) -> list[Side]:
    """Return the runs of each source as sides to be paired, named by `side_names`."""
    targets, titles = question.goals, side_names(choices, names)
    for choice in choices:
        _expect_columns(question.by, choice)
    return [
        Side(label, choice.runs, choice.rows, targets, at_budget=question.budget is not None)
        for label, choice in zip(titles, choices, strict=True)
    ]


def side_names(choices: Sequence[Choice], names: Sequence[str]) -> Sequence[str]:
    """Return the names of sides: of one column or setting for all, its value on each side."""
    if len(names) != 1 or len(choices) == 1:
        return names
    name, values = names[0], []
    for runs in (side.runs for side in choices):
        column = runs[name] if name in runs.columns else settings.values(runs["extra"], name)
        values.append(column[0] if column is not None and column.n_unique() == 1 else None)
    texts = list(map(str, values))
    are_distinct = None not in values and len(set(values)) == len(values)
    return texts if are_distinct else expect_names_for_all(names, texts)


def split_into_sets(
    side: Choice, by: Sequence[str], names: Sequence[str] = ()
) -> tuple[Sequence[str], list[Choice]]:
    """Return the names and runs of the sets in one table, by columns (or `day`, ...)."""
    from ttastats.sides.blocking import block_labels  # scipy costs start-up time

    option = "--same --by"
    label = block_labels(side.runs, by, option)
    set_names = label.drop_nulls().unique().sort().to_list()
    where, remedy = (
        f"{option} {','.join(by)}",
        "Use a column that identifies sessions, such as --by day.",
    )
    if len(set_names) < 2:
        problem = (
            f"all runs belong to one set: {set_names[0]}"
            if set_names
            else "no run has all of these"
        )
        raise TtastatsError(problem, where=where, remedy=remedy)
    if unknown := label.null_count():
        left_out = note("blocks_unknown.sets", n=unknown, columns=" and ".join(by))
        side = replace(side, notes=(*side.notes, left_out))
    sets = []
    for name in set_names:
        runs = side.runs.filter(label == name)
        rows = side.rows.join(runs.lazy(), on=schema.RUN, how="semi")
        sets.append(replace(side, runs=runs, rows=rows))
    return expect_names_for_all(names, set_names), sets
