"""What is the official MLPerf score of each entry, and why do some have none?

A score is not a statistic: it leaves out the fastest and slowest run, hides failures behind a slot,
and may be scaled. It stands here on its own and enters no other report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated, Any

import msgspec
import polars as pl

from ttastats.base import benchmarks
from ttastats.base.benchmarks import Scoring
from ttastats.base.codes import note
from ttastats.base.units import join_names, plural
from ttastats.outcomes.left_out import RESULT
from ttastats.report import fields, grouping
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Text
from ttastats.report.fields import Field
from ttastats.report.keys import LeftOutKeys, RunCount
from ttastats.report.row import Key, Number, Row
from ttastats.stats.means import olympic_mean

#: What decides which rules hold.
_KIND = ("suite", "round", "benchmark", "division")
#: Failed runs named below a row of the table; the rows for programs have them all.
_NAMED = 4
_SCORED = "scored"


class ScoreRow(Row, frozen=True, kw_only=True):
    """The official score of one entry, or in `status` why it has none."""

    n: RunCount
    required_runs: Annotated[int | None, Key("runs that the rules require", "runs")] = None
    dropped: Annotated[
        int | None, Key("fastest runs, and slowest, that the score leaves out", "runs")
    ] = None
    failed: Annotated[int | None, Key("runs that failed by the rules", "runs")] = None
    raw_minutes: Annotated[Number, Key("the score before scaling", "minutes")] = None
    score_minutes: Annotated[Number, Key("the official score", "minutes")] = None
    scaling_factor: Annotated[
        Number, Key("factor of `scaling.json`; 1 without such a file", "ratio")
    ] = None
    status: Annotated[str, Key("`scored`, perhaps with a remark, or why there is no score")]
    failures: Annotated[list[str], Key("each failed run with the reason")] = msgspec.field(
        default_factory=list
    )
    left_out: LeftOutKeys = LeftOutKeys()


def report(runs: pl.DataFrame, by: Sequence[str] = RESULT) -> Report:
    """Return the report of official scores, best score of a benchmark first.

    The runs must have been judged by the official targets: `time_to_target.runs(frame)`.
    """
    judged_runs = _judge_by_rules(runs)
    rows = [_score_row(keys, group) for keys, group in grouping.group_runs(judged_runs, by)]
    rows.sort(key=lambda row: grouping.sort_key(*map(row.keys.get, _KIND), row.score_minutes))
    table_fields: list[Field[ScoreRow]] = [
        fields.text_field(
            "submitted",
            lambda row: "/".join(str(n) for n in (row.n, row.required_runs) if n is not None),
            rank=1,
        ),
        fields.text_field("score, min", lambda row: _minutes_text(row.score_minutes)),
        fields.text_field("raw, min", lambda row: _minutes_text(row.raw_minutes), rank=2),
        fields.text_field("scaling", lambda row: factor_text(row.scaling_factor), rank=3),
    ]
    if any(row.status != _SCORED for row in rows):
        table_fields.append(Field(Column("status"), lambda row: Text(row.status)))
    divisions = {row.keys.get("division") for row in rows}
    division = divisions.pop() if len(divisions) == 1 else ""
    title = f"{grouping.common_title(rows, by)} {division or ''}".strip()
    scored_on = [row.keys.get("benchmark") for row in rows if row.score_minutes is not None]
    has_several_scores = len(set(scored_on)) < len(scored_on)
    notes = [note("official_score"), *([note("several_scores")] if has_several_scores else [])]
    if scaled := sum(row.scaling_factor not in {None, 1.0} for row in rows):
        notes.append(note("scaled.score", scaled=scaled, n=len(rows)))
    if n_other_counts := sum(row.status.startswith(f"{_SCORED}:") for row in rows):
        notes.append(note("run_count", n=n_other_counts))
    reasons_without_score = Counter(
        row.status.partition(":")[0] for row in rows if row.score_minutes is None
    )
    benchmark_names = {row.keys.get("benchmark") for row in rows}
    on = f" on {plural(len(benchmark_names), 'benchmark')}" if len(benchmark_names) > 1 else ""
    reason_counts = join_names(
        [f"{number:,} {reason}" for reason, number in reasons_without_score.most_common()]
    )
    scored = len(rows) - reasons_without_score.total()
    has = "has" if scored == 1 else "have"
    text = f"{scored:,} of {plural(len(rows), 'entry', 'entries')}{on} {has}"
    text += f" an official score{f' ({reason_counts})' if reason_counts else ''}."
    details = []
    for row in rows:
        lines = [f"failed: {text}" for text in row.failures[:_NAMED]]
        n_more = len(row.failures) - _NAMED
        details.append((*lines, f"and {n_more} more failed") if n_more > 0 else tuple(lines))
    return grouping.group_report(
        "score", rows, table_fields, runs, by, notes, names=shown_keys(rows, by), title=title,
        details=details, sentence=text,
    )  # fmt: skip


def _score_row(keys: Mapping[str, Any], group: pl.DataFrame) -> ScoreRow:
    row = partial(ScoreRow, keys=grouping.key_values(keys), n=group.height)
    kinds = group.select(_KIND).unique()
    if kinds.height > 1:
        return row(status=f"not one result: several of {', '.join(_KIND)} in one group")
    rules = _scoring_rules(*kinds.row(0))
    if isinstance(rules, str):
        return row(status=rules)
    # By the numbers in the names: result_2 before result_10.
    names = [
        [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", source)]
        for source in group.get_column("source")
    ]
    sorted_runs = group[sorted(range(group.height), key=names.__getitem__)]
    failure_reasons = sorted_runs.get_column("failure")
    raw_minutes, status = _raw_score(sorted_runs, rules)
    factor = scaling_factor(group)
    return row(
        required_runs=rules.runs,
        dropped=rules.dropped,
        failed=len(failure_reasons) - failure_reasons.null_count(),
        raw_minutes=raw_minutes,
        score_minutes=None if raw_minutes is None or factor is None else raw_minutes * factor,
        scaling_factor=factor,
        status=status if factor is not None else "several scaling factors in one group",
        failures=[
            f"{PurePosixPath(source).name}: {reason}"
            for source, reason in zip(
                sorted_runs.get_column("source"), failure_reasons, strict=True
            )
            if reason is not None
        ],
    )


def _scoring_rules(
    suite: str | None, round_: str | None, benchmark: str | None, division: str | None
) -> Scoring | str:
    """Return the rules of scoring, or the reason for none."""
    if suite not in benchmarks.scored_suites():
        return f"not an MLPerf Training suite: {suite or 'unknown'}"
    if round_ is None or benchmark is None:
        return f"{'round' if round_ is None else 'benchmark'} unknown"
    rules = benchmarks.scoring(suite, benchmark, round_, division)
    return rules or f"no quality target for {benchmark} in {round_}"


def _judge_by_rules(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs with the reason for each failure, null without one.

    The open division sets its own targets, so there the word of the log is taken.
    """
    kinds = runs.select(_KIND).unique()
    rules = [_scoring_rules(*kind) for kind in kinds.iter_rows()]
    limits = [None if isinstance(of_kind, str) else of_kind.init_minutes for of_kind in rules]
    limited = kinds.with_columns(
        init_limit=pl.Series(limits, dtype=pl.Float64),
        init_allowed=pl.Series([limit and f"{limit:g}" for limit in limits], dtype=pl.String),
    )
    is_open = pl.col("division").str.to_lowercase().eq("open").fill_null(value=False)
    status = pl.col("run_status")
    converged = pl.col("reached") | (is_open & (status == "success"))
    ends = {"truncated": "not reached: truncated", "aborted": "not reached: aborted"}
    missed = (
        pl.when(pl.col("evaluations").is_null())
        .then(pl.lit("not reached: no evaluation logged"))
        .otherwise(pl.lit("not reached: target missed"))
    )
    init = pl.col("extra").str.json_path_match("$.init_seconds").cast(pl.Float64, strict=False)
    untimed = pl.col("run_seconds").is_null() | (pl.col("run_seconds") <= 0)
    took = pl.format(
        "initialisation took {} min, under {} allowed", (init / 60).round(1), "init_allowed"
    )
    failure = (
        pl.when(~converged)
        .then(pl.coalesce(status.replace_strict(ends, default=None), missed))
        .when(untimed)
        .then(pl.lit("no usable time"))
        .when(init >= pl.col("init_limit") * 60)
        .then(took)
    )
    return runs.join(
        limited, on=_KIND, how="left", nulls_equal=True, maintain_order="left"
    ).with_columns(failure=failure)


