"""Which runs of A are compared with which runs of B?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import polars as pl
from msgspec import Struct, field
from msgspec.structs import replace

from ttastats.base import units
from ttastats.base.codes import Note, note, wording
from ttastats.base.errors import TtastatsError
from ttastats.outcomes import left_out, pace
from ttastats.outcomes.left_out import counted, standing
from ttastats.outcomes.target import UserTarget
from ttastats.sides import common_target, setups
from ttastats.table import schema
from ttastats.table.schema import BENCHMARK, RUN

Runs = pl.DataFrame
Keys = Mapping[str, Any]

#: Runs of a group are matched by equal setups, by the setup columns with common values, or pooled.
_Matching = Literal["alike", "asked", "pooled"]

#: The code of a pair that mixes sizes.
MIXED_SIZES = "mixed_sizes"

#: What a pair is called of which a side has no run that the other has not.
SAME_RUNS = "the same runs"


class Side(Struct, frozen=True, eq=False):
    """Runs of one source: one row each (`time_to_target.runs`), and the tidy table of evaluations.

    `targets` are those of the user; `at_budget`: no target decides anything.
    """

    label: str
    runs: Runs
    evaluations: pl.LazyFrame = field(default_factory=lambda: pl.LazyFrame(schema=schema.POLARS))
    targets: tuple[UserTarget, ...] = ()
    at_budget: bool = False


class Pair(Struct, frozen=True, eq=False):
    """The runs of A and of B (`time_to_target.runs`) that answer one question, and its keys.

    A key in which the sides differ is None. `unavailable` says why they cannot be judged: they
    are shown, and nothing is claimed of them. `flags` are codes of what programs should know.
    `blocks` are those within which they are compared (`blocking`), if any. `labels` name the
    tables of both sides, and `lost` what of these is in no number.
    """

    keys: Keys
    a: Runs
    b: Runs
    unavailable: str | None = None
    flags: tuple[str, ...] = ()
    blocks: Blocks | None = None
    labels: tuple[str, str] = ("", "")
    lost: left_out.BothSides = left_out.BothSides()


class Blocks(Struct, frozen=True):
    """The blocks of a pair: name, and how many runs of A and of B.

    `shared` have runs of both; `alone` of one side; `unknown` counts runs that tell no block.
    """

    shared: tuple[tuple[str, int, int], ...]
    alone: tuple[tuple[str, int, int], ...]
    unknown: tuple[int, int]


class UnpairedGroup(Struct, frozen=True):
    """Runs without a partner: their keys, the side they are of, and how many.

    `short` is their name beside those of the others, without what all share.
    """

    keys: Keys
    side: Literal["a", "b"]
    n: int
    short: str = ""

    @property
    def name(self) -> str:
        """Return the group's name: `resnet 512 DGX-2H Pod`."""
        return name_of(self.keys)

    @property
    def text(self) -> str:
        """Return the group's name with its runs: `resnet 512 DGX-2H Pod (5 runs of B)`."""
        return f"{self.short} ({units.plural(self.n, 'run')} of {self.side.upper()})".lstrip()


class Pairing(Struct, frozen=True, eq=False):
    """Two sides as pairs. `by` are the keys of every pair.

    `shared` names the suite and round of both, `apart` those in which they differ (`A v0.5,
    B v0.6`), where they are no keys. `a` and `b` are the runs that found a partner, copies
    included, with the number of their pair in `pair`.
    """

    pairs: tuple[Pair, ...]
    alone: tuple[UnpairedGroup, ...]
    by: tuple[str, ...]
    remarks: tuple[Note, ...]
    shared: str
    apart: str
    a: Runs
    b: Runs


def name_of(keys: Keys) -> str:
    """Return the name of a group, its known keys."""
    return " ".join(str(value) for value in keys.values() if value is not None)


