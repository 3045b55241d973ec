"""What did the runs just made show? The tables of `ttastats` on their own fresh logs."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ttastats import api
from ttastats.outcomes import counted
from ttastats.table.schema import recorded


def table_of(places: Sequence[Path]) -> pl.DataFrame:
    """Return the tidy table of the logs in some folders, read as `ttastats ingest` reads them."""
    with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
        file = Path(folder, "runs.parquet")
        api.ingest(list(places), file)
        return api.read(file).collect()


def remarks(table: pl.DataFrame) -> list[str]:
    """Return what no table of one setup says: how epochs and CPU time varied, and odd data."""
    return [*_what_varied(counted.counted(api.run_table(table))), *odd_data(table)]


def odd_data(table: pl.DataFrame) -> list[str]:
    """Return what runs say is odd about their data."""
    extras = map(recorded, api.run_table(table).get_column("extra"))
    return list(dict.fromkeys(extra["data_note"] for extra in extras if "data_note" in extra))


def coefficient_of_variation(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation over the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    return statistics.stdev(values) / statistics.fmean(values)


def _what_varied(runs: pl.DataFrame) -> list[str]:
    """Compare epochs and CPU time per epoch over the runs that reached the target (Table 4)."""
    solved = [
        (epochs, seconds, extra["run_totals"]["cpu_seconds_all_workers"])
        for reached, epochs, seconds, text in runs.select(
            "reached", "epochs", "tta_seconds", "extra"
        ).iter_rows()
        if reached and epochs and "run_totals" in (extra := recorded(text))
    ]
    epochs = coefficient_of_variation([run[0] for run in solved])
    wall = coefficient_of_variation([seconds / epochs for epochs, seconds, _ in solved])
    per_epoch = [cpu / epochs for epochs, _, cpu in solved]
    cpu = coefficient_of_variation(per_epoch)
    if epochs is None or cpu is None or wall is None:
        return []
    total = sum(run[2] for run in solved)
    return [
        f"CV of epochs {epochs:.1%}; of time per epoch {cpu:.1%} (CPU), {wall:.1%} (wall). "
        f"CPU time {statistics.fmean(per_epoch):.3g} s per epoch, {total:.3g} s in all."
    ]
