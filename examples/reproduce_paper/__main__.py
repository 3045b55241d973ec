"""Print Tables 3b to 7 of Coleman et al. (2019) beside what the official logs and a sweep give.

    python examples/reproduce_paper FOLDER [SWEEP]

FOLDER holds the results of MLPerf Training v0.5, from `v0.5.0/` down. Standard deviations divide
by n, as the paper's do. Rows whose logs were never published are shown without a value of ours.
Tables 5 and 6, quality on unseen data, have no public logs: Table 6 is tested by its published
means and standard deviations, and Table 5 is shown beside a sweep of the trainer (30 seconds; needs
PyTorch), whose logs are written to SWEEP. Runs that SWEEP holds already are not made again.
"""

from __future__ import annotations

import math
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from ttastats import api, ingest
from ttastats.base.codes import Note
from ttastats.base.errors import TtastatsError, needs
from ttastats.base.units import Digits
from ttastats.report import as_table
from ttastats.report.answer import Report
from ttastats.report.cells import Cell, Column, Line, PValue, Quantity, Table, Text
from ttastats.report.grouping import ENTRY
from ttastats.stats.means import MeanDifference, mean_difference
from ttastats.stats.power import detectable_difference
from ttastats.stats.speedup import ratio_of_means

NO_LOGS = "no public logs"
_NOTES = (
    Note(
        "table_5",
        "Table 5: no number of runs and no spread are published, so no interval can be computed.",
    ),
    Note(
        "table_6",
        "Table 6: Welch's t test of the published means and standard deviations. The latter are "
        "taken to divide by n, as in Table 4; if they divide by n - 1, intervals and detectable "
        "differences are 18% smaller, and still no difference is shown. Detectable: the difference "
        "that such a test would show with a probability of 80%, at p < 0.05.",
    ),
)


def main(arguments: list[str]) -> int:
    """Read the logs and print the tables; return the exit code."""
    if len(arguments) not in {1, 2}:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        try:
            output = ingest([Path(arguments[0])], Path(folder, "v0.5.parquet")).output
            runs = api.run_table(output, where=["round=v0.5"])
            swept = [sweep(Path(path), range(10)) for path in arguments[1:]]
        except TtastatsError as error:
            print(f"reproduce_paper: {error}", file=sys.stderr)
            return 2
    as_table.print_report(tables(runs, swept), Console(width=160), verbose=True)
    return 0


def sweep(folder: Path, seeds: Sequence[int]) -> Table:
    """Return the accuracy of two batch sizes on unseen data, after training the missing runs.

    With ten seeds the same as `ttastats sweep --width 8 --target 0.94 --batch-size 32,128
    --set test_samples=300 --runs 10`.

    Raises
    ------
    TtastatsError
        PyTorch is not installed, or a log cannot be written.
    """
    with needs("torch", "the sweep", "ttastats[train]"):
        from ttastats.trainer import experiment, tables
        from ttastats.trainer.settings import Overrides

    settings = Overrides({"width": 8, "target": 0.94, "test_samples": 300})
    request = experiment.Request("digits", folder, "local", None)
    plan = experiment.plan_runs(request, settings, seeds, {"batch_size": [32, 128]})
    experiment.make_runs(plan.missing)
    logs = tables.table_of_logs([place.results for place in plan.setups.values()])
    report = tables.sweep_report(logs, {name: place.system for name, place in plan.setups.items()})
    return report.tables[1]


def tables(runs: pl.DataFrame, swept: Sequence[Table] = ()) -> Report:
    """Return the tables from one row per run; those of a sweep follow Table 5."""
    paper = tomllib.loads(Path(__file__).with_name("paper.toml").read_text("utf-8"))
    summary = _by_entry(api.summary(runs, by=ENTRY, ddof=0))
    variance = _by_entry(api.variance(runs, by=ENTRY, ddof=0))
    return Report(
        "reproduce_paper",
        (),
        (
            _table_3b(paper["table_3b"], summary),
            _table_4(paper["table_4"], variance),
            _table_5(paper["table_5"]),
            *swept,
            _table_6(paper["table_6"]),
            _table_7(paper["table_7"], runs),
        ),
        _NOTES,
    )


def _by_entry(report: Report) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(row["benchmark"], row["entry"]): row for row in report.rows}


def _ours(row: Mapping[str, Any], logs: Mapping[tuple[str, str], Mapping[str, Any]]) -> Any:
    """Return our row for one of the paper's, or None where its logs are not public."""
    return logs.get((row.get("benchmark", ""), row.get("entry", "")))


def _printed(number: float, like: float) -> str:
    """Return a number with the decimals the paper prints."""
    decimals = len(str(like).partition(".")[2])
    return f"{number:.{decimals}f}"


def _match(pairs: list[tuple[float, float]], remark: str) -> Text:
    """Return whether our numbers print as the paper's do."""
    same = all(float(_printed(ours, paper)) == paper for ours, paper in pairs)
    return Text("yes" if same else f"no: {remark}")


def _columns(first: str, *numbers: str) -> tuple[Column, ...]:
    return Column(first), *(Column(name, "right") for name in numbers)


def _table_3b(rows: list[dict[str, Any]], logs: dict[Any, Any]) -> Table:
    columns = (*_columns("Table 3b: CV of TTA", "paper", "logs [95% CI]", "n"), Column("match"))
    body = []
    for row in rows:
        ours = _ours(row, logs)
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
        body.append(Line(tuple(cells)))
    return Table(columns, tuple(body))


