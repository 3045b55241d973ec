"""Which runs is a question about, in keywords that functions share, and how are they judged?"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from itertools import cycle
from typing import Any, ParamSpec, TypeVar, get_args

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.base import arguments, units
from ttastats.base.codes import Note, note
from ttastats.base.errors import TtastatsError, nearest_names, raise_if
from ttastats.base.records import FORMER_NAMES
from ttastats.base.stores import Place, without_secrets
from ttastats.ingestion import given
from ttastats.outcomes import aims, at_budget, axis, scales, select, settings, time_to_target
from ttastats.outcomes import budget as budgets
from ttastats.outcomes.budget import Budget
from ttastats.outcomes.left_out import standing, with_stopped
from ttastats.outcomes.select import Condition, parse_all
from ttastats.outcomes.target import UserTarget, rows_with_targets
from ttastats.outcomes.target import parse_all as parse_targets
from ttastats.sides import helping
from ttastats.sides.options import (
    USUAL,
    At,
    AtBudget,
    Counted,
    Options,
    Prices,
    Targets,
    Where,
    options_of,
    several,
    usual,
)
from ttastats.sides.pairing import Side, refuse_overlap
from ttastats.table import schema
from ttastats.table.frames import is_frame


class Selection(Struct, frozen=True, eq=False):
    """The runs of a table that meet conditions, as a side of a comparison."""

    table: given.Source
    conditions: tuple[Condition, ...]


Source = given.Source | Selection


class Chosen(Struct, frozen=True, eq=False):
    """The runs of a question, one row each (`time_to_target.runs`), and notes on the choice.

    `rows` is the tidy table of their evaluations. `of_answer` are conditions on the numbers of
    the answer, for the report to meet.
    """

    runs: pl.DataFrame
    rows: pl.LazyFrame
    notes: tuple[Note, ...] = ()
    of_answer: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to compute; by default for each entry, the time to the target of its runs."""

    by: Sequence[str] = ()
    where: Where = ()
    target: Targets = ()
    unit: str = ""
    clock: str = ""
    price: Prices = ""
    censor_stopped: bool = False
    labels: Sequence[str] = ()
    pool: bool = False
    options: Options | Mapping[str, Any] = USUAL
    confidence: float | None = None
    margin: float | None = None
    epochs_fixed: bool | None = None
    at_end: bool = False
    at: At = ""
    best: bool = False
    interpolate: bool = False
    metric: str = ""

    def __post_init__(self) -> None:
        """Take each value as it is computed with, and columns by their former names too."""
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        with arguments.named_in_python():
            given = arguments.taken(given, {"options": options_of}, usual(Question))
            over = {name: given[name] for name in _OVER if given[name] is not None}
            given["options"] = dataclasses.replace(given["options"], **over)
        given["by"] = tuple(FORMER_NAMES.get(name, name) for name in given["by"])
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @property
    def goals(self) -> tuple[UserTarget, ...]:
        """Return the targets that the question names."""
        return parse_targets(arguments.targets("target", self.target))

    @property
    def judgement(self) -> Options:
        """Return the options of the comparison."""
        return options_of("options", self.options)

    @property
    def budget(self) -> Budget | None:
        """Return the budget at which qualities are compared; None for times to a target."""
        at = arguments.budget("at", self.at)
        budget = budgets.parse(
            at,
            at_end=self.at_end,
            best=self.best,
            interpolate=self.interpolate,
        )
        raise_if(
            budget is None and self.metric,
            "--metric needs a budget",
            f"--metric {self.metric}",
            "Add --at-end or --at step=...; for the time to a quality, use --target 'METRIC>=...'",
        )
        return budget


Question.__doc__ = helping.completed(Question, signature(Question))

#: Options of a comparison that are keywords too.
_OVER = ("confidence", "margin", "epochs_fixed")

_P = ParamSpec("_P")
_R = TypeVar("_R")


