"""MLflow's database, `mlflow.db`: SQLite, which Python reads from memory, so no file is opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ttastats.base import streams
from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.mlflow import Logged, StoredRun, run_of
from ttastats_parsers.payloads import as_float, as_int

if TYPE_CHECKING:
    import sqlite3

name = "mlflow-db"

_MAGIC = b"SQLite format 3\0"
_TABLES = ("experiments", "runs", "metrics", "params", "tags")
#: Bytes of the longest value: MLflow stores none of more than 8,000 letters in these tables.
_LONGEST = 1024 * 1024
#: Bytes that a value takes as an object of Python beside its letters.
_OBJECT = 64
#: Bytes 18 and 19 of the header say that changes lie in a file beside, which memory cannot have.
_WRITE_AHEAD = b"\2\2"


def recognises(head: bytes, path: str) -> bool:
    """Return whether a file is SQLite with a table that only MLflow has."""
    if not head:
        return path.endswith("/mlflow.db")
    return head.startswith(_MAGIC) and b"latest_metrics" in head


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield all runs of the database, those that were begun first first."""
    import sqlite3  # only these files need it

    content = bytearray(log.read())
    if content[18:20] == _WRITE_AHEAD:
        content[18:20] = b"\1\1"
        if log.companion(log.folder / f"{log.name}-wal"):
            text = f"{log.name}-wal is not read: stop the server, then ingest again"
            yield Problem("write_ahead_log", text, "warning")
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(bytes(content))
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        yield from [item for stored in _stored_runs(connection) for item in run_of(stored, log)]
    except (sqlite3.Error, ValueError, OverflowError, MemoryError) as error:
        reason = str(error) or "not enough memory"
        if "too big" in reason:
            reason = f"a value is longer than {_LONGEST // 1024:,} KiB"
        yield Problem("unreadable_file", f"the database cannot be read: {reason}", "error")
    finally:
        connection.close()


def _stored_runs(connection: sqlite3.Connection) -> Iterator[StoredRun]:
    """Yield each run in the tables; views are ignored."""
    connection.row_factory = lambda cursor, row: {
        column[0]: value for column, value in zip(cursor.description, row, strict=True)
    }
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
    # A virtual table, which computes its rows, has no page.
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
    tables = {row["name"] for row in connection.execute(query)}
    absent = [table for table in _TABLES if table not in tables]
    if absent:
        raise ValueError(f"no table {absent[0]}")
    size = sum(_table_size(connection, table) for table in _TABLES)
    streams.expect_size(size, streams.whole_file_limit(), "the values in its tables are ")
    names = {
        row["experiment_id"]: row["name"] for row in connection.execute("SELECT * FROM experiments")
    }

    def pairs(query: str, run: str) -> dict[str, Any]:
        return {row["key"]: row["value"] for row in connection.execute(query, (run,))}

    logged = "SELECT * FROM metrics WHERE run_uuid = ? ORDER BY key, timestamp, step"
    runs = connection.execute("SELECT * FROM runs ORDER BY start_time, run_uuid").fetchall()
    for run in runs:
        number = run["run_uuid"]
        yield StoredRun(
            run,
            names.get(run.get("experiment_id")),
            pairs("SELECT key, value FROM params WHERE run_uuid = ?", number),
            pairs("SELECT key, value FROM tags WHERE run_uuid = ?", number),
            [
                # Those stored as 0 and marked were not numbers.
                Logged(
                    str(row["key"]),
                    as_float(row["timestamp"]),
                    None if row.get("is_nan") else as_float(row["value"]),
                    as_int(row.get("step")),
                )
                for row in connection.execute(logged, (number,))
            ],
        )


def _table_size(connection: sqlite3.Connection, table: str) -> int:
    """Return the bytes of all values of a table, with generated columns, a row at a time."""
    columns = [row["name"] for row in connection.execute(f"PRAGMA table_xinfo({table})")]
    lengths = " + ".join(
        "coalesce(length(CAST({} AS BLOB)), 0)".format('"{}"'.format(column.replace('"', '""')))
        for column in columns
    )
    query = f"SELECT total({lengths} + {_OBJECT * len(columns)}) AS size FROM {table}"  # noqa: S608
    return int(connection.execute(query).fetchone()["size"])
