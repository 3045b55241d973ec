"""The commands that hold runs against a number, a contest, or records of convergence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import ttastats as tta
from ttastats.base import percentages
from ttastats.base.errors import refuse_if
from ttastats.cli.sides import Parts, sources
from ttastats.cli.tables import arranged
from ttastats.sides.options import AtBudget, Judged

if TYPE_CHECKING:
    from ttastats.report.answer import Report


def claim(
    files: Sequence[str],
    *,
    quality: str = "",
    seconds: str = "",
    steps: str = "",
    level: str = "5%",
    sigma: float | None = None,
    prior: Sequence[str] = (),
    judged: Judged,
    budget: AtBudget,
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
    from ttastats.report.row import of_kind

    report = tta.claim(
        files,
        quality=quality,
        seconds=seconds,
        steps=steps,
        level=percentages.fraction(level, "--level", below=0.5),
        sigma=sigma,
        prior=list(prior) or None,
        **judged,
        **budget,
    )
    return report, 0 if all(row.holds for row in of_kind(report.records, ClaimRow)) else 3


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
    from ttastats.report.row import of_kind

    if rules == "list":
        return of_rules()
    usage = "Usage: ttastats record A.parquet B.parquet --rules NAME"
    refuse_if(not files, "no runs given", None, usage)
    report = tta.judge_record(
        *sources(files, parts, one_will_do=True),
        rules=rules,
        against=against,
        metric=metric,
        target=target,
        where=where,
    )
    records = [row.verdict == "record" for row in of_kind(report.records, RecordRow)]
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
