"""The Python API: each command of the program as one function.

A *source* is a Parquet file, several files, or a polars, pandas or pyarrow table in memory; use
`from_frame` to convert a frame with other column names. Functions return a `Report`, whose `rows`
and `frame` contain raw numbers: seconds, fractions, None for unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from ttastats import atomic, axis, choice, given, question, schema, store, time_to_target
from ttastats.budget import END, Budget
from ttastats.choice import Chosen, Source, chosen
from ttastats.errors import TtastatsError
from ttastats.frames import from_frame
from ttastats.question import (
    AtBudget,
    Compared,
    ComparedAt,
    Counted,
    Judged,
    JudgedAt,
    Question,
    takes,
)
from ttastats.records import Problem
from ttastats.report import runs as runs_report
from ttastats.report.answer import Report
from ttastats.report.cells import Note
from ttastats.report.filtering import filtered
from ttastats.target import expect_metric

if TYPE_CHECKING:
    from ttastats.exporting.logs import Exported
    from ttastats.exporting.subset import Subset
    from ttastats.guessing.folder import guess
    from ttastats.ingestion.ingest import Account, ingest
    from ttastats.options import Options, View
    from ttastats.page.document import Page
    from ttastats.pairing import Side
    from ttastats.plotting.material import Material
    from ttastats.plotting.plot import Plots
    from ttastats.profiles.changes import By

#: Profiles (Parquet), traces of PyTorch, or folders of them.
Profiles = str | Path | Sequence[str | Path]

__all__ = [
    "Account", "Question", "Report", "Source", "claim", "compare", "compare_profiles", "export",
    "filter", "from_frame", "guess", "html_report", "ingest", "judge_record", "plot",
    "plot_profiles", "plots", "power", "problems", "profiled", "rcp", "read", "runs", "scaling",
    "score", "summary", "targets", "variance",
]  # fmt: skip

#: What reads logs, which most commands need not import.
_HOMES = {
    "Account": "ttastats.ingestion.ingest",
    "guess": "ttastats.guessing.folder",
    "ingest": "ttastats.ingestion.ingest",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ttastats.api' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def read(source: Source, *, where: Sequence[str] = ()) -> pl.LazyFrame:
    """Return the tidy table: one row per run x evaluation x metric.

    Parameters
    ----------
    where
        Conditions such as `benchmark=resnet` or `nodes>=8`; all must hold. Conditions on
        evaluations remove rows, so a run may then look as if it had failed.

    Raises
    ------
    TtastatsError
        A file cannot be used, or a condition is malformed.
    """
    return choice.rows(source, where)


def run_table(
    source: Source, *, where: Sequence[str] = (), target: Sequence[str] = ()
) -> pl.DataFrame:
    """Return one row per run, with `reached` and `tta_seconds`; see `time_to_target.runs`.

    A table returned by this function is accepted unchanged; its target is fixed.

    Raises
    ------
    TtastatsError
        As `read`, or no run matches.
    """
    return chosen(source, where, target, by_evaluation=True).runs


def _answered(report: Report, *sides: Chosen) -> Report:
    """Keep the rows asked for and say how the runs were chosen; what holds for all sides, once.

    A gate has judged all rows before: a condition must not hide a failure from it.
    """
    everywhere = {note for note in sides[0].notes if all(note in one.notes for one in sides)}
    said = [note for note in sides[0].notes if note in everywhere]
    for number, one in enumerate(sides):
        letter = chr(ord("A") + number)
        own = (note for note in one.notes if note not in everywhere)
        said += [Note(note.code, f"{letter}: {note.text}") for note in own]
    kept = filtered(report, sides[0].of_answer)
    return replace(kept, notes=(*kept.notes, *said))


def runs(
    source: Source,
    *,
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    **asked: Unpack[AtBudget],
) -> Report:
    """Report every run: whether and when it reached the target, and its progress.

    `asked`: keywords of `Question` about a budget; then its quality at the budget.
    """
    what = Question(where=where, target=target, **asked)
    if (budget := what.budget) is not None:
        from ttastats.report import qualities  # scipy costs start-up time

        (at,) = question.sides_at([source], what, budget, of_answer=False)
        return _answered(qualities.of_runs(at.runs, budget), at)
    found = chosen(source, where, target, by_evaluation=True)
    return _answered(runs_report.report(found.runs), found)


@takes(JudgedAt)
def summary(
    source: Source,
    *,
    ddof: int = 1,
    confidence: float = 0.95,
    dots: bool = False,
    **asked: Unpack[JudgedAt],
) -> Report:
    """Report each group: runs that reached the target, mean time-to-accuracy, CV.

    At a budget: the mean quality there, with its interval.

    Parameters
    ----------
    confidence
        Confidence level of the intervals.
    dots
        Draw each run as a dot in the printed table.
    asked
        Keywords of `Question`.
    """
    what = Question(**asked)
    (found,) = question.judged([source], what, of_answer=True)
    return _answered(_summarised(found, what, ddof, confidence, dots=dots), found)


def _summarised(
    found: Chosen, what: Question, ddof: int, confidence: float, *, dots: bool = False
) -> Report:
    from ttastats.report import qualities
    from ttastats.report import summary as summary_report  # scipy costs start-up time
    from ttastats.report.grouping import ENTRY

    keys = question.keys(what.by, ENTRY, found)
    if (budget := what.budget) is not None:
        return qualities.of_groups(found.runs, budget, keys, ddof=ddof, confidence=confidence)
    return summary_report.report(found.runs, keys, ddof=ddof, confidence=confidence, dots=dots)


@takes(Judged)
def variance(source: Source, *, ddof: int = 1, **asked: Unpack[Judged]) -> Report:
    """Report the variance of each group due to epochs and due to time per epoch.

    `asked`: keywords of `Question`.
    """
    from ttastats.report import variance as variance_report  # scipy costs start-up time
    from ttastats.report.grouping import ENTRY

    found, keys = question.group(source, Question(**asked), ENTRY)
    return _answered(variance_report.report(found.runs, keys, ddof=ddof), found)


@takes(ComparedAt)
def compare(
    a: Source,
    *others: Source,
    view: View | None = None,
    also: Sequence[str] = (),
    profiles: tuple[Profiles, Profiles] | None = None,
    block: Sequence[str] = (),
    same: bool = False,
    fail_on: str = "",
    require: str = "",
    **asked: Unpack[ComparedAt],
) -> Report:
    """Compare B with A: speedup to the target, its causes and its confidence interval.

    At a budget, compare the qualities and the costs.

    If a side has several setups of a benchmark, runs are compared with runs on the same number of
    accelerators and the same hardware.

    Parameters
    ----------
    others
        One or more tables, each compared with `a`.
    also
        Metrics to compare in addition at the end of the runs, such as `test_accuracy`.
    profiles
        Profiles of A and of B (see `profiled`), to attribute the throughput ratio to parts of a
        step; several per side for intervals.
    block
        Compare within sessions: one or several columns, `day`, `order`, names in `extra`, or
        conditions that identify the session of a run.
    same
        The tables (or the groups of `by` in one table) are sets of runs of one setup: report
        whether they differ, and the smallest difference worth claiming between two setups that ran
        in two such sessions.
    fail_on, require
        Conditions such as `slower:2%` and `not-slower:2%`, or at a budget `worse:0.001` and
        `not-worse:0.001`; the result is in `Report.gate`.
    asked
        Keywords of `Question`; columns of `by` are used unchanged.

    Raises
    ------
    TtastatsError
        As `run_table`; or the sides have no common benchmark, are the same runs, or are overlapping
        parts of a table.
    """
    what, sources = Question(**asked), (a, *others)
    block = (block,) if isinstance(block, str) else block
    if same:
        return _of_one_setup(sources, what, (fail_on, require), view, also, block, profiles)
    judge = _judge(what, (fail_on, require), also, block, profiles)
    found = question.judged(sources, what, of_answer=True)
    sides = question.labelled(found, what, what.labels or question.labels(sources))
    return _answered(judge(sides, view), *found)


def _judge(
    what: Question,
    gates: tuple[str, str],
    also: Sequence[str] = (),
    block: Sequence[str] = (),
    profiles: tuple[Profiles, Profiles] | None = None,
) -> Callable[[Sequence[Side], View | None], Report]:
    """Give what compares sides as is asked.

    Raises
    ------
    TtastatsError
        It cannot be asked so: this is known before files are read.
    """
    from ttastats import gate, looks, quality_gate  # scipy costs start-up time
    from ttastats.options import Options
    from ttastats.report import compare as compare_report
    from ttastats.report import compare_qualities

    options, budget = what.options or Options(), what.budget
    looks.check(options.max_runs, budget, also, block, same_convergence=options.same_convergence)
    if budget is not None:
        _refuse_of_times(also, options, budget, profiles)
        requirements = quality_gate.conditions(*gates)
        unit = axis.by_clock(what.unit, what.clock)
        return lambda sides, view: quality_gate.judged(
            compare_qualities.report(
                sides[0], sides[1:], budget, what.by, options, view,
                pool=what.pool, unit=unit, block=block,
            ),
            requirements,
        )  # fmt: skip
    conditions = gate.conditions(*gates)

    def judged(sides: Sequence[Side], view: View | None) -> Report:
        for side in sides:
            for metric in also:
                expect_metric(side.evaluations, metric, "--also")
        report = compare_report.report(
            sides[0],
            sides[1:],
            what.by,
            options,
            view,
            pool=what.pool,
            also=also,
            block=block,
            profiles=_rows_of_profiles(*profiles) if profiles else (),
        )
        return gate.judged(report, conditions, options.confidence)

    return judged


def _of_one_setup(
    sources: Sequence[Source],
    what: Question,
    gates: tuple[str, str],
    view: View | None,
    also: Sequence[str],
    block: Sequence[str],
    profiles: tuple[Profiles, Profiles] | None,
) -> Report:
    """Compare sets of runs of one setup: tables, or what `by` tells apart in one.

    Raises
    ------
    TtastatsError
        Nothing tells sets apart, or something is asked that sets have no answer to.
    """
    from ttastats.options import Options, View
    from ttastats.report import same

    if len(sources) == 1 and not what.by:
        raise TtastatsError(
            "--same needs several sets of runs, but there is one table",
            where="--same",
            remedy="Give one file per set, or split the table: --same --by day.",
        )
    options = what.options or Options()
    beside = {"--block": block, "--sequential": options.max_runs, "--profile-a": profiles}
    if given := next((option for option, one in beside.items() if one), ""):
        raise TtastatsError(
            "cannot be combined with --same, which compares whole sessions",
            where=f"--same {given}",
            remedy="Remove one of the two.",
        )
    sets = replace(what, by=()) if len(sources) == 1 else what
    judge = _judge(sets, gates, also)
    found, labels = question.judged(sources, sets, of_answer=True), question.labels(sources)
    if len(sources) == 1:
        labels, found = question.sets(found[0], what.by)
    sides = question.labelled(found, sets, what.labels or labels)
    report = judge(sides, replace(view or View(), same=True))
    return _answered(same.told(report, options.confidence), *found)


def compare_profiles(
    a: Profiles, b: Profiles, *, by: By = "work", confidence: float = 0.95
) -> Report:
    """Report which parts of a step and kinds of work explain a change of its length.

    Each side is one or more profiles, traces, or folders of them. The samples of a side are its
    profiles or, with a single profile, its steps. `by="operator"` reports single operators.

    Raises
    ------
    TtastatsError
        A file cannot be used.
    """
    from ttastats.report import profile_change  # scipy costs start-up time

    first, second = _rows_of_profiles(a, b)
    names = [", ".join(map(str, given.paths(one))) for one in (a, b)]
    return profile_change.report(first, second, (names[0], names[1]), by=by, confidence=confidence)


def _rows_of_profiles(a: Profiles, b: Profiles) -> tuple[pl.DataFrame, pl.DataFrame]:
    from ttastats.ingestion import profiled as given_profiles
    from ttastats.report import profile_change  # scipy costs start-up time

    first, second = (given_profiles.rows(given.paths(one)).rows for one in (a, b))
    profile_change.expect_others(first, second, ", ".join(map(str, given.paths(b))))
    return first, second


def _refuse_of_times(
    also: Sequence[str], options: Options, budget: Budget, profiles: object
) -> None:
    """Refuse what has a meaning for times to a target alone."""
    said = {"--same-convergence": "same_convergence", "--epochs-fixed": "epochs_fixed"}
    for option, name in said.items():
        if getattr(options, name):
            raise TtastatsError(
                f"{option} applies to times to a target",
                where=f"{option} {budget.option}",
                remedy="Remove one of them: a budget fixes the length of the runs.",
            )
    if also:
        raise TtastatsError(
            "--also applies to times to a target",
            where=f"--also {','.join(also)} {budget.option}",
            remedy=f"Use the metric itself at a budget: {budget.option} --metric {also[0]}.",
        )
    if profiles:
        raise TtastatsError(
            "profiles apply to times to a target",
            where=f"--profile-a {budget.option}",
            remedy="Remove one of them: at a budget, qualities are compared, not times.",
        )


@takes(JudgedAt)
def claim(
    source: Source,
    *,
    quality: str = "",
    seconds: str = "",
    steps: str = "",
    level: float = 0.05,
    sigma: float | None = None,
    **asked: Unpack[JudgedAt],
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
    asked
        Keywords of `Question`.

    Raises
    ------
    TtastatsError
        No claim is given, a claim is malformed, or as `run_table`.
    """
    from ttastats.report import claim as claim_report  # scipy costs start-up time
    from ttastats.report.grouping import ENTRY

    rules = claim_report.ClaimOptions(level, sigma)
    limits = claim_report.limits(seconds, steps)
    threshold, what = question.with_claim(Question(**asked), quality)
    if threshold is None and not limits:
        raise TtastatsError(
            "no claim given",
            where="--quality",
            remedy="Add --quality 'val_loss <= 3.28', --seconds '<= 80' or --steps '<= 3325'.",
        )
    budget = what.budget or (None if threshold is None else END)
    try:
        (found,) = (
            question.sides([source], what)
            if budget is None
            else question.sides_at([source], what, budget, of_answer=False)
        )
    except TtastatsError as error:
        raise question.about_claim(error) if threshold is not None else error from None
    keys = question.keys(what.by, ENTRY, found)
    report = claim_report.report(
        found.runs, keys, threshold=threshold, limits=limits, budget=budget, rules=rules
    )
    return _answered(report, found)


