"""What of each step goes to which part and kind of work, so that two profiles can be compared?"""

from __future__ import annotations

from typing import Literal

import polars as pl

from ttastats.traces import answers, categories

#: By what computing is told apart: kinds of work, or single operators.
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


def samples(rows: pl.DataFrame, by: By = "work") -> pl.DataFrame:
    """Return one row for each step, or for each profile where there are several.

    `whole step` is its length; the other columns sum to it: the parts of a step, and in the
    place of computing its kinds of work. Ranks are averaged; what a step does not have is 0.
    """
    found = _steps(rows, by) if rows["profile_id"].n_unique() == 1 else of_profiles(rows, by)
    return found.fill_null(0.0)


def of_profiles(rows: pl.DataFrame, by: By = "work") -> pl.DataFrame:
    """Return one row for each profile, as `samples` does."""
    found = [_steps(own, by).mean() for _, own in answers.profiles(rows)]
    return pl.concat(found, how="diagonal").fill_null(0.0)


def samples_of_step(rows: pl.DataFrame) -> float | None:
    """Return the samples of a step of all workers together, where the profiles tell one number."""
    batch = answers.measures(rows, "batch_size")["value"].drop_nulls().unique()
    return float(batch[0]) * workers(rows) if batch.len() == 1 else None


def workers(rows: pl.DataFrame) -> int:
    """Return how many processes share a step."""
    told = answers.measures(rows, "world_size")["value"].to_list()
    shared = answers.measures(rows, "workers_step_seconds")["of"].to_list()
    ranks = rows["rank"].drop_nulls().n_unique()
    return max(1, ranks, *(int(number) for number in (*told, *shared) if number))


def _steps(own: pl.DataFrame, by: By) -> pl.DataFrame:
    steps = answers.steps(own)
    parts = [
        steps.select(*_KEYS, pl.col(measure).alias(name))
        for name, measure in answers.PARTS.items()
        if name != "compute"
    ]
    whole = steps.select(*_KEYS, pl.col("step_seconds").alias(WHOLE), "compute_seconds")
    work = answers.at_work(own)
    if not answers.runs_on_device(own):
        work = work.filter(~pl.col("category").is_in(_BESIDES))
    kinds = work.group_by(*_KEYS, _NAMES[by].alias("name")).agg(pl.col("seconds").sum())
    kinds = (
        kinds.join(whole, on=_KEYS, nulls_equal=True)
        .sort(*_KEYS, "name")
        .with_columns(
            seconds=pl.col("seconds")
            / pl.col("seconds").sum().over(_KEYS)
            * pl.col("compute_seconds")
        )
    )
    wide = kinds.pivot("name", index=_KEYS, values="seconds", aggregate_function="sum")
    found = whole.select(*_KEYS, WHOLE)
    for one in (*parts, wide):
        found = found.join(one, on=_KEYS, how="left", nulls_equal=True)
    of_steps = found.fill_null(0.0).group_by("step", maintain_order=True).mean()
    return of_steps.drop(_KEYS)
