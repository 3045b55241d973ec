"""Can the runs behind a record be relied on: copies, seeds, machines, order, stop, number?

The rules of each contest, by which these are judged, are those of `rules.toml`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Literal

import msgspec
import polars as pl
from msgspec import Struct

from ttastats.base import units
from ttastats.base.errors import TtastatsError, suggestion
from ttastats.outcomes.budget import Lengths, lengths
from ttastats.outcomes.left_out import counted, standing
from ttastats.sides import pairing
from ttastats.sides.design import in_separate_sessions, speeds, starts

#: `told` is what nothing is asked of.
Result = Literal["passed", "failed", "not known", "told"]
#: The runs of each side by its letter; A is missing where there is no baseline.
Sides = Mapping[str, pl.DataFrame]

_MACHINE = ("hardware", "accelerators", "nodes")


class Check(Struct, frozen=True):
    """What one question about a record came to, with the figures.

    `decides`: there is no record unless it is passed; one that failed for want of evidence alone
    (`disproves` false) leaves it undecided.
    """

    name: str
    result: Result
    figures: str
    decides: bool = True
    disproves: bool = False


def unique(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs that count, without copies."""
    first = pl.struct("source_digest", "run_id").is_first_distinct()
    return counted(runs).filter(pl.col("source_digest").is_null() | first)


def count_check(counts: Mapping[str, int], missing: Mapping[str, int], rules: Rules) -> Check:
    """Return the check of the number of runs (or studies) a side."""
    forms = ("study", "studies") if rules.value == "target" else ("run", "runs")
    figures = units.join_names([f"{name} {units.plural(n, *forms)}" for name, n in counts.items()])
    if few := min(counts.values()) < rules.least_runs:
        figures += f"; the rules require {rules.least_runs}"
    without = [f"{n} of {name} without a value" for name, n in missing.items() if n]
    result: Result = "failed" if few or without else "passed"
    return Check("runs", result, "; ".join([figures, *without]))


def evidence(every: Sides, rules: Rules) -> list[Check]:
    """Return the checks of how the runs of each side were made."""
    sides = {name: unique(runs) for name, runs in every.items()}
    counted_twice = {name: standing(every[name]).height - sides[name].height for name in sides}
    checks = [
        _copies_check(counted_twice, sides),
        _seeds_check(sides, rules),
        _setup_check(sides),
        _machines_check(sides, rules),
        _order_check(sides),
    ]
    if rules.value != "target":
        limit = rules.most_seconds
        checks.append(_stop_check(sides) if limit is None else _time_check(sides["B"], limit))
    return checks


def _copies_check(counted_twice: Mapping[str, int], sides: Sides) -> Check:
    copies = [
        f"{units.plural(n, 'copy', 'copies')} in {name}" for name, n in counted_twice.items() if n
    ]
    if "A" in sides and (both := len(pairing.shared_contents(sides["A"], sides["B"]))):
        copies.append(f"{units.plural(both, 'run')} of A also in B")
    if copies:
        return Check("copies", "failed", f"{units.join_names(copies)}; each run counts once")
    return Check("copies", "passed", "none")


def _seeds_check(sides: Sides, rules: Rules) -> Check:
    if rules.replicate:
        return Check("seeds", "not known", "trials are selected within studies", decides=False)
    repeated = []
    for name, runs in sides.items():
        counts = sorted(Counter(runs["seed"].drop_nulls()).items())
        if seeds := [f"{seed} {n} times" for seed, n in counts if n > 1]:
            repeated.append(f"{name}: {units.join_names(seeds)}")
    if repeated:
        return Check("seeds", "failed", f"repeated: {'; '.join(repeated)}")
    if silent := " and ".join(name for name, runs in sides.items() if runs["seed"].null_count()):
        return Check("seeds", "not known", f"seed missing in some logs of {silent}")
    return Check("seeds", "passed", "unique")


def _setup_check(sides: Sides) -> Check:
    entries = {name: runs["entry"].drop_nulls().unique() for name, runs in sides.items()}
    mixed = _mixed_texts({name: sorted(some) for name, some in entries.items()})
    for name, runs in sides.items():
        if two := speeds(runs):
            mixed.append(f"{name} mixes two speeds: {two}, as of two machines")
    if mixed:
        return Check("one setup", "failed", "; ".join(mixed))
    return Check("one setup", "passed", "one entry a side")


def _mixed_texts(kinds: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        f"{name} mixes {units.join_names(some)}" for name, some in kinds.items() if len(some) > 1
    ]


