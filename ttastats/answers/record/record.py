"""Is it a record by the rules of a contest, and on which runs does it rest?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import polars as pl
from msgspec.structs import replace

from ttastats.answers.record.record_checks import (
    JudgedRecord,
    Result,
    Rules,
    all_rules,
    compare_with_threshold,
    meets_target,
    unique,
)
from ttastats.base import units
from ttastats.base.codes import Note
from ttastats.base.errors import TtastatsError, raise_if, suggestion
from ttastats.outcomes import at_budget
from ttastats.outcomes.budget import Budget
from ttastats.outcomes.target import UserTarget, is_upwards
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Table, Text
from ttastats.report.keys import Benchmark, High, Low
from ttastats.report.row import Key, Number, Row
from ttastats.sides import choice, pairing, setups
from ttastats.sides.choice import Choice
from ttastats.sides.question import Question, Source
from ttastats.stats.results import Tone
from ttastats.table import schema

_TONES: Mapping[Result, Tone] = {
    "passed": "good", "failed": "bad", "not known": "dim", "told": "plain",
}  # fmt: skip
#: Checks that keep nothing from being a record where logs do not answer them.
_OPTIONAL = {"seeds", "machines", "order", "time", "same stop"}
_COLUMNS = (Column("check"), Column("result"), Column("figures", rank=1))

_Quality = Annotated[Number, Key("mean quality of the runs", "metric")]
_Seconds = Annotated[Number, Key("mean time of the runs, or median of the studies", "seconds")]
_Steps = Annotated[Number, Key("steps of the longest run", "steps")]
_Count = Annotated[int | None, Key("runs with a value, or studies", "runs")]


class RecordRow(Row, frozen=True, kw_only=True):
    """A benchmark judged by the rules of a contest; A is the baseline, B the new runs."""

    benchmark: Benchmark
    rules: Annotated[str, Key("name of the rules")]
    verdict: Annotated[str, Key("`record`, `no record` or `undecided`")]
    reasons: Annotated[list[str], Key("checks that keep it from being a record, with figures")]
    n_a: _Count = None
    n_b: _Count = None
    quality_a: _Quality = None
    quality_b: _Quality = None
    quality_p: Annotated[Number, Key("one-sided p of the quality that the rules ask for")] = None
    seconds_ratio: Annotated[Number, Key("time of A over that of B", "ratio")] = None
    seconds_low: Low = None
    seconds_high: High = None
    seconds_p: Annotated[Number, Key("p of the ratio")] = None
    seconds_a: _Seconds = None
    seconds_b: _Seconds = None
    steps_a: _Steps = None
    steps_b: _Steps = None
    checks: Annotated[list[str], Key("every check with its result")]
    not_known: Annotated[list[str], Key("checks that the logs do not answer")]


class RulesRow(Row, frozen=True):
    """The rules of a contest."""

    rules: Annotated[str, Key("their name")]
    title: Annotated[str, Key("what is a record by them")]
    read: Annotated[str, Key("which wording they were taken from")]
    source: Annotated[str, Key("where they are published")]


def report(
    judged_records: Sequence[tuple[str | None, JudgedRecord]], rules: Rules, labels: Sequence[str]
) -> Report:
    """Return the report of each judged benchmark; `labels` name A, if there is one, and B."""
    letters = ("A", "B")[-len(labels) :]
    sides = "   ".join(
        f"{letter} = {label}"
        for letter, label in zip(letters, labels, strict=True)
        if (letter, label) != ("B", "A")  # the only frame, which has no name
    )
    rows, tables = [], []
    for benchmark, record in judged_records:
        rows.append(
            RecordRow(
                benchmark=benchmark,
                rules=rules.name,
                verdict=record.verdict,
                reasons=[f"{check.name}: {check.figures}" for check in record.against],
                checks=[f"{check.name}: {check.result}" for check in record.checks],
                not_known=[check.name for check in record.checks if check.result == "not known"],
                **record.numbers,
            )
        )
        lines = tuple(
            Line((Text(check.name), Text(check.result, _TONES[check.result]), Text(check.figures)))
            for check in record.checks
        )
        title = "   ".join(filter(None, (benchmark, rules.name, sides)))
        tables.append(Table(_COLUMNS, lines, title))
    notes = (Note("rules", rules.remark),) if rules.remark else ()
    sentence = " ".join(
        _record_sentence(benchmark, record, rules) for benchmark, record in judged_records
    )
    return Report("record", tuple(rows), tuple(tables), notes, sentence)


def _record_sentence(benchmark: str | None, record: JudgedRecord, rules: Rules) -> str:
    reasons = record.against
    grounds = "; ".join(
        f"{check.name}{f' {check.result}' if reasons else ''}: {check.figures}"
        for check in reasons or record.checks
        if reasons or (check.disproves and check.decides)
    )
    words = {
        "record": "B is a record",
        "no record": "B is not a record",
        "undecided": "whether B is a record is undecided",
    }
    text = f"{words[record.verdict]} by the rules of {rules.name} ({grounds})."
    text = f"{benchmark}: {text}" if benchmark else f"{text[:1].upper()}{text[1:]}"
    if reasons:
        return text
    optional = [check for check in record.checks if check.name in _OPTIONAL]
    if silent := [check.name for check in optional if check.result == "not known"]:
        text += f" Not in the logs: {units.join_names(silent)}."
    failed = (check for check in optional if check.result == "failed")
    return text + "".join(f" But {check.name}: {check.figures}." for check in failed)


def of_rules() -> Report:
    """Return the report of all contest rules, with their sources."""
    rows = [RulesRow(x.name, x.title, x.read, x.source) for x in all_rules().values()]
    columns = (
        Column("rules"), Column("definition of a record"),
        Column("rules as of", rank=2, names=True), Column("source", rank=1, names=True),
    )  # fmt: skip
    body = tuple(Line(tuple(map(Text, row.to_dict().values()))) for row in rows)
    return Report("record", tuple(rows), (Table(columns, body, "contest rules"),))


def sides(sources: Sequence[Source], rules: Rules, what: Question) -> tuple[list[Choice], Rules]:
    """Return the runs of each source judged as the rules ask, and the rules for these runs.

    A metric or a target of the question replaces those of the rules; rules without a target take
    that of the runs.
    """
    if rules.replicate:
        what = dataclasses.replace(what, unit="seconds", metric="")
        return choice.sides(sources, what), rules
    goal, *other_goals = what.goals or (UserTarget(rules.target or 0.0),)
    raise_if(other_goals, "rules have a single target", "--target", "Give one.")
    without_target = bool(what.target) and rules.counts == "quality"
    raise_if(without_target, f"{rules.name} has no target", "--target", "Leave out --target.")
    metric = _choose_metric(sources, rules, what, what.metric or goal.metric)
    up = goal.higher_is_better
    if up is None and metric in rules.metrics:
        up = rules.meets == ">="
    value = goal.value if what.target else rules.target
    targets = () if value is None else (UserTarget(value, metric or None, up),)
    sign = {True: ">=", False: "<=", None: "=" if metric else ""}[up]
    quoted = f'"{metric}"' if metric else ""
    target_texts = tuple(f"{quoted}{sign}{target.value!r}" for target in targets)
    what = dataclasses.replace(what, target=target_texts, metric=metric, at_end=True)
    try:
        choices = choice.sides(sources, what, of_answer=True)
    except TtastatsError as error:
        of_rules = (error.where or "").startswith("--target")
        where = f"--rules {rules.name}" if of_rules else error.where
        raise TtastatsError(error.what, where=where, remedy=error.remedy) from None
    if up is None:
        up = is_upwards(*(side.runs for side in choices))
    if value is None and rules.counts != "quality":
        values = pl.concat([side.runs["target_value"] for side in choices])
        common = values.drop_nulls().unique().sort()
        targets_text = units.join_names([f"{target:g}" for target in common])
        problem = (
            f"runs of several targets: {targets_text}"
            if targets_text
            else "the runs have no target"
        )
        remedy = "Select one: --target 'val_loss<=3.28'."
        raise_if(common.len() != 1, problem, f"--rules {rules.name}", remedy)
        value = float(common[0])
    rules = replace(rules, target=value, meets=">=" if up else "<=")
    if rules.earliest:
        choices = [_judge_at_earliest(side, metric, rules, targets) for side in choices]
    return choices, rules


def _choose_metric(
    sources: Sequence[Source], rules: Rules, what: Question, named: str | None
) -> str:
    """Return the first metric of the rules in all sources, or the named one.

    It is empty where the rules name none.
    """
    wanted = (named,) if named else rules.metrics
    if not wanted:
        return ""
    logged = [
        choice.rows(source, what.where).filter(schema.is_evaluation()).select("metric").unique()
        for source in sources
    ]
    common = sorted(set.intersection(*(set(names.collect()["metric"]) for names in logged)))
    if metric_names := [name for name in wanted if name in common]:
        return metric_names[0]
    metrics_text = (
        suggestion(wanted[0], common, "They log") if common else "They have no metric in common."
    )
    raise TtastatsError(
        f"the runs do not log the quality that {rules.name} judges: {' or '.join(wanted)}",
        where="--metric" if named else f"--rules {rules.name}",
        remedy=f"{metrics_text} Select one: --metric NAME. {rules.hint}".rstrip(),
    )


def _judge_at_earliest(
    side: Choice, metric: str, rules: Rules, targets: Sequence[UserTarget]
) -> Choice:
    """Return runs judged at the earliest common step with a successful test.

    The step is the same for all runs of a side, so that no run chooses its own.
    """
    distinct_runs = unique(side.runs)
    values = (
        side.rows.filter(schema.is_evaluation(), pl.col("metric") == metric)
        .join(distinct_runs.lazy().select(schema.RUN), on=schema.RUN, how="semi")
        .filter(pl.col("value").is_finite(), pl.col("step") > 0)
        .unique((*schema.RUN, "step"), keep="first")
        .group_by("step")
        .agg(quality="value")
        .filter(pl.col("quality").list.len() == distinct_runs.height)
        .sort("step")
        .collect()
    )
    if values.is_empty():
        return side
    step = values["step"][-1]
    for earliest, quality in values.iter_rows():
        # Qualities at a step are as fine as they are.
        of_step = pl.DataFrame({"quality": quality}).with_columns(
            quality_step=pl.lit(None, pl.Float64)
        )
        if meets_target(compare_with_threshold(of_step, rules), rules):
            step = earliest
            break
    runs = at_budget.runs(side.rows, Budget("step", step), targets=targets, metric=metric)
    return replace(side, runs=runs)


def by_benchmark(
    choices: Sequence[Choice], labels: Sequence[str]
) -> Iterator[tuple[str | None, dict[str, pl.DataFrame]]]:
    """Yield the runs of each benchmark of B by side, with those of A if there are any."""
    *baseline, new = (setups.runs_by(side.runs, ["benchmark"]) for side in choices)
    baseline_runs = baseline[0] if baseline else {}
    missing_benchmarks = [
        str(name or "an unknown benchmark") for (name,) in baseline_runs if (name,) not in new
    ]
    raise_if(
        missing_benchmarks,
        f"{labels[-1]} has no runs of {units.join_names(missing_benchmarks, 5)}",
        None,
        "Give runs of the same benchmarks, or exclude one: --where 'benchmark!=...'.",
    )
    for key, runs in new.items():
        sides = {"A": baseline_runs[key], "B": runs} if key in baseline_runs else {"B": runs}
        shared_digests = pairing.shared_contents(next(iter(sides.values())), runs)
        raise_if(
            len(sides) > 1
            and all(
                pairing.without_contents(side, shared_digests).is_empty() for side in sides.values()
            ),
            f"{labels[0]} and {labels[-1]} contain the same runs",
            None,
            "Give other runs, or select two parts of one file with --a and --b.",
        )
        yield key[0], sides
