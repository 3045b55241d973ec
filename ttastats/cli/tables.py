"""The commands that answer about runs, most with the keywords of a function of the Python API."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import ttastats as tta
from ttastats.base import percentages
from ttastats.base.errors import raise_if
from ttastats.base.stores import parse_place
from ttastats.cli.options import COMPARING, refuse_of_runs, sources, split_options, taken_out, takes
from ttastats.sides.options import (
    BudgetKeywords,
    GroupBudgetKeywords,
    GroupKeywords,
    TargetKeywords,
    View,
)

if TYPE_CHECKING:
    from ttastats.report.answer import Report
    from ttastats.traces.answers import By

#: Options of the rows of an answer, where its function in the API leaves them to `_in_order`.
_ORDER = ("sort", "top")
_Profiles = tuple[Sequence[str | Path], Sequence[str | Path]]


def _in_order(report: Report, sort: str = "", top: int | None = None) -> Report:
    """Return a report with its rows sorted, and the first of them; all if `top` is 0."""
    from ttastats.report import ordering  # polars costs start-up time

    ordered = ordering.sort_rows(report, sort=sort, top=top or 0)
    return ordering.default_rows(ordered) if top is None else ordered


@takes(BudgetKeywords, "where target sort top")
def runs(files: Sequence[str], **options: Any) -> Report:
    """List the runs: reached, time to the target, epochs.

    --sort: tta, epochs or seed

    $ ttastats runs runs.parquet --where reached=no
    $ ttastats runs runs.parquet --format csv > runs.csv
    """
    order = taken_out(options, _ORDER)
    return _in_order(tta.runs(files, **options), **order)


@takes(GroupBudgetKeywords, "ddof confidence sort top verbose")
def summary(files: Sequence[str], *, verbose: bool = False, **options: Any) -> Report:
    """Show runs, mean TTA and CV of each entry, with intervals.

    --verbose, -v: Show all notes in full, and each run as a dot below its row.
    --sort: tta, cv or n
    --top N: Show the first N rows of each table; 0: all. Without it, CSV and JSON have all.
        [default: (15); x>=0]

    $ ttastats summary runs.parquet --sort -cv --top 5
    $ ttastats summary runs.parquet --by system --target 75%
    """
    return tta.summary(files, dots=verbose, **options)


@takes(TargetKeywords, "mine confidence top")
def rank(files: Sequence[str], **options: Any) -> Report:
    """Rank the entries of each benchmark and size, and name ties.

    --mine NAME: Mark the entries whose name contains this, and say where they stand.
    --top N: Show the first N entries of each benchmark and size, and --mine; 0: all.
        [default: 15; x>=0]

    $ ttastats rank runs.parquet --where benchmark=llama2_70b_lora
    $ ttastats rank runs.parquet --mine supermicro --top 0
    """
    return tta.rank(files, **options)


@takes(TargetKeywords, "sources ddof confidence sort top")
def variance(files: Sequence[str], **options: Any) -> Report:
    """Split the variance of TTA into epochs and time per epoch.

    --sources COLUMNS: Show instead what comes from each of these: day, columns, or names in
        `extra`.
    --sort: share_epochs, cv_ratio or n

    $ ttastats variance runs.parquet
    $ ttastats variance runs.parquet --where benchmark=resnet
    $ ttastats variance runs.parquet --sources day,host,seed
    """
    order = taken_out(options, _ORDER)
    return _in_order(tta.variance(files, **options), **order)


@takes(TargetKeywords, "order fail_on confidence")
def history(files: Sequence[str], **options: Any) -> Report:
    """Find the night on which speed, epochs or failures changed.

    --order ORDER: Order of the points: date, or a column or recorded name such as commit.
        [default: date]
    --fail-on slower:PERCENT: Exit 3 if the latest segment is shown to take more than 2% longer
        than the one before it, or to fail more often: slower:2%.

    $ ttastats history runs.parquet
    $ ttastats history runs.parquet --order commit --fail-on slower:2%
    """
    report: Report = tta.history(files, **options)
    return report


@takes(TargetKeywords, "on levels block interactions confidence")
def effects(files: Sequence[str], *, on: Sequence[str] = (), **options: Any) -> Report:
    """Show which settings of a sweep change the TTA, and how.

    --on COLUMNS: Settings, comma-separated: columns or names in `extra`. precision=fp32 names the
        level to compare with.
    --levels COLUMNS: Settings whose numbers are levels. Others of three values or more act by
        doublings.
    --block COLUMNS: What tells sessions apart: day, columns, or names in `extra`.
    --interactions: Also show whether the effect of a setting depends on another.

    $ ttastats effects runs.parquet --on batch_size,lr
    $ ttastats effects runs.parquet --on precision=fp32,batch_size --block day
    """
    return tta.effects(files, on=on, **options)


@takes(TargetKeywords, "cv runs detect power max_runs confidence")
def power(
    files: Sequence[str] = (),
    *,
    runs: int | None = None,
    detect: Sequence[float] = (),
    **options: Any,
) -> Report:
    """Compute how many runs are needed to detect a given difference.

    FILE...: Parquet files with pilot runs, or their logs.
    --cv PERCENT: Plan from this coefficient of variation instead, such as 14%.
    --runs, -n N: Runs per side. [x>=2]
    --detect PERCENT: Effect size to detect, such as 5%. Repeatable.
    --power SHARE: Statistical power.
    --max-runs N: Also show the average number of runs that `compare --sequential --max-runs N`
        needs.

    $ ttastats power runs.parquet --detect 5%
    $ ttastats power --cv 14% --detect 10%
    """
    return tta.power(files or None, n=runs, effects=detect, **options)


@takes(TargetKeywords, "confidence")
def scaling(files: Sequence[str], **options: Any) -> Report:
    """Show speedup and efficiency over the number of accelerators.

    $ ttastats scaling runs.parquet
    $ ttastats scaling runs.parquet --by benchmark,submitter
    """
    return tta.scaling(files, **options)


@takes("by where sort top")
def score(files: Sequence[str], **options: Any) -> Report:
    """Compute the official MLPerf score of each entry.

    --sort: score, n or status

    $ ttastats score runs.parquet
    $ ttastats score runs.parquet --where submitter=Example --top 5
    """
    order = taken_out(options, _ORDER)
    return _in_order(tta.score(files, **options), **order)


@takes("where code")
def problems(files: Sequence[str], *, code: Sequence[str] = (), **options: Any) -> Report:
    """List problems in the logs, and suspicious runs.

    --code CODE: Show all problems with this code. Repeatable.

    $ ttastats problems runs.parquet
    $ ttastats problems runs.parquet --code no_run_stop
    """
    return tta.problems(files, codes=code, **options)


@takes(GroupBudgetKeywords, "quality seconds steps level sigma")
def claim(files: Sequence[str], **options: Any) -> tuple[Report, int]:
    """Test a claim about the mean of the runs. Exit code 0: it holds; 3: it does not.

    --quality CLAIM: Claim about the mean quality: 'val_loss <= 3.28'; at the end of each run unless
        --at is given.
    --seconds CLAIM: Claim about the mean time in seconds: '<= 80'; to the budget, else to the
        target.
    --steps CLAIM: Claim about the mean number of steps: '<= 3325'.
    --level SHARE: Significance level: the accepted probability of confirming a false claim.
    --sigma SD: Known standard deviation of the quality of one run; uses a z test.

    $ ttastats claim runs.parquet --quality 'val_loss <= 3.28'
    $ ttastats claim runs.parquet --seconds '<= 80'
    """
    report = tta.claim(files, **options)
    return report, 0 if all(row["holds"] for row in report.rows) else 3


@takes("records ruleset bypass by where confidence draws seed sort top verbose")
def rcp(files: Sequence[str], **options: Any) -> tuple[Report, int]:
    """Check convergence against the official references (RCP).

    --records FOLDER: Folder with rcps_*.json. [default: (installed mlperf_logging)]
    --ruleset X.Y.Z: Use the records and rules of this round. [default: (the round of each entry)]
    --bypass: Apply the official --rcp_bypass.
    --draws: Simulation draws for each error rate of the check. [default: 10000; x>=100]
    --seed N: Seed of the simulation. [default: 1; x>=0]
    --sort: ratio, official_factor or n
    --verbose, -v: Show the numbers behind each verdict, and all notes in full.

    $ ttastats rcp runs.parquet
    $ ttastats rcp runs.parquet --where benchmark=llama2_70b_lora -v
    """
    from ttastats.answers.rcp.rcp import unanswered  # polars costs start-up time

    order = taken_out(options, _ORDER)
    report = tta.rcp(files, **options)
    return _in_order(report, **order), 1 if unanswered(report) else 0


@takes(*COMPARING, "profile_a profile_b block same baseline wide verbose")
def compare(
    files: Sequence[str] = (),
    *,
    profile_a: Sequence[Path] = (),
    profile_b: Sequence[Path] = (),
    wide: bool = False,
    verbose: bool = False,
    **options: Any,
) -> Report:
    """Compare B with A: speedup to the target with causes, or quality.

    FILE...: Parquet files or logs: A, then B; one, with --a, --b; or profiles.
    --profile-a PATH: Profile of A: which parts of a step explain the throughput? Repeatable;
        without runs, profiles alone are compared.
    --profile-b PATH: Profile of B. Repeatable.
    --block COLUMN: Compare within sessions: day, order (alternating runs), a column, a name in
        extra, or a condition. Comma-separated.
    --same: The files, or the groups of --by, are one setup: which difference is worth claiming?
    --baseline FILE: Side A: the runs since the last change of this history (see `history`).
    --wide: Show more columns.
    --verbose, -v: Show all notes in full, the causes of each row, and each run as a dot.

    $ ttastats compare a.parquet b.parquet
    $ ttastats compare runs.parquet --a system=old --b system=new
    $ ttastats compare runs/adam runs/sgd --fail-on slower:2%
    $ ttastats compare old.parquet new.parquet --at-end
    """
    remedy = f"Add {'--profile-b' if profile_a else '--profile-a'}."
    one_side = "profiles were given for one side only"
    raise_if(bool(profile_a) != bool(profile_b), one_side, None, remedy)
    profiles = (profile_a, profile_b) if profile_a else None
    how, keywords = split_options(options)
    if (of_steps := _profiles_alone(files, profiles)) is not None:
        refuse_of_runs(options, but=("--confidence", "--by"))
        by = ",".join(options.get("by", ())) or "work"
        raise_if(
            by not in {"work", "operator"},
            "is not a breakdown of the work of a step",
            f"--by {by}",
            "Choose work (by kind, the default) or operator.",
        )
        return tta.compare_profiles(*of_steps, by=cast("By", by), confidence=how.confidence)
    same, baseline = keywords.get("same", False), keywords.pop("baseline", "")
    for file in files if same else ():  # the number of a margin
        raise_if(
            percentages.parse_number(file) is not None and not Path(file).exists(),
            "takes no number: it means that the files hold runs of one setup",
            f"--same {file}",
            f"To test equality within a margin: --same --margin {file}.",
        )
    sides = sources(files, keywords, one_will_do=same or bool(baseline))
    if baseline:
        whole = "--same has no baseline"
        raise_if(same, whole, f"--baseline {baseline}", "Remove one of the two.")
        judgement: Any = {
            name: keywords[name] for name in TargetKeywords.__annotations__ if name in keywords
        }
        judgement["confidence"] = how.confidence
        sides = [tta.latest_segment([baseline], **judgement), *sides]
    view = View(wide, verbose, margin_claims="margin" in options)
    report: Report = tta.compare(*sides, view=view, profiles=profiles, options=how, **keywords)
    return report


def _profiles_alone(files: Sequence[str], profile_pair: _Profiles | None) -> _Profiles | None:
    """Return the profiles of A and B if no runs are given; raise an error for a mixture."""
    from ttastats.ingestion.given import is_profile  # polars costs start-up time

    if not files:
        remedy = "Give two files: ttastats compare a.parquet b.parquet"
        raise_if(profile_pair is None, "nothing to compare", remedy=remedy)
        return profile_pair
    profiles = [file for file in files if is_profile(parse_place(file))]
    if len(profiles) == len(files) == 2:
        return profiles[:1], profiles[1:]
    mixed = "is a profile, but other files are runs"
    remedy = "Pass it as --profile-a or --profile-b."
    raise_if(profiles, mixed, "".join(profiles[:1]), remedy)
    return None


@takes("a b", GroupKeywords, "points metric confidence")
def targets(files: Sequence[str], **options: Any) -> Report:
    """Show how the answer depends on the quality target.

    FILE...: One Parquet file or folder of logs, or two to compare.
    --points: Maximum number of round quality targets to evaluate, beside the official one.
        [default: 9; x>=2]
    --metric METRIC: Metric whose target is varied, if there are several.

    $ ttastats targets runs.parquet
    $ ttastats targets a.parquet b.parquet --metric val_loss
    """
    tables = sources(files, options, one_will_do=True)
    raise_if(len(tables) > 2, "more than two files", None, "Compare two at a time.")
    return tta.targets(*tables, **options)


@takes("rules against metric target a b where")
def record(files: Sequence[str] = (), **options: Any) -> Report | tuple[Report, int]:
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
    rules = options.pop("rules", "")
    if rules == "list":
        from ttastats.answers.record.record import of_rules  # polars costs start-up time

        return of_rules()
    usage = "Usage: ttastats record A.parquet B.parquet --rules NAME"
    raise_if(not files, "no runs given", None, usage)
    tables = sources(files, options, one_will_do=True)
    report = tta.judge_record(*tables, rules=rules, **options)
    return report, 0 if all(row["verdict"] == "record" for row in report.rows) else 3
