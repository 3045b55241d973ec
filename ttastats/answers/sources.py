"""Where does the spread of runs come from: sessions, hosts, seeds, or the runs themselves?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import polars as pl

from ttastats.answers.knobs import logs_of, part_title
from ttastats.base import units
from ttastats.base.errors import raise_if
from ttastats.base.note import Note, note
from ttastats.outcomes import axis as axes
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Column, PValue, Text
from ttastats.report.fields import Field
from ttastats.report.row import Key, Row
from ttastats.sides import blocking
from ttastats.stats import sources as model

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
    share: Annotated[float | None, Key("share of the variance of the log", "fraction")]
    share_low: key.Low
    share_high: key.High
    log_std: Annotated[float | None, Key("standard deviation of the log it adds", "fraction")]
    p: Annotated[float | None, Key("p of no variance from this source")]


def report(runs: pl.DataFrame, by: Sequence[str], sources: Sequence[str]) -> Report:
    """Return the variance that each source adds to the runs of each group."""
    values = {
        f"source {name}": blocking.values(runs, name, "--sources").cast(pl.String)
        for name in sources
    }
    groups = [*grouping.group_runs(runs.with_columns(**values), by)]
    several = f"a group has more than {_MOST} runs"
    raise_if(any(each.height > _MOST for _, each in groups), several, "--sources", "Add --where.")
    answers = [_group_rows(keys, group, sources) for keys, group in groups]
    rows = [row for each, _ in answers for row in each]
    names = grouping.row_names([keys for keys, _ in groups], by)
    notes, sentences = [*grouping.group_notes(runs, by)], []
    for name, (of_group, more) in zip(names, answers, strict=True):
        about = name if len(groups) > 1 else ""
        notes += [each.prefixed(about) for each in more]
        of_time = [row for row in of_group if row.part == "tta" and row.share is not None]
        if of_time:
            shares = units.join_names([f"{row.source} {row.share:.0%}" for row in of_time])
            text = f"Variance of {_part_text(of_time[0])}: {shares}."
            sentences.append(f"{about}: {text}" if about else text)
    shown: list[Field[SourceRow]] = [
        *fields.key_fields(grouping.shown_keys(rows, by)),
        Field(Column("part"), lambda row: Text(_part_text(row))),
        *fields.key_fields(["source"], heads=False),
        fields.reached_field(),
        fields.number_field("values", "values"),
        fields.number_field("share of variance [95%]", "share", "fraction", interval=True),
        fields.number_field("std of log", "log_std", "fraction", rank=1),
        Field(Column("p", "right"), lambda row: PValue(row.p)),
    ]
    notes.append(note("definitions.sources"))
    table = fields.make_table(rows, shown, "where the variance comes from")
    text = " ".join(sentences)
    return Report("variance", tuple(rows), (table,), tuple(notes), text, by=grouping.row_keys(by))


def _group_rows(
    keys: Mapping[str, Any], group: pl.DataFrame, sources: Sequence[str]
) -> tuple[list[SourceRow], list[Note]]:
    """Return the rows of a group, and its notes."""
    known = group.drop_nulls([f"source {name}" for name in sources])
    runs = known.filter(pl.col("reached") & pl.col("tta_seconds").is_not_null())
    unknown = group.height - known.height
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
    apart = model.separable(labels, fixed)
    if missing := [name for name, each in zip(sources, apart, strict=True) if not each]:
        notes.append(note("no_variance", names=missing, n=len(missing)))
    named = [(n, each) for n, each, ok in zip(sources, labels, apart, strict=True) if ok]
    names, used = [*(name for name, _ in named), "run"], [each for _, each in named]
    counts = [*(int(np.unique(each).size) for each in used), runs.height]
    axis, reached = axes.of(group), int(group["reached"].sum())
    logs = logs_of(runs, axis) if runs.height else {}
    rows = [
        SourceRow(
            name, part, group.height, reached, count, axis.name,
            each.share, each.low, each.high, each.std, each.p, keys=grouping.key_values(keys),
        )
        for part, y in logs.items()
        for name, count, each in zip(
            names, counts, model.variance_parts(y, used, fixed) if used else [model.Part()],
            strict=True
        )
    ]  # fmt: skip
    return rows, notes


def _part_text(row: SourceRow) -> str:
    return part_title(row.part, axes.AXES[row.axis])
