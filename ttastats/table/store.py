"""Where tables are kept: Parquet files and folders of them, written whole or not at all.

A folder holds the same rows in the same order as one file would, cut into parts of a million. It
is not cut by round or submitter (`round=v5.0/`): the rows are sorted by source, so the smallest
and largest values that every row group carries already let a reader skip most of it; unknown
rounds need no made-up name; and the order of the rows is kept. polars, duckdb and pyarrow read
it by its name or as `FOLDER/*.parquet`. The part without rows says what the whole is.
"""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from ttastats.base import atomic
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem
from ttastats.table import footer, schema, tables
from ttastats.table.conform import conform

_PARTS_KEY, _REPLACED_KEY = "ttastats.parts", "ttastats.replaced_parts"
#: The part without rows by which a folder is known to be ours; programs that leave out names with
#: an underscore miss nothing.
_HEAD = "_ttastats.parquet"
_PART_ROWS = 1_000_000
#: A writer holds a row group in memory, with all its columns.
_GROUP_ROWS = 20_000


# ---------------------------------------------------------------------------------------- writing


def write(
    rows: pl.DataFrame | pl.LazyFrame,
    path: Path,
    *,
    manifest: str = "",
    problems: Iterable[Problem] = (),
    now: datetime | None = None,
    in_parts: bool = False,
) -> None:
    """Write a table to `path`: a reader sees the old file or the complete new one.

    `manifest` is kept beside the rows for the next ingest, `problems` for whoever asks what was
    wrong with what was read; `in_parts` makes a folder.

    Raises
    ------
    TtastatsError
        The place cannot be written to, or is full; what was there is untouched.
    """
    metadata = footer.about("runs", schema.VERSION, now)
    left = footer.left(manifest, problems)
    if in_parts:
        _write_folder(rows.lazy(), path, metadata, left)
        return
    with atomic.replacing(path) as temporary:
        _sink(rows.lazy(), temporary, metadata, metadata | left)


def _sink(
    rows: pl.LazyFrame, target: Path | pl.PartitionBy, metadata: dict[str, str], whole: Any
) -> None:
    rows.sink_parquet(
        target,
        metadata=whole,
        arrow_schema=schema.arrow(metadata),
        row_group_size=_GROUP_ROWS,
        engine="streaming",
    )


def _write_folder(
    rows: pl.LazyFrame, path: Path, metadata: dict[str, str], left: dict[str, str]
) -> None:
    """Write the parts, and the head that lists them, which takes the place of the old one last.

    Of what is there, only the parts that the old head lists are removed, and those that one lists
    which it had replaced: a killed writer may have left them.
    """
    old = _old_parts(path)
    with atomic.replacing_folder(path, _HEAD, old) as folder:
        by_rows = pl.PartitionBy(
            folder, max_rows_per_file=_PART_ROWS, approximate_bytes_per_file=None
        )
        _sink(rows, by_rows, metadata, metadata)
        first = _first_free(path)
        for part in sorted(folder.iterdir(), reverse=True):
            part.rename(folder / f"{first + int(part.stem, 16):08x}.parquet")
        lists = {
            _PARTS_KEY: json.dumps(sorted(part.name for part in folder.iterdir())),
            _REPLACED_KEY: json.dumps(old),
        }
        none = pl.LazyFrame(schema=schema.POLARS)
        _sink(none, folder / _HEAD, metadata, metadata | left | lists)


def _old_parts(path: Path) -> list[str]:
    """Return the names of the parts that a head lists as its own or as replaced; none without."""
    if not (path / _HEAD).exists():
        return []
    metadata = _metadata(path)
    return _part_names(metadata, _PARTS_KEY, path) + _part_names(metadata, _REPLACED_KEY, path)


def _first_free(path: Path) -> int:
    """Return the first number that no part in a folder has, nor any after it."""
    names = (re.fullmatch(r"([0-9a-f]{8})\.parquet", each.name) for each in path.glob("*.parquet"))
    return max((int(name[1], 16) + 1 for name in names if name), default=0)


def expect_place(path: Path, *, in_parts: bool = False) -> None:
    """Say before hours of reading that the result could not be written.

    Raises
    ------
    TtastatsError
        The folder is missing or cannot be written to, or what is there is not ours.
    """
    if path.exists() and not is_ours(path) and not (in_parts and atomic.is_empty(path)):
        raise atomic.kept(path, "already exists and was not created by ttastats")
    if path.exists() and in_parts != path.is_dir():
        raise TtastatsError(
            "is a file and cannot be replaced by a folder",
            where=str(path),
            remedy=atomic.REMEDY,
        )
    if path.is_dir():
        _old_parts(path)
    atomic.expect_writable(path)


