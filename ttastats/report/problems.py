"""What was wrong with the logs of a table, and which of its runs need a second look?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from ttastats import benchmarks, nearest, schema, time_to_target, units
from ttastats.counted import RESULT, standing
from ttastats.errors import TtastatsError
from ttastats.records import Problem
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Note, Quantity, Row, Table, Text
from ttastats.report.grouping import ENTRY, groups
from ttastats.stats import outliers

_SEVERITIES = ("error", "warning", "info")
#: Problems of a code that are shown before the rest is only counted; one code alone is shown whole.
_SHOWN = 5

Finding = dict[str, Any]


def report(
    problems: Sequence[Problem], runs: pl.DataFrame, every: pl.DataFrame, codes: Sequence[str] = ()
) -> Report:
    """Give the report of what was found wrong, the gravest first.

    Parameters
    ----------
    problems
        Those of the logs.
    runs
        A table of runs (`time_to_target.runs`), with the name of its table in a column `table`.
    every
        The table from which these runs were chosen. Where some were not, nobody knows whether
        files without a run would have been: their problems are counted only.
    codes
        Show these alone.
    """
    own, left_out = _of_chosen(list(dict.fromkeys(problems)), runs, every)
    found = [*_of_logs(own, runs), *_of_runs(runs, own)]
    found.sort(key=_place)
    chosen = _of_codes(found, codes)
    tables = (_counts(chosen), *_listings(chosen, whole=bool(codes))) if chosen else ()
    close = "" if chosen else "Nothing was found wrong."
    return Report("problems", tuple(chosen), tables, tuple(_notes(chosen, left_out)), close)


def _of_chosen(
    problems: list[Problem], runs: pl.DataFrame, every: pl.DataFrame
) -> tuple[list[Problem], int]:
    """Give the problems of the runs, and the number of those of files that have none."""
    if runs.height == every.height:
        return problems, 0
    chosen, known = set(runs["source"]), set(every["source"])
    own = [problem for problem in problems if problem.source in chosen]
    return own, sum(problem.source not in known for problem in problems)


def _place(finding: Finding) -> tuple[Any, ...]:
    known = (finding["source"] or "", finding["line"] or 0, finding["entry"] or "")
    return (_SEVERITIES.index(finding["severity"]), finding["code"], *known)


def _of_codes(found: list[Finding], codes: Sequence[str]) -> list[Finding]:
    known = {finding["code"] for finding in found}
    for code in codes:
        if code not in known:
            raise TtastatsError(
                f"no problem is called {code!r}",
                where="--code",
                remedy=nearest.among(code, sorted(known), "There are") if known else None,
            )
    return [finding for finding in found if not codes or finding["code"] in codes]


# ---------------------------------------------------------------------------------------- finding


def _of_logs(problems: Sequence[Problem], runs: pl.DataFrame) -> Iterator[Finding]:
    first = runs.select("source", *ENTRY).unique("source", keep="first")
    heads = {row["source"]: row for row in first.iter_rows(named=True)}
    for one in problems:
        about = heads.get(one.source or "", {})
        yield _finding(one.code, one.severity, one.message, about, source=one.source, line=one.line)


def _finding(
    code: str,
    severity: str,
    message: str,
    about: Mapping[str, Any],
    *,
    source: str | None = None,
    line: int | None = None,
) -> Finding:
    said = {"code": code, "severity": severity, "source": source, "line": line, "message": message}
    return said | {name: about.get(name) for name in ENTRY}


def _of_runs(runs: pl.DataFrame, problems: Sequence[Problem]) -> Iterator[Finding]:
    """Give what no log tells: copies, runs never evaluated, outliers, wrong numbers of runs."""
    yield from _copies(runs)
    yield from _never_evaluated(runs, problems)
    once = runs.unique(schema.RUN, keep="first", maintain_order=True)
    for keys, group in groups(once, ENTRY):
        yield from _outliers(group, keys)
    for keys, group in groups(once, RESULT):
        yield from _run_count(group, keys)


def _copies(runs: pl.DataFrame) -> Iterator[Finding]:
    """Name every run but the first of those that are the same, in one table or in several."""
    several = runs["table"].n_unique() > 1
    same = runs.with_columns(content=pl.coalesce("content_digest", "run_id"))
    for name in ("source", "table"):
        same = same.with_columns(pl.col(name).first().over("content").alias(f"first_{name}"))
    copies = same.filter(
        (pl.col("source") != pl.col("first_source")) | (pl.col("table") != pl.col("first_table"))
    )
    shown = copies.select("source", "table", "first_source", "first_table", *ENTRY)
    for row in shown.iter_rows(named=True):
        where = f" in {row['first_table']}" if several else ""
        here = f" ({row['table']})" if several else ""
        message = f"the same run as {row['first_source']}{where}{here}"
        yield _finding("duplicate_run", "warning", message, row, source=row["source"])


def _never_evaluated(runs: pl.DataFrame, problems: Sequence[Problem]) -> Iterator[Finding]:
    told = {problem.source for problem in problems if problem.code == "no_evaluation"}
    silent = standing(runs).filter(pl.col("evaluations").is_null()).select("source", *ENTRY)
    for row in silent.iter_rows(named=True):
        if row["source"] not in told:
            message = "no quality was ever measured; the run counts as failed"
            yield _finding("no_evaluation", "warning", message, row, source=row["source"])


def _outliers(group: pl.DataFrame, keys: Mapping[str, Any]) -> Iterator[Finding]:
    unit, column = time_to_target.common_progress(group)
    if unit is None or column is None:
        return
    reached = group.filter(pl.col("reached") & (pl.col(unit) > 0))
    interval = pl.col(column).fill_null(0.0)
    # One evaluation more or less is the least that there is between two runs.
    beyond = (pl.col(unit) - pl.col(unit).median()).abs() > interval
    yield from _far(reached, unit, f"{unit} to the target", "epochs_outlier", beyond, keys)
    timed = group.filter((pl.col(unit) > 0) & (pl.col("observed_seconds") > 0)).with_columns(
        pace=pl.col("observed_seconds") / pl.col(unit)
    )
    name = f"s per {unit.removesuffix('s')}"
    yield from _far(timed, "pace", name, "epoch_time_outlier", pl.lit(value=True), keys)


def _far(
    runs: pl.DataFrame, column: str, name: str, code: str, beyond: pl.Expr, keys: Mapping[str, Any]
) -> Iterator[Finding]:
    """Name the runs whose value is far from those of the others."""
    values = runs[column].cast(pl.Float64).to_numpy()
    scored = runs.with_columns(
        pl.Series("far", outliers.outliers(values)), pl.Series("z", outliers.modified_z(values))
    )
    for row in scored.filter(pl.col("far") & beyond).select("source", "z", column).rows(named=True):
        message = (
            f"{row[column]:.4g} {name}, where the median of {runs.height} runs is "
            f"{np.median(values):.4g} (modified z-score {row['z']:+.1f})"
        )
        yield _finding(code, "info", message, keys, source=row["source"])


def _run_count(group: pl.DataFrame, keys: Mapping[str, Any]) -> Iterator[Finding]:
    suite, benchmark = keys["suite"], keys["benchmark"]
    if suite is None or benchmark is None:
        return
    rules = benchmarks.scoring(suite, benchmark, keys["round"], keys["division"])
    if rules is not None and group.height != rules.runs:
        message = f"{units.plural(group.height, 'run')}, where the rules want {rules.runs}"
        yield _finding("run_count", "warning", message, keys)


# ---------------------------------------------------------------------------------------- showing


def _counts(found: Sequence[Finding]) -> Table:
    counts = Counter((finding["severity"], finding["code"]) for finding in found)
    files = {
        code: len({f["source"] for f in found if f["code"] == code} - {None}) for _, code in counts
    }
    rows = tuple(
        Row((Text(code), Text(severity), Quantity(number, "count"), Quantity(files[code], "count")))
        for (severity, code), number in counts.items()
    )
    words, numbers = ("code", "severity"), ("problems", "files")
    columns = (*map(Column, words), *(Column(name, "right") for name in numbers))
    return Table(columns, rows)


def _listings(found: Sequence[Finding], *, whole: bool) -> Iterator[Table]:
    """Give a table for each code: where, and what."""
    for code in dict.fromkeys(finding["code"] for finding in found):
        same = [finding for finding in found if finding["code"] == code]
        shown = same if whole else same[:_SHOWN]
        rows = [Row((Text(_where(finding)), Text(finding["message"]))) for finding in shown]
        more = f", {_SHOWN} of {len(same):,}" if len(shown) < len(same) else ""
        columns = (Column("where", names=True), Column("what"))
        yield Table(columns, tuple(rows), f"{code}{more}")


def _where(finding: Finding) -> str:
    if finding["source"] is None:
        names = (finding[name] for name in ("round", "benchmark", "entry"))
        return " ".join(name for name in names if name is not None)
    line = "" if finding["line"] is None else f":{finding['line']}"
    return f"{finding['source']}{line}"


def _notes(found: Sequence[Finding], left_out: int) -> Iterator[Note]:
    if any(finding["code"].endswith("_outlier") for finding in found):
        yield Note("outliers", _RULE)
    counts = Counter(finding["code"] for finding in found)
    if len(counts) > 1 and max(counts.values()) > _SHOWN:
        yield Note("more", "--code CODE shows all of one code; --format csv or json, all of all.")
    if left_out:
        text = (
            f"{units.plural(left_out, 'problem')} of files without a run left out: nobody knows "
            "whether they would meet the conditions."
        )
        yield Note("left_out", text)


_RULE = (
    f"outliers are runs of one entry with at least {outliers.LEAST} whose logarithm has a modified "
    f"z-score beyond {outliers.LIMIT}, {outliers.LEAST_AWAY:.0%} or more from the median and, in "
    "epochs, more than one evaluation interval."
)