def pairings(
    baseline: Side, others: Sequence[Side], by: Sequence[str] = (), *, pool: bool = False
) -> tuple[Pairing, ...]:
    """Return the pairs of groups of the baseline with each other side.

    Runs of one suite, round and benchmark belong together, or those alike in the columns of `by`;
    and of these, unless they are pooled, the ones of one division on as many accelerators of the
    same hardware (`setups.match`). What each side has but one of, and not the same, is what the
    comparison asks about: a round, a suite or a setup is then no criterion.
    """
    tables = [side.runs for side in (baseline, *others)]
    baseline, *others = (
        # Runs that begin late count in no pair, but say why it has no verdict.
        replace(side, runs=pl.concat([standing(side.runs), left_out.late(side.runs)]))
        for side in (baseline, *others)
    )
    keys = tuple(by)
    matching: _Matching = "pooled" if pool else "asked" if by else "alike"
    for name in BENCHMARK if not by else ():  # without suite and round if the sides differ in them
        values = [side.runs[name].unique().to_list() for side in (baseline, *others)]
        differs = any(side_values != values[0] for side_values in values)
        if (
            name == "benchmark"
            or not differs
            or any(len(side_values) != 1 for side_values in values)
        ):
            keys += (name,)
    matches = [_match_groups(baseline.runs, other.runs, keys, matching) for other in others]
    extra = tuple(name for name in setups.COLUMNS if any(name in match[2] for match in matches))
    all_pairings = []
    for other, runs, (groups, alone, _) in zip(others, tables[1:], matches, strict=True):
        pairing = _make_pairing(baseline, other, groups, alone, keys, extra, matching)
        labels = (baseline.label, other.label)
        absences = left_out.of_pairs(tables[0], runs, [pair.keys for pair in pairing.pairs])
        pairs = (
            replace(pair, labels=labels, lost=lost)
            for pair, lost in zip(pairing.pairs, absences, strict=True)
        )
        all_pairings.append(replace(pairing, pairs=tuple(pairs)))
    return tuple(all_pairings)


def _late_text(group: Pair, rows: Sequence[pl.LazyFrame]) -> str:
    """Return the late runs of a group and their first positions in words, if any."""
    texts = []
    for side, runs, evaluations in zip("AB", (group.a, group.b), rows, strict=True):
        late_runs = left_out.late(runs)
        if late_runs.is_empty():
            continue
        subject, verb = side, "begins"
        if late_runs.height < runs.height:
            subject = f"{late_runs.height} of {units.plural(runs.height, 'run')} of {side}"
            verb = "begins" if late_runs.height == 1 else "begin"
        start = pace.first_place(late_runs, evaluations) or "an unknown place"
        texts.append(wording("begins_late.side", which=subject, begins=verb, place=start))
    return "; ".join(texts)


def _match_groups(
    a: Runs, b: Runs, keys: Sequence[str], matching: _Matching
) -> tuple[list[Pair], list[UnpairedGroup], set[str]]:
    """Return the pairs of groups with equal keys, those without a partner, and columns of setups.

    Shared runs and copies are not left out yet.
    """
    parts_a, parts_b = setups.runs_by(a, keys), setups.runs_by(b, keys)
    groups: list[Pair] = []
    alone: list[UnpairedGroup] = []
    columns: set[str] = set()
    for key in dict.fromkeys((*parts_a, *parts_b)):
        group_keys = dict(zip(keys, key, strict=True))
        if key not in parts_b:
            alone.append(UnpairedGroup(group_keys, "a", parts_a[key].height))
        elif key not in parts_a:
            alone.append(UnpairedGroup(group_keys, "b", parts_b[key].height))
        elif matching != "pooled":
            by_request = matching == "asked"
            setup_columns, partners, unmatched = setups.match(
                parts_a[key], parts_b[key], asked=by_request
            )
            columns |= set(setup_columns)
            groups += [Pair(group_keys, *runs, setups.not_comparable(*runs)) for runs in partners]
            alone += [
                UnpairedGroup(
                    group_keys | dict(zip(setup_columns, setup, strict=True)), side, runs.height
                )
                for side, setup, runs in unmatched
            ]
        else:
            groups.append(Pair(group_keys, parts_a[key], parts_b[key]))
    return groups, alone, columns


