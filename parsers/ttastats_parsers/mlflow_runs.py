"""From what an MLflow store tells of a run, in files or in a database, to the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ttastats.base.records import Problem, Run, RunStatus
from ttastats.formats.dialect import Log
from ttastats_parsers.checkpoints import Measured, evaluations_of
from ttastats_parsers.payloads import as_float, date_of, shown, storable
from ttastats_parsers.settings import entry_of, seed_of

#: The file store writes the number of a status, the database its word.
_STATUS: dict[str, RunStatus] = {
    **dict.fromkeys(("1", "running", "2", "scheduled"), "truncated"),
    **dict.fromkeys(("3", "finished"), "success"),
    **dict.fromkeys(("4", "failed", "5", "killed"), "aborted"),
}


class Logged(NamedTuple):
    """One value of a metric: milliseconds since 1970, the value, the step."""

    metric: str
    time_ms: float | None
    value: float | None
    step: int | None


class StoredRun(NamedTuple):
    """What a store tells of a run; `about` holds the fields of its description."""

    about: Mapping[str, Any]
    experiment: str | None
    params: Mapping[str, Any]
    tags: Mapping[str, Any]
    logged: Sequence[Logged]
    problems: Sequence[Problem] = ()


def run_of(told: StoredRun, log: Log) -> Iterator[Run | Problem]:
    """Yield the run, or the problem that it was deleted in MLflow."""
    name = told.tags.get("mlflow.runName") or told.about.get("run_name") or told.about.get("name")
    if told.about.get("lifecycle_stage") == "deleted":
        yield Problem("deleted_run", f"the run {shown(name)} was deleted in MLflow: excluded")
        return
    yield _run(told, log, name)


def _run(told: StoredRun, log: Log, name: Any) -> Run:
    begun, ended = as_float(told.about.get("start_time")), as_float(told.about.get("end_time"))
    stamps = [item.time_ms for item in told.logged if item.time_ms is not None]
    last = ended or max(stamps, default=None)
    measured = [
        Measured(item.metric, item.value, item.step, _seconds(begun, item.time_ms))
        for item in told.logged
    ]
    evaluations, said = evaluations_of(measured, log)
    empty = [] if evaluations else [_NO_EVALUATION]
    early = [_BEFORE_START] if begun is not None and min([last or begun, *stamps]) < begun else []
    extra = {
        "run_id": told.about.get("run_id") or told.about.get("run_uuid"),
        "run_name": name,
        "parent_run_id": told.tags.get("mlflow.parentRunId"),
        "params": {key: storable(value) for key, value in told.params.items()},
    }
    return Run(
        benchmark=told.experiment if told.experiment != "Default" else None,
        entry=entry_of(told.params),
        seed=seed_of(told.params),
        started_at=date_of(None if begun is None else begun / 1e3),
        clock="wall",
        clock_zero="start of the MLflow run",
        run_status=_STATUS.get(shown(told.about.get("status")).lower(), "unknown"),
        run_seconds=_seconds(begun, last),
        evaluations=evaluations,
        problems=(*told.problems, *said, *early, *empty),
        extra={key: storable(value) for key, value in extra.items() if value},
    )


_NO_EVALUATION = Problem("no_evaluation", "the run has no evaluation", "warning")
_BEFORE_START = Problem(
    "before_start", "ended or logged before it started: such times are ignored", "warning"
)


def _seconds(begun: float | None, time_ms: float | None) -> float | None:
    """Return the time since the start; None where it is not known, or lies before the start."""
    if begun is None or time_ms is None or time_ms < begun:
        return None
    return round((time_ms - begun) / 1e3, 6)
