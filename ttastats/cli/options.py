"""The options that several commands share, each written once, and those that go together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from ttastats.base import percentages
from ttastats.base.errors import TtastatsError
from ttastats.cli import complete


class Format(StrEnum):
    """Format of the output."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


def tables(what: str) -> Any:
    """Return the argument for tables and logs; they are text, since a URL is no path."""
    return typer.Argument(metavar="FILE...", help=what, show_default=False, path_type=str)


Files = Annotated[
    list[str],
    tables("Parquet files written by `ttastats ingest`, or logs: folders, archives, files, URLs."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        "-w",
        metavar="CONDITION",
        autocompletion=complete.conditions,
        help="Filter runs: column=value or column=a,b; also != < <= > >=, * in text, dates, "
        "and results (reached=no). Columns of the answer (cv>10%) filter its rows. "
        "Repeatable.",
    ),
]
By = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="COLUMNS",
        autocompletion=complete.columns,
        help="Comma-separated columns to group by.",
        show_default=False,
    ),
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="TARGET",
        help="Override the quality target: 0.75, top1_accuracy=75% or eval_loss<=0.9. Repeat "
        "for two metrics.",
    ),
]


def sort_by(such_as: str) -> Any:
    """Return the option that sorts, with columns that the rows of the command have."""
    return typer.Option(
        "--sort",
        metavar="COLUMN",
        help=f"Sort the rows of each benchmark by a column such as {such_as}; -COLUMN sorts "
        "in descending order.",
        show_default=False,
    )


Top = Annotated[
    int,
    typer.Option(
        "--top", metavar="N", min=0, help="Show the first N rows of each benchmark; 0: all."
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Draw each run as a dot below its row.")
]
Ddof = Annotated[
    int,
    typer.Option(
        "--ddof",
        min=0,
        max=1,
        help="Standard deviation: 1 = sample, 0 = population (Coleman et al. 2019).",
    ),
]
#: Confidence of intervals unless the user says otherwise; the library has the same default.
_CONFIDENCE = 0.95
Confidence = Annotated[
    str,
    typer.Option(
        "--confidence",
        metavar="LEVEL",
        help="Confidence level of intervals and verdicts, such as 80%.",
        show_default="95%",
    ),
]


def confidence_level(text: str) -> float:
    """Return a confidence level as a fraction; half or less would make an interval meaningless."""
    if not text:
        return _CONFIDENCE
    return percentages.fraction(text, "--confidence", above=0.5)


def columns(text: str) -> tuple[str, ...]:
    """Return the names in a list separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


@dataclass(frozen=True)
class CountedOptions:
    """What is asked of groups of runs."""

    by: By = ""
    where: Where = None
    unit: str = typer.Option(
        "",
        "--in",
        metavar="UNIT",
        autocompletion=complete.units,
        help="What to count to the target: seconds, epochs, steps, samples, evaluations, "
        "cost, cpu-seconds or energy.",
        show_default="seconds if logged",
    )
    clock: str = typer.Option(
        "",
        "--clock",
        metavar="CLOCK",
        help="For seconds and cpu-seconds: total, or training (without evaluation).",
        show_default="total",
    )
    price: str = typer.Option(
        "",
        "--price",
        metavar="PRICE",
        help="For --in cost: US dollars per hour, or a column with them.",
        show_default="cost_per_hour",
    )
    censor_stopped: bool = typer.Option(
        False,
        "--censor-stopped",
        help="Count stopped runs as right-censored at the time they stopped (not in MLPerf logs).",
    )


@dataclass(frozen=True)
class JudgedOptions(CountedOptions):
    """What is asked of groups of runs that may be judged by another target."""

    target: Target = None


Also = Annotated[
    str,
    typer.Option(
        "--also",
        metavar="METRIC",
        help="Also compare these metrics at the end of each run, such as test_accuracy. "
        "Comma-separated.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class AtBudgetOptions:
    """At which budget a quality is asked for, in the place of the time to one."""

    at_end: bool = typer.Option(
        False,
        "--at-end",
        help="Compare the quality at the end of each run, not the time to a target.",
    )
    at: str = typer.Option(
        "",
        "--at",
        metavar="BUDGET",
        help="Compare the quality at a budget: step=3325, epoch=10, samples=1e6 or "
        "seconds=600 (last evaluation up to it).",
        show_default=False,
    )
    best: bool = typer.Option(
        False, "--best", help="With --at or --at-end: the best quality so far, not the last."
    )
    interpolate: bool = typer.Option(
        False, "--interpolate", help="With --at: interpolate linearly between evaluations."
    )
    metric: str = typer.Option(
        "",
        "--metric",
        metavar="METRIC",
        help="With --at or --at-end: the quality metric, if there are several.",
        show_default=False,
    )


@dataclass(frozen=True)
class Output:
    """How an answer is printed."""

    output_format: Format = typer.Option(Format.table, "--format", "-f", help="Output format.")
    no_pager: bool = typer.Option(False, "--no-pager", help="Do not page long output.")


def keywords(*groups: Any) -> dict[str, Any]:
    """Return what options ask, as keywords of the API, which have the names of their fields."""
    from ttastats.sides.question import Question  # polars costs start-up time

    names = {each.name for each in fields(Question)}
    values = {each.name: getattr(group, each.name) for group in groups for each in fields(group)}
    asked = {name: values[name] for name in values if name in names and values[name] is not None}
    return asked | ({"by": columns(asked["by"])} if "by" in asked else {})


def given(*groups: Any) -> list[str]:
    """Return the options of some groups that somebody set to something else than their defaults."""
    return [
        _long_name(one)
        for group in groups
        for one in fields(group)
        if (value := getattr(group, one.name)) not in (None, False, [])
        and value != getattr(one.default, "default", one.default)
    ]


def _long_name(option: Field[Any]) -> str:
    """Return the option as the command line spells it: its own `--name`, else that of its field."""
    declared: Sequence[str] = getattr(option.default, "param_decls", None) or ()
    spelled = (name.split("/")[0] for name in declared if name.startswith("--"))
    return next(spelled, f"--{option.name.strip('_').replace('_', '-')}")


def refuse_of_runs(options: Iterable[str], but: Sequence[str] = ("--confidence",)) -> None:
    """Refuse options that are about runs, beside profiles, but those that are about both.

    Raises
    ------
    TtastatsError
        There is one.
    """
    for option in options:
        if option not in but:
            raise TtastatsError(
                "applies to runs, but the files are profiles",
                where=option,
                remedy="Remove it, or give tables of runs.",
            )


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose groups of options (dataclasses) are options one by one."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    @wraps(command)
    def called(**words: Any) -> None:
        for name, group in groups.items():
            values = {field.name: words.pop(field.name) for field in fields(group)}
            words[name] = group(**values)  # type: ignore[operator]
        command(**words)

    options = []
    for parameter in signature(command).parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            options.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        inside = get_type_hints(group, include_extras=True)
        options += [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=inside[field.name],
            )
            for field in fields(group)
        ]
    called.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return called
