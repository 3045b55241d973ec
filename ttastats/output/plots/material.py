"""What are the plots made of? Sides of runs, cut into panels, and each panel into series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl
from msgspec import Struct

from ttastats.base import units
from ttastats.outcomes import aims
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import Axis
from ttastats.outcomes.left_out import counted, standing
from ttastats.outcomes.target import asked
from ttastats.outcomes.time_to_target import evaluated_at
from ttastats.output.plots import theme
from ttastats.report import fitting
from ttastats.report.grouping import BENCHMARK, ENTRY
from ttastats.sides.design import mixed_setups, setup_names
from ttastats.sides.pairing import SAME_RUNS, Side, pairings
from ttastats.sides.question import Question
from ttastats.stats.means import mean_interval
from ttastats.table import schema
from ttastats.table.schema import RUN

#: The series of what is not shown by a colour of its own.
OTHERS = "others"
#: Series a panel describes one by one; of more, the fastest.
MOST_SERIES = 40
#: Above this a plot draws runs together.
MOST_RUNS = 600
MOST_POINTS = 20_000
_SERIES = {
    "order": pl.Int32, "series": pl.String, "n": pl.Int64, "reached_runs": pl.Int64,
    "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64,
}  # fmt: skip


class OfSides:
    """The common properties of the sides."""

    sides: tuple[Side, ...]

    @property
    def axis(self) -> Axis:
        """Return the axis on which runs are counted to their target."""
        return axes.axis_of(self.sides[0].runs)

    @property
    def at_budget(self) -> bool:
        """Return whether runs are judged by their quality at a budget."""
        return self.sides[0].at_budget

    @property
    def compares(self) -> bool:
        """Return whether there are two or more sides."""
        return len(self.sides) > 1


@dataclass(frozen=True, eq=False)
class Panel(OfSides):
    """The runs of one benchmark, as a plot shows them.

    `name` tells it from all others, `title` from those beside it. `runs` has a row per run with
    `run` (a number), `series` (its label), `order` (of the series, fastest first) and `colour`
    (the series' label, or `others` for those that stand back). `series` has a row per series, of
    runs that are drawn alike, an entry or a side of a comparison: its `order`, label (`series`),
    `n` and `reached_runs`, and `mean`, `low` and `high`: that of the time of the runs that reached
    with its t interval, by setup where several are pooled; null where there are none, or too few.
    `hidden` counts the series, and `hidden_runs` their runs, that are left out.
    """

    keys: Mapping[str, Any]
    name: str
    title: str
    runs: pl.DataFrame
    series: pl.DataFrame
    hidden: int
    hidden_runs: int
    sides: tuple[Side, ...]
    what: str

    @property
    def benchmark(self) -> str | None:
        """Return the benchmark's name, None for several."""
        value = self.keys.get("benchmark")
        return None if value is None else str(value)

    @property
    def coloured_labels(self) -> tuple[str, ...]:
        """Return the labels of series with a colour, and `others` if some have none.

        All sides of a comparison are among them, so that each has one colour everywhere.
        """
        if 1 < len(self.sides) <= theme.HIGHLIGHTS:
            return tuple(side_labels(self.sides))
        labels = tuple(self.series["series"])
        if len(labels) <= theme.HIGHLIGHTS:
            return labels
        return (*labels[: theme.HIGHLIGHTS], OTHERS)

    def with_owners(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return a table of series, by `order`, with what its rows can be filtered by.

        These are `system` and `entry`, null if the series has several, and `benchmark`.
        """
        names = pl.col("system", "entry")
        only = pl.when(names.n_unique() == 1).then(names.first())
        owners = self.runs.group_by("order").agg(only)
        owned = table.join(owners, on="order", how="left", maintain_order="left")
        return owned.with_columns(benchmark=pl.lit(self.benchmark, pl.String))

    @property
    def is_aimless(self) -> bool:
        """Return whether the runs were evaluated and have no target to reach or miss."""
        return not self.at_budget and aims.lack_target(self.runs)

    @property
    def counts_text(self) -> str:
        """Return n in words: `70 runs of 14 entries: 68 reached val_loss ≤ 3.4, 2 failed.`"""
        n, reached = self.runs.height, int(self.runs["reached"].sum())
        budget = ("with a value", "without")
        does, does_not = budget if self.at_budget else (self.axis.success, "failed")
        does = does.replace("the target", asked(self.runs) or "the target")
        failed = f", {n - reached:,} {does_not}" if n > reached else ""
        runs = units.plural(self.hidden_runs, "run")
        remainder = f" {self.hidden:,} further {self._several} ({runs}) are not shown."
        several = units.plural(self.series.height, self.what, self._several)
        ends = aims.NO_TARGET if self.is_aimless else f"{reached:,} {does}{failed}"
        text = f"{units.plural(n, 'run')} of {several}: {ends}."
        return text + (remainder if self.hidden else "")

    @property
    def highlighted_text(self) -> str:
        """Return a sentence about the series with a colour, unless all have one."""
        if self.series.height <= theme.HIGHLIGHTS:
            return ""
        return f"The first {theme.HIGHLIGHTS} {self._several} are coloured, the others grey."

    @property
    def _several(self) -> str:
        return "entries" if self.what == "entry" else f"{self.what}s"

    @property
    def too_many(self) -> bool:
        """Return whether runs are so many that they must be drawn together."""
        return self.runs.height > MOST_RUNS

    @cached_property
    def evaluations(self) -> pl.LazyFrame:
        """Return the evaluations of the runs as `logged` does; of few runs they are read once."""
        rows = self.logged(schema.is_evaluation())
        return rows if self.too_many else rows.collect().lazy()

    def logged(self, condition: pl.Expr) -> pl.LazyFrame:
        """Return the logged values of the runs that meet a condition.

        Columns: `run`, `series`, `order`, `colour`, `metric`, `value`, `higher_is_better`,
        `target_value`, `epoch`, `step`, `samples`, `evaluation` (from 1), and `seconds`: when the
        weights existed if the evaluation was logged after the run, as the time to accuracy counts.
        """
        runs = self.runs.lazy().select(*RUN, "side", "run", "series", "order", "colour")
        parts = [
            side.evaluations.filter(condition, pl.col("value").is_finite()).select(
                *RUN, "metric", "value", "higher_is_better", "target_value", "epoch", "step",
                "samples", "eval_index", side=pl.lit(number, pl.Int32), seconds=evaluated_at(),
                evaluation=pl.col("eval_index") + 1,
            )
            for number, side in enumerate(self.sides)
        ]  # fmt: skip
        return pl.concat(parts).join(runs, on=[*RUN, "side"], how="inner").drop(*RUN, "side")


class Material(Struct, OfSides, frozen=True, eq=False):
    """The data of plots. One side is a summary; of several the first is the baseline.

    `what` is asked of them, `by` are the columns that make a series (a summary) or a row (a
    comparison); with none, a comparison makes its rows as `pairing.pairings` does. `metric` is
    drawn in the place of the quality metrics, by the kinds that can, and `on` are the settings of
    `effects`.
    """

    sides: tuple[Side, ...]
    what: Question
    by: tuple[str, ...]
    confidence: float
    panels: tuple[Panel, ...]
    metric: str = ""
    on: tuple[str, ...] = ()


def make_material(sides: Sequence[Side], query: Question) -> Material:
    """Return the runs of one side by entry, or of several by side, as panels."""
    several, level = len(sides) > 1, query.judgement.confidence
    by = tuple(query.by) or (() if several else ENTRY)
    if several:
        groups = _runs_by_panel(sides, query)
    else:
        numbered = standing(sides[0].runs).with_columns(side=pl.lit(0, pl.Int32))
        ordered = numbered.sort(BENCHMARK, nulls_last=True, maintain_order=True)
        parts = ordered.partition_by(BENCHMARK, maintain_order=True)
        groups = [(part.select(BENCHMARK).row(0, named=True), part) for part in parts]
    series_by = ["side"] if several else [key for key in by if key not in BENCHMARK]
    panels = [_make_panel(keys, runs, series_by, sides, level) for keys, runs in groups]
    if several:  # what only one side has cannot be compared
        panels = [panel for panel in panels if panel.series.height > 1] or panels
    titles = _panel_titles([panel.keys for panel in panels])
    titled = map(lambda panel, title: replace(panel, title=title), panels, titles)
    return Material(tuple(sides), query, by, level, tuple(titled))


def _runs_by_panel(
    sides: Sequence[Side], query: Question
) -> list[tuple[dict[str, Any], pl.DataFrame]]:
    """Return the compared runs of all sides, by benchmark."""
    panels: dict[tuple[Any, ...], tuple[dict[str, Any], list[pl.DataFrame]]] = {}
    paired = pairings(sides[0], sides[1:], query.by, pool=query.pool)
    for number, pairing in enumerate(paired, 1):
        for pair in (pair for pair in pairing.pairs if pair.unavailable != SAME_RUNS):
            for side, runs in ((0, pair.a), (number, pair.b)):
                for (benchmark,), part in runs.group_by("benchmark", maintain_order=True):
                    keys = {**pair.keys, "benchmark": benchmark}
                    _, parts = panels.setdefault(tuple(keys.values()), (keys, []))
                    parts.append(part.with_columns(side=pl.lit(side, pl.Int32)))
    # The baseline's runs stand in the pairs with each of the others.
    once = ("side", *RUN)
    return [
        (keys, pl.concat(parts, how="diagonal_relaxed").unique(once, maintain_order=True))
        for keys, parts in panels.values()
    ]


def _panel_titles(panels: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return panel titles: the benchmark and differing keys, `resnet (mlperf v0.5)`."""
    first_keys = panels[0] if panels else {}
    varying = [x for x in first_keys if x != "benchmark" and len({keys[x] for keys in panels}) > 1]
    titles = []
    for keys in panels:
        words = [fitting.key_label([keys[key]]) for key in varying if keys[key] is not None]
        name = fitting.key_label([keys["benchmark"] or "these runs"])
        titles.append(f"{name} ({' '.join(words)})" if words else name)
    return titles


def _make_panel(
    keys: Mapping[str, Any], group: pl.DataFrame, by: list[str], sides: Sequence[Side], level: float
) -> Panel:
    runs = counted(group, by)
    # The series by speed; sides keep their order.
    speed = pl.col("tta_seconds").filter("reached").mean().alias("mean")
    ranked = runs.group_by(by or pl.lit(0).alias("all"), maintain_order=True).agg(speed)
    ranked = ranked.sort(by if by == ["side"] else ["mean", *by], nulls_last=True)
    visible = ranked.head(MOST_SERIES)
    if by == ["side"]:
        of_sides = side_labels(sides)
        names = [of_sides[number] for number in visible["side"]]
    else:
        names = fitting.short_labels([row[key] for key in by] for row in visible.to_dicts())
    labels, order = pl.Series(names, dtype=pl.String), pl.int_range(pl.len(), dtype=pl.Int32)
    series = visible.select(*by, series=labels, order=order)
    if by:
        visible_runs = runs.join(
            series, on=by, how="inner", nulls_equal=True, maintain_order="left"
        ).sort("order", maintain_order=True)
    else:
        visible_runs = runs.join(series, how="cross")
    # All stand out where they are few.
    colour = pl.when(pl.col("order") < theme.HIGHLIGHTS).then("series").otherwise(pl.lit(OTHERS))
    visible_runs = visible_runs.with_columns(
        run=pl.int_range(pl.len(), dtype=pl.Int32), colour=colour
    )
    parts, rows = visible_runs.partition_by("order", maintain_order=True), []
    mixed = mixed_setups(visible_runs, [part.height for part in parts])
    for part, pooled in zip(parts, mixed, strict=True):
        timed = part.filter("reached", pl.col("tta_seconds") > 0)
        setups = setup_names(timed).to_numpy() if pooled else None
        mean = mean_interval(timed["tta_seconds"].to_numpy(), confidence=level, setups=setups)
        cells = part["order"][0], part["series"][0], part.height, int(part["reached"].sum())
        rows.append((*cells, mean.estimate, mean.low, mean.high))
    plain = len(by) == 1 and not by[0].endswith("s")
    return Panel(
        keys=keys,
        name=" ".join(str(value) for value in keys.values() if value is not None),
        title="",
        runs=visible_runs,
        series=pl.DataFrame(rows, _SERIES, orient="row"),
        hidden=ranked.height - visible.height,
        hidden_runs=runs.height - visible_runs.height,
        sides=tuple(sides),
        what=by[0] if plain else "group",
    )


def side_labels(sides: Sequence[Side]) -> list[str]:
    """Return `A: one_gpu.parquet` and so on for sides."""
    labels = [fitting.key_label([side.label]) for side in sides]
    short = fitting.short_names(labels)
    return [f"{chr(ord('A') + n)}: {short[label]}" for n, label in enumerate(labels)]
