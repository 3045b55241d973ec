"""Why did a command fail: a damaged table, no memory, a full device, an error of the program?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ttastats.base.errors import TtastatsError


def expected(error: BaseException, words: Iterable[str]) -> TtastatsError:
    """Return the error to show for an exception that ended a command line of these words."""
    if isinstance(error, TtastatsError):
        return error
    if isinstance(error, MemoryError):
        return TtastatsError(
            "not enough memory", remedy="Give fewer logs or runs, or raise the limit (ulimit -v)."
        )
    if isinstance(error, OSError) and error.strerror:
        return TtastatsError(error.strerror, where=str(error.filename) if error.filename else None)
    said = next(filter(None, str(error).splitlines()), "")
    return _of(error, words) or TtastatsError(
        f"internal error: {type(error).__name__}{f': {said}' if said else ''}",
        remedy="Please report it with the traceback, which TTASTATS_TRACEBACK=1 prints.",
    )


def _of(error: BaseException, words: Iterable[str]) -> TtastatsError | None:
    """Return the error that names a damaged table among the words of a command line, or None.

    Rows are read when they are needed, so that damage in the middle of a file shows late, and
    polars panics at some of it. Only then are the tables read once more, each as a whole.
    """
    import polars as pl  # --help must not wait for it

    if not isinstance(error, pl.exceptions.PolarsError | pl.exceptions.PanicException):
        return None
    for path in map(Path, words):
        for part in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
            if part.suffix == ".parquet" and part.is_file() and not _is_whole(part):
                return TtastatsError(
                    "is corrupt: its rows cannot be read",
                    where=str(part),
                    remedy="Ingest the logs again, or restore the file.",
                )
    return None


def _is_whole(path: Path) -> bool:
    import polars as pl

    try:
        pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return False
    return True
