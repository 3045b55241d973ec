"""Where profiles are kept: one Parquet file, written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem
from ttastats.base.stores import Place
from ttastats.traces import table
from ttastats.traces.table import PROFILES

#: What a profile cannot be read without.
_REQUIRED = ("kind", "name")

is_profile = PROFILES.is_table


def write_profile(
    rows: pl.DataFrame,
    path: Place,
    *,
    manifest: str = "",
    problems: Iterable[Problem] = (),
    expected: Sequence[str | None] = (),
) -> None:
    """Write a profile with all columns and its rows in order, as `Kind.write` does."""
    PROFILES.write(
        table.concatenated([rows]), path, manifest=manifest, problems=problems, expected=expected
    )


def read_profiles(paths: Sequence[Place]) -> pl.DataFrame:
    """Return the rows of one or more profiles; a profile that is in several files counts once."""
    if not paths:
        raise TtastatsError("no file given", remedy=PROFILES.remedy)
    frames: list[pl.DataFrame] = []
    read_ids: set[str] = set()
    for path in paths:
        scanned = PROFILES.scan(path)
        missing = [name for name in _REQUIRED if name not in scanned.collect_schema()]
        if missing:
            what = f"is not a profile: missing columns {', '.join(missing)}"
            raise TtastatsError(what, where=str(path), remedy=PROFILES.remedy)
        frame = table.concatenated([scanned.collect()])
        frames.append(frame.filter(~pl.col("profile_id").is_in(read_ids)))
        read_ids |= set(frame.get_column("profile_id").unique())
    return table.concatenated(frames)


def profile_problems(path: Place) -> list[Problem]:
    """Return the problems found when a profile was created."""
    return PROFILES.stored_problems(path) or []
