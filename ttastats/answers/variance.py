"""Why do runs of one setup differ: epochs to the target, or time per epoch? (Table 4)"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import polars as pl

from ttastats.base.note import Note, note
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import Axis
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.fields import Field
from ttastats.report.grouping import Groups
from ttastats.report.row import Key, Row
from ttastats.stats.batches import count_by_group, groups_by_size
from ttastats.stats.decompose import variance_shares
from ttastats.stats.moments import as_sample, deviations, means
from ttastats.stats.results import Floats, none_for_nan


class VarianceRow(Row, frozen=True):
    """One group of runs: why the times of those that reached the target differ."""

    n: key.RunCount
    reached: key.ReachedCount
    axis: key.AxisName
    tta_mean_seconds: key.TtaMean
    tta_std_seconds: key.TtaStd
    cv: Annotated[float | None, Key("coefficient of variation", "fraction", "CV")]
    with_epochs: Annotated[int, Key("runs that reached the target and log epochs", "runs")]
    epochs_mean: Annotated[
        float | None, Key("mean epochs to the target", "epochs", "epochs", std="epochs_std")
    ]
    epochs_std: Annotated[float | None, Key("their standard deviation", "epochs")]
    epoch_seconds_mean: key.EpochSecondsMean
    epoch_seconds_std: Annotated[float | None, Key("its standard deviation", "axis")]
    cv_ratio: Annotated[
        float | None,
        Key("CV of the epochs over the CV of the time per epoch", "number", "CV ratio"),
    ]
    share_epochs: Annotated[
        float | None,
        Key(
            "share of the variance of log time that is due to epochs",
            "fraction",
            "share of epochs [95%]",
            interval=True,
        ),
    ]
    share_epochs_low: key.Low
    share_epochs_high: key.High
    share_withheld: Annotated[
        str | None, Key("code of the reason why there is no such share, or no interval")
    ]
    share_epoch_time: Annotated[
        float | None, Key("the other share, due to the time per epoch", "fraction")
    ]
    left_out: key.LeftOutKeys = key.LeftOutKeys()


def report(runs: pl.DataFrame, by: Sequence[str] = grouping.ENTRY, *, ddof: int = 1) -> Report:
    """Return the report of variance shares; failed runs take no part, with a note on them.

    `ddof` is 1 for the sample standard deviation, 0 for the population's. Shares have
    intervals from 10 runs on.
    """
    rows = _variance_rows(grouping.group_runs(runs, by), ddof)
    axis = axes.of(runs)
    shown: list[Field[VarianceRow]] = [fields.reached_field()]
    if axis.progress:  # what counts training itself has no part that is time
        shown += [
            fields.number_field(axis.mean, "tta_mean_seconds", axis.unit, std="tta_std_seconds"),
            *fields.number_fields(VarianceRow, "cv"),
        ]
    else:
        shown += [
            *fields.number_fields(VarianceRow, "epochs_mean"),
            fields.number_field(
                axis.per_epoch, "epoch_seconds_mean", axis.unit, std="epoch_seconds_std"
            ),
            *fields.number_fields(VarianceRow, "cv_ratio"),
            *fields.number_fields(VarianceRow, "share_epochs", rank=1),
            fields.number_field(
                f"share of {_per_epoch(axis)}", "share_epoch_time", "fraction", rank=2
            ),
        ]
    return grouping.group_report(
        "variance", rows, shown, runs, by, _variance_notes(rows, by, ddof, axis)
    )


#: Notes on groups without a share of the variance, or without an interval of it.
_WITHHELD = (
    "few_runs.share", "parts_cancel.share", "few_runs.interval", "unusual_run.interval",
    "no_information.interval",
)  # fmt: skip


def _per_epoch(axis: Axis) -> str:
    return "time per epoch" if axis.is_time else axis.per_epoch


#: Numbers of a row that are computed for all groups of one size together: of the times, of epochs.
_OF_TIMES = ("tta_mean_seconds", "tta_std_seconds", "cv")
_OF_EPOCHS = (
    "epochs_mean", "epochs_std", "epoch_seconds_mean", "epoch_seconds_std", "cv_ratio",
    "share_epochs", "share_epochs_low", "share_epochs_high", "share_epoch_time",
)  # fmt: skip


def _variance_rows(groups: Groups, ddof: int) -> list[VarianceRow]:
    """Return the row of each group; None where epochs are unknown or constant."""
    runs, sizes, axis = groups.runs, groups.sizes, axes.of(groups.runs)
    numbers = {name: np.full(sizes.size, np.nan) for name in (*_OF_TIMES, *_OF_EPOCHS)}
    withheld = np.full(sizes.size, None, dtype=object)
    reached = runs["reached"]
    times = runs["tta_seconds"].filter(reached).to_numpy()
    solved = count_by_group(reached.to_numpy(), sizes)
    for places, of_runs in groups_by_size(solved):
        some = as_sample(times[of_runs].ravel()).reshape(of_runs.shape)
        spread = deviations(some, ddof)
        for name, values in zip(
            _OF_TIMES, (means(some), spread, spread / means(some)), strict=True
        ):
            numbers[name][places] = values
    logged = reached & runs["epochs"].is_not_null()
    with_epochs = count_by_group(logged.to_numpy(), sizes)
    times, epochs, per_epoch = (
        runs[name].filter(logged).to_numpy() for name in ("tta_seconds", "epochs", "epoch_seconds")
    )
    for places, of_runs in groups_by_size(with_epochs):
        both = epochs[of_runs], per_epoch[of_runs]
        found = [each for values in both for each in (means(values), _deviations(values, ddof))]
        if not axis.progress and of_runs.shape[1] > 1:
            parts = variance_shares(times[of_runs], both[0])
            found += [parts.cv_ratio, parts.shares[0], parts.low[0], parts.high[0], parts.shares[1]]
            withheld[places] = parts.withheld
        for name, values in zip(_OF_EPOCHS, found, strict=False):
            numbers[name][places] = values
    columns: dict[str, Any] = {name: none_for_nan(values) for name, values in numbers.items()}
    columns |= {
        "n": sizes.tolist(),
        "reached": solved.tolist(),
        "with_epochs": with_epochs.tolist(),
        "share_withheld": withheld.tolist(),
    }
    return [
        VarianceRow(
            keys=grouping.key_values(keys),
            axis=axis.name,
            **{name: values[place] for name, values in columns.items()},
        )
        for place, keys in enumerate(groups.keys.rows(named=True))
    ]


def _deviations(values: Floats, ddof: int) -> Floats:
    """Return the standard deviation of each group; None of one value unless ddof is 0."""
    return np.zeros(len(values)) if values.shape[1] == 1 and not ddof else deviations(values, ddof)


def _variance_notes(
    rows: Sequence[VarianceRow], by: Sequence[str], ddof: int, axis: Axis
) -> Iterator[Note]:
    of_ddof = " (ddof 0)" if ddof == 0 else ""
    if axis.progress:
        yield note("no_throughput.variance", ddof=of_ddof, to_target=axis.to_target)
        return
    whole, per_epoch = "TTA" if axis.is_time else axis.noun, _per_epoch(axis)
    yield note("definitions.variance", ddof=of_ddof, per_epoch=per_epoch, whole=whole)
    if any(row.epochs_std == 0 for row in rows):
        yield note("constant_epochs.variance")
    groups: dict[str, list[str]] = {}
    for name, row in zip(grouping.row_names(rows, by), rows, strict=True):
        missing = "share" if row.share_epochs is None else "interval"
        groups.setdefault(f"{row.share_withheld}.{missing}", []).append(name)
    yield from (note(key, names=groups[key]) for key in _WITHHELD if key in groups)
    if any(row.reached > row.with_epochs for row in rows):
        yield note("unknown_epochs")
