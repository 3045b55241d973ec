"""What did the runs just made show, also by the Tables 5 and 7 of the paper, of a sweep?

Coleman et al. (2019), "Analysis of DAWNBench, a Time-to-Accuracy Machine Learning Performance
Benchmark": Table 7, speedup in throughput beside speedup in time-to-accuracy; Table 5, quality on
data that no run was stopped by.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import polars as pl
from msgspec import UNSET, UnsetType

from ttastats import api
from ttastats.answers.compare.rows import TimesRow
from ttastats.answers.summary import SummaryRow
from ttastats.base import units
from ttastats.base.codes import note
from ttastats.base.percentages import percent_text
from ttastats.outcomes import left_out
from ttastats.outcomes.at_budget import at_stop
from ttastats.report import fields
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Quantity, Table, Text
from ttastats.report.fields import Field
from ttastats.report.grouping import mean_of
from ttastats.report.keys import EpochsMean, High, Low, ReachedCount, RunCount
from ttastats.report.row import Key, Row, expect_kind
from ttastats.sides.options import CONFIDENCE
from ttastats.stats.moments import coefficient_of_variation
from ttastats.stats.results import Verdict
from ttastats.table.schema import parse_extra


class UnseenRow(Row, frozen=True):
    """What the runs of a setup that reached were worth at their end, on either part of the data."""

    deciding_mean: Annotated[float | None, Key("mean on the part that stopped the runs", "metric")]
    test_n: Annotated[int, Key("runs with a value on the other part", "runs")]
    test_mean: Annotated[float | None, Key("their mean on it", "metric")]
    test_sd: Annotated[float | None, Key("their standard deviation", "metric")]
    test_difference: Annotated[float | None, Key("difference from the first setup", "metric")]
    test_difference_low: Low
    test_difference_high: High
    test_p_adjusted: Annotated[float | None, Key("p of the difference, adjusted")]
    test_verdict: Annotated[str | None, Key("a verdict; none of the first setup")]


class SweepRow(Row, frozen=True):
    """A setup beside the first, by the clock and in CPU seconds."""

    benchmark: Annotated[str | None, Key("the benchmark")]
    setup: Annotated[str, Key("name of the setup")]
    n: RunCount
    reached: ReachedCount
    epochs_mean: EpochsMean
    tta_mean_seconds: Annotated[float | None, Key("mean time to the target", "seconds")]
    cpu_tta_mean_seconds: Annotated[float | None, Key("mean CPU time to the target", "seconds")]
    cpu_epoch_mean_seconds: Annotated[float | None, Key("mean CPU time per epoch", "seconds")]
    throughput_speedup: Annotated[float | None, Key("speedup in throughput", "ratio")]
    throughput_low: Low
    throughput_high: High
    speedup: Annotated[float | None, Key("speedup to the target", "ratio")]
    speedup_low: Low
    speedup_high: High
    epochs_ratio: Annotated[float | None, Key("epochs of the first over those of this", "ratio")]
    p_adjusted: Annotated[float | None, Key("p of the speedup, adjusted")]
    verdict: Annotated[str, Key("a verdict, or `baseline`")]
    cpu_throughput_speedup: Annotated[float | None, Key("throughput in CPU seconds", "ratio")]
    cpu_tta_speedup: Annotated[float | None, Key("speedup to it in CPU seconds", "ratio")]
    cpu_tta_low: Low
    cpu_tta_high: High
    cpu_verdict: Annotated[str, Key("the same in CPU seconds")]
    unseen: UnseenRow | UnsetType = UNSET


#: What holds of a setup beside itself: nothing is estimated, so there is no interval.
_ITSELF = TimesRow(throughput_speedup=1.0, speedup=1.0, epochs_ratio=1.0, verdict="baseline")


def sweep_report(table: pl.DataFrame, setups: Mapping[str, str]) -> Report:
    """Return the report of a sweep: one row per setup, each compared with the first.

    `setups` are names for people, the baseline first, each with its system in the table of runs.
    Where all kept a test part, a second table says what they were worth on it.
    """
    sides = {name: table.filter(pl.col("system") == system) for name, system in setups.items()}
    first = next(iter(sides))
    logged = set.intersection(*(set(side["metric"].drop_nulls()) for side in sides.values()))
    tested = next((f"test_{name}" for name in sorted(logged) if f"test_{name}" in logged), "")
    rows = [_sweep_row(sides[first], side, (first, name), tested) for name, side in sides.items()]
    title = f"{rows[0].benchmark}: speedup over {first} (>1: faster; cf. Table 7)"
    tables = [fields.make_table(rows, _FIELDS, title)]
    unseen = {row.setup: row.unseen for row in rows if isinstance(row.unseen, UnseenRow)}
    if unseen:
        tables.append(_test_table(unseen, tested))
    notes = [note("clocks")]
    if any(row.reached < row.n for row in rows):
        notes.append(note("failed_runs.table"))
    # Of the wall, of all runs together.
    notes += [remark for remark in api.summary(table).notes if remark.code == "contended"]
    return Report("sweep", tuple(rows), tuple(tables), tuple(notes), _throughput_sentence(rows))


#: What a comparison by the wall says, by the same names.
_BY_THE_WALL = (
    "throughput_speedup", "throughput_low", "throughput_high", "speedup", "speedup_low",
    "speedup_high", "epochs_ratio", "p_adjusted", "verdict",
)  # fmt: skip


def _sweep_row(
    baseline: pl.DataFrame, side: pl.DataFrame, names: tuple[str, str], tested: str
) -> SweepRow:
    speedups = cpu = _ITSELF
    if names[0] != names[1]:
        compare = partial(api.compare, baseline, side, labels=names)
        also = [tested] if tested else []
        (speedups,) = expect_kind(compare(also=also).records, TimesRow)
        (cpu,) = expect_kind(compare(unit="cpu-seconds").records, TimesRow)
    wall, cpu_row = (
        expect_kind(api.summary(side, by=["benchmark"], unit=unit).records, SummaryRow)[0]
        for unit in ("seconds", "cpu-seconds")
    )
    return SweepRow(
        benchmark=wall.keys["benchmark"],
        setup=names[1],
        n=wall.n,
        reached=wall.reached,
        epochs_mean=wall.epochs_mean,
        tta_mean_seconds=wall.tta_mean_seconds,
        cpu_tta_mean_seconds=cpu_row.tta_mean_seconds,
        cpu_epoch_mean_seconds=cpu_row.epoch_seconds_mean,
        **{name: getattr(speedups, name) for name in _BY_THE_WALL},
        cpu_throughput_speedup=cpu.throughput_speedup,
        cpu_tta_speedup=cpu.speedup,
        cpu_tta_low=cpu.speedup_low,
        cpu_tta_high=cpu.speedup_high,
        cpu_verdict=cpu.verdict,
        unseen=_test_row(side, tested, speedups) if tested else UNSET,
    )


def _verdict_text(word: str) -> Text:
    """Return a verdict in its colour; that of the first setup is none."""
    return Text(word, "plain" if word == "baseline" else Verdict(word).colour)


_FIELDS: tuple[Field[SweepRow], ...] = (
    Field(Column("setup"), lambda row: Text(row.setup)),
    fields.reached_field(),
    *fields.number_fields(SweepRow, "epochs_mean", rank=1),
    fields.number_field("mean TTA", "tta_mean_seconds", "seconds", rank=2),
    fields.number_field("throughput", "throughput_speedup", "ratio"),
    fields.number_field("TTA speedup", "speedup", "ratio", interval=True),
    Field(Column("verdict"), lambda row: _verdict_text(row.verdict)),
    fields.number_field("throughput (CPU)", "cpu_throughput_speedup", "ratio", rank=3),
    Field(
        Column("TTA speedup (CPU)", "right"),
        lambda row: Quantity(row.cpu_tta_speedup, "ratio", row.cpu_tta_low, row.cpu_tta_high),
    ),
    Field(Column("verdict (CPU)"), lambda row: _verdict_text(row.cpu_verdict)),
)


def _throughput_sentence(rows: Sequence[SweepRow]) -> str:
    """Return a sentence on the setup of the best throughput and its speedup to the target."""
    challengers = [row for row in rows[1:] if row.cpu_throughput_speedup and row.cpu_tta_speedup]
    if not challengers:
        return ""
    best = max(challengers, key=lambda row: row.cpu_throughput_speedup or 0.0)
    interval = units.interval_suffix(best.cpu_tta_low, best.cpu_tta_high)
    return (
        f"In CPU seconds {best.setup} trains {best.cpu_throughput_speedup:.2f} times as fast "
        f"as {rows[0].setup}; speedup to the target {best.cpu_tta_speedup:.2f}{interval}: "
        f"{best.cpu_verdict}."
    )


def _test_row(side: pl.DataFrame, metric: str, comparison: TimesRow) -> UnseenRow:
    """Return the quality of a setup's runs on the test part, and its difference from the first.

    `comparison` is the row against the first setup; the first has an empty one.
    """
    runs = api.run_table(side)
    deciding, test = (
        at_stop(side.lazy(), runs, name)["quality"]
        for name in (metric.removeprefix("test_"), metric)
    )
    keys = ("difference", "difference_low", "difference_high", "p_adjusted", "verdict")
    gap: dict[str, Any] = {
        f"test_{key}": comparison.also.keys.get(f"{metric}_{key}") for key in keys
    }
    return UnseenRow(
        deciding_mean=mean_of(deciding),
        test_n=test.len(),
        test_mean=mean_of(test),
        test_sd=cast("float | None", test.std()),
        **gap,
    )


def _test_table(setups: Mapping[str, UnseenRow], metric: str) -> Table:
    """Return a table with the test quality of each setup, and its difference from the first."""
    first, *_ = setups.values()
    spreads = [row.test_sd for row in setups.values() if row.test_sd]
    digits = units.digits_for([], min(spreads, default=None), first.test_mean)
    title = (
        f"{metric} at the end of the runs, on data that were not used to stop them (cf. Table 5)"
    )
    interval = f"difference [{percent_text(CONFIDENCE)} CI]"
    numbers = ("runs", metric.removeprefix("test_"), f"{metric} ±sd", interval)
    columns = (Column("setup"), *(Column(name, "right") for name in numbers), Column("verdict"))
    lines = []
    for setup, row in setups.items():
        gap = (row.test_difference, row.test_difference_low, row.test_difference_high)
        texts = (
            setup,
            str(row.test_n),
            digits.mean(row.deciding_mean, None),
            digits.mean(row.test_mean, row.test_sd),
            digits.difference(*gap),
        )
        lines.append(Line((*map(Text, texts), _verdict_text(row.test_verdict or "baseline"))))
    return Table(columns, tuple(lines), title)


def table_of_logs(folders: Sequence[Path]) -> pl.DataFrame:
    """Return the table of the logs in some folders, read as `ttastats ingest` reads them."""
    with tempfile.TemporaryDirectory(prefix="ttastats-") as folder:
        file = Path(folder, "runs.parquet")
        api.ingest(list(folders), file)
        return api.read(file).collect()


def variation_remarks(table: pl.DataFrame) -> list[str]:
    """Return remarks on odd data, and before them how runs that reached varied (Table 4)."""
    runs = left_out.counted(api.run_table(table))
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
    """Return the oddities of the data in the logs of runs."""
    extras = map(parse_extra, api.run_table(table).get_column("extra"))
    return list(dict.fromkeys(extra["data_note"] for extra in extras if "data_note" in extra))
