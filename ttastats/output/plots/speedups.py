"""By how much is B faster, and why? Speedups with intervals, and their parts (Table 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from ttastats.answers.compare import compare as compare_report
from ttastats.answers.compare.rows import TimesRow
from ttastats.answers.compare.sentences import CONDITIONS
from ttastats.base import percentages, units
from ttastats.outcomes.axis import Axis
from ttastats.output.plots import charts, theme
from ttastats.output.plots.material import Material, side_labels
from ttastats.output.plots.plot import Plot, refuse_if
from ttastats.report import fitting
from ttastats.report.answer import to_target
from ttastats.report.grouping import shown_keys
from ttastats.report.row import expect_kind
from ttastats.stats.decision import MARKS
from ttastats.stats.results import Verdict

KIND = "speedups"
_STEP = 50.0
#: Pixels of the column of numbers, right of the marks.
_NUMBERS = 74
#: Rows that can be read; of more, those whose speedup is farthest from 1.
_MOST = 40

_COLUMNS = {
    "benchmark": pl.String, "row": pl.String, "order": pl.Int64, "part": pl.String,
    "place": pl.Int64, "ratio": pl.Float64, "low": pl.Float64, "high": pl.Float64,
    "p_adjusted": pl.Float64, "verdict": pl.String, "reached": pl.String,
}  # fmt: skip


def speedup_plots(material: Material) -> tuple[Plot, ...]:
    """Return one plot of the speedups of all benchmarks."""
    refuse_if(
        not material.compares, "only one file to compare", "Give two files, the baseline first."
    )
    baseline, *challengers = material.sides
    report = compare_report.times_report(baseline, challengers, material.what)
    rows = expect_kind(report.records, TimesRow)
    table = _speedup_table(rows, report.by, material)
    reason = "`ttastats compare` shows the reason for each."
    refuse_if(table.is_empty(), "no benchmark has a speedup", reason)
    visible, choice = _limit_range(table)
    sides, unit = side_labels(material.sides), material.axis
    level = percentages.percent_text(material.confidence)
    title = charts.sentence_case(unit.ratio if unit.is_time else f"{unit.noun} ratio")
    title += f" of {sides[1]} over {sides[0]}" if len(sides) == 2 else f" over {sides[0]}"
    counts = [f"{row.benchmark} {_reached_text(row)}" for row in rows]
    whole = visible.filter(pl.col("place") == 0).head(12)
    described = " ".join(
        f"{row['row'].replace(fitting.LINE, ' · ')} {row['ratio']:.3g}, {row['verdict']}."
        for row in whole.iter_rows(named=True)
    )
    plot = charts.make_plot(
        KIND,
        visible["benchmark"][0] if visible["benchmark"].n_unique() == 1 else None,
        title,
        (
            to_target(report.target, ""),
            choice,
            *_explanations(rows, unit, level),
            f"n: {units.join_names(counts, 8)}.",
        ),
        _speedup_layers(visible, level, unit),
        {"speedups": visible},
        height=max(1.4, visible["order"].n_unique()) * _STEP,
        described=described,
    )
    return (plot,)


def _part_names(unit: Axis) -> list[str]:
    """Return the names of a ratio and of its two factors on the axis."""
    first = ("TTA speedup", "throughput") if unit.is_time else (unit.to_target, unit.per_epoch)
    return [*first, "epochs"]


#: The columns of `compare` for a ratio and its parts, and what those of their ends begin with.
_PARTS = (("speedup", "speedup"), ("throughput_speedup", "throughput"), ("epochs_ratio", "epochs"))


def _explanations(rows: Sequence[TimesRow], unit: Axis, level: str) -> Iterator[str]:
    """Yield texts on the meaning of the ratios, failed runs and conditions."""
    if unit.is_time:
        yield (
            f"Right of 1: faster than the baseline. The TTA speedup with its {level} interval is "
            "split into throughput (time per epoch) and epochs to the target."
        )
    else:
        yield f"Right of 1: {unit.less} than the baseline, with {level} intervals."
        if unit.progress is None:
            yield f"They are split into {unit.per_epoch} and epochs to the target."
    if failed := [str(row.benchmark) for row in rows if row.estimand == "ert"]:
        yield (
            f"Where runs failed ({units.join_names(failed)}), the {unit.ratio} is the ratio of "
            f"{unit.expected}; its parts use only "
            "the runs that reached the target."
        )
    for condition, meaning in CONDITIONS.items():
        if any(condition in row.conditions for row in rows):
            yield f"{MARKS[condition]} holds only if {meaning.format(unit='epochs')}."
    for carried in dict.fromkeys(row.carried for row in rows if row.carried):
        names = units.join_names([str(row.benchmark) for row in rows if row.carried == carried])
        yield f"{names}: {carried}."


def _speedup_table(rows: Sequence[TimesRow], by: Sequence[str], material: Material) -> pl.DataFrame:
    """Return a row per benchmark and part, with the numbers of `compare`."""
    keys = shown_keys(rows, by) or ("benchmark",)
    names_of_sides = (side.label for side in material.sides)
    labels = dict(zip(names_of_sides, side_labels(material.sides), strict=True))
    models = fitting.hardware_models(row.get("hardware") for row in rows if row.get("hardware"))
    table, parts = [], [*zip(_part_names(material.axis), _PARTS, strict=True)]
    for number, row in enumerate(rows):
        first, *further = (models.get(value, value) for value in map(row.get, keys))
        lines = [fitting.key_label(values) for values in ([first], further) if values]
        lines += [labels[row.b]] if len(labels) > 2 else []
        words = {Verdict.SAME: str(row.claim), Verdict.UNAVAILABLE: "n/a"}
        verdict = words.get(row.word, row.word.signed)
        if row.word.directed:
            verdict = f"B {row.on.claim(row.word)} {row.marks}".strip()
        whole: dict[str, Any] = {
            "benchmark": row.benchmark, "row": fitting.LINE.join(lines), "order": number,
            "p_adjusted": row.p_adjusted, "verdict": verdict, "reached": _reached_text(row),
        }  # fmt: skip
        table += [
            whole
            | {"part": part, "place": number, "ratio": row.get(value)}
            | {end: row.get(f"{stem}_{end}") for end in ("low", "high")}
            for number, (part, (value, stem)) in enumerate(parts)
        ]
    return pl.DataFrame(table, schema=_COLUMNS).drop_nulls("ratio")


def _reached_text(row: TimesRow) -> str:
    return f"A {row.reached_a}/{row.n_a}, B {row.reached_b}/{row.n_b}"


def _limit_range(table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return the rows farthest from 1 if there are too many, and a text on that."""
    count = table["order"].n_unique()
    if count <= _MOST:
        return table, ""
    whole = table.filter(pl.col("place") == 0)
    ranked = whole.sort(pl.col("ratio").log().abs(), descending=True).head(_MOST)
    visible = table.join(ranked.select("order"), on="order", how="semi", maintain_order="left")
    return visible, f"The {_MOST} of {count:,} rows farthest from 1 are shown."


