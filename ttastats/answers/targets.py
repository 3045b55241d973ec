"""How does the answer depend on the quality target?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import polars as pl
from msgspec import UNSET, UnsetType

from ttastats.answers.compare.rows import verdict_numbers
from ttastats.answers.target_grid import Grid, goals, grids
from ttastats.base.errors import raise_if
from ttastats.base.note import Note, note, wording
from ttastats.outcomes import axis as axes
from ttastats.outcomes import left_out, time_to_target
from ttastats.outcomes.axis import Axis
from ttastats.outcomes.counted import counted
from ttastats.outcomes.left_out import LeftOut
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Column, PValue, Quantity, Table, Text
from ttastats.report.fields import Field
from ttastats.report.row import Key, Row
from ttastats.sides import comparison
from ttastats.sides.comparison import Comparison
from ttastats.sides.contrast import NOT_JUDGED
from ttastats.sides.numbers import expected_seconds
from ttastats.sides.pairing import Pair, Side
from ttastats.stats.decision import Decision
from ttastats.stats.sensitivity import stable_range
from ttastats.table import schema
from ttastats.table.schema import RUN

#: Groups of which the notes tell the details; of more only the rows do.
_NAMED = 6


class AgainstKeys(Row, frozen=True):
    """What side B does at a target, and how that compares with side A."""

    n_b: key.RunCount
    reached_b: key.ReachedCount
    ert_b_seconds: key.Ert
    speedup: key.SpeedupOfB
    speedup_low: key.Low
    speedup_high: key.High
    p_value: key.PAlone
    p_adjusted: key.PAdjusted
    tests: Annotated[int, Key("targets of the group at which the times differ", "targets")]
    verdict: key.VerdictOfTimes
    dagger: key.Dagger
    conditions: key.Conditions
    marks: key.Marks
    why: key.Why


class TargetRow(Row, frozen=True):
    """One group of runs at one target: of one side, or of two."""

    metric: Annotated[str, Key("the metric whose target varies")]
    target: Annotated[float, Key("its target", "metric")]
    official: Annotated[bool, Key("whether that is the official target")]
    axis: key.AxisName
    n_a: key.RunCount
    reached_a: key.ReachedCount
    ert_a_seconds: key.Ert
    against: AgainstKeys | UnsetType
    left_out_a: key.LeftOutOfA
    left_out_b: key.LeftOutOfB | UnsetType


@dataclass(frozen=True, slots=True)
class _Answered:
    """The answers to a grid, one for each target, and what is left out of each side's runs."""

    grid: Grid
    left_out: tuple[LeftOut, ...]
    rows: tuple[TargetRow, ...]
    decisions: tuple[Decision | None, ...]


def report(
    sides: Sequence[Side],
    by: Sequence[str] = grouping.BENCHMARK,
    *,
    points: int = 9,
    metric: str | None = None,
) -> Report:
    """Return the answer at each target of a grid, for each group of one side or two.

    At each target the runs are judged as by a target of the user, and compared as by `compare`.
    `points` and `metric` are those of `target_grid.grids`.
    """
    axis = axes.of(sides[0].runs)
    for name in by:
        raise_if(
            name not in schema.RUN_NAMES,
            f"{name} depends on the target, which this command varies",
            "--by",
            "Group by a property of the whole run, such as system or accelerators.",
        )
    raise_if(
        axis.whole_runs,
        f"{axis.noun} is known only for whole runs, not for the time to other targets",
        f"--in {axis.name}",
        "`summary` and `compare` work with the target at which the runs stopped.",
    )
    counting = []
    for side in sides:
        runs = counted(side.runs, by)
        evaluations = side.evaluations.join(
            runs.select(RUN).lazy(), on=RUN, how="semi", nulls_equal=True, maintain_order="left"
        )
        counting.append(replace(side, runs=runs, evaluations=evaluations))
    every = pl.concat([side.runs.select(by) for side in counting], how="vertical_relaxed")
    sizes = every.group_by(by).agg(n=pl.len())
    for side in counting:  # every side must have evaluations of a group
        evaluated = side.runs.filter(pl.col("evaluations") > 0).select(by).unique()
        sizes = sizes.join(evaluated, on=list(by), how="semi", nulls_equal=True)
    varied = grids([side.evaluations for side in counting], by, sizes, points=points, metric=metric)
    answered = [
        _answer_grid(grid, at_targets, [left_out.group(side.runs, grid.keys) for side in sides], by)
        for grid, at_targets in zip(
            varied, _runs_at_targets(counting, by, varied, axis), strict=True
        )
    ]
    rows = tuple(row for each in answered for row in each.rows)
    nothing = "no benchmark has evaluations on all sides"
    raise_if(not rows, nothing, None, "`ttastats runs FILE` lists the runs.")
    notes = (*_targets_notes(sides, answered, by), _method_note(rows, axis))
    table = _grid_table(rows, by, [side.label for side in sides], axis)
    return Report("targets", rows, (table,), notes, by=grouping.row_keys(by))


