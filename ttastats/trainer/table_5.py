"""Is a setup as good on data that did not choose where its runs stopped? The paper's Table 5.

Coleman et al. (2019), section 4.2: models that were tuned for time-to-accuracy beside others, on
images that no target was set on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, cast

import polars as pl

from ttastats import api
from ttastats.answers.compare.rows import TimesRow
from ttastats.base.units import digits_of
from ttastats.outcomes.at_budget import at_stop
from ttastats.report.cells import Column, Line, Table, Text
from ttastats.report.grouping import mean_of
from ttastats.report.keys import High, Low
from ttastats.report.row import Key, Row
from ttastats.stats.verdict import Verdict


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


def metric_of(sides: Iterable[pl.DataFrame]) -> str:
    """Return the metric of the test part that all setups kept; empty where one kept none."""
    logged = set.intersection(*(set(side["metric"].drop_nulls()) for side in sides))
    return next((f"test_{name}" for name in sorted(logged) if f"test_{name}" in logged), "")


def row_of(side: pl.DataFrame, metric: str, compared: TimesRow) -> UnseenRow:
    """Return what the runs of a setup were worth.

    `compared` is the row of the comparison with the first setup, which has `metric` beside times;
    nothing of it for the first itself.
    """
    runs = api.run_table(side)
    deciding, test = (
        at_stop(side.lazy(), runs, name)["quality"]
        for name in (metric.removeprefix("test_"), metric)
    )
    gap = {key.removeprefix(f"{metric}_"): value for key, value in compared.also.keys.items()}
    return UnseenRow(
        deciding_mean=mean_of(deciding),
        test_n=test.len(),
        test_mean=mean_of(test),
        test_sd=cast("float | None", test.std()),
        test_difference=gap.get("difference"),
        test_difference_low=gap.get("difference_low"),
        test_difference_high=gap.get("difference_high"),
        test_p_adjusted=gap.get("p_adjusted"),
        test_verdict=gap.get("verdict"),
    )


def table(setups: Mapping[str, UnseenRow], metric: str) -> Table:
    """Return a line for each setup, with its difference from the first."""
    first, *_ = setups.values()
    spreads = [row.test_sd for row in setups.values() if row.test_sd]
    digits = digits_of([], min(spreads, default=None), first.test_mean)
    columns = (
        Column("setup"),
        Column("runs", "right"),
        Column(metric.removeprefix("test_"), "right"),
        Column(f"{metric} ±sd", "right"),
        Column("difference [95% CI]", "right"),
        Column("verdict"),
    )
    title = (
        f"{metric} at the end of the runs, on data that were not used to stop them (cf. Table 5)"
    )
    lines = []
    for setup, row in setups.items():
        gap = (row.test_difference, row.test_difference_low, row.test_difference_high)
        verdict = row.test_verdict
        cells = (
            Text(setup),
            Text(str(row.test_n)),
            Text(digits.mean(row.deciding_mean, None)),
            Text(digits.mean(row.test_mean, row.test_sd)),
            Text(digits.gap(*gap)),
            Text(verdict, Verdict(verdict).colour) if verdict else Text("baseline"),
        )
        lines.append(Line(cells))
    return Table(columns, tuple(lines), title)