def _make_pairing(
    baseline: Side,
    other: Side,
    groups: Sequence[Pair],
    alone: Sequence[UnpairedGroup],
    keys: Sequence[str],
    extra: Sequence[str],
    matching: _Matching,
) -> Pairing:
    """Return the judged pairs of matched groups, with names and notes of all groups."""
    if not groups:
        raise _no_pairs_error(baseline, other, alone, keys)
    shared_digests = shared_contents(baseline.runs, other.runs)
    pairs, differences = _judge_groups(baseline, other, groups, shared_digests, extra)
    all_keys = [*(group.keys for group in groups), *(group.keys for group in alone)]
    # Without a suite and round that all share.
    common_names = {
        name for name in ("suite", "round") if len({keys.get(name) for keys in all_keys}) == 1
    }

    def short(keys: Keys) -> str:
        return name_of({name: value for name, value in keys.items() if name not in common_names})

    names = [short(pair.keys) for pair in pairs]
    by_name = [(name, group.a, group.b) for name, group in zip(names, groups, strict=True)]
    named_differences = zip(names, differences, strict=True)
    remarks = (
        setups.mixture_notes(
            by_name if matching != "pooled" else (), extra if matching == "asked" else ()
        ),
        shared_notes(by_name, shared_digests),
        setups.remarks(by_name),
        common_target.remark(named_differences),
    )
    partnered = (
        pl.concat(
            [
                without_contents(runs, shared_digests).with_columns(pair=pl.lit(number))
                for number, runs in enumerate(runs_of_side)
            ],
            how="vertical_relaxed",
        )
        for runs_of_side in zip(*((group.a, group.b) for group in groups), strict=True)
    )
    return Pairing(
        tuple(pairs),
        tuple(replace(group, short=short(group.keys)) for group in alone),
        (*keys, *extra),
        tuple(chain.from_iterable(remarks)),
        *_common_title(baseline.runs, other.runs, keys),
        *partnered,
    )


def _judge_groups(
    baseline: Side,
    other: Side,
    groups: Sequence[Pair],
    shared_digests: pl.Series,
    extra: Sequence[str],
) -> tuple[list[Pair], list[str]]:
    """Return the pairs by common targets without shared runs, and the differences of targets."""
    rows, own_targets = (baseline.evaluations, other.evaluations), None
    if not (baseline.targets or other.targets or baseline.at_budget):
        own_targets = [
            common_target.targets(side.evaluations, side.runs) for side in (baseline, other)
        ]
    pairs, differences = [], []
    for group in groups:
        keys = {**group.keys, **{name: setups.common(group.a, group.b, name) for name in extra}}
        a, b = (counted(without_contents(runs, shared_digests)) for runs in (group.a, group.b))
        late_text, difference = _late_text(group, rows), ""
        unavailable = late_text or group.unavailable
        flags = [left_out.BEGINS_LATE] if late_text else [MIXED_SIZES] * bool(unavailable)
        if unavailable is None and (a.is_empty() or b.is_empty()):
            a, b, unavailable = counted(group.a), counted(group.b), SAME_RUNS
        elif unavailable is None and own_targets is not None:
            a, b, unavailable, difference = common_target.judge((a, b), own_targets, rows)
        flags += ["targets_differ"] if difference else []
        pairs.append(Pair(keys, a, b, unavailable, tuple(flags)))
        differences.append(difference)
    if all(pair.unavailable == SAME_RUNS for pair in pairs):
        raise TtastatsError(
            f"{baseline.label} and {other.label} contain the same runs: "
            f"{units.plural(len(shared_digests), 'run')} on both sides and no others",
            remedy="Give other runs, or select two parts of one file: --a 'system=...' --b "
            "'system=...'",
        )
    return pairs, differences


def _common_title(a: Runs, b: Runs, keys: Sequence[str]) -> tuple[str, str]:
    """Return the common suite and round of both sides, and the different ones, if no keys."""
    common_values, different_values = [], []
    for name in ("suite", "round"):
        if name in keys:
            continue
        values_a, values_b = (runs[name].unique().to_list() for runs in (a, b))
        if len(values_a) != 1 or len(values_b) != 1:
            continue
        if values_a == values_b:
            common_values.append(values_a[0])
        else:
            different_values.append((values_a[0] or "unknown", values_b[0] or "unknown"))
    sides = [" ".join(map(str, values)) for values in zip(*different_values, strict=True)]
    difference = f"A {sides[0]}, B {sides[1]}" if sides else ""
    return " ".join(str(value) for value in common_values if value is not None), difference


