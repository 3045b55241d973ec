"""What quality had each run, and each group, at a budget, and who had none?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Annotated, Any

import polars as pl

from ttastats.base import percentages, units
from ttastats.base.codes import Note, note, wording
from ttastats.base.units import Digits, digits_for
from ttastats.outcomes.at_budget import SHORT
from ttastats.outcomes.budget import Budget
from ttastats.outcomes.left_out import standing
from ttastats.outcomes.target import is_upwards
from ttastats.report import fields, grouping
from ttastats.report import keys as key
from ttastats.report.answer import Report
from ttastats.report.cells import Conclusion
from ttastats.report.fields import Field
from ttastats.report.row import Key, Number, Row, key_descriptions
from ttastats.sides.quality_comparison import step_of
from ttastats.stats.means import mean_quality
from ttastats.stats.moments import standard_deviation
from ttastats.stats.outcomes import reached_at_least

#: The progress beside a quality, where runs log it.
_PROGRESS = ("steps", "epochs", "samples")

Metric = Annotated[str | None, Key("the metric of the quality")]


class RunQualityRow(Row, frozen=True):
    """One run at a budget."""

    run_id: key.RunId
    source: key.Source
    suite: key.Suite
    round: key.Round
    benchmark: key.Benchmark
    entry: key.Entry
    submitter: key.Submitter
    system: key.System
    run_status: key.RunStatus
    metric: Metric
    quality: Annotated[Number, Key("quality at the budget", "metric")]
    short: Annotated[str | None, Key("code of the reason why the run has none")]
    seconds: Annotated[Number, Key("time of the value", "seconds", "time")]
    steps: key.Steps
    epochs: key.Epochs
    samples: key.Samples
    run_seconds: key.RunSeconds
    seed: key.Seed
    cost: key.Cost
    set_aside: key.SetAside


def of_runs(runs: pl.DataFrame, budget: Budget) -> Report:
    """Return the report of runs at a budget, in the order of its sources."""
    renamed = runs.rename({"target_metric": "metric", "tta_seconds": "seconds"})
    sorted_rows = renamed.sort("source", "run_id").select(*key_descriptions(RunQualityRow))
    rows = tuple(RunQualityRow(**row) for row in sorted_rows.iter_rows(named=True))

    def quality(row: RunQualityRow) -> str:
        if row.short:
            return SHORT[row.short]
        return "–" if row.quality is None else units.significant(row.quality, 5)

    table_fields: list[Field[RunQualityRow]] = [
        *fields.key_fields(grouping.shown_keys(rows, grouping.ENTRY)),
        fields.log_field(),
        *_metric_field(rows),
        fields.text_field(f"quality {budget.place}", quality),
        *fields.number_fields(RunQualityRow, "seconds"),
        *fields.number_fields(RunQualityRow, *fields.known_keys(rows, _PROGRESS), rank=2),
    ]
    title = f"{grouping.common_title(rows, grouping.ENTRY)} {budget}".strip()
    notes = (*budget_notes(runs, budget), *grouping.set_aside_notes(runs))
    return Report("runs", rows, (fields.make_table(rows, table_fields, title),), notes)


def _metric_field(rows: Sequence[RunQualityRow | QualityRow]) -> list[Field[Any]]:
    names = {row.metric for row in rows}
    return fields.key_fields(["metric"], heads=False) if len(names) > 1 else []


def budget_notes(runs: pl.DataFrame, budget: Budget) -> Iterator[Note]:
    """Yield notes on the runs at a budget and on the choice of values."""
    yield from short_notes(runs, budget)
    if budget.best:
        yield note("best_of")


def rare_note(counts: Sequence[int], confidence: float) -> Iterator[Note]:
    """Yield a note on the possible share of unseen failures, by the smallest group."""
    if counts:
        n = min(counts)
        yield note("rare_runs", n=n, share=1 - reached_at_least(n, n, confidence=confidence))


def short_notes(runs: pl.DataFrame, budget: Budget, side: str = "") -> Iterator[Note]:
    """Yield notes on the runs without a value at the budget, by the reason."""
    runs = standing(runs)
    of = f" of {side}" if side else ""
    for reason, reason_text in SHORT.items():
        paths = [
            source.split("/")
            for source in runs.filter(pl.col("short") == reason).sort("source")["source"]
        ]
        if paths:
            folders = zip(*(path[:-1] for path in paths), strict=False)
            n_common = len([*takewhile(lambda names: len({*names}) == 1, folders)])
            names = ["/".join(path[n_common:]) for path in paths]
            text = wording(
                "no_value", at=budget.place, lost=len(names), n=runs.height, of=of, why=reason_text,
                names=names,
            )  # fmt: skip
            yield Note(reason, text)


class QualityRow(Row, frozen=True):
    """One group of runs at a budget: the mean quality of those that have one."""

    metric: Metric
    higher_is_better: Annotated[bool | None, Key("whether more of it is better")]
    at: Annotated[str, Key("the budget")]
    n: Annotated[int, Key("runs that have a value at the budget", "runs")]
    missing: Annotated[int, Key("runs that have none", "runs")]
    quality_mean: Annotated[Number, Key("mean quality at the budget", "metric")]
    quality_low: key.Low
    quality_high: key.High
    quality_sd: Annotated[Number, Key("its standard deviation", "metric")]
    seconds_mean: Annotated[Number, Key("mean time of the value", "seconds", "time")]
    steps_mean: Annotated[Number, Key("mean step of the value", "steps", "steps")]
    epochs_mean: Annotated[Number, Key("mean epoch of the value", "epochs", "epochs")]
    samples_mean: Annotated[Number, Key("mean samples of the value", "samples", "samples")]
    left_out: key.LeftOutKeys = key.LeftOutKeys()


def of_groups(
    runs: pl.DataFrame,
    budget: Budget,
    by: Sequence[str] = grouping.ENTRY,
    *,
    ddof: int,
    confidence: float,
) -> Report:
    """Return the report of runs at a budget by group, best group of a benchmark first.

    `ddof` is that of the deviation that is shown; the interval is by the sample's.
    """
    rows = []
    for keys, group in grouping.group_runs(runs, by):
        reached_runs, metrics = group.filter("reached"), group["target_metric"].drop_nulls()
        values = reached_runs["quality"].to_numpy()
        mean = mean_quality(values, resolution=step_of(reached_runs), confidence=confidence)
        rows.append(QualityRow(
            keys=grouping.key_values(keys),
            metric=metrics[0] if metrics.len() else None,
            higher_is_better=is_upwards(group) if group["higher_is_better"].count() else None,
            at=str(budget),
            n=reached_runs.height,
            missing=group.height - reached_runs.height,
            quality_mean=mean.estimate,
            quality_low=mean.low,
            quality_high=mean.high,
            quality_sd=standard_deviation(values, ddof),
            seconds_mean=grouping.mean_of(reached_runs["tta_seconds"]),
            steps_mean=grouping.mean_of(reached_runs["steps"]),
            epochs_mean=grouping.mean_of(reached_runs["epochs"]),
            samples_mean=grouping.mean_of(reached_runs["samples"]),
        ))  # fmt: skip

    def sort_key_of(row: QualityRow) -> tuple[Any, ...]:
        """Return a sort key: by benchmark, the best group first, unknown last."""
        mean = row.quality_mean
        order = None if mean is None else -mean if row.higher_is_better else mean
        return grouping.sort_key(*(row.keys[name] for name in grouping.BENCHMARK), order)

    rows.sort(key=sort_key_of)
    progress = fields.known_keys(rows, [f"{unit}_mean" for unit in _PROGRESS])
    table_fields: list[Field[QualityRow]] = [
        *_metric_field(rows),
        fields.text_field("runs", lambda row: with_value(row.n, row.missing)),
        fields.text_field(
            "mean ±sd", lambda row: _row_digits(row).mean(row.quality_mean, row.quality_sd)
        ),
        fields.text_field(
            f"[{percentages.percent_text(confidence)} CI]",
            lambda row: _row_digits(row).interval(row.quality_low, row.quality_high),
            rank=1,
        ),
        *fields.number_fields(QualityRow, "seconds_mean", rank=2),
        *fields.number_fields(QualityRow, *progress, rank=3),
    ]
    metric = "" if _metric_field(rows) or not rows else f"{rows[0].metric or 'quality'} "
    title = "   ".join(filter(None, (grouping.common_title(rows, by), f"{metric}{budget}")))
    notes = budget_notes(runs, budget)
    return grouping.group_report("summary", rows, table_fields, runs, by, notes, title=title)


def with_value(n: int, missing: int) -> str:
    """Return the number of runs with a value, and that of all if some have none."""
    return f"{n}/{n + missing}" if missing else str(n)


def _row_digits(row: QualityRow) -> Digits:
    return digits_for([], row.quality_sd, row.quality_mean)


def conclusions(report: Report) -> tuple[Conclusion, ...]:
    """Return the best mean of each benchmark, several rounds together, and the next: no test."""
    rows = [row for row in report.records if isinstance(row, QualityRow)]
    labels = grouping.row_names(rows, [by for by in report.by if by not in grouping.BENCHMARK])
    by_benchmark: dict[str, list[tuple[str, QualityRow]]] = {}
    for name, label, row in zip(grouping.row_names(rows, grouping.BENCHMARK), labels, rows,
                                strict=True):  # fmt: skip
        by_benchmark.setdefault(name, []).append((label, row))
    all_conclusions = []
    for name, entries in sorted(by_benchmark.items()):
        text, runner_up = "No run has a value.", ""
        if means := [entry for entry in entries if entry[1].quality_mean is not None]:
            (label, best), *others_by_mean = means
            leads = others_by_mean and others_by_mean[0][1].quality_mean != best.quality_mean
            text = f"mean {best.metric or 'quality'} {best.at} {_mean_text(best)}."
            text = f"{label} has the best {text}" if leads else f"{label}: {text}"
            if others_by_mean:
                next_label, row = others_by_mean[0]
                runner_up = f"The next, {next_label}: {_mean_text(row)}."
        count = units.plural(len(entries), "entry", "entries")
        all_conclusions.append(
            Conclusion(name, count, text, runner_up, entries[0][1].keys["benchmark"])
        )
    return tuple(all_conclusions)


def _mean_text(row: QualityRow) -> str:
    digits = _row_digits(row)
    spread = "" if row.quality_sd is None else f"SD {digits.text(row.quality_sd)}, "
    mean = "" if row.quality_mean is None else digits.text(row.quality_mean)
    missing_text = f", {row.missing} without a value" if row.missing else ""
    return f"{mean} ({spread}{units.plural(row.n, 'run')}{missing_text})"
