"""What was wrong with the logs of a table, and which of its runs need a second look?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from ttastats.answers import anomalies
from ttastats.answers.anomalies import ProblemRow
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
    """Return the report of what was found wrong, the gravest first.

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
    found = sorted([*_of_logs(own, runs), *anomalies.findings(runs, rows, silent)], key=_place)
    chosen = _of_codes(found, codes)
    tables = (_counts(chosen), *_listings(chosen, whole=bool(codes))) if chosen else ()
    close = "" if chosen else "No problems found."
    return Report("problems", tuple(chosen), tables, tuple(_notes(chosen, left_out)), close)


def _of_chosen(
    problems: list[Problem], runs: pl.DataFrame, every: pl.DataFrame
) -> tuple[list[Problem], int]:
    """Return the problems of the runs, and the number of those of files that have none."""
    if runs.height == every.height:
        return problems, 0
    chosen, known = set(runs["source"]), set(every["source"])
    own = [problem for problem in problems if problem.source in chosen]
    return own, sum(problem.source not in known for problem in problems)


def _place(problem: ProblemRow) -> tuple[Any, ...]:
    known = (problem.source or "", problem.line or 0, problem.entry or "")
    return (_SEVERITIES.index(problem.severity), problem.code, *known)


def _of_codes(found: list[ProblemRow], codes: Sequence[str]) -> list[ProblemRow]:
    known = {problem.code for problem in found}
    for code in codes:
        if code not in known:
            raise TtastatsError(
                f"unknown problem code {code!r}",
                where="--code",
                remedy=nearest.among(code, sorted(known), "Known codes") if known else None,
            )
    return [problem for problem in found if not codes or problem.code in codes]


def _of_logs(problems: Sequence[Problem], runs: pl.DataFrame) -> Iterator[ProblemRow]:
    first = runs.select("source", *ENTRY).unique("source", keep="first")
    heads = {row["source"]: row for row in first.iter_rows(named=True)}
    for one in problems:
        about = heads.get(one.source or "", {})
        yield anomalies.problem(
            one.code, one.severity, one.message, about, source=one.source, line=one.line
        )


def _counts(found: Sequence[ProblemRow]) -> Table:
    counts = Counter((problem.severity, problem.code) for problem in found)
    files = {
        code: len({each.source for each in found if each.code == code} - {None})
        for _, code in counts
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


def _listings(found: Sequence[ProblemRow], *, whole: bool) -> Iterator[Table]:
    """Return a table for each code: where, and what."""
    for code in dict.fromkeys(problem.code for problem in found):
        same = [problem for problem in found if problem.code == code]
        shown = same if whole else same[:_SHOWN]
        rows = [Line((Text(_where(problem)), Text(problem.message))) for problem in shown]
        more = f", {_SHOWN} of {len(same):,}" if len(shown) < len(same) else ""
        columns = (Column("where", names=True), Column("what"))
        yield Table(columns, tuple(rows), f"{code}{more}")


def _where(problem: ProblemRow) -> str:
    if problem.source is None:
        names = (problem.round, problem.benchmark, problem.entry)
        return " ".join(name for name in names if name is not None)
    line = "" if problem.line is None else f":{problem.line}"
    return f"{problem.source}{line}"


def _notes(found: Sequence[ProblemRow], left_out: int) -> Iterator[Note]:
    counts = Counter(problem.code for problem in found)
    yield from anomalies.rules(counts)
    if len(counts) > 1 and max(counts.values()) > _SHOWN:
        yield note("more.problems")
    if left_out:
        yield note("left_out", n=left_out)
