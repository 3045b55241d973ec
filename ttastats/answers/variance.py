"""Why do runs of one setup differ: epochs to the target, or time per epoch? (Table 4)"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from ttastats.base.note import Note, note
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import Axis
from ttastats.report import fields, grouping
from ttastats.report.answer import Report
from ttastats.report.fields import Field
from ttastats.stats.decompose import decompose_variance
from ttastats.stats.moments import coefficient_of_variation, standard_deviation
from ttastats.stats.sample import mean_interval


def report(runs: pl.DataFrame, by: Sequence[str] = grouping.ENTRY, *, ddof: int = 1) -> Report:
    """Give the report of a table of runs; runs that failed are not part of it, and said.

    `ddof` is 1 for the sample standard deviation, 0 for the population's. Shares have
    intervals from 10 runs on.
    """
    rows = [
        grouping.key_row(keys) | numbers(group, ddof) for keys, group in grouping.groups(runs, by)
    ]
    axis = axes.of(runs)
    shown = [*fields.keys(grouping.shown_keys(rows, by)), fields.reached()]
    if axis.progress:
        shown += _of_progress(axis)
        notes: Iterable[Note] = [
            note("no_throughput.variance", ddof=_of_ddof(ddof), to_target=axis.to_target)
        ]
    else:
        shown += _of_parts(axis)
        notes = _notes(rows, by, ddof, axis)
    return grouping.answer("variance", rows, shown, runs, by, notes)


#: Notes on groups without a share of the variance, or without an interval of it.
_WITHHELD = (
    "few_runs.share", "parts_cancel.share", "few_runs.interval", "unusual_run.interval",
    "no_information.interval",
)  # fmt: skip


def _of_ddof(ddof: int) -> str:
    return " (ddof 0)" if ddof == 0 else ""


def _per_epoch(axis: Axis) -> str:
    return "time per epoch" if axis.is_time else axis.per_epoch


def _of_parts(axis: Axis) -> list[Field]:
    return [
        fields.number("epochs", "epochs_mean", std="epochs_std"),
        fields.number(axis.per_epoch, "epoch_seconds_mean", axis.unit, std="epoch_seconds_std"),
        fields.number("CV ratio", "cv_ratio", "number"),
        fields.number("share of epochs [95%]", "share_epochs", "fraction", interval=True, rank=1),
        fields.number(f"share of {_per_epoch(axis)}", "share_epoch_time", "fraction", rank=2),
    ]


def _of_progress(axis: Axis) -> list[Field]:
    """Give the spread of what counts training itself, which has no part that is time."""
    return [
        fields.number(axis.mean, "tta_mean_seconds", axis.unit, std="tta_std_seconds"),
        fields.number("CV", "cv", "fraction"),
    ]


def numbers(group: pl.DataFrame, ddof: int) -> dict[str, Any]:
    """Give the numbers of one group; None where epochs are unknown or did not vary."""
    solved = group.filter(pl.col("reached"), pl.col("epochs").is_not_null())
    epochs, per_epoch = solved.get_column("epochs"), solved.get_column("epoch_seconds")
    constant = solved.height > 1 and epochs.n_unique() == 1  # the formula may leave 1e-16
    axis = axes.of(group)
    amounts = group.filter("reached").get_column("tta_seconds").to_numpy()
    row: dict[str, Any] = {
        "n": group.height,
        "reached": group.get_column("reached").sum(),
        "axis": axis.name,
        "tta_mean_seconds": mean_interval(amounts).estimate,
        "tta_std_seconds": standard_deviation(amounts, ddof),
        "cv": coefficient_of_variation(amounts, ddof=ddof),
        "with_epochs": solved.height,
        "epochs_mean": epochs.mean(),
        "epochs_std": 0.0 if constant else epochs.std(ddof=ddof),
        "epoch_seconds_mean": per_epoch.mean(),
        "epoch_seconds_std": per_epoch.std(ddof=ddof),
    }
    parts = None
    if solved.height > 1 and not axis.progress:
        parts = decompose_variance(solved.get_column("tta_seconds").to_numpy(), epochs.to_numpy())
    return row | {
        "cv_ratio": parts.cv_ratio if parts else None,
        "share_epochs": parts.share_epochs.estimate if parts else None,
        "share_epochs_low": parts.share_epochs.low if parts else None,
        "share_epochs_high": parts.share_epochs.high if parts else None,
        "share_withheld": parts.share_epochs.withheld if parts else None,
        "share_epoch_time": parts.share_epoch_time.estimate if parts else None,
    }


def _notes(
    rows: Sequence[Mapping[str, Any]], by: Sequence[str], ddof: int, axis: Axis
) -> Iterator[Note]:
    whole = "TTA" if axis.is_time else axis.noun
    per_epoch = _per_epoch(axis)
    yield note("definitions.variance", ddof=_of_ddof(ddof), per_epoch=per_epoch, whole=whole)
    if any(row["epochs_std"] == 0 for row in rows):
        yield note("constant_epochs.variance")
    groups: dict[str, list[str]] = {}
    for name, row in zip(grouping.row_names(rows, by), rows, strict=True):
        missing = "share" if row["share_epochs"] is None else "interval"
        groups.setdefault(f"{row['share_withheld']}.{missing}", []).append(name)
    yield from (note(key, names=groups[key]) for key in _WITHHELD if key in groups)
    if any(row["reached"] > row["with_epochs"] for row in rows):
        yield note("unknown_epochs")
