"""Which parts of a step account for the throughput part of a speedup?

The runs tell the throughput, profiles of the same two systems what a step takes. Each part of the
step is a factor of the ratio of two steps; what these leave of the throughput is one more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from math import log

import numpy as np
import polars as pl
from msgspec import Struct

from ttastats.base import percentages, units
from ttastats.base.codes import Note, note, wording
from ttastats.report import fields
from ttastats.report.cells import Column, Table, Text
from ttastats.report.row import Row
from ttastats.sides import setups
from ttastats.sides.comparison import Comparison
from ttastats.sides.numbers import SideNumbers
from ttastats.sides.pairing import Pair
from ttastats.stats.decision import side_of
from ttastats.stats.logratio import remaining_factor, sum_factors
from ttastats.stats.results import Ratio
from ttastats.traces import answers

#: Of A and of B, as far as known.
_SidePair = Sequence[float | None]
_STEP, _REST, _RUNS = "= step of the profiles", "× rest, not profiled", "= throughput of the runs"

#: Smaller shares are not worth a word.
_LEAST = 0.01


class Factor(Row, frozen=True):
    """A factor of the throughput, with its interval: seconds of A and of B, share of the log."""

    name: str
    a_seconds: float | None
    b_seconds: float | None
    factor: float | None
    factor_low: float | None
    factor_high: float | None
    share: float | None = None


class Explanation(Struct, frozen=True):
    """A throughput as a product of factors, with the notes to it.

    `parts` are those of the step; `whole` are the step of the profiles, the rest, and the
    throughput, or nothing where that is unknown.
    """

    notes: Sequence[Note]
    parts: Sequence[Factor] = ()
    whole: Sequence[Factor] = ()

    def numbers(self) -> Row:
        """Return the keys of a row, each with the name of its part in front."""
        named_factors = [*zip(("step", "rest"), self.whole, strict=False)]
        named_factors += [(row.name.replace(" ", "_"), row) for row in self.parts]
        return Row(
            keys={
                f"{name}_{key}": value
                for name, row in named_factors
                for key, value in row.to_dict().items()
                if key != "name"
            }
        )

    def sentence(self) -> str:
        """Return the main causes of the throughput in a sentence."""
        if not self.whole:
            return ""
        *_, rest_factor, runs_factor = self.whole
        if runs_factor.share is None:
            return "Its throughput is not significantly different, so no shares are shown."
        shares = [(row.name, row.share or 0.0) for row in self.parts[:3]]
        shares = [(name, share) for name, share in shares if abs(share) >= _LEAST]
        shares.append(("not in the profiles", rest_factor.share or 0.0))
        text = ", ".join(f"{name} {share:.2f}" for name, share in shares)
        ratio = units.significant(runs_factor.factor or 0.0)
        return f"Of the throughput's {ratio}, on a log scale: {text}."

    def tables(self, confidence: float) -> Iterator[Table]:
        """Yield the table of factors, if there is one."""
        if self.whole:
            columns: list[fields.Field[Factor]] = [
                fields.Field(Column("part of a step", names=True), lambda row: Text(row.name)),
                fields.number_field("A", "a_seconds", "seconds"),
                fields.number_field("B", "b_seconds", "seconds"),
                fields.number_field(
                    f"factor [{percentages.percent_text(confidence)}]",
                    "factor",
                    "ratio",
                    interval=True,
                ),
                fields.number_field("share of throughput", "share", "fraction"),
            ]
            rows = [*self.parts, *self.whole]
            yield fields.make_table(rows, columns, "the throughput as a product of factors")


def explain_throughput(
    comparison: Comparison, pair: Pair, profiles: Sequence[pl.DataFrame], confidence: float
) -> Explanation:
    """Return the throughput as a product of factors; `profiles` are rows of A and B."""
    runs = (pair.a, pair.b)
    mismatches = _mismatch_notes(profiles, runs)
    causes, axis = comparison.parts, comparison.axis
    throughput = causes.throughput if causes and axis.unit == "seconds" else None
    if throughput is None or not throughput.estimate:
        return Explanation([note("unexplained"), *mismatches])
    # The samples of a step of each side's profile, or of its runs, if both are known.
    samples: _SidePair = [
        answers.samples_per_step(rows) or _samples_per_step(side_runs)
        for rows, side_runs in zip(profiles, runs, strict=True)
    ]
    if comparison.progress_unit == "steps" or not all(samples):
        samples = (None, None)
    steps = [answers.profile_table(rows).drop(answers.WHOLE) for rows in profiles]
    names = [*dict.fromkeys(name for side in steps for name in side.columns)]
    step_table = pl.concat(steps, how="diagonal").select(names).fill_null(0.0).to_numpy()
    sides = [step_table[: steps[0].height], step_table[steps[0].height :]]
    per_sample = (side / (size or 1.0) for side, size in zip(sides, samples, strict=True))
    *ratios, step = sum_factors(*per_sample, confidence=confidence)
    means = [side.mean(axis=0).tolist() for side in sides]
    parts = [
        _factor_row(name, seconds, ratio, throughput)
        for name, ratio, *seconds in zip(names, ratios, *means, strict=True)
        if any(seconds)
    ]
    parts.sort(key=lambda row: -abs(log(row.factor or 1.0)))
    run_seconds = [
        _step_seconds_of_runs(side, side_runs, comparison.progress_unit, size)
        for side, side_runs, size in zip((comparison.a, comparison.b), runs, samples, strict=True)
    ]
    totals = (
        _factor_row(_STEP, [sum(side) for side in means], step, throughput),
        _factor_row(_REST, (None, None), remaining_factor(throughput, step), throughput),
        _factor_row(_RUNS, run_seconds, throughput, throughput),
    )
    notes = [*_factor_notes(step, samples, totals)]
    clocks = pl.concat(
        [answers.measure_rows(rows, "uninstrumented_step_seconds")["text"] for rows in profiles]
    )
    if any("CPU" in str(text) for text in clocks) and "cpu" not in axis.name:
        notes.append(note("clocks.runs"))
    return Explanation([*notes, *mismatches], parts, totals)


def _factor_row(name: str, seconds: _SidePair, factor: Ratio, throughput: Ratio) -> Factor:
    """Return the row of a factor, with a share if the throughput differs significantly."""
    share = None
    if factor.estimate and throughput.estimate and side_of(1, throughput.low, throughput.high):
        share = log(factor.estimate) / log(throughput.estimate)
    a, b = seconds
    return Factor(name, a, b, factor.estimate, factor.low, factor.high, share)


def _step_seconds_of_runs(
    side: SideNumbers, runs: pl.DataFrame, unit: str | None, samples: float | None
) -> float | None:
    """Return the seconds of the runs for the samples of one profiled step."""
    if side.progress is None:
        return None
    mean = float(np.mean(side.times / side.progress))
    if unit == "steps":
        return mean
    sizes = runs["train_samples"].drop_nulls().unique()
    if samples is None or (unit == "epochs" and sizes.len() != 1):
        return None
    return mean * samples / (sizes[0] if unit == "epochs" else 1)


def _factor_notes(step: Ratio, samples: _SidePair, totals: Sequence[Factor]) -> Iterator[Note]:
    has_interval = step.low is not None
    intervals = (
        wording("factors.some", a=step.n_a, b=step.n_b) if has_interval else wording("factors.none")
    )
    yield note("factors", intervals=intervals)
    a, b = samples
    if a and b and a != b:
        yield note("samples", a=a, b=b)
    profile_factor, _, runs = totals
    steps = [
        f"{units.seconds(ran)} in the runs of {name}, {units.significant(ran / (profiled or 1.0))} "
        "times as long as in its profile"
        for name, ran, profiled in (
            ("A", runs.a_seconds, profile_factor.a_seconds),
            ("B", runs.b_seconds, profile_factor.b_seconds),
        )
        if ran is not None
    ]
    if steps:
        yield note("step_lengths", steps=steps)


def _mismatch_notes(
    profiles: Sequence[pl.DataFrame], runs: Sequence[pl.DataFrame]
) -> Iterator[Note]:
    for side, rows, side_runs in zip("AB", profiles, runs, strict=True):
        differences = []
        # Workloads of the trainer have names, not scripts and traces.
        recorded = rows.filter(
            (pl.col("origin") == "recorded") & ~pl.col("source").str.ends_with(".py")
        )
        work, tasks = (
            set(names.drop_nulls()) for names in (recorded["source"], side_runs["benchmark"])
        )
        if work - tasks:
            differences.append(
                f"the profile is of {_names_text(work)}, the runs of {_names_text(tasks)}"
            )
        profiled, batch = answers.samples_per_step(rows), _samples_per_step(side_runs)
        if profiled is not None and batch is not None and profiled != batch:
            differences.append(
                f"a step of the profile has {profiled:,.0f} samples, one of the runs {batch:,.0f}"
            )
        devices = set(answers.measure_rows(rows, "device_name")["text"].drop_nulls())
        hardware = set(side_runs["hardware"].drop_nulls())
        # What tells a model has a digit, and is three letters or more long.
        models = [
            {word for name in names for word in setups.words(name)
             if len(word) > 2 and re.search(r"[a-z]", word) and re.search(r"[0-9]", word)}
            for names in (devices, hardware)
        ]  # fmt: skip
        numbers = side_runs["accelerators"].drop_nulls().unique()
        workers = answers.worker_count(rows)
        if all(models) and not any(a in b or b in a for a, b in product(*models)):
            differences.append(
                f"the profile is of {_names_text(devices)}, the runs of {_names_text(hardware)}"
            )
        elif numbers.len() == 1 and numbers[0] != workers:
            processes = units.plural(workers, "process", "processes")
            used = units.plural(numbers[0], "accelerator")
            differences.append(f"the profile is of {processes}, the runs used {used}")
        if differences:
            yield note("profile_of_others", side=side, differ=differences)


def _samples_per_step(runs: pl.DataFrame) -> float | None:
    """Return the samples of a step of runs, if all have as many."""
    sizes = runs["global_batch_size"].drop_nulls().unique()
    return float(sizes[0]) if sizes.len() == 1 else None


def _names_text(names: set[str]) -> str:
    return units.join_names(sorted(names)) or "another kind"
