"""Who leads among entries of one benchmark and one number of accelerators, and is that chance?

Ranks are those of the mean time, of a failed run the expected one. What tells entries apart is what
`compare` would say of them, adjusted for all pairs of one league.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import polars as pl

from ttastats.answers.ranks import Pair, Rank, ranks, ties
from ttastats.answers.summary import SummaryRow
from ttastats.base import percentages, units
from ttastats.outcomes.axis import AXES
from ttastats.report.answer import Report
from ttastats.report.grouping import BENCHMARK, row_names
from ttastats.report.row import of_kind
from ttastats.sides.comparison import measured
from ttastats.sides.contrast import Contrast, judged
from ttastats.sides.numbers import SideNumbers, brief
from ttastats.sides.options import Options
from ttastats.stats.outcomes import time_term
from ttastats.stats.quantiles import two_sided_t
from ttastats.stats.sample import RUNS_FOR_INTERVAL, mean_interval
from ttastats.stats.verdict import Verdict

#: Entries a league shows; of more, the fastest.
MOST = 40


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One entry of a league: its row for programs, its runs, and what they come to.

    `mean` is that of the row, with failed runs paid for, and its interval; `accelerator_seconds`
    is what a success takes, of time alone.
    """

    row: SummaryRow
    runs: pl.DataFrame
    side: SideNumbers
    label: str
    accelerators: int | None
    mean: float | None
    low: float | None
    high: float | None

    @property
    def accelerator_seconds(self) -> float | None:
        """Return mean times accelerators, where it is time that is counted."""
        if self.mean is None or not self.accelerators or AXES[self.row.axis].unit != "seconds":
            return None
        return self.mean * self.accelerators


@dataclass(frozen=True, slots=True, eq=False)
class League:
    """The entries of one benchmark and size, fastest first, with the ranks each may have.

    `size` is the number of accelerators, None where it is not known or differs between runs.
    `ties` are stretches of ranks that cannot be told apart, `rivals` the ranks that cannot be told
    from the first; `left_out` counts slower entries, and `labels` names all.
    """

    name: str
    benchmark: str | None
    size: int | None
    entries: tuple[Entry, ...]
    ranks: tuple[Rank, ...]
    ties: tuple[Pair, ...]
    rivals: tuple[int, ...]
    left_out: int
    confidence: float
    labels: frozenset[str]

    @property
    def testable(self) -> bool:
        """Return whether any two entries have what a verdict needs."""
        return _testable(self.entries)

    @property
    def has_leader(self) -> bool:
        """Return whether one entry is shown to be faster than each of the others."""
        return len(self.entries) > 1 and not self.rivals


#: What is known of an entry before its league is cut to those it shows: row, runs and label.
_Told = tuple[SummaryRow, pl.DataFrame, str]


def leagues(report: Report, confidence: float = 0.95) -> tuple[League, ...]:
    """Return the leagues of a summary, benchmark by benchmark, the smallest size first."""
    rows = of_kind(report.records, SummaryRow)
    names = row_names(rows, BENCHMARK)
    labels = row_names(rows, [name for name in report.by if name not in BENCHMARK])
    found: dict[tuple[str, int | None], list[_Told]] = {}
    for name, label, row, runs in zip(names, labels, rows, report.groups, strict=True):
        found.setdefault((name, _size(runs)), []).append((row, runs, label))
    ordered = sorted(found, key=lambda one: (one[0], one[1] is None, one[1] or 0))
    return tuple(_league(key, found[key], confidence) for key in ordered)


def _size(runs: pl.DataFrame) -> int | None:
    sizes = runs.get_column("accelerators").unique()
    return sizes[0] if sizes.len() == 1 else None


def _entry(told: _Told, size: int | None, confidence: float) -> Entry:
    row, runs, label = told
    side = brief(runs)
    mean = _mean(row)
    low, high = (None, None) if mean is None else _interval(side, confidence)
    return Entry(row, runs, side, label, size, mean, low, high)


def _mean(row: SummaryRow) -> float | None:
    """Return the mean of a row, failed runs paid for; None without a success or a time of each."""
    mean = row.tta_mean_seconds if row.reached == row.n else row.ert_seconds
    return None if mean is None or math.isinf(mean) else mean


def _interval(side: SideNumbers, confidence: float) -> tuple[float | None, float | None]:
    """Return the interval of that mean, from 3 runs on."""
    if side.all_reached:
        known = mean_interval(side.times, confidence=confidence)
        return known.low, known.high
    term = time_term(side.outcomes)
    if term.variance is None or side.n < RUNS_FOR_INTERVAL:
        return None, None
    factor = math.exp(two_sided_t(term.df, confidence) * math.sqrt(term.variance))
    return term.estimate / factor, term.estimate * factor


