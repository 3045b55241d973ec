"""How options are declared: in signatures, by `takes` and TypedDicts; their help in docstrings.

In the docstring of a command, or of keywords of the API (a TypedDict), an entry has the names of an
option and what stands for its value, a colon, and the help; its further lines are indented.
`[default: text]` at the end is the default, `[default: (text)]` is shown as one, and `[x>=0]` or
`[0<=x<=1]` is checked. Entries that commands share stand in `SHARED`; what a command says itself
fills `{}` there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, get_args, get_origin, get_type_hints

import typer

from ttastats.base import percentages
from ttastats.base.arguments import FRACTIONS
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.cli import complete
from ttastats.sides import helping
from ttastats.sides.options import (
    CONFIDENCE,
    DDOF,
    LEVEL,
    POWER,
    At,
    BudgetKeywords,
    GroupKeywords,
    Options,
    Prices,
    SideKeywords,
    TargetKeywords,
    Targets,
    Where,
)
from ttastats.trainer import BUILT_IN

_SHARED = """
FILE...: Parquet files written by `ttastats ingest`, or logs: folders, archives, files, URLs.
--a CONDITION: Select side A from one file: system=dgx2. Repeatable.
--b CONDITION: Select side B from the same file. Repeatable.
--sequential: Runs are added until the result is decided: valid at every look.
--fail-on slower:PERCENT: Exit 3 if B is shown to be more than 2% slower: slower:2%, or lacks a
    benchmark of A; at a budget worse:0.001.
--require not-slower:PERCENT: Exit 3 unless B is shown to be at most 2% slower: not-slower:2%;
    at a budget not-worse:0.001.
--also METRIC: Also compare other metrics at the end of the runs: test_accuracy. Comma-separated.
--sort COLUMN: Sort the rows of each benchmark by a column such as {}; -COLUMN sorts in descending
    order.
