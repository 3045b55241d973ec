"""Can a regular expression be used on logs?

Logs are matched by the engine of Rust, by way of polars: it takes time in proportion to a line's
length, whatever the expression, so that none can run forever. What it does not know (looking ahead
or behind, back references) is refused when the expression is read, not when a log is.
"""

from __future__ import annotations

import re

from ttastats.base.errors import TtastatsError

_NAMED = re.compile(r"\(\?P?<[A-Za-z_]")


def expect(pattern: str, where: str, *, named: bool = False) -> None:
    """Refuse an expression that cannot be used, or that names no group where it must.

    Raises
    ------
    TtastatsError
        With what the engine says of it.
    """
    import polars as pl  # a command that reads no logs of one's own needs none

    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.PolarsError as error:
        said = str(error).removeprefix("regex error: ").partition("This error occurred")[0]
        said = " ".join(said.rpartition("error: ")[2].split())
        raise TtastatsError(
            f"invalid regular expression {pattern!r}: {said}",
            where=where,
            remedy="Expressions run in linear time, so (?=...), (?!...), (?<=...) and \\1 are "
            "not supported; see docs.rs/regex.",
        ) from error
    if named and not _NAMED.search(pattern):
        raise TtastatsError(
            f"the regular expression {pattern!r} has no named group",
            where=where,
            remedy="Named groups become columns: 'step (?P<step>\\d+) loss (?P<val_loss>\\S+)'.",
        )
