"""The command that judges a record by the rules of a contest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ttastats.cli.options import Output, Target, Where
from ttastats.cli.output import show
from ttastats.cli.sides import PartOptions
from ttastats.errors import TtastatsError


def record(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="Parquet files: the baseline A, then the runs B; one file with --a and --b, or B "
            "alone with --against.",
            show_default=False,
        ),
    ] = None,
    *,
    rules: Annotated[
        str,
        typer.Option(
            "--rules", metavar="NAME", help="Whose rules; `list` names them.", show_default=False
        ),
    ] = "",
    against: Annotated[
        float | None,
        typer.Option(
            "--against",
            metavar="NUMBER",
            help="The baseline's seconds, steps or quality, as the rules count, without its runs.",
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="The quality, if not one the rules name.",
            show_default=False,
        ),
    ] = "",
    target: Target = None,
    parts: PartOptions,
    where: Where = None,
    output: Output,
) -> None:
    """Are these runs a record by the rules of a contest? Exit code 0: yes; 3: no, or undecided."""
    from ttastats import api

    if rules == "list":
        from ttastats.report.record import of_rules

        show(of_rules(), output)
        return
    if not files:
        raise TtastatsError("which runs?", remedy="Write: ttastats record A.parquet B.parquet.")
    found = api.judge_record(
        *parts.of(files, one_will_do=True),
        rules=rules,
        against=against,
        metric=metric,
        target=target or (),
        where=where or (),
    )
    show(found, output)
    if not all(row["verdict"] == "record" for row in found.rows):
        raise typer.Exit(3)
