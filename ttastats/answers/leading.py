"""Which entry of each benchmark leads a summary, in a sentence a person would say?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from ttastats.answers.qualities import QualityRow
from ttastats.answers.summary import SummaryRow
from ttastats.base import units
from ttastats.base.units import digits_for
from ttastats.outcomes.axis import AXES
from ttastats.report.answer import Report
from ttastats.report.cells import Conclusion
from ttastats.report.grouping import BENCHMARK, row_names
from ttastats.report.row import R, expect_kind

#: Entries of one benchmark with their names.
_Entries = Sequence[tuple[str, R]]


def verdicts(report: Report) -> tuple[Conclusion, ...]:
    """Return a conclusion per benchmark on which entry leads."""
    if report.records and isinstance(report.records[0], QualityRow):
        rows = expect_kind(report.records, QualityRow)
        return tuple(
            _quality_conclusion(name, entries) for name, entries in _rows_by_benchmark(report, rows)
        )
    timed = expect_kind(report.records, SummaryRow)
    return tuple(
        _time_conclusion(name, entries) for name, entries in _rows_by_benchmark(report, timed)
    )


def _rows_by_benchmark(report: Report, rows: Sequence[R]) -> Iterator[tuple[str, _Entries[R]]]:
    """Yield the rows of each benchmark, several rounds together."""
    labels = row_names(rows, [name for name in report.by if name not in BENCHMARK])
    labelled = zip(row_names(rows, BENCHMARK), labels, rows, strict=True)
    for name, group in groupby(sorted(labelled, key=itemgetter(0)), key=itemgetter(0)):
        yield name, [(label, row) for _, label, row in group]


def _time_conclusion(about: str, entries: _Entries[SummaryRow]) -> Conclusion:
    timed = [
        (label, row, row.tta_mean_seconds)
        for label, row in entries
        if row.tta_mean_seconds is not None
    ]
    benchmark = entries[0][1].keys["benchmark"]
    count = units.plural(len(entries), "entry", "entries")
    if not timed:
        runs = sum(row.n for _, row in entries)
        text = f"None of {units.plural(runs, 'run')} reached the target."
        return Conclusion(about, count, text, "", benchmark, "dim")
    (label, best, mean), *others = timed
    if len(entries) == 1:
        return Conclusion(about, count, f"{label}: {_mean_time_text(best, mean)}.", "", benchmark)
    axis = AXES[best.axis]
    least = "shortest mean time-to-accuracy" if axis.is_time else f"smallest {axis.to_target}"
    text = f"{label} has the {least}: {_mean_time_text(best, mean)}."
    return Conclusion(about, count, text, _runner_up_text(timed) if others else "", benchmark)


def _quality_conclusion(about: str, entries: _Entries[QualityRow]) -> Conclusion:
    """Return the conclusion on entries with a mean quality at a budget."""
    known = [(label, row) for label, row in entries if row.quality_mean is not None]
    benchmark = entries[0][1].keys["benchmark"]
    count = units.plural(len(entries), "entry", "entries")
    if not known:
        return Conclusion(about, count, "No run has a value.", "", benchmark, "dim")
    (label, best), *others = known
    what = f"{best.metric or 'quality'} {best.at}"
    more = f"The next, {others[0][0]}: {_mean_quality_text(others[0][1])}." if others else ""
    text = f"mean {what} {_mean_quality_text(best)}."
    text = f"{label} has the best {text}" if others else f"{label}: {text}"
    return Conclusion(about, count, text, more, benchmark)


def _mean_quality_text(row: QualityRow) -> str:
    """Return a mean quality with its spread and number of runs."""
    digits = digits_for([], row.quality_sd, row.quality_mean)
    spread = "" if row.quality_sd is None else f"SD {digits.text(row.quality_sd)}, "
    mean = "" if row.quality_mean is None else digits.text(row.quality_mean)
    without = f", {row.missing} without a value" if row.missing else ""
    return f"{mean} ({spread}{units.plural(row.n, 'run')}{without})"


def _runner_up_text(timed: Sequence[tuple[str, SummaryRow, float]]) -> str:
    """Return how far the second entry is behind, and what a summary cannot decide."""
    (_, best, least), (label, second, mean), *_ = timed
    ratio = mean / least
    factor = units.factor(ratio) if ratio < 10 else f"{ratio:.0f}×"
    axis = AXES[best.axis]
    many = "much" if axis.progress is None else "many"
    takes = f"takes {factor} as long" if axis.is_time else f"needs {factor} as {many}"
    text = f"The next, {label}, {takes}: {_mean_time_text(second, mean)}."
    if best.reached == second.reached == 1:
        return f"{text} With one run each, chance cannot be excluded."
    spreads = [row.tta_std_seconds for row in (best, second) if row.tta_std_seconds is not None]
    if spreads and mean - least < max(spreads):  # no test, a caution
        text += (
            " That is less than the variation between runs of one entry, so the order may be "
            "due to chance."
        )
    return text


def _mean_time_text(row: SummaryRow, mean: float) -> str:
    """Return a mean time with its spread and number of runs."""
    unit = AXES[row.axis].unit
    parts = [] if row.cv is None else [f"CV {units.percent(row.cv)}"]
    single = row.reached == row.n == 1
    count = f"{row.reached} of {units.plural(row.n, 'run')} reached"
    parts.append("one run" if single else count)
    text = f"{units.amount(mean, unit)} ({', '.join(parts)})"
    if row.reached < row.n and row.ert_seconds is not None:
        text += f", {units.amount(row.ert_seconds, unit)} counting failed runs"
    return text
