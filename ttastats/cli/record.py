"""The command that judges a record by the rules of a contest."""

from __future__ import annotations

from typing import Annotated

import typer

from ttastats.base.errors import TtastatsError
from ttastats.cli.options import Output, Target, Where, tables
from ttastats.cli.output import show
from ttastats.cli.sides import PartOptions


def record(
    files: Annotated[
        list[str] | None,
        tables(
            "Parquet files or logs: baseline A, then runs B; a single one with --a and --b; or "
            "only B with --against."
        ),
    ] = None,
    *,
    rules: Annotated[
        str,
        typer.Option(
            "--rules",
            metavar="NAME",
            help="Contest rules to apply; `list` shows them.",
            show_default=False,
        ),
    ] = "",
    against: Annotated[
        float | None,
        typer.Option(
            "--against",
            metavar="NUMBER",
            help="The baseline as a number (seconds, steps or quality, as the rules count) "
            "instead of runs.",
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="Quality metric, if it differs from that of the rules.",
            show_default=False,
        ),
    ] = "",
    target: Target = None,
    parts: PartOptions,
    where: Where = None,
    output: Output,
) -> None:
    """Check a record against the rules of a contest. Exit code 0: a record; 3: no, or undecided."""
    from ttastats import api
    from ttastats.answers.record.record import RecordRow, of_rules
    from ttastats.report.row import of_kind

    if rules == "list":
        show(of_rules(), output)
        return
    if not files:
        raise TtastatsError(
            "no runs given", remedy="Usage: ttastats record A.parquet B.parquet --rules NAME"
        )
    found = api.judge_record(
        *parts.of(files, one_will_do=True),
        rules=rules,
        against=against,
        metric=metric,
        target=target or (),
        where=where or (),
    )
    show(found, output)
    if not all(row.verdict == "record" for row in of_kind(found.records, RecordRow)):
        raise typer.Exit(3)
