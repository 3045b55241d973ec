"""What every command that takes tables does with logs: read them, report their problems."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ttastats.cli.output import say
from ttastats.cli.progress import progress

if TYPE_CHECKING:
    from ttastats.ingestion.given import Read

_NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache", help="Read all logs again, and do not keep the table of them for later."
    ),
]


def taking_logs(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes logs in place of tables; it exits with 1 if some are rejected."""

    @wraps(command)
    def called(*, no_cache: bool, **words: Any) -> None:
        from ttastats.ingestion import given  # polars costs start-up time

        read: dict[tuple[str, ...], Read] = {}

        def on_read(one: Read) -> None:
            if one.logs not in read and (one.account or one.problems):
                say(*one.lines)
            read.setdefault(one.logs, one)

        how = given.Reading(not no_cache, partial(progress, "reading logs"), on_read)
        earlier = given.READING.set(how)
        try:
            command(**words)
        finally:
            given.READING.reset(earlier)
        if any(one.rejected for one in read.values()):
            raise typer.Exit(1)

    option = Parameter("no_cache", Parameter.KEYWORD_ONLY, default=False, annotation=_NoCache)
    own = signature(command)
    called.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*own.parameters.values(), option]
    )
    return called
