"""Runs with a curve of evaluations, made for tests of qualities at a budget."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import polars as pl

from ttastats import tables
from ttastats.records import Evaluation, Run

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
    last = [one.seconds for one in evaluations if one.seconds is not None]
    length = {"run_seconds": max(last)} if last else {}
    return Run(evaluations=evaluations, **fields | length | more)


def frame(*runs: Run) -> pl.DataFrame:
    sourced = [
        tables.SourcedRun(run, f"log_{number}", f"{number:032x}", 0, "test")
        for number, run in enumerate(runs)
    ]
    return tables.frame_of(sourced)


def side(ends: Sequence[float], **more: Any) -> pl.DataFrame:
    """Give runs of 300 steps and 30 seconds that end at these losses, each a log of its own."""
    return logs([curve(5.0 + number / 8, 4.0, end, **more) for number, end in enumerate(ends)])


def logs(runs: Sequence[Run]) -> pl.DataFrame:
    """Give runs as logs that no other call gives again."""
    sourced = []
    for run in runs:
        number = next(_LOGS)
        sourced.append(tables.SourcedRun(run, f"log_{number}", f"{number:016x}{0:016x}", 0, "test"))
    return tables.frame_of(sourced)
