"""Does higher throughput shorten the time to the target here? The paper's Table 7, from a sweep.

Coleman et al. (2019), "Analysis of DAWNBench, a Time-to-Accuracy Machine Learning Performance
Benchmark", Table 7: speedup in throughput beside speedup in time-to-accuracy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ttastats import api
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Note, Quantity, Reached, Row, Table, Text, Tone

#: What is taken over from the comparison with the baseline.
_COMPARED = (
    "throughput_speedup", "throughput_low", "throughput_high", "speedup", "speedup_low",
    "speedup_high", "epochs_ratio", "p_adjusted", "verdict",
)  # fmt: skip
#: What holds of a setup beside itself: nothing is estimated, so there is no interval.
_ITSELF = dict.fromkeys(_COMPARED) | {
    "throughput_speedup": 1.0,
    "speedup": 1.0,
    "epochs_ratio": 1.0,
    "verdict": "baseline",
}
_TONES: dict[str, Tone] = {"faster": "good", "slower": "bad"}


def report(table: pl.DataFrame, setups: Mapping[str, str]) -> Report:
    """Give one row per setup, each against the first.

    Parameters
    ----------
    table
        As `ttastats ingest` writes it, with the runs of all setups.
    setups
        The names of the setups for people, the baseline first, each with its system in the table.
    """
    sides = {name: table.filter(pl.col("system") == system) for name, system in setups.items()}
    first = next(iter(sides))
    rows = [_row(sides[first], side, (first, name)) for name, side in sides.items()]
    return Report("sweep", tuple(rows), (_table(rows),), tuple(_notes(rows)), _sentence(rows))


def _row(baseline: pl.DataFrame, side: pl.DataFrame, names: tuple[str, str]) -> dict[str, Any]:
    found: Mapping[str, Any] = _ITSELF
    if names[0] != names[1]:
        (found,) = api.compare(baseline, side, labels=names).rows
    (about,) = api.summary(side, by=["benchmark"]).rows
    cpu = [_cpu_seconds(one) for one in (baseline, side)]
    row = {
        "benchmark": about["benchmark"],
        "setup": names[1],
        "n": about["n"],
        "reached": about["reached"],
        "epochs_mean": about["epochs_mean"],
        "tta_mean_seconds": about["tta_mean_seconds"],
        "cpu_tta_mean_seconds": cpu[1][0],
        "cpu_epoch_mean_seconds": cpu[1][1],
        "cpu_tta_speedup": _ratio(cpu[0][0], cpu[1][0]),
        "cpu_throughput_speedup": _ratio(cpu[0][1], cpu[1][1]),
    }
    return row | {key: found[key] for key in _COMPARED}


def _cpu_seconds(side: pl.DataFrame) -> tuple[float | None, float | None]:
    """Give mean CPU seconds to the target and per epoch, over the runs that reached it."""
    solved = api.run_table(side).filter("reached").select("extra", "epochs")
    pairs = [
        (json.loads(extra).get("run_totals", {}).get("cpu_seconds_all_workers"), epochs)
        for extra, epochs in solved.iter_rows()
    ]
    known = [(cpu, epochs) for cpu, epochs in pairs if cpu is not None and epochs]
    if not known:
        return None, None
    number = len(known)
    return sum(cpu for cpu, _ in known) / number, sum(cpu / e for cpu, e in known) / number


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above and below else None


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    columns = (
        Column("setup"),
        Column("reached", "right"),
        Column("epochs", "right", rank=1),
        Column("mean TTA", "right", rank=2),
        Column("throughput", "right"),
        Column("TTA speedup", "right"),
        Column("throughput (CPU)", "right", rank=3),
        Column("TTA (CPU)", "right", rank=3),
        Column("verdict"),
    )
    title = f"{rows[0]['benchmark']}: speedup over {rows[0]['setup']} (>1: faster; cf. Table 7)"
    return Table(columns, tuple(Row(_cells(row)) for row in rows), title)


def _cells(row: dict[str, Any]) -> tuple[Any, ...]:
    return (
        Text(row["setup"]),
        Reached(row["reached"], row["n"]),
        Quantity(row["epochs_mean"], "count"),
        Quantity(row["tta_mean_seconds"], "seconds"),
        Quantity(row["throughput_speedup"], "ratio"),
        Quantity(row["speedup"], "ratio", row["speedup_low"], row["speedup_high"]),
        Quantity(row["cpu_throughput_speedup"], "ratio"),
        Quantity(row["cpu_tta_speedup"], "ratio"),
        Text(row["verdict"], _TONES.get(row["verdict"], "plain")),
    )


def _notes(rows: Sequence[dict[str, Any]]) -> list[Note]:
    notes = [
        Note(
            "clocks",
            "throughput and TTA on the clock of the wall; (CPU): in CPU seconds of all workers, "
            "which other work on the machine moves far less.",
        )
    ]
    if any(row["reached"] < row["n"] for row in rows):
        text = "runs that did not reach the target count in `reached` and in the TTA speedup."
        notes.append(Note("failed_runs", text))
    return notes


def _sentence(rows: Sequence[dict[str, Any]]) -> str:
    """Name the setup whose throughput promises most, and what became of it."""
    others = [row for row in rows[1:] if row["throughput_speedup"] and row["speedup"]]
    if not others:
        return ""
    best = max(others, key=lambda row: row["throughput_speedup"])
    return (
        f"{best['setup']} trains {best['throughput_speedup']:.2f} times as many samples per second "
        f"as {rows[0]['setup']} and reaches the target {best['speedup']:.2f} times as fast."
    )
