"""Tables of `mlflow.search_runs`: a run in each row, with the last value of each metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.checkpoints import wanted_of
from ttastats_parsers.exports import below, date_in, header_of, rows_of
from ttastats_parsers.mlflow import Logged, StoredRun, run_of
from ttastats_parsers.payloads import as_float

name = "mlflow-table"

_METRIC = "metrics."
_SIGNS = {"run_id", "status", "start_time", "end_time"}


def recognises(head: bytes) -> bool:
    """Return whether the header is that of `search_runs`."""
    if b"run_id" not in head[:4096]:
        return False
    columns = header_of(head)
    return columns >= _SIGNS and any(
        column.startswith((_METRIC, "params.", "artifact_uri")) for column in columns
    )


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run of each row, as MLflow's store tells it.

    Which metrics are of evaluations, all rows tell together: one that failed may have no other.
    """
    items = [*rows_of(log)]
    rows = [item[1] for item in items if not isinstance(item, Problem) and "run_id" in item[1]]
    metrics = wanted_of({metric for cells in rows for metric in below(cells, _METRIC)}, log)
    yield from (item for item in items if isinstance(item, Problem))
    for cells in rows:
        yield from run_of(_stored_run(cells, metrics), log)


def _stored_run(cells: Mapping[str, str], metrics: Set[str]) -> StoredRun:
    """Return the run of a row with some metrics; its values are those of the end."""
    start, end = _milliseconds(cells.get("start_time")), _milliseconds(cells.get("end_time"))
    description = {**cells, "start_time": start, "end_time": end}
    logged = [
        Logged(metric, end, as_float(text), None)
        for metric, text in below(cells, _METRIC).items()
        if metric in metrics
    ]
    experiment = cells.get("experiment_id", "0")
    experiment_name = None if experiment == "0" else experiment
    return StoredRun(
        description, experiment_name, below(cells, "params."), below(cells, "tags."), logged
    )


def _milliseconds(text: str | None) -> float | None:
    date = date_in(text)
    return date.timestamp() * 1e3 if date else None