--top N: Show the first N rows of each benchmark; 0: all. [default: (200 in all); x>=0]
--verbose, -v: Show all notes in full.
--format, -f FORMAT: table, json, csv or md. [default: table]
--no-pager: Do not page long output.
--guess: Read logs that nobody described as `ttastats guess` proposes, even where that is in doubt.
--no-cache: Read all logs again, and keep no table of them.
--runs N: Number of runs of each setup. [x>=1]
--seed N: Seed of the first run; each further run adds 1. [x>=0]
--epochs N: Maximum number of epochs. [default: (recipe)]
--batch-size N: Global batch size: samples per step over all workers. [default: (recipe)]
--width N: Width of the network. [default: (recipe)]
--precision NAME: fp32, tf32 or bf16. [default: (recipe)]
--optimizer NAME: sgd or adamw. [default: (recipe)]
--compile: Compile the network with torch.compile.
--channels-last: Use the channels-last memory format.
--threads N: Threads per worker. [default: (recipe)]
--workers N: Worker processes (data parallel). [default: (recipe)]
--set NAME=VALUE: Set any value of the recipe, such as lr=0.1.
--device: Compute device. CUDA is untested. [default: auto]
--data FOLDER: Folder with the data set, if it is not built in.
--org NAME: Submitter; the name of a folder in the logs.
--system NAME: System; the name of a folder in the logs. [default: (detected)]
"""
_LIMITS = re.compile(
    r" \[(?:default: (?:\((?P<shown>.*?)\)|(?P<default>[^;\]]+)))?(?:; )?"
    r"(?:x>=(?P<min>\d+)|(?P<low>\d+)<=x<=(?P<max>\d+))?\]$"
)
#: Parameters that are not called as their options.
_NAMES = {
    "in": "unit", "label": "labels", "format": "output_format", "file...": "files",
    "path...": "paths", "what...": "what",
    "command...": "commands",
}  # fmt: skip
_OPTION_NAMES = {parameter: option for option, parameter in _NAMES.items()}
#: What a shell proposes, by what stands for the value.
_COMPLETED = {
    "CONDITION": complete.conditions, "COLUMNS": complete.columns, "LABEL": complete.columns,
    "UNIT": complete.units, "KIND": complete.plot_kinds,
}  # fmt: skip
#: Options whose text is several names.
_LISTS = ("by", "also", "block", "sources", "on", "levels", "without")
#: Options whose text is a fraction, with its limits.
_FRACTIONS = {**FRACTIONS, "margin": {}, "detect": FRACTIONS["cv"]}
#: Defaults that the API has: shown here, and passed on by no command.
_USUAL = {
    "confidence": percentages.percent_text(CONFIDENCE),
    "level": percentages.percent_text(LEVEL),
    "power": percentages.percent_text(POWER),
    "ddof": str(DDOF),
}
#: The options that commands take by name and no signature has, by their types; others are one text.
_BY_TYPE: tuple[tuple[Any, str], ...] = (
    (bool, "ablation append bypass channels_last compile epochs_fixed fdr interactions same"),
    (bool, "same_convergence sequential verbose"),
    (int, "ddof draws max_runs points seed top"),
    (float, "against sigma"),
    (Path, "data records"),
    (Literal["mean", "geomean"], "estimand"),
    (Literal["auto", "cpu", "cuda"], "device"),
    (Sequence[str], "a b detect line run set target where"),
)
_TYPES = {name: type_ for type_, names in _BY_TYPE for name in names.split()}
#: The options of a comparison.
COMPARING = (
    "a b",
    SideKeywords,
    TargetKeywords,
    BudgetKeywords,
    "margin estimand same_convergence epochs_fixed fdr sequential max_runs ddof confidence",
    "fail_on require also",
)
#: The options that commands take by name, and their types where the signature has none, by command.
PASSED_OPTIONS: dict[str, dict[str, Any]] = {}


def takes(*options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that names options of a command: texts of names, and TypedDicts.

    A dictionary gives the types of options that have another type elsewhere.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        types = PASSED_OPTIONS[command.__name__] = {}
        for option in options:
            if isinstance(option, str):
                types |= {name: _TYPES.get(name) for name in option.split()}
            else:
                types |= option if isinstance(option, dict) else get_type_hints(option)
        return command

    return decorate


def read(name: str, value: Any) -> Any:
    """Return the value of an option whose parameter is no text."""
    if name in _LISTS:
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if name not in _FRACTIONS:
        return value
    texts = [value] if isinstance(value, str) else value
    limits = _FRACTIONS[name]
    fractions = [percentages.parse_fraction(text, f"--{name}", **limits) for text in texts]
    return fractions[0] if isinstance(value, str) else fractions


def entries(docstring: str | None) -> dict[str, tuple[str, str]]:
    """Return the option names and help texts in a docstring, by parameter."""
    return helping.entries(docstring, _NAMES)


def declare(name: str, hint: Any, default: Any, texts: Mapping[str, tuple[str, str]]) -> Parameter:
    """Return a parameter as typer takes it, with its help from `texts` or from shared entries."""
    head, text = texts.get(name) or SHARED[name]
    if "{}" in SHARED.get(name, ("", ""))[1]:
        head, text = SHARED[name][0], SHARED[name][1].format(text)
    suffix = _LIMITS.search(text)
    limits = suffix.groupdict() if suffix else {}
    extras: dict[str, Any] = {
        "help": text[: suffix.start()] if suffix else text,
        "show_default": limits.get("shown") or _USUAL.get(name) or True,
    }
    if (least := limits.get("min") or limits.get("low")) is not None:
        extras |= {"min": int(least), "max": int(limits["max"]) if limits["max"] else None}
    if head.startswith("-"):
        *aliases, last = head.split(", ")
        spelled, _, metavar = last.partition(" ")
        completed = _COMPLETED.get(metavar)
        option = typer.Option(
            *aliases, spelled, metavar=metavar or None, autocompletion=completed, **extras
        )
    else:
        option = typer.Argument(metavar=head, autocompletion=_COMPLETED.get(head), **extras)
    if get_origin(hint) is Sequence and name not in _LISTS:
        hint, default = list[get_args(hint)], default or None  # type: ignore[misc]
    elif hint in (Prices, Where, Targets):
        hint, default = list[str], None
    elif hint == At:
        hint = str
    elif name in {*_LISTS, *_FRACTIONS}:
        hint, default = str, default or None
    if default_text := limits.get("default"):
        default = hint(default_text) if hint in {int, float} else default_text
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, option]
    )


def given_options(options: Iterable[str]) -> list[str]:
    """Return given options in the spelling of the command line."""
    return [f"--{_OPTION_NAMES.get(name, name).replace('_', '-')}" for name in options]


def taken_out(options: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Remove the options with the given names, and return them."""
    return {name: options.pop(name) for name in names if name in options}


