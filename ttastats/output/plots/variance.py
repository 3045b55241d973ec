"""Why do runs differ: by epochs or time per epoch (Table 4), and by which setting, through what?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import polars as pl

from ttastats.answers import effects as effects_report
from ttastats.answers import variance as variance_report
from ttastats.answers.effects import EffectRow
from ttastats.answers.knobs import EffectsOptions, part_of
from ttastats.base import percentages, units
from ttastats.base.errors import TtastatsError
from ttastats.outcomes import settings
from ttastats.output.plots import charts
from ttastats.output.plots.material import Material
from ttastats.output.plots.plot import Plot, expect_plots, refuse_if
from ttastats.report import fitting, grouping
from ttastats.report.answer import Report

VARIANCE = "variance"
_STEP = 19.0
#: Rows one plot can hold; with more, each benchmark has its own.
_MOST = 30
#: More groups would take long: the report makes an interval for each.
_MOST_GROUPS = 2_000
_NUMBERS = (
    "n", "with_epochs", "share_epochs", "share_epochs_low", "share_epochs_high",
    "share_epoch_time", "cv_ratio",
)  # fmt: skip


def variance_plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot of all entries, or one per benchmark if they are many."""
    refuse_if(not material.axis.is_time, "the variance plot shows time only", "Remove --in.")
    by, group_rows = material.by or grouping.ENTRY, list[dict[str, Any]]()
    for number, side in enumerate(material.sides):
        if side.runs.select(by).unique().height > _MOST_GROUPS:
            continue
        report_rows = variance_report.report(
            side.runs, by, ddof=material.what.judgement.ddof, confidence=material.confidence
        ).rows
        rows = [row for row in report_rows if row["share_epochs"] is not None]
        keys = [key for key in grouping.shown_keys(rows, by) if key not in grouping.BENCHMARK]
        groups = fitting.short_labels([row[key] for key in keys] for row in rows)
        letter = f"{chr(ord('A') + number)}: " if material.compares else ""
        group_rows += [
            {"benchmark": row["benchmark"], "entry": row["entry"], "group": letter + group}
            | {name: row[name] for name in _NUMBERS}
            for row, group in zip(rows, groups, strict=True)
        ]
    refuse_if(
        not group_rows,
        "no group has two runs with different numbers of epochs to the target",
        "`ttastats variance FILE` shows the numbers.",
    )
    table = pl.DataFrame(group_rows, infer_schema_length=None)
    several = table["benchmark"].n_unique() > 1
    level = percentages.percent_text(material.confidence)
    if several and table.height <= _MOST:
        return (_variance_plot(None, table, level),)
    parts = table.partition_by("benchmark", maintain_order=True)
    return tuple(_variance_plot(part["benchmark"][0], part, level) for part in parts)


def _variance_plot(benchmark: str | None, table: pl.DataFrame, level: str) -> Plot:
    visible = table.sort("benchmark", "with_epochs", "share_epochs", descending=[False, True, True])
    visible = visible.head(_MOST).sort("benchmark", "share_epochs", descending=[False, True])
    group = pl.col("group") if benchmark is not None else pl.format("{}: {}", "benchmark", "group")
    visible = visible.with_columns(row=group)
    title = "Share of epochs in the variance of time-to-accuracy"
    title += f": {benchmark}" if benchmark is not None else ""
    runs, groups = int(visible["with_epochs"].sum()), units.plural(visible.height, "group")
    hidden = table.height - visible.height
    verb = "is" if hidden == 1 else "are"
    remark = f"{units.plural(hidden, 'more group')}, with fewer runs, {verb} not shown; "
    caption = (
        f"{units.plural(runs, 'run')} of {groups} whose epochs vary; {remark if hidden else ''}"
        "only runs that reached the target. The rest of the variance of log TTA is due "
        "to time per epoch. Shares can be below 0% or above 100% if the two are "
        f"correlated. Lines are {level} intervals, shown from 10 runs on and left out where they "
        "would hold nearly every share or a run is unlike the others.",
    )
    # Every share is in sight; an interval may go on beyond the frame.
    shares = visible["share_epochs"].to_list()
    low = min(*shares, max(-0.5, min(0.0, *visible["share_epochs_low"].drop_nulls(), *shares)))
    high = max(*shares, min(1.5, max(1.0, *visible["share_epochs_high"].drop_nulls(), *shares)))
    step = 0.25 if high - low < 1.2 else 0.5 if high - low < 3 else 1.0
    values = [step * n for n in range(-4, 41) if low <= step * n <= high]
    across = "share of the variance due to epochs; the rest is due to time per epoch"
    if high > 1.02:
        across = "share of the variance due to epochs, which can exceed 100%"
    scale, name = {"domain": [low - 0.03, high + 0.05], "nice": False}, f"variance: {benchmark}"
    ticks = {"format": ".0%", "values": values}
    base = charts.table_view(name).encode(
        x=charts.position("share_epochs", across, scale, ticks),
        y=charts.rows_by_name("row"),
        color=charts.BLUE,
        tooltip=[
            "benchmark:N", "entry:N", ("share_epochs:Q", "epochs", ".1%"),
            ("share_epoch_time:Q", "time per epoch", ".1%"), ("cv_ratio:Q", "CV ratio", ".3~g"),
            ("with_epochs:Q", "runs"),
        ],
    )  # fmt: skip
    intervals = base.interval("x", "share_epochs_low", "share_epochs_high")
    layers = intervals, base.points(50, clip=True)
    return charts.make_plot(
        VARIANCE, benchmark, title, caption, layers, {name: visible},
        height=max(3, visible.height) * _STEP, described=f"{groups}.",
    )  # fmt: skip