def _machines_check(sides: Sides, rules: Rules) -> Check:
    machines: dict[str, list[str]] = {}
    for name, runs in sides.items():
        kinds = runs.filter(pl.col("hardware").is_not_null()).select(_MACHINE).unique()
        machines[name] = [
            f"{f'{accelerators} x ' if accelerators else ''}{hardware}"
            f"{f' on {nodes} nodes' if nodes and nodes > 1 else ''}"
            for hardware, accelerators, nodes in kinds.sort(_MACHINE).iter_rows()
        ]
    of_time = rules.counts == "seconds"
    if mixed := _mixed_texts(machines):
        return Check("machines", "failed", "; ".join(mixed), of_time)
    if silent := " and ".join(name for name, kinds in machines.items() if not kinds):
        seconds = {name: runs["run_seconds"].drop_nulls().sort() for name, runs in sides.items()}
        times = [
            f"runs of {name} took {units.seconds(some[0], 4)} to {units.seconds(some[-1], 4)}"
            for name, some in seconds.items()
            if some.len()
        ]
        more = f"; {units.join_names(times)}" if times else ""
        return Check("machines", "not known", f"not in the logs of {silent}{more}")
    (b,) = machines["B"]
    if "A" in machines and machines["A"] != [b]:
        return Check("machines", "failed", f"A ran on {machines['A'][0]}, B on {b}", of_time)
    if of_time and "A" not in machines:
        return Check("machines", "not known", f"B ran on {b}; no baseline runs")
    return Check("machines", "passed", b)


def _order_check(sides: Sides) -> Check:
    if "A" not in sides:
        return Check("order", "not known", "no baseline runs", decides=False)
    started = [starts(runs) for runs in sides.values()]
    if None in started:
        return Check("order", "not known", "start times are not logged", decides=False)
    if in_separate_sessions(*started):
        apart = "all runs of one side started before the first of the other"
        return Check("order", "failed", apart, decides=False)
    made = [(start, name) for name, runs in sides.items() for start in runs["started_at"]]
    turns = 1 + sum(earlier != later for (_, earlier), (_, later) in pairwise(sorted(made)))
    return Check("order", "passed", f"interleaved, in {turns} turns", decides=False)


def _time_check(b: pl.DataFrame, limit: float) -> Check:
    times = b["tta_seconds"]
    if times.null_count():
        text = f"the logs of B do not show that {limit:g} s was kept"
        return Check("time", "not known", text)
    longest = float(max(times))
    text = f"the longest run of B took {longest:.7g} s; under {limit:g} s is required"
    return Check("time", "passed" if longest < limit else "failed", text, disproves=True)


def _stop_check(sides: Sides) -> Check:
    """Return the check of whether all runs of a side end after the same training."""
    ends = {name: _lengths_of(runs.filter("reached")) for name, runs in sides.items()}
    least = {name: "" if end.equal else f"{end.text(end.least)} to " for name, end in ends.items()}
    text = units.join_names(
        [f"{name} {least[name]}{end.text(end.most)}" for name, end in ends.items()]
    )
    unlike = {end.unit for end in ends.values() if not end.equal}
    if unlike - {"seconds"}:
        return Check("same stop", "failed", text)
    if unlike:  # times of equal training vary, so that they alone do not show another stop
        return Check("same stop", "not known", f"steps, samples and epochs not logged; {text}")
    return Check("same stop", "passed", text)


def _lengths_of(runs: pl.DataFrame) -> Lengths:
    """Return how long runs are, in steps if all log them.

    Without steps, samples and epochs, runs with the same number of evaluations, 2 or more, have
    one length.
    """
    steps = runs["steps"]
    if not steps.null_count() and not runs.is_empty():
        ends = steps.cast(pl.Float64).to_list()
        return Lengths("step", min(ends), max(ends), len(ends), ends.count(max(ends)))
    length = lengths(runs)
    made = runs["evaluations"].fill_null(0).to_list()
    if length.unit == "seconds" and not length.equal and min(made) == max(made) > 1:
        return Lengths(None, made[0], made[0], len(made), len(made))
    return length


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The rules of one contest; `rules.toml` explains the fields."""

    name: str
    title: str
    source: str
    read: str = ""
    counts: Literal["seconds", "steps", "quality"]
    metrics: tuple[str, ...] = ()
    meets: Literal[">=", "<="] = ">="
    target: float | None = None
    level: float = 0.05
    tested: bool = True
    hint: str = ""
    remark: str = ""
    sigma: float | None = None
    least_score: float | None = None
    margin: float = 0.0
    most_seconds: float | None = None
    value: Literal["end", "earliest", "target"] = "end"
    replicate: str = ""
    trials: tuple[int, ...] = ()
    least_runs: int = 2
    loss_per_step: float | None = None


@cache
def all_rules() -> dict[str, Rules]:
    """Return all contest rules by their names."""
    text = resources.files("ttastats.answers.record").joinpath("rules.toml").read_bytes()
    (contests,) = msgspec.toml.decode(text, type=dict[str, tuple[Rules, ...]]).values()
    return {rules.name: rules for rules in contests}


def rules_named(name: str) -> Rules:
    """Return the rules of a name, or raise an error that lists the names."""
    if (rules := all_rules().get(name)) is not None:
        return rules
    raise TtastatsError(
        f"unknown rules {name!r}" if name else "no rules given",
        where="--rules",
        remedy=suggestion(name, all_rules(), "Rules", most=len(all_rules()))
        + " `--rules list` describes them.",
    )
