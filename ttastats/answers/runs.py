"""One row per run: did it reach the target, when, and how far had it trained?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
import polars as pl

from ttastats.base import units
from ttastats.base.codes import wording
from ttastats.base.records import Problem
from ttastats.outcomes import aims
from ttastats.outcomes.axis import axis_of
from ttastats.outcomes.left_out import standing
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Quantity, Text
from ttastats.report.fields import Field
from ttastats.report.row import Key, Number, Row, Rows, key_descriptions
from ttastats.table import schema


class RunRow(Row, frozen=True):
    """One run: whether it reached the target, when, and how far it had trained."""

    run_id: key.RunId
    source: key.Source
    dialect: Annotated[str, key.column_key("dialect")]
    suite: key.Suite
    round: key.Round
    benchmark: key.Benchmark
    entry: key.Entry
    submitter: key.Submitter
    system: key.System
    run_status: key.RunStatus
    reached: Annotated[bool, Key("whether the run reached the target")]
    tta_seconds: Annotated[Number, Key("time to the target", "seconds")]
    run_seconds: key.RunSeconds
    epochs: key.Epochs
    epoch_seconds: Annotated[Number, Key("time per epoch", "seconds", "per epoch")]
    samples: key.Samples
    steps: key.Steps
    value_final: Annotated[Number, Key("last value of the metric")]
    target_metric: Annotated[str | None, Key("metric of the target")]
    target_value: Annotated[Number, Key("value of the target")]
    accelerators: Annotated[int | None, key.column_key("accelerators", "accelerators")]
    nodes: Annotated[int | None, key.column_key("nodes", "nodes")]
    global_batch_size: Annotated[int | None, key.column_key("global_batch_size", "samples")]
    seed: key.Seed
    cost: key.Cost
    set_aside: key.SetAside
    reason: Annotated[str | None, Key("why the run failed, by its log, or has none")]


#: The problems that tell why a run failed.
_REASONS = ("exception", "no_run_stop")


def _reason(status: str, problems: str | None) -> str | None:
    """Return the reason for the failure or rejection of a run, by its problems."""
    try:
        problem_list = msgspec.json.decode(problems or "[]", type=list[Problem])
    except (msgspec.MsgspecError, RecursionError):  # of somebody's frame
        return None
    return next(
        (
            problem.message
            for problem in problem_list
            if status in schema.ABSENT or problem.code in _REASONS
        ),
        None,
    )


def report(runs: pl.DataFrame) -> Report:
    """Return the report of a table of runs, in the order of its sources."""
    runs = runs.sort("source", "run_id")
    ended = zip(runs["run_status"], runs["problems"], runs["reached"], strict=True)
    reasons = [None if reached else _reason(status, text) for status, text, reached in ended]
    runs = runs.with_columns(pl.Series("reason", reasons, pl.String))
    rows = Rows(RunRow, runs.select(*key_descriptions(RunRow)))
    names = rows.frame.select(grouping.ENTRY).unique(maintain_order=True).rows(named=True)
    known_columns = [name for name in rows.frame.columns if rows.frame[name].count()]
    untimed, axis = "run_seconds" not in known_columns, axis_of(runs)
    table_fields: list[Field[RunRow]] = [
        *fields.key_fields(grouping.shown_keys(names, grouping.ENTRY)),
        fields.log_field(),
        Field(Column(axis.reached), _reached_cell),
        # Of a run that failed, how long it was watched.
        Field(
            Column("time" if axis.alone else "TTA", "right"),
            lambda row: (
                Quantity(row.tta_seconds, "seconds")
                if row.reached or row.run_seconds is None
                else Quantity(row.run_seconds, "seconds", mark="+")
            ),
        ),
        *fields.number_fields(
            RunRow, *(name for name in ("samples", "steps") if untimed and name in known_columns)
        ),
        *(() if axis.alone else _of_training()),
        *_reason_fields(known_columns),
        *fields.number_fields(
            RunRow, *(name for name in ("cost",) if name in known_columns), rank=2
        ),
    ]
    table = fields.make_table(rows, table_fields, grouping.common_title(names, grouping.ENTRY))
    notes = (
        *grouping.alone_notes(runs),
        *grouping.failed_notes(standing(runs)),
        *grouping.set_aside_notes(runs),
        *grouping.no_length_notes(runs),
    )
    return Report("runs", rows, (table,), notes, _answer(standing(runs), alone=axis.alone))


def _answer(runs: pl.DataFrame, *, alone: bool) -> str:
    """Return the number of runs that reached the target and their times in a sentence."""
    if alone or aims.lack_target(runs):
        return ""
    reached = runs.filter("reached")
    times, ends = reached["tta_seconds"].drop_nulls().to_list(), ""
    if times:
        low, high = units.amounts((min(times), max(times)), "seconds")
        ends = f", in {low} to {high}"
    return wording("runs_reached", reached=reached.height, n=runs.height, times=ends)


def _reason_fields(known_columns: Sequence[str]) -> list[Field[RunRow]]:
    """Return the column of reasons for failures, if there are any."""

    def reason(row: RunRow) -> str:
        return row.reason or ""

    return [fields.text_field("reason", reason, rank=4)] if "reason" in known_columns else []


def _of_training() -> Iterator[Field[RunRow]]:
    """Yield the columns of training, which times alone lack."""
    yield from fields.number_fields(RunRow, "epochs", rank=2)
    yield from fields.number_fields(RunRow, "epoch_seconds", rank=3)
    yield fields.text_field("quality", lambda row: _quality_text(row.value_final), rank=4)
    yield fields.text_field("target", lambda row: _quality_text(row.target_value), rank=4)


def _reached_cell(row: RunRow) -> Text:
    if row.run_status in schema.ABSENT:
        return Text(f"– ({row.run_status})")
    ended = row.run_status in {"unknown", "success"} and row.value_final is not None
    reached = "yes" if row.reached else "–" if ended and row.target_value is None else "no"
    if row.run_status in {"aborted", "truncated", "exception"}:
        reached += f" ({row.run_status})"
    if row.set_aside is not None:
        reached += f" (not counted: {row.set_aside.replace('_', ' ')})"
    return Text(reached)


def _quality_text(value: float | None) -> str:
    return "–" if value is None else f"{value:.5g}"
