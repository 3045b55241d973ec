"""Which rows of our table become which files of a DAWNBench entry?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

from ttastats.base.file_names import safe_file_name
from ttastats.recording import dawnbench
from ttastats.table.schema import parse_extra

Row = Mapping[str, Any]

_INFERENCE = "_inference"


def entry_files(rows: Sequence[Row]) -> dict[PurePosixPath, str]:
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
    texts = {place / f"{stem}.json": dawnbench.description_json(fields | parse_extra(run["extra"]))}
    if run["metric"] is None:
        return texts
    # A line for each evaluated checkpoint.
    metrics = [name for name in dawnbench.COLUMNS if any(row["metric"] == name for row in rows)]
    lines = []
    for _, group in groupby(rows, key=itemgetter("eval_index")):
        scores = {row["metric"]: row for row in group}
        first = next(iter(scores.values()))
        logged = (scores[name]["logged_value"] if name in scores else None for name in metrics)
        lines.append([first["epoch"], first["seconds"], *logged])
    return texts | {place / f"{stem}.tsv": dawnbench.curve_table(metrics, lines)}
