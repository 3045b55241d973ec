"""Runs by group, in a fixed order, with what the groups have in common said once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ttastats.base import units
from ttastats.base.codes import Note, note, wording
from ttastats.base.records import TIMES_ALONE
from ttastats.outcomes import aims, axis, left_out, scales, settings
from ttastats.outcomes.left_out import counted, standing
from ttastats.report import fields
from ttastats.report.answer import Report
from ttastats.report.fields import Field
from ttastats.report.keys import LeftOutKeys
from ttastats.report.row import AnyRow, Lazy, Row
from ttastats.table import schema

BENCHMARK = schema.BENCHMARK
ENTRY = (*BENCHMARK, "entry")
#: The name of the only row, where no key has a value.
ALONE = "these runs"


def in_group_order(runs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the runs that count, sorted by grouping keys; unknown keys come last."""
    return counted(runs, by).sort(by, nulls_last=True, maintain_order=True)


class Groups(Struct, frozen=True):
    """Runs in the order of their groups; `starts` and `sizes` have shape (groups,)."""

    runs: pl.DataFrame
    keys: pl.DataFrame
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def __iter__(self) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
        """Yield the keys and the runs of each group."""
        return zip(self.keys.rows(named=True), self.frames, strict=True)

    @property
    def frames(self) -> Sequence[pl.DataFrame]:
        """Return the runs of each group."""
        return Lazy(lambda n: self.runs.slice(self.starts[n], self.sizes[n]), self.starts.size)


def group_runs(runs: pl.DataFrame, by: Sequence[str]) -> Groups:
    """Return the groups of runs that count, sorted by their keys; unknown keys come last."""
    if not by:
        counting = counted(runs)
        return Groups(
            counting, pl.DataFrame(height=1), np.zeros(1, int), np.array([counting.height])
        )
    ordered = in_group_order(runs, by)
    sizes = ordered.group_by(by, maintain_order=True).len(name="runs of a group")
    counts = sizes["runs of a group"].to_numpy().astype(np.int64)
    return Groups(ordered, sizes.select(by), np.cumsum(counts) - counts, counts)


def named_groups(
    runs: pl.DataFrame, by: Sequence[str]
) -> list[tuple[str, dict[str, Any], pl.DataFrame]]:
    """Return the name, the keys and the runs of each group; the only one has no name."""
    groups = list(group_runs(runs, by))
    several = len(groups) > 1
    names = row_names([keys for keys, _ in groups], by) if several else [""] * len(groups)
    return [(name, keys, group) for name, (keys, group) in zip(names, groups, strict=True)]


def group_report(
    command: str,
    rows: Sequence[Row],
    shown: Sequence[Field[Any]],
    runs: pl.DataFrame,
    by: Sequence[str],
    notes: Iterable[Note],
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    details: Sequence[tuple[str, ...]] = (),
    sentence: str = "",
    aside: Callable[[Any], str] = lambda _: "",
) -> Report:
    """Return the report that has a row for each group of runs, with the notes on the groups.

    The columns of the keys in `names` come before `shown`: by default, all that differ.
    """
    title = common_title(rows, by) if title is None else title
    keys = fields.key_fields(shown_keys(rows, by) if names is None else names)
    table = fields.make_table(rows, [*keys, *shown], title, details, aside)
    all_notes = (*alone_notes(runs), *group_notes(runs, by), *notes)
    keyed = row_keys(by, ENTRY)
    report = Report(command, tuple(rows), (table,), all_notes, sentence=sentence, by=keyed)
    return with_left_out(report, runs, by)


