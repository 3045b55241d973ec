"""Print Tables 3b, 4 and 7 of Coleman et al. (2019) beside what the official logs give.

    python examples/reproduce_paper FOLDER

FOLDER holds the results of MLPerf Training v0.5, from `v0.5.0/` down. Standard deviations divide
by n, as the paper's do. Rows whose logs were never published are shown without a value of ours.
Tables 5 and 6, quality on unseen images, are left out: no logs of them are public, and the printed
figures were not at hand. `ttastats sweep --set test_samples=300 ...` measures the same here.
"""

from __future__ import annotations

import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from ttastats import api, ingest
from ttastats.errors import TtastatsError
from ttastats.render import as_table
from ttastats.report.answer import Report
from ttastats.report.cells import Cell, Column, Quantity, Row, Table, Text
from ttastats.report.grouping import ENTRY
from ttastats.stats.speedup import ratio_of_means

NO_LOGS = "no public logs"


def main(arguments: list[str]) -> int:
    """Read the logs and print the tables; return the exit code."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        try:
            output = ingest([Path(arguments[0])], Path(folder, "v0.5.parquet")).output
            runs = api.run_table(output, where=["round=v0.5"])
        except TtastatsError as error:
            print(f"reproduce_paper: {error}", file=sys.stderr)
            return 2
    as_table.render(tables(runs), Console(width=160))
    return 0


def tables(runs: pl.DataFrame) -> Report:
    """Give the three tables from one row per run."""
    paper = tomllib.loads(Path(__file__).with_name("paper.toml").read_text("utf-8"))
    summary = _by_entry(api.summary(runs, by=ENTRY, ddof=0))
    variance = _by_entry(api.variance(runs, by=ENTRY, ddof=0))
    return Report(
        "reproduce_paper",
        (),
        (
            _table_3b(paper["table_3b"], summary),
            _table_4(paper["table_4"], variance),
            _table_7(paper["table_7"], runs),
        ),
    )


def _by_entry(report: Report) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(row["benchmark"], row["entry"]): row for row in report.rows}


def _ours(row: Mapping[str, Any], found: Mapping[tuple[str, str], Mapping[str, Any]]) -> Any:
    """Give our row for one of the paper's, or None where its logs are not public."""
    return found.get((row.get("benchmark", ""), row.get("entry", "")))


def _printed(number: float, like: float) -> str:
    """Give a number with the decimals the paper prints."""
    decimals = len(str(like).partition(".")[2])
    return f"{number:.{decimals}f}"


def _match(pairs: list[tuple[float, float]], remark: str) -> Text:
    """Tell whether our numbers print as the paper's do."""
    same = all(float(_printed(ours, paper)) == paper for ours, paper in pairs)
    return Text("yes" if same else f"no: {remark}")


def _table_3b(rows: list[dict[str, Any]], found: dict[Any, Any]) -> Table:
    columns = (
        Column("Table 3b: CV of TTA"),
        Column("paper", "right"),
        Column("logs [95% CI]", "right"),
        Column("n", "right"),
        Column("match"),
    )
    body = []
    for row in rows:
        ours = _ours(row, found)
        cells: list[Cell] = [Text(row["row"]), Quantity(row["cv"], "fraction")]
        if ours is None:
            cells += [Text("–"), Text("–"), Text(NO_LOGS)]
        else:
            percent = (ours["cv"] * 100, round(row["cv"] * 100, 1))
            cells += [
                Quantity(ours["cv"], "fraction", ours["cv_low"], ours["cv_high"]),
                Text(str(ours["n"])),
                _match([percent], row.get("remark", "")),
            ]
        body.append(Row(tuple(cells)))
    return Table(columns, tuple(body))


def _table_4(rows: list[dict[str, Any]], found: dict[Any, Any]) -> Table:
    columns = (
        Column("Table 4: what varies"),
        Column("paper: epochs", "right"),
        Column("s/epoch", "right"),
        Column("ratio", "right"),
        Column("logs: epochs", "right"),
        Column("s/epoch", "right"),
        Column("ratio", "right"),
        Column("n", "right"),
        Column("match"),
    )
    body = []
    for row in rows:
        ours = _ours(row, found)
        epochs, seconds = row["epochs"], row["epoch_seconds"]
        cells = [f"{epochs[0]} ± {epochs[1]}", f"{seconds[0]} ± {seconds[1]}", str(row["ratio"])]
        if ours is None:
            body.append(Row(tuple(map(Text, [row["row"], *cells, "–", "–", "–", "–", NO_LOGS]))))
            continue
        names = ("epochs_mean", "epochs_std", "epoch_seconds_mean", "epoch_seconds_std", "cv_ratio")
        values = [ours[name] for name in names]
        printed = [*epochs, *seconds, row["ratio"]]
        shown = [_printed(v, p) for v, p in zip(values[:4], printed[:4], strict=True)]
        cells += [f"{shown[0]} ± {shown[1]}", f"{shown[2]} ± {shown[3]}", f"{values[4]:.1f}"]
        match = _match(list(zip(values, printed, strict=True)), row.get("remark", ""))
        body.append(Row((*map(Text, [row["row"], *cells, str(ours["n"])]), match)))
    return Table(columns, tuple(body))


def _table_7(rows: list[dict[str, Any]], runs: pl.DataFrame) -> Table:
    columns = (
        Column("Table 7: speedup"),
        Column("paper: epochs", "right"),
        Column("throughput", "right"),
        Column("TTA", "right"),
        Column("result_0: throughput", "right"),
        Column("TTA", "right"),
        Column("all runs: throughput [95% CI]", "right"),
        Column("TTA [95% CI]", "right"),
        Column("match"),
    )
    return Table(columns, tuple(_row_7(row, runs) for row in rows))


def _row_7(row: dict[str, Any], runs: pl.DataFrame) -> Row:
    epochs = f"{row['epochs'][0]}, {row['epochs'][1]}"
    printed = [
        Text(row["row"]),
        Text(epochs),
        Text(f"{row['throughput']}x"),
        Text(f"{row['tta']}x"),
    ]
    if "entries" not in row:
        return Row((*printed, *[Text("–")] * 4, Text("no public logs of the larger scale")))
    sides = [
        runs.filter(pl.col("benchmark") == row["benchmark"], pl.col("entry") == entry, "reached")
        for entry in row["entries"]
    ]
    first = [side.filter(pl.col("source").str.ends_with("result_0.txt")) for side in sides]
    throughput, tta = (first[0][name][0] / first[1][name][0] for name in _MEASURES)
    match = _match([(throughput, row["throughput"]), (tta, row["tta"])], "result_0 differs")
    return Row(
        (
            *printed,
            Text(f"{throughput:.3f}x"),
            Text(f"{tta:.3f}x"),
            *(_ratio(sides, name) for name in _MEASURES),
            Text(f"{match.text} (result_0)"),
        )
    )


_MEASURES = ("epoch_seconds", "tta_seconds")


def _ratio(sides: list[pl.DataFrame], name: str) -> Quantity:
    ratio = ratio_of_means(*(side[name].to_numpy() for side in sides))
    return Quantity(ratio.estimate, "ratio", ratio.low, ratio.high)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