def _runs_at_targets(
    sides: Sequence[Side], by: Sequence[str], grids: Sequence[Grid], axis: Axis
) -> list[list[list[pl.DataFrame]]]:
    """Return the runs of each side at each target of each grid.

    One pass over the evaluations finds the runs of all groups, each at its own target.
    """
    runs_of: list[list[list[pl.DataFrame]]] = [[] for _ in grids]
    for number in range(max((len(grid.targets) for grid in grids), default=0)):
        numbers = [n for n, grid in enumerate(grids) if number < len(grid.targets)]
        targets = [grids[n].targets[number] for n in numbers]
        now = goals([grids[n] for n in numbers], targets, sides[0].runs)
        judged = [
            {
                tuple(keys.values()): group
                for keys, group in grouping.group_runs(
                    axes.on(time_to_target.runs_at(side.evaluations, now, by), axis), by
                )
            }
            for side in sides
        ]
        for n in numbers:
            place, none = tuple(grids[n].keys[name] for name in by), sides[0].runs.head(0)
            # A run that reached this target nobody knows where does not count at it.
            runs_of[n].append([groups.get(place, none) for groups in judged])
    return runs_of


def _answer_grid(
    grid: Grid,
    at_targets: Sequence[Sequence[pl.DataFrame]],
    gone: Sequence[LeftOut],
    by: Sequence[str],
) -> _Answered:
    """Return the answers at all targets of a grid, judged together.

    Targets at which the same runs took the same times are one test: Holm counts it once.
    """
    pairs: dict[Any, Pair] = {}
    tests = []
    for sides in at_targets:
        test = None
        if len(sides) > 1 and not any(runs.is_empty() for runs in sides):
            test = tuple(tuple(runs.select(_JUDGED).iter_rows()) for runs in sides)
            pairs.setdefault(test, Pair(grid.keys, sides[0], sides[1]))
        tests.append(test)
    judged = dict(zip(pairs, comparison.compare([*pairs.values()]), strict=True))
    compared = [None if test is None else judged[test] for test in tests]
    keys = {name: grid.keys.get(name) for name in grouping.row_keys(by)}
    rows = [
        TargetRow(
            grid.metric,
            target,
            target == grid.official,
            axes.of(sides[0]).name,
            *_count_reached(sides[0]),
            _comparison_keys(sides[1], one, len(judged)) if len(sides) > 1 else UNSET,
            key.LeftOutOfA(*gone[0].counts),
            key.LeftOutOfB(*gone[1].counts) if len(gone) > 1 else UNSET,
            keys=keys,
        )
        for target, sides, one in zip(grid.targets, at_targets, compared, strict=True)
    ]
    decisions = tuple(None if one is None else one.verdict for one in compared)
    return _Answered(grid, tuple(gone), tuple(rows), decisions)


#: What a verdict on runs rests on, and what tells them apart.
_JUDGED = (*RUN, "reached", "observed_seconds", "epochs", "samples", "steps")


def _count_reached(runs: pl.DataFrame) -> tuple[int, int, float | None]:
    """Return the number of runs, of those that reached, and the expected time."""
    return runs.height, int(runs.get_column("reached").sum()), expected_seconds(runs)


def _comparison_keys(runs: pl.DataFrame, one: Comparison | None, tests: int) -> AgainstKeys:
    ratio = one.speedup.ratio if one is not None and one.speedup else None
    return AgainstKeys(
        *_count_reached(runs),
        speedup=ratio.estimate if ratio else None,
        speedup_low=ratio.low if ratio else None,
        speedup_high=ratio.high if ratio else None,
        p_value=one.p_value if one else None,
        p_adjusted=one.p_adjusted if one else None,
        tests=tests,
        **verdict_numbers(one.verdict if one else NOT_JUDGED),
    )


def _grid_name(grid: Grid, by: Sequence[str]) -> str:
    names = [name for name in by if name not in {"suite", "round"}]
    return " ".join(str(grid.keys[name]) for name in names if grid.keys[name] is not None)


