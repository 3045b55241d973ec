"""Which runs is a question about, and how were they judged?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import polars as pl

from ttastats.base.errors import TtastatsError
from ttastats.base.nearest import nearest
from ttastats.base.note import Note, note
from ttastats.ingestion import given
from ttastats.outcomes import columns, select, time_to_target
from ttastats.outcomes.conditions import Condition, parse_all
from ttastats.outcomes.target import parse_all as parse_targets
from ttastats.outcomes.target import suited
from ttastats.table import schema


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The runs of a table that meet conditions, as a side of a comparison."""

    table: given.Source
    conditions: tuple[Condition, ...]


Source = given.Source | Selection


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The runs of a question, one row each (`time_to_target.runs`), and notes on the choice.

    `rows` is the tidy table of their evaluations. `of_answer` are conditions on the numbers of
    the answer, for the report to meet.
    """

    runs: pl.DataFrame
    rows: pl.LazyFrame
    notes: tuple[Note, ...] = ()
    of_answer: tuple[Condition, ...] = ()


_NO_ROWS = pl.DataFrame(schema=schema.POLARS)


#: Conditions by what their columns are of.
_Asked = Mapping[columns.Kind, tuple[Condition, ...]]


def files(source: Source) -> list[Path]:
    """Give the files of a source; a table in memory has none."""
    return given.paths(source.table if isinstance(source, Selection) else source)


def rows(source: Source, where: Sequence[str] = ()) -> pl.LazyFrame:
    """Give the rows of the tidy table that meet all conditions, those on evaluations included."""
    table, conditions = _opened(source, where)
    asked = _by_kind(conditions)
    _refuse(asked["other"], schema.EVALUATION_NAMES)
    if asked["result"]:
        every = chosen(Selection(table, (*asked["run"], *asked["result"]))).rows
        return select.where(every, asked["evaluation"])
    return select.where(given.tidy(table), (*asked["run"], *asked["evaluation"]))


def chosen(
    source: Source,
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    *,
    by_evaluation: bool = False,
    of_answer: bool = False,
    name: str = "",
) -> Chosen:
    """Give the runs that meet the conditions, judged by all their evaluations.

    Conditions on runs come before the judgement, those on its results after it. A table of judged
    runs is taken as it is: its target is settled.

    Parameters
    ----------
    by_evaluation
        Take conditions on evaluations: keep the runs with one that meets all of them.
    of_answer
        Leave conditions on other columns in `where` to the report.
    name
        What errors call the source, where there are several.

    Raises
    ------
    TtastatsError
        A condition is malformed or not for this question, no run meets them, or the targets
        cannot be asked.
    """
    table, conditions = _opened(source, where)
    asked = _by_kind(conditions)
    others = [
        one for one in asked["other"] if isinstance(source, Selection) and one in source.conditions
    ]
    _refuse(
        others if of_answer else asked["other"], schema.EVALUATION_NAMES if by_evaluation else ()
    )
    if not by_evaluation:
        _refuse_evaluations(asked["evaluation"])
    if (runs := given.judged(table)) is not None:
        return _of_judged(_whole(runs, asked, name), asked, _NO_ROWS.lazy(), name)
    return _judged(given.tidy(table), asked, target, name)


def _judged(every: pl.LazyFrame, asked: _Asked, target: Sequence[str], name: str) -> Chosen:
    """Judge the runs of a tidy table that meet the conditions."""
    targets = parse_targets(target)
    try:
        kept, left_out = suited(_of_runs(every, asked), targets)
    except TtastatsError as error:
        raise _named(error, name) from None
    judged = time_to_target.runs(kept, targets)
    if judged.is_empty():
        raise _named(_none(every, asked), name)
    found = _of_judged(judged, asked, kept, name)
    notes = [*_unmet(every, asked["run"]), *(Note("not_asked", text) for text in left_out)]
    return Chosen(found.runs, found.rows, (*notes, *found.notes), asked["other"])


def _opened(source: Source, where: Sequence[str]) -> tuple[given.Source, tuple[Condition, ...]]:
    conditions = parse_all(where)
    if isinstance(source, Selection):
        return source.table, (*conditions, *source.conditions)
    return source, conditions


def _by_kind(conditions: Sequence[Condition]) -> _Asked:
    kinds: tuple[columns.Kind, ...] = get_args(columns.Kind)
    return {
        kind: tuple(one for one in conditions if columns.kind(one.column) == kind) for kind in kinds
    }


def _refuse(conditions: Sequence[Condition], also: Sequence[str]) -> None:
    known = (*columns.of_runs(), *also)
    for condition in conditions:
        error = columns.unknown(condition.column, known, condition.option)
        if nearest(condition.column, known):
            raise error
        hint = (
            "Columns of an answer, such as cv or verdict, can be used with --where in summary, "
            "variance, power, scaling, score, rcp and compare."
        )
        raise TtastatsError(error.what, where=error.where, remedy=f"{hint}\n  {error.remedy}")


def _refuse_evaluations(conditions: Sequence[Condition]) -> None:
    for condition in conditions:
        raise TtastatsError(
            f"{condition.column} is a column of evaluations, but this command selects whole runs",
            where=condition.place,
            remedy="Use --target for another quality target. `ttastats runs` lists the runs "
            "with such an evaluation; `ttastats export FILE -o rows.csv` writes the rows.",
        )


def _whole(judged: pl.DataFrame, asked: _Asked, name: str) -> pl.DataFrame:
    """Keep the runs of a table of judged ones that meet conditions on runs."""
    kept = select.where(judged.lazy(), asked["run"]).collect()
    if kept.is_empty():
        raise _named(select.unmet(judged, asked["run"], "run"), name)
    return kept


def _of_runs(every: pl.LazyFrame, asked: _Asked) -> pl.LazyFrame:
    """Keep the rows of the runs that meet conditions on runs and have such an evaluation."""
    kept = select.where(every, asked["run"])
    if not asked["evaluation"]:
        return kept
    having = select.where(kept, asked["evaluation"]).select(schema.RUN).unique()
    return kept.join(having, on=schema.RUN, how="semi")


def _of_judged(judged: pl.DataFrame, asked: _Asked, tidy: pl.LazyFrame, name: str) -> Chosen:
    """Keep the runs whose results meet the conditions, and say that they were chosen so."""
    runs = select.where(judged.lazy(), asked["result"]).collect()
    if runs.is_empty():
        raise _named(select.unmet(judged, asked["result"], "run"), name)
    if not asked["result"]:
        return Chosen(runs, tidy, (), asked["other"])
    notes = select.remarks(judged, asked["result"], "run")
    places = " ".join(condition.place for condition in asked["result"])
    notes.append(note("chosen_by_result", conditions=places, n=runs.height, all=judged.height))
    kept = tidy.join(runs.lazy().select(schema.RUN), on=schema.RUN, how="semi")
    return Chosen(runs, kept, tuple(notes), asked["other"])


def _unmet(every: pl.LazyFrame, conditions: Sequence[Condition]) -> list[Note]:
    """Say which values no run has, at the price of another look at the file where it is due."""
    due = [one for one in conditions if one.operator == "!=" or len(one.values) > 1]
    if not due:
        return []
    return select.remarks(_heads(every, due), due, "run")


def _heads(every: pl.LazyFrame, conditions: Iterable[Condition]) -> pl.DataFrame:
    """Give one row per run with the columns that conditions ask about."""
    names = {*schema.RUN, *(condition.column for condition in conditions)}
    return every.select(sorted(names)).unique(schema.RUN).collect()


def _none(every: pl.LazyFrame, asked: _Asked) -> TtastatsError:
    """Give the error for conditions that no run meets."""
    runs = _heads(every, asked["run"])
    if asked["evaluation"] and not select.where(runs.lazy(), asked["run"]).collect().is_empty():
        names = [condition.column for condition in asked["evaluation"]]
        evaluations = select.where(every, asked["run"]).select(names).collect()
        return select.unmet(evaluations, asked["evaluation"], "evaluation")
    return select.unmet(runs, asked["run"], "run")


def _named(error: TtastatsError, name: str) -> TtastatsError:
    if not name:
        return error
    where = f"{name}: {error.where}" if error.where else name
    return TtastatsError(error.what, where=where, remedy=error.remedy)
