"""The commands that answer about runs: statistics, scores, problems, claims and records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import ttastats as tta
from ttastats.base import percentages
from ttastats.base.errors import raise_if
from ttastats.cli.options import Parts, sources
from ttastats.sides.options import AtBudget, Judged, JudgedAt

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
    keywords: JudgedAt,
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
        **keywords,
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
        cv=percentages.parse_fraction(cv, "--cv", below=_MOST) if cv else None,
        n=runs,
        effects=[percentages.parse_fraction(text, "--detect", below=_MOST) for text in detect],
        power=percentages.parse_fraction(power, "--power"),
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


def claim(
    files: Sequence[str],
    *,
    quality: str = "",
    seconds: str = "",
    steps: str = "",
    level: str = "5%",
    sigma: float | None = None,
    prior: Sequence[str] = (),
    keywords: JudgedAt,
) -> tuple[Report, int]:
    """Test a claim about the mean of the runs. Exit code 0: it holds; 3: it does not.

    --quality CLAIM: Claim about the mean quality: 'val_loss <= 3.28'; at the end of each run unless
        --at is given.
    --seconds CLAIM: Claim about the mean time in seconds: '<= 80'; to the budget, else to the
        target.
    --steps CLAIM: Claim about the mean number of steps: '<= 3325'.
    --level SHARE: Significance level: the accepted probability of confirming a false claim.
    --sigma SD: Known standard deviation of the quality of one run; uses a z test.
    --prior FILE: With --seconds or --steps: runs of earlier entries, whose noise adds to that of
        few runs. Repeatable.

    $ ttastats claim runs.parquet --quality 'val_loss <= 3.28'
    $ ttastats claim runs.parquet --seconds '<= 80'
    """
    from ttastats.answers.claim import ClaimRow  # polars costs start-up time
    from ttastats.report.row import expect_kind

    report = tta.claim(
        files,
        quality=quality,
        seconds=seconds,
        steps=steps,
        level=percentages.parse_fraction(level, "--level", below=0.5),
        sigma=sigma,
        prior=list(prior) or None,
        **keywords,
    )
    return report, 0 if all(row.holds for row in expect_kind(report.records, ClaimRow)) else 3


def record(
    files: Sequence[str] = (),
    *,
    rules: str = "",
    against: float | None = None,
    metric: str = "",
    target: Sequence[str] = (),
    parts: Parts,
    where: Sequence[str] = (),
) -> Report | tuple[Report, int]:
    """Check a record against the rules of a contest. Exit code 0: a record; 3: no, or undecided.

    FILE...: Parquet files or logs: baseline A, then runs B; a single one with --a and --b; or only
        B with --against.
    --rules NAME: Contest rules to apply; `list` shows them.
    --against NUMBER: The baseline as a number (seconds, steps or quality, as the rules count)
        instead of runs.
    --metric METRIC: Quality metric, if it differs from that of the rules.

    $ ttastats record a.parquet b.parquet --rules nanogpt-track-1
    $ ttastats record --rules list
    """
    from ttastats.answers.record.record import RecordRow, of_rules  # polars costs start-up time
    from ttastats.report.row import expect_kind

    if rules == "list":
        return of_rules()
    usage = "Usage: ttastats record A.parquet B.parquet --rules NAME"
    raise_if(not files, "no runs given", None, usage)
    report = tta.judge_record(
        *sources(files, parts, one_will_do=True),
        rules=rules,
        against=against,
        metric=metric,
        target=target,
        where=where,
    )
    records = [row.verdict == "record" for row in expect_kind(report.records, RecordRow)]
    return report, 0 if all(records) else 3


def rcp(
    files: Sequence[str],
    *,
    records: Path | None = None,
    ruleset: str = "",
    bypass: bool = False,
    by: Sequence[str] = (),
    where: Sequence[str] = (),
    confidence: float = 0.95,
    draws: int = 10_000,
    seed: int = 1,
    sort: str = "",
    top: int | None = None,
    verbose: bool = False,
) -> tuple[Report, int]:
    """Check convergence against the official reference convergence points (RCP).

    --records FOLDER: Folder with rcps_*.json. [default: (installed mlperf_logging)]
    --ruleset X.Y.Z: Use the records and rules of this round. [default: (the round of each entry)]
    --bypass: Apply the official --rcp_bypass.
    --draws: Simulation draws for each error rate of the check. [x>=100]
    --seed N: Seed of the simulation. [x>=0]
    --sort: ratio, official_factor or n
    --verbose, -v: Show the numbers behind each verdict, and all notes in full.

    $ ttastats rcp runs.parquet
    $ ttastats rcp runs.parquet --where benchmark=llama2_70b_lora -v
    """
    from ttastats.answers.rcp.rcp import unanswered  # polars costs start-up time

    report = tta.rcp(
        files,
        records=records,
        ruleset=ruleset,
        bypass=bypass,
        by=by,
        where=where,
        confidence=confidence,
        draws=draws,
        seed=seed,
        verbose=verbose,
    )
    return arranged(report, sort, top), 1 if unanswered(report) else 0


def arranged(report: Report, sort: str, top: int | None) -> Report:
    """Return a report with the rows of each benchmark sorted, and only the first of them."""
    from ttastats.report import ordering  # polars costs start-up time

    made = ordering.sort_rows(report, sort=sort, top=top or 0)
    return ordering.default_rows(made) if top is None else made
