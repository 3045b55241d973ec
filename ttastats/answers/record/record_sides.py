"""Which runs does a record rest on, and where do the rules judge them?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import msgspec
import polars as pl
from msgspec.structs import replace

from ttastats.answers.record.record_checks import Rules, unique
from ttastats.answers.record.record_judged import compare_with_threshold, meets_target
from ttastats.base import units
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.nearest import suggestion
from ttastats.outcomes import at_budget
from ttastats.outcomes.budget import Budget
from ttastats.outcomes.direction import is_upwards
from ttastats.outcomes.target import UserTarget
from ttastats.outcomes.target import parse_all as parse_targets
from ttastats.sides import pairing, question
from ttastats.sides.question import Chosen, Question, Source
from ttastats.table import schema


def sides(sources: Sequence[Source], rules: Rules, what: Question) -> tuple[list[Chosen], Rules]:
    """Return the runs of each source judged as the rules ask, and the rules for these runs.

    A metric or a target of the question replaces those of the rules; rules without a target take
    that of the runs.
    """
    if rules.value == "target":
        what = dataclasses.replace(what, unit="seconds", metric="")
        return question.sides(sources, what), rules
    target = None
    if what.target:  # which replaces that of the rules
        target, *others = parse_targets(what.target)
        raise_if(others, "rules have a single target", "--target", "Give one.")
        without = rules.counts == "quality"
        raise_if(without, f"{rules.name} has no target", "--target", "Leave out --target.")
    metric = _choose_metric(
        sources, rules, what, what.metric or (target.metric if target else None)
    )
    up = target.higher_is_better if target else None
    if up is None and metric in rules.metrics:
        up = rules.meets == ">="
    value = target.value if target else rules.target
    targets = () if value is None else (UserTarget(value, metric or None, up),)
    signs = {True: ">=", False: "<=", None: "=" if metric else ""}
    written = tuple(f'{f"{chr(34)}{metric}{chr(34)}" if metric else ""}{signs[up]}{each.value!r}'
                    for each in targets)  # fmt: skip
    what = dataclasses.replace(what, target=written, metric=metric, at_end=True)
    try:
        chosen = question.sides(sources, what, of_answer=True)
    except TtastatsError as error:
        of_rules = (error.where or "").startswith("--target")
        where = f"--rules {rules.name}" if of_rules else error.where
        raise TtastatsError(error.what, where=where, remedy=error.remedy) from None
    if up is None:
        up = is_upwards(*(side.runs for side in chosen))
    if value is None and rules.counts != "quality":
        values = pl.concat([side.runs["target_value"] for side in chosen])
        common = values.drop_nulls().unique().sort()
        known = units.join_names([f"{target:g}" for target in common])
        several = f"runs of several targets: {known}" if known else "the runs have no target"
        remedy = "Select one: --target 'val_loss<=3.28'."
        raise_if(common.len() != 1, several, f"--rules {rules.name}", remedy)
        value = float(common[0])
    rules = msgspec.structs.replace(rules, target=value, meets=">=" if up else "<=")
    if rules.value == "earliest":
        chosen = [_judge_at_earliest(side, metric, rules, targets) for side in chosen]
    return chosen, rules


def _choose_metric(
    sources: Sequence[Source], rules: Rules, what: Question, named: str | None
) -> str:
    """Return the first metric of the rules that all sources log, or the named one.

    It is empty where the rules name none.
    """
    wanted = (named,) if named else rules.metrics
    if not wanted:
        return ""
    logged = [
        question.rows(source, what.where)
        .filter(schema.is_evaluation())
        .select(pl.col("metric").unique().sort())
        .collect()["metric"]
        .to_list()
        for source in sources
    ]
    common = [name for name in logged[0] if all(name in names for names in logged)]
    if known := [name for name in wanted if name in common]:
        return known[0]
    there = (
        suggestion(wanted[0], common, "They log") if common else "They have no metric in common."
    )
    raise TtastatsError(
        f"the runs do not log the quality that {rules.name} judges: {' or '.join(wanted)}",
        where="--metric" if named else f"--rules {rules.name}",
        remedy=f"{there} Select one: --metric NAME. {rules.told}".rstrip(),
    )


def _judge_at_earliest(
    side: Chosen, metric: str, rules: Rules, targets: Sequence[UserTarget]
) -> Chosen:
    """Return runs judged at the earliest common step at which the test holds.

    The step is the same for all runs of a side, so that no run chooses its own.
    """
    counted = unique(side.runs)
    values = (
        side.rows.filter(schema.is_evaluation(), pl.col("metric") == metric)
        .join(counted.lazy().select(schema.RUN), on=schema.RUN, how="semi")
        .filter(pl.col("value").is_finite(), pl.col("step") > 0)
        .unique((*schema.RUN, "step"), keep="first")
        .group_by("step")
        .agg(quality="value")
        .filter(pl.col("quality").list.len() == counted.height)
        .sort("step")
        .collect()
    )
    if values.is_empty():
        return side
    step = values["step"][-1]
    for early, quality in values.iter_rows():
        # Qualities at a step are as fine as they are.
        of_step = pl.DataFrame({"quality": quality}).with_columns(
            quality_step=pl.lit(None, pl.Float64)
        )
        if meets_target(compare_with_threshold(of_step, rules), rules):
            step = early
            break
    runs = at_budget.runs(side.rows, Budget("step", step), targets=targets, metric=metric)
    return replace(side, runs=runs)


def by_benchmark(
    chosen: Sequence[Chosen], labels: Sequence[str]
) -> Iterator[tuple[str | None, dict[str, pl.DataFrame]]]:
    """Yield the runs of each benchmark of B by side, with those of A if there are any."""
    ordered = (side.runs.sort("benchmark", nulls_last=True, maintain_order=True) for side in chosen)
    *baseline, new = (
        {benchmark: part for (benchmark,), part in runs.group_by("benchmark", maintain_order=True)}
        for runs in ordered
    )
    theirs = baseline[0] if baseline else {}
    if baseline and not set(theirs) & set(new):
        raise TtastatsError(
            f"no common benchmark: {labels[0]} has {_listed(theirs)}; "
            f"{labels[1]} has {_listed(new)}",
            remedy="Give runs of one benchmark.",
        )
    for benchmark, runs in new.items():
        sides = {"B": runs}
        if benchmark in theirs:
            sides = {"A": theirs[benchmark], "B": runs}
            both = pairing.shared_contents(theirs[benchmark], runs)
            same = all(pairing.without_contents(side, both).is_empty() for side in sides.values())
            what = f"{labels[0]} and {labels[1]} contain the same runs"
            remedy = "Give other runs, or select two parts of one file with --a and --b."
            raise_if(same, what, None, remedy)
        yield benchmark, sides
    lacking = [benchmark for benchmark in theirs if benchmark not in new]
    remedy = "Add them, or exclude the benchmark: --where 'benchmark!=...'."
    raise_if(lacking, f"{labels[-1]} has no runs of {_listed(lacking)}", None, remedy)


def _listed(benchmarks: Sequence[str | None] | dict[str | None, pl.DataFrame]) -> str:
    return units.join_names([str(name or "an unknown benchmark") for name in benchmarks], 5)
