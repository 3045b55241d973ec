"""Where are runs exported, and as which logs, so that `ingest` reads them again?"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
from msgspec import Struct

from ttastats.base import atomic
from ttastats.base.atomic import safe_file_name
from ttastats.base.errors import TtastatsError
from ttastats.base.json_safe import FORMULA
from ttastats.recording import run_log
from ttastats.table import schema, store
from ttastats.table.schema import parse_extra

_MLPERF = frozenset({"mlperf", "mlperf_hpc"})

Row = Mapping[str, Any]


class Exported(Struct, frozen=True):
    """The folder and number of logs; `left_out` counts runs without a log format, by suite."""

    output: Path
    runs: int
    left_out: Mapping[str, int]


def write_logs(table: pl.LazyFrame, output: Path) -> Exported:
    """Write a log per run into a new folder, which appears once it is complete."""
    with atomic.new_folder(output) as folder:
        count, left_out = 0, Counter[str]()
        paths: set[PurePosixPath] = set()
        all_runs = table.filter(schema.is_run()).collect().sort(schema.ORDER, maintain_order=True)
        # A log that was rejected has nothing to write.
        for _, run in groupby(all_runs.iter_rows(named=True), key=itemgetter(*schema.RUN)):
            rows = list(run)
            files = _run_files(rows, paths)
            for path, text in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, "utf-8", newline="\n")
            paths |= files.keys()
            count += bool(files)
            left_out.update([] if files else [str(rows[0]["suite"] or "unknown")])
        if not count:
            raise TtastatsError(
                f"no log format is known for these runs: {', '.join(left_out) or 'no run'}",
                where="export",
                remedy="Export rows instead, which works for every run: NAME.csv or NAME.jsonl.",
            )
    return Exported(output, count, dict(left_out))


def _run_files(rows: Sequence[Row], used_paths: set[PurePosixPath]) -> dict[PurePosixPath, str]:
    """Return the files of one run under names not taken; none for suites without a log format.

    A log keeps its name if it is that of a result, or has the first number that is free.
    """
    run = rows[0]
    if run["suite"] in _MLPERF or _was_recorded(run):
        folder = _result_folder(run)
        log = folder / str(run["source"]).rsplit("/", 1)[-1]
        if run_log.log_number(log) is None or log in used_paths:
            numbered = (folder / name for name in run_log.log_names())
            log = next(path for path in numbered if path not in used_paths)
        return {log: _log_text(rows), **_companion_files(run)}
    if run["suite"] != "dawnbench":
        return {}
    files, number = entry_files(rows), 2
    while used_paths & files.keys():
        entry = f"{run['entry']}_{number}"
        files, number = entry_files([{**row, "entry": entry} for row in rows]), number + 1
    return files


_INFERENCE = "_inference"


def entry_files(rows: Sequence[Row]) -> dict[PurePosixPath, str]:
    """Return the files of one run by path; an inference entry has only the JSON."""
    run = rows[0]
    benchmark = str(run["benchmark"] or "unknown")
    kind = "inference" if benchmark.endswith(_INFERENCE) else "train"
    folder = PurePosixPath("dawnbench", safe_file_name(benchmark.removesuffix(_INFERENCE)), kind)
    stem = safe_file_name(run["entry"])
    started = run["started_at"]
    fields = {
        "author": run["submitter"], "framework": run["framework"], "hardware": run["hardware"],
        "costPerHour": run["cost_per_hour"],
        "timestamp": None if started is None else f"{started:%Y-%m-%d}",
    }  # fmt: skip
    texts = {folder / f"{stem}.json": run_log.description_json(fields | parse_extra(run["extra"]))}
    if run["metric"] is None:
        return texts
    # A line for each evaluated checkpoint.
    metrics = [name for name in run_log.COLUMNS if any(row["metric"] == name for row in rows)]
    lines = []
    for _, group in groupby(rows, key=itemgetter("eval_index")):
        scores = {row["metric"]: row for row in group}
        first = next(iter(scores.values()))
        logged = (scores[name]["logged_value"] if name in scores else None for name in metrics)
        lines.append([first["epoch"], first["seconds"], *logged])
    return texts | {folder / f"{stem}.tsv": run_log.curve_table(metrics, lines)}


def _write_csv(table: pl.LazyFrame, output: Path) -> None:
    """Write a table as CSV, with `'` before text that a spreadsheet would take for a formula."""
    inert = table.with_columns(pl.col(pl.String).str.replace_all(FORMULA, "${1}'${2}"))
    inert.sink_csv(output, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")


#: Writers of rows; an object of JSON lines has null for unknown.
_WRITERS: dict[str, Callable[[pl.LazyFrame, Path], None]] = {
    ".csv": _write_csv,
    ".jsonl": pl.LazyFrame.sink_ndjson,
    ".ndjson": pl.LazyFrame.sink_ndjson,
}
#: Ends of names that promise a table of another format, with what to do instead.
_OTHER_TABLES = {".parquet": "Use `ttastats filter` to write Parquet."} | dict.fromkeys(
    (".pq", ".arrow", ".feather", ".json", ".tsv", ".txt", ".xlsx", ".html", ".sqlite"),
    "Use NAME.csv or NAME.jsonl for rows, a folder for logs, and `ttastats filter` for Parquet.",
)


def is_row_format(output: Path) -> bool:
    """Return whether an output name means rows, not a folder of logs."""
    return output.suffix.lower() in _WRITERS


def export(table: pl.LazyFrame, output: Path) -> Exported:
    """Write a table as rows (`NAME.csv`, `NAME.jsonl`) or as a folder of logs (any other name)."""
    ending = output.suffix.lower()
    if ending in _OTHER_TABLES:
        raise TtastatsError(
            f"{ending} is not an export format", where=str(output), remedy=_OTHER_TABLES[ending]
        )
    runs = table.select(schema.RUN).unique().select(pl.len()).collect().item()
    if not runs:
        raise TtastatsError("no run meets the conditions")
    write = _WRITERS.get(ending)
    if write is None:
        return write_logs(table, output)
    if output.exists() and store.is_ttastats_table(output):
        raise atomic.overwrite_error(output, "is a ttastats table")
    with atomic.replacing(output) as temporary:
        write(table, temporary)
    return Exported(output, runs, {})


#: What `extra` holds and no line said: it was derived.
_DERIVED = frozenset({"init_seconds", "seeds", "energy_joules", "clocks"})
#: How runs of one's own ended, as their logs say it.
_OWN_ENDS = {
    "stopped": {"status": "aborted", "reason": "SIGTERM"},
    "exception": {"status": "aborted", "reason": "exception"},
}
_POINT: run_log.EventType = "POINT_IN_TIME"
_LABELS = (("samples_count", "samples"), ("step_num", "step"), ("epoch_num", "epoch"))


def _was_recorded(run: Row) -> bool:
    """Return whether a run was recorded by ttastats or its trainer."""
    return run_log.RECORDER in parse_extra(run["extra"])


def _result_folder(run: Row) -> PurePosixPath:
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


def _companion_files(run: Row) -> dict[PurePosixPath, str]:
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
    values = {name: value for name, value in fields.items() if value is not None}
    folder = _result_folder(run)
    files = {folder.parents[2] / "systems" / f"{folder.parent.name}.json": _json(values)}
    if run["scaling_factor"] is not None:
        files[folder / "scaling.json"] = _json({"scaling_factor": run["scaling_factor"]})
    return files


def _log_text(rows: Sequence[Row]) -> str:
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
        "submission_org": _name_lost_in_path(run["submitter"]),
        "submission_division": run["division"],
        "submission_platform": _name_lost_in_path(run["system"]),
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
        metadata = {"metric": metric} | ({} if higher is None else {"higher_is_better": higher})
        yield 0.0, _POINT, "eval_target", row["target_value"], metadata


def _score_events(rows: Sequence[Row], extra: Mapping[str, Any]) -> Iterator[_Event]:
    """Yield the scores of a run, and how it ended."""
    run = rows[0]
    clocks = (extra.get("clocks") if _was_recorded(run) else None) or {}
    for row in rows:
        at = row["eval_index"] or 0
        if row["metric"] is None or at < 0:  # a training metric
            continue
        labels = {word: row[name] for word, name in _LABELS if row[name] is not None}
        if row["weights_seconds"] is not None:
            labels = labels or {"epoch_num": row["eval_index"]}  # a label that tells no progress
            yield row["weights_seconds"], "INTERVAL_END", "block_stop", None, labels
        spent = {name: amounts[at] for name, amounts in clocks.items() if at < len(amounts)}
        metadata = {"metric": row["metric"], **labels, **spent}
        yield row["seconds"], _POINT, "eval_accuracy", row["logged_value"], metadata
    seconds, status = run["run_seconds"], run["run_status"]
    if status == "truncated":
        yield seconds, _POINT, "log_end", None, {}
    elif seconds is not None:
        metadata = {} if status == "unknown" else _OWN_ENDS.get(status, {"status": status})
        yield seconds, "INTERVAL_END", "run_stop", None, metadata


def _name_lost_in_path(name: str | None) -> str | None:
    """Return a name that no folder of the log can have, else None."""
    return None if name is None or safe_file_name(name) == name else name


def _json(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, indent=2) + "\n"
