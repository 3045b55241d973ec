"""What do the rows of a profile come to: where a step goes, which operators take it, on which rank?

All numbers are for one step of one rank: means over the steps, and over the ranks unless a
rank is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Literal

import polars as pl

from ttastats.traces import categories, table

#: The parts of a step, in the order of reports: the measure that holds each.
PARTS = {
    "compute": "compute_seconds",
    "communication": "exposed_seconds",
    "copies": "copy_seconds",
    "input": "input_seconds",
    "host": "host_seconds",
    "idle": "idle_seconds",
}

#: By what computing is divided: kinds of work, or single operators.
By = Literal["work", "operator"]
_NAMES: dict[By, pl.Expr] = {
    "work": pl.col("category"),
    "operator": pl.coalesce("operator", "name"),
}
#: Work of the host that is not computing, where the host is what computes.
_BESIDES = (categories.OTHER, categories.COMMUNICATION, categories.INPUT)
_KEYS = ("rank", "step")
#: The name of the length of a step.
WHOLE = "whole step"


def profiles(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the rows of each profile with its name, in order."""
    for (_, name), profile in rows.group_by("profile_id", "profile", maintain_order=True):
        yield str(name or "profile"), profile


def measure_rows(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the rows of a measure."""
    return rows.filter(kind="measure", name=name)


def step_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per rank and step, with a column for each measure of steps."""
    of_steps = rows.filter((pl.col("kind") == "measure") & pl.col("step").is_not_null())
    names = ("step_seconds", "communication_seconds", *PARTS.values())
    wide = of_steps.group_by("rank", "step").agg(
        pl.col("value").filter(pl.col("name") == name).first().alias(name) for name in names
    )
    return wide.sort("rank", "step")


def compute_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of kernels, or of operators if the profile has no kernels."""
    kernels = rows.filter(kind="kernel")
    return kernels if kernels["seconds"].count() else rows.filter(kind="operator")


def _computing(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the computing time of a step."""
    work = compute_rows(rows)
    return work if runs_on_device(rows) else work.filter(~pl.col("category").is_in(_BESIDES))


def runs_on_device(rows: pl.DataFrame) -> bool:
    """Return whether the profiled steps ran kernels on a device."""
    return bool(rows.filter(pl.col("kind").is_in(table.KERNELS))["seconds"].count())


def step_count(rows: pl.DataFrame) -> int:
    """Return the number of steps in the rows, over all ranks."""
    return max(step_table(rows).height, 1)


def compute_bound_share(rows: pl.DataFrame) -> float | None:
    """Return the share of computing time in operators whose time grows with arithmetic.

    They are known by what they are: convolutions, matrix products, attention.
    """
    work = _computing(rows)
    total = float(work["seconds"].sum())
    bound = work.filter(pl.col("category").is_in(categories.COMPUTE_BOUND))
    return float(bound["seconds"].sum()) / total if total else None


def mean_of_known(values: pl.Series) -> float | None:
    """Return the mean without nulls, or None if all are null."""
    average = values.mean()
    return float(average) if isinstance(average, int | float) else None


def peak(rows: pl.DataFrame, name: str) -> float | None:
    """Return the highest measured peak of a kind, or None; FLOP/s of the profile's precision."""
    values = measure_rows(rows, name)
    precision = measure_rows(rows, "precision")["text"].drop_nulls()
    if name == "peak_flops" and precision.len():
        values = values.filter(pl.col("of").is_in(precision.to_list()))
    highest = values["value"].max()
    return float(highest) if isinstance(highest, int | float) else None


def operator_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each operator: calls, seconds, FLOPs and bytes of a step, and its share.

    On a device seconds are those of the kernels it launched; a kernel without a known launcher
    stands for itself.
    """
    keyed = compute_rows(rows).with_columns(operator=pl.coalesce("operator", "name"))
    by_name = rows.filter(kind="operator").group_by(operator="name")
    moved = by_name.agg(pl.col("bytes").sum() / step_count(rows))
    category = pl.col("category").sort_by("seconds").last()
    has_intensity = (pl.col("flops") > 0) & (pl.col("bytes") > 0)
    grouped = _work_by("operator", keyed, step_count(rows), category)
    return grouped.join(moved, on="operator", how="left", maintain_order="left").with_columns(
        intensity=pl.when(has_intensity).then(pl.col("flops") / pl.col("bytes"))
    )


def category_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each category of work, as `operator_table` does for operators."""
    return _work_by("category", compute_rows(rows), step_count(rows))


def _work_by(key: str, work: pl.DataFrame, steps: int, *sums: pl.Expr) -> pl.DataFrame:
    """Return calls, seconds, FLOPs and the share of a step by a key, the longest first.

    A time of 0 was too short for its clock, so that it has no rate.
    """
    tensor = pl.col("seconds").filter(pl.col("tensor_core")).sum()
    is_tensor_known = (pl.col("tensor_core").count() > 0) & (pl.col("seconds").sum() > 0)
    grouped = work.group_by(key).agg(
        *sums,
        *(pl.col(name).sum() / steps for name in ("calls", "seconds", "flops")),
        tensor_core_share=pl.when(is_tensor_known).then(tensor / pl.col("seconds").sum()),
    )
    grouped = grouped.sort("seconds", key, descending=[True, False])
    total = grouped["seconds"].sum()
    has_rate = (pl.col("flops") > 0) & (pl.col("seconds") > 0)
    return grouped.with_columns(
        share=pl.col("seconds") / total if total else None,
        flops_per_second=pl.when(has_rate).then(pl.col("flops") / pl.col("seconds")),
    )


def rank_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each rank: its step, its own work, and its time waiting for others.

    The slowest, for which the others wait in their collectives, is the one with most work.
    """
    by_rank = (
        step_table(rows)
        .group_by("rank")
        .agg(
            pl.len().alias("n"),
            pl.col("step_seconds").mean(),
            pl.col("step_seconds").std().alias("step_std"),
            (pl.col("step_seconds") - pl.col("exposed_seconds")).mean().alias("work_seconds"),
            pl.col("compute_seconds", "communication_seconds", "exposed_seconds").mean(),
            waiting=pl.sum_horizontal("idle_seconds", "host_seconds", "input_seconds").mean(),
        )
    )
    work = pl.col("work_seconds")
    comparison = {"skew": work / work.mean() - 1, "slowest": work == work.max()}
    return by_rank.sort("rank").with_columns(**comparison)


#: A batch size is large enough when twice as many samples a step give less than so much more.
GAIN = 0.05


def doubling_gains(throughputs: Mapping[int, float]) -> dict[int, float]:
    """Return the gain in throughput per doubling up to each batch size from the next smaller one.

    `throughputs` are samples per second by batch size; the smallest batch has no gain.
    """
    return {
        large: (throughputs[large] / throughputs[small]) ** (1 / math.log2(large / small)) - 1
        for small, large in pairwise(sorted(throughputs))
    }


def saturation_point(throughputs: Mapping[int, float]) -> int | None:
    """Return the first batch size from which doubling gains less than `GAIN`, or None."""
    gains, steps = doubling_gains(throughputs), pairwise(sorted(throughputs))
    return next((small for small, large in steps if gains[large] < GAIN), None)


def sample_table(rows: pl.DataFrame, by: By = "work") -> pl.DataFrame:
    """Return one row for each step, or for each profile if there are several.

    `whole step` is its length; the other columns sum to it, with kinds of work in the place of
    computing. Ranks are averaged; what a step does not have is 0.
    """
    if rows["profile_id"].n_unique() > 1:
        return profile_table(rows, by)
    return _time_by_step(rows, by).fill_null(0.0)


def profile_table(rows: pl.DataFrame, by: By = "work") -> pl.DataFrame:
    """Return one row for each profile, with the columns of `sample_table`."""
    means = [_time_by_step(profile, by).mean() for _, profile in profiles(rows)]
    return pl.concat(means, how="diagonal").fill_null(0.0)


def samples_per_step(rows: pl.DataFrame) -> float | None:
    """Return the samples of a step of all workers together, or None if profiles differ."""
    batch = measure_rows(rows, "batch_size")["value"].drop_nulls().unique()
    return float(batch[0]) * worker_count(rows) if batch.len() == 1 else None


def worker_count(rows: pl.DataFrame) -> int:
    """Return the number of processes that share a step."""
    stated = measure_rows(rows, "world_size")["value"].to_list()
    shared = measure_rows(rows, "workers_step_seconds")["of"].to_list()
    ranks = rows["rank"].drop_nulls().n_unique()
    return max(1, ranks, *(int(number) for number in (*stated, *shared) if number))


def _time_by_step(rows: pl.DataFrame, by: By) -> pl.DataFrame:
    """Return the time by step, rank and a key, such as part or category."""
    of_steps = step_table(rows)
    kinds = _computing(rows).group_by(*_KEYS, _NAMES[by].alias("name")).agg(pl.col("seconds").sum())
    share = pl.col("seconds") / pl.col("seconds").sum().over(_KEYS)
    kinds = kinds.join(of_steps, on=_KEYS, nulls_equal=True).sort(*_KEYS, "name")
    kinds = kinds.with_columns(seconds=share * pl.col("compute_seconds"))
    wide = kinds.pivot("name", index=_KEYS, values="seconds", aggregate_function="sum")
    columns = {WHOLE: "step_seconds"} | {name: PARTS[name] for name in PARTS if name != "compute"}
    parts = of_steps.select(*_KEYS, *(pl.col(of).alias(name) for name, of in columns.items()))
    times = parts.join(wide, on=_KEYS, how="left", nulls_equal=True)
    means = times.fill_null(0.0).group_by("step", maintain_order=True).mean()
    return means.drop(_KEYS)
