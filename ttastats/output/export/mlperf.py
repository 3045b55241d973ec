"""How does a run look as an MLPerf log? `:::MLLOG` lines with all that is read from such a log."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ttastats.base.file_names import safe_file_name
from ttastats.recording import run_log
from ttastats.table.schema import parse_extra

Row = Mapping[str, Any]

#: What `extra` holds and no line said: it was derived.
_DERIVED = frozenset({"init_seconds", "seeds", "energy_joules", "clocks"})
#: How runs of one's own ended, as their logs say it.
_OWN_ENDS = {
    "stopped": {"status": "aborted", "reason": "SIGTERM"},
    "exception": {"status": "aborted", "reason": "exception"},
}
_POINT: run_log.EventType = "POINT_IN_TIME"
_LABELS = (("samples_count", "samples"), ("step_num", "step"), ("epoch_num", "epoch"))


def was_recorded(run: Row) -> bool:
    """Return whether a run was recorded by ttastats or its trainer."""
    return run_log.RECORDER in parse_extra(run["extra"])


def result_folder(run: Row) -> PurePosixPath:
    """Return the folder of a run's log among official results: `v5.0/ORG/results/SYSTEM/..`."""
    *owner, system = str(run["entry"] or run["system"] or "unknown").split("/")
    round_ = run["round"]
    if round_ is not None and run["suite"] == "mlperf_hpc":
        round_ = f"hpc_results_{round_}"
    above = [round_, *(owner or [run["submitter"]])]
    names = [safe_file_name(name) for name in above if name is not None]
    return PurePosixPath(
        *names, "results", safe_file_name(system), safe_file_name(run["benchmark"])
    )


def companion_files(run: Row) -> dict[PurePosixPath, str]:
    """Return the files beside a log: the system description and the official scaling."""
    nodes, accelerators = run["nodes"], run["accelerators"]
    fields = {
        "submitter": run["submitter"],
        "division": run["division"],
        "system_name": run["system"] if run["hardware"] else None,  # or it is taken for that
        "accelerator_model_name": run["hardware"],
        "number_of_nodes": nodes,
        "accelerators_per_node": accelerators // nodes if accelerators and nodes else None,
        "framework": run["framework"],
    }
    known = {name: value for name, value in fields.items() if value is not None}
    place = result_folder(run)
    files = {place.parents[2] / "systems" / f"{place.parent.name}.json": _json(known)}
    if run["scaling_factor"] is not None:
        files[place / "scaling.json"] = _json({"scaling_factor": run["scaling_factor"]})
    return files


def log_text(rows: Sequence[Row]) -> str:
    """Return the text of the log of one run from the rows of its evaluations."""
    run, extra = rows[0], parse_extra(rows[0]["extra"])
    setup = extra.get("init_seconds")
    init = float(setup) if isinstance(setup, int | float) and math.isfinite(setup) else None
    zero = run["started_at"].timestamp() if run["started_at"] else init or 0.0
    return "".join(
        run_log.event_line(
            kind, None if at is None else run_log.milliseconds(zero + at), key, value, metadata
        )
        for events in (_head_events(rows, extra, init), _score_events(rows, extra))
        for at, kind, key, value, metadata in events
    )


#: Seconds since the start of the run (None: it bears no time), type, key, value, metadata.
_Event = tuple[float | None, run_log.EventType, str, Any, dict[str, Any]]


def _head_events(
    rows: Sequence[Row], extra: Mapping[str, Any], init: float | None
) -> Iterator[_Event]:
    """Yield facts, the start of the run, and the targets in the log itself."""
    run = rows[0]
    if init is not None:
        yield -init, "INTERVAL_START", "init_start", None, {}
    facts = {
        "submission_benchmark": run["benchmark"],
        "submission_org": _unless_folder(run["submitter"]),
        "submission_division": run["division"],
        "submission_platform": _unless_folder(run["system"]),
        "seed": run["seed"],
        "global_batch_size": run["global_batch_size"],
        "train_samples": run["train_samples"],
    }
    logged = {key: value for key, value in extra.items() if key not in _DERIVED}
    for key, value in (facts | logged).items():
        if value is not None:
            yield 0.0, _POINT, key, value, {}
    if init is not None:
        yield 0.0, "INTERVAL_END", "init_stop", None, {}
    started = None if run["run_seconds"] is None else 0.0
    yield started, "INTERVAL_START", "run_start", None, {}
    targets = {row["metric"]: row for row in rows if row["target_source"] == "log"}
    for metric, row in targets.items():  # the round tells others
        higher = row["higher_is_better"]
        about = {"metric": metric} | ({} if higher is None else {"higher_is_better": higher})
        yield 0.0, _POINT, "eval_target", row["target_value"], about


def _score_events(rows: Sequence[Row], extra: Mapping[str, Any]) -> Iterator[_Event]:
    """Yield the scores of a run, and how it ended."""
    run = rows[0]
    clocks = (extra.get("clocks") if was_recorded(run) else None) or {}
    for row in rows:
        at = row["eval_index"] or 0
        if row["metric"] is None or at < 0:  # a training metric
            continue
        labels = {word: row[name] for word, name in _LABELS if row[name] is not None}
        if row["weights_seconds"] is not None:
            labels = labels or {"epoch_num": row["eval_index"]}  # a label that tells no progress
            yield row["weights_seconds"], "INTERVAL_END", "block_stop", None, labels
        spent = {name: amounts[at] for name, amounts in clocks.items() if at < len(amounts)}
        about = {"metric": row["metric"], **labels, **spent}
        yield row["seconds"], _POINT, "eval_accuracy", row["logged_value"], about
    seconds, status = run["run_seconds"], run["run_status"]
    if status == "truncated":
        yield seconds, _POINT, "log_end", None, {}
    elif seconds is not None:
        about = {} if status == "unknown" else _OWN_ENDS.get(status, {"status": status})
        yield seconds, "INTERVAL_END", "run_stop", None, about


def _unless_folder(name: str | None) -> str | None:
    """Return a name, or None where a folder of the log has that name and says it."""
    return None if name is None or safe_file_name(name) == name else name


def _json(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, indent=2) + "\n"
