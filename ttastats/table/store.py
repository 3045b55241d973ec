"""Where tables of runs are kept: Parquet files and folders of them."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from ttastats.base import atomic, stores
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.records import Problem
from ttastats.base.stores import Place, Url
from ttastats.table import kind, schema, tables
from ttastats.table.conform import conform
from ttastats.table.kind import HEAD, PART
from ttastats.table.schema import RUNS

write = RUNS.write


#: Endings of files that hold no Parquet: what is read by its name would not be read.
_OF_OTHERS = {".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt", ".xlsx", ".zip", ".gz"}


def expect_output(path: Place, *, in_parts: bool = False) -> None:
    """Raise an error before any reading if the result could not be written to a path."""
    is_other = not in_parts and path.suffix.lower() in _OF_OTHERS
    message = f"a table is a Parquet file, not {path.suffix}"
    remedy = "Name it NAME.parquet; `export` writes CSV and JSON lines."
    raise_if(is_other, message, str(path), remedy)
    asks = isinstance(path, Url) and {*"?#"} & {*path.text}
    raise_if(asks, "a table is written to a URL without a query", str(path), "Remove it.")
    if path.exists() and not is_ttastats_table(path):
        # A folder may hold nothing but parts of a first write that was killed.
        is_free = isinstance(path, Url) and all(map(PART.fullmatch, path.list_folder()))
        if not in_parts or not (is_free or atomic.is_empty(path)):
            raise atomic.overwrite_error(path, "already exists and was not created by ttastats")
    if path.exists() and in_parts != path.is_dir():
        message = "is a file and cannot be replaced by a folder"
        raise TtastatsError(message, where=str(path), remedy=atomic.REMEDY)
    if path.is_dir():
        RUNS.listed_parts(path)
    atomic.remove_leftovers(path)
    atomic.expect_writable(path)


def table_state(path: Place) -> str | None:
    """Return the state of a table as a text; None if there is none."""
    return stores.state_of(path / HEAD if path.is_dir() else path)


@contextmanager
def replacements_named(path: Place) -> Iterator[None]:
    """Raise ReplacedError for an error that comes of a table replaced while it was read.

    On a disk alone: a reader may have opened the old file and read on in the new one.
    """
    state = table_state(path) if isinstance(path, Path) else None
    try:
        yield
    except (Exception, pl.exceptions.PanicException) as error:
        if isinstance(path, Path) and state is not None and table_state(path) != state:
            raise stores.ReplacedError(path) from error
        raise


def read_tables(paths: Sequence[Place]) -> pl.LazyFrame:
    """Return the rows of ttastats files or folders; rows read twice are counted once."""
    if not paths:
        raise TtastatsError("no file given", remedy=RUNS.remedy)
    return concatenate([_read_one(path) for path in paths])


def concatenate(frames: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """Return several tables as one; rows that are in several are counted once."""
    if len(frames) == 1:
        return frames[0]
    # To find out that no run stands in two tables takes far less than to compare their rows.
    runs = pl.concat([frame.select(schema.RUN).unique() for frame in frames]).collect()
    if not runs.is_duplicated().any():
        return pl.concat(frames)
    return pl.concat(frames).unique(subset=schema.ROW, keep="first", maintain_order=True)


def _read_one(path: Place) -> pl.LazyFrame:
    rows = RUNS.scan(path)
    # Of a folder, only we write the head. A file may be what another program made of one of ours,
    # so all of its names are looked at.
    return rows.select(schema.NAMES) if path.is_dir() else conform(rows, str(path))


def read_manifest(path: Place) -> str:
    """Return the manifest of a table, or an empty text."""
    return _metadata(path).get(kind.MANIFEST_KEY, "")


def read_problems(path: Place) -> list[Problem]:
    """Return all problems stored in a table, of files and of runs.

    A table written by another program has kept what its column `problems` says.
    """
    problems = RUNS.stored_problems(path)
    return tables.run_problems(_read_one(path)) if problems is None else problems


def rows_of_sources(path: Place, sources: Collection[str]) -> pl.LazyFrame:
    """Return the rows of some sources in a table, without the marks of duplicates."""
    names = pl.LazyFrame({"source": list(sources)}, schema={"source": pl.String})
    rows = _read_one(path).join(names, on="source", how="semi", maintain_order="left")
    if RUNS.partition_columns(path) is not None:
        rows = rows.sort(schema.ORDER, maintain_order=True)
    return rows.with_columns(pl.lit(None, pl.String).alias("duplicate_of"))


def is_logs(name: str) -> bool:
    """Return whether a path means logs: a folder or file that is no table, a pattern, or a URL."""
    path = stores.parse_place(name)
    if isinstance(path, Url):
        return stores.is_server(name) or (path.is_dir() and table_state(path) is None)
    if path.is_dir():
        return not (path / HEAD).exists()
    if path.is_file():
        return path.suffix != ".parquet" and not is_parquet(path)
    return glob.has_magic(name)


def is_parquet(path: Place) -> bool:
    """Return whether a file begins as Parquet does."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(4) == b"PAR1"
    return False


def is_ttastats_table(path: Place) -> bool:
    """Return whether a file or folder was written by any version of ttastats."""
    return bool(kind.ttastats_fields(_metadata(path)))


def _metadata(path: Place) -> dict[str, str]:
    try:
        return RUNS.read_metadata(path)
    except (stores.ReplacedError, stores.UnreachableError):
        raise  # there is something, which may be a table
    except TtastatsError:
        return {}
