"""Why do runs of one setup differ: epochs to the target, or time per epoch? (Table 4)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
import polars as pl

from ttastats.answers.knobs import logs_of, part_of
from ttastats.base import units
from ttastats.base.codes import Note, note, wording
from ttastats.base.errors import raise_if
from ttastats.base.percentages import percent_text
from ttastats.outcomes import aims
from ttastats.outcomes import axis as axes
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Column, PValue, Text
from ttastats.report.fields import Field
from ttastats.report.grouping import Groups
from ttastats.report.row import Key, Number, Row
from ttastats.sides import blocking
from ttastats.stats import sources as model
from ttastats.stats.moments import as_sample, count_by_group, deviations, groups_by_size, means
from ttastats.stats.results import none_for_nan
from ttastats.stats.variation import variance_shares


class VarianceRow(Row, frozen=True):
    """One group of runs: why the times of those that reached the target differ."""

    n: key.RunCount
    reached: key.ReachedCount
    axis: key.AxisName
    tta_mean_seconds: key.TtaMean
    tta_std_seconds: key.TtaStd
    cv: Annotated[Number, Key("coefficient of variation", "fraction", "CV")]
    with_epochs: Annotated[int, Key("runs that reached the target and log epochs", "runs")]
    epochs_mean: Annotated[
        Number, Key("mean epochs to the target", "epochs", "epochs", std="epochs_std")
    ]
    epochs_std: Annotated[Number, Key("their standard deviation", "epochs")]
    epoch_seconds_mean: key.EpochSecondsMean
    epoch_seconds_std: Annotated[Number, Key("its standard deviation", "axis")]
    cv_ratio: Annotated[
        Number,
        Key("CV of the epochs over the CV of the time per epoch", "number", "CV ratio"),
    ]
    share_epochs: Annotated[
        Number,
        Key(
            "share of the variance of log time that is due to epochs",
            "fraction",
        ),
    ]
    share_epochs_low: key.Low
    share_epochs_high: key.High
    share_withheld: Annotated[
        str | None, Key("code of the reason why there is no such share, or no interval")
    ]
    share_epoch_time: Annotated[
        Number, Key("the other share, due to the time per epoch", "fraction")
    ]
    flags: Annotated[list[str], Key("`no_target`: the runs were evaluated and have no target")]
    left_out: key.LeftOutKeys = key.LeftOutKeys()


def report(
    runs: pl.DataFrame, by: Sequence[str] = grouping.ENTRY, *, ddof: int, confidence: float
) -> Report:
    """Return the report of variance shares; failed runs take no part, with a note on them.

    `ddof` is 1 for the sample standard deviation, 0 for the population's. Shares have
    intervals from 10 runs on.
    """
    rows = _variance_rows(grouping.group_runs(runs, by), ddof, confidence)
    axis = axes.axis_of(runs)
    table_fields: list[Field[VarianceRow]] = [fields.reached_field()]
    if axis.progress:  # what counts training itself has no part that is time
        table_fields += [
            fields.number_field(axis.mean, "tta_mean_seconds", axis.unit, std="tta_std_seconds"),
            *fields.number_fields(VarianceRow, "cv"),
        ]
    else:
        table_fields += [
            *fields.number_fields(VarianceRow, "epochs_mean", rank=2),
            fields.number_field(
                axis.per_epoch, "epoch_seconds_mean", axis.unit, std="epoch_seconds_std", rank=3
            ),
            *fields.number_fields(VarianceRow, "cv_ratio", rank=1),
            fields.number_field(
                f"share of epochs [{percent_text(confidence)}]",
                "share_epochs",
                "fraction",
                interval=True,
            ),
            fields.number_field(f"share of {axis.pace}", "share_epoch_time", "fraction", rank=4),
        ]
    of_ddof, notes = " (ddof 0)" if ddof == 0 else "", list[Note]()
    if any(row.flags for row in rows):
        notes.append(aims.advice(runs))
    if axis.progress:
        notes.append(note("no_throughput.variance", ddof=of_ddof, to_target=axis.to_target))
        return grouping.group_report("variance", rows, table_fields, runs, by, notes)
    time_name = "TTA" if axis.is_time else axis.noun
    notes.append(note("definitions.variance", ddof=of_ddof, per_epoch=axis.pace, whole=time_name))
    if any(row.epochs_std == 0 for row in rows):
        notes.append(note("constant_epochs.variance"))
    names_by_code: dict[str, list[str]] = {}
    for name, row in zip(grouping.row_names(rows, by), rows, strict=True):
        lack = "share" if row.share_epochs is None else "interval"
        names_by_code.setdefault(f"{row.share_withheld}.{lack}", []).append(name)
    notes += [note(code, names=names_by_code[code]) for code in _WITHHELD if code in names_by_code]
    if any(row.reached > row.with_epochs for row in rows):
        notes.append(note("unknown_epochs"))
    answer = _answer(rows, time_name)
    return grouping.group_report(
        "variance",
        rows,
        table_fields,
        runs,
        by,
        notes,
        sentence=answer,
        aside=_reason_without_numbers,
    )


def _reason_without_numbers(row: VarianceRow) -> str:
    """Return the reason for a row without numbers."""
    if row.with_epochs:
        return ""
    if row.flags:
        return "no target given"
    return "no epochs to the target logged" if row.reached else "no run reached the target"


def _answer(rows: Sequence[VarianceRow], time: str) -> str:
    """Return the share of epochs in the variance, of one row or over all."""
    shares = sorted(
        ((row.share_epochs, row) for row in rows if row.share_epochs is not None),
        key=lambda pair: pair[0],
    )
    if not shares:
        return wording("variance_none")
    texts = [units.percent(share) for share, _ in shares]
    if len(shares) > 1:
        middle = texts[len(texts) // 2]
        return wording("variance_several", least=texts[0], most=texts[-1], middle=middle,
                       n=len(shares), time=time)  # fmt: skip
    (_, row), limits = shares[0], ""
    if row.share_epochs_low is not None and row.share_epochs_high is not None:
        low, high = map(units.percent, (row.share_epochs_low, row.share_epochs_high))
        limits = f" [{low}, {high}]"
    return wording("variance_one", share=texts[0], limits=limits, n=row.with_epochs, time=time)


#: Notes on groups without a share of the variance, or without an interval of it.
_WITHHELD = (
    "few_runs.share", "parts_cancel.share", "few_runs.interval", "unusual_run.interval",
    "no_information.interval",
)  # fmt: skip


#: Numbers of a row that are computed for all groups of one size together: of the times, of epochs.
_OF_TIMES = ("tta_mean_seconds", "tta_std_seconds", "cv")
_OF_EPOCHS = (
    "epochs_mean", "epochs_std", "epoch_seconds_mean", "epoch_seconds_std", "cv_ratio",
    "share_epochs", "share_epochs_low", "share_epochs_high", "share_epoch_time",
)  # fmt: skip


def _variance_rows(groups: Groups, ddof: int, confidence: float) -> list[VarianceRow]:
    runs, sizes, axis = groups.runs, groups.sizes, axes.axis_of(groups.runs)
    time_numbers, epoch_numbers = (
        np.full((len(names), sizes.size), np.nan) for names in (_OF_TIMES, _OF_EPOCHS)
    )
    withheld = np.full(sizes.size, None, dtype=object)
    reached = runs["reached"]
    times = runs["tta_seconds"].filter(reached).to_numpy()
    n_reached = count_by_group(reached.to_numpy(), sizes)
    for group_numbers, of_runs in groups_by_size(n_reached):
        group_times = as_sample(times[of_runs].ravel()).reshape(of_runs.shape)
        spread = deviations(group_times, ddof)
        time_numbers[:, group_numbers] = means(group_times), spread, spread / means(group_times)
    logged = reached & runs["epochs"].is_not_null()
    with_epochs = count_by_group(logged.to_numpy(), sizes)
    times, epochs, per_epoch = (
        runs[name].filter(logged).to_numpy() for name in ("tta_seconds", "epochs", "epoch_seconds")
    )
    for group_numbers, of_runs in groups_by_size(with_epochs):
        epoch_values = epochs[of_runs], per_epoch[of_runs]
        alone = of_runs.shape[1] == 1 and ddof == 0  # a single run does not deviate
        numbers = []
        for values in epoch_values:
            numbers += [means(values), np.zeros(len(values)) if alone else deviations(values, ddof)]
        if not axis.progress and of_runs.shape[1] > 1:
            parts = variance_shares(times[of_runs], epoch_values[0], confidence)
            numbers += [
                parts.cv_ratio,
                parts.shares[0],
                parts.low[0],
                parts.high[0],
                parts.shares[1],
            ]
            withheld[group_numbers] = parts.withheld
        epoch_numbers[: len(numbers), group_numbers] = numbers
    columns: dict[str, Any] = {
        **dict(zip(_OF_TIMES, map(none_for_nan, time_numbers), strict=True)),
        **dict(zip(_OF_EPOCHS, map(none_for_nan, epoch_numbers), strict=True)),
        "n": sizes.tolist(),
        "reached": n_reached.tolist(),
        "with_epochs": with_epochs.tolist(),
        "share_withheld": withheld.tolist(),
    }
    return [
        VarianceRow(
            keys=grouping.key_values(keys),
            axis=axis.name,
            flags=["no_target"] if not n and aims.lack_target(groups.frames[index]) else [],
            **{name: values[index] for name, values in columns.items()},
        )
        for index, (keys, n) in enumerate(zip(groups.keys.rows(named=True), n_reached, strict=True))
    ]


#: Runs of a group: the time of a fit grows with the square of their number, 5 s at this one.
_MOST = 1000


class SourceRow(Row, frozen=True):
    """How much of the variance of one part of the time comes from one source (`--sources`)."""

    source: Annotated[str, Key("what some runs share, or `run`: what is left")]
    part: Annotated[str, Key("`tta`, what training is counted in, or the time per unit of that")]
    n: key.RunCount
    reached: key.ReachedCount
    values: Annotated[int, Key("values of the source in the runs that reached the target")]
    axis: key.AxisName
    share: Annotated[Number, Key("share of the variance of the log", "fraction")]
    share_low: key.Low
    share_high: key.High
    log_std: Annotated[Number, Key("standard deviation of the log it adds", "fraction")]
    p: Annotated[Number, Key("p of no variance from this source")]


def report_sources(
    runs: pl.DataFrame, by: Sequence[str], sources: Sequence[str], confidence: float
) -> Report:
    """Return the contributions of sources to the variance in each group."""
    values = {
        f"source {name}": blocking.values(runs, name, "--sources").cast(pl.String)
        for name in sources
    }
    groups = grouping.named_groups(runs.with_columns(**values), by)
    problem = f"a group has more than {_MOST} runs"
    raise_if(
        any(group.height > _MOST for *_, group in groups), problem, "--sources", "Add --where."
    )
    rows: list[SourceRow] = []
    notes, sentences = [*grouping.group_notes(runs, by)], []
    for name, keys, group in groups:
        group_rows, group_notes = _group_rows(keys, group, sources, confidence)
        rows += group_rows
        notes += [remark.prefixed(name) for remark in group_notes]
        if of_time := [row for row in group_rows if row.part == "tta" and row.share is not None]:
            shares = units.join_names([f"{row.source} {row.share:.0%}" for row in of_time])
            text = f"Variance of {part_of(of_time[0])}: {shares}."
            sentences.append(f"{name}: {text}" if name else text)
    table_fields: list[Field[SourceRow]] = [
        *fields.key_fields(grouping.shown_keys(rows, by)),
        Field(Column("part"), lambda row: Text(part_of(row))),
        *fields.key_fields(["source"], heads=False),
        fields.reached_field(),
        fields.number_field("values", "values"),
        fields.number_field(
            f"share of variance [{percent_text(confidence)}]", "share", "fraction", interval=True
        ),
        fields.number_field("std of log", "log_std", "fraction", rank=1),
        Field(Column("p", "right"), lambda row: PValue(row.p)),
    ]
    notes.append(note("definitions.sources"))
    table = fields.make_table(rows, table_fields, "where the variance comes from")
    text = " ".join(sentences)
    return Report("variance", tuple(rows), (table,), tuple(notes), text, by=grouping.row_keys(by))


def _group_rows(
    keys: Mapping[str, Any], group: pl.DataFrame, sources: Sequence[str], confidence: float
) -> tuple[list[SourceRow], list[Note]]:
    known_runs = group.drop_nulls([f"source {name}" for name in sources])
    runs = known_runs.filter(pl.col("reached") & pl.col("tta_seconds").is_not_null())
    unknown = group.height - known_runs.height
    notes = [note("unknown_setting", n=unknown)] if unknown else []
    labels = [
        np.unique(runs[f"source {name}"].to_numpy().astype(object), return_inverse=True)[1]
        for name in sources
    ]
    # Entries that are pooled have means of their own.
    names_of_entry = pl.col(*grouping.ENTRY).cast(pl.String).fill_null("")
    entries = runs.select(pl.concat_str(names_of_entry, separator="\n")).to_series()
    of_entry = entries.to_numpy().astype(object)
    fixed = np.equal.outer(of_entry, np.unique(of_entry)).astype(np.float64)
    separable = model.separable(labels, fixed)
    if inseparable := [
        name for name, is_separable in zip(sources, separable, strict=True) if not is_separable
    ]:
        notes.append(note("no_variance", names=inseparable, n=len(inseparable)))
    separable_sources = [
        (n, values) for n, values, ok in zip(sources, labels, separable, strict=True) if ok
    ]
    names = [*(name for name, _ in separable_sources), "run"]
    used = [values for _, values in separable_sources]
    counts = [*(int(np.unique(values).size) for values in used), runs.height]
    axis, reached = axes.axis_of(group), int(group["reached"].sum())
    logs = logs_of(runs, axis) if runs.height else {}
    variance_parts = partial(model.variance_parts, sources=used, fixed=fixed, confidence=confidence)
    rows = [
        SourceRow(
            name, part, group.height, reached, count, axis.name,
            share.share, share.low, share.high, share.std, share.p, keys=grouping.key_values(keys),
        )
        for part, y in logs.items()
        for name, count, share in zip(
            names, counts, variance_parts(y) if used else [model.Part()],
            strict=True
        )
    ]  # fmt: skip
    return rows, notes
