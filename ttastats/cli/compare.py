"""The commands that set two sides against each other: compare, targets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ttastats.cli.options import (
    AtBudgetOptions,
    CountedOptions,
    JudgedOptions,
    Output,
    Verbose,
    columns,
    given,
)
from ttastats.cli.output import show
from ttastats.cli.sides import Judging, PartOptions, SideOptions
from ttastats.errors import TtastatsError


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Parquet files: the baseline A, then B (or several to judge against A); "
            "one file alone with --a and --b.",
            show_default=False,
        ),
    ],
    *,
    sides: SideOptions,
    asked: JudgedOptions,
    judging: Judging,
    budget: AtBudgetOptions,
    also: Annotated[
        str,
        typer.Option(
            "--also",
            metavar="METRIC",
            help="Compare these metrics as well where the time of each run ended, such as "
            "test_accuracy; separated by commas.",
            show_default=False,
        ),
    ] = "",
    wide: Annotated[bool, typer.Option("--wide", help="Show more columns.")] = False,
    verbose: Verbose = False,
    output: Output,
) -> None:
    """Is B faster than A, by how much, why, and how sure? At a budget: is its quality better?"""
    from ttastats import api
    from ttastats.report.compare import View

    options = judging.options()
    if _are_profiles(files):
        _expect_nothing_of(sides, asked, judging, budget)
        show(api.compare_profiles(*files, confidence=options.confidence), output)
        return
    sources = sides.of(files)
    view = View(wide, verbose, margin_claims=bool(judging.margin), named=bool(sides.label))
    report = api.compare(
        *sources,
        view=view,
        also=columns(also),
        fail_on=judging.fail_on,
        require=judging.require,
        **sides.compared(sources, asked, options),
        **budget.asked(),
    )
    show(report, output)
    if report.gate is not None and not report.gate.passed:
        raise typer.Exit(3)


def _are_profiles(files: Sequence[Path]) -> bool:
    """Tell whether two profiles are compared, not two tables of runs."""
    from ttastats.profiles import store

    return len(files) == 2 and all(store.is_profile(file) for file in files)


def _expect_nothing_of(*groups: Any) -> None:
    """Refuse options that are about runs; a level of confidence is about both."""
    for option in (option for group in groups for option in given(group)):
        if option != "--confidence":
            raise TtastatsError(
                "is about runs, and these are profiles",
                where=option,
                remedy="Leave it out, or name tables of runs.",
            )


def targets(
    files: Annotated[
        list[Path], typer.Argument(help="One Parquet file, or two to compare.", show_default=False)
    ],
    *,
    parts: PartOptions,
    asked: CountedOptions,
    points: Annotated[int, typer.Option("--points", min=2, help="Targets to ask about.")] = 9,
    metric: Annotated[
        str | None, typer.Option("--metric", help="The metric to vary, if there are several.")
    ] = None,
    output: Output,
) -> None:
    """How the answer depends on the quality target."""
    from ttastats import api

    sources = parts.of(files, one_will_do=True)
    if len(sources) > 2:
        raise TtastatsError("more than two files", remedy="Compare two at a time.")
    show(api.targets(*sources, points=points, metric=metric, **asked.counted()), output)
