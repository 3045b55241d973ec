"""What was wrong with the logs of a table, and which of its runs need a second look?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from ttastats.answers import anomalies
from ttastats.answers.anomalies import Finding
from ttastats.base import nearest
from ttastats.base.errors import TtastatsError
from ttastats.base.note import Note, note
from ttastats.base.records import Problem
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Quantity, Table, Text
from ttastats.report.grouping import ENTRY

_SEVERITIES = ("error", "warning", "info")
#: Problems of a code that are shown before the rest is only counted; one code alone is shown whole.
_SHOWN = 5


def report(
    problems: Sequence[Problem],
    runs: pl.DataFrame,
    every: pl.DataFrame,
    rows: pl.LazyFrame,
    codes: Sequence[str] = (),
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
    rows
        The tidy table of all runs.
    codes
        Show these alone.
    """
    own, left_out = _of_chosen(list(dict.fromkeys(problems)), runs, every)
    silent = {problem.source for problem in own if problem.code == "no_evaluation"}
    found = [*_of_logs(own, runs), *anomalies.findings(runs, rows, silent)]
    found.sort(key=_place)
    chosen = _of_codes(found, codes)
    tables = (_counts(chosen), *_listings(chosen, whole=bool(codes))) if chosen else ()
    close = "" if chosen else "No problems found."
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
                f"unknown problem code {code!r}",
                where="--code",
                remedy=nearest.among(code, sorted(known), "Known codes") if known else None,
            )
    return [finding for finding in found if not codes or finding["code"] in codes]


# ---------------------------------------------------------------------------------------- finding


def _of_logs(problems: Sequence[Problem], runs: pl.DataFrame) -> Iterator[Finding]:
    first = runs.select("source", *ENTRY).unique("source", keep="first")
    heads = {row["source"]: row for row in first.iter_rows(named=True)}
    for one in problems:
        about = heads.get(one.source or "", {})
        yield anomalies.finding(
            one.code, one.severity, one.message, about, source=one.source, line=one.line
        )


# ---------------------------------------------------------------------------------------- showing


def _counts(found: Sequence[Finding]) -> Table:
    counts = Counter((finding["severity"], finding["code"]) for finding in found)
    files = {
        code: len({f["source"] for f in found if f["code"] == code} - {None}) for _, code in counts
    }
    rows = tuple(
        Line(
            (Text(code), Text(severity), Quantity(number, "count"), Quantity(files[code], "count"))
        )
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
        rows = [Line((Text(_where(finding)), Text(finding["message"]))) for finding in shown]
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
    counts = Counter(finding["code"] for finding in found)
    yield from anomalies.rules(counts)
    if len(counts) > 1 and max(counts.values()) > _SHOWN:
        yield note("more.problems")
    if left_out:
        yield note("left_out", n=left_out)
