"""Generated runs with a curve of evaluations, for tests of qualities at a budget."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import polars as pl

import ttastats as tta
from ttastats.base.records import Evaluation, Run
from ttastats.table import tables

_LOGS = itertools.count(1)


def evaluation(index: int, value: float, **more: Any) -> Evaluation:
    fields = {
        "metric": "val_loss",
        "higher_is_better": False,
        "seconds": 10.0 * (index + 1),
        "step": 100 * (index + 1),
        "epoch": float(index + 1),
    }
    return Evaluation(index=index, value=value, logged_value=value, **fields | more)


def curve(*values: float, **more: Any) -> Run:
    evaluations = tuple(evaluation(index, value) for index, value in enumerate(values))
    return of(*evaluations, **more)


def of(*evaluations: Evaluation, **more: Any) -> Run:
    fields = {"benchmark": "lm", "run_status": "unknown"}
    last = [evaluation.seconds for evaluation in evaluations if evaluation.seconds is not None]
    length = {"run_seconds": max(last)} if last else {}
    return Run(evaluations=evaluations, **fields | length | more)


def frame(*runs: Run) -> pl.DataFrame:
    sourced = [
        tables.SourcedRun(run, f"log_{number}", f"{number:032x}", 0, "test")
        for number, run in enumerate(runs)
    ]
    return tables.table_of_runs(sourced)


def side(ends: Sequence[float], **more: Any) -> pl.DataFrame:
    """Return runs of 300 steps and 30 seconds that end at these losses, one log for each."""
    return logs([curve(5.0 + number / 8, 4.0, end, **more) for number, end in enumerate(ends)])


def logs(runs: Sequence[Run]) -> pl.DataFrame:
    """Return runs as logs with paths that no other call returns."""
    sourced = []
    for run in runs:
        number = next(_LOGS)
        sourced.append(tables.SourcedRun(run, f"log_{number}", f"{number:016x}{0:016x}", 0, "test"))
    return tables.table_of_runs(sourced)


def judged(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return a table of runs of one entry, with an accuracy of 75 % as their target."""
    columns = {"run": "id", "metric": "acc", "seconds": "t", "epoch": "epoch"}
    return tta.from_frame(pl.DataFrame(rows), target=0.75, **columns)


def of_spans(spans: dict[str, list[float]]) -> pl.DataFrame:
    """Return runs evaluated after each epoch, with epochs of these lengths."""
    rows = [
        {"id": run, "epoch": n, "t": sum(lengths[:n]), "acc": 0.8 * (n == len(lengths))}
        for run, lengths in spans.items()
        for n in range(1, len(lengths) + 1)
    ]
    return judged(rows)
