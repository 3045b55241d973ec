"""Which setting changes the time, and through what? Effects on each part, a panel a part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import polars as pl

from ttastats.answers import effects as effects_report
from ttastats.answers.effects import EffectRow
from ttastats.answers.knobs import EffectsOptions, part_of
from ttastats.base import percentages, units
from ttastats.base.errors import TtastatsError
from ttastats.outcomes import settings
from ttastats.output.plots import charts, names, theme
from ttastats.output.plots.material import Material
from ttastats.output.plots.plot import Plot, expect_plots, refuse_if
from ttastats.report import grouping
from ttastats.report.answer import Report

KIND = "effects"
_STEP, _NUMBERS = 36.0, 82
#: Recorded settings that are a sweep; runs that differ in more were changed in other ways too.
_MOST = 5
_COLUMNS = ("ratio", "ratio_low", "ratio_high", "p_adjusted", "n", "n_base")


def effects_plots(material: Material) -> tuple[Plot, ...]:
    """Return a panel per part for each benchmark whose runs varied settings."""
    refuse_if(material.compares, "the effects plot takes one file", "Give one file.")
    return expect_plots(
        (plot for report in _effects_reports(material) for plot in _part_panels(report, material)),
        "no setting was varied in enough runs",
        "Name settings: --on batch_size,lr.",
    )


def _effects_reports(material: Material) -> Iterator[Report]:
    """Yield the effects of named settings or, by benchmark, of those that vary."""
    runs, confidence = material.sides[0].runs, material.options.confidence
    by = [name for name in grouping.BENCHMARK if name in runs.columns]
    if material.on:
        yield effects_report.report(runs, by, EffectsOptions(material.on, confidence=confidence))
        return
    # Hardly any table records settings that vary: for all others, this is all that is computed.
    varied = settings.pooled(runs, by)
    if not any(0 < len(each) <= _MOST for each in varied.values()):
        return
    for keys, group in grouping.group_runs(runs, by):
        several = varied.get(tuple(keys.values()), [])
        if 0 < len(several) <= _MOST:
            known = settings.known(group["extra"])
            short = [name.rsplit(".", 1)[-1] for name in several]
            on = [each if settings.meant(each, known) == name else name
                  for each, name in zip(short, several, strict=True)]  # fmt: skip
            with suppress(TtastatsError):  # too few runs of a value
                yield effects_report.report(group, by, EffectsOptions(on, confidence=confidence))


def _part_panels(report: Report, material: Material) -> Iterator[Plot]:
    """Yield a panel for each part of each benchmark, on one axis."""
    rows = [row for row in report.records if isinstance(row, EffectRow) and row.ratio_low]
    level = percentages.percent_text(material.options.confidence)
    for benchmark in dict.fromkeys(row.keys.get("benchmark") for row in rows):
        of = [row for row in rows if row.keys.get("benchmark") == benchmark]
        table = pl.DataFrame(
            [{"benchmark": benchmark, "row": effects_report.name_of(row),
              "part": part_of(row)} | {name: row.get(name) for name in _COLUMNS}
             for row in of], infer_schema_length=None,
        )  # fmt: skip
        name = f"effects: {' '.join(str(value) for value in of[0].keys.values() if value)}"
        first = [row for row in of if (row.part, row.setting) == (of[0].part, of[0].setting)]
        n = sum(row.n for row in first) + (of[0].n_base if of[0].base else 0)
        for part in table["part"].unique(maintain_order=True):
            shown = table.filter(part=part)
            told = [f"{row} {ratio:.3g}" for row, ratio in shown.select("row", "ratio").iter_rows()]
            caption = (
                f"{units.plural(n, 'run')} that reached the target, {level} intervals.",
                "" if part != table["part"][0] else "A ratio of geometric means is to the base of "
                "a setting, or of a doubling; 1 is no effect. Those on epochs and on time per "
                f"epoch multiply to that on the time. {report.sentence}",
            )  # fmt: skip
            title = charts.sentence_case(f"{part} by setting")
            title += f": {benchmark}" if benchmark else ""
            yield charts.make_plot(
                KIND, benchmark, title, caption, _effect_chart(name, table, part, level),
                {name: table}, height=max(2, shown.height) * _STEP,
                described=f"{units.join_names(told, 8)}.",
            )  # fmt: skip


def _effect_chart(name: str, table: pl.DataFrame, part: str, level: str) -> charts.Drawn:
    ratios, ends = table["ratio"].drop_nulls(), [*table["ratio_low"], *table["ratio_high"]]
    title = "ratio, log scale: <1 means less"
    rows = charts.table_view(
        name, f"datum.part == '{part}'",
        words=f"format(datum.ratio, '.3f') + '{names.LINE}[' + format(datum.ratio_low, '.3f') + "
              "', ' + format(datum.ratio_high, '.3f') + ']'",
    )  # fmt: skip
    y = charts.row_channel("row", grid=True)
    base = rows.encode(
        x=charts.ratio_channel("ratio", title, ratios, ends, margin=_NUMBERS),
        y=y,
        color={"value": theme.COLOURS[0]},
        tooltip=charts.tooltip_channels(
            "row:N", "part:N", ("words:N", f"ratio [{level}]"),
            ("p_adjusted:Q", "p (adjusted)", ".2~g"), ("n:Q", "runs"), ("n_base:Q", "of the base"),
        ),
    )  # fmt: skip
    return (
        charts.reference_layer(rows, "x", title),
        charts.interval_layer(base, "x", ("ratio_low", "ratio_high"), title),
        charts.point_layer(base, 50),
        charts.end_label_layer(rows, y, "words"),
    )
