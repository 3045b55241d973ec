"""Why do runs of one set-up differ: epochs to the target, or time per epoch? (Table 4)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from ttastats import axis as axes
from ttastats.axis import Axis
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Note, Quantity, Reached, Row, Table
from ttastats.report.grouping import (
    ENTRY,
    common_title,
    group_notes,
    groups,
    key_cells,
    key_columns,
    key_row,
    row_keys,
    shown_keys,
)
from ttastats.stats.decompose import decompose_variance
from ttastats.stats.moments import coefficient_of_variation
from ttastats.stats.sample import summarise


def report(
    runs: pl.DataFrame, by: Sequence[str] = ENTRY, *, ddof: int = 1, seed: int = 0
) -> Report:
    """Give the report of a table of runs; runs that failed are not part of it, and said.

    `ddof` is 1 for the sample standard deviation, 0 for the population's. `seed` is that of the
    bootstrap intervals, which are given from 10 runs on.
    """
    rng = np.random.default_rng(seed)
    rows = [key_row(keys) | numbers(group, ddof, rng) for keys, group in groups(runs, by)]
    keys = shown_keys(rows, by)
    axis = axes.of(runs)
    if axis.progress:
        return _of_progress(runs, by, rows, axis, ddof)
    columns = (
        *key_columns(keys, heads=True),
        Column("reached", "right"),
        Column("epochs", "right"),
        Column(axis.per_epoch, "right"),
        Column("CV ratio", "right"),
        Column("share of epochs [95%]", "right", rank=1),
        Column(f"share of {_per_epoch(axis)}", "right", rank=2),
    )
    table = Table(columns, tuple(_row(row, keys) for row in rows), common_title(rows, by))
    notes = (*group_notes(runs, by), *_notes(rows, ddof, axis))
    return Report("variance", tuple(rows), (table,), notes, by=row_keys(by, ENTRY))


def _per_epoch(axis: Axis) -> str:
    return "time per epoch" if axis.is_time else axis.per_epoch


def _of_progress(
    runs: pl.DataFrame,
    by: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    axis: Axis,
    ddof: int,
) -> Report:
    """Give the spread of what counts training itself, which has no part that is time."""
    keys = shown_keys(rows, by)
    columns = (
        *key_columns(keys, heads=True),
        Column("reached", "right"),
        Column(axis.mean, "right"),
        Column("CV", "right"),
    )
    body = [
        Row(
            (
                *key_cells(row, keys),
                Reached(row["reached"], row["n"]),
                Quantity(
                    row["tta_mean_seconds"],
                    axis.unit,
                    spread=row["tta_std_seconds"],
                    spread_is_std=True,
                ),
                Quantity(row["cv"], "fraction"),
            )
        )
        for row in rows
    ]
    text = (
        f"± is one standard deviation{' (ddof 0)' if ddof == 0 else ''}. {axis.to_target} have no "
        "time per epoch in them, so there is nothing to share out."
    )
    table = Table(columns, tuple(body), common_title(rows, by))
    notes = (*group_notes(runs, by), Note("no_throughput", text))
    return Report("variance", tuple(rows), (table,), notes, by=row_keys(by, ENTRY))


def numbers(group: pl.DataFrame, ddof: int, rng: np.random.Generator) -> dict[str, Any]:
    """Give the numbers of one group; None where epochs are unknown or did not vary."""
    solved = group.filter(pl.col("reached"), pl.col("epochs").is_not_null())
    epochs, per_epoch = solved.get_column("epochs"), solved.get_column("epoch_seconds")
    constant = solved.height > 1 and epochs.n_unique() == 1  # the formula may leave 1e-16
    axis = axes.of(group)
    amounts = group.filter("reached").get_column("tta_seconds").to_numpy()
    totals = summarise(amounts, ddof=ddof)
    row: dict[str, Any] = {
        "n": group.height,
        "reached": group.get_column("reached").sum(),
        "axis": axis.name,
        "tta_mean_seconds": totals.mean.estimate,
        "tta_std_seconds": totals.standard_deviation,
        "cv": coefficient_of_variation(amounts, ddof=ddof),
        "with_epochs": solved.height,
        "epochs_mean": epochs.mean(),
        "epochs_std": 0.0 if constant else epochs.std(ddof=ddof),
        "epoch_seconds_mean": per_epoch.mean(),
        "epoch_seconds_std": per_epoch.std(ddof=ddof),
    }
    empty = (
        "cv_ratio",
        "share_epochs",
        "share_epochs_low",
        "share_epochs_high",
        "share_epoch_time",
    )
    if solved.height < 2 or axis.progress:
        return row | dict.fromkeys(empty)
    parts = decompose_variance(
        solved.get_column("tta_seconds").to_numpy(), epochs.to_numpy(), rng=rng
    )
    share = parts.share_epochs
    known = (
        parts.cv_ratio, share.estimate, share.low, share.high, parts.share_epoch_time.estimate,
    )  # fmt: skip
    return row | dict(zip(empty, known, strict=True))


def _row(row: Mapping[str, Any], keys: Sequence[str]) -> Row:
    return Row(
        (
            *key_cells(row, keys),
            Reached(row["reached"], row["n"]),
            Quantity(row["epochs_mean"], "count", spread=row["epochs_std"], spread_is_std=True),
            Quantity(
                row["epoch_seconds_mean"],
                axes.of_row(row).unit,
                spread=row["epoch_seconds_std"],
                spread_is_std=True,
            ),
            Quantity(row["cv_ratio"], "number"),
            Quantity(
                row["share_epochs"], "fraction", row["share_epochs_low"], row["share_epochs_high"]
            ),
            Quantity(row["share_epoch_time"], "fraction"),
        )
    )


def _notes(rows: Sequence[Mapping[str, Any]], ddof: int, axis: Axis) -> list[Note]:
    whole = "TTA" if axis.is_time else axis.noun
    text = (
        "± is one standard deviation"
        + (" (ddof 0)" if ddof == 0 else "")
        + f"; CV ratio = CV(epochs) / CV({_per_epoch(axis)}); shares of Var(log {whole}) sum to 1. "
        "Only runs that reached the target are used."
    )
    notes = [Note("definitions", text)]
    if any(row["epochs_std"] == 0 for row in rows):
        text = "share –: epochs did not vary in these runs, so there is nothing to share out."
        notes.append(Note("constant_epochs", text))
    if any(row["reached"] > row["with_epochs"] for row in rows):
        text = "some logs do not tell epochs: those runs are left out here."
        notes.append(Note("unknown_epochs", text))
    return notes
