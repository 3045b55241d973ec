"""Which question is asked of which sources, in shared keywords, and which names have the sides?"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

from msgspec import Struct

from ttastats.base import arguments, units
from ttastats.base.errors import raise_if
from ttastats.base.records import FORMER_NAMES
from ttastats.base.stores import Place, without_secrets
from ttastats.ingestion import given
from ttastats.outcomes import budget as budgets
from ttastats.outcomes.budget import Budget
from ttastats.outcomes.select import Condition
from ttastats.outcomes.target import UserTarget
from ttastats.outcomes.target import parse_all as parse_targets
from ttastats.sides import helping
from ttastats.sides.options import (
    USUAL,
    At,
    BudgetKeywords,
    GroupKeywords,
    Options,
    Prices,
    Targets,
    Where,
    options_of,
    several,
    usual,
)


class Selection(Struct, frozen=True, eq=False):
    """The runs of a table that meet conditions, as a side of a comparison."""

    table: given.Source
    conditions: tuple[Condition, ...]


Source = given.Source | Selection


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
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        with arguments.named_in_python():
            values = arguments.taken(values, {"options": options_of}, usual(Question))
            over = {name: values[name] for name in _OPTION_KEYWORDS if values[name] is not None}
            values["options"] = dataclasses.replace(values["options"], **over)
        values["by"] = tuple(FORMER_NAMES.get(name, name) for name in values["by"])
        for name, value in values.items():
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
        """Return the budget of a comparison of qualities; None for times to a target."""
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
_OPTION_KEYWORDS = ("confidence", "margin", "epochs_fixed")

_P = ParamSpec("_P")
_R = TypeVar("_R")


def takes(
    keywords: type[GroupKeywords | BudgetKeywords] | None = None, **own: arguments.Taken
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator to write out the keywords of a function and check its arguments."""
    fields = signature(Question).parameters
    names = keywords.__annotations__ if keywords else ()
    keyword_parameters = [fields[name] for name in fields if name in names]

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        original = signature(function)
        explicit = [p for p in original.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        complete = original.replace(parameters=[*explicit, *keyword_parameters])
        function.__signature__ = complete  # type: ignore[attr-defined]
        function.__doc__ = helping.completed(function, complete)
        return arguments.checked({"options": options_of, **own})(function)

    return decorate


def with_claim(question: Question, quality: str) -> tuple[float | None, Question]:
    """Return the threshold of a claim such as `val_loss <= 3.28`, and its question at a budget."""
    if not quality:
        return None, question
    (claimed,) = parse_targets([quality], "--quality")
    for option, value in (("--target", question.target), ("--metric", question.metric)):
        problem = f"{option} cannot be combined with a claim about a quality"
        remedy = f"Remove {option}: the claim names the quality."
        raise_if(value, problem, f"--quality {quality!r} {option}", remedy)
    at_end = question.at_end or question.budget is None
    return claimed.value, dataclasses.replace(question, target=(quality,), at_end=at_end)


def files(source: Source) -> list[Place]:
    """Return the files of a source; a table in memory has none."""
    return given.paths(source.table if isinstance(source, Selection) else source)


def labels(sources: Sequence[Source], names: Sequence[str] = ()) -> Sequence[str]:
    """Return names for sources: those given, else paths or conditions, else letters.

    One name for several is looked up when their runs are known: see `side_names`.
    """
    if len(names := several(names)) == 1:
        return names
    return expect_names_for_all(
        names, [label(source, number) for number, source in enumerate(sources)]
    )


def expect_names_for_all(names: Sequence[str], sides: Sequence[str]) -> Sequence[str]:
    """Return the names of sides, by default their own; refuse too few or too many."""
    raise_if(
        names and len(names) != len(sides),
        f"{units.plural(len(names), 'label')} for {units.plural(len(sides), 'side')}",
        "--label",
        "Repeat --label once per side, in their order, or name a column or a setting in which the "
        "sides differ.",
    )
    return names or sides


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
