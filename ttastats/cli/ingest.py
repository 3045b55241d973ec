"""The command `ingest`: logs in, a Parquet file out, and an honest account."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ttastats.cli.output import say
from ttastats.cli.own_logs import OwnLogs
from ttastats.cli.progress import progress

if TYPE_CHECKING:
    from ttastats.ingestion.ingest import Account


def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Logs, folders, archives, glob patterns, URLs, or - for standard input.",
            show_default=False,
        ),
    ],
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Parquet file to write, or a folder of Parquet files: NAME/.",
            show_default="FOLDER.parquet",
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            metavar="FORMAT",
            help="Read every file as this format instead of detecting it.",
        ),
    ] = None,
    round_: Annotated[
        str | None,
        typer.Option(
            "--round",
            "--edition",
            metavar="ROUND",
            help="MLPerf round, such as v5.0, if the path does not contain it.",
        ),
    ] = None,
    metrics: Annotated[
        Literal["evaluations", "all"],
        typer.Option(
            "--metrics",
            help="`all` also keeps the training metrics of every step: loss, learning rate, "
            "throughput.",
        ),
    ] = "evaluations",
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            help="Worker processes (default: all cores for large inputs, else 1).",
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            help="Read on a Dask cluster, given its scheduler's address.",
        ),
    ] = None,
    own: OwnLogs,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="PATH",
            help="Use this ttastats.toml instead of those beside the logs or in parent folders.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 if the logs have any problem.")
    ] = False,
) -> None:
    """Read logs of any known format into one tidy Parquet file.

    Describe your own logs in a ttastats.toml beside them or in a parent folder, or with the options
    from --files to --preset: docs/your-logs.md.
    """
    block = own.block(config)
    from ttastats.ingestion.ingest import ingest as read_logs  # polars costs start-up time
    from ttastats.ingestion.workers import dask as cluster

    workplace = cluster(dask) if dask else nullcontext()
    with workplace as executor, progress("reading logs") as on_progress:
        try:
            account = read_logs(
                paths,
                output,
                dialect=dialect,
                round=round_,
                metrics=metrics,
                block=block,
                config=config,
                workers=workers,
                executor=executor,
                on_progress=on_progress,
            )
        except KeyboardInterrupt:
            say("ttastats: interrupted; nothing was written")
            raise
    _print_account(account)
    if account.rejected or (strict and account.problems):
        raise typer.Exit(1)


#: Problems of one kind that are named one by one before the rest is only counted.
_NAMED = 5


def _print_account(account: Account) -> None:
    say(account.counts())
    for code, number in account.problem_counts().items():
        problems = [problem for problem in account.problems if problem.code == code]
        say(f"  {problems[0].severity}: {code} ({number:,})")
        shown = problems if problems[0].severity == "error" else problems[:_NAMED]
        for problem in shown:
            say(f"    {problem.place}: {problem.message}")
        if number > len(shown):
            rest = number - len(shown)
            say(f"    and {rest:,} more: ttastats problems {account.output} --code {code}")
    say(f"wrote {account.output}" if account.written else f"{account.output} is up to date")