@takes(Judged)
def power(
    source: Source | None = None,
    *,
    cv: float | None = None,
    n: int | None = None,
    effects: Sequence[float] = (),
    power: float = 0.8,
    max_runs: int | None = None,
    **asked: Unpack[Judged],
) -> Report:
    """Report how many runs detect a difference, from existing runs or from a CV (a fraction).

    `max_runs` also reports the average number of runs of a sequential test with this maximum.
    `asked`: keywords of `Question`.

    Raises
    ------
    TtastatsError
        Neither runs nor a CV are given.
    """
    from ttastats import looks  # scipy costs start-up time
    from ttastats.report import power as power_report
    from ttastats.report.grouping import ENTRY

    looks.check(max_runs)
    effects = tuple(effects) or power_report.EFFECTS
    if cv is not None:
        return power_report.from_cv(cv, effects=effects, n=n, power=power, max_runs=max_runs)
    if source is None:
        raise TtastatsError("no runs and no CV given", remedy="Give a file, or --cv 14%.")
    found, keys = question.group(source, Question(**asked), ENTRY)
    report = power_report.from_runs(
        found.runs, keys, effects=effects, n=n, power=power, max_runs=max_runs
    )
    return _answered(report, found)


@takes(Judged)
def scaling(source: Source, **asked: Unpack[Judged]) -> Report:
    """Report speedup and efficiency (of time only) over the number of accelerators.

    `asked`: keywords of `Question`.
    """
    from ttastats.report import scaling as scaling_report  # scipy costs start-up time

    found, keys = question.group(source, Question(**asked), scaling_report.CURVE)
    return _answered(scaling_report.report(found.runs, keys), found)


