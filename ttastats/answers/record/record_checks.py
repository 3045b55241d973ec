"""Can the runs behind a record be relied on: copies, seeds, machines, order, stop, number?

The rules of each contest, by which these are judged, are those of `rules.toml`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Literal

import msgspec
import polars as pl
from msgspec import Struct

from ttastats.base import units
from ttastats.base.errors import TtastatsError
from ttastats.base.nearest import suggestion
from ttastats.base.note import fill_template
from ttastats.outcomes.budget import Lengths, lengths
from ttastats.outcomes.counted import counted, standing
from ttastats.sides import pairing
from ttastats.sides.design.side import in_separate_sessions, speeds, starts

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


class _Evidence(Struct, frozen=True):
    """The runs of each side, `every` with copies and `sides` once each, and the rules."""

    every: Sides
    sides: Sides
    rules: Rules


class _Rule(Struct, frozen=True):
    """A check comes to a result where a fact is there, in words that show it.

    It decides where rules count one of what `decides` names.
    """

    check: str
    result: Result
    words: str
    fact: Callable[[_Evidence], object] = lambda _: True
    decides: tuple[str, ...] = ("seconds", "steps", "quality")
    disproves: bool = False


def evidence(every: Sides, rules: Rules) -> list[Check]:
    """Return the checks of how the runs of each side were made."""
    sides = {name: unique(runs) for name, runs in every.items()}
    about = _Evidence({name: standing(runs) for name, runs in every.items()}, sides, rules)
    unasked = {"time" if rules.most_seconds is None else "same stop"}
    if rules.value == "target":
        unasked = {"time", "same stop"}
    checks: dict[str, Check] = {}
    for rule in _RULES:
        if rule.check not in {*checks, *unasked} and (fact := rule.fact(about)):
            words, decides = fill_template(rule.words, fact), rules.counts in rule.decides
            checks[rule.check] = Check(rule.check, rule.result, words, decides, rule.disproves)
    return [*checks.values()]


def _copies_texts(about: _Evidence) -> list[str]:
    sides = about.sides
    more = {name: runs.height - sides[name].height for name, runs in about.every.items()}
    copies = [f"{units.plural(n, 'copy', 'copies')} in {name}" for name, n in more.items() if n]
    both = len(pairing.shared_contents(sides["A"], sides["B"])) if "A" in sides else 0
    return [*copies, f"{units.plural(both, 'run')} of A also in B"] if both else copies


def _repeated_seeds_texts(about: _Evidence) -> list[str]:
    repeated = []
    for name, runs in about.sides.items():
        counts = sorted(Counter(runs["seed"].drop_nulls()).items())
        if seeds := [f"{seed} {n} times" for seed, n in counts if n > 1]:
            repeated.append(f"{name}: {units.join_names(seeds)}")
    return repeated


def _mixed_setups_texts(about: _Evidence) -> list[str]:
    entries = {name: runs["entry"].drop_nulls().unique() for name, runs in about.sides.items()}
    mixed = _mixed_texts({name: sorted(some) for name, some in entries.items()})
    for name, runs in about.sides.items():
        if two := speeds(runs):
            mixed.append(f"{name} mixes two speeds: {two}, as of two machines")
    return mixed


def _mixed_texts(kinds: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        f"{name} mixes {units.join_names(some)}" for name, some in kinds.items() if len(some) > 1
    ]


def _machines(about: _Evidence) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for side, runs in about.sides.items():
        kinds = runs.filter(pl.col("hardware").is_not_null()).select(_MACHINE).unique()
        names[side] = [
            f"{f'{accelerators} x ' if accelerators else ''}{hardware}"
            f"{f' on {nodes} nodes' if nodes and nodes > 1 else ''}"
            for hardware, accelerators, nodes in kinds.sort(_MACHINE).iter_rows()
        ]
    return names


def _unnamed_machines_text(about: _Evidence) -> str:
    """Return the sides without a logged machine, and how long their runs took."""
    unnamed = " and ".join(name for name, names in _machines(about).items() if not names)
    seconds = {name: runs["run_seconds"].drop_nulls().sort() for name, runs in about.sides.items()}
    times = [
        f"runs of {name} took {units.seconds(some[0], 4)} to {units.seconds(some[-1], 4)}"
        for name, some in seconds.items()
        if some.len()
    ]
    return f"{unnamed}; {units.join_names(times)}" if unnamed and times else unnamed


def _count_turns(about: _Evidence) -> int:
    made = [(start, name) for name in about.sides for start in about.sides[name]["started_at"]]
    return 1 + sum(earlier != later for (_, earlier), (_, later) in pairwise(sorted(made)))


def _longest_time(about: _Evidence, *, under: bool) -> tuple[float, float] | None:
    """Return the time of the longest run of B and the limit, if it is `under` that or not."""
    longest, limit = float(max(about.sides["B"]["tta_seconds"])), about.rules.most_seconds
    return (longest, limit) if limit and (longest < limit) is under else None


def _lengths_text(about: _Evidence, unlike: Sequence[str | None] = ()) -> str:
    """Return how long the runs of each side are, if they differ within one."""
    ends = {name: _lengths_of(runs.filter("reached")) for name, runs in about.sides.items()}
    if unlike and not any(end.unit in unlike and not end.one for end in ends.values()):
        return ""
    least = {name: "" if end.one else f"{end.said(end.least)} to " for name, end in ends.items()}
    return units.join_names(
        [f"{name} {least[name]}{end.said(end.most)}" for name, end in ends.items()]
    )


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
    if length.unit == "seconds" and not length.one and min(made) == max(made) > 1:
        return Lengths(None, made[0], made[0], len(made), len(made))
    return length


_LIMIT = "the longest run of B took {0[0]:.7g} s; under {0[1]:g} s is required"
_APART = "all runs of one side started before the first of the other"
#: Of each check the first rule with a fact counts.
_RULES = (
    _Rule("copies", "failed", "{:list}; each run counts once", _copies_texts),
    _Rule("copies", "passed", "none"),
    _Rule("seeds", "not known", "trials are selected within studies",
          lambda of: of.rules.replicate, decides=()),
    _Rule("seeds", "failed", "repeated: {:join}", _repeated_seeds_texts),
    _Rule("seeds", "not known", "seed missing in some logs of {}", lambda of: " and ".join(
        name for name, runs in of.sides.items() if runs["seed"].null_count())),
    _Rule("seeds", "passed", "unique"),
    _Rule("one setup", "failed", "{:join}", _mixed_setups_texts),
    _Rule("one setup", "passed", "one entry a side"),
    _Rule("machines", "failed", "{:join}", lambda of: _mixed_texts(_machines(of)), ("seconds",)),
    _Rule("machines", "not known", "not in the logs of {}", _unnamed_machines_text),
    _Rule("machines", "failed", "A ran on {0[A][0]}, B on {0[B][0]}",
          lambda of: len({names[0] for names in _machines(of).values()}) > 1 and _machines(of),
          ("seconds",)),
    _Rule("machines", "not known", "B ran on {0[B][0]}; no baseline runs",
          lambda of: of.rules.counts == "seconds" and "A" not in of.sides and _machines(of)),
    _Rule("machines", "passed", "{0[B][0]}", _machines),
    _Rule("order", "not known", "no baseline runs", lambda of: "A" not in of.sides, ()),
    _Rule("order", "not known", "start times are not logged",
          lambda of: None in map(starts, of.sides.values()), ()),
    _Rule("order", "failed", _APART,
          lambda of: in_separate_sessions(*map(starts, of.sides.values())), ()),
    _Rule("order", "passed", "interleaved, in {} turns", _count_turns, ()),
    _Rule("time", "not known", "the logs of B do not show that {:g} s was kept",
          lambda of: of.sides["B"]["tta_seconds"].null_count() and of.rules.most_seconds),
    _Rule("time", "passed", _LIMIT, lambda of: _longest_time(of, under=True), disproves=True),
    _Rule("time", "failed", _LIMIT, lambda of: _longest_time(of, under=False), disproves=True),
    # Times of equal training vary, so that they alone do not show another stop.
    _Rule("same stop", "failed", "{}",
          lambda of: _lengths_text(of, (None, "step", "samples", "epoch"))),
    _Rule("same stop", "not known", "steps, samples and epochs not logged; {}",
          lambda of: _lengths_text(of, ("seconds",))),
    _Rule("same stop", "passed", "{}", _lengths_text),
)  # fmt: skip


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
    told: str = ""
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
def known() -> dict[str, Rules]:
    """Return all contest rules by their names."""
    text = resources.files("ttastats.answers.record").joinpath("rules.toml").read_bytes()
    (contests,) = msgspec.toml.decode(text, type=dict[str, tuple[Rules, ...]]).values()
    return {rules.name: rules for rules in contests}


def named(name: str) -> Rules:
    """Return the rules of a name, or raise an error that lists the names."""
    if (rules := known().get(name)) is not None:
        return rules
    raise TtastatsError(
        f"unknown rules {name!r}" if name else "no rules given",
        where="--rules",
        remedy=suggestion(name, known(), "Rules", most=len(known()))
        + " `--rules list` describes them.",
    )
