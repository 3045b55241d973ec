"""Runs as a folder of logs, each in the format of its suite, which `ingest` reads again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
from msgspec import Struct

from ttastats.base import atomic
from ttastats.base.errors import TtastatsError
from ttastats.output.export import dawnbench, mlperf
from ttastats.recording import result_files
from ttastats.table import schema

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
        if result_files.log_number(log) is None or log in taken:
            numbered = (folder / name for name in result_files.log_names())
            log = next(place for place in numbered if place not in taken)
        return {log: mlperf.log_text(rows), **mlperf.companion_files(run)}
    if run["suite"] != "dawnbench":
        return {}
    files, number = dawnbench.entry_files(rows), 2
    while taken & files.keys():
        entry = f"{run['entry']}_{number}"
        files, number = dawnbench.entry_files([{**row, "entry": entry} for row in rows]), number + 1
    return files
