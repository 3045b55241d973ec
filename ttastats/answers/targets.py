"""How does the answer depend on the quality target?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from ttastats.answers.compare.verdicts import verdict_numbers
from ttastats.answers.target_grid import Grid, goals, grids
from ttastats.base.errors import TtastatsError
from ttastats.base.note import Note, note, wording
from ttastats.outcomes import axis as axes
from ttastats.outcomes import left_out, time_to_target
from ttastats.outcomes.axis import Axis
from ttastats.outcomes.counted import counted
from ttastats.outcomes.left_out import LeftOut
from ttastats.report import fields, grouping
from ttastats.report.answer import Report
from ttastats.report.cells import Column, PValue, Quantity, Table, Text
from ttastats.report.fields import Field
from ttastats.report.keys import LeftOutOfA, LeftOutOfB
from ttastats.sides import comparison
from ttastats.sides.comparison import Comparison
from ttastats.sides.numbers import expected_seconds
from ttastats.sides.pairing import Pair, Side
from ttastats.stats.sensitivity import stable_range
from ttastats.table import schema
from ttastats.table.schema import RUN

#: Groups of which the notes tell the details; of more only the rows do.
_NAMED = 6


def report(
    sides: Sequence[Side],
    by: Sequence[str] = grouping.BENCHMARK,
    *,
    points: int = 9,
    metric: str | None = None,
) -> Report:
    """Give, for each group of one side or of two, the answer at each target of a grid.

    At each target the runs are judged as by a target of the user, and compared as by `compare`.

    Parameters
    ----------
    points
        At most so many round targets between the worst first quality and the best that every run
        reached, beside the official one.
    metric
        The metric to vary, where a benchmark has several; by default the first with a target.
        The other official metrics stay at their targets.

    Raises
    ------
    TtastatsError
        No group has evaluations on every side, or `by` names what depends on the target.
    """
    _expect_of_runs(by)
    axis = axes.of(sides[0].runs)
    if axis.whole_runs:
        raise TtastatsError(
            f"{axis.noun} is known only for whole runs, not for the time to other targets",
            where=f"--in {axis.name}",
            remedy="`summary` and `compare` work with the target at which the runs stopped.",
        )
    kept = [_counting(side, by) for side in sides]
    asked = grids(
        [side.evaluations for side in kept], by, _shared(kept, by), points=points, metric=metric
    )
    answers = _answers(kept, by, asked, axis)
    gone = {id(grid): _left_out(sides, grid) for grid in asked}
    rows = tuple(
        _base(grid, by)
        | {"target": target, "official": target == grid.official}
        | answer
        | _numbers_of(gone[id(grid)])
        for grid in asked
        for target, (answer, _) in zip(grid.targets, answers[id(grid)], strict=True)
    )
    if not rows:
        raise TtastatsError(
            "no benchmark has evaluations on all sides",
            remedy="`ttastats runs FILE` lists the runs.",
        )
    notes = (
        *_side_notes(sides, by),
        *_left_out_notes(asked, gone, by),
        *_together(asked),
        *_no_official(asked),
        *_details(asked, answers, by),
        _method(rows, axis),
    )
    table = _table(rows, by, [side.label for side in sides], axis)
    return Report("targets", rows, (table,), notes, by=grouping.row_keys(by))


def _expect_of_runs(by: Sequence[str]) -> None:
    for name in by:
        if name not in schema.RUN_NAMES:
            raise TtastatsError(
                f"{name} depends on the target, which this command varies",
                where="--by",
                remedy="Group by a property of the whole run, such as system or accelerators.",
            )


def _counting(side: Side, by: Sequence[str]) -> Side:
    """Keep the runs that count."""
    runs = counted(side.runs, by)
    chosen = runs.select(RUN).lazy()
    evaluations = side.evaluations.join(
        chosen, on=RUN, how="semi", nulls_equal=True, maintain_order="left"
    )
    return replace(side, runs=runs, evaluations=evaluations)


def _shared(sides: Sequence[Side], by: Sequence[str]) -> pl.DataFrame:
    """Give the groups that every side has evaluations of, with the number of their runs."""
    evaluated = [side.runs.filter(pl.col("evaluations") > 0).select(by).unique() for side in sides]
    every = pl.concat([side.runs.select(by) for side in sides], how="vertical_relaxed")
    sizes = every.group_by(by).agg(n=pl.len())
    for side in evaluated:
        sizes = sizes.join(side, on=list(by), how="semi", nulls_equal=True)
    return sizes


#: Numbers of a group at one target, with the comparison they come from where there are two sides.
Answer = tuple[dict[str, Any], Comparison | None]


def _answers(
    sides: Sequence[Side], by: Sequence[str], asked: Sequence[Grid], axis: Axis
) -> dict[int, list[Answer]]:
    """Return the answers to each grid, in the order of its targets.

    One pass over the evaluations finds the runs of all groups, each at its own target.
    """
    runs_of: dict[int, list[list[pl.DataFrame]]] = {id(grid): [] for grid in asked}
    for number in range(max((len(grid.targets) for grid in asked), default=0)):
        left = [grid for grid in asked if number < len(grid.targets)]
        now = goals(left, [grid.targets[number] for grid in left], sides[0].runs)
        judged = [
            {tuple(keys.values()): group for keys, group in grouping.groups(runs, by)}
            for runs in (
                axes.on(time_to_target.runs_at(side.evaluations, now, by), axis) for side in sides
            )
        ]
        for grid in left:
            key = tuple(grid.keys[name] for name in by)
            # A run that reached this target nobody knows where does not count at it.
            found = [
                one.get(key, side.runs.head(0)) for one, side in zip(judged, sides, strict=True)
            ]
            runs_of[id(grid)].append(found)
    return {id(grid): _of_grid(grid, runs_of[id(grid)]) for grid in asked}


def _of_grid(grid: Grid, at_targets: Sequence[Sequence[pl.DataFrame]]) -> list[Answer]:
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
    return [
        _answer(sides, None if test is None else judged[test], len(judged))
        for sides, test in zip(at_targets, tests, strict=True)
    ]


#: What a verdict on runs rests on, and what tells them apart.
_JUDGED = (*RUN, "reached", "observed_seconds", "epochs", "samples", "steps")


def _answer(sides: Sequence[pl.DataFrame], one: Comparison | None, tests: int) -> Answer:
    row: dict[str, Any] = {"axis": axes.of(sides[0]).name}
    for name, runs in zip("ab", sides, strict=False):
        row |= {
            f"n_{name}": runs.height,
            f"reached_{name}": int(runs.get_column("reached").sum()),
            f"ert_{name}_seconds": expected_seconds(runs),
        }
    if len(sides) < 2:
        return row, None
    ratio = one.speedup.ratio if one is not None and one.speedup else None
    return row | {
        "speedup": ratio.estimate if ratio else None,
        "speedup_low": ratio.low if ratio else None,
        "speedup_high": ratio.high if ratio else None,
        "p_value": one.p_value if one else None,
        "p_adjusted": one.p_adjusted if one else None,
        "tests": tests,
        **verdict_numbers(one.verdict if one else None),
    }, one


def _base(grid: Grid, by: Sequence[str]) -> dict[str, Any]:
    keys = {name: grid.keys.get(name) for name in grouping.row_keys(by)}
    return keys | {"metric": grid.metric}


def _name(grid: Grid, by: Sequence[str]) -> str:
    names = [name for name in by if name not in {"suite", "round"}]
    return " ".join(str(grid.keys[name]) for name in names if grid.keys[name] is not None)


def _left_out(sides: Sequence[Side], grid: Grid) -> tuple[LeftOut, ...]:
    """Return what is left out of the runs of each side of a group."""
    return tuple(left_out.of(side.runs, grid.keys) for side in sides)


def _numbers_of(gone: Sequence[LeftOut]) -> dict[str, int]:
    parts = zip((LeftOutOfA, LeftOutOfB), gone, strict=False)
    return {name: n for part, one in parts for name, n in part(*one.counts).numbers().items()}


def _left_out_notes(
    asked: Sequence[Grid], gone: Mapping[int, Sequence[LeftOut]], by: Sequence[str]
) -> Iterator[Note]:
    """Name the groups of which logs or runs are left out, since each has many rows."""
    for grid in asked:
        sides = gone[id(grid)]
        for letter, one in zip("AB", sides, strict=False):
            if text := str(one):
                name = f"{letter}, {_name(grid, by)}" if len(sides) > 1 else _name(grid, by)
                yield note("left_out_runs", name=name, text=text)


def _side_notes(sides: Sequence[Side], by: Sequence[str]) -> Iterator[Note]:
    for letter, side in zip("AB", sides, strict=False):
        name = letter if len(sides) > 1 else ""
        yield from (each.of(name) for each in grouping.group_notes(side.runs, by))


def _together(grids: Sequence[Grid]) -> list[Note]:
    """Return which metrics must be met beside the one that varies."""
    notes = {
        note(
            "together",
            benchmark=grid.keys.get("benchmark"),
            metric=grid.metric,
            others=" and ".join(f"{name} {value:.5g}" for name, value in grid.others.items()),
        )
        for grid in grids
        if grid.others
    }
    return sorted(notes, key=lambda each: each.text)


def _no_official(grids: Sequence[Grid]) -> list[Note]:
    names = sorted({str(each.keys.get("benchmark")) for each in grids if each.official is None})
    return [note("no_official_target", names=", ".join(names))] if names else []


def _details(
    asked: Sequence[Grid], answers: Mapping[int, Sequence[Answer]], by: Sequence[str]
) -> Iterator[Note]:
    """Say where the first run fails, and over which targets the official verdict holds."""
    if len(asked) > _NAMED:
        return
    for grid in asked:
        name = _name(grid, by)
        of = f"{name}: " if name else ""
        if grid.hardest is not None:
            beyond = "above" if grid.higher_is_better else "below"
            yield note("first_failure", of=of, hardest=grid.hardest, beyond=beyond)
        words = {
            target: one.verdict.word
            for target, (_, one) in zip(grid.targets, answers[id(grid)], strict=True)
            if one is not None and one.verdict is not None
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


def _method(rows: Sequence[Mapping[str, Any]], axis: Axis) -> Note:
    what, verb = ("TTA", "is") if axis.is_time else (axis.to_target, "end at")
    tested = any(row.get("tests", 0) > 1 for row in rows)
    doubtful = any("‡" in row.get("marks", "") and row["verdict"] != "undecided" for row in rows)
    return note(
        "method.targets",
        what=what,
        verb=verb,
        noun=axis.noun,
        together=wording("method.together") if tested else "",
        stragglers=wording("method.stragglers") if doubtful else "",
    )


def _table(
    rows: Sequence[Mapping[str, Any]], by: Sequence[str], labels: Sequence[str], axis: Axis
) -> Table:
    expected = "ERT" if axis.is_time else axis.expected
    shown = [
        *fields.keys(grouping.shown_keys(rows, by)),
        Field(Column("metric", rank=2), partial(fields.key, "metric")),
        fields.words("target", lambda row: f"{row['target']:.7g}{' *' * row['official']}"),
    ]
    for name in "ab"[: len(labels)]:
        shown += [
            fields.words(f"{name.upper()} reached", partial(_reached, name)),
            fields.number(f"{name.upper()} {expected}", f"ert_{name}_seconds", axis.unit),
        ]
    title = grouping.common_title(rows, by)
    if len(labels) == 2:
        title = f"{title}   A = {labels[0]}   B = {labels[1]}".strip()
        shown += [
            Field(Column(f"{axis.ratio} [95% CI]"), _speedup),
            Field(Column("p", "right"), lambda row: PValue(row["p_adjusted"])),
            Field(Column("verdict"), lambda row: Text(_verdict(row, axis))),
        ]
    return fields.table(rows, shown, title)


def _reached(name: str, row: Mapping[str, Any]) -> str:
    return f"{row[f'reached_{name}']}/{row[f'n_{name}']}"


def _speedup(row: Mapping[str, Any]) -> Quantity:
    return Quantity(row["speedup"], "ratio", row["speedup_low"], row["speedup_high"])


def _verdict(row: Mapping[str, Any], axis: Axis) -> str:
    # The marks of a row that is not decided are those of a claim that is not shown here.
    marks = "" if row["verdict"] == "undecided" else row["marks"]
    why = f": {row['why']}" if row["why"] else ""
    return f"{axis.claim(row['verdict'])}{why} {marks}".strip()