def _league(key: tuple[str, int | None], entries: list[_Told], confidence: float) -> League:
    name, size = key
    fastest = sorted(entries, key=lambda told: _place(told[0]))[:MOST]
    shown = [_entry(told, size, confidence) for told in fastest]
    apart = decided([one.side for one in shown], confidence)
    return League(
        name=name,
        benchmark=shown[0].row.keys["benchmark"],
        size=size,
        entries=tuple(shown),
        ranks=ranks(len(shown), apart),
        ties=ties(len(shown), apart) if _testable(shown) else (),
        rivals=tuple(n + 1 for n in range(1, len(shown)) if (0, n) not in apart),
        left_out=len(entries) - len(shown),
        confidence=confidence,
        labels=frozenset(label for _, _, label in entries),
    )


def decided(sides: Sequence[SideNumbers], confidence: float) -> frozenset[Pair]:
    """Return the pairs of sides of which the first is shown to be faster, all judged together."""
    options = Options(confidence=confidence)
    pairs = list(combinations(range(len(sides)), 2))
    found = [measured(Contrast({}, sides[a], sides[b]), options, brief=True) for a, b in pairs]
    return frozenset(
        (a, b) if one.verdict.word is Verdict.SLOWER else (b, a)
        for (a, b), one in zip(pairs, judged(found, options), strict=True)
        if one.verdict.word.directed
    )


def _testable(entries: Sequence[Entry]) -> bool:
    return sum(one.side.n > 1 for one in entries) > 1


def _place(row: SummaryRow) -> tuple[bool, float, float]:
    """Order rows by their means; behind them those that have none, by their successes."""
    mean = _mean(row)
    if mean is not None:
        return False, mean, 0.0
    return True, -row.reached / row.n, row.tta_mean_seconds or math.inf


# ------------------------------------------------------------------------------------------- words


def headline(found: Sequence[League]) -> str:
    """Return what a summary comes to, in a sentence without its full stop."""
    if len(found) == 1:
        return claim(found[0])
    entries = sum(len(one.entries) + one.left_out for one in found)
    benchmarks = dict.fromkeys(one.name for one in found)
    of = f"{len(benchmarks)} benchmarks" if len(benchmarks) > 1 else next(iter(benchmarks))
    names = frozenset[str]().union(*(one.labels for one in found))
    said = f"{units.plural(len(names), 'entry', 'entries')} of {of}"
    if entries > len(names):
        said = f"{units.plural(len(names), 'entry', 'entries')} with {entries:,} results on {of}"
    if not any(entry.side.n_reached for one in found for entry in one.entries):
        return f"{said}: no run reached the target"
    if all(len(one.entries) == 1 for one in found):
        return f"{said}, each alone in its size class"
    testable = [one for one in found if one.testable]
    if not testable:
        return f"{said}: too few runs of each to tell an order from chance"
    leaders = sum(one.has_leader for one in testable)
    where = f"{leaders or 'any'} of {len(testable)}"
    if len(found) > len(benchmarks):
        where += f" size {'class' if len(testable) == 1 else 'classes'}"
    return f"{said}: {'one' if leaders else 'no'} entry is shown to be the fastest in {where}"


def claim(league: League) -> str:
    """Return who leads a league and how sure that is, in a sentence without its full stop."""
    first, *others = league.entries
    on = f" on {league.name}" if league.benchmark else ""
    if first.mean is None:
        reached = sum(one.side.n_reached for one in league.entries)
        n = units.plural(sum(one.side.n for one in league.entries), "run")
        return f"{reached or 'None'} of {n}{on} reached the target"
    time = units.amount(first.mean, AXES[first.row.axis].unit)
    if not others:
        return f"{first.label} takes {time}{on}"
    said = f"{first.label} is first of {len(league.entries) + league.left_out}{on}: {time}"
    if not league.testable:
        return f"{said}, of too few runs to tell from chance"
    if league.has_leader:
        return f"{said}, and shown to be the fastest"
    several = "ranks" if len(league.rivals) > 1 else "rank"
    return f"{said}, not told apart from {several} {_listed(league.rivals)}"


def tied(league: League) -> str:
    """Return which ranks cannot be told apart, and by which statistics."""
    count = len(league.entries)
    if not league.testable:
        return "Too few runs of each to tell any ranks apart." if count > 1 else ""
    pairs = units.plural(count * (count - 1) // 2, "pair")
    how = f"{percentages.text(league.confidence)}, as `compare` judges, by Holm over {pairs}"
    if not league.ties:
        return f"All ranks are told apart ({how})."
    listed = "; ".join(map(_span, league.ties))
    return f"Ranks that cannot be told apart: {listed} ({how})."


def _listed(numbers: Sequence[int]) -> str:
    """Return `2 to 4, 7`."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ", ".join(" to ".join(map(str, ends)) for ends in spans)


def _span(ends: Pair) -> str:
    first, last = ends
    return f"{first} and {last}" if last == first + 1 else f"{first} to {last}"


def hardware(entry: Entry) -> str:
    """Return what an entry ran on: `8× NVIDIA H200`, as far as its runs agree."""
    names = Counter(entry.runs.get_column("hardware").drop_nulls())
    words = ", ".join(names) if len(names) < 3 else f"{len(names)} kinds of hardware"
    if entry.accelerators is None:
        return words
    return f"{entry.accelerators}× {words}" if words else f"{entry.accelerators} accelerators"