def _targets_notes(
    sides: Sequence[Side], answered: Sequence[_Answered], by: Sequence[str]
) -> Iterator[Note]:
    """Yield notes on each side, each group, and the metrics."""
    letters = "AB" if len(sides) > 1 else ("",)
    for letter, side in zip(letters, sides, strict=True):
        yield from (each.prefixed(letter) for each in grouping.group_notes(side.runs, by))
    for each in answered:  # each has many rows
        for letter, gone in zip(letters, each.left_out, strict=True):
            if text := str(gone):
                group = _grid_name(each.grid, by)
                name = f"{letter}, {group}" if letter else group
                yield note("left_out_runs", name=name, text=text)
    grids = [each.grid for each in answered]
    together = {
        note(
            "together",
            benchmark=grid.keys.get("benchmark"),
            metric=grid.metric,
            others=" and ".join(f"{name} {value:.5g}" for name, value in grid.others.items()),
        )
        for grid in grids
        if grid.others
    }
    yield from sorted(together, key=lambda each: each.text)
    names = {str(grid.keys.get("benchmark")) for grid in grids if grid.official is None}
    if names:
        yield note("no_official_target", names=", ".join(sorted(names)))
    if len(answered) <= _NAMED:
        yield from _grid_notes(answered, by)


def _grid_notes(answered: Sequence[_Answered], by: Sequence[str]) -> Iterator[Note]:
    """Yield notes on where the first run fails, and where the official verdict holds."""
    for each in answered:
        grid, name = each.grid, _grid_name(each.grid, by)
        of = f"{name}: " if name else ""
        if grid.hardest is not None:
            beyond = "above" if grid.higher_is_better else "below"
            yield note("first_failure", of=of, hardest=grid.hardest, beyond=beyond)
        words = {
            target: decision.word
            for target, decision in zip(grid.targets, each.decisions, strict=True)
            if decision is not None
        }
        if words and grid.official is not None:
            stable = stable_range(words, grid.official)
            yield note(
                "stable_range",
                of=of,
                official=grid.official,
                verdict=stable.word,
                lowest=stable.lowest,
                highest=stable.highest,
            )


def _method_note(rows: Sequence[TargetRow], axis: Axis) -> Note:
    what, verb = ("TTA", "is") if axis.is_time else (axis.to_target, "end at")
    compared = [row.against for row in rows if row.against]
    tested = any(row.tests > 1 for row in compared)
    doubtful = any("‡" in row.marks and row.verdict != "undecided" for row in compared)
    return note(
        "method.targets",
        what=what,
        verb=verb,
        noun=axis.noun,
        together=wording("method.together") if tested else "",
        stragglers=wording("method.stragglers") if doubtful else "",
    )


def _grid_table(
    rows: Sequence[TargetRow], by: Sequence[str], labels: Sequence[str], axis: Axis
) -> Table:
    def verdict(b: AgainstKeys) -> Text:
        # The marks of a row that is not decided are those of a claim that is not shown here.
        marks = "" if b.verdict == "undecided" else b.marks
        why = f": {b.why}" if b.why else ""
        return Text(f"{axis.claim(b.verdict)}{why} {marks}".strip())

    expected = "ERT" if axis.is_time else axis.expected
    shown: list[Field[TargetRow]] = [
        *fields.key_fields(grouping.shown_keys(rows, by)),
        Field(Column("metric", rank=2), partial(fields.key_cell, "metric")),
        fields.text_field("target", lambda row: f"{row.target:.7g}{' *' * row.official}"),
        fields.text_field("A reached", lambda row: f"{row.reached_a}/{row.n_a}"),
        fields.number_field(f"A {expected}", "ert_a_seconds", axis.unit),
    ]
    title = grouping.common_title(rows, by)
    if len(labels) == 2:
        title = f"{title}   A = {labels[0]}   B = {labels[1]}".strip()
        compared: list[Field[AgainstKeys]] = [
            fields.text_field("B reached", lambda b: f"{b.reached_b}/{b.n_b}"),
            fields.number_field(f"B {expected}", "ert_b_seconds", axis.unit),
            Field(
                Column(f"{axis.ratio} [95% CI]"),
                lambda b: Quantity(b.speedup, "ratio", b.speedup_low, b.speedup_high),
            ),
            Field(Column("p", "right"), lambda b: PValue(b.p_adjusted)),
            Field(Column("verdict"), verdict),
        ]
        shown += [fields.field_of_part(field, lambda row: row.against) for field in compared]
    return fields.make_table(rows, shown, title)
