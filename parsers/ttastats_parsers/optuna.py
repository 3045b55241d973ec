"""Tables of Optuna's `study.trials_dataframe()`: a trial in each row, with its value at its end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import polars as pl

from ttastats.base.records import Problem, Run, RunStatus
from ttastats.formats.block import TimeColumn
from ttastats.formats.dialect import NO_EVALUATION, Log
from ttastats.formats.setups import entry_name, recorded_seed
from ttastats_parsers.checkpoints import Measured, evaluations_of
from ttastats_parsers.exports import below, date_in, header_of, rows_of
from ttastats_parsers.own_choice import times
from ttastats_parsers.payloads import as_float

name = "optuna"

_SIGNS = {"number", "state", "datetime_start"}
_STATUS: dict[str, RunStatus] = {
    "COMPLETE": "success", "FAIL": "aborted", "PRUNED": "aborted", "RUNNING": "truncated",
}  # fmt: skip
_DIRECTION = Problem(
    "unknown_direction",
    "is a higher or a lower value better? A target such as --target 'value>=0.9' says so",
    "warning",
)
_PRUNED = Problem("pruned_trial", "pruned by the study: counts as failed where it ended", "info")


def recognises(head: bytes) -> bool:
    """Return whether the header is that of a trials frame."""
    if b"datetime_start" not in head[:4096]:
        return False
    columns = header_of(head)
    return columns >= _SIGNS and any(column.startswith("value") for column in columns)


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run of each trial; one that waits is none."""
    for item in rows_of(log):
        if isinstance(item, Problem):
            yield item
        elif "number" in item[1] and item[1].get("state") != "WAITING":
            yield _trial(*item, log)


def _trial(line: int | None, cells: Mapping[str, str], log: Log) -> Run:
    """Return the run of a trial, whose values are those of its end."""
    start, seconds = date_in(cells.get("datetime_start")), _seconds(cells)
    measured = [
        Measured(column, as_float(text), None, seconds, None, line)
        for column, text in cells.items()
        if column == "value" or column.startswith("values_")
    ]
    evaluations, remarks = evaluations_of(measured, log)
    params, state = below(cells, "params_"), cells.get("state", "").rpartition(".")[2]
    unknown = any(evaluation.higher_is_better is None for evaluation in evaluations)
    problems = [
        *remarks,
        *([_PRUNED] if state == "PRUNED" else []),
        *([_DIRECTION] if unknown else []),
        *([] if evaluations else [NO_EVALUATION]),
    ]
    return Run(
        entry=entry_name(params),
        seed=recorded_seed(params),
        started_at=start,
        clock="wall",
        clock_zero="start of the trial",
        run_status=_STATUS.get(state, "unknown"),
        run_seconds=seconds,
        evaluations=evaluations,
        problems=tuple(problems),
        extra={"number": cells["number"], **({"params": params} if params else {})},
    )


def _seconds(cells: Mapping[str, str]) -> float | None:
    """Return the length of a trial: between its dates, else as its duration says."""
    start, completed = (date_in(cells.get(f"datetime_{end}")) for end in ("start", "complete"))
    if start and completed and completed >= start:
        return (completed - start).total_seconds()
    duration = re.sub(r"^(\d+ days?) ", r"\1, ", cells.get("duration", ""))  # as Python has it
    seconds = times(pl.Series([duration]), TimeColumn("duration"))[0]
    return None if seconds is None else float(seconds)
