"""Is a setup as good on data that did not choose where its runs stopped? The paper's Table 5.

Coleman et al. (2019), section 4.2: models that were tuned for time-to-accuracy beside others, on
images that no target was set on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from ttastats import api
from ttastats.base.units import Digits, digits_of
from ttastats.outcomes.at_budget import at_stop
from ttastats.report.cells import Cell, Column, Line, Table, Text
from ttastats.stats.verdict import Verdict

_COMPARED = ("difference", "difference_low", "difference_high", "p_adjusted", "verdict")


def metric_of(sides: Iterable[pl.DataFrame]) -> str:
    """Give the metric of the test part that all setups kept; empty where one kept none."""
    logged = set.intersection(*(set(side["metric"].drop_nulls()) for side in sides))
    return next((f"test_{name}" for name in sorted(logged) if f"test_{name}" in logged), "")


def numbers(side: pl.DataFrame, metric: str, compared: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a setup's runs that reached were worth at the end of the runs, on either part.

    Parameters
    ----------
    compared
        The row of the comparison with the baseline, which has `metric` beside times; nothing of it
        for the baseline itself.
    """
    runs = api.run_table(side)
    deciding, test = (
        at_stop(side.lazy(), runs, name)["quality"]
        for name in (metric.removeprefix("test_"), metric)
    )
    return {
        "deciding_mean": deciding.mean(),
        "test_n": test.len(),
        "test_mean": test.mean(),
        "test_sd": test.std(),
        **{f"test_{key}": compared.get(f"{metric}_{key}") for key in _COMPARED},
    }


def table(rows: Sequence[Mapping[str, Any]], metric: str) -> Table:
    """Give a line for each setup, with its difference from the first."""
    spreads = [row["test_sd"] for row in rows if row["test_sd"]]
    digits = digits_of([], min(spreads, default=None), rows[0]["test_mean"])
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
    return Table(columns, tuple(Line(_cells(row, digits)) for row in rows), title)


def _cells(row: Mapping[str, Any], digits: Digits) -> tuple[Cell, ...]:
    verdict = row["test_verdict"]
    gap = [row[f"test_difference{end}"] for end in ("", "_low", "_high")]
    return (
        Text(row["setup"]),
        Text(str(row["test_n"])),
        Text(digits.mean(row["deciding_mean"], None)),
        Text(digits.mean(row["test_mean"], row["test_sd"])),
        Text(digits.gap(*gap)),
        Text(verdict, Verdict(verdict).colour) if verdict else Text("baseline"),
    )
