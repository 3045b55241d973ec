"""MLflow's file store: `mlruns/EXPERIMENT/RUN/meta.yaml` tells a run, a file each its metrics.

The clock is the time stamp of each value, from the start of the run. What the database and the
server of MLflow tell of a run becomes a run here, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import msgspec

from ttastats.base.records import Problem, Run, RunStatus
from ttastats.formats.dialect import NO_EVALUATION, Log
from ttastats.formats.setups import entry_name, recorded_seed
from ttastats_parsers import settings_files
from ttastats_parsers.checkpoints import Measured, evaluations_of
from ttastats_parsers.payloads import as_float, as_int, as_mapping, date_of, shown, storable

name = "mlflow"

#: What a server told of a run begins with this key; a line of each metric follows.
SERVED = "mlflow_run"
_META = "meta.yaml"
#: What is below the folder of a run, whose name is its number.
_BELOW_RUN = re.compile(r"(?<=/[0-9a-f]{32})/(?:metrics|params|tags)/.")
#: Metrics may lie in folders, as their names may have slashes; no deeper than this.
_DEEPEST = 10
_NO_NUMBERS = frozenset({"nan", "inf", "-inf", "infinity", "-infinity"})
#: The file store writes the number of a status, the database its word.
_STATUS: dict[str, RunStatus] = {
    **dict.fromkeys(("1", "running", "2", "scheduled"), "truncated"),
    **dict.fromkeys(("3", "finished"), "success"),
    **dict.fromkeys(("4", "failed", "5", "killed"), "aborted"),
}
_BEFORE_START = Problem(
    "before_start", "ended or logged before it started: such times are ignored", "warning"
)


class Logged(NamedTuple):
    """One value of a metric: milliseconds since 1970, the value, the step."""

    metric: str
    time_ms: float | None
    value: float | None
    step: int | None


class StoredRun(NamedTuple):
    """What a store holds of a run; `about` holds the fields of its description."""

    about: Mapping[str, Any]
    experiment: str | None
    params: Mapping[str, Any]
    tags: Mapping[str, Any]
    logged: Sequence[Logged]
    problems: Sequence[Problem] = ()


def recognises(head: bytes, path: str) -> bool:
    """Return whether a file describes a run or an experiment, is below a run, or from a server."""
    if path.endswith(f"/{_META}"):
        return not head or b"lifecycle_stage:" in head[:8192]
    return head.startswith(f'{{"{SERVED}":'.encode()) or run_folder(path) is not None


def run_folder(path: str) -> PurePosixPath | None:
    """Return the run's folder of a metric, a parameter or a tag."""
    match = _BELOW_RUN.search(path)
    return PurePosixPath(path[: match.start()]) if match else None


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run from its description; all other files are parts of it."""
    if log.name == _META:
        description = settings_files.of_yaml(log.read())
        if "run_id" in description or "run_uuid" in description:
            yield from run_of(_stored_run(log, description), log)
        return
    folder = run_folder(str(log.path))
    if folder is None:
        yield from _served_run(log)
    elif log.companion(folder / _META) is None:
        yield Problem("no_description", f"no {_META} in {folder.name}: not a run", "warning")


def _stored_run(log: Log, description: dict[str, object]) -> StoredRun:
    """Return the content of the files beside the description of a run."""
    logged: list[Logged] = []
    n_bad = 0
    for metric, content in _files(log, "metrics"):
        for line in content.decode("utf-8", "replace").split("\n"):
            # A time and a value; then the step, and the name and digest of a data set.
            words = line.split()
            time = as_float(words[0]) if len(words) > 1 else None
            value = as_float(words[1]) if len(words) > 1 else None
            if time is not None and (value is not None or words[1].lower() in _NO_NUMBERS):
                step = as_int(words[2]) if len(words) > 2 else 0
                logged.append(Logged(metric, time, value, step))
            else:
                n_bad += bool(words)
    text = f"{n_bad:,} line(s) of its metrics are not `time value step`"
    problems = [Problem("unreadable_line", text, "warning")] if n_bad else []
    experiment = settings_files.of_yaml(log.companion(log.folder.parent / _META) or b"").get("name")
    params, tags = (
        {key: data.decode("utf-8", "replace").strip() for key, data in _files(log, kind)}
        for kind in ("params", "tags")
    )
    experiment_name = experiment if isinstance(experiment, str) else None
    return StoredRun(description, experiment_name, params, tags, logged, problems)


def _served_run(log: Log) -> Iterator[Run | Problem]:
    """Yield the run that a server described, or the problem that the file is none."""
    try:
        description, *metrics = msgspec.json.Decoder(dict[str, Any]).decode_lines(log.read())
        logged = [
            Logged(str(line["metric"]), as_float(time), as_float(value), as_int(step))
            for line in metrics
            for time, value, step in line["logged"]
        ]
        stored = StoredRun(
            as_mapping(description[SERVED]),
            description.get("experiment"),
            as_mapping(description.get("params")),
            as_mapping(description.get("tags")),
            logged,
        )
    except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        yield Problem("unreadable_file", f"not a run of an MLflow server: {error!r:.100}", "error")
        return
    yield from run_of(stored, log)


def _files(log: Log, kind: str) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of all files of a kind; folders are parts of names."""
    stack = [(log.folder / kind, "", 0)]
    while stack:
        folder, prefix, depth = stack.pop()
        for word in log.listing(folder):
            if not word.endswith("/"):
                yield prefix + word, log.companion(folder / word) or b""
            elif depth < _DEEPEST:
                stack.append((folder / word[:-1], prefix + word, depth + 1))


def run_of(stored: StoredRun, log: Log) -> Iterator[Run | Problem]:
    """Yield the run, or the problem that it was deleted in MLflow."""
    description, tags = stored.about, stored.tags
    run_name = tags.get("mlflow.runName") or description.get("run_name") or description.get("name")
    if description.get("lifecycle_stage") == "deleted":
        yield Problem("deleted_run", f"the run {shown(run_name)} was deleted in MLflow: excluded")
        return
    start, end = as_float(description.get("start_time")), as_float(description.get("end_time"))
    stamps = [item.time_ms for item in stored.logged if item.time_ms is not None]
    latest = end or max(stamps, default=None)
    measured = [
        Measured(item.metric, item.value, item.step, _seconds_since(start, item.time_ms))
        for item in stored.logged
    ]
    evaluations, remarks = evaluations_of(measured, log)
    early = [_BEFORE_START] if start is not None and min([latest or start, *stamps]) < start else []
    extra = {
        "run_id": description.get("run_id") or description.get("run_uuid"),
        "run_name": run_name,
        "parent_run_id": tags.get("mlflow.parentRunId"),
        "params": {key: storable(value) for key, value in stored.params.items()},
    }
    yield Run(
        benchmark=stored.experiment if stored.experiment != "Default" else None,
        entry=entry_name(stored.params),
        seed=recorded_seed(stored.params),
        started_at=date_of(None if start is None else start / 1e3),
        clock="wall",
        clock_zero="start of the MLflow run",
        run_status=_STATUS.get(shown(description.get("status")).lower(), "unknown"),
        run_seconds=_seconds_since(start, latest),
        evaluations=evaluations,
        problems=(*stored.problems, *remarks, *early, *([] if evaluations else [NO_EVALUATION])),
        extra={key: storable(value) for key, value in extra.items() if value},
    )


def _seconds_since(start: float | None, time_ms: float | None) -> float | None:
    """Return the time since the start; None if unknown or before the start."""
    if start is None or time_ms is None or time_ms < start:
        return None
    return round((time_ms - start) / 1e3, 6)
