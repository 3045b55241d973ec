"""MLflow's database, `mlflow.db`."""

from __future__ import annotations

from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log

name = "mlflow-db"

_MAGIC = b"SQLite format 3\0"


def recognises(head: bytes, path: str) -> bool:
    """Return whether a file is SQLite with a table that only MLflow has."""
    if not head:
        return path.endswith("/mlflow.db")
    return head.startswith(_MAGIC) and b"latest_metrics" in head


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the runs of a file."""
    from ttastats_parsers import mlflow_db_reading  # only such files need it

    yield from mlflow_db_reading.parse(log)
