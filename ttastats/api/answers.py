"""Answers about one table, or about the runs of one setup: one function per command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack, overload

from ttastats.api.tables import with_choice_notes
from ttastats.base import arguments
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.outcomes.target import expect_metric
from ttastats.report.answer import Gated, Report
from ttastats.sides import choice, question
from ttastats.sides.choice import Choice, choose_runs
from ttastats.sides.options import (
    CONFIDENCE,
    DDOF,
    LEVEL,
    POWER,
    Conditions,
    Gates,
    GroupBudgetKeywords,
    GroupKeywords,
    TargetKeywords,
    Targets,
    Where,
    several,
)
from ttastats.sides.question import Question, Selection, Source, takes


@takes(GroupBudgetKeywords)
def summary(
    source: Source,
    *,
    ddof: int = DDOF,
    confidence: float = CONFIDENCE,
    dots: bool = False,
    sort: str = "",
    top: int | None = None,
    **keywords: Unpack[GroupBudgetKeywords],
) -> Report:
    """Report each group: runs that reached the target, mean time-to-accuracy, CV.

    At a budget: the mean quality there, with its interval.

    Parameters
    ----------
    confidence
        Confidence level of the intervals.
    dots
        Draw each run as a dot in the printed table.
    sort
        Column by which the rows of each benchmark are sorted, `-` before it for descending order.
    top
        Rows of each table, 0 for all. Without it, the first are printed, and `rows` have all.
    """
    from ttastats.answers import rank as rank_report  # scipy costs start-up time

    query = Question(**keywords)
    (side,) = choice.sides([source], query, of_answer=True)
    report = with_choice_notes(summarize_entries(side, query, ddof, confidence, dots=dots), side)
    return rank_report.shown(report, sort=sort, top=top, confidence=confidence)


def summarize_entries(
    side: Choice, query: Question, ddof: int, confidence: float, *, dots: bool = False
) -> Report:
    """Report each entry, of times or of qualities at a budget."""
    from ttastats.answers import qualities
    from ttastats.answers import summary as summary_report  # scipy costs start-up time
    from ttastats.report.grouping import ENTRY

    keys = choice.group_keys(query.by, ENTRY, side)
    if (budget := query.budget) is not None:
        return qualities.of_groups(side.runs, budget, keys, ddof=ddof, confidence=confidence)
    return summary_report.report(side.runs, keys, ddof=ddof, confidence=confidence, dots=dots)


@takes(TargetKeywords)
def rank(
    source: Source,
    *,
    mine: str = "",
    top: int = 15,
    confidence: float = CONFIDENCE,
    **keywords: Unpack[TargetKeywords],
) -> Report:
    """Report the rank of each entry among those of its benchmark and number of accelerators.

    Parameters
    ----------
    mine
        Part of the names of entries to mark, in upper or lower case.
    top
        Entries of each table that are printed, 0 for all; `rows` have all.
    confidence
        Confidence level of the intervals, and of all ranks of one table together.
    """
    from ttastats.answers import rank as rank_report  # scipy costs start-up time

    query = Question(**keywords)
    (side,) = choice.sides([source], query)
    entries = summarize_entries(side, query, 1, confidence)
    return with_choice_notes(
        rank_report.report(entries, mine=mine, top=top, confidence=confidence), side
    )


@takes(TargetKeywords)
def variance(
    source: Source,
    *,
    ddof: int = DDOF,
    confidence: float = CONFIDENCE,
    sources: Sequence[str] = (),
    **keywords: Unpack[TargetKeywords],
) -> Report:
    """Report the variance of each group due to epochs and due to time per epoch.

    Parameters
    ----------
    ddof
        1 for the sample standard deviation, 0 for the population's.
    confidence
        Confidence level of the intervals.
    sources
        Report instead what comes from each of these: `day`, columns, or names in `extra`.
    """
    from ttastats.answers import variance as variance_report  # scipy costs start-up time
    from ttastats.report.grouping import ENTRY

    side, keys = choice.runs_and_keys(source, Question(**keywords), ENTRY)
    if sources:
        return with_choice_notes(
            variance_report.report_sources(side.runs, keys, several(sources), confidence), side
        )
    report = variance_report.report(side.runs, keys, ddof=ddof, confidence=confidence)
    return with_choice_notes(report, side)


class _Historic(TargetKeywords, total=False):
    order: str
    confidence: float


@overload
def history(source: Source, *, fail_on: None = None, **keywords: Unpack[_Historic]) -> Report: ...
@overload
def history(source: Source, *, fail_on: Conditions, **keywords: Unpack[_Historic]) -> Gated: ...
@takes(TargetKeywords)
def history(
    source: Source,
    *,
    order: str = "date",
    fail_on: Gates = None,
    confidence: float = CONFIDENCE,
    **keywords: Unpack[TargetKeywords],
) -> Report:
    """Report on which night the runs of a setup changed: time per epoch, epochs, or failures.

    Parameters
    ----------
    order
        `date`, or a column or recorded name such as `commit`, each value of which is a night.
    fail_on
        Such as `slower:2%`, for the latest segment; the result is in `.gate`, true if it passed.
    confidence
        Confidence level of the intervals, and of the nights of a change.
    """
    from ttastats.answers import history as history_report  # scipy costs start-up time
    from ttastats.answers.compare import gate

    gates = gate.conditions(fail_on, None)
    setup = [name for name in history_report.SETUP if name != order]
    side, keys = choice.runs_and_keys(source, Question(**keywords), setup)
    report = history_report.report(side.runs, keys, order=order, gates=gates, confidence=confidence)
    return with_choice_notes(report, side)


@takes(TargetKeywords)
def effects(
    source: Source,
    *,
    on: Sequence[str],
    levels: Sequence[str] = (),
    block: Sequence[str] = (),
    interactions: bool = False,
    confidence: float = CONFIDENCE,
    **keywords: Unpack[TargetKeywords],
) -> Report:
    """Report what each of several settings does to the time to the target, and through what.

    By default `by` makes the runs of a benchmark one group.

    Parameters
    ----------
    on
        Settings: columns, or names in `extra`; `precision=fp32` names the level to compare with.
    levels
        Settings whose numbers are levels; others of three values or more act by doublings.
    block
        What tells sessions apart: `day`, columns, or names in `extra`.
    interactions
        Also whether the effect of a setting depends on another.
    confidence
        Confidence level of the intervals.
    """
    from ttastats.answers import effects as effects_report  # scipy costs start-up time
    from ttastats.answers.knobs import EffectsOptions
    from ttastats.report.grouping import BENCHMARK

    raise_if(not on, "no setting given", "--on", "Add --on batch_size,lr.")
    side, keys = choice.runs_and_keys(source, Question(**keywords), BENCHMARK)
    options = EffectsOptions(several(on), confidence, several(levels), several(block), interactions)
    return with_choice_notes(effects_report.report(side.runs, keys, options), side)


@takes(TargetKeywords)
def latest_segment(
    source: Source, *, confidence: float = CONFIDENCE, **keywords: Unpack[TargetKeywords]
) -> Source:
    """Return the runs of a setup since its last change, as a source to compare with.

    `confidence` is that of the nights of a change.
    """
    from ttastats.answers import history as history_report  # scipy costs start-up time
    from ttastats.outcomes.select import parse_all
    from ttastats.report.grouping import group_runs

    side, keys = choice.runs_and_keys(source, Question(**keywords), history_report.SETUP)
    setups = [*group_runs(side.runs, keys)]
    several = f"{len(setups)} setups, each with changes of its own"
    raise_if(len(setups) != 1, several, "--baseline", "Select one with --where.")
    history = history_report.history_of(setups[0][1], history_report.BY_DATE, confidence)
    conditions = parse_all([f"started_at>={history.latest.name}"], "--baseline")
    if isinstance(source, Selection):
        return Selection(source.table, (*source.conditions, *conditions))
    return Selection(source, conditions)


@takes(TargetKeywords)
def power(
    source: Source | None = None,
    *,
    cv: float | None = None,
    n: int | None = None,
    effects: Sequence[float] = (),
    power: float = POWER,
    max_runs: int | None = None,
    confidence: float = CONFIDENCE,
    **keywords: Unpack[TargetKeywords],
) -> Report:
    """Report how many runs detect a difference, from existing runs or from a CV.

    Parameters
    ----------
    cv
        Coefficient of variation of the times, such as 0.14, in place of existing runs.
    n
        Runs of each side, of which the detectable difference is reported.
    effects
        Differences to detect, such as 0.05.
    power
        Probability of finding a difference that is there.
    max_runs
        Also report the average number of runs of a sequential test with this maximum.
    confidence
        That of the interval that has to show the difference, and of the CV.
    """
    from ttastats.answers import power as power_report
    from ttastats.report.grouping import ENTRY
    from ttastats.sides import comparison  # scipy costs start-up time

    comparison.check_plan(max_runs)
    effects = tuple(effects) or power_report.EFFECTS
    if cv is not None:
        return power_report.from_cv(
            cv, effects=effects, n=n, power=power, max_runs=max_runs, confidence=confidence
        )
    if source is None:
        raise TtastatsError("no runs and no CV given", remedy="Give a file, or --cv 14%.")
    side, keys = choice.runs_and_keys(source, Question(**keywords), ENTRY)
    report = power_report.from_runs(
        side.runs, keys, effects=effects, n=n, power=power, max_runs=max_runs, confidence=confidence
    )
    return with_choice_notes(report, side)


@takes(TargetKeywords)
def scaling(
    source: Source, *, confidence: float = CONFIDENCE, **keywords: Unpack[TargetKeywords]
) -> Report:
    """Report speedup and efficiency (of time only) over the number of accelerators."""
    from ttastats.answers import scaling as scaling_report  # scipy costs start-up time

    side, keys = choice.runs_and_keys(source, Question(**keywords), scaling_report.CURVE)
    return with_choice_notes(scaling_report.report(side.runs, keys, confidence=confidence), side)


@takes()
def score(source: Source, *, by: Sequence[str] = (), where: Where = ()) -> Report:
    """Report the official MLPerf score of each result, raw and scaled, or why there is none."""
    from ttastats.answers import score as score_report  # scipy costs start-up time
    from ttastats.outcomes.left_out import RESULT

    side = choose_runs(source, where, of_answer=True)
    keys = choice.group_keys(by, RESULT, side)
    return with_choice_notes(score_report.report(side.runs, keys), side)


@takes()
def rcp(
    source: Source,
    *,
    records: str | Path | None = None,
    ruleset: str = "",
    bypass: bool = False,
    by: Sequence[str] = (),
    where: Where = (),
    confidence: float = CONFIDENCE,
    draws: int = 10_000,
    seed: int = 1,
    verbose: bool = False,
) -> Report:
    """Compare the convergence of each result with the reference records of its round.

    Parameters
    ----------
    records
        Folder with records, instead of those of the installed package `mlperf_logging`.
    ruleset
        Such as `5.0.0`, instead of the round of each entry.
    bypass
        Apply `--rcp_bypass` of the official checker.
    draws, seed
        Number of simulated submissions for the error rates of the official check, and their seed.
    verbose
        Show the numbers behind each verdict.
    """
    from ttastats.answers.rcp import convergence_rules
    from ttastats.answers.rcp import rcp as rcp_report  # scipy costs start-up time
    from ttastats.answers.rcp.rcp_row import RcpOptions, officially_counted
    from ttastats.outcomes.left_out import RESULT

    options = RcpOptions(
        ruleset=convergence_rules.ruleset(ruleset) if ruleset else "",
        confidence=confidence,
        bypass=bypass,
        draws=draws,
        seed=seed,
        verbose=verbose,
    )
    side = choose_runs(source, where, of_answer=True)
    keys = choice.group_keys(by, RESULT, side)
    library = convergence_rules.library(None if records is None else Path(records))
    runs = officially_counted(side.runs, side.rows)
    return with_choice_notes(rcp_report.report(runs, library, options, keys), side)


@takes(GroupBudgetKeywords, seconds=arguments.limit, steps=arguments.limit)
def claim(
    source: Source,
    *,
    quality: str = "",
    seconds: str | float = "",
    steps: str | float = "",
    level: float = LEVEL,
    sigma: float | None = None,
    **keywords: Unpack[GroupBudgetKeywords],
) -> Report:
    """Test a claim about the mean of each group of runs.

    Parameters
    ----------
    quality
        Such as `val_loss <= 3.28`: at the end, unless another budget is given.
    seconds, steps
        Such as `<= 80`: to the budget or, without a quality and a budget, to the target.
    level
        Significance level of the one-sided test.
    sigma
        Known standard deviation of the quality of one run; uses a z test.
    """
    from ttastats.answers import claim as claim_report  # scipy costs start-up time
    from ttastats.report.grouping import ENTRY

    rules = claim_report.ClaimOptions(level, sigma)
    limits = claim_report.limits(str(seconds), str(steps))
    threshold, query = question.with_claim(Question(**keywords), quality)
    raise_if(
        threshold is None and not limits,
        "no claim given",
        "--quality",
        "Add --quality 'val_loss <= 3.28', --seconds '<= 80' or --steps '<= 3325'.",
    )
    try:
        (side,) = choice.sides([source], query)
    except TtastatsError as error:
        if threshold is None:
            raise
        where, remedy = (  # of the target that the claim stands for
            None if text is None else text.replace("--target", "--quality")
            for text in (error.where, error.remedy)
        )
        raise TtastatsError(error.what, where=where, remedy=remedy) from None
    keys = choice.group_keys(query.by, ENTRY, side)
    report = claim_report.report(
        side.runs,
        keys,
        threshold=threshold,
        limits=limits,
        budget=query.budget,
        rules=rules,
    )
    return with_choice_notes(report, side)


@takes(GroupKeywords)
def targets(
    a: Source,
    b: Source | None = None,
    *,
    points: int = 9,
    metric: str | None = None,
    labels: Sequence[str] = (),
    confidence: float = CONFIDENCE,
    **keywords: Unpack[GroupKeywords],
) -> Report:
    """Report how fraction reached, expected time and speedup depend on the quality target.

    Units that are known only for whole runs are not available.
    `confidence` is that of intervals and verdicts. One table is grouped by entry by default, two
    tables by common benchmark.
    """
    from ttastats.answers import targets as targets_report  # scipy costs start-up time
    from ttastats.report.grouping import BENCHMARK, ENTRY

    sources, query = [a] if b is None else [a, b], Question(**keywords)
    names = question.labels(sources, labels)
    choices = choice.sides(sources, query)
    for side in choices if metric else ():
        expect_metric(side.rows, metric or "", "--metric")
    sides = choice.as_sides(choices, query, names)
    keys = choice.group_keys(query.by, ENTRY if b is None else BENCHMARK, choices[0])
    # Qualities of two benchmarks have no order; of one table no round is mixed with another.
    always = BENCHMARK if b is None else ("benchmark",)
    report = targets_report.report(
        sides,
        tuple(dict.fromkeys((*always, *keys))),
        points=points,
        metric=metric,
        confidence=confidence,
    )
    return with_choice_notes(report, *choices)


@takes()
def judge_record(
    *sources: Source,
    rules: str,
    against: float | None = None,
    metric: str = "",
    target: Targets = (),
    where: Where = (),
    labels: Sequence[str] = (),
) -> Report:
    """Check a record against the rules of a contest.

    Parameters
    ----------
    sources
        The baseline, then the new runs; or only the new runs.
    rules
        Such as `nanogpt-track-1`; `ttastats record --rules list` names all.
    against
        The baseline as a number (seconds, steps or quality, as the rules count) instead of runs.
    metric, target
        Override those of the rules.
    labels
        Names for the sources.
    """
    from ttastats.answers.record import record as record_report  # scipy costs start-up time
    from ttastats.answers.record import record_checks

    contest = record_checks.rules_named(rules)
    raise_if(
        not 1 <= len(sources) <= 2,
        f"{len(sources)} tables",
        None,
        "Give the baseline and the new runs, or only the new runs.",
    )
    if against is not None:
        conflict = "both a baseline table and --against"
        raise_if(len(sources) == 2, conflict, "--against", "Give one of them.")
        positive = 0 < against < float("inf")
        raise_if(not positive, f"a baseline of {against:g}", "--against", "Give a number above 0.")
    query = Question(where=where, target=target, metric=metric)
    choices, contest = record_report.sides(sources, contest, query)
    labels = choice.side_names(choices, question.labels(sources, labels))
    decisions = [
        (benchmark, record_checks.judged(sides, contest, against))
        for benchmark, sides in record_report.by_benchmark(choices, labels)
    ]
    return with_choice_notes(record_report.report(decisions, contest, labels), *choices)