def score(source: Source, *, by: Sequence[str] = (), where: Sequence[str] = ()) -> Report:
    """Report the official MLPerf score of each result, raw and scaled, or why there is none."""
    from ttastats.counted import RESULT
    from ttastats.report import score as score_report  # scipy costs start-up time

    found = chosen(source, where, of_answer=True)
    keys = question.keys(by, RESULT, found)
    return _answered(score_report.report(found.runs, keys), found)


def rcp(
    source: Source,
    *,
    records: str | Path | None = None,
    ruleset: str = "",
    bypass: bool = False,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    confidence: float = 0.95,
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

    Raises
    ------
    TtastatsError
        As `read`; or there are no records, or none for any entry.
    """
    from ttastats import convergence_records
    from ttastats.counted import RESULT
    from ttastats.report import rcp as rcp_report  # scipy costs start-up time

    options = rcp_report.RcpOptions(
        ruleset=convergence_records.ruleset(ruleset) if ruleset else "",
        confidence=confidence,
        bypass=bypass,
        draws=draws,
        seed=seed,
        verbose=verbose,
    )
    found = chosen(source, where, of_answer=True)
    keys = question.keys(by, RESULT, found)
    library = convergence_records.library(None if records is None else Path(records))
    return _answered(rcp_report.report(found.runs, library, options, keys), found)


def judge_record(
    *sources: Source,
    rules: str,
    against: float | None = None,
    metric: str = "",
    target: Sequence[str] = (),
    where: Sequence[str] = (),
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

    Raises
    ------
    TtastatsError
        The rules are unknown, the runs lack their metric, a side has too few runs, or as
        `run_table`.
    """
    from ttastats import contest_rules, record_sides
    from ttastats.report import record as record_report  # scipy costs start-up time
    from ttastats.report.record_judged import judged

    asked = contest_rules.named(rules)
    _refuse_sides(sources, against)
    what = Question(where=where, target=target, metric=metric)
    found, asked = record_sides.sides(sources, asked, what)
    labels = labels or question.labels(sources)
    made = [
        (benchmark, judged(sides, asked, against))
        for benchmark, sides in record_sides.by_benchmark(found, labels)
    ]
    return _answered(record_report.report(made, asked, labels), *found)


def _refuse_sides(sources: Sequence[Source], against: float | None) -> None:
    if not 1 <= len(sources) <= 2:
        raise TtastatsError(
            f"{len(sources)} tables",
            remedy="Give the baseline and the new runs, or only the new runs.",
        )
    if len(sources) == 2 and against is not None:
        raise TtastatsError(
            "both a baseline table and --against", where="--against", remedy="Give one of them."
        )
    if against is not None and not 0 < against < float("inf"):
        raise TtastatsError(
            f"a baseline of {against:g}", where="--against", remedy="Give a number above 0."
        )


def profiled(source: Profiles, *, top: int = 10) -> Report:
    """Report the time of a training step by part of the step, kind of work, operator and rank.

    Parameters
    ----------
    source
        Profiles (Parquet), traces of PyTorch, or folders of them.
    top
        Number of operators in the printed table, 0 for all; the rows always contain all.

    Raises
    ------
    TtastatsError
        A file cannot be used.
    """
    from ttastats.ingestion import profiled as given_profiles
    from ttastats.report import profile as profile_report

    found = given_profiles.rows(given.paths(source))
    report = profile_report.report(found.rows, top=top)
    return replace(report, notes=(*report.notes, *map(_told, found.problems)))


def _told(problem: Problem) -> Note:
    return Note(problem.code, f"{problem.source}: {problem.message}.")


@takes(Counted)
def targets(
    a: Source,
    b: Source | None = None,
    *,
    points: int = 9,
    metric: str | None = None,
    labels: Sequence[str] = (),
    **asked: Unpack[Counted],
) -> Report:
    """Report how fraction reached, expected time and speedup depend on the quality target.

    `asked`: keywords of `Question`; units that are known only for whole runs are not available.
    One table is grouped by entry by default, two tables by common benchmark.
    """
    from ttastats.report import targets as targets_report  # scipy costs start-up time
    from ttastats.report.grouping import BENCHMARK, ENTRY

    sources, what = [a] if b is None else [a, b], Question(**asked)
    found = question.sides(sources, what)
    for one in found if metric else ():
        expect_metric(one.rows, metric or "", "--metric")
    sides = question.labelled(found, what, labels or question.labels(sources))
    keys = question.keys(what.by, ENTRY if b is None else BENCHMARK, found[0])
    # Qualities of two benchmarks have no order; of one table no round is mixed with another.
    always = BENCHMARK if b is None else ("benchmark",)
    report = targets_report.report(
        sides, tuple(dict.fromkeys((*always, *keys))), points=points, metric=metric
    )
    return _answered(report, *found)


@takes(Compared)
def plots(*sources: Source, **asked: Unpack[Compared]) -> Plots:
    """Return every plot that applies to some runs: those of each benchmark first, then of several.

    With one source, plots are grouped by entry; with several, each is compared with the first.
    `asked`: keywords of `Question`.
    """
    from ttastats.plotting import kinds  # scipy costs start-up time
    from ttastats.plotting.plot import Plots

    return Plots(kinds.all_plots(material(*sources, **asked)))


@takes(Compared)
def plot(kind: str, *sources: Source, metric: str = "", **asked: Unpack[Compared]) -> Plots:
    """Return the plots of one kind, one per benchmark or one for all; see `plots`.

    Parameters
    ----------
    metric
        Draw this metric, which may be a training metric, instead of the quality; for `quality-time`
        and `quality-epochs`.
    asked
        Keywords of `Question`.

    Raises
    ------
    TtastatsError
        The kind is unknown, or the plot is not possible for these runs; the error gives the reason.
    """
    from ttastats.plotting import kinds  # scipy costs start-up time
    from ttastats.plotting.plot import Plots

    draw = kinds.of(kind, metric)
    return Plots(draw(material(*sources, metric=metric, **asked)))


def plot_profiles(kind: str, source: Profiles) -> Plots:
    """Return the plots of one kind for some profiles, all in one plot.

    Parameters
    ----------
    kind
        `step`, `roofline`, `work`, `memory`, `batch-sizes` or `workers`.
    source
        As `profiled`.

    Raises
    ------
    TtastatsError
        The kind is unknown, or the plot is not possible for these profiles; the error gives the
        reason.
    """
    from ttastats.ingestion import profiled as given_profiles
    from ttastats.plotting.plot import Plots
    from ttastats.plotting.profiled import kinds, shared

    paths = given.paths(source)
    rows = (given_profiles.rows([path]).rows for path in paths)
    labelled = zip(question.short_labels(paths), rows, strict=True)
    return Plots(kinds.plots(kind, shared.by_name(labelled)))


def profile_page(
    *sources: Profiles,
    output: str | Path | None = None,
    title: str = "",
    confidence: float = 0.95,
) -> Page:
    """Return one HTML page of profiles: the time of their steps in sentences, numbers and plots.

    With several sources, each is compared with the first.

    Parameters
    ----------
    sources
        Each as in `profiled`.
    output
        Path of the page; it is written atomically.
    confidence
        Confidence level of the intervals of changes.

    Raises
    ------
    TtastatsError
        As `compare_profiles`; or `output` is an input, or an existing file that is not a report.
    """
    from ttastats.ingestion import profiled as given_profiles
    from ttastats.page import document, of_profiles, place

    sides = [given.paths(source) for source in sources]
    if output is not None:
        place.expect(Path(output), [path for side in sides for path in side])
    found = [given_profiles.rows(side) for side in sides]
    labelled = zip(question.short_labels(sources), (one.rows for one in found), strict=True)
    told = [_told(problem) for one in found for problem in one.problems]
    made = of_profiles.content(list(labelled), told, title=title, confidence=confidence)
    page = document.page(made)
    if output is not None:
        place.write(Path(output), page.html)
    return page


#: Letters of the name of a side in the sentences of a page.
_LONGEST_LABEL = 40


@takes(ComparedAt)
def html_report(
    *sources: Source,
    output: str | Path | None = None,
    title: str = "",
    also: Sequence[str] = (),
    fail_on: str = "",
    require: str = "",
    command: str = "",
    **asked: Unpack[ComparedAt],
) -> Page:
    """Return one self-contained HTML page: verdict, numbers and plots.

    One source is summarized; with several, the first is the baseline. At a budget, the page
    compares qualities.

    Parameters
    ----------
    output
        Path of the page; it is written atomically.
    also, fail_on, require
        Metrics and conditions as in `compare`; the result is in `Page.gate`.
    command
        Command to show on the page.
    asked
        Keywords of `Question`; files without labels are labelled by name.

    Raises
    ------
    TtastatsError
        As `summary` or `compare`; or `output` is an input, or an existing file that is not a
        report.
    """
    from ttastats.options import Options
    from ttastats.page import content, document, place, second_look
    from ttastats.plotting import kinds, speedups, tta
    from ttastats.render.shortening import shortened

    if len(sources) < 2 and (fail_on or require or also):
        raise TtastatsError(
            "needs two sides",
            where="--fail-on" if fail_on else "--require" if require else "--also",
            remedy="Give two files, the baseline first, or --a and --b.",
        )
    what = Question(**asked)
    options = what.options or Options()
    judge = _judge(what, (fail_on, require), also)
    if output is not None:
        place.expect(Path(output), [path for source in sources for path in choice.files(source)])
    names = what.labels or question.short_labels(sources)
    found = question.judged(sources, what)
    short = shortened(names, _LONGEST_LABEL) or {}  # sentences repeat them
    made = _material(found, what, [short.get(name, name) for name in names])
    runs = [one.runs for one in found]
    answer = (
        judge(made.sides, None)
        if made.compares
        else _summarised(found[0], what, options.ddof, options.confidence)
    )
    answer = _answered(answer, *found)
    left_out = (Note("not_drawn", sentence) for sentence in kinds.left_out(made))
    page = document.page(
        content.content(
            list(zip(names, runs, strict=True)),
            replace(answer, notes=(*answer.notes, *left_out)),
            # The first screen shows what these would: of a comparison, and of a summary.
            kinds.all_plots(made, without=(speedups.KIND if made.compares else tta.KIND,)),
            title=title,
            conditions=[*what.where, *(f"target {text}" for text in what.target)],
            confidence=options.confidence,
            command=command,
            looks=second_look.looks(made.sides),
        )
    )
    if output is not None:
        place.write(Path(output), page.html)
    return page


@takes(Compared)
def material(*sources: Source, metric: str = "", **asked: Unpack[Compared]) -> Material:
    """Give what plots are made of; `metric` is that of `plot`."""
    what = Question(**asked)
    found = question.sides(sources, what)
    for one in found if metric else ():
        expect_metric(one.rows, metric, "--metric", of_training=True)
    made = _material(found, what, what.labels or question.labels(sources))
    return replace(made, metric=metric)


def _material(found: Sequence[Chosen], what: Question, labels: Sequence[str]) -> Material:
    from ttastats.plotting.material import material  # scipy costs start-up time

    sides = question.labelled(found, what, labels)
    return material(sides, what.by, what.options, pool=what.pool)


def export(source: Source, output: str | Path, *, where: Sequence[str] = ()) -> Exported:
    """Write runs as rows (`NAME.csv`, `NAME.jsonl`) or as a new folder of logs (any other name).

    Raises
    ------
    TtastatsError
        As `read`; or no run matches, or the output cannot be written or overwritten.
    """
    from ttastats.exporting import places

    # A log is whole or it is not true; rows stand for themselves.
    whole = chosen(source, where, by_evaluation=True).rows if where else read(source)
    table = read(source, where=where) if places.takes_rows(Path(output)) else whole
    return places.export(table, Path(output))


def filter(  # noqa: A001 - the name of the command
    *sources: given.Source, output: str | Path, where: Sequence[str] = ()
) -> Subset:
    """Write the runs of one or more tables that meet all conditions to a new table.

    Runs keep all their rows and problems; rows in several tables are written once.

    Parameters
    ----------
    output
        A Parquet file, or a folder of Parquet files if it ends with a slash; never one of the
        sources.

    Raises
    ------
    TtastatsError
        As `read`; or no run matches, or the output cannot be written or overwritten.
    """
    from ttastats.exporting import subset

    place, in_parts = Path(output), str(output).endswith("/")
    atomic.expect_no_input(place, [path for source in sources for path in given.paths(source)])
    store.expect_place(place, in_parts=in_parts or place.is_dir())
    every = store.together([given.tidy(source) for source in sources])
    found = chosen(every, where, by_evaluation=True) if where else None
    met = [problem for source in sources for problem in given.problems(source)]
    done = subset.write(
        every, found.rows if found else every, met, place, in_parts=in_parts or place.is_dir()
    )
    return replace(done, notes=tuple(note.text for note in found.notes)) if found else done


def problems(
    *sources: given.Source, where: Sequence[str] = (), codes: Sequence[str] = ()
) -> Report:
    """Report the problems in the logs of some tables, and suspicious runs.

    These are all problems found by an ingest, duplicates within and across the tables, runs without
    evaluations, stalled runs, outliers in epochs and in time per epoch, entries with constant
    epochs, and wrong numbers of runs.

    Parameters
    ----------
    codes
        Report only these.

    Raises
    ------
    TtastatsError
        As `read`; or no run meets the conditions, or a code does not occur.
    """
    from ttastats.report import problems as problems_report

    given_tables = [table for source in sources for table in given.each(source)]
    tables = [
        time_to_target.runs(given.tidy(table)).with_columns(
            table=pl.lit(question.label(table, number))
        )
        for number, table in enumerate(given_tables)
    ]
    every = pl.concat(tables).unique(["table", *schema.RUN], maintain_order=True)
    met = [problem for table in given_tables for problem in given.problems(table)]
    rows = store.together([given.tidy(table) for table in given_tables])
    if not where:
        return problems_report.report(met, every, every, rows, codes)
    found = chosen(rows, where, by_evaluation=True)
    runs = every.join(found.runs, on=schema.RUN, how="semi")
    report = problems_report.report(met, runs, every, rows, codes)
    return replace(report, notes=(*report.notes, *found.notes))
