"""Rank the DAWNBench training entries by time and by cost, and check the blog's figures.

    python examples/dawnbench_leaderboard FOLDER

FOLDER holds the entries: `CIFAR10/train/*.tsv` and so on. Every entry is one run, so a rank says
what happened once, not what would happen again.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from ttastats import api, ingest
from ttastats.base.errors import TtastatsError
from ttastats.report import as_table
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Quantity, Table, Text

Entry = Mapping[str, Any]


def main(arguments: list[str]) -> int:
    """Read the entries and print the tables; return the exit code."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        try:
            output = ingest([Path(arguments[0])], Path(folder, "dawnbench.parquet")).output
            runs = api.run_table(output, where=["suite=dawnbench"])
        except TtastatsError as error:
            print(f"dawnbench_leaderboard: {error}", file=sys.stderr)
            return 2
    as_table.print_report(Report("leaderboard", (), tables(runs)), Console(width=160), verbose=True)
    return 0


def tables(runs: pl.DataFrame) -> tuple[Table, ...]:
    """Return a leaderboard per task, and the table of the blog's claims."""
    tasks = ("imagenet", "cifar10", "squad")
    return (*(leaderboard(runs, task) for task in tasks), claims(runs))


def leaderboard(runs: pl.DataFrame, task: str) -> Table:
    """Rank the entries of a task by time-to-accuracy; cost has a rank of its own."""
    entries = (
        runs.filter(pl.col("benchmark") == task)
        .with_columns(cost_rank=pl.col("cost").rank("min"))
        .sort("tta_seconds", "entry", nulls_last=True)
    )
    numbers = (Column(name, "right") for name in ("TTA", "cost", "cost rank", "epochs"))
    columns = (Column("rank", "right"), Column(f"{task}: entry"), *numbers, Column("hardware"))
    body = []
    for rank, entry in enumerate(entries.iter_rows(named=True), start=1):
        cells = (
            Text(str(rank)),
            Text(entry["entry"]),
            Quantity(entry["tta_seconds"], "seconds"),
            Quantity(entry["cost"], "dollars"),
            Quantity(entry["cost_rank"], "count"),
            Quantity(entry["epochs"], "count"),
            Text((entry["hardware"] or "–")[:48]),
        )
        body.append(Line(cells))
    return Table(columns, tuple(body))


_MEASURES: dict[str, Callable[[Entry, Entry], float]] = {
    "speedup": lambda entry, over: over["tta_seconds"] / entry["tta_seconds"],
    "cost ratio": lambda entry, over: over["cost"] / entry["cost"],
    "dollars": lambda entry, _: entry["cost"],
    "hours": lambda entry, _: entry["tta_seconds"] / 3600,
    "minutes": lambda entry, _: entry["tta_seconds"] / 60,
    "seconds": lambda entry, _: entry["tta_seconds"],
    "latency": lambda entry, _: json.loads(entry["extra"])["latency"],
    "inference dollars": lambda entry, _: 10_000 * json.loads(entry["extra"])["cost"],
}


def claims(runs: pl.DataFrame) -> Table:
    """Compare each figure of the blog with what its entries give."""
    listed = tomllib.loads(Path(__file__).with_name("claims.toml").read_text("utf-8"))["claim"]
    by_name = {(row["benchmark"], row["entry"]): row for row in runs.iter_rows(named=True)}
    columns = (Column("claim of the blog"), Column("entries give", "right"), Column("follows"))
    body = []
    for claim in listed:
        number = measured(claim, by_name)
        follows = "yes" if agrees(claim, number) else "no"
        shown = f"{number:,.{max(claim['digits'], 2)}f} {_unit(claim)}"
        body.append(Line((Text(claim["text"]), Text(shown.strip()), Text(follows))))
    return Table(columns, tuple(body))


def measured(claim: Mapping[str, Any], by_name: Mapping[tuple[str, str], Entry]) -> float:
    """Return the number of a claim, computed from the entries."""
    entry = by_name[claim["benchmark"], claim["entry"]]
    over = by_name[claim["benchmark"], claim.get("over", claim["entry"])]
    return _MEASURES[claim["measure"]](entry, over)


def agrees(claim: Mapping[str, Any], number: float) -> bool:
    """Return whether a number prints as claimed; some claims drop the last digits."""
    rounded = round(number, claim["digits"])
    dropped = claim.get("rounds_down", False) and int(number) == claim["value"]
    return bool(rounded == claim["value"]) or dropped


def _unit(claim: Mapping[str, Any]) -> str:
    units = {"hours": "h", "minutes": "min", "seconds": "s", "latency": "ms", "speedup": "x"}
    return units.get(claim["measure"], "x" if claim["measure"] == "cost ratio" else "$")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
