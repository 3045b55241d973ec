"""The commands that answer from one table: its runs, their statistics, scores and problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import ttastats as tta
from ttastats.base import percentages
from ttastats.sides.options import AtBudget, Judged

if TYPE_CHECKING:
    from ttastats.report.answer import Report

#: A coefficient of variation or a difference to detect may exceed 100 %, with a percent sign;
#: nobody plans for ten times the mean.
_MOST = 10.0


def runs(
    files: Sequence[str],
    *,
    where: Sequence[str] = (),
    target: Sequence[str] = (),
    budget: AtBudget,
    sort: str = "",
    top: int | None = None,
) -> Report:
    """Show one row per run: whether and when it reached the target, epochs, time per epoch.

    --sort: tta, epochs or seed

    $ ttastats runs runs.parquet --where reached=no
    $ ttastats runs runs.parquet --format csv > runs.csv
    """
    return arranged(tta.runs(files, where=where, target=target, **budget), sort, top)


def summary(
    files: Sequence[str],
    *,
    judged: Judged,
    budget: AtBudget,
    ddof: int = 1,
    confidence: float = 0.95,
    sort: str = "",
    top: int | None = None,
    verbose: bool = False,
) -> Report:
    """Show each entry: runs that reached the target, mean TTA and CV with their intervals.

    --verbose, -v: Show all notes in full, and each run as a dot below its row.
    --sort: tta, cv or n
    --top N: Show the first N rows of each table; 0: all. Without it, CSV and JSON have all.
        [default: (15); x>=0]

    $ ttastats summary runs.parquet --sort -cv --top 5
    $ ttastats summary runs.parquet --by system --target 75%
    """
    return tta.summary(
        files,
        ddof=ddof,
        confidence=confidence,
        dots=verbose,
        sort=sort,
        top=top,
        **judged,
        **budget,
    )


def rank(
    files: Sequence[str], *, judged: Judged, mine: str = "", confidence: float = 0.95, top: int = 15
) -> Report:
    """Rank the entries of each benchmark and size, with the ranks that cannot be told apart.

    --mine NAME: Mark the entries whose name contains this, and say where they stand.
    --top N: Show the first N entries of each benchmark and size, and --mine; 0: all. [x>=0]

    $ ttastats rank runs.parquet --where benchmark=llama2_70b_lora
    $ ttastats rank runs.parquet --mine supermicro --top 0
    """
    return tta.rank(files, mine=mine, top=top, confidence=confidence, **judged)


def variance(
    files: Sequence[str],
    *,
    sources: Sequence[str] = (),
    judged: Judged,
    ddof: int = 1,
    sort: str = "",
    top: int | None = None,
) -> Report:
    """Decompose the variance of runs into epochs to the target and time per epoch.

    --sources COLUMNS: Show instead what comes from each of these: day, columns, or names in
        `extra`.
    --sort: share_epochs, cv_ratio or n

    $ ttastats variance runs.parquet
    $ ttastats variance runs.parquet --where benchmark=resnet
    $ ttastats variance runs.parquet --sources day,host,seed
    """
    return arranged(tta.variance(files, ddof=ddof, sources=sources, **judged), sort, top)


def history(
    files: Sequence[str], *, judged: Judged, order: str = "date", fail_on: str = ""
) -> Report:
    """Find the night on which training changed: in time per epoch, epochs or failures.

    --order ORDER: Order of the points: date, or a column or recorded name such as commit.
    --fail-on slower:PERCENT: Exit 3 if the latest segment is shown to take more than 2% longer
        than the one before it, or to fail more often: slower:2%.

    $ ttastats history runs.parquet
    $ ttastats history runs.parquet --order commit --fail-on slower:2%
    """
    return tta.history(files, order=order, fail_on=fail_on, **judged)


def effects(
    files: Sequence[str],
    *,
    on: Sequence[str] = (),
    levels: Sequence[str] = (),
    block: Sequence[str] = (),
    interactions: bool = False,
    judged: Judged,
    confidence: float = 0.95,
) -> Report:
    """Show which of the settings of a sweep changes the time to the target, and through what.

    --on COLUMNS: Settings, comma-separated: columns or names in `extra`. precision=fp32 names the
        level to compare with.
    --levels COLUMNS: Settings whose numbers are levels. Others of three values or more act by
        doublings.
    --block COLUMNS: What tells sessions apart: day, columns, or names in `extra`.
    --interactions: Also show whether the effect of a setting depends on another.

    $ ttastats effects runs.parquet --on batch_size,lr
    $ ttastats effects runs.parquet --on precision=fp32,batch_size --block day
    """
    return tta.effects(
        files,
        on=on,
        levels=levels,
        block=block,
        interactions=interactions,
        confidence=confidence,
        **judged,
    )


def power(
    files: Sequence[str] = (),
    *,
    cv: str = "",
    runs: int | None = None,
    detect: Sequence[str] = (),
    power: str = "80%",
    max_runs: int | None = None,
    prior: Sequence[str] = (),
    judged: Judged,
) -> Report:
    """Compute how many runs are needed to detect a given difference.

    FILE...: Parquet files with pilot runs, or their logs.
    --cv PERCENT: Plan from this coefficient of variation instead, such as 14%.
    --runs, -n N: Runs per side. [x>=2]
    --detect PERCENT: Effect size to detect, such as 5%. Repeatable.
    --power SHARE: Statistical power.
    --max-runs N: Also show the average number of runs that `compare --sequential --max-runs N`
        needs.
    --prior FILE: Runs of earlier entries, whose noise adds to that of few runs. Repeatable.

    $ ttastats power runs.parquet --detect 5%
    $ ttastats power --cv 14% --detect 10%
    """
    return tta.power(
        files or None,
        cv=percentages.fraction(cv, "--cv", below=_MOST) if cv else None,
        n=runs,
        effects=[percentages.fraction(text, "--detect", below=_MOST) for text in detect],
        power=percentages.fraction(power, "--power"),
        max_runs=max_runs,
        prior=list(prior) or None,
        **judged,
    )


def scaling(files: Sequence[str], *, judged: Judged) -> Report:
    """Show speedup and efficiency over the number of accelerators.

    $ ttastats scaling runs.parquet
    $ ttastats scaling runs.parquet --by benchmark,submitter
    """
    return tta.scaling(files, **judged)


def score(
    files: Sequence[str],
    *,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    sort: str = "",
    top: int | None = None,
) -> Report:
    """Compute the official MLPerf score of each entry.

    --sort: score, n or status

    $ ttastats score runs.parquet
    $ ttastats score runs.parquet --where submitter=Example --top 5
    """
    return arranged(tta.score(files, by=by, where=where), sort, top)


def problems(
    files: Sequence[str], *, where: Sequence[str] = (), code: Sequence[str] = ()
) -> Report:
    """List problems found in the logs, and suspicious runs: duplicates, stalls, outliers.

    --code CODE: Show all problems with this code. Repeatable.

    $ ttastats problems runs.parquet
    $ ttastats problems runs.parquet --code no_run_stop
    """
    return tta.problems(*files, where=where, codes=code)


def arranged(report: Report, sort: str, top: int | None) -> Report:
    """Return a report with the rows of each benchmark sorted, and only the first of them."""
    from ttastats.report import ordering  # polars costs start-up time

    made = ordering.arranged(report, sort=sort, top=top or 0)
    return ordering.first_rows(made) if top is None else made