def with_left_out(report: Report, runs: pl.DataFrame, by: Sequence[str]) -> Report:
    """Return a report of one table whose rows state the runs left out of their group."""
    absent, pooled = left_out.rows(runs), settings.pooled(counted(runs, by), by)
    unmixed = absent.is_empty() and not pooled
    if unmixed and all(row.get("left_out") == LeftOutKeys() for row in report.records):
        return report
    (table,) = report.tables
    rows, lines = [], []
    for row, line in zip(report.records, table.rows, strict=True):
        keys = {name: row.get(name) for name in by}
        gone, names = left_out.group(runs, keys, absent), pooled.get(tuple(keys.values()))
        mixed = wording("runs_vary.row", names=names) if names else ""
        rows.append(replace(row, left_out=LeftOutKeys(*gone.counts)))
        lines.append(replace(line, details=append_line(append_line(line.details, gone), mixed)))
    tables = (replace(table, rows=tuple(lines)),)
    return dataclasses.replace(report, records=tuple(rows), tables=tables)


def append_line(details: Sequence[str], text: object) -> tuple[str, ...]:
    """Append a line to the details of a row, unless it is empty."""
    line = str(text)
    return (*details, line) if line else tuple(details)


#: Why runs are set aside, by the code of the note that counts them.
_SET_ASIDE = (
    "side_log", "inference", "stopped", "unreadable", "missing", "other_metric", "begins_late"
)  # fmt: skip


def set_aside_notes(runs: pl.DataFrame) -> Iterator[Note]:
    """Yield notes on uncounted runs, with the reasons."""
    if "set_aside" not in runs.columns:
        return
    reasons = dict(runs["set_aside"].value_counts().iter_rows())
    if "axis" in runs.columns and (n := reasons.get(axis.NO_POSITION)):
        yield note(axis.NO_POSITION, n=n, to_target=axis.axis_of(runs).to_target)
    yield from (note(code, n=reasons[code]) for code in _SET_ASIDE if code in reasons)


def no_length_notes(runs: pl.DataFrame) -> Iterator[Note]:
    """Yield a note on runs that failed when they started; they count."""
    names = standing(runs).filter(pl.col("observed_seconds") == 0.0)["source"].to_list()
    if names:
        length = units.amount(0.0, axis.axis_of(runs).unit)
        yield note("no_length", n=len(names), length=length, names=names)


def row_keys(by: Sequence[str], first: Sequence[str] = BENCHMARK) -> tuple[str, ...]:
    """Return the names of the grouping keys of rows, standard ones first."""
    return tuple(dict.fromkeys((*first, *by)))


def shown_keys(rows: Sequence[AnyRow], by: Sequence[str]) -> tuple[str, ...]:
    """Return the keys that deserve a column: no suite or round of all, no unknown benchmark."""
    alike = {name for name in BENCHMARK if name in by and len({row.get(name) for row in rows}) < 2}
    if "benchmark" in alike and rows and rows[0].get("benchmark") is not None:
        alike.remove("benchmark")
    return tuple(name for name in by if name not in alike)


def common_title(rows: Sequence[AnyRow], by: Sequence[str]) -> str:
    """Return the values of keys without a column of their own, as a title."""
    titled = shown_keys(rows, by)
    hidden = [rows[0].get(name) for name in by if rows and name not in titled]
    return " ".join(str(value) for value in hidden if value is not None)


def row_names(rows: Sequence[AnyRow], by: Sequence[str]) -> list[str]:
    """Return each row's name: its known keys, without a suite and round common to all."""
    keys = shown_keys(rows, by)
    values = [[str(row.get(name)) for name in keys if row.get(name) is not None] for row in rows]
    nameless = "unknown" if any(values) else ALONE
    return [" ".join(words) or nameless for words in values]


def group_notes(
    runs: pl.DataFrame, by: Sequence[str], labels: Sequence[str] = ()
) -> Iterator[Note]:
    """Yield notes on variation inside groups, named by `labels`, and on runs left out."""
    counting = counted(runs, by)
    names = settings.differing_columns(counting, by)
    recorded = settings.differing_settings(counting, by)
    if names or recorded:
        varying = [", ".join(names)] if names else []
        if recorded:
            varying.append(f"recorded settings (`extra`): {units.join_names([*recorded])}")
        advice = ": split with --by or filter with --where" if names else ""
        mixed = {
            key for differing in (names, recorded) for keys in differing.values() for key in keys
        }
        counts = {name: counting[name].n_unique() for name in by}
        common = {name for name in by if name in {"suite", "round"} and counts[name] < 2}
        groups = []
        for key in sorted(mixed, key=lambda key: sort_key(*key)):
            texts = (labels[key[0]], *key[1:]) if labels else key
            pairs = zip(by, texts, strict=True)
            groups.append([str(x) for name, x in pairs if x is not None and name not in common])
        group_names = units.join_names([" ".join(group) or "unknown" for group in groups], 3)
        location = f" ({group_names})" if any(count > 1 for count in counts.values()) else ""
        yield note("runs_vary", what="; ".join(varying), which=location, advice=advice)
    yield from left_out_notes(runs, by)


