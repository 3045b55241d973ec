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
from ttastats.output.plots import charts
from ttastats.output.plots.material import Material
from ttastats.output.plots.plot import Plot, expect_plots, refuse_if
from ttastats.report import fitting, grouping
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
        (plot for report in _effects_reports(material) for plot in _part_plots(report, material)),
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
    pooled = settings.pooled(runs, by).items()
    varied = {keys: several for keys, several in pooled if 0 < len(several) <= _MOST}
    for keys, rows in grouping.group_runs(runs, by) if varied else ():
        if several := varied.get(tuple(keys.values())):
            known = settings.setting_names(rows["extra"])
            short = [(name.rsplit(".", 1)[-1], name) for name in several]
            on = [last if settings.full_name(last, known) == name else name for last, name in short]
            with suppress(TtastatsError):  # too few runs of a value
                yield effects_report.report(rows, by, EffectsOptions(on, confidence=confidence))


def _part_plots(report: Report, material: Material) -> Iterator[Plot]:
    """Yield a panel for each part of each benchmark, on one axis."""
    every = [row for row in report.records if isinstance(row, EffectRow) and row.ratio_low]
    level = percentages.percent_text(material.options.confidence)
    for benchmark in dict.fromkeys(row.keys.get("benchmark") for row in every):
        rows = [row for row in every if row.keys.get("benchmark") == benchmark]
        records = [
            {"benchmark": benchmark, "row": effects_report.name_of(row), "part": part_of(row)}
            | {name: row.get(name) for name in _COLUMNS}
            for row in rows
        ]
        table = pl.DataFrame(records, infer_schema_length=None)
        name = f"effects: {' '.join(str(value) for value in rows[0].keys.values() if value)}"
        first = [row for row in rows if (row.part, row.setting) == (rows[0].part, rows[0].setting)]
        n = sum(row.n for row in first) + (rows[0].n_base if rows[0].base else 0)
        caption = [f"{units.plural(n, 'run')} that reached the target, {level} intervals."]
        explained = (
            "A ratio of geometric means is to the base of a setting, or of a doubling; 1 is no "
            "effect. Those on epochs and on time per epoch multiply to that on the time. "
            f"{report.sentence}"
        )
        for part in table["part"].unique(maintain_order=True):
            shown = table.filter(part=part)
            texts = [f"{row} {ratio:.3g}" for row, ratio in shown.select("row", "ratio").rows()]
            title = charts.sentence_case(f"{part} by setting")
            yield charts.make_plot(
                KIND,
                benchmark,
                f"{title}: {benchmark}" if benchmark else title,
                [*caption, explained] if part == table["part"][0] else caption,
                _effect_layers(name, table, part, level),
                {name: table},
                height=max(2, shown.height) * _STEP,
                described=f"{units.join_names(texts, 8)}.",
            )


def _effect_layers(name: str, table: pl.DataFrame, part: str, level: str) -> charts.Drawn:
    ratios, ends = table["ratio"].drop_nulls(), [*table["ratio_low"], *table["ratio_high"]]
    title = "ratio, log scale: <1 means less"
    words = (
        f"format(datum.ratio, '.3f') + '{fitting.LINE}[' + format(datum.ratio_low, '.3f') + "
        "', ' + format(datum.ratio_high, '.3f') + ']'"
    )
    rows = charts.table_view(name, f"datum.part == '{part}'", words=words)
    y = charts.rows_by_name("row")
    base = rows.encode(
        x=charts.ratio_position("ratio", title, ratios, ends, margin=_NUMBERS),
        y=y,
        color=charts.BLUE,
        tooltip=[
            "row:N", "part:N", ("words:N", f"ratio [{level}]"),
            ("p_adjusted:Q", "p (adjusted)", ".2~g"), ("n:Q", "runs"), ("n_base:Q", "of the base"),
        ],
    )  # fmt: skip
    return (
        rows.reference("x", title),
        base.interval("x", ("ratio_low", "ratio_high"), title),
        base.points(50),
        rows.end_labels(y, "words"),
    )
