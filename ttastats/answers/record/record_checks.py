"""Can the runs behind a record be relied on: copies, seeds, machines, order, stop, number?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import polars as pl

from ttastats.answers.record.contest_rules import Rules
from ttastats.base import units
from ttastats.outcomes import left_out
from ttastats.outcomes.budget import Lengths, lengths
from ttastats.outcomes.counted import counted, standing
from ttastats.sides import shared_runs
from ttastats.sides.design.side import in_separate_sessions, speeds, starts

#: `told` is what nothing is asked of.
Result = Literal["passed", "failed", "not known", "told"]
#: The runs of each side by its letter; A is missing where there is no baseline.
Sides = Mapping[str, pl.DataFrame]

_MACHINE = ("hardware", "accelerators", "nodes")


@dataclass(frozen=True, slots=True)
class Check:
    """What one question about a record came to, with the figures.

    `decides`: there is no record unless it is passed; one that failed for want of evidence alone
    (`disproves` false) leaves it undecided.
    """

    name: str
    result: Result
    said: str
    decides: bool = True
    disproves: bool = False


def once(runs: pl.DataFrame) -> pl.DataFrame:
    """Keep the runs that count, copies once: by what they tell, or by the bytes of their logs."""
    kept = counted(runs)
    first = pl.struct("source_digest", "run_id").is_first_distinct()
    return kept.filter(pl.col("source_digest").is_null() | first)


def broken_off(runs: pl.DataFrame) -> int:
    """Count the runs that were interrupted, left no readable log, or are missing from a set."""
    return left_out.rows(runs).height


def evidence(every: Sides, rules: Rules) -> Iterator[Check]:
    """Give the checks of the runs of each side.

    Parameters
    ----------
    every
        Copies included, as tables of `at_budget.runs` or `time_to_target.runs`.
    """
    standing_runs = {name: standing(runs) for name, runs in every.items()}
    sides = {name: once(runs) for name, runs in every.items()}
    yield _copies(standing_runs, sides)
    yield _seeds(sides, rules)
    yield _setups(sides)
    yield _machines(sides, rules)
    yield _order(sides)
    if rules.value != "target":
        yield _stop(sides, rules)


def number(found: Mapping[str, int], missing: Mapping[str, int], rules: Rules, what: str) -> Check:
    """Say how many runs (or studies) each side has, and how many of them have no value."""
    said = units.listed([f"{name} {units.plural(n, *_words(what))}" for name, n in found.items()])
    without = [f"{n} of {name} without a value" for name, n in missing.items() if n]
    few = min(found.values()) < rules.least_runs
    least = f"; the rules require {rules.least_runs}" if few else ""
    result: Result = "failed" if few or without else "passed"
    return Check("runs", result, "; ".join([said + least, *without]))


def _words(what: str) -> tuple[str, str]:
    return what, "studies" if what == "study" else f"{what}s"


def _copies(every: Sides, sides: Sides) -> Check:
    found = [
        f"{units.plural(every[name].height - runs.height, 'copy', 'copies')} in {name}"
        for name, runs in sides.items()
        if every[name].height > runs.height
    ]
    if len(sides) > 1 and (both := len(shared_runs.shared(sides["A"], sides["B"]))):
        found.append(f"{units.plural(both, 'run')} of A also in B")
    if not found:
        return Check("copies", "passed", "none")
    return Check("copies", "failed", f"{units.listed(found)}; each run counts once")


def _seeds(sides: Sides, rules: Rules) -> Check:
    told = {name: runs["seed"].drop_nulls().to_list() for name, runs in sides.items()}
    again = {
        name: [f"{seed} {n} times" for seed, n in sorted(Counter(seeds).items()) if n > 1]
        for name, seeds in told.items()
    }
    if rules.replicate:
        return Check("seeds", "not known", "trials are selected within studies", decides=False)
    if any(again.values()):
        said = "; ".join(f"{name}: {units.listed(found)}" for name, found in again.items() if found)
        return Check("seeds", "failed", f"repeated: {said}")
    silent = [name for name, runs in sides.items() if len(told[name]) < runs.height]
    if silent:
        return Check("seeds", "not known", f"seed missing in some logs of {' and '.join(silent)}")
    return Check("seeds", "passed", "unique")


def _setups(sides: Sides) -> Check:
    told = {name: sorted(runs["entry"].drop_nulls().unique()) for name, runs in sides.items()}
    mixed = [_mixed(told), *(_two_speeds(name, runs) for name, runs in sides.items())]
    if any(mixed):
        return Check("one setup", "failed", "; ".join(filter(None, mixed)))
    return Check("one setup", "passed", "one entry a side")


def _two_speeds(name: str, runs: pl.DataFrame) -> str:
    found = speeds(runs)
    return f"{name} mixes two speeds: {found}, as of two machines" if found else ""


def _machines(sides: Sides, rules: Rules) -> Check:
    """Look for different machines in a side, and between sides where time is what counts."""
    told = {name: _machine_names(runs) for name, runs in sides.items()}
    decides = rules.counts == "seconds"
    if mixed := _mixed(told):
        return Check("machines", "failed", mixed, decides)
    if not all(told.values()):
        silent = " and ".join(name for name, found in told.items() if not found)
        times = units.listed([said for name in sides if (said := _times(name, sides[name]))])
        beside = f"; {times}" if times else ""
        return Check("machines", "not known", f"not in the logs of {silent}{beside}")
    names = [found[0] for found in told.values()]
    if len(set(names)) > 1:
        said = f"A ran on {names[0]}, B on {names[1]}"
        return Check("machines", "failed", said, decides)
    if decides and len(sides) < 2:
        return Check("machines", "not known", f"B ran on {names[0]}; no baseline runs")
    return Check("machines", "passed", names[0])


def _mixed(told: Mapping[str, Sequence[str]]) -> str:
    """Say which sides are of several kinds; empty if none is."""
    several = [f"{name} mixes {units.listed(one)}" for name, one in told.items() if len(one) > 1]
    return "; ".join(several)


def _machine_names(runs: pl.DataFrame) -> list[str]:
    """Name the machines of some runs: accelerators and nodes of a hardware that is told."""
    kinds = runs.filter(pl.col("hardware").is_not_null()).select(_MACHINE).unique().sort(_MACHINE)
    found = []
    for hardware, accelerators, nodes in kinds.iter_rows():
        parts = [f"{accelerators} x " if accelerators else "", str(hardware)]
        parts.append(f" on {nodes} nodes" if nodes and nodes > 1 else "")
        found.append("".join(parts))
    return found


def _times(name: str, runs: pl.DataFrame) -> str:
    seconds = runs["run_seconds"].drop_nulls().sort()
    if not seconds.len():
        return ""
    return f"runs of {name} took {units.seconds(seconds[0], 4)} to {units.seconds(seconds[-1], 4)}"


def _order(sides: Sides) -> Check:
    """Tell whether the sides took turns; it is a reservation, and decides nothing."""
    if len(sides) < 2:
        return Check("order", "not known", "no baseline runs", decides=False)
    a, b = sides["A"], sides["B"]
    if starts(a) is None or starts(b) is None:
        return Check("order", "not known", "start times are not logged", decides=False)
    if in_separate_sessions(starts(a), starts(b)):
        said = "all runs of one side started before the first of the other"
        return Check("order", "failed", said, decides=False)
    made = [(start, name) for name in sides for start in sides[name]["started_at"].to_list()]
    turns = 1 + sum(one[1] != other[1] for one, other in pairwise(sorted(made)))
    return Check("order", "passed", f"interleaved, in {turns} turns", decides=False)


def _stop(sides: Sides, rules: Rules) -> Check:
    """Tell whether the runs of a side have one length, or, by the clock, end within what is let."""
    if rules.most_seconds is not None:
        return _in_time(sides, rules.most_seconds)
    found = {name: _length(runs.filter("reached")) for name, runs in sides.items()}
    said = units.listed(
        [
            f"{name} {'' if one.one else f'{one.said(one.least)} to '}{one.said(one.most)}"
            for name, one in found.items()
        ]
    )
    apart = [one for one in found.values() if not one.one]
    # Times of equal training vary, so that they alone do not show another stop.
    if any(one.unit != "seconds" for one in apart):
        return Check("same stop", "failed", said)
    if apart:
        return Check("same stop", "not known", f"steps, samples and epochs not logged; {said}")
    return Check("same stop", "passed", said)


def _length(runs: pl.DataFrame) -> Lengths:
    """Give how long runs are: in steps, where all tell; as long in seconds is not enough then.

    Without steps, samples and epochs, runs with the same number of evaluations, 2 or more, have
    one length.
    """
    steps = runs["steps"]
    if not steps.null_count() and not runs.is_empty():
        ends = steps.cast(pl.Float64).to_list()
        return Lengths("step", min(ends), max(ends), len(ends), ends.count(max(ends)))
    found = lengths(runs)
    made = runs["evaluations"].fill_null(0).to_list()
    if found.unit == "seconds" and not found.one and min(made) == max(made) > 1:
        return Lengths(None, made[0], made[0], len(made), len(made))
    return found


def _in_time(sides: Sides, limit: float) -> Check:
    """Hold the times of B, as they are logged, against the time that a run must stay under."""
    seconds = sides["B"]["tta_seconds"].drop_nulls()
    if seconds.len() < sides["B"].height:
        return Check("time", "not known", f"the logs of B do not show that {limit:g} s was kept")
    longest = float(max(seconds))
    result: Result = "passed" if longest < limit else "failed"
    said = f"the longest run of B took {longest:.7g} s; under {limit:g} s is required"
    return Check("time", result, said, disproves=True)
