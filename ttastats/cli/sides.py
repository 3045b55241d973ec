"""The sides of a comparison and how it is made, for all commands that compare."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ttastats import percentages, units
from ttastats.cli.options import confidence_level
from ttastats.errors import TtastatsError

if TYPE_CHECKING:
    from ttastats.choice import Source
    from ttastats.comparison import Options


class Estimand(StrEnum):
    """Which mean of times a speedup compares."""

    mean = "mean"
    geomean = "geomean"


SideA = Annotated[
    list[str] | None,
    typer.Option("--a", help="Condition that chooses side A of one file; repeat."),
]
SideB = Annotated[
    list[str] | None,
    typer.Option("--b", help="Condition that chooses side B of one file; repeat."),
]
Labels = Annotated[
    list[str] | None,
    typer.Option("--label", help="Name of a side, in the order of the files; repeat."),
]
Margin = Annotated[
    str, typer.Option("--margin", help="Difference that does not matter, such as 1%.")
]
EstimandOption = Annotated[
    Estimand, typer.Option("--estimand", help="Which mean of times is compared.")
]
SameConvergence = Annotated[
    bool,
    typer.Option(
        "--same-convergence",
        help="Assume that both sides need the same epochs to the target: compare time per epoch.",
    ),
]
EpochsFixed = Annotated[
    bool, typer.Option("--epochs-fixed", help="Epochs to the target cannot vary, by design.")
]
FailOn = Annotated[
    str,
    typer.Option(
        "--fail-on",
        metavar="slower:PERCENT",
        help="Exit 3 if B is shown to be slower than A by more than this, or lacks a benchmark of "
        "A: slower:2%.",
        show_default=False,
    ),
]
Require = Annotated[
    str,
    typer.Option(
        "--require",
        metavar="not-slower:PERCENT",
        help="Exit 3 unless B is shown not to be slower than A by more than this: not-slower:2%.",
        show_default=False,
    ),
]
Pool = Annotated[
    bool,
    typer.Option("--pool", help="Compare all runs of a benchmark, whatever hardware they ran on."),
]
Fdr = Annotated[bool, typer.Option("--fdr", help="Adjust p by Benjamini-Hochberg, not by Holm.")]


def options(
    *,
    ddof: int,
    margin: str,
    estimand: Estimand,
    same_convergence: bool,
    epochs_fixed: bool,
    fdr: bool,
    confidence: str,
) -> Options:
    """Give how a comparison is made from what the options say."""
    from ttastats.comparison import Options

    return Options(
        ddof=ddof,
        margin=percentages.fraction(margin, "--margin") if margin else 0.01,
        estimand="geomean" if estimand is Estimand.geomean else "mean",
        same_convergence=same_convergence,
        epochs_fixed=epochs_fixed,
        fdr=fdr,
        confidence=confidence_level(confidence),
    )


def sides(
    files: Sequence[Path], a: Sequence[str], b: Sequence[str]
) -> tuple[list[Source], list[str]]:
    """Give the tables to compare and their labels: several files, or two parts of one."""
    from ttastats.choice import Part
    from ttastats.conditions import parse_all

    if a or b:
        if len(files) != 1 or not (a and b):
            raise TtastatsError(
                "--a and --b choose two parts of one file",
                remedy="Give one file with both, or two files with neither.",
            )
        parts = (Part(files[0], parse_all(a, "--a")), Part(files[0], parse_all(b, "--b")))
        return [*parts], [", ".join(part) for part in (a, b)]
    if len(files) < 2:
        raise TtastatsError(
            "one file has nothing to be compared with",
            where=str(files[0]),
            remedy="Give a second file, or choose two parts: --a 'system=...' --b 'system=...'",
        )
    return [*files], [str(file) for file in files]


def one_or_more(
    files: Sequence[Path], a: Sequence[str], b: Sequence[str]
) -> tuple[list[Source], list[str]]:
    """Give sides as `sides` does, or the one there is; names where the files do not name them."""
    return sides(files, a, b) if a or b else ([*files], [])


def labels(given: Sequence[str], names: Sequence[str], count: int) -> list[str]:
    """Give the names of some sides: those of the user, if they are as many."""
    if given and len(given) != count:
        raise TtastatsError(
            f"{units.plural(len(given), 'label')} for {units.plural(count, 'side')}",
            where="--label",
            remedy="Repeat --label once per side, in their order.",
        )
    return list(given or names)
