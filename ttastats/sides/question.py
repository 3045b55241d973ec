"""What is asked of one or more sources, in keywords that functions share, and of which runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypedDict, TypeVar

import polars as pl

from ttastats.base.errors import TtastatsError
from ttastats.base.note import Note, note
from ttastats.base.records import FORMER_NAMES
from ttastats.outcomes import at_budget, axis, columns, counted
from ttastats.outcomes import budget as budgets
from ttastats.outcomes.budget import Budget
from ttastats.outcomes.target import parse_all as parse_targets
from ttastats.sides import choice
from ttastats.sides.choice import Chosen, Selection, Source, chosen
from ttastats.sides.pairing import Side
from ttastats.sides.shared_runs import refuse_overlap
from ttastats.table import schema
from ttastats.table.frames import is_frame

if TYPE_CHECKING:
    from ttastats.sides.options import Options


class Counted(TypedDict, total=False):
    """Keywords of a question about groups of runs."""

    by: Sequence[str]
    where: Sequence[str]
    unit: str
    clock: str
    price: str | float
    censor_stopped: bool


class Judged(Counted, total=False):
    """Keywords of a question that may have a target of its own."""

    target: Sequence[str]


class Compared(Judged, total=False):
    """Keywords of a question about sides."""

    labels: Sequence[str]
    pool: bool
    options: Options | None


class AtBudget(TypedDict, total=False):
    """Keywords of a question about the quality at a budget."""

    at_end: bool
    at: str
    best: bool
    interpolate: bool
    metric: str


class JudgedAt(Judged, AtBudget, total=False):
    """Keywords of a question about groups of runs, or about their quality at a budget."""


class ComparedAt(Compared, AtBudget, total=False):
    """Keywords of a question about sides, or about their quality at a budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to compute; by default for each entry, the time to the target of its runs.

    Parameters
    ----------
    by
        Columns to group by.
    where
        Conditions such as `benchmark=resnet` or `cv>10%`; all must hold.
    target
        Another quality target, such as `0.75` or `eval_loss<=0.9`; one for each metric.
    unit
        What to count to the target: seconds, epochs, steps, samples, evaluations, cost, cpu-seconds
        or energy. By default seconds or, if a side has none, the first of epochs, steps, samples
        and evaluations that all sides have.
    clock
        `training` excludes evaluation from seconds and CPU seconds, if the runs log that.
    price
        Price per hour, or a column with it, for `unit="cost"`.
    censor_stopped
        Count stopped runs (not in MLPerf logs) as right-censored, unless they were repeated.
    labels
        Names for the sources.
    pool
        Pool all runs of a benchmark, even if the hardware differs.
    options
        Options of the comparison.
    at_end, at
        Compare qualities at a budget instead of times to a target: at the end of each run, or at
        `step=3325`, `epoch=10`, `samples=1e6` or `seconds=600`.
    best
        At the budget, the best value so far instead of the last.
    interpolate
        At the budget, interpolate linearly between evaluations.
    metric
        The quality to compare at the budget, if there are several.
    """

    by: Sequence[str] = ()
    where: Sequence[str] = ()
    target: Sequence[str] = ()
    unit: str = ""
    clock: str = ""
    price: str | float = ""
    censor_stopped: bool = False
    labels: Sequence[str] = ()
    pool: bool = False
    options: Options | None = None
    at_end: bool = False
    at: str = ""
    best: bool = False
    interpolate: bool = False
    metric: str = ""

    def __post_init__(self) -> None:
        """Take columns by their former names too."""
        object.__setattr__(self, "by", tuple(FORMER_NAMES.get(name, name) for name in self.by))

    @property
    def budget(self) -> Budget | None:
        """Give the budget at which qualities are asked for; None where a time is.

        Raises
        ------
        TtastatsError
            The keywords are no budget, or a metric is named without one.
        """
        found = budgets.parse(
            self.at, at_end=self.at_end, best=self.best, interpolate=self.interpolate
        )
        if found is None and self.metric:
            raise TtastatsError(
                "--metric needs a budget",
                where=f"--metric {self.metric}",
                remedy="Add --at-end or --at step=...; for the time to a quality, use --target "
                "'METRIC>=...'",
            )
        return found


_P = ParamSpec("_P")
_R = TypeVar("_R")


def takes(keywords: type[Counted]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Write out the keywords of a function that takes them as `**asked`, and refuse others."""
    fields = signature(Question).parameters
    asked = [fields[name] for name in fields if name in keywords.__annotations__]

    def written_out(function: Callable[_P, _R]) -> Callable[_P, _R]:
        own = signature(function)
        named = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        shown = own.replace(parameters=[*named, *asked])

        @wraps(function)
        def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            shown.bind(*args, **kwargs)
            return function(*args, **kwargs)

        called.__signature__ = shown  # type: ignore[attr-defined]
        return called

    return written_out