class Output(TypedDict, total=False):
    """How an answer is printed."""

    output_format: Literal["table", "json", "csv", "md"]
    verbose: bool
    no_pager: bool


def sources(
    files: Sequence[str], options: dict[str, Any], *, one_will_do: bool = False
) -> list[Any]:
    """Return the tables to compare: files, or parts of one; these leave the options."""
    from ttastats.outcomes.select import parse_all  # polars costs start-up time
    from ttastats.sides.question import Selection

    if parts := taken_out(options, ("a", "b")):
        whole = len(files) == 1 and len(parts) == 2
        remedy = "Give one file and both options, or two files and neither."
        raise_if(not whole, "--a and --b select two parts of one file", None, remedy)
        for text in (text for texts in parts.values() for text in texts):
            if not re.search("[=<>]", text) and (column := _column_of(text, files[0])):
                raise TtastatsError(
                    f"{text!r} is not a condition", remedy=f"Write {column}={text}."
                )
        conditions = [parse_all(texts, f"--{name}") for name, texts in parts.items()]
        return [Selection(files[0], side) for side in conditions]
    if len(files) < 2 and not one_will_do:
        column, (a, b, *_) = next(complete.parting_columns(files[0]), ("system", ["...", "..."]))
        remedy = f"Give a second file, or select two parts: --a '{column}={a}' --b '{column}={b}'"
        raise TtastatsError("only one file to compare", where=files[0], remedy=remedy)
    return [*files]


def _column_of(value: str, file: str) -> str | None:
    """Return the column of a table that has a value, if any."""
    return next((name for name, values in complete.parting_columns(file) if value in values), None)


SHARED = entries(_SHARED) | entries(helping.SHARED)
SHARED["workload"] = ("WORKLOAD", f"{', '.join(BUILT_IN)}, or your own workload file.")
for _keywords in (GroupKeywords, TargetKeywords, SideKeywords, BudgetKeywords):
    SHARED |= entries(_keywords.__doc__)


def split_options(values: Mapping[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Split options into those of the comparison and keywords of the question."""
    from ttastats.sides.comparison import MAX_RUNS  # polars costs start-up time

    keywords = dict(values)
    options = taken_out(keywords, Options.__annotations__)
    sequential, most = keywords.pop("sequential", False), options.get("max_runs")
    lacks_plan = most is not None and not sequential
    remedy = "Add --sequential, or remove --max-runs."
    raise_if(lacks_plan, "needs --sequential", f"--max-runs {most}", remedy)
    if sequential:
        options.setdefault("max_runs", MAX_RUNS)
    return Options(**options), keywords


def refuse_of_runs(options: Mapping[str, Any], but: Sequence[str] = ("--confidence",)) -> None:
    """Raise an error for options about runs that are given for profiles."""
    message = "applies to runs, but the files are profiles"
    for option in given_options(options):
        raise_if(option not in but, message, option, "Remove it, or give tables of runs.")
