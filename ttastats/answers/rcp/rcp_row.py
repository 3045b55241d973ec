"""What does an entry come to beside the reference, by its ratio and by the official check?"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import polars as pl
from msgspec import Struct, structs

from ttastats.answers.rcp import convergence_rules
from ttastats.answers.rcp.convergence_rules import (
    ConvergenceRules,
    Library,
    Point,
    Record,
    ruleset_of,
)
from ttastats.answers.score import scaling_factor
from ttastats.base import benchmarks
from ttastats.base.benchmarks import FEWEST_SAMPLES, canonical_name
from ttastats.outcomes import time_to_target
from ttastats.outcomes.time_to_target import PROGRESS, evaluation_interval
from ttastats.report.keys import High, LeftOutKeys, Low, ReachedCount, RunCount
from ttastats.report.row import Key, Number, Row
from ttastats.stats import convergence
from ttastats.stats.convergence import Reference, WeightedRuns
from ttastats.stats.moments import coefficient_of_variation, mean
from ttastats.stats.outcomes import Epochs, Outcomes, make_outcomes
from ttastats.stats.results import Verdict
from ttastats.table import schema

Unit = Literal["epochs", "samples", "steps"]
#: Its checkpoints may be evaluated long after the run: the first that meets the targets counts.
_EVALUATED_LATER = "stable_diffusion"

#: Sides that differ by more than this factor are counted in different units.
_FAR = 20.0
_WORDS = {True: "passed", False: "failed"}

_Mean = Annotated[Number, Key("mean of what runs needed to the target", "unit")]
_Cv = Annotated[Number, Key("its coefficient of variation", "fraction")]
_Interval = Annotated[Number, Key("distance of two evaluations", "unit")]
_Early = Annotated[
    int | None, Key("runs that stopped an evaluation or more before the reference's median", "runs")
]
_Share = Annotated[Number, Key("share of simulated submissions", "fraction")]


class RcpOptions(Struct, frozen=True, kw_only=True):
    """How entries are held against the reference: the options of `api.rcp`."""

    ruleset: str
    confidence: float
    bypass: bool
    draws: int
    seed: int
    verbose: bool


class RcpRow(Row, frozen=True, kw_only=True):
    """An entry beside the reference runs at its batch size; `status` says why some are unknown."""

    ruleset: Annotated[str | None, Key("ruleset of the reference records")] = None
    batch_size: Annotated[int | None, Key("global batch size of all runs", "samples")]
    unit: Annotated[Unit | None, Key("what is counted to the target")] = None
    n: RunCount
    reached: ReachedCount
    entry_mean: _Mean = None
    entry_cv: _Cv = None
    reference: Annotated[str | None, Key("`measured`, `interpolated` or `smallest`")] = None
    reference_n: Annotated[int | None, Key("runs of the reference", "runs")] = None
    reference_mean: _Mean = None
    reference_cv: _Cv = None
    reference_records: Annotated[tuple[str, ...] | None, Key("names of its records")] = None
    ratio: Annotated[Number, Key("mean of the entry over that of the reference", "ratio")] = None
    low: Low = None
    high: High = None
    confidence: Annotated[float, Key("confidence of the interval", "fraction")]
    verdict: Annotated[str, Key("whether the entry converges earlier or later")] = (
        Verdict.NO_REFERENCE.value
    )
    status: Annotated[str | None, Key("why there is no verdict, interval or reference")] = None
    interval: _Interval = None
    reference_interval: _Interval = None
    early: _Early = None
    reference_early: _Early = None
    submission_runs: Annotated[int | None, Key("runs of a submission", "runs")] = None
    reference_fails: _Share = None
    faster_5_passes: _Share = None
    faster_10_passes: _Share = None
    draws: Annotated[int, Key("simulated submissions", "submissions")]
    seed: Annotated[int, Key("seed of the simulation")]
    official_verdict: Annotated[
        str | None, Key("`passed`, `failed` or `passed by bypass` by the official check")
    ] = None
    official_factor: Annotated[Number, Key("factor on the time by the check", "ratio")] = None
    official_reason: Annotated[str | None, Key("reason of the official checker")] = None
    official_mean: Annotated[Number, Key("olympic mean of the entry", "unit")] = None
    official_limit: Annotated[Number, Key("lowest mean that is passed", "unit")] = None
    official_reference_mean: Annotated[
        Number, Key("mean of the reference by the check", "unit")
    ] = None
    official_as_written: Annotated[str | None, Key("verdict by the rules as they are written")] = (
        None
    )
    published_factor: Annotated[Number, Key("factor of `scaling.json`", "ratio")]
    left_out: LeftOutKeys = LeftOutKeys()


def row_maker(
    library: Library, options: RcpOptions
) -> Callable[[dict[str, Any], pl.DataFrame], RcpRow]:
    """Return a function to make the row of an entry from its keys and runs."""
    benchmark_by_kind = cache(lambda *kind: benchmark_of(library, *kind))
    reference_by_size = cache(reference_at)
    rates = cache(lambda *point: _pass_rates(options, *point))

    def row_of(keys: dict[str, Any], group: pl.DataFrame) -> RcpRow:
        size = common_value(group, "global_batch_size")
        row = RcpRow(
            keys=keys,
            confidence=options.confidence,
            draws=options.draws,
            seed=options.seed,
            n=group.height,
            reached=int(group.get_column("reached").sum()),
            batch_size=int(size) if size is not None and size > 0 else None,
            published_factor=scaling_factor(group),
        )
        kinds = [group.get_column(name) for name in ("suite", "round", "benchmark")]
        if any(kind.n_unique() > 1 for kind in kinds):
            return structs.replace(row, status="several benchmarks or rounds in one group")
        suite, round_, benchmark = (kind[0] for kind in kinds)
        ruleset = options.ruleset or ruleset_of(round_)
        held = benchmark_by_kind(suite, ruleset, benchmark)
        if isinstance(held, str):
            return structs.replace(row, ruleset=ruleset, status=held)
        outcomes, converged, interval = entry_of(group, held)
        row = structs.replace(row, ruleset=ruleset, unit=held.unit)
        if (common_value(group, "division") or "closed").lower() == "open":
            # A division with rules of its own.
            row = structs.replace(row, official_reason="open division: not checked")
        else:
            official = _official_numbers(row, converged, held, bypass=options.bypass)
            row = structs.replace(row, **official)
        if row.batch_size is None:
            return structs.replace(row, status="batch size unknown, or several batch sizes")
        match = reference_by_size(held, row.batch_size, interval)
        if isinstance(match, str):
            return structs.replace(row, status=match)
        origin, records, reference = match
        row = structs.replace(
            row,
            reference=origin,
            reference_records=records,
            interval=interval,
            **rates(held, row.batch_size, reference),
        )
        return structs.replace(row, **_compared_numbers(row, outcomes, reference))

    return row_of


class BenchmarkReference(Struct, frozen=True, eq=False):
    """The reference of a benchmark under a ruleset: records, their unit, and official rules."""

    ruleset: str | None
    records: tuple[Record, ...]
    unit: Unit
    per_unit: int
    rules: ConvergenceRules
    points: tuple[Point, ...]


def benchmark_of(
    library: Library, suite: str | None, ruleset: str | None, benchmark: str | None
) -> BenchmarkReference | str:
    """Return the reference of a benchmark, or the reason for none."""
    round_ = f"v{ruleset.removesuffix('.0')}" if ruleset else None
    all_records = library(suite, ruleset)
    # A benchmark may be named as the logs of its round name it.
    names = (
        name for name in all_records
        if name != benchmark and canonical_name(suite or "", name, round_) == benchmark
    )  # fmt: skip
    records = all_records.get(benchmark or "") or all_records.get(next(names, ""), ())
    if not records:
        of = f" under ruleset {ruleset}" if ruleset else ", and its round is unknown"
        return f"no reference record of {benchmark or 'an unknown benchmark'}{of}"
    benchmark_record = benchmarks.benchmarks_by_name(suite or "").get(benchmark or "")
    goals = benchmarks.targets(suite or "", benchmark or "", round_)
    # Where no rule says how many runs a submission makes: the reference makes twice as many.
    number = goals[0].runs if goals else max(len(record.values) for record in records) // 2
    rules = convergence_rules.rules(benchmark or "", ruleset, number)
    many = min(record.values[0] for record in records) >= FEWEST_SAMPLES
    unit: Unit = "samples" if many else records[0].unit
    if benchmark_record and unit != "samples":
        unit = benchmark_record.progress  # epochs of samples or tokens, or steps
    # The official checker counts steps of stable_diffusion in 3.1.0, and samples in later rulesets.
    if (
        benchmark_record
        and benchmark_record.name == _EVALUATED_LATER
        and ruleset == "3.1.0"
        and not many
    ):
        unit = "steps"
    return BenchmarkReference(
        ruleset,
        records,
        unit,
        (benchmark_record.tokens_per_sample or 1) if benchmark_record else 1,
        rules,
        convergence_rules.points(records, rules),
    )


def officially_counted(runs: pl.DataFrame, rows: pl.LazyFrame) -> pl.DataFrame:
    """Return the runs with their progress as the official checker counts it.

    It counts to the end of the run, but of stable_diffusion to the first checkpoint, by its
    progress, that met the targets. `rows` are the rows from which the table was made.
    """
    is_late = pl.col("benchmark") == _EVALUATED_LATER
    if not runs.select(is_late.any()).item():
        return runs
    least_progress = time_to_target.least_progress(rows.filter(is_late))
    names = [name for name, _ in PROGRESS]
    with_least = runs.join(
        least_progress, on=schema.RUN, how="left", suffix="_least", maintain_order="left"
    )
    counts = {
        name: pl.when("reached").then(pl.coalesce(f"{name}_least", name)).otherwise(name)
        for name in names
    }
    return with_least.with_columns(**counts).drop(f"{name}_least" for name in names)


def entry_of(
    group: pl.DataFrame, held: BenchmarkReference
) -> tuple[Outcomes | None, tuple[float, ...] | None, float | None]:
    """Return the convergence of an entry's runs, the cost of each, and their evaluation interval.

    All is counted as the reference's runs are. What is needed is that of runs that say themselves
    that they converged, None if one does not tell how far it trained.
    """
    # Series: expressions would take most of the time of a table of many entries.
    progress = (group.get_column(held.unit).cast(pl.Float64) * held.per_unit).round(3)
    reached, status = group.get_column("reached"), group.get_column("run_status")
    values = progress.filter(reached)
    interval = evaluation_interval(group, dict(PROGRESS)[held.unit]) if values.len() else None
    interval = interval * held.per_unit if interval else None
    outcomes = None
    if values.len() and not values.null_count():
        amounts = progress.fill_null(0.0).to_numpy()
        of_solved = Epochs(values.to_numpy(), interval)
        outcomes = make_outcomes(amounts, reached.to_numpy(), progress=of_solved)
    # The official check takes the word of a run's log for it.
    by_word = progress.filter((status == "success") | ((status == "unknown") & reached))
    return outcomes, None if by_word.null_count() else tuple(by_word.to_list()), interval


def common_value(group: pl.DataFrame, name: str) -> Any:
    """Return the common value of all runs in a column, or None."""
    values = group.get_column(name)  # `unique` takes a hundred times as long
    return values[0] if values.n_unique() == 1 else None


FoundReference: TypeAlias = tuple[
    Literal["measured", "interpolated", "smallest"], tuple[str, ...], Reference
]
"""The origin of the reference at a batch size, the names of its records, and the reference."""


def reference_at(
    held: BenchmarkReference, size: int, interval: float | None
) -> FoundReference | str:
    """Return the reference at a batch size, or the reason for none.

    Measured runs come first, also where the official check leaves their record out; it is
    interpolated between the records next to it, and below the smallest the smallest one stands.
    `interval` is the entry's, for a reference that never varied.
    """
    smaller = [record for record in held.records if record.batch_size < size]
    larger = held.records[len(smaller) :]
    if not larger:
        return f"batch size {size:,} is above the largest record ({smaller[-1].batch_size:,})"
    high, measured = larger[0], larger[0].batch_size == size
    values = {record: np.array(record.values) for record in held.records}
    if measured or not smaller:
        step = convergence.smallest_step(values[high]) or interval
        reference = Reference((WeightedRuns(values[high]),), step)
        return "measured" if measured else "smallest", (high.name,), reference
    low = smaller[-1]
    position = (size - low.batch_size) / (high.batch_size - low.batch_size)
    means = {record.batch_size: mean(values[record]) for record in held.records}
    misfit = convergence.interpolation_errors([*means], [*means.values()])
    reference = convergence.interpolate_reference(values[low], values[high], position, misfit)
    reference = structs.replace(reference, interval=reference.interval or interval)
    return "interpolated", (low.name, high.name), reference


def _official_numbers(
    row: RcpRow, converged: tuple[float, ...] | None, held: BenchmarkReference, *, bypass: bool
) -> dict[str, Any]:
    """Return the official verdict on runs by their costs to converge."""
    if converged is None:
        return {"official_reason": f"the runs do not log their {held.unit}"}
    failed, size = row.n - len(converged), row.batch_size
    verdict, as_written = (
        convergence_rules.check(converged, failed, size, held.points, rules, bypass=bypass)
        for rules in (held.rules, convergence_rules.as_written(held.rules, held.ruleset))
    )
    if verdict.reason == "too few runs":
        return {"official_reason": f"too few runs: {held.rules.runs} required"}
    return {
        "official_verdict": "passed by bypass" if verdict.bypassed else _WORDS[verdict.passed],
        "official_reason": verdict.reason,
        "official_factor": verdict.factor,
        "official_mean": verdict.mean,
        "official_limit": verdict.limit,
        "official_reference_mean": verdict.point.mean if verdict.point else None,
        "official_as_written": _WORDS[as_written.passed],
    }


def _compared_numbers(
    row: RcpRow, outcomes: Outcomes | None, reference: Reference
) -> dict[str, Any]:
    """Return the ratio of an entry over the reference at its batch size."""
    pooled = reference.pool()[0]
    numbers: dict[str, Any] = {
        "reference_n": reference.n,
        "reference_mean": reference.mean,
        "reference_cv": coefficient_of_variation(pooled),
        "reference_interval": reference.interval,
        "verdict": Verdict.UNAVAILABLE.value,
    }
    if outcomes is None:
        unlogged = f"the runs do not log their {row.unit}"
        return numbers | {"status": unlogged if row.reached else "no run reached the target"}
    ratio_test = convergence.convergence_ratio(outcomes, reference, confidence=row.confidence)
    reached_epochs = outcomes.times[outcomes.reached]
    ratio = ratio_test.ratio.estimate or 0.0
    numbers |= {
        "entry_mean": ratio_test.a.term.estimate if ratio_test.a else None,
        "entry_cv": coefficient_of_variation(reached_epochs),
        "early": convergence.stopped_early(reached_epochs, reference),
        "reference_early": convergence.stopped_early(pooled, reference),
    }
    if not 1 / _FAR < ratio < _FAR:
        return numbers | {"status": "entry and reference use different units"}
    numbers["ratio"], limits = ratio, ratio_test.limits(row.confidence, epochs=True)
    if limits is None or not math.isfinite(limits[1]):
        bounded = {"the entry": ratio_test.a, "the reference": ratio_test.b}
        equal_sides = [
            f" of {name}"
            for name, sample in bounded.items()
            if sample and math.isinf(sample.epoch_shift)
        ]
        runs = "all runs" if len(equal_sides) > 1 else f"all runs{''.join(equal_sides)}"
        reason = f"{runs} stopped at the same evaluation, and the evaluation interval is unknown"
        if any(sample is None or sample.n < 2 for sample in bounded.values()):
            reason = "2 runs are needed on each side"
        elif reference.misfit is not None and reference.misfit[0] is None:
            reason = "the interpolation error between only two records is unknown"
        return numbers | {"status": reason}
    low, high = limits
    verdict = Verdict.EARLIER if high < 1 else Verdict.LATER if low > 1 else Verdict.UNDECIDED
    return numbers | {"low": low, "high": high, "verdict": verdict.value}


def _pass_rates(
    options: RcpOptions, held: BenchmarkReference, batch_size: int, drawn: Reference
) -> dict[str, float | None]:
    """Return the pass rates of the official check for the reference and truly faster setups."""
    rules = held.rules
    point, _ = convergence_rules.reference(batch_size, held.points, rules)
    if point is None:
        return {}
    same_speed, faster_5, faster_10 = (
        convergence.pass_rate(
            drawn,
            point.limit - rules.slack,
            rules.runs,
            dropped=rules.dropped,
            faster=faster,
            draws=options.draws,
            rng=np.random.default_rng((options.seed, batch_size)),
        )
        for faster in (0.0, 0.05, 0.1)
    )
    return {
        "submission_runs": rules.runs,
        "reference_fails": None if same_speed is None else 1 - same_speed,
        "faster_5_passes": faster_5,
        "faster_10_passes": faster_10,
    }