EFFECTS = "effects"
_PANEL_STEP, _NUMBERS_WIDTH = 36.0, 82
#: Recorded settings that are a sweep; runs that differ in more were changed in other ways too.
_MOST_VARIED = 5
_COLUMNS = ("ratio", "ratio_low", "ratio_high", "p_adjusted", "n", "n_base")


def effects_plots(material: Material) -> tuple[Plot, ...]:
    """Return a panel per part for each benchmark whose runs varied settings."""
    refuse_if(material.compares, "the effects plot takes one file", "Give one file.")
    return expect_plots(
        (plot for report in _effects_reports(material) for plot in _part_plots(report, material)),
        "no setting was varied in enough runs",
        "Name settings: --on batch_size,lr.",
    )


def _effects_reports(material: Material) -> Iterator[Report]:
    """Yield the effects of named settings or, by benchmark, of those that vary."""
    runs, confidence = material.sides[0].runs, material.confidence
    by = [name for name in grouping.BENCHMARK if name in runs.columns]
    if material.on:
        yield effects_report.report(runs, by, EffectsOptions(material.on, confidence=confidence))
        return
    # Hardly any table records settings that vary: of all others, nothing is fitted.
    pooled = settings.pooled(runs, by).items()
    varied = {keys: several for keys, several in pooled if len(several) <= _MOST_VARIED}
    for keys, rows in grouping.group_runs(runs, by):
        if several := varied.get(tuple(keys.values())):
            all_settings = settings.setting_names(rows["extra"])
            short = [(name.split(".")[-1], name) for name in several]
            on = [
                last if settings.full_name(last, all_settings) == name else name
                for last, name in short
            ]
            with suppress(TtastatsError):  # too few runs of a value
                yield effects_report.report(rows, by, EffectsOptions(on, confidence=confidence))


def _part_plots(report: Report, material: Material) -> Iterator[Plot]:
    """Yield a panel for each part of each benchmark, on one axis."""
    effects = [row for row in report.records if isinstance(row, EffectRow) and row.ratio_low]
    level = percentages.percent_text(material.confidence)
    for benchmark in dict.fromkeys(row.keys.get("benchmark") for row in effects):
        rows = [row for row in effects if row.keys.get("benchmark") == benchmark]
        records = [
            {"benchmark": benchmark, "row": effects_report.name_of(row), "part": part_of(row)}
            | {name: row.get(name) for name in _COLUMNS}
            for row in rows
        ]
        table = pl.DataFrame(records, infer_schema_length=None)
        head, *_ = rows
        name = f"effects: {' '.join(str(value) for value in head.keys.values() if value)}"
        first = [row for row in rows if (row.part, row.setting) == (head.part, head.setting)]
        n = sum(row.n for row in first) + (head.n_base if head.base else 0)
        caption = [f"{units.plural(n, 'run')} that reached the target, {level} intervals."]
        explained = (
            "A ratio of geometric means is to the base of a setting, or of a doubling; 1 is no "
            "effect. Those on epochs and on time per epoch multiply to that on the time. "
            f"{report.sentence}"
        )
        for part in table["part"].unique(maintain_order=True):
            part_rows = table.filter(part=part)
            texts = [f"{row} {ratio:.3g}" for row, ratio in part_rows.select("row", "ratio").rows()]
            title = charts.sentence_case(f"{part} by setting")
            yield charts.make_plot(
                EFFECTS,
                benchmark,
                f"{title}: {benchmark}" if benchmark else title,
                [*caption, explained] if part == table["part"][0] else caption,
                _effect_layers(name, table, part, level),
                {name: table},
                height=max(2, part_rows.height) * _PANEL_STEP,
                described=f"{units.join_names(texts, 8)}.",
            )


def _effect_layers(name: str, table: pl.DataFrame, part: str, level: str) -> charts.Layers:
    ratios, ends = table["ratio"].drop_nulls(), [*table["ratio_low"], *table["ratio_high"]]
    title = "ratio, log scale: <1 means less"
    words = (
        f"format(datum.ratio, '.3f') + '{fitting.LINE}[' + format(datum.ratio_low, '.3f') + "
        "', ' + format(datum.ratio_high, '.3f') + ']'"
    )
    rows = charts.table_view(name, f"datum.part == '{part}'", words=words)
    y = charts.rows_by_name("row")
    base = rows.encode(
        x=charts.ratio_position("ratio", title, ratios, ends, margin=_NUMBERS_WIDTH),
        y=y,
        color=charts.BLUE,
        tooltip=[
            "row:N", "part:N", ("words:N", f"ratio [{level}]"),
            ("p_adjusted:Q", "p (adjusted)", ".2~g"), ("n:Q", "runs"), ("n_base:Q", "of the base"),
        ],
    )  # fmt: skip
    return (
        rows.reference("x", title),
        base.interval("x", "ratio_low", "ratio_high"),
        base.points(50),
        rows.end_labels(y, "words"),
    )
