"""The columns of a table of runs: names, types and descriptions."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import polars as pl

from ttastats.base.records import FORMER_NAMES
from ttastats.table.kind import Column, Kind

_run_column = partial(Column, of_run=True)
_TEXT, _INT, _FLOAT, _BOOL = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
_UTC = pl.Datetime("us", "UTC")

# fmt: off
COLUMNS: tuple[Column, ...] = (
    _run_column("run_id", _TEXT, "digest of log and run; identical for duplicates, so use it "
        "together with `source`"),
    _run_column("source", _TEXT, "path of the log, as given or below a given folder"),
    _run_column("source_digest", _TEXT, "XXH3-128 of the log's bytes, hexadecimal"),
    _run_column("content_digest", _TEXT, "digest of the content of the run: equal for duplicates"),
    _run_column("duplicate_of", _TEXT, "for duplicates: source of the first run with the same "
        "content"),
    _run_column("dialect", _TEXT, "log format"),
    _run_column("suite", _TEXT, "benchmark suite: mlperf, dawnbench, ..."),
    _run_column("round", _TEXT, "round of the benchmark suite, such as v0.5"),
    _run_column("benchmark", _TEXT, "canonical name of the benchmark"),
    _run_column("division", _TEXT, "division of the suite: closed, open"),
    _run_column("submitter", _TEXT, "submitter"),
    _run_column("system", _TEXT, "name of the system"),
    _run_column("entry", _TEXT, "name shared by repeated runs of one setup"),
    _run_column("hardware", _TEXT, "accelerator model, or hardware as described"),
    _run_column("accelerators", _INT, "total number of accelerators"),
    _run_column("nodes", _INT, "number of nodes"),
    _run_column("framework", _TEXT, "software framework"),
    _run_column("seed", _INT, "first random seed in the log"),
    _run_column("global_batch_size", _INT, "samples per optimizer step over all accelerators"),
    _run_column("train_samples", _INT, "train_samples as logged; its meaning varies by benchmark"),
    _run_column("cost_per_hour", _FLOAT, "price of the hardware, US dollars per hour"),
    _run_column("started_at", _UTC, "start of the run"),
    _run_column("clock", _TEXT, "clock of the seconds: total (wall-clock) or training only"),
    _run_column("clock_zero", _TEXT, "event at which the seconds start"),
    _run_column("run_status", _TEXT, "outcome as logged: success, aborted, truncated, unknown; "
        "own logs: stopped, exception; a log that could not be read: unreadable; a run not found "
        "in a numbered set: missing"),
    _run_column("run_seconds", _FLOAT, "observed duration; censoring time of a failed run"),
    _run_column("scaling_factor", _FLOAT, "scaling factor of the official score; not applied to "
        "times"),
    _run_column("problems", _TEXT, "JSON list of the problems of this run; see `ttastats "
        "problems`"),
    _run_column("extra", _TEXT, "JSON object of logged values that have no column"),
    Column("eval_index", _INT, "number of the checkpoint, from 0; below 0 for training metrics"),
    Column("metric", _TEXT, "name of the quality metric"),
    Column("higher_is_better", _BOOL, "direction of the metric"),
    Column("value", _FLOAT, "quality in base units: fractions, BLEU in points"),
    Column("logged_value", _FLOAT, "value as logged"),
    Column("logged_unit", _TEXT, "unit of the logged value if it is not the base unit"),
    Column("seconds", _FLOAT, "time at which the value was available"),
    Column("weights_seconds", _FLOAT, "time at which the evaluated weights were complete"),
    Column("epoch", _FLOAT, "epochs trained"),
    Column("step", _INT, "optimizer steps taken"),
    Column("samples", _INT, "samples trained on"),
    Column("line", _INT, "line of the log, from 1"),
    Column("target_value", _FLOAT, "the metric's quality target; null if it has none"),
    Column("target_source", _TEXT, "origin of the target: log, rules, user"),
)
# fmt: on

#: What identifies a run in a table: equal bytes may lie in two places.
RUN = ("run_id", "source")
#: What identifies a row.
ROW = (*RUN, "eval_index", "metric")
#: The order of the rows of a table.
ORDER = ("source", "run_id", "eval_index", "metric")

RUNS = Kind(
    "runs",
    version=2,
    columns=COLUMNS,
    remedy="Give a file written by `ttastats ingest`.",
    again="ingest the logs again",
    upgrades={1: lambda frame: frame.rename(FORMER_NAMES, strict=False)},
)
POLARS = RUNS.schema()
NAMES = tuple(column.name for column in COLUMNS)
RUN_NAMES = tuple(column.name for column in COLUMNS if column.of_run)
EVALUATION_NAMES = tuple(column.name for column in COLUMNS if not column.of_run)
#: What makes results comparable at all.
BENCHMARK = ("suite", "round", "benchmark")


def is_evaluation() -> pl.Expr:
    """Return an expression for rows of evaluations, not of training metrics."""
    return pl.col("metric").is_not_null() & (pl.col("eval_index") >= 0)


#: What `run_status` says of a log that could not be read, and of a run missing from a set.
ABSENT = ("unreadable", "missing")


def is_run() -> pl.Expr:
    """Return an expression for rows of runs that were read: no rejected or missing ones."""
    return ~pl.col("run_status").is_in(ABSENT).fill_null(value=False)


def parse_extra(extra: str | None) -> dict[str, Any]:
    """Return the JSON object in a text of the column `extra`, empty if it holds none."""
    try:
        fields = msgspec.json.decode(extra or "{}")
    except (msgspec.DecodeError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