def _table_4(rows: list[dict[str, Any]], logs: dict[Any, Any]) -> Table:
    numbers = ("paper: epochs", "s/epoch", "ratio", "logs: epochs", "s/epoch", "ratio", "n")
    columns = (*_columns("Table 4: what varies", *numbers), Column("match"))
    body = []
    for row in rows:
        ours = _ours(row, logs)
        epochs, seconds = row["epochs"], row["epoch_seconds"]
        cells = [f"{epochs[0]} ± {epochs[1]}", f"{seconds[0]} ± {seconds[1]}", str(row["ratio"])]
        if ours is None:
            body.append(Line(tuple(map(Text, [row["row"], *cells, "–", "–", "–", "–", NO_LOGS]))))
            continue
        names = ("epochs_mean", "epochs_std", "epoch_seconds_mean", "epoch_seconds_std", "cv_ratio")
        values = [ours[name] for name in names]
        printed = [*epochs, *seconds, row["ratio"]]
        shown = [_printed(v, p) for v, p in zip(values[:4], printed[:4], strict=True)]
        cells += [f"{shown[0]} ± {shown[1]}", f"{shown[2]} ± {shown[3]}", f"{values[4]:.1f}"]
        match = _match(list(zip(values, printed, strict=True)), row.get("remark", ""))
        body.append(Line((*map(Text, [row["row"], *cells, str(ours["n"])]), match)))
    return Table(columns, tuple(body))


def _table_5(parts: list[dict[str, Any]]) -> Table:
    difference = "difference from ResNet-50 (pretrained)"
    columns = _columns("Table 5: accuracy on unseen images", "paper", difference)
    body = []
    for part in parts:
        baseline = part["percent"]["ResNet-50 (pretrained)"]
        for model, percent in part["percent"].items():
            points = f"{percent - baseline:+.1f}" if percent != baseline else "baseline"
            cells = (f"{part['part']}: {model}", f"{percent}%", points)
            body.append(Line(tuple(map(Text, cells))))
    return Table(columns, tuple(body))


def _table_6(rows: list[dict[str, Any]]) -> Table:
    sides = ("n", "reference ±sd", "DGX-1 ±sd", "difference [95% CI]", "p", "detectable")
    columns = _columns("Table 6: BLEU on newstest2017", *sides)
    return Table(columns, tuple(_row_6(row["row"], row["reference"], row["dgx1"]) for row in rows))


def _row_6(name: str, reference: Sequence[float], dgx1: Sequence[float]) -> Line:
    """Return what three runs of each side show, from their means and standard deviations."""
    gap = mean_difference(_three_runs(*reference), _three_runs(*dgx1), confidence=0.95)
    detectable = detectable_difference(3, (_SAMPLE_SD * reference[1], _SAMPLE_SD * dgx1[1]))
    digits = Digits(2)
    cells = (
        Text(name),
        Text("3, 3"),
        *(Text(digits.mean(*side)) for side in (reference, dgx1)),
        Text(digits.difference(gap.estimate, gap.low, gap.high)),
        PValue(gap.p_value),
        Text(digits.text(detectable)),
    )
    return Line(cells, (_shown(gap, detectable),))


#: From the standard deviation of three values that divides by n to the one that divides by n - 1.
_SAMPLE_SD = math.sqrt(3 / 2)


def _three_runs(mean: float, sd: float) -> list[float]:
    """Return three values with this mean and this standard deviation, which divides by n.

    A t test depends on nothing else of a sample, so any three such values give its result.
    """
    return [mean - _SAMPLE_SD * sd, mean, mean + _SAMPLE_SD * sd]


def _shown(gap: MeanDifference, detectable: float) -> str:
    """Return in a sentence what the difference of DGX-1 from the reference shows."""
    low, high = gap.low or 0.0, gap.high or 0.0
    if low > 0 or high < 0:
        return f"Three runs a side show that DGX-1 is {'better' if low > 0 else 'worse'}."
    return (
        "Three runs a side show neither a difference nor that there is none: DGX-1 may be up to "
        f"{-low:.2f} worse or {high:.2f} better, and they would miss a difference of less than "
        f"{detectable:.2f} more often than once in five."
    )


def _table_7(rows: list[dict[str, Any]], runs: pl.DataFrame) -> Table:
    numbers = (
        "paper: epochs", "throughput", "TTA", "result_0: throughput", "TTA",
        "all runs: throughput [95% CI]", "TTA [95% CI]",
    )  # fmt: skip
    columns = (*_columns("Table 7: speedup", *numbers), Column("match"))
    return Table(columns, tuple(_row_7(row, runs) for row in rows))


def _row_7(row: dict[str, Any], runs: pl.DataFrame) -> Line:
    epochs = ", ".join(map(str, row["epochs"]))
    printed = map(Text, (row["row"], epochs, f"{row['throughput']}x", f"{row['tta']}x"))
    if "entries" not in row:
        return Line((*printed, *[Text("–")] * 4, Text("no public logs of the larger scale")))
    sides = [
        runs.filter(pl.col("benchmark") == row["benchmark"], pl.col("entry") == entry, "reached")
        for entry in row["entries"]
    ]
    first = [side.filter(pl.col("source").str.ends_with("result_0.txt")) for side in sides]
    throughput, tta = (first[0][name][0] / first[1][name][0] for name in _MEASURES)
    match = _match([(throughput, row["throughput"]), (tta, row["tta"])], "result_0 differs")
    return Line(
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
    ratio = ratio_of_means(*(side[name].to_numpy() for side in sides), confidence=0.95)
    return Quantity(ratio.estimate, "ratio", ratio.low, ratio.high)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