def takes(
    keywords: type[Counted | AtBudget] | None = None, **own: arguments.Taken
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that writes out the keywords of a function and checks all it is given."""
    fields = signature(Question).parameters
    names = keywords.__annotations__ if keywords else ()
    added = [fields[name] for name in fields if name in names]

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        original = signature(function)
        explicit = [p for p in original.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        complete = original.replace(parameters=[*explicit, *added])
        function.__signature__ = complete  # type: ignore[attr-defined]
        function.__doc__ = helping.completed(function, complete)
        return arguments.checked({"options": options_of, **own})(function)

    return decorate


#: Conditions by what their columns are of.
_Conditions = Mapping[select.Kind, tuple[Condition, ...]]


def rows(source: Source, where: Where = ()) -> pl.LazyFrame:
    """Return the rows of the tidy table that meet all conditions."""
    table, conditions = _table_and_conditions(source, where)
    every, conditions, added = _add_settings(given.tidy(table), conditions)
    _refuse_unknown(conditions["other"], schema.EVALUATION_NAMES, every)
    if conditions["result"]:
        by_runs = Selection(table, (*conditions["run"], *conditions["result"]))
        return select.where(choose_runs(by_runs).rows, conditions["evaluation"])
    return select.where(every, (*conditions["run"], *conditions["evaluation"])).drop(added)


def choose_runs(
    source: Source,
    where: Where = (),
    target: Targets = (),
    *,
    by_evaluation: bool = False,
    of_answer: bool = False,
    metric: str = "",
    name: str = "",
) -> Chosen:
    """Return the runs that meet the conditions, judged by all their evaluations.

    Conditions on runs come before the judgement, those on its results after it. A table of judged
    runs is taken as it is: its target is settled. `by_evaluation` takes conditions on evaluations
    and keeps the runs with one that meets all of them; `of_answer` leaves conditions on other
    columns in `where` to the report; `metric` is what is asked beside the targets; `name` is what
    errors call the source, if there are several.
    """
    table, conditions = _table_and_conditions(source, where)
    of_side = source.conditions if isinstance(source, Selection) else ()
    judged = given.given_runs(table)
    targets = parse_targets(arguments.targets("target", target)) if judged is None else ()
    with given.asked_about([metric, *(each.metric or "" for each in targets)]):
        every = given.as_named(given.tidy(table)) if judged is None else judged.lazy()
    every, conditions, added = _add_settings(every, conditions)
    others = [each for each in conditions["other"] if not of_answer or each in of_side]
    _refuse_unknown(others, schema.EVALUATION_NAMES if by_evaluation else (), every)
    if conditions["evaluation"] and not by_evaluation:
        raise TtastatsError(
            f"{conditions['evaluation'][0].column} is a column of evaluations, but this command "
            "selects whole runs",
            where=conditions["evaluation"][0].place,
            remedy="Use --target for another quality target. `ttastats runs` lists the runs "
            "with such an evaluation; `ttastats export FILE -o rows.csv` writes the rows.",
        )
    try:
        if judged is None:
            return _judge_rows(every, conditions, targets, added)
        runs = select.where(every, conditions["run"]).drop(added).collect()
        if runs.is_empty():
            raise select.unmet(every.collect(), conditions["run"], "run")
        return _filter_by_result(runs, conditions, pl.LazyFrame(schema=schema.POLARS))
    except TtastatsError as error:
        if not name:
            raise
        where_ = f"{name}: {error.where}" if error.where else name
        raise TtastatsError(error.what, where=where_, remedy=error.remedy) from None


def _table_and_conditions(source: Source, where: Where) -> tuple[given.Source, _Conditions]:
    """Return the table of a source, and its conditions by what their columns are of."""
    selection = source if isinstance(source, Selection) else Selection(source, ())
    kinds: dict[select.Kind, tuple[Condition, ...]] = dict.fromkeys(get_args(select.Kind), ())
    for condition in (*parse_all(arguments.conditions("where", where)), *selection.conditions):
        kinds[select.kind(condition.column)] += (condition,)
    return selection.table, kinds


def _add_settings(
    every: pl.LazyFrame, conditions: _Conditions
) -> tuple[pl.LazyFrame, _Conditions, list[str]]:
    """Return a table with the settings that conditions name, now on runs, and their columns."""
    if not conditions["other"]:
        return every, conditions, []
    runs = every.select(*schema.RUN, "extra").unique(schema.RUN).collect()
    known = settings.setting_names(runs["extra"])
    named = {each: settings.full_name(each.column, known) for each in conditions["other"]}
    added = sorted({name for name in named.values() if name is not None})
    if not added:
        return every, conditions, []
    columns_added = (settings.column(runs["extra"], name) for name in added)
    values = runs.select(*schema.RUN, *columns_added).lazy()
    every = every.join(values, on=schema.RUN, how="left", maintain_order="left")
    run, rest = [*conditions["run"]], []
    for each, name in named.items():
        if name is None:
            rest.append(each)
        else:
            run.append(replace(each, column=name))
    return every, {**conditions, "run": tuple(run), "other": tuple(rest)}, added


def _refuse_unknown(
    conditions: Sequence[Condition], also: Sequence[str], every: pl.LazyFrame
) -> None:
    """Raise an error for the first condition, if any: its column is nowhere."""
    known = (*select.of_runs(), *also)
    for condition in conditions:
        extras = every.select("extra").unique().collect()["extra"]
        error = settings.unknown(condition.column, known, extras, condition.option)
        if nearest_names(condition.column, (*known, *settings.setting_names(extras))):
            raise error
        hint = (
            "Columns of an answer, such as cv or verdict, can be used with --where in summary, "
            "variance, effects, power, scaling, score, rcp and compare."
        )
        raise TtastatsError(error.what, where=error.where, remedy=f"{hint}\n  {error.remedy}")


def _judge_rows(
    every: pl.LazyFrame,
    conditions: _Conditions,
    targets: Sequence[UserTarget],
    added: Sequence[str],
) -> Chosen:
    """Return the runs of a tidy table that meet conditions, judged by targets."""
    rows = select.where(every, conditions["run"]).drop(added)
    if conditions["evaluation"]:
        having = select.where(rows, conditions["evaluation"]).select(schema.RUN).unique()
        rows = rows.join(having, on=schema.RUN, how="semi")
    suitable, left_out = rows_with_targets(rows, targets)
    runs = time_to_target.runs(suitable, targets)
    runs = runs if targets else aims.with_best(runs, suitable)
    if runs.is_empty():
        run_columns = {*schema.RUN, *(condition.column for condition in conditions["run"])}
        known = every.select(sorted(run_columns)).unique(schema.RUN).collect()
        of_evaluations = conditions["evaluation"]
        if not of_evaluations or select.where(known.lazy(), conditions["run"]).collect().is_empty():
            raise select.unmet(known, conditions["run"], "run")
        evaluations = (
            select.where(every, conditions["run"])
            .select([condition.column for condition in of_evaluations])
            .collect()
        )
        raise select.unmet(evaluations, of_evaluations, "evaluation")
    by_result = _filter_by_result(runs, conditions, suitable)
    # Which values no run has takes another look at the file.
    due = [each for each in conditions["run"] if each.operator == "!=" or len(each.values) > 1]
    names = {condition.column for condition in due}
    notes = select.remarks(every.select(names).unique().collect(), due, "run") if due else []
    notes += [Note("not_asked", text) for text in left_out]
    return replace(by_result, notes=(*notes, *by_result.notes))


def _filter_by_result(judged: pl.DataFrame, conditions: _Conditions, tidy: pl.LazyFrame) -> Chosen:
    """Return the judged runs that meet conditions on their results, with their rows."""
    of_results = conditions["result"]
    if not of_results:
        return Chosen(judged, tidy, (), conditions["other"])
    runs = select.where(judged.lazy(), of_results).collect()
    if runs.is_empty():
        raise select.unmet(judged, of_results, "run")
    notes = select.remarks(judged, of_results, "run")
    places = " ".join(condition.place for condition in of_results)
    notes.append(note("chosen_by_result", conditions=places, n=runs.height, all=judged.height))
    rows = tidy.join(runs.lazy().select(schema.RUN), on=schema.RUN, how="semi")
    return Chosen(runs, rows, tuple(notes), conditions["other"])


def sides(
    sources: Sequence[Source], question: Question, *, of_answer: bool = False
) -> list[Chosen]:
    """Return the runs of each source; errors name the source if there are several.

    All are on one axis or, at a budget, on none, with their quality there (`at_budget.runs`).
    """
    unit, names = axis.by_clock(question.unit, question.clock), labels(sources)
    priced, budget = question.price != "", question.budget
    prices = [question.price] if isinstance(question.price, str | float | int) else question.price
    which = f"{units.plural(len(prices), 'price')} for {units.plural(len(sources), 'side')}"
    one_each = "Give one for all, or one for each side in their order."
    raise_if(len(prices) not in {1, len(sources)}, which, "--price", one_each)
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
        choices = [replace(each, runs=with_stopped(each.runs)) for each in choices]
    if priced:
        each_price = zip(choices, prices if len(prices) > 1 else cycle(prices), strict=False)
        hours = [axis.hourly_price(each.runs, price) for each, price in each_price]
        choices = [
            replace(each, runs=each.runs.with_columns(hour), rows=each.rows.with_columns(hour))
            for each, hour in zip(choices, hours, strict=True)
        ]
    if budget is not None:
        targets, metric = question.goals, question.metric
        for number, side in enumerate(choices):
            what = "this is a table of runs without evaluations"
            remedy = "Give the table written by `ttastats ingest`."
            raise_if(side.rows.head(1).collect().is_empty(), what, budget.option, remedy)
            runs = at_budget.runs(side.rows, budget, targets=targets, metric=metric)
            if question.censor_stopped:
                runs = with_stopped(runs)
            who = chr(ord("A") + number) if len(choices) > 1 else ""
            at_budget.expect_some(runs, side.rows, budget, who)
            choices[number] = replace(side, runs=runs)
        scales.expect_one([standing(each.runs) for each in choices], budget.option)
        return _add_setting_columns(choices, question.by)
    choices = _add_setting_columns(choices, question.by)
    tables, text = axis.on_common_axis([each.runs for each in choices], unit)
    notes = (Note("axis", text),) if text else ()
    return [
        replace(each, runs=runs, notes=(*each.notes, *notes))
        for each, runs in zip(choices, tables, strict=True)
    ]


def _add_setting_columns(choices: Sequence[Chosen], by: Sequence[str]) -> list[Chosen]:
    """Return the runs with the settings recorded of them that `by` names as columns."""
    frames = [each.runs for each in choices]
    for name in by:
        if any(name in frame.columns for frame in frames):
            continue
        values = settings.values(pl.concat([frame["extra"] for frame in frames]), name)
        if values is None:
            continue
        for number, frame in enumerate(frames):
            frames[number] = frame.with_columns(values.head(frame.height).alias(name))
            values = values.slice(frame.height)
    return [replace(each, runs=frame) for each, frame in zip(choices, frames, strict=True)]


def runs_and_keys(
    source: Source, question: Question, by_default: Sequence[str]
) -> tuple[Chosen, tuple[str, ...]]:
    """Return the runs of a source and the columns that put them together."""
    (side,) = sides([source], question, of_answer=True)
    return side, group_keys(question.by, by_default, side)


def group_keys(by: Sequence[str], by_default: Sequence[str], side: Chosen) -> tuple[str, ...]:
    """Return the columns that put runs together, once they are known to be there."""
    by = several(by)
    _expect_columns(by, side)
    return by or tuple(by_default)


def _expect_columns(by: Sequence[str], side: Chosen) -> None:
    if unknown := [name for name in by if name not in side.runs.columns]:
        raise settings.unknown(unknown[0], side.runs.columns, side.runs["extra"], "--by")


def with_claim(question: Question, quality: str) -> tuple[float | None, Question]:
    """Return the threshold of a claim such as `val_loss <= 3.28`, and its question at a budget."""
    if not quality:
        return None, question
    (claimed,) = parse_targets([quality], "--quality")
    for option, value in (("--target", question.target), ("--metric", question.metric)):
        what = f"{option} cannot be combined with a claim about a quality"
        remedy = f"Remove {option}: the claim names the quality."
        raise_if(value, what, f"--quality {quality!r} {option}", remedy)
    at_end = question.at_end or question.budget is None
    return claimed.value, dataclasses.replace(question, target=(quality,), at_end=at_end)


def as_sides(choices: Sequence[Chosen], question: Question, names: Sequence[str]) -> list[Side]:
    """Return the runs of each source as sides to be paired, named by `side_names`."""
    targets, labels = question.goals, side_names(choices, names)
    for each in choices:
        _expect_columns(question.by, each)
    return [
        Side(label, each.runs, each.rows, targets, at_budget=question.budget is not None)
        for label, each in zip(labels, choices, strict=True)
    ]


def split_into_sets(
    side: Chosen, by: Sequence[str], names: Sequence[str] = ()
) -> tuple[Sequence[str], list[Chosen]]:
    """Return names and runs of the sets that columns (or `day`, ...) tell apart in one table."""
    from ttastats.sides.blocking import block_labels  # scipy costs start-up time

    option = "--same --by"
    label = block_labels(side.runs, by, option)
    known = label.drop_nulls().unique().sort().to_list()
    where, remedy = (
        f"{option} {','.join(by)}",
        "Use a column that identifies sessions, such as --by day.",
    )
    if len(known) < 2:
        one = f"all runs belong to one set: {known[0]}" if known else "no run has all of these"
        raise TtastatsError(one, where=where, remedy=remedy)
    if unknown := label.null_count():
        left_out = note("blocks_unknown.sets", n=unknown, columns=" and ".join(by))
        side = replace(side, notes=(*side.notes, left_out))
    sets = []
    for name in known:
        runs = side.runs.filter(label == name)
        rows = side.rows.join(runs.lazy(), on=schema.RUN, how="semi")
        sets.append(replace(side, runs=runs, rows=rows))
    return _expect_names_for_all(names, known), sets


def files(source: Source) -> list[Place]:
    """Return the files of a source; a table in memory has none."""
    return given.paths(source.table if isinstance(source, Selection) else source)


def labels(sources: Sequence[Source], names: Sequence[str] = ()) -> Sequence[str]:
    """Return names for sources: those given, else paths or conditions, else letters.

    One name for several is looked up when their runs are known: see `side_names`.
    """
    if len(names := several(names)) == 1:
        return names
    return _expect_names_for_all(
        names, [label(source, number) for number, source in enumerate(sources)]
    )


def _expect_names_for_all(names: Sequence[str], sides: Sequence[str]) -> Sequence[str]:
    raise_if(
        names and len(names) != len(sides),
        f"{units.plural(len(names), 'label')} for {units.plural(len(sides), 'side')}",
        "--label",
        "Repeat --label once per side, in their order, or name a column or a setting in which the "
        "sides differ.",
    )
    return names or sides


def side_names(choices: Sequence[Chosen], names: Sequence[str]) -> Sequence[str]:
    """Return the names of sides: one name for several is of what they differ in, by its values."""
    if len(names) != 1 or len(choices) == 1:
        return names
    name, values = names[0], []
    for side in choices:
        runs = side.runs
        column = runs[name] if name in runs.columns else settings.values(runs["extra"], name)
        values.append(column[0] if column is not None and column.n_unique() == 1 else None)
    texts = list(map(str, values))
    apart = None not in values and len(set(values)) == len(values)
    return texts if apart else _expect_names_for_all(names, texts)


def label(source: Source, number: int) -> str:
    """Return the name of the source with a number."""
    if isinstance(source, Selection):
        return ", ".join(map(str, source.conditions))
    if isinstance(source, str) and "://" in source:
        return without_secrets(source)
    return str(source) if isinstance(source, str | Place) else chr(ord("A") + number)


def short_labels(sources: Sequence[Source], names: Sequence[str] = ()) -> Sequence[str]:
    """Return names for sources as `labels` does, without folders where that is unique.

    Parts of one table chosen by the value of one column are called by that value.
    """
    long = labels(sources, names)
    if names:
        return long
    short = [
        ", ".join(
            path.name.removesuffix("" if path.is_dir() else path.suffix) for path in files(source)
        )
        for source in sources
    ]
    if "" not in short and len(set(short)) == len(short):
        return short
    equal = [match for name in long if (match := _EQUAL.fullmatch(name))]
    if len(equal) == len(long) and len({match[1] for match in equal}) == 1:
        return [match[2] for match in equal]
    return long


#: A condition on one column that is met by one value; a number alone would not say what it counts.
_EQUAL = re.compile(r"([\w./-]+)=(?=.*[A-Za-z])([^=,<>]+)")
