"""Which rows of our table become which files of a DAWNBench entry?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

from ttastats.base.file_names import file_name
from ttastats.recording import dawnbench
from ttastats.table.schema import recorded

Row = Mapping[str, Any]

_INFERENCE = "_inference"


def files(rows: Sequence[Row]) -> dict[PurePosixPath, str]:
    """Return the files of one run; one without evaluations is an inference entry's JSON alone."""
    run = rows[0]
    benchmark = str(run["benchmark"] or "unknown")
    kind = "inference" if benchmark.endswith(_INFERENCE) else "train"
    place = PurePosixPath("dawnbench", file_name(benchmark.removesuffix(_INFERENCE)), kind)
    stem = file_name(run["entry"])
    found = {place / f"{stem}.json": _description(run)}
    if run["metric"] is not None:
        found[place / f"{stem}.tsv"] = _table(rows)
    return found


def _table(rows: Sequence[Row]) -> str:
    metrics = [name for name in dawnbench.COLUMNS if any(row["metric"] == name for row in rows)]
    return dawnbench.table(metrics, _numbers(rows, metrics))


def _numbers(rows: Sequence[Row], metrics: Sequence[str]) -> Iterator[list[float | None]]:
    """Yield one row for each evaluated checkpoint."""
    for _, group in groupby(rows, key=itemgetter("eval_index")):
        scores = {row["metric"]: row for row in group}
        first = next(iter(scores.values()))
        logged = (scores[name]["logged_value"] if name in scores else None for name in metrics)
        yield [first["epoch"], first["seconds"], *logged]


def _description(run: Row) -> str:
    started = run["started_at"]
    fields = {
        "author": run["submitter"],
        "framework": run["framework"],
        "hardware": run["hardware"],
        "costPerHour": run["cost_per_hour"],
        "timestamp": None if started is None else f"{started:%Y-%m-%d}",
    }
    return dawnbench.description(fields | recorded(run["extra"]))