def judged(
    sources: Sequence[Source], question: Question, *, of_answer: bool = False
) -> list[Chosen]:
    """Give the runs of each source: their times to a target, or at a budget their qualities.

    Raises
    ------
    TtastatsError
        As `sides`, or `sides_at`.
    """
    if (budget := question.budget) is not None:
        return sides_at(sources, question, budget, of_answer=of_answer)
    return sides(sources, question, of_answer=of_answer)


def group(
    source: Source, question: Question, by_default: Sequence[str]
) -> tuple[Chosen, tuple[str, ...]]:
    """Give the runs of a source and the columns that put them together."""
    (found,) = sides([source], question, of_answer=True)
    return found, keys(question.by, by_default, found)


def keys(by: Sequence[str], by_default: Sequence[str], found: Chosen) -> tuple[str, ...]:
    """Give the columns that put runs together, once they are known to be there."""
    columns.check(by, found.runs.columns, option="--by")
    return tuple(by or by_default)


def sides(
    sources: Sequence[Source], question: Question, *, of_answer: bool = False
) -> list[Chosen]:
    """Give the runs of each source, all on one axis; errors name the source among several.

    Raises
    ------
    TtastatsError
        As `choice.chosen`; or the sources have no axis in common, or parts of a table share runs.
    """
    found = _chosen(sources, question, of_answer=of_answer)
    return _on_axis(found, axis.by_clock(question.unit, question.clock), question.price)


def _chosen(sources: Sequence[Source], question: Question, *, of_answer: bool) -> list[Chosen]:
    """Give the runs of each source that are asked about, judged by their targets."""
    several = len(sources) > 1
    found = [
        chosen(
            source,
            question.where,
            question.target,
            of_answer=of_answer,
            name=label if several and not isinstance(source, Selection) else "",
        )
        for source, label in zip(sources, labels(sources), strict=True)
    ]
    # Two files may hold the same run, sent in twice; two parts of a table that do are a mistake.
    parts = [
        (label, one.runs)
        for source, label, one in zip(sources, labels(sources), found, strict=True)
        if isinstance(source, Selection) or is_frame(source)
    ]
    if len(parts) > 1:
        refuse_overlap(parts)
    if question.censor_stopped:
        found = [replace(one, runs=counted.with_stopped(one.runs)) for one in found]
    return found


def sides_at(
    sources: Sequence[Source], question: Question, budget: Budget, *, of_answer: bool = True
) -> list[Chosen]:
    """Give the runs of each source with their quality at a budget (`at_budget.runs`), on no axis.

    Raises
    ------
    TtastatsError
        As `sides`; or a source has no evaluations, or no run with a value at the budget.
    """
    unit = axis.by_clock(question.unit, question.clock)
    found = _chosen(sources, question, of_answer=of_answer)
    found = _priced(found, unit, question.price)
    letters = [chr(ord("A") + number) if len(found) > 1 else "" for number in range(len(found))]
    return [_at(one, question, budget, letter) for one, letter in zip(found, letters, strict=True)]


def with_claim(question: Question, quality: str) -> tuple[float | None, Question]:
    """Give the threshold of a claim such as `val_loss <= 3.28`, and the question it makes.

    Raises
    ------
    TtastatsError
        It is no such claim, or a target is asked for besides.
    """
    if not quality:
        return None, question
    (claimed,) = parse_targets([quality], "--quality")
    for option, given in (("--target", question.target), ("--metric", question.metric)):
        if given:
            raise TtastatsError(
                f"{option} cannot be combined with a claim about a quality",
                where=f"--quality {quality!r} {option}",
                remedy=f"Remove {option}: the claim names the quality.",
            )
    return claimed.value, replace(question, target=(quality,))


def about_claim(error: TtastatsError) -> TtastatsError:
    """Give an error about the target that a claim stands for as one about the claim."""
    where, remedy = (
        None if text is None else text.replace("--target", "--quality")
        for text in (error.where, error.remedy)
    )
    return TtastatsError(error.what, where=where, remedy=remedy)


