"""At which quality target can both sides of a comparison be judged?

Rounds of a benchmark ask for different qualities. A run is stopped where it reaches its own
target, so a stricter one can be judged only where the evaluations happen to show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

import polars as pl

from ttastats.base import units
from ttastats.base.codes import Note, note
from ttastats.base.metrics import TOLERANCE
from ttastats.outcomes import axis, time_to_target
from ttastats.outcomes.target import UserTarget, is_upwards
from ttastats.table.schema import RUN

#: The runs of A and of B, why one target cannot judge them (or None), and how their targets differ
#: in words (or nothing).
JudgedPair = tuple[pl.DataFrame, pl.DataFrame, str | None, str]

#: What a pair is called whose sides were not judged by one target and cannot be.
NOT_COMPARABLE = "not comparable"


def targets(rows: pl.LazyFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the target of each metric of each run, from the tidy table.

    Without evaluations it is that of the table of runs, without a direction.
    """
    targets_of_runs = (
        rows.filter(pl.col("target_value").is_finite(), pl.col("metric").is_not_null())
        .group_by(*RUN, "metric", maintain_order=True)
        .agg(pl.col("target_value", "higher_is_better").first())
        .collect()
    )
    if not targets_of_runs.is_empty():
        return targets_of_runs
    has_metric = pl.col("target_metric").is_not_null()
    return runs.filter(pl.col("target_value").is_finite(), has_metric).select(
        *RUN,
        pl.col("target_metric").alias("metric"),
        "target_value",
        pl.lit(None, pl.Boolean).alias("higher_is_better"),
    )


def judge(
    sides: tuple[pl.DataFrame, pl.DataFrame],
    target_tables: Sequence[pl.DataFrame],
    rows: tuple[pl.LazyFrame, pl.LazyFrame],
) -> JudgedPair:
    """Return the runs of two sides judged by one target, the strictest that suits both.

    That is the strictest at which every run that reached its own target is seen to arrive, at the
    first evaluation that meets it. Where one side has no target and reached nothing, it is that of
    the other. `target_tables` are the `targets` of A and of B, `rows` their tidy tables.
    """
    own_targets = [
        table.join(runs.select(RUN), on=RUN, how="semi")
        for table, runs in zip(target_tables, sides, strict=True)
    ]
    distinct_values = pl.col("target_value").unique().sort()
    values_a, values_b = (
        dict(sorted(table.group_by("metric").agg(distinct_values).iter_rows()))
        for table in own_targets
    )
    if values_a and values_b:
        text_a, text_b = _values_text(values_a), _values_text(values_b)
        if set(values_a) != set(values_b):
            text = f"A's target is {text_a}, B's is {text_b}"
            return *sides, NOT_COMPARABLE, text
        if all(_are_equal([*values_a[metric], *values_b[metric]]) for metric in values_a):
            return *sides, None, ""
        text, targets_of_runs = f"A's target is {text_a}, B's {text_b}", pl.concat(own_targets)
    else:
        index, values = 0 if own_targets[0].is_empty() else 1, values_a or values_b
        if not values or sides[index]["reached"].any():  # success decides
            return *sides, None, ""
        name, other = "AB"[index], "BA"[index]
        text = f"{name} has no target, {other}'s is {_values_text(values)}"
        logged = rows[index].join(sides[index].lazy(), on=RUN, how="semi").select("metric")
        if not set(values) <= set(logged.collect()["metric"]):
            return *sides, NOT_COMPARABLE, f"{text}, of which {name} logs nothing"
        targets_of_runs = own_targets[1 - index]
    for candidate in _strictest_first(targets_of_runs):
        if (judged_sides := _judge_again(sides, rows, candidate)) is not None:
            at = ", ".join(f"{target.metric} {target.value:g}" for target in candidate)
            return *judged_sides, None, f"{text}; both are compared at {at}"
    text += "; the evaluations do not allow a common target"
    return *sides, NOT_COMPARABLE, text


def _are_equal(values: Sequence[float]) -> bool:
    """Return whether targets differ by float32 rounding at most."""
    return max(values) - min(values) <= TOLERANCE * max(map(abs, values))


def _values_text(values: Mapping[str, Sequence[float]]) -> str:
    return ", ".join(
        f"{metric} {' or '.join(f'{value:g}' for value in targets)}"
        for metric, targets in values.items()
    )


def _strictest_first(own_targets: pl.DataFrame) -> Iterator[tuple[UserTarget, ...]]:
    """Yield targets of all metrics from the strictest to the laxest of either side."""
    target_lists = []
    for metric, targets in own_targets.group_by("metric", maintain_order=True):
        is_higher = is_upwards(targets)
        column = targets.get_column("target_value").unique().sort(descending=is_higher)
        target_lists.append([UserTarget(value, str(metric[0]), is_higher) for value in column])
    for step in zip_longest(*target_lists):
        laxest = (column[-1] for column in target_lists)
        yield tuple(target or last for target, last in zip(step, laxest, strict=True))


def _judge_again(
    sides: Sequence[pl.DataFrame], rows: Sequence[pl.LazyFrame], candidate: Sequence[UserTarget]
) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """Return both sides by other targets; None if the success of a run cannot be seen."""
    judged_sides = []
    for runs, evaluations in zip(sides, rows, strict=True):
        order = runs.select(RUN)
        rows_of_runs = evaluations.join(order.lazy(), on=RUN, how="semi", maintain_order="left")
        judged_runs = axis.converted(
            time_to_target.runs(rows_of_runs, candidate), axis.axis_of(runs)
        )
        judged_runs = order.join(judged_runs, on=RUN, how="left", maintain_order="left")
        reached = judged_runs["reached"].fill_null(value=False)
        has_time = ~reached | judged_runs["tta_seconds"].is_not_null()
        if not ((reached | ~runs["reached"]) & has_time).all():
            return None
        judged_sides.append(judged_runs)
    return judged_sides[0], judged_sides[1]


def remark(named_texts: Iterable[tuple[str, str]]) -> Iterator[Note]:
    """Yield a note on groups with different targets, each a name and a text."""
    groups: dict[str, list[str]] = {}
    for name, text in named_texts:
        if text:
            groups.setdefault(text, []).append(name)
    if groups:
        group_texts = [f"{text} ({units.join_names(names)})" for text, names in groups.items()]
        yield note("targets_differ", groups=group_texts)
