"""Which parts of a step account for the throughput part of a speedup?

The runs tell the throughput, profiles of the same two systems what a step takes. Each part of the
step is a factor of the ratio of two steps; what these leave of the throughput is one more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import polars as pl

from ttastats.answers.compare import profile_fit
from ttastats.base import percentages, units
from ttastats.base.note import Note
from ttastats.report import fields
from ttastats.report.cells import Column, Table, Text
from ttastats.sides.comparison import Comparison
from ttastats.sides.numbers import SideNumbers
from ttastats.sides.pairing import Pair
from ttastats.stats.factors import factors, rest
from ttastats.stats.results import Floats, Ratio
from ttastats.traces import answers, changes

_Row = Mapping[str, Any]
#: Of A and of B, as far as known.
_Both = Sequence[float | None]
_STEP, _REST, _RUNS = "= step of the profiles", "× rest, not profiled", "= throughput of the runs"

#: Smaller shares are not worth a word.
_LEAST = 0.01


@dataclass(frozen=True, slots=True)
class Explained:
    """A throughput as a product of factors, with the notes to it.

    A row has the seconds of A and of B, the factor with its interval, and its share of the
    throughput's log. `parts` are those of the step; `whole` are the step of the profiles, the
    rest, and the throughput, or nothing where that is unknown.
    """

    notes: Sequence[Note]
    parts: Sequence[_Row] = ()
    whole: Sequence[_Row] = ()

    def numbers(self) -> dict[str, Any]:
        """Give the keys of a row for programs, each after the name of its part."""
        named = [*zip(("step", "rest"), self.whole, strict=False)]
        named += [(row["name"].replace(" ", "_"), row) for row in self.parts]
        return {
            f"{name}_{key}": value
            for name, row in named
            for key, value in row.items()
            if key != "name"
        }

    def sentence(self) -> str:
        """Say what most of the throughput came from."""
        if not self.whole:
            return ""
        *_, left, runs = self.whole
        if runs["share"] is None:
            return "Its throughput is not significantly different, so no shares are shown."
        largest = [row for row in self.parts[:3] if abs(row["share"]) >= _LEAST]
        told = [f"{row['name']} {row['share']:.2f}" for row in largest]
        shares = ", ".join((*told, f"not in the profiles {left['share']:.2f}"))
        return f"Of the throughput's {units.significant(runs['factor'])}, on a log scale: {shares}."

    def tables(self, confidence: float) -> Iterator[Table]:
        """Give the table for people, if there is one."""
        if not self.whole:
            return
        factor = f"factor [{percentages.text(confidence)}]"
        columns = [
            fields.Field(Column("part of a step", names=True), lambda row: Text(row["name"])),
            fields.number("A", "a_seconds", "seconds"),
            fields.number("B", "b_seconds", "seconds"),
            fields.number(factor, "factor", "ratio", interval=True),
            fields.number("share of throughput", "share", "fraction"),
        ]
        yield fields.table(
            [*self.parts, *self.whole], columns, "the throughput as a product of factors"
        )


def explained(
    one: Comparison, pair: Pair, profiles: Sequence[pl.DataFrame], confidence: float
) -> Explained:
    """Say what accounts for the throughput of a comparison; `profiles` are rows of A and of B."""
    runs = (pair.a, pair.b)
    fit = profile_fit.notes(profiles, runs)
    throughput = one.parts.throughput if one.parts and one.axis.unit == "seconds" else None
    if throughput is None or not throughput.estimate:
        why = "the profiles cannot be used: the runs have no time per epoch, sample or step."
        return Explained([Note("unexplained", why), *fit])
    samples = _samples(one, profiles, runs)
    names, sides = _measured(profiles)
    per_sample = (side / (size or 1.0) for side, size in zip(sides, samples, strict=True))
    *found, step = factors(*per_sample, confidence=confidence)
    means = [side.mean(axis=0).tolist() for side in sides]
    parts = [
        _row(name, both, ratio, throughput)
        for name, ratio, *both in zip(names, found, *means, strict=True)
        if any(both)
    ]
    parts.sort(key=lambda row: -abs(log(row["factor"])))
    taken = [
        _of_runs(side, own, one.progress_unit, size)
        for side, own, size in zip((one.a, one.b), runs, samples, strict=True)
    ]
    whole = (
        _row(_STEP, [sum(side) for side in means], step, throughput),
        _row(_REST, (None, None), rest(throughput, step), throughput),
        _row(_RUNS, taken, throughput, throughput),
    )
    notes = [_noise(step), *_sizes(samples), *_lengths(whole), *_clocks(one, profiles), *fit]
    return Explained(notes, parts, whole)


def _measured(profiles: Sequence[pl.DataFrame]) -> tuple[list[str], list[Floats]]:
    """Give the parts of a step, and of each side an array of profiles and parts, in seconds."""
    steps = [changes.of_profiles(rows).drop(changes.WHOLE) for rows in profiles]
    names = [*dict.fromkeys(name for side in steps for name in side.columns)]
    both = pl.concat(steps, how="diagonal").select(names).fill_null(0.0).to_numpy()
    return names, [both[: steps[0].height], both[steps[0].height :]]


def _row(name: str, seconds: _Both, factor: Ratio, throughput: Ratio) -> _Row:
    """Give the row of a factor; it has a share where the throughput is shown to differ."""
    share = None
    if factor.estimate and throughput.estimate and throughput.low and throughput.high:
        decided = throughput.low > 1 or throughput.high < 1
        share = log(factor.estimate) / log(throughput.estimate) if decided else None
    return {
        "name": name,
        "a_seconds": seconds[0],
        "b_seconds": seconds[1],
        "factor": factor.estimate,
        "factor_low": factor.low,
        "factor_high": factor.high,
        "share": share,
    }


def _samples(
    one: Comparison, profiles: Sequence[pl.DataFrame], runs: Sequence[pl.DataFrame]
) -> _Both:
    """Give the samples of a step of each side's profile; that of its runs, if it does not tell.

    Unknown where one is, and where the throughput is one of steps.
    """
    found = [
        changes.samples_of_step(rows) or profile_fit.batch_size(own)
        for rows, own in zip(profiles, runs, strict=True)
    ]
    return found if one.progress_unit != "steps" and all(found) else (None, None)


def _of_runs(
    side: SideNumbers, runs: pl.DataFrame, unit: str | None, samples: float | None
) -> float | None:
    """Give what as many samples as a step of the profile has took in the runs."""
    if side.progress is None:
        return None
    mean = float(np.mean(side.times / side.progress))
    if unit == "steps":
        return mean
    sizes = runs["train_samples"].drop_nulls().unique()
    if samples is None or (unit == "epochs" and sizes.len() != 1):
        return None
    return mean * samples / (sizes[0] if unit == "epochs" else 1)


def _noise(step: Ratio) -> Note:
    text = (
        "the factors multiply to the throughput ratio of the runs; shares are shares of its "
        "logarithm (logarithmic mean Divisia index). "
    )
    if step.low is None:
        text += (
            "Without repeated profiles the parts have no intervals: give two or more per side by "
            "repeating --profile-a and --profile-b."
        )
    else:
        text += f"Welch intervals over {step.n_a} profiles of A and {step.n_b} of B."
    return Note("factors", text)


def _sizes(samples: _Both) -> Iterator[Note]:
    a, b = samples
    if a and b and a != b:
        text = f"a step of A has {a:,.0f} samples, one of B {b:,.0f}: factors are per sample."
        yield Note("samples", text)


def _lengths(whole: Sequence[_Row]) -> Iterator[Note]:
    """Say by how much steps of the runs are not those of the profiles."""
    step, _, runs = whole
    told = [
        f"{units.seconds(runs[side])} in the runs of {name}, "
        f"{units.significant(runs[side] / step[side])} times as long as in its profile"
        for name, side in (("A", "a_seconds"), ("B", "b_seconds"))
        if runs[side] is not None
    ]
    if told:
        beside = "the runs' time includes everything outside the steps"
        yield Note("step_lengths", f"a step takes {'; '.join(told)}: {beside}.")


def _clocks(one: Comparison, profiles: Sequence[pl.DataFrame]) -> Iterator[Note]:
    """Say where profiles count CPU time and the runs do not."""
    told = pl.concat(
        [answers.measures(rows, "uninstrumented_step_seconds")["text"] for rows in profiles]
    )
    if any("CPU" in str(text) for text in told) and "cpu" not in one.axis.name:
        yield Note(
            "clocks",
            "the profiles measure CPU time, the runs wall-clock time: use --in cpu-seconds "
            "--clock training for the runs.",
        )
