"""The commands that set two sides against each other: compare, targets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ttastats.base import percentages
from ttastats.base.errors import TtastatsError
from ttastats.cli.options import (
    Also,
    AtBudgetOptions,
    CountedOptions,
    JudgedOptions,
    Output,
    Verbose,
    columns,
    given,
    keywords,
    refuse_of_runs,
    tables,
)
from ttastats.cli.output import show
from ttastats.cli.sides import Judging, PartOptions, ProfileOptions, SideOptions

if TYPE_CHECKING:
    from ttastats.traces.answers import By


def compare(
    files: Annotated[
        list[str] | None,
        tables(
            "Parquet files or logs: baseline A, then one or more B; a single one with --a and "
            "--b; or two profiles."
        ),
    ] = None,
    *,
    sides: SideOptions,
    asked: JudgedOptions,
    judging: Judging,
    budget: AtBudgetOptions,
    profiles: ProfileOptions,
    also: Also = "",
    block: Annotated[
        str,
        typer.Option(
            "--block",
            metavar="COLUMN",
            help="Compare within sessions (blocks): a column, day, order (alternating runs), "
            "a name in extra, or a condition. Comma-separated.",
            show_default=False,
        ),
    ] = "",
    same: Annotated[
        bool,
        typer.Option(
            "--same",
            help="The files (or the groups of --by in one file) are repeats of one setup: do "
            "they differ, and which difference is worth claiming?",
        ),
    ] = False,
    wide: Annotated[bool, typer.Option("--wide", help="Show more columns.")] = False,
    verbose: Verbose = False,
    output: Output,
) -> None:
    """Compare B with A: speedup to the target with its causes, or quality at a budget."""
    from ttastats import api
    from ttastats.sides.options import View

    options = judging.options()
    if (of_steps := profiles.alone(files or ())) is not None:
        refuse_of_runs(given(sides, asked, judging, budget), but=("--confidence", "--by"))
        by = _told_apart(asked.by)
        show(api.compare_profiles(*of_steps, by=by, confidence=options.confidence), output)
        return
    if same:
        _expect_no_number(files or [])
    sources = sides.of(files or (), one_will_do=same)
    view = View(wide, verbose, margin_claims=bool(judging.margin), named=bool(sides.labels))
    report = api.compare(
        *sources,
        view=view,
        also=columns(also),
        profiles=profiles.both(),
        block=columns(block),
        same=same,
        fail_on=judging.fail_on,
        require=judging.require,
        options=options,
        **keywords(sides, asked, budget),
    )
    show(report, output)
    if report.gate is not None and not report.gate.passed:
        raise typer.Exit(3)


def _expect_no_number(files: Sequence[str]) -> None:
    """Refuse a margin behind --same, which takes none."""
    for file in files:
        if percentages.any_number(file) is not None and not Path(file).exists():
            raise TtastatsError(
                "takes no number: it means that the files hold runs of one setup",
                where=f"--same {file}",
                remedy=f"To test equality within a margin: --same --margin {file}.",
            )


def _told_apart(by: str) -> By:
    for known in ("work", "operator"):
        if by == known or not by:
            return known
    raise TtastatsError(
        "is not a breakdown of the work of a step", where=f"--by {by}", remedy=_WAYS
    )


_WAYS = "Choose work (by kind, the default) or operator."


def targets(
    files: Annotated[
        list[str],
        tables("One Parquet file or folder of logs, or two to compare."),
    ],
    *,
    parts: PartOptions,
    asked: CountedOptions,
    points: Annotated[
        int,
        typer.Option(
            "--points",
            min=2,
            help="Maximum number of round quality targets to evaluate, beside the official one.",
        ),
    ] = 9,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="Metric whose target is varied, if there are several.",
        ),
    ] = None,
    output: Output,
) -> None:
    """Show how the answer depends on the quality target."""
    from ttastats import api

    sources = parts.of(files, one_will_do=True)
    if len(sources) > 2:
        raise TtastatsError("more than two files", remedy="Compare two at a time.")
    show(api.targets(*sources, points=points, metric=metric, **keywords(asked)), output)