def _raw_score(sorted_runs: pl.DataFrame, rules: Scoring) -> tuple[float | None, str]:
    """Return the olympic mean in minutes before scaling, or None, and the reason or its name."""
    counts = sorted_runs.get_column("failure").is_null()
    converged = sorted_runs.get_column("run_seconds").filter(counts) / 60
    n, failed = sorted_runs.height, sorted_runs.height - converged.len()
    if rules.converging is not None:
        if converged.len() < rules.converging:
            counts_text = f"{converged.len()} of {rules.converging} required"
            return None, f"too few runs converged: {counts_text}"
        converged, failed = converged.head(rules.converging), 0
    if failed > rules.dropped:
        return None, f"too many failed runs: {failed} of {n}, {rules.dropped} allowed"
    mean = olympic_mean(converged.to_numpy(), n_failed=failed, drop=rules.dropped)
    if mean is None:
        return None, f"too few runs: {n} of {rules.runs} required"
    is_complete = n == rules.runs
    return mean, _SCORED if is_complete else f"{_SCORED}: {plural(n, 'run')}, {rules.runs} required"


def scaling_factor(group: pl.DataFrame) -> float | None:
    """Return the factor in the runs' `scaling.json`, 1 without one, None if they differ."""
    factors = {1.0 if factor is None else factor for factor in group["scaling_factor"]}
    return float(factors.pop()) if len(factors) == 1 else None


def factor_text(factor: float | None) -> str:
    """Return a scaling factor as in tables."""
    return "–" if factor is None else f"{factor:.4f}".removesuffix("0000").removesuffix(".")


def shown_keys(rows: Sequence[Row], by: Sequence[str]) -> tuple[str, ...]:
    """Return the keys worth a column, the benchmark first; no division if all are of one.

    An entry names its submitter and system; where they name each entry, it has no column.
    """
    hidden_keys = {"division"} if len({row.keys.get("division") for row in rows}) == 1 else set()
    if {"submitter", "system", "entry"} <= set(by):
        short_keys = {tuple(row.keys[name] for name in by if name != "entry") for row in rows}
        names_entries = len(short_keys) == len(rows) and all(row.keys["submitter"] for row in rows)
        hidden_keys |= {"entry"} if names_entries else {"submitter", "system"}
    names = [name for name in grouping.shown_keys(rows, by) if name not in hidden_keys]
    return tuple(sorted(names, key=lambda name: name not in grouping.BENCHMARK))


def _minutes_text(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
