"""Where profiles are kept: one Parquet file, written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from ttastats.base import atomic
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem
from ttastats.table import footer
from ttastats.traces import table

_REMEDY = "Create a profile with `ttastats ingest TRACES -o prof.parquet`."
#: What a profile cannot be read without.
_REQUIRED = ("kind", "name")


def write(
    rows: pl.DataFrame,
    path: Path,
    *,
    manifest: str = "",
    problems: Iterable[Problem] = (),
) -> None:
    """Write a profile to `path`: a reader sees the old file or the complete new one.

    Raises
    ------
    TtastatsError
        The place cannot be written to, or is full; what was there is untouched.
    """
    metadata = footer.about("profile", table.VERSION)
    with atomic.replacing(path) as temporary:
        table.whole([rows]).lazy().sink_parquet(
            temporary,
            metadata=metadata | footer.left(manifest, problems),
            arrow_schema=table.arrow(metadata),
        )


def read(paths: Sequence[Path]) -> pl.DataFrame:
    """Give the rows of one or more profiles; a profile that stands in several counts once.

    Raises
    ------
    TtastatsError
        A file is missing or unreadable, of a newer version, or holds no profile.
    """
    if not paths:
        raise TtastatsError("no file given", remedy=_REMEDY)
    frames = [_read_one(path) for path in paths]
    found: list[pl.DataFrame] = []
    seen: set[str] = set()
    for frame in frames:
        found.append(frame.filter(~pl.col("profile_id").is_in(seen)))
        seen |= set(frame.get_column("profile_id").unique())
    return table.whole(found)


def _read_one(path: Path) -> pl.DataFrame:
    metadata = footer.metadata_of(path, _REMEDY)
    version = footer.expect("profile", table.VERSION, metadata, str(path))
    frame = pl.scan_parquet(path)
    missing = [name for name in _REQUIRED if name not in frame.collect_schema()]
    if missing:
        what = f"is not a profile: missing columns {', '.join(missing)}"
        raise TtastatsError(what, where=str(path), remedy=_REMEDY)
    for step in range(version, table.VERSION):
        frame = table.UPGRADES[step](frame)
    return table.whole([frame.collect()])


def is_profile(path: Path) -> bool:
    """Tell whether a file is a profile written by ttastats."""
    try:
        return footer.kind_of(footer.metadata_of(path, _REMEDY)) == "profile"
    except TtastatsError:
        return False


def problems_of(path: Path) -> list[Problem]:
    """Give what was found wrong when a profile was made."""
    return footer.problems_in(footer.metadata_of(path, _REMEDY), str(path)) or []
