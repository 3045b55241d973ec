"""Which targets are asked of each group of runs, and how does the answer depend on them?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
import polars as pl
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from ttastats.answers.compare.rows import interval_keys, verdict_numbers
from ttastats.answers.compare.sentences import conditions_text
from ttastats.base import benchmarks, units
from ttastats.base.codes import Note, note, wording
from ttastats.base.errors import raise_if
from ttastats.base.metrics import TOLERANCE
from ttastats.base.percentages import percent_text
from ttastats.formats.block import PRICE
from ttastats.outcomes import axis as axes
from ttastats.outcomes import left_out, time_to_target
from ttastats.outcomes.axis import Axis
from ttastats.outcomes.left_out import LeftOut, counted
from ttastats.outcomes.target import is_higher_better
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Column, PValue, Quantity, Table, Text
from ttastats.report.fields import Field
from ttastats.report.row import Key, Row
from ttastats.sides import comparison, setups
from ttastats.sides.comparison import Comparison
from ttastats.sides.contrast import NOT_JUDGED
from ttastats.sides.findings import condition_list
from ttastats.sides.options import Options
from ttastats.sides.pairing import Pair, Side
from ttastats.stats.decision import Decision
from ttastats.stats.moments import count_by_group, groups_by_size
from ttastats.stats.outcomes import expected_times
from ttastats.stats.results import Verdict, none_for_nan
from ttastats.stats.unseen import stable_range, target_grid
from ttastats.table import schema
from ttastats.table.schema import RUN


class AgainstKeys(Row, frozen=True):
    """The results of side B at a target, and their comparison with side A."""

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


def report(
    sides: Sequence[Side],
    by: Sequence[str] = grouping.BENCHMARK,
    *,
    points: int = 9,
    metric: str | None = None,
    confidence: float,
) -> Report:
    """Return the answer at each target of a grid, for each group of one side or two.

    At each target the runs are judged as by a target of the user, and compared as by `compare`.
    `points` and `metric` are those of `grids`.
    """
    axis = axes.axis_of(sides[0].runs)
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
    counted_sides = []
    for side in sides:
        runs = counted(side.runs, by)
        evaluations = side.evaluations.join(
            runs.select(RUN).lazy(), on=RUN, how="semi", maintain_order="left"
        )
        counted_sides.append(replace(side, runs=runs, evaluations=evaluations))
    all_groups = pl.concat([side.runs.select(by) for side in counted_sides], how="vertical_relaxed")
    sizes = all_groups.group_by(by).agg(n=pl.len())
    for side in counted_sides:  # every side must have evaluations of a group
        evaluated_groups = side.runs.filter(pl.col("evaluations") > 0).select(by).unique()
        sizes = sizes.join(evaluated_groups, on=list(by), how="semi", nulls_equal=True)
    target_grids = grids(
        [side.evaluations for side in counted_sides], by, sizes, points=points, metric=metric
    )
    rows_left_out = [(side.runs, left_out.rows(side.runs)) for side in sides]
    left_out_runs = [
        [left_out.group(runs, grid.keys, rows) for runs, rows in rows_left_out]
        for grid in target_grids
    ]
    at_targets = _runs_at_targets(counted_sides, by, target_grids, axis)
    options = Options(confidence=confidence)
    answered = [
        _answer_grid(grid, groups, axis, group_left_out, by, options)
        for grid, groups, group_left_out in zip(
            target_grids, at_targets, left_out_runs, strict=True
        )
    ]
    rows = tuple(row for grid_rows, _ in answered for row in grid_rows)
    problem = "no benchmark has evaluations on all sides"
    raise_if(not rows, problem, None, "`ttastats runs FILE` lists the runs.")
    against = [row.against for row in rows if row.against]
    tested = any(row.tests > 1 for row in against)
    method = note(
        "method.targets",
        what="TTA" if axis.is_time else axis.to_target,
        verb="is" if axis.is_time else "end at",
        noun=axis.noun,
        ert=" (ERT)" if axis.is_time else "",
        together=wording("method.together") if tested else "",
    )
    comparisons = [grid_comparisons for _, grid_comparisons in answered]
    notes = (*_targets_notes(sides, target_grids, left_out_runs, comparisons, by, axis), method)
    table = _grid_table(rows, by, [side.label for side in sides], axis, confidence)
    if against:
        number, answer = len(against), _compared_answer(against, axis)
    else:
        number = len({row.target for row in rows})
        answer = _reached_answer(rows, by, axis, number)
    targets_text = units.plural(number, "target")
    return Report(
        "targets", rows, (table,), notes, answer, by=grouping.row_keys(by), target=targets_text
    )


def _compared_answer(against: Sequence[AgainstKeys], axis: Axis) -> str:
    """Return the number of targets of each verdict in words, the most frequent first."""
    words = Counter(row.verdict for row in against)
    if words[Verdict.UNAVAILABLE.value] == len(against):
        reasons = dict.fromkeys(filter(None, (row.why for row in against)))
        return wording("targets_unavailable", targets=len(against), reasons=[*reasons])
    parts = []
    for word, n in words.most_common():
        row_conditions = [
            row.conditions for row in against if row.verdict == word and row.conditions
        ]
        condition = conditions_text(code for codes in row_conditions for code in codes)
        is_conditional = Verdict(word).decided and condition
        of_them = "" if len(row_conditions) == n else f"{len(row_conditions)} of them "
        parts.append(
            f"{axis.claim(word)} at {n}{f' ({of_them}{condition})' if is_conditional else ''}"
        )
    return wording("targets_compared", targets=len(against), verdicts=", ".join(parts))


#: Groups of runs whose answers one sentence takes.
_FEW = 3


def _reached_answer(rows: Sequence[TargetRow], by: Sequence[str], axis: Axis, targets: int) -> str:
    """Return the hardest target of each group with most successes, of a few groups."""
    names, best_rows = grouping.row_names(rows, by), dict[str, TargetRow]()
    for name, row in zip(names, rows, strict=True):  # of each group the easiest target first
        if name not in best_rows or row.reached_a >= best_rows[name].reached_a:
            best_rows[name] = row
    if len(best_rows) > _FEW:
        return ""
    groups = [
        wording(
            "targets_group", name=f"{name}: " if len(best_rows) > 1 else "", reached=row.reached_a,
            n=row.n_a, metric=row.metric, target=f"{row.target:.7g}",
            time="–" if row.ert_a_seconds is None else units.amount(row.ert_a_seconds, axis.unit),
        )
        for name, row in best_rows.items()
    ]  # fmt: skip
    return wording("targets_reached", targets=targets, groups=groups)


class _AtTarget(Struct, frozen=True, eq=False):
    """The runs of a group at one target: how many, how many reached it, their expected time."""

    n: int
    n_reached: int
    expected: float | None
    runs: Sequence[pl.DataFrame] = ()


#: The columns of a run that tell where it met a target; two sides are compared by all.
_PLACED = (
    *schema.RUN, "suite", "content_digest", "clock", "clock_zero", "extra", PRICE, "run_seconds",
    "reached", "tta_seconds", "observed_seconds", "epochs", "samples", "steps", "evaluations",
    "evaluations_to_target", "set_aside",
)  # fmt: skip


def _runs_at_targets(
    sides: Sequence[Side], by: Sequence[str], grids: Sequence[Grid], axis: Axis
) -> list[list[list[_AtTarget]]]:
    """Return the runs of each side at each target of each grid, in one pass for all groups."""
    groups_of: list[list[list[_AtTarget]]] = [[] for _ in grids]
    most = max((len(grid.targets) for grid in grids), default=0)
    current = [
        [index for index, grid in enumerate(grids) if number < len(grid.targets)]
        for number in range(most)
    ]
    wanted = [
        goals(
            [grids[index] for index in indices],
            [grids[index].targets[number] for index in indices],
            sides[0].runs,
        )
        for number, indices in enumerate(current)
    ]
    names = time_to_target.JUDGED if len(sides) > 1 else {*_PLACED, *by}
    passes = [time_to_target.runs_at(side.evaluations, wanted, by, names) for side in sides]
    # A run that reached its target nobody knows where does not count at it.
    no_runs = _AtTarget(0, 0, None, [sides[0].runs.head(0)])
    for indices, *runs_of_sides in zip(current, *passes, strict=True):
        groups_by_side = [
            _groups_at_target(axes.converted(runs, axis), by, sides) for runs in runs_of_sides
        ]
        for index in indices:
            group_key = tuple(grids[index].keys.values())
            groups_of[index].append([groups.get(group_key, no_runs) for groups in groups_by_side])
    return groups_of


def _groups_at_target(
    runs: pl.DataFrame, by: Sequence[str], sides: Sequence[Side]
) -> dict[tuple[Any, ...], _AtTarget]:
    """Return what the runs of each group did at one target; of two sides with the runs."""
    compared = len(sides) > 1
    if not compared:
        names = {*by, "reached", "observed_seconds", "set_aside", "content_digest", "clock"}
        runs = runs.select(sorted(names))
    groups = grouping.group_runs(runs, by)
    reached = groups.runs["reached"].to_numpy()
    observed = groups.runs["observed_seconds"].to_numpy()
    expected = np.full(groups.sizes.size, np.nan)
    for indices, of_runs in groups_by_size(groups.sizes):
        expected[indices] = expected_times(observed[of_runs], reached[of_runs])
    numbers = zip(
        groups.keys.iter_rows(),
        groups.sizes.tolist(),
        count_by_group(reached, groups.sizes).tolist(),
        none_for_nan(expected),
        strict=True,
    )
    return {
        keys: _AtTarget(n, n_reached, time, groups.frames[index : index + 1] if compared else ())
        for index, (keys, n, n_reached, time) in enumerate(numbers)
    }


def _answer_grid(
    grid: Grid,
    at_targets: Sequence[Sequence[_AtTarget]],
    axis: Axis,
    left_out_runs: Sequence[LeftOut],
    by: Sequence[str],
    options: Options,
) -> tuple[list[TargetRow], list[Comparison | None]]:
    """Return the rows and the comparisons at all targets of a grid, judged together.

    A comparison is None where nothing can be compared. Targets at which the same runs took the same
    times are one test: Holm counts it once.
    """
    pairs: dict[Any, Pair] = {}
    tests = []
    for sides in at_targets:
        test = None
        if len(sides) > 1 and all(side.n for side in sides):
            a, b = (side.runs[0] for side in sides)
            test = tuple(tuple(runs.select(_JUDGED).iter_rows()) for runs in (a, b))
            if test not in pairs:
                pairs[test] = Pair(grid.keys, a, b, setups.not_comparable(a, b))
        tests.append(test)
    result_of_test = dict(zip(pairs, comparison.compare([*pairs.values()], options), strict=True))
    results = [None if test is None else result_of_test[test] for test in tests]
    keys, rows = {name: grid.keys.get(name) for name in grouping.row_keys(by)}, []
    for target, sides, result in zip(grid.targets, at_targets, results, strict=True):
        against: AgainstKeys | UnsetType = UNSET
        if len(sides) > 1:
            against = AgainstKeys(
                sides[1].n,
                sides[1].n_reached,
                sides[1].expected,
                **interval_keys(
                    "speedup", result.speedup.ratio if result and result.speedup else None
                ),
                p_value=result.p_value if result else None,
                p_adjusted=result.p_adjusted if result else None,
                tests=len(result_of_test),
                **_verdict_keys(result.verdict if result else NOT_JUDGED),
            )
        rows.append(TargetRow(
            grid.metric,
            target,
            target == grid.official,
            axis.name,
            sides[0].n,
            sides[0].n_reached,
            sides[0].expected,
            against,
            key.LeftOutOfA(*left_out_runs[0].counts),
            key.LeftOutOfB(*left_out_runs[1].counts) if len(left_out_runs) > 1 else UNSET,
            keys=keys,
        ))  # fmt: skip
    return rows, results


def _verdict_keys(verdict: Decision) -> dict[str, Any]:
    """Return the keys of a verdict, with the reason for none as `why`."""
    keys = verdict_numbers(verdict)
    return keys | {"why": keys["why"] or verdict.reason or None}


#: The basis of a verdict on runs, and their identity.
_JUDGED = (*RUN, "reached", "observed_seconds", "epochs", "samples", "steps")


def _grid_name(grid: Grid, by: Sequence[str]) -> str:
    names = [name for name in by if name not in {"suite", "round"}]
    return " ".join(str(grid.keys[name]) for name in names if grid.keys[name] is not None)


def _targets_notes(
    sides: Sequence[Side],
    grids: Sequence[Grid],
    left_out_runs: Sequence[Sequence[LeftOut]],
    comparisons: Sequence[Sequence[Comparison | None]],
    by: Sequence[str],
    axis: Axis,
) -> Iterator[Note]:
    letters = "AB" if len(sides) > 1 else ("",)
    for letter, side in zip(letters, sides, strict=True):
        yield from (remark.prefixed(letter) for remark in grouping.group_notes(side.runs, by))
    for grid, of_sides in zip(grids, left_out_runs, strict=True):  # each has many rows
        for letter, left_out_of_side in zip(letters, of_sides, strict=True):
            if text := str(left_out_of_side):
                group = _grid_name(grid, by)
                name = f"{letter}, {group}" if letter else group
                yield note("left_out_runs", name=name, text=text)
    joint_targets = {
        note(
            "together",
            benchmark=grid.keys.get("benchmark"),
            metric=grid.metric,
            others=" and ".join(f"{name} {value:.5g}" for name, value in grid.others.items()),
        )
        for grid in grids
        if grid.others
    }
    yield from sorted(joint_targets, key=lambda remark: remark.text)
    names = {str(grid.keys.get("benchmark")) for grid in grids if grid.official is None}
    if names:
        yield note("no_official_target", names=", ".join(sorted(names)))
    for grid, of_grid in zip(grids, comparisons, strict=True) if len(grids) <= 6 else ():
        name = _grid_name(grid, by)
        of = f"{name}: " if name else ""
        if grid.hardest is not None:
            direction = "above" if grid.higher_is_better else "below"
            yield note("first_failure", of=of, hardest=grid.hardest, beyond=direction)
        result_at = {
            target: result for target, result in zip(grid.targets, of_grid, strict=True) if result
        }
        if result_at and grid.official is not None:
            yield from _range_notes(result_at, grid.official, of, axis)


def _range_notes(
    result_at: Mapping[float, Comparison], official: float, of: str, axis: Axis
) -> Iterator[Note]:
    """Yield a note on the range of targets with the same verdict, and the direction of ratios.

    Where nothing is decided, the same word at other targets shows no more than too few runs.
    """
    estimates = [result.speedup.ratio.estimate for result in result_at.values() if result.speedup]
    ratios = [estimate for estimate in estimates if estimate is not None]
    if not ratios:
        return
    above, below = sum(ratio > 1 for ratio in ratios), sum(ratio < 1 for ratio in ratios)
    key = "stable_range.both_ways" if above and below else "stable_range.one_way"
    direction = wording(key, n=len(ratios), above=above, below=below)
    words = {target: result.verdict.word for target, result in result_at.items()}
    if not (word := words[official]).decided:
        yield note(
            "stable_range.undecided", of=of, official=official, verdict=word, direction=direction
        )
        return
    stable = stable_range(words, official)
    yield note(
        "stable_range", of=of, official=official, verdict=axis.claim(stable.word),
        lowest=stable.lowest, highest=stable.highest, direction=direction,
    )  # fmt: skip


def _grid_table(
    rows: Sequence[TargetRow],
    by: Sequence[str],
    labels: Sequence[str],
    axis: Axis,
    confidence: float,
) -> Table:
    def verdict(b: AgainstKeys) -> Text:
        if b.verdict == Verdict.UNAVAILABLE.value and b.why:
            return Text(b.why)
        # What a row that is not decided carries is of a claim that is not shown here.
        is_decided = Verdict(b.verdict).decided
        conditions = "".join(f", {text}" for text in condition_list(b.conditions) if is_decided)
        reason = f": {b.why}" if b.why else ""
        return Text(f"{axis.claim(b.verdict)}{conditions}{reason} {b.marks * is_decided}".strip())

    a = "A " if len(labels) == 2 else ""
    table_fields: list[Field[TargetRow]] = [
        *fields.key_fields(grouping.shown_keys(rows, by)),
        Field(Column("metric", rank=3), partial(fields.key_cell, "metric")),
        fields.text_field("target", lambda row: f"{row.target:.7g}{' *' * row.official}"),
        fields.text_field(f"{a}reached", lambda row: f"{row.reached_a}/{row.n_a}", rank=1),
        fields.number_field(f"{a}{axis.ert}", "ert_a_seconds", axis.unit, rank=2 * bool(a)),
    ]
    title = grouping.common_title(rows, by)
    if len(labels) == 2:
        title = f"{title}   A = {labels[0]}   B = {labels[1]}".strip()
        comparison_fields: list[Field[AgainstKeys]] = [
            fields.text_field("B reached", lambda b: f"{b.reached_b}/{b.n_b}", rank=1),
            fields.number_field(f"B {axis.ert}", "ert_b_seconds", axis.unit, rank=2),
            Field(
                Column(f"{axis.ratio} [{percent_text(confidence)} CI]"),
                lambda b: Quantity(b.speedup, "ratio", b.speedup_low, b.speedup_high),
            ),
            Field(Column("p", "right"), lambda b: PValue(b.p_adjusted)),
            Field(Column("verdict", rank=-1), verdict),
        ]
        table_fields += [
            fields.field_of_part(field, lambda row: row.against) for field in comparison_fields
        ]
    return fields.make_table(rows, table_fields, title)


class Grid(Struct, frozen=True):
    """One metric of a group and its targets, easiest first, with what is to be met beside it.

    `others` are the other official metrics with their targets: all must be met at one checkpoint.
    `official` is the metric's own target, None where it has none or runs of the group have
    several. `hardest` is met by every run of the group; None if one has no such quality.
    """

    keys: Mapping[str, Any]
    metric: str
    higher_is_better: bool
    others: Mapping[str, float]
    official: float | None
    targets: tuple[float, ...]
    hardest: float | None


def grids(
    sides: Sequence[pl.LazyFrame],
    by: Sequence[str],
    sizes: pl.DataFrame,
    *,
    points: int,
    metric: str | None,
) -> tuple[Grid, ...]:
    """Return the grid of targets for each group, sorted by the keys.

    `sides` are the evaluations of the runs that count, of one side or of two, and `sizes` the
    groups to ask about, with `n`, the number of their runs. There are at most so many `points`,
    round targets between the worst first quality and the best that every run reached, beside the
    official one. `metric` varies, by default the first with a target; other official metrics stay
    at their targets.
    """
    facts = (
        pl.concat(sides, how="vertical_relaxed")
        .filter(schema.is_evaluation())
        .group_by(*by, "metric")
        .agg(
            higher=is_higher_better(),
            targets=pl.col("target_value").filter(pl.col("target_value").is_finite()).unique(),
        )
        .sort(*by, "metric", nulls_last=True)
        .collect()
        .join(sizes, on=list(by), how="semi", nulls_equal=True, maintain_order="left")
    )
    empty_grids = [
        grid
        for keys, group in facts.group_by(by, maintain_order=True)
        if (grid := _empty_grid(dict(zip(by, keys, strict=True)), group, metric)) is not None
    ]
    if not empty_grids:
        names = facts["metric"].unique().sort().to_list()
        problem = f"no target given, and several metrics: {units.join_names(names)}"
        raise_if(not metric and len(names) > 1, problem, None, "Select one with --metric.")
        return ()
    wanted = goals(empty_grids, [None] * len(empty_grids), sizes)
    values = pl.col("values").list
    curves = (  # a run may stand in both sides
        pl.concat([time_to_target.qualities(rows, wanted, by) for rows in sides])
        .select(*by, first=values.first(), least=values.min(), most=values.max())
        .group_by(by)
        .agg(
            pl.len(),
            pl.concat_list(pl.col("first").min(), pl.col("most").min()).alias("rising"),
            pl.concat_list(pl.col("first").max(), pl.col("least").max()).alias("falling"),
        )
    )
    ends = {row[:-3]: row[-3:] for row in curves.iter_rows()}
    numbers = {row[:-1]: row[-1] for row in sizes.select(*by, "n").iter_rows()}
    filled = []
    for grid in empty_grids:
        group_key, higher = tuple(grid.keys.values()), grid.higher_is_better
        n, rising, falling = ends.get(group_key, (0, (), ()))
        # The worst first quality, and the best that every run reached.
        curve = rising if higher else falling
        targets = set(target_grid(curve[0], curve[1], points)) if curve else set[float]()
        if (official := grid.official) is not None:
            slack = abs(official) * TOLERANCE
            targets = {official, *(target for target in targets if abs(target - official) > slack)}
        hardest = curve[1] if n == numbers[group_key] else None
        easiest_first = tuple(sorted(targets, reverse=not higher))
        filled.append(replace(grid, targets=easiest_first, hardest=hardest))
    return tuple(filled)


def _empty_grid(keys: Mapping[str, Any], facts: pl.DataFrame, metric: str | None) -> Grid | None:
    """Return a grid with the metric to vary and the fixed targets beside it, no targets yet."""
    facts = facts.select("metric", "higher", "targets")
    facts_by_metric = {name: (higher, targets) for name, higher, targets in facts.iter_rows()}
    targeted = {name: targets for name, (_, targets) in facts_by_metric.items() if targets}
    single_metric = next(iter(facts_by_metric)) if len(facts_by_metric) == 1 else None
    varied_metric = metric or next(iter(targeted), single_metric)
    if varied_metric is None or varied_metric not in facts_by_metric:
        return None
    other_targets = {
        # Of several targets of one metric the strictest: what meets it meets all.
        name: max(targets) if facts_by_metric[name][0] else min(targets)
        for name, targets in targeted.items()
        if name != varied_metric and varied_metric in targeted
    }
    has_one_target = varied_metric in targeted and all(
        len(targets) == 1 for targets in targeted.values()
    )
    suite, benchmark = keys.get("suite"), keys.get("benchmark")
    required = set()  # by the rules, where the keys tell the benchmark
    if suite is not None and benchmark is not None:
        rules = benchmarks.targets(suite, benchmark, keys.get("round"))
        required = {target.metric for target in rules}
    official = (
        targeted[varied_metric][0] if has_one_target and required <= targeted.keys() else None
    )
    return Grid(
        keys, varied_metric, facts_by_metric[varied_metric][0], other_targets, official, (), None
    )


def goals(
    grids: Sequence[Grid], targets: Sequence[float | None], runs: pl.DataFrame
) -> pl.DataFrame:
    """Return the goals of each grid at one target, as `runs_at` takes them.

    The columns of the keys are of the types they have in `runs`.
    """
    return pl.DataFrame(
        [
            (*grid.keys.values(), name, value)
            for grid, target in zip(grids, targets, strict=True)
            for name, value in {**grid.others, grid.metric: target}.items()
        ],
        schema={
            **runs.select([*grids[0].keys]).schema,
            "metric": pl.String(),
            "target_value": pl.Float64(),
        },
        orient="row",
    )
