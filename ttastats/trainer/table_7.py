"""Does higher throughput shorten the time to the target here? The paper's Table 7, from a sweep.

Coleman et al. (2019), "Analysis of DAWNBench, a Time-to-Accuracy Machine Learning Performance
Benchmark", Table 7: speedup in throughput beside speedup in time-to-accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from ttastats import api
from ttastats.base import units
from ttastats.base.note import Note, note
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Quantity, Reached, Table, Text
from ttastats.stats.verdict import Verdict
from ttastats.trainer import table_5

#: What is taken over from the comparison with the baseline.
_COMPARED = (
    "throughput_speedup", "throughput_low", "throughput_high", "speedup", "speedup_low",
    "speedup_high", "epochs_ratio", "p_adjusted", "verdict",
)  # fmt: skip
#: What is taken over from the comparison in CPU seconds, with its name.
_BY_CPU = {
    "throughput_speedup": "cpu_throughput_speedup",
    "speedup": "cpu_tta_speedup",
    "speedup_low": "cpu_tta_low",
    "speedup_high": "cpu_tta_high",
    "verdict": "cpu_verdict",
}
#: What holds of a setup beside itself: nothing is estimated, so there is no interval.
_ITSELF: Mapping[str, Any] = dict.fromkeys(_COMPARED) | {
    "throughput_speedup": 1.0,
    "speedup": 1.0,
    "epochs_ratio": 1.0,
    "verdict": "baseline",
}


def report(table: pl.DataFrame, setups: Mapping[str, str]) -> Report:
    """Give one row per setup, each against the first.

    Parameters
    ----------
    table
        As `ttastats ingest` writes it, with the runs of all setups. Where all kept a test part,
        a second table, the paper's Table 5, says what they were worth on it.
    setups
        The names of the setups for people, the baseline first, each with its system in the table.
    """
    sides = {name: table.filter(pl.col("system") == system) for name, system in setups.items()}
    first = next(iter(sides))
    tested = table_5.metric_of(sides.values())
    rows = [_row(sides[first], side, (first, name), tested) for name, side in sides.items()]
    notes = [*_notes(rows), *_contended(table)]
    tables = (_table(rows), *([table_5.table(rows, tested)] if tested else []))
    return Report("sweep", tuple(rows), tables, tuple(notes), _sentence(rows))


def _contended(table: pl.DataFrame) -> list[Note]:
    """Give what must be said of the wall, of all runs together."""
    return [note for note in api.summary(table).notes if note.code == "contended"]


def _row(
    baseline: pl.DataFrame, side: pl.DataFrame, names: tuple[str, str], tested: str
) -> dict[str, Any]:
    found = cpu = _ITSELF
    if names[0] != names[1]:
        found = _compared(baseline, side, names, also=[tested] if tested else [])
        cpu = _compared(baseline, side, names, unit="cpu-seconds")
    (about,) = api.summary(side, by=["benchmark"]).rows
    (spent,) = api.summary(side, by=["benchmark"], unit="cpu-seconds").rows
    row = {
        "benchmark": about["benchmark"],
        "setup": names[1],
        "n": about["n"],
        "reached": about["reached"],
        "epochs_mean": about["epochs_mean"],
        "tta_mean_seconds": about["tta_mean_seconds"],
        "cpu_tta_mean_seconds": spent["tta_mean_seconds"],
        "cpu_epoch_mean_seconds": spent["epoch_seconds_mean"],
    }
    by_cpu = {name: cpu[key] for key, name in _BY_CPU.items()}
    worth = table_5.numbers(side, tested, found) if tested else {}
    return row | {key: found[key] for key in _COMPARED} | by_cpu | worth


def _compared(
    baseline: pl.DataFrame, side: pl.DataFrame, names: tuple[str, str], **asked: Any
) -> Mapping[str, Any]:
    (found,) = api.compare(baseline, side, labels=names, **asked).rows
    return found


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    columns = (
        Column("setup"),
        Column("reached", "right"),
        Column("epochs", "right", rank=1),
        Column("mean TTA", "right", rank=2),
        Column("throughput", "right"),
        Column("TTA speedup", "right"),
        Column("verdict"),
        Column("throughput (CPU)", "right", rank=3),
        Column("TTA speedup (CPU)", "right"),
        Column("verdict (CPU)"),
    )
    title = f"{rows[0]['benchmark']}: speedup over {rows[0]['setup']} (>1: faster; cf. Table 7)"
    return Table(columns, tuple(Line(_cells(row)) for row in rows), title)


def _cells(row: dict[str, Any]) -> tuple[Any, ...]:
    return (
        Text(row["setup"]),
        Reached(row["reached"], row["n"]),
        Quantity(row["epochs_mean"], "count"),
        Quantity(row["tta_mean_seconds"], "seconds"),
        Quantity(row["throughput_speedup"], "ratio"),
        Quantity(row["speedup"], "ratio", row["speedup_low"], row["speedup_high"]),
        _verdict(row["verdict"]),
        Quantity(row["cpu_throughput_speedup"], "ratio"),
        Quantity(row["cpu_tta_speedup"], "ratio", row["cpu_tta_low"], row["cpu_tta_high"]),
        _verdict(row["cpu_verdict"]),
    )


def _verdict(word: str) -> Text:
    """Give a verdict; by CPU time less of it is what faster is by the wall."""
    return Text(word, "plain" if word == "baseline" else Verdict(word).colour)


def _notes(rows: Sequence[dict[str, Any]]) -> Iterator[Note]:
    yield note("clocks")
    if any(row["reached"] < row["n"] for row in rows):
        yield note("failed_runs.table")


def _sentence(rows: Sequence[dict[str, Any]]) -> str:
    """Name the setup whose throughput promises most, and what became of it in CPU seconds."""
    others = [row for row in rows[1:] if row["cpu_throughput_speedup"] and row["cpu_tta_speedup"]]
    if not others:
        return ""
    best = max(others, key=lambda row: row["cpu_throughput_speedup"])
    interval = units.within(best["cpu_tta_low"], best["cpu_tta_high"])
    return (
        f"In CPU seconds {best['setup']} trains {best['cpu_throughput_speedup']:.2f} times as fast "
        f"as {rows[0]['setup']}; speedup to the target {best['cpu_tta_speedup']:.2f}{interval}: "
        f"{best['cpu_verdict']}."
    )
