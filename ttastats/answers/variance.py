"""Why do runs of one setup differ: epochs to the target, or time per epoch? (Table 4)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import polars as pl

from ttastats.base.note import Note, note
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import Axis
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.fields import Field
from ttastats.report.row import Key, Row
from ttastats.stats.decompose import decompose_variance
from ttastats.stats.means import mean_interval
from ttastats.stats.moments import coefficient_of_variation, standard_deviation


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
    """Return the report of a table of runs; runs that failed are not part of it, and said.

    `ddof` is 1 for the sample standard deviation, 0 for the population's. Shares have
    intervals from 10 runs on.
    """
    rows = [_row_of(keys, group, ddof) for keys, group in grouping.groups(runs, by)]
    axis = axes.of(runs)
    shown: list[Field[VarianceRow]] = [
        *fields.keys(grouping.shown_keys(rows, by)),
        fields.reached(),
    ]
    if axis.progress:  # what counts training itself has no part that is time
        shown += [
            fields.number(axis.mean, "tta_mean_seconds", axis.unit, std="tta_std_seconds"),
            *fields.of(VarianceRow, "cv"),
        ]
    else:
        shown += [
            *fields.of(VarianceRow, "epochs_mean"),
            fields.number(axis.per_epoch, "epoch_seconds_mean", axis.unit, std="epoch_seconds_std"),
            *fields.of(VarianceRow, "cv_ratio"),
            *fields.of(VarianceRow, "share_epochs", rank=1),
            fields.number(f"share of {_per_epoch(axis)}", "share_epoch_time", "fraction", rank=2),
        ]
    return grouping.answer("variance", rows, shown, runs, by, _notes(rows, by, ddof, axis))


#: Notes on groups without a share of the variance, or without an interval of it.
_WITHHELD = (
    "few_runs.share", "parts_cancel.share", "few_runs.interval", "unusual_run.interval",
    "no_information.interval",
)  # fmt: skip


def _per_epoch(axis: Axis) -> str:
    return "time per epoch" if axis.is_time else axis.per_epoch


def _row_of(keys: Mapping[str, Any], group: pl.DataFrame, ddof: int) -> VarianceRow:
    """Return the numbers of one group; None where epochs are unknown or did not vary."""
    solved = group.filter(pl.col("reached"), pl.col("epochs").is_not_null())
    epochs, per_epoch = solved.get_column("epochs"), solved.get_column("epoch_seconds")
    constant = solved.height > 1 and epochs.n_unique() == 1  # the formula may leave 1e-16
    axis = axes.of(group)
    amounts = group.filter("reached").get_column("tta_seconds").to_numpy()
    parts = None
    if solved.height > 1 and not axis.progress:
        parts = decompose_variance(solved.get_column("tta_seconds").to_numpy(), epochs.to_numpy())
    return VarianceRow(
        keys=grouping.key_row(keys),
        n=group.height,
        reached=amounts.size,
        axis=axis.name,
        tta_mean_seconds=mean_interval(amounts).estimate,
        tta_std_seconds=standard_deviation(amounts, ddof),
        cv=coefficient_of_variation(amounts, ddof=ddof),
        with_epochs=solved.height,
        epochs_mean=grouping.mean_of(epochs),
        epochs_std=0.0 if constant else grouping.std_of(epochs, ddof),
        epoch_seconds_mean=grouping.mean_of(per_epoch),
        epoch_seconds_std=grouping.std_of(per_epoch, ddof),
        cv_ratio=parts.cv_ratio if parts else None,
        share_epochs=parts.share_epochs.estimate if parts else None,
        share_epochs_low=parts.share_epochs.low if parts else None,
        share_epochs_high=parts.share_epochs.high if parts else None,
        share_withheld=parts.share_epochs.withheld if parts else None,
        share_epoch_time=parts.share_epoch_time.estimate if parts else None,
    )


def _notes(rows: Sequence[VarianceRow], by: Sequence[str], ddof: int, axis: Axis) -> Iterator[Note]:
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
