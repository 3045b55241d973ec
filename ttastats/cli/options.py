"""How options are declared: a signature says names and types, a docstring what the help prints.

In the docstring of a command, or of a group of options (a dataclass or a TypedDict), an entry has
the names of an option and what stands for its value, a colon, and the help; its further lines are
indented. `[default: (text)]` at the end is shown as the default, and `[x>=0]` or `[0<=x<=1]` is
checked. Entries that commands share stand in `SHARED`; what a command says itself fills `{}` there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from inspect import Parameter, cleandoc
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypedDict,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from ttastats.base import percentages
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.cli import complete
from ttastats.sides.options import AtBudget, Counted, Judged, Options, Sided
from ttastats.trainer import BUILT_IN

_SHARED = f"""
FILE...: Parquet files written by `ttastats ingest`, or logs: folders, archives, files, URLs.
--also METRIC: Also compare other metrics at the end of the runs: test_accuracy. Comma-separated.
--ddof: Standard deviation: 1 = sample, 0 = population. [0<=x<=1]
--confidence LEVEL: Confidence level of intervals and verdicts, such as 80%. [default: (95%)]
--sort COLUMN: Sort the rows of each benchmark by a column such as {{}}; -COLUMN sorts in descending
    order.
--top N: Show the first N rows of each benchmark; 0: all. [default: (200 in all); x>=0]
--verbose, -v: Show all notes in full.
--format, -f FORMAT: table, json, csv or md.
--no-pager: Do not page long output.
--guess: Read logs that nobody described as `ttastats guess` proposes, and print the block.
--no-cache: Read all logs again, and keep no table of them.
WORKLOAD: {", ".join(BUILT_IN)}, or your own workload file.
--runs N: Number of runs of each setup. [x>=1]
--seed N: Seed of the first run; each further run adds 1. [x>=0]
--org NAME: Submitter; the name of a folder in the logs.
--system NAME: System; the name of a folder in the logs. [default: (detected)]
"""
_ENTRY = re.compile(r"^(-\S.*?|[A-Z]+(?:\.\.\.)?): (.+(?:\n +.+)*)", re.MULTILINE)
_BEHIND = re.compile(
    r" \[(?:default: \((?P<default>.*?)\))?(?:; )?"
    r"(?:x>=(?P<min>\d+)|(?P<low>\d+)<=x<=(?P<max>\d+))?\]$"
)
#: Parameters that are not called as their options.
_NAMES = {
    "in": "unit", "label": "labels", "format": "output_format", "file...": "files",
    "path...": "paths", "what...": "what",
}  # fmt: skip
#: What a shell proposes, by what stands for the value.
_COMPLETED = {
    "CONDITION": complete.conditions, "COLUMNS": complete.columns, "LABEL": complete.columns,
    "UNIT": complete.units,
}  # fmt: skip


def columns(text: str) -> tuple[str, ...]:
    """Return the names in a list separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


#: How the text of an option is read whose parameter is no text.
READ: dict[str, Callable[[str], Any]] = {
    "by": columns,
    "also": columns,
    "block": columns,
    "sources": columns,
    "on": columns,
    "levels": columns,
    # Half or less would make an interval meaningless.
    "confidence": lambda text: percentages.parse_fraction(text, "--confidence", above=0.5),
    "margin": lambda text: percentages.parse_fraction(text, "--margin"),
}


def entries(docstring: str | None) -> dict[str, tuple[str, str]]:
    """Return the option names and help texts in a docstring, by parameter."""
    texts = _ENTRY.findall(cleandoc(docstring or ""))
    names = [re.split(r"[ ,/]", head.lstrip("-").lower().replace("-", "_"))[0] for head, _ in texts]
    return {
        _NAMES.get(name, name): (head, " ".join(text.split()))
        for name, (head, text) in zip(names, texts, strict=True)
    }


def declared(name: str, hint: Any, default: Any, texts: Mapping[str, tuple[str, str]]) -> Parameter:
    """Return a function's parameter as typer takes it, with its help from `texts` or `SHARED`."""
    word = name.strip("_")
    head, text = texts.get(word) or SHARED[word]
    if word in SHARED and "{}" in SHARED[word][1]:
        head, text = SHARED[word][0], SHARED[word][1].format(text)
    behind = _BEHIND.search(text)
    limits = behind.groupdict() if behind else {}
    more: dict[str, Any] = {
        "help": text[: behind.start()] if behind else text,
        "show_default": limits.get("default") or True,
    }
    if (least := limits.get("min") or limits.get("low")) is not None:
        more |= {"min": int(least), "max": int(limits["max"]) if limits["max"] else None}
    if head.startswith("-"):
        *others, last = head.split(", ")
        spelled, _, metavar = last.partition(" ")
        completed = _COMPLETED.get(metavar)
        option = typer.Option(
            *others, spelled, metavar=metavar or None, autocompletion=completed, **more
        )
    else:
        option = typer.Argument(metavar=head, **more)
    if name in READ or hint == str | float:
        hint, default = str, ""
    elif get_origin(hint) is Sequence:
        hint, default = list[get_args(hint)], default or None  # type: ignore[misc]
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, option]
    )


