"""What did the runs just made show? The tables of `ttastats` on their own fresh logs."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from ttastats import api
from ttastats.outcomes import counted
from ttastats.stats.moments import coefficient_of_variation
from ttastats.table.schema import parse_extra


def table_of_logs(places: Sequence[Path]) -> pl.DataFrame:
    """Return the table of the logs in some folders, read as `ttastats ingest` reads them."""
    with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
        file = Path(folder, "runs.parquet")
        api.ingest(list(places), file)
        return api.read(file).collect()


def variation_remarks(table: pl.DataFrame) -> list[str]:
    """Return remarks on odd data, and before them how runs that reached varied (Table 4)."""
    runs = counted.counted(api.run_table(table))
    solved = [
        (epochs, seconds, extra["run_totals"]["cpu_seconds_all_workers"])
        for reached, epochs, seconds, text in runs.select(
            "reached", "epochs", "tta_seconds", "extra"
        ).iter_rows()
        if reached and epochs and "run_totals" in (extra := parse_extra(text))
    ]
    if len(solved) < 2:
        return data_remarks(table)
    epochs, wall, cpu = np.array(solved).T
    of_epochs, of_wall, of_cpu = map(
        coefficient_of_variation, (epochs, wall / epochs, cpu / epochs)
    )
    variation = (
        f"CV of epochs {of_epochs:.1%}; of time per epoch {of_cpu:.1%} (CPU), {of_wall:.1%} "
        f"(wall). CPU time {np.mean(cpu / epochs):.3g} s per epoch, {cpu.sum():.3g} s in all."
    )
    return [variation, *data_remarks(table)]


def data_remarks(table: pl.DataFrame) -> list[str]:
    """Return what the logs of runs report as odd about their data."""
    extras = map(parse_extra, api.run_table(table).get_column("extra"))
    return list(dict.fromkeys(extra["data_note"] for extra in extras if "data_note" in extra))
