"""What was given as a profile: files written before, or traces to be read now?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ttastats.errors import TtastatsError
from ttastats.ingestion import traces
from ttastats.ingestion.sources import find
from ttastats.ingestion.traces import Traces
from ttastats.profiles import store, table


def rows(paths: Sequence[Path]) -> Traces:
    """Give the rows of profiles, and of the traces among some paths.

    Raises
    ------
    TtastatsError
        A path is missing, or holds neither.
    """
    kept = [path for path in paths if _is_parquet(path)]
    found = store.read(kept) if kept or not paths else table.whole([])
    read = [_traces(path) for path in paths if path not in kept]
    return Traces(
        table.whole([found, *(one.rows for one in read)]),
        tuple(problem for one in read for problem in one.problems),
    )


def _is_parquet(path: Path) -> bool:
    if not path.is_file():
        return path.suffix == ".parquet"
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _traces(path: Path) -> Traces:
    found = traces.read(find([str(path)]))
    if not found.rows.is_empty():
        return found
    reason = next((one.message for one in found.problems), "holds no trace of a profiler")
    raise TtastatsError(
        reason,
        where=str(path),
        remedy="Give a profile (Parquet), or traces that torch.profiler exported as JSON.",
    )