def _at(found: Chosen, question: Question, budget: Budget, who: str) -> Chosen:
    targets = parse_targets(question.target)
    if found.rows.head(1).collect().is_empty():
        raise TtastatsError(
            "this is a table of runs without evaluations",
            where=budget.option,
            remedy="Give the table written by `ttastats ingest`.",
        )
    runs = at_budget.runs(found.rows, budget, targets=targets, metric=question.metric)
    if question.censor_stopped:
        runs = counted.with_stopped(runs)
    at_budget.expect_some(runs, found.rows, budget, who)
    return replace(found, runs=runs)


def _on_axis(found: Sequence[Chosen], unit: str, price: str | float) -> list[Chosen]:
    """Put the runs of all sides on one axis, the prices of hours replaced where that is asked."""
    axis.expect(unit)
    found = _priced(found, unit, price)
    tables, said = axis.settled([one.runs for one in found], unit)
    notes = (Note("axis", said),) if said else ()
    return [
        replace(one, runs=runs, notes=(*one.notes, *notes))
        for one, runs in zip(found, tables, strict=True)
    ]


def _priced(found: Sequence[Chosen], unit: str, price: str | float) -> list[Chosen]:
    """Replace the prices of hours where that is asked."""
    axis.expect(unit)
    if price != "":
        if unit != "cost":
            raise TtastatsError(
                "needs --in cost",
                where="--price",
                remedy="Add --in cost, or remove --price.",
            )
        per_hour = [axis.priced(one.runs, price) for one in found]
        found = [
            replace(one, runs=one.runs.with_columns(hour), rows=one.rows.with_columns(hour))
            for one, hour in zip(found, per_hour, strict=True)
        ]
    return list(found)


def labelled(found: Sequence[Chosen], question: Question, labels: Sequence[str]) -> list[Side]:
    """Give the runs of each source as sides to be paired."""
    targets = parse_targets(question.target)
    for one in found:
        columns.check(question.by, one.runs.columns, option="--by")
    return [
        Side(label, one.runs, one.rows, targets, at_budget=question.budget is not None)
        for label, one in zip(labels, found, strict=True)
    ]


def sets(found: Chosen, names: Sequence[str]) -> tuple[list[str], list[Chosen]]:
    """Give the sets of runs that columns (or `day`, ...) tell apart in one table, with their names.

    Raises
    ------
    TtastatsError
        A name tells nothing, or there is one set.
    """
    from ttastats.sides.blocking import labelled  # scipy costs start-up time

    option = "--same --by"
    label = labelled(found.runs, names, option)
    known = label.drop_nulls().unique().sort().to_list()
    if len(known) < 2:
        raise TtastatsError(
            f"all runs belong to one set: {known[0]}",
            where=f"{option} {','.join(names)}",
            remedy="Use a column that identifies sessions, such as --by day.",
        )
    if unknown := label.null_count():
        left_out = note("blocks_unknown.sets", n=unknown, columns=" and ".join(names))
        found = replace(found, notes=(*found.notes, left_out))
    return known, [_part_of(found, found.runs.filter(label == one)) for one in known]


def _part_of(found: Chosen, runs: pl.DataFrame) -> Chosen:
    rows = found.rows.join(runs.lazy(), on=schema.RUN, how="semi", nulls_equal=True)
    return replace(found, runs=runs, rows=rows)


def labels(sources: Sequence[Source]) -> list[str]:
    """Name sources by their paths or conditions, and tables in memory by letters."""
    return [label(source, number) for number, source in enumerate(sources)]


def label(source: Source, number: int) -> str:
    """Name the source of that number."""
    if isinstance(source, Selection):
        return ", ".join(map(str, source.conditions))
    return str(source) if isinstance(source, str | Path) else chr(ord("A") + number)


def short_labels(sources: Sequence[Source]) -> list[str]:
    """Name sources by their files without folders, if that tells them apart, or as `labels`.

    Parts of one table chosen by the value of one column are called by that value.
    """
    short = [", ".join(map(_short, choice.files(source))) for source in sources]
    if "" not in short and len(set(short)) == len(short):
        return short
    named = [_EQUAL.fullmatch(text) for text in labels(sources)]
    known = [match for match in named if match]
    if len(known) == len(named) and len({match[1] for match in known}) == 1:
        return [match[2] for match in known]
    return labels(sources)


def _short(path: Path) -> str:
    return path.name if path.is_dir() else path.stem


#: A condition on one column that is met by one value.
_EQUAL = re.compile(r"(\w+)=([^=,<>]+)")
