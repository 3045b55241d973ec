"""What was given as a profile: files written before, or traces to be read now?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ttastats.base.errors import TtastatsError
from ttastats.base.stores import Place
from ttastats.table import footer
from ttastats.table.store import is_parquet

if TYPE_CHECKING:
    from ttastats.ingestion.traces import Traces


def rows(paths: Sequence[Place]) -> Traces:
    """Return the rows of the profiles and traces at some paths.

    Of a folder that holds profiles these are taken, and its traces where it holds none.
    """
    from ttastats.ingestion.traces import Traces  # which tables do not need
    from ttastats.traces import store, table

    profiles: list[Place] = []
    read: list[Traces] = []
    for path in dict.fromkeys(paths):
        stored_here: list[Place] = [path] if _is_parquet(path) else []
        if isinstance(path, Path) and path.is_dir():
            stored_here = [file for file in sorted(path.glob("*.parquet")) if is_profile(file)]
        profiles += stored_here
        read += [] if stored_here else [_read_traces(path)]
    stored = store.read_profiles(profiles) if profiles or not paths else table.concatenated([])
    return Traces(
        table.concatenated([stored, *(traces.rows for traces in read)]),
        (
            *(problem for path in profiles for problem in store.profile_problems(path)),
            *(problem for traces in read for problem in traces.problems),
        ),
    )


def is_profile(path: Place) -> bool:
    """Return whether a path is a profile or a trace, and not a table of runs or a log."""
    if not _is_parquet(path):
        from ttastats.ingestion import cache, traces
        from ttastats.ingestion.sources import find

        if not path.is_file() or cache.is_cached(str(path)):  # its table as a log is kept
            return False
        return any(traces.is_trace(source) for source in find([str(path)]))
    try:
        return footer.table_kind(footer.read_metadata(path, "")) == "profile"
    except TtastatsError:
        return False


def _is_parquet(path: Place) -> bool:
    return is_parquet(path) if path.is_file() else path.suffix == ".parquet"


def _read_traces(path: Place) -> Traces:
    from ttastats.ingestion import traces
    from ttastats.ingestion.sources import find

    read = traces.read(find([str(path)]))
    if not read.rows.is_empty():
        return read
    reason = next((problem.message for problem in read.problems), "contains no profiler trace")
    remedy = "Give a profile (Parquet), or traces that torch.profiler exported as JSON."
    raise TtastatsError(reason, where=str(path), remedy=remedy)