# ---------------------------------------------------------------------------------------- reading


def read(paths: Sequence[Path]) -> pl.LazyFrame:
    """Give the rows of one or more ttastats files or folders; rows read twice are counted once.

    Raises
    ------
    TtastatsError
        A file is missing or unreadable, of a newer version, or holds no table that can be used.
    """
    if not paths:
        raise TtastatsError("no file given", remedy="Give a file written by `ttastats ingest`.")
    return together([_read_one(path) for path in paths])


def together(frames: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """Give several tables as one; rows that stand in several are counted once."""
    if len(frames) == 1:
        return frames[0]
    return pl.concat(frames).unique(subset=schema.ROW, keep="first", maintain_order=True)


def _read_one(path: Path) -> pl.LazyFrame:
    metadata = _metadata(path)
    version = footer.expect("runs", schema.VERSION, metadata, str(path))
    frame = pl.scan_parquet(_files(metadata, path))
    for step in range(version, schema.VERSION):
        frame = schema.UPGRADES[step](frame)
    return conform(frame, str(path))


def _files(metadata: dict[str, str], path: Path) -> list[Path]:
    """Give the files that hold the rows: the file itself, or the parts of a folder."""
    if not path.is_dir():
        return [path]
    parts = [path / name for name in _part_names(metadata, _PARTS_KEY, path)]
    lost = [part.name for part in parts if not part.exists()]
    if lost or not parts:
        raise TtastatsError(
            f"part files are missing: {', '.join(lost) or 'all'}",
            where=str(path),
            remedy="Ingest the logs again.",
        )
    return parts


def _part_names(metadata: Mapping[str, str], key: str, path: Path) -> list[str]:
    """Return the names of files that the head of a folder lists.

    Raises
    ------
    TtastatsError
        It is no list of names, or one of them leads out of the folder.
    """
    remedy = "Do not use this table, or ingest its logs again into another folder."
    try:
        names = json.loads(metadata.get(key, "[]"))
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TtastatsError(f"{_HEAD} holds no list of parts", where=str(path), remedy=remedy)
    for name in names:
        if name in {"", ".", ".."} or set(name) & set("/\\:\0") or name == _HEAD:
            what = f"{_HEAD} lists a part that is no file of the folder: {name!r}"
            raise TtastatsError(what, where=str(path), remedy=remedy)
    return names


def _metadata(path: Path) -> dict[str, str]:
    """Give what the footer of a file, or of the head of a folder, says."""
    remedy = "Give a file written by `ttastats ingest`."
    file = path / _HEAD if path.is_dir() else path
    return footer.metadata_of(file, remedy)


def manifest_of(path: Path) -> str:
    """Give the text an ingest left for the next, or nothing."""
    try:
        return _metadata(path).get(footer.MANIFEST_KEY, "")
    except TtastatsError:
        return ""


def problems_of(path: Path) -> list[Problem]:
    """Give everything an ingest or a merge found wrong: of files, of runs, of files without runs.

    A table written by another program has kept what its column `problems` says.

    Raises
    ------
    TtastatsError
        As `read`.
    """
    metadata = _metadata(path)
    kept = footer.problems_in(metadata, str(path))
    return tables.problems_of(_read_one(path)) if kept is None else kept


def rows_of(path: Path, sources: Collection[str]) -> pl.LazyFrame:
    """Give the rows of some sources in a file of ours, without the marks of duplicates."""
    wanted = pl.LazyFrame({"source": list(sources)}, schema={"source": pl.String})
    rows = _read_one(path).join(wanted, on="source", how="semi", maintain_order="left")
    return rows.with_columns(pl.lit(None, pl.String).alias("duplicate_of"))


def is_logs(name: str) -> bool:
    """Tell whether a path means logs: a folder or file that is no table, a pattern, or a URL."""
    path = Path(name)
    if path.is_dir():
        return not (path / _HEAD).exists()
    if path.is_file():
        return path.suffix != ".parquet" and not _is_parquet(path)
    return "://" in name or glob.has_magic(name)


def _is_parquet(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return file.read(4) == b"PAR1"
    return False


def is_ours(path: Path) -> bool:
    """Tell whether a file or folder was written by ttastats, of whatever version."""
    try:
        return bool(footer.said(_metadata(path)))
    except TtastatsError:
        return False
