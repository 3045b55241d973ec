"""How does a run look as a DAWNBench entry? A table and a description of one name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

from ttastats.exporting.names import file_name
from ttastats.extra import recorded

Row = Mapping[str, Any]

_COLUMNS = {"top1_accuracy": "top1Accuracy", "top5_accuracy": "top5Accuracy", "f1": "f1Score"}
_INFERENCE = "_inference"


def files(rows: Sequence[Row]) -> dict[PurePosixPath, str]:
    """Give the files of one run; one without evaluations is an inference entry's JSON alone."""
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
    metrics = [name for name in _COLUMNS if any(row["metric"] == name for row in rows)]
    lines = ["\t".join(["epoch", "hours", *(_COLUMNS[name] for name in metrics)])]
    for _, group in groupby(rows, key=itemgetter("eval_index")):
        scores = {row["metric"]: row for row in group}
        first = next(iter(scores.values()))
        numbers = [first["epoch"], _hours(first["seconds"])]
        numbers += [scores[name]["logged_value"] if name in scores else None for name in metrics]
        lines.append("\t".join("" if number is None else f"{number!r}" for number in numbers))
    return "\n".join(lines) + "\n"


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 3600.0


def _description(run: Row) -> str:
    started = run["started_at"]
    fields = {
        "author": run["submitter"],
        "framework": run["framework"],
        "hardware": run["hardware"],
        "costPerHour": run["cost_per_hour"],
        "timestamp": None if started is None else f"{started:%Y-%m-%d}",
    }
    return json.dumps(fields | recorded(run["extra"]), indent=2) + "\n"