def _no_pairs_error(
    baseline: Side, other: Side, alone: Sequence[UnpairedGroup], keys: Sequence[str]
) -> TtastatsError:
    by_setup = [group for group in alone if set(group.keys) - set(keys)]
    names_a, names_b = (
        units.join_names([group.name for group in by_setup or alone if group.side == side], 5)
        for side in "ab"
    )
    has = f"{baseline.label} has {names_a or 'no runs'}; {other.label} has {names_b or 'no runs'}"
    if by_setup:
        return TtastatsError(
            f"no runs with the same number of accelerators and the same hardware: {has}",
            remedy="Select one setup per side (--a, --b), match on other columns (--by "
            "benchmark,accelerators), or pool all runs of a benchmark (--pool).",
        )
    same_benchmarks = not set(baseline.runs["benchmark"]).isdisjoint(other.runs["benchmark"])
    advice = "such as --by benchmark" if same_benchmarks else "with --by"
    remedy = f"Group by columns that both sides share, {advice}."
    return TtastatsError(f"no common {', '.join(keys)}: {has}", remedy=remedy)


#: What a run is known by wherever its log lies: a log that was sent in again is the same run.
#: Names alone tell nothing, as tables made by others may number the runs of each side from 0.
_LENGTH = pl.col("run_seconds").cast(pl.String).fill_null("unknown")
_CONTENT = pl.coalesce("content_digest", pl.concat_str("run_id", _LENGTH, separator=" "))
_ROW = (*RUN, "run_seconds")


def shared_contents(a: pl.DataFrame, b: pl.DataFrame) -> pl.Series:
    """Return the content digests of shared runs."""
    contents_a, contents_b = (runs.select(_CONTENT.alias("content")).to_series() for runs in (a, b))
    return contents_a.filter(contents_a.is_in(contents_b.implode())).drop_nulls().unique()


def without_contents(runs: pl.DataFrame, content: pl.Series) -> pl.DataFrame:
    """Return the runs with other content digests."""
    return runs.filter(~_CONTENT.is_in(content.implode()).fill_null(value=False))


def shared_notes(
    groups: Sequence[tuple[str, pl.DataFrame, pl.DataFrame]], shared_digests: pl.Series
) -> Iterator[Note]:
    """Yield a note on shared runs of groups."""
    is_shared = _CONTENT.is_in(shared_digests.implode())
    counts: list[int] = []
    logs: list[str] = []
    names = []
    for name, a, b in groups:
        runs = pl.concat([a, b], how="diagonal_relaxed").filter(is_shared)
        if not runs.is_empty():
            counts.append(runs.select(_CONTENT).n_unique())
            names.append(f"{name} {counts[-1]}")
            logs.extend(runs["source"])
    if counts:
        yield note("shared_runs", n=sum(counts), names=names, example=min(logs))


def refuse_overlap(sides: Sequence[tuple[str, pl.DataFrame]]) -> None:
    """Raise an error if a part of a table, a name and its runs, shares a run with the first."""
    (first, baseline), *other_sides = sides
    for name, runs in other_sides:
        shared_runs = baseline.select(_ROW).join(runs.select(_ROW), on=_ROW, how="semi").unique()
        if shared_runs.is_empty():
            continue
        remedy = "Select sides without common runs."
        column, sign, pattern = name.partition("=")
        if sign and column.isidentifier() and "," not in name:
            part = f"--a {first!r} --a '{column}!={pattern}'"
            remedy = f"Exclude them from one side, for example {part}."
        count = units.plural(shared_runs.height, "run")
        extent = "all" if shared_runs.height == runs.select(_ROW).n_unique() else "some"
        raise TtastatsError(
            f"{count} would be on both sides: {extent} of {name!r} also match {first!r}, such as "
            f"{shared_runs['source'].sort()[0]}",
            remedy=remedy,
        )