def fields_of(group: type) -> dict[str, tuple[Any, Any]]:
    """Return the type and the default of each option of a group."""
    return {
        name: (hint, getattr(group, name, getattr(Options, name, False if hint is bool else "")))
        for name, hint in get_type_hints(group).items()
    }


def changed(*groups: Any) -> list[str]:
    """Return the options of some groups that differ from their defaults."""
    return [
        SHARED[name][0].split()[0].rstrip(",")
        if name in SHARED
        else f"--{name.strip('_').replace('_', '-')}"
        for group in groups
        for name, value in (vars(group) if is_dataclass(group) else group).items()
        if isinstance(group, dict) or value != getattr(type(group), name)
    ]


@dataclass(frozen=True)
class Output:
    """How an answer is printed."""

    output_format: Literal["table", "json", "csv", "md"] = "table"
    verbose: bool = False
    no_pager: bool = False


if TYPE_CHECKING:
    from ttastats.sides.question import Source


class Parts(TypedDict, total=False):
    """Conditions on the runs of each side, where both stand in one file.

    --a CONDITION: Select side A from one file: system=dgx2. Repeatable.
    --b CONDITION: Select side B from the same file. Repeatable.
    """

    a: Sequence[str]
    b: Sequence[str]


def sources(files: Sequence[str], parts: Parts, *, one_will_do: bool = False) -> list[Source]:
    """Return the tables to compare: several files, or two parts of one."""
    from ttastats.outcomes.select import parse_all  # polars costs start-up time
    from ttastats.sides.question import Selection

    if parts:
        whole = len(files) == 1 and len(parts) == 2
        remedy = "Give one file and both options, or two files and neither."
        raise_if(not whole, "--a and --b select two parts of one file", None, remedy)
        conditions = (parse_all(parts.get("a", ()), "--a"), parse_all(parts.get("b", ()), "--b"))
        return [Selection(files[0], each) for each in conditions]
    if len(files) < 2 and not one_will_do:
        raise TtastatsError(
            "only one file to compare",
            where=files[0],
            remedy="Give a second file, or select two parts: --a 'system=...' --b 'system=...'",
        )
    return [*files]


class Judging(TypedDict, total=False):
    """How a comparison is made.

    --margin MARGIN: Equivalence margin, such as 1%; at a budget in the unit of the quality.
    --estimand: Mean of the times to compare.
    --same-convergence: Assume equal epochs to the target; compare time per epoch.
    --epochs-fixed: Declare that the epochs to the target are constant by design.
    --fdr: Adjust p by Benjamini-Hochberg instead of Holm.
    --sequential: Runs are added until the result is decided: valid at every look.
    --max-runs N: With --sequential: most runs per side, fixed in advance. [default: (20)]
    """

    margin: float
    estimand: Literal["mean", "geomean"]
    same_convergence: bool
    epochs_fixed: bool
    fdr: bool
    sequential: bool
    max_runs: int | None
    ddof: int
    confidence: float


class Gates(TypedDict, total=False):
    """When a comparison fails.

    --fail-on slower:PERCENT: Exit 3 if B is shown to be more than 2% slower: slower:2%, or lacks a
        benchmark of A; at a budget worse:0.001.
    --require not-slower:PERCENT: Exit 3 unless B is shown to be at most 2% slower: not-slower:2%;
        at a budget not-worse:0.001.
    """

    fail_on: str
    require: str


class Comparing(Sided, Judged, AtBudget, Judging, Gates, total=False):
    """What is compared, how, and when that fails."""


_KEYWORDS = (Counted, Judged, Sided, AtBudget, Judging, Gates)
SHARED = entries(_SHARED) | {k: v for each in _KEYWORDS for k, v in entries(each.__doc__).items()}


def options_and_keywords(asked: Comparing) -> tuple[Options, dict[str, Any]]:
    """Return how a comparison is made, and what else is asked, as keywords of the question."""
    from ttastats.sides.comparison import MAX_RUNS  # polars costs start-up time

    given = {name: value for name, value in asked.items() if name in Judging.__annotations__}
    keywords = {name: value for name, value in asked.items() if name not in given}
    sequential, most = given.pop("sequential", False), given.get("max_runs")
    alone, remedy = most is not None and not sequential, "Add --sequential, or remove --max-runs."
    raise_if(alone, "needs --sequential", f"--max-runs {most}", remedy)
    if sequential:
        given.setdefault("max_runs", MAX_RUNS)
    return Options(**given), keywords  # type: ignore[arg-type]


def refuse_of_runs(*groups: Any, but: Sequence[str] = ("--confidence",)) -> None:
    """Raise an error for options about runs that are given for profiles."""
    what = "applies to runs, but the files are profiles"
    for option in changed(*groups):
        raise_if(option not in but, what, option, "Remove it, or give tables of runs.")
