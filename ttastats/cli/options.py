"""The options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ttastats import percentages


class Format(StrEnum):
    """How results are printed."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


Files = Annotated[
    list[Path],
    typer.Argument(help="Parquet files written by `ttastats ingest`.", show_default=False),
]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How to print the result.")]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        "-w",
        help="Keep runs with column=value, or one of a,b; also != < <= > >=, * in text, dates and "
        "results (reached=no); numbers of the answer (cv>10%) keep its rows; repeat.",
    ),
]
By = Annotated[
    str, typer.Option("--by", help="Columns to group by, separated by commas.", show_default=False)
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        help="Another quality target: 0.75, top1_accuracy=75% or eval_loss<=0.9; repeat for two "
        "metrics.",
    ),
]


Unit = Annotated[
    str,
    typer.Option(
        "--in",
        metavar="UNIT",
        help="Count this to the target: seconds, epochs, steps, samples, evaluations, cost, "
        "cpu-seconds or energy.",
        show_default="seconds, where there are",
    ),
]
Price = Annotated[
    str,
    typer.Option(
        "--price",
        metavar="PRICE",
        help="For --in cost: US dollars per hour, or the column that holds them.",
        show_default="cost_per_hour",
    ),
]


def _sort(such_as: str) -> Any:
    """Give the option that sorts, with columns that the rows of the command have."""
    return typer.Option(
        "--sort",
        metavar="COLUMN",
        help=f"Sort the rows of each benchmark by a column such as {such_as}; -COLUMN: from high "
        "to low.",
        show_default=False,
    )


SortRuns = Annotated[str, _sort("tta, epochs or seed")]
SortSummary = Annotated[str, _sort("tta, cv or n")]
SortVariance = Annotated[str, _sort("share_epochs, cv_ratio or n")]
SortScore = Annotated[str, _sort("score, n or status")]
Top = Annotated[
    int,
    typer.Option("--top", metavar="N", min=0, help="Rows to show of each benchmark; 0: all."),
]
NoPager = Annotated[
    bool,
    typer.Option("--no-pager", help="Print even what is taller than the screen without $PAGER."),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show every run as a dot.")]
Ddof = Annotated[
    int, typer.Option("--ddof", min=0, max=1, help="1: sample deviations; 0: the paper's.")
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
    """Give a confidence level as a fraction; half or less would make an interval meaningless."""
    if not text:
        return _CONFIDENCE
    return percentages.fraction(text, "--confidence", above=0.5)


def columns(text: str) -> tuple[str, ...]:
    """Give the names in a list separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())
