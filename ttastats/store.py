"""Where tables are kept: Parquet files, written whole or not at all, checked when read."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

import ttastats
from ttastats import schema
from ttastats.errors import TtastatsError

_LEDGER_KEY = "ttastats.ledger"


def write(
    frame: pl.DataFrame, path: Path, *, ledger: str = "", now: datetime | None = None
) -> None:
    """Write a table to `path`: a reader sees the old file or the complete new one.

    `ledger` is kept beside the rows for the next ingest.

    Raises
    ------
    TtastatsError
        The place cannot be written to, or is full; what was there is untouched.
    """
    about = {
        "schema": schema.VERSION,
        "writer": f"ttastats {ttastats.__version__}",
        "created": (now or datetime.now(UTC)).isoformat(timespec="seconds"),
    }
    metadata = {schema.METADATA_KEY: json.dumps(about)}
    footer = metadata | ({_LEDGER_KEY: ledger} if ledger else {})
    with replacing(path) as temporary:
        frame.write_parquet(temporary, metadata=footer, arrow_schema=schema.arrow(metadata))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file beside `path` that takes its place if the block ends well.

    Raises
    ------
    TtastatsError
        The folder is missing or cannot be written to, or the disk is full.
    """
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        temporary = Path(name)
        os.close(handle)
        temporary.chmod(0o666 & ~_umask())
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TtastatsError(
            f"cannot write: {reason}",
            where=str(path),
            remedy="Nothing was changed. Name a place that can be written to with -o.",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def read(paths: Sequence[Path]) -> pl.LazyFrame:
    """Give the rows of one or more ttastats files; rows read twice are counted once.

    Raises
    ------
    TtastatsError
        A file is missing, unreadable, not written by ttastats, or of a newer version.
    """
    frames = [_read_one(path) for path in paths]
    if len(frames) == 1:
        return frames[0]
    identity = ["run_id", "source", "eval_index", "metric"]
    return pl.concat(frames).unique(subset=identity, keep="first", maintain_order=True)


def _read_one(path: Path) -> pl.LazyFrame:
    about = _about(path)
    version = about.get("schema")
    if not isinstance(version, int) or version > schema.VERSION:
        raise TtastatsError(
            f"written by {about.get('writer', 'a newer ttastats')} with schema {version}; "
            f"this one reads up to {schema.VERSION}",
            where=str(path),
            remedy="Upgrade ttastats, or ingest the logs again with this one.",
        )
    frame = pl.scan_parquet(path)
    for step in range(version, schema.VERSION):
        frame = schema.UPGRADES[step](frame)
    missing = set(schema.NAMES) - set(frame.collect_schema().names())
    if missing:
        raise TtastatsError(
            f"has no column {', '.join(sorted(missing))}",
            where=str(path),
            remedy="Ingest the logs again.",
        )
    return frame.select(schema.NAMES)


def _about(path: Path) -> dict[str, Any]:
    remedy = "Give a file written by `ttastats ingest`."
    if path.is_dir():
        raise TtastatsError(
            "is a folder, not a Parquet file",
            where=str(path),
            remedy=f"Read its logs first: ttastats ingest {path}",
        )
    try:
        metadata = pl.read_parquet_metadata(path)
    except FileNotFoundError:
        raise TtastatsError("no such file", where=str(path), remedy=remedy) from None
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or "not a Parquet file"
        raise TtastatsError(reason, where=str(path), remedy=remedy) from error
    try:
        about: dict[str, Any] = json.loads(metadata[schema.METADATA_KEY])
    except (KeyError, ValueError):
        raise TtastatsError(
            "a Parquet file, but not written by ttastats", where=str(path), remedy=remedy
        ) from None
    return about


def ledger_of(path: Path) -> str:
    """Give the text an ingest left for the next, or nothing."""
    try:
        return pl.read_parquet_metadata(path).get(_LEDGER_KEY, "")
    except (OSError, pl.exceptions.PolarsError):
        return ""


def rows_of(path: Path, sources: Collection[str]) -> pl.DataFrame:
    """Give the rows of some sources in a file of ours, without the marks of duplicates."""
    kept = pl.col("source").is_in(list(sources))
    frame = _read_one(path).filter(kept)
    return frame.with_columns(pl.lit(None, pl.String).alias("duplicate_of")).collect()


def is_ours(path: Path) -> bool:
    """Tell whether a file was written by ttastats, of whatever version."""
    try:
        return bool(_about(path))
    except TtastatsError:
        return False


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
