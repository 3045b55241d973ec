"""Did a command fail because one of its tables is damaged?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ttastats.errors import TtastatsError


def of(error: BaseException, words: Iterable[str]) -> TtastatsError | None:
    """Give the error that names a damaged table among the words of a command line, or None.

    Rows are read when they are needed, so that damage in the middle of a file shows late, and
    polars panics at some of it. Only then are the tables read once more, each as a whole.
    """
    if isinstance(error, SystemExit | KeyboardInterrupt):
        return None
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
