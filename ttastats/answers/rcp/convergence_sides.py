"""Which runs of an entry are held against which runs of the reference?"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.rcp import convergence_rules
from ttastats.answers.rcp.convergence_rules import ConvergenceRules, Library, Point, Record
from ttastats.base import benchmarks
from ttastats.base.benchmarks import FEWEST_SAMPLES, canonical_name
from ttastats.outcomes import time_to_target
from ttastats.outcomes.time_to_target import PROGRESS, evaluation_interval
from ttastats.stats import convergence
from ttastats.stats.convergence import Reference, WeightedRuns
from ttastats.stats.moments import mean
from ttastats.stats.outcomes import Epochs, Outcomes, make_outcomes
from ttastats.table import schema

Unit = Literal["epochs", "samples", "steps"]
#: Its checkpoints may be evaluated long after the run: the first that meets the targets counts.
_EVALUATED_LATER = "stable_diffusion"


class Entry(Struct, frozen=True, eq=False):
    """Runs of an entry, counted as the reference is; `n` of them, of one batch size or unknown.

    `converged` are those that say so themselves, None if one does not tell how far it trained.
    """

    outcomes: Outcomes | None
    converged: tuple[float, ...] | None
    n: int
    batch_size: int | None
    interval: float | None
    division: str | None


class BenchmarkReference(Struct, frozen=True, eq=False):
    """What holds for a benchmark under a ruleset: records, their unit, and official rules."""

    ruleset: str | None
    records: tuple[Record, ...]
    unit: Unit
    per_unit: int
    rules: ConvergenceRules
    points: tuple[Point, ...]


class FoundReference(Struct, frozen=True, eq=False):
    """The reference at a batch size, how it was found, and the records it rests on."""

    how: Literal["measured", "interpolated", "smallest"]
    records: tuple[str, ...]
    reference: Reference


def benchmark_of(
    library: Library, suite: str | None, ruleset: str | None, benchmark: str | None
) -> BenchmarkReference | str:
    """Return the reference of a benchmark, or why it has none."""
    round_ = f"v{ruleset.removesuffix('.0')}" if ruleset else None
    every = library(suite, ruleset)
    # A benchmark may be named as the logs of its round name it.
    names = (
        name for name in every
        if name != benchmark and canonical_name(suite or "", name, round_) == benchmark
    )  # fmt: skip
    records = every.get(benchmark or "") or every.get(next(names, ""), ())
    if not records:
        of = f" under ruleset {ruleset}" if ruleset else ", and its round is unknown"
        return f"no reference record of {benchmark or 'an unknown benchmark'}{of}"
    known = benchmarks.benchmarks_by_name(suite or "").get(benchmark or "")
    goals = benchmarks.targets(suite or "", benchmark or "", round_)
    # Where no rule says how many runs a submission makes: the reference makes twice as many.
    number = goals[0].runs if goals else max(len(record.values) for record in records) // 2
    rules = convergence_rules.rules(benchmark or "", ruleset, number)
    many = min(record.values[0] for record in records) >= FEWEST_SAMPLES
    unit: Unit = "samples" if many else records[0].unit
    if known and unit != "samples":
        unit = known.progress  # epochs of samples or tokens, or steps
    # The official checker counts steps of stable_diffusion in 3.1.0, and samples in later rulesets.
    if known and known.name == _EVALUATED_LATER and ruleset == "3.1.0" and not many:
        unit = "steps"
    return BenchmarkReference(
        ruleset,
        records,
        unit,
        (known.tokens_per_sample or 1) if known else 1,
        rules,
        convergence_rules.points(records, rules),
    )


def officially_counted(runs: pl.DataFrame, rows: pl.LazyFrame) -> pl.DataFrame:
    """Return the runs with their progress as the official checker counts it.

    It counts to the end of the run, but of stable_diffusion to the first checkpoint, by its
    progress, that met the targets. `rows` are the rows from which the table was made.
    """
    late = pl.col("benchmark") == _EVALUATED_LATER
    if not runs.select(late.any()).item():
        return runs
    least = time_to_target.least_progress(rows.filter(late))
    names = [name for name, _ in PROGRESS]
    beside = runs.join(least, on=schema.RUN, how="left", suffix="_least", maintain_order="left")
    counts = {
        name: pl.when("reached").then(pl.coalesce(f"{name}_least", name)).otherwise(name)
        for name in names
    }
    return beside.with_columns(**counts).drop(f"{name}_least" for name in names)


def entry_of(group: pl.DataFrame, held: BenchmarkReference) -> Entry:
    """Return the convergence of an entry's runs, counted as the reference's is."""
    # Series: expressions would take most of the time of a table of many entries.
    progress = (group.get_column(held.unit).cast(pl.Float64) * held.per_unit).round(3)
    reached, status = group.get_column("reached"), group.get_column("run_status")
    values = progress.filter(reached)
    interval = evaluation_interval(group, dict(PROGRESS)[held.unit]) if values.len() else None
    interval = interval * held.per_unit if interval else None
    compared = None
    if values.len() and not values.null_count():
        amounts = progress.fill_null(0.0).to_numpy()
        of_solved = Epochs(values.to_numpy(), interval)
        compared = make_outcomes(amounts, reached.to_numpy(), progress=of_solved)
    # The official check takes the word of a run's log for it.
    by_word = progress.filter((status == "success") | ((status == "unknown") & reached))
    converged = None if by_word.null_count() else tuple(by_word.to_list())
    size, division = batch_size_of(group), _common_value(group, "division")
    return Entry(compared, converged, group.height, size, interval, division)


def _common_value(group: pl.DataFrame, name: str) -> Any:
    values = group.get_column(name)  # `unique` takes a hundred times as long
    return values[0] if values.n_unique() == 1 else None


def batch_size_of(group: pl.DataFrame) -> int | None:
    """Return the batch size of all runs, None if unknown or different."""
    size = _common_value(group, "global_batch_size")
    return int(size) if size is not None and size > 0 else None


def reference_at(
    held: BenchmarkReference, size: int, interval: float | None
) -> FoundReference | str:
    """Return the reference at a batch size, or why there is none.

    Measured runs come first, also where the official check leaves their record out; it is
    interpolated between the records next to it, and below the smallest the smallest one stands.
    `interval` is the entry's, for a reference that never varied.
    """
    below = [record for record in held.records if record.batch_size < size]
    rest = held.records[len(below) :]
    if not rest:
        return f"batch size {size:,} is above the largest record ({below[-1].batch_size:,})"
    high, measured = rest[0], rest[0].batch_size == size
    values = {record: np.array(record.values) for record in held.records}
    if measured or not below:
        step = convergence.smallest_step(values[high]) or interval
        reference = Reference((WeightedRuns(values[high]),), step)
        return FoundReference("measured" if measured else "smallest", (high.name,), reference)
    low = below[-1]
    position = (size - low.batch_size) / (high.batch_size - low.batch_size)
    means = {record.batch_size: mean(values[record]) for record in held.records}
    misfit = convergence.interpolation_errors([*means], [*means.values()])
    reference = convergence.interpolate_reference(values[low], values[high], position, misfit)
    reference = replace(reference, interval=reference.interval or interval)
    return FoundReference("interpolated", (low.name, high.name), reference)
