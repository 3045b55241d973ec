"""Where are runs exported, and as which logs, so that `ingest` reads them again?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
from msgspec import Struct

from ttastats.base import atomic
from ttastats.base.errors import TtastatsError
from ttastats.base.file_names import safe_file_name
from ttastats.output.export import mlperf
from ttastats.recording import run_log
from ttastats.report.as_csv import FORMULA
from ttastats.table import schema, store
from ttastats.table.schema import parse_extra

_MLPERF = frozenset({"mlperf", "mlperf_hpc"})

Row = Mapping[str, Any]


class Exported(Struct, frozen=True):
    """What was written where; `left_out` counts the runs without a log format, by suite."""

    output: Path
    runs: int
    left_out: Mapping[str, int]


def write_logs(table: pl.LazyFrame, output: Path) -> Exported:
    """Write a log per run into a new folder, which appears once it is complete."""
    with atomic.new_folder(output) as folder:
        written, left_out = 0, Counter[str]()
        taken: set[PurePosixPath] = set()
        every = table.filter(schema.is_run()).collect().sort(schema.ORDER, maintain_order=True)
        # A log that was rejected has nothing to write.
        for _, run in groupby(every.iter_rows(named=True), key=itemgetter(*schema.RUN)):
            rows = list(run)
            files = _run_files(rows, taken)
            for place, text in files.items():
                (folder / place).parent.mkdir(parents=True, exist_ok=True)
                (folder / place).write_text(text, "utf-8", newline="\n")
            taken |= files.keys()
            written += bool(files)
            left_out.update([] if files else [str(rows[0]["suite"] or "unknown")])
        if not written:
            raise TtastatsError(
                f"no log format is known for these runs: {', '.join(left_out) or 'no run'}",
                where="export",
                remedy="Export rows instead, which works for every run: NAME.csv or NAME.jsonl.",
            )
    return Exported(output, written, dict(left_out))


def _run_files(rows: Sequence[Row], taken: set[PurePosixPath]) -> dict[PurePosixPath, str]:
    """Return the files of one run under names not taken; none for suites without a log format.

    A log keeps its name if it is that of a result, or has the first number that is free.
    """
    run = rows[0]
    if run["suite"] in _MLPERF or mlperf.was_recorded(run):
        folder = mlperf.result_folder(run)
        log = folder / str(run["source"]).rsplit("/", 1)[-1]
        if run_log.log_number(log) is None or log in taken:
            numbered = (folder / name for name in run_log.log_names())
            log = next(place for place in numbered if place not in taken)
        return {log: mlperf.log_text(rows), **mlperf.companion_files(run)}
    if run["suite"] != "dawnbench":
        return {}
    files, number = entry_files(rows), 2
    while taken & files.keys():
        entry = f"{run['entry']}_{number}"
        files, number = entry_files([{**row, "entry": entry} for row in rows]), number + 1
    return files


Values = Mapping[str, Any]

_INFERENCE = "_inference"


def entry_files(rows: Sequence[Values]) -> dict[PurePosixPath, str]:
    """Return the files of one run by path; an inference entry has only the JSON."""
    run = rows[0]
    benchmark = str(run["benchmark"] or "unknown")
    kind = "inference" if benchmark.endswith(_INFERENCE) else "train"
    place = PurePosixPath("dawnbench", safe_file_name(benchmark.removesuffix(_INFERENCE)), kind)
    stem = safe_file_name(run["entry"])
    started = run["started_at"]
    fields = {
        "author": run["submitter"], "framework": run["framework"], "hardware": run["hardware"],
        "costPerHour": run["cost_per_hour"],
        "timestamp": None if started is None else f"{started:%Y-%m-%d}",
    }  # fmt: skip
    texts = {place / f"{stem}.json": run_log.description_json(fields | parse_extra(run["extra"]))}
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
    return texts | {place / f"{stem}.tsv": run_log.curve_table(metrics, lines)}


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