def left_out_notes(runs: pl.DataFrame, by: Sequence[str]) -> Iterator[Note]:
    """Yield notes on runs that do not count, that fail at once, and that had to wait."""
    counting = standing(runs)
    if copies := counting.height - counted(counting, by).height:
        yield note("copies", n=copies)
    yield from set_aside_notes(runs)
    yield from no_length_notes(runs)
    is_time = axis.axis_of(runs).name in {"seconds", "training-seconds"}
    if not is_time or "extra" not in runs.columns:
        return
    recorded = counting.filter(pl.col("extra").str.contains("waiting_seconds", literal=True))
    totals = (
        recorded["extra"].str.json_path_match(f"$.run_totals.{name}")
        for name in ("waiting_seconds", "cpu_seconds_all_workers")
    )
    waited, cpu = (float(total.cast(pl.Float64, strict=False).sum()) for total in totals)
    if waited > 0.1 * cpu:  # a tenth of the CPU time
        yield note("contended", waited=waited, cpu=cpu)


def failed_notes(runs: pl.DataFrame) -> Iterator[Note]:
    """Yield a note on runs that did not reach the target: how many, why, where they count.

    Runs without a target have not failed, and have a note of their own.
    """
    if runs.select(aims.is_aimless().any()).item():
        yield aims.advice(runs)
    failed = runs.filter(~pl.col("reached") & ~aims.is_aimless())
    if failed.is_empty():
        return
    is_time_alone = pl.col("suite").eq_missing(pl.lit(TIMES_ALONE))
    cases = {
        "an exception": pl.col("run_status") == "exception",
        "no evaluation logged": pl.col("evaluations").is_null() & ~is_time_alone,
        "values above 1 against a target below 1": pl.col("problems").str.contains(
            f'"{scales.OFF_SCALE}"', literal=True
        ),
    }
    ended = {"unknown": "no status", "success": "status success, but the target was not met"}
    endings = (pl.when(case).then(pl.lit(words)) for words, case in cases.items())
    how = pl.coalesce(*endings, pl.col("run_status").replace(ended)).alias("how")
    counts = failed.select(how).group_by("how").len().sort("how")
    reasons = ", ".join(f"{number} {reason}" for reason, number in counts.iter_rows())
    expected = axis.axis_of(runs).expected
    aimed = runs.select((pl.col("target_value").is_not_null() | ~is_time_alone).any()).item()
    key = "failed_runs" if aimed and not aims.lack_target(runs) else "failed_runs.no_target"
    yield note(key, failed=failed.height, n=runs.height, reasons=reasons, expected=expected)


def alone_notes(runs: pl.DataFrame) -> Iterator[Note]:
    """Yield a note on runs that are times alone."""
    counting = standing(runs)
    n = int((counting["suite"] == TIMES_ALONE).sum())
    if n:
        share = (
            "" if n == counting.height else wording("times_alone.some", n=n, all=counting.height)
        )
        yield note("times_alone", which=share)


def sort_key(*values: Any) -> tuple[tuple[bool, Any], ...]:
    """Return a sort key of values in which None comes last."""
    return tuple((value is None, value) for value in values)


def key_values(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the grouping keys of a row with their values, standard ones first."""
    return {name: keys.get(name) for name in row_keys(tuple(keys), ENTRY)}


def mean_of(values: pl.Series) -> float | None:
    """Return the mean of a numeric column, None if it is empty."""
    return cast("float | None", values.mean())