def _speedup_layers(table: pl.DataFrame, level: str, unit: Axis) -> charts.Layers:
    title = f"ratio A/B, log scale: >1 means B {unit.fill(unit.better)}"
    parts = _part_names(unit)
    lines = max(row.count(fitting.LINE) for row in table["row"])
    # The first of several lines would stand in the middle.
    split = f"split(datum.label, '{fitting.LINE}')"
    y = charts.rows_by_name("row", grid=False, labelOffset=-5.5 * lines, labelExpr=split)
    y["scale"] = {"paddingInner": 0.25, "paddingOuter": 0.1}
    color, shape = (
        charts.field("part:N", scale={"domain": parts, "range": list(looks[:3])})
        for looks in (theme.COLOURS, theme.SHAPES)
    )
    color["legend"] = {"title": None}
    tooltip = [
        "benchmark:N", "part:N", ("ratio:Q", "", ".4~r"),
        ("interval:N", f"{level} interval"), "verdict:N",
        ("p_adjusted:Q", "p (adjusted)", ".2~g"), "reached:N",
    ]  # fmt: skip
    interval = (
        "datum.low == null ? '' : '[' + format(datum.low, '.3f') + ', ' + "
        "format(datum.high, '.3f') + ']'"
    )
    columns = ("format(datum.ratio, '.3f')", f"({interval})", "datum.verdict")
    words = f" + '{fitting.LINE}' + ".join(columns)
    rows = charts.table_view("speedups", interval=interval, words=words, unity="1")
    ends = [*table["low"], *table["high"]]
    base = rows.encode(
        x=charts.ratio_position("ratio", title, table["ratio"], ends, margin=_NUMBERS),
        y=y,
        yOffset=charts.field("part:N", scale={"domain": parts}),
        tooltip=tooltip,
        color=color,
    )
    return (
        charts.table_view("speedups").reference("x", title),
        base.interval("x", "low", "high"),
        base.encode(shape=shape).points(55),
        rows.where("datum.place == 0").end_labels(y, "words"),
    )
