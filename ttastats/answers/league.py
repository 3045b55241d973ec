"""Who leads among entries of one benchmark and one number of accelerators, and is that chance?

Ranks are those of the mean time, of a failed run the expected one. What tells entries apart is what
`compare` would say of them, adjusted for all pairs of one league. An entry then ranks behind those
shown to be faster and before those shown to be slower: all these intervals hold at once, at the
confidence of the pairs (Al Mohamad, Goeman and van Zwet 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.qualities import QualityRow
from ttastats.answers.summary import SummaryRow
from ttastats.base import percentages, units
from ttastats.base.units import digits_for
from ttastats.outcomes import aims
from ttastats.outcomes.axis import AXES
from ttastats.report.answer import Report
from ttastats.report.cells import Conclusion
from ttastats.report.grouping import BENCHMARK, row_names
from ttastats.report.row import expect_kind
from ttastats.sides.comparison import faster
from ttastats.sides.numbers import SideNumbers, briefs
from ttastats.stats.means import RUNS_FOR_INTERVAL
from ttastats.stats.moments import two_sided_t
from ttastats.stats.outcomes import time_term
from ttastats.stats.results import Bools

#: Entries a league shows; of more, the fastest.
MOST = 40

#: Lanes of ties beside each other; more are said in words.
LANES = 5

#: The first and the last of a stretch of ranks.
Stretch = tuple[int, int]


class Rank(Struct, frozen=True):
    """The rank of an entry by its mean, from 1, and the first and the last it may have."""

    rank: int
    first: int
    last: int


class Entry(Struct, frozen=True, eq=False):
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
        """Return mean time times accelerators, or None on another axis."""
        if self.mean is None or not self.accelerators or AXES[self.row.axis].unit != "seconds":
            return None
        return self.mean * self.accelerators


class League(Struct, frozen=True, eq=False):
    """The entries of one benchmark and size, fastest first, with the ranks each may have.

    `size` is the number of accelerators, None where it is not known or differs between runs.
    `apart` says which are shown to be faster than which, shape (entries, entries), `ties` stretches
    of ranks that cannot be told apart; `left_out` counts slower entries, and `labels` names all.
    """

    name: str
    benchmark: str | None
    size: int | None
    entries: tuple[Entry, ...]
    ranks: tuple[Rank, ...]
    apart: Bools
    ties: tuple[Stretch, ...]
    left_out: int
    confidence: float
    labels: frozenset[str]

    @property
    def title(self) -> str:
        """Return benchmark and size in words."""
        size = "" if self.size is None else units.plural(self.size, "accelerator")
        return ", ".join(filter(None, (self.name, size)))

    @property
    def testable(self) -> bool:
        """Return whether any two entries have enough runs for a verdict."""
        return sum(entry.side.n > 1 for entry in self.entries) > 1

    @property
    def n_reached(self) -> int:
        """Return the runs of all entries that reached the target."""
        return sum(entry.side.n_reached for entry in self.entries)

    @property
    def has_leader(self) -> bool:
        """Return whether one entry is shown to be faster than each of the others."""
        return len(self.entries) > 1 and not self.rivals(0)

    def rivals(self, place: int) -> tuple[int, ...]:
        """Return the ranks, from 1, that cannot be told apart from that of an entry."""
        alike = ~(self.apart[place] | self.apart[:, place])
        return tuple(n + 1 for n in np.flatnonzero(alike).tolist() if n != place)

    def lanes(self) -> list[tuple[str, ...]]:
        """Return each entry's part of the tie brackets beside it: `from`, `on`, `to` or ``."""
        lanes: list[list[str]] = []
        for first, last in self.ties:
            lane = next((lane for lane in lanes if not any(lane[first - 1 : last])), None)
            if lane is None:
                lane = [""] * len(self.entries)
                lanes.append(lane)
            lane[first - 1 : last] = ["from", *["on"] * (last - first - 1), "to"]
        return list(zip(*lanes[:LANES], strict=True)) or [()] * len(self.entries)


def leagues(report: Report, confidence: float, most: int | None = MOST) -> tuple[League, ...]:
    """Return the leagues of a summary, by benchmark, the smallest size first.

    Of more than `most` entries the fastest are judged; None judges all.
    """
    rows = expect_kind(report.records, SummaryRow)
    names = row_names(rows, BENCHMARK)
    labels = row_names(rows, [name for name in report.by if name not in BENCHMARK])
    by_size: dict[tuple[str, int | None], list[_Listed]] = {}
    every = [runs.get_column("accelerators") for runs in report.groups]
    places = np.repeat(np.arange(len(every)), list(map(len, every)))
    number = pl.when(pl.col("size").n_unique() == 1).then(pl.first("size"))  # else they differ
    of_group = pl.DataFrame({"group": places, "size": pl.concat(every) if every else []})
    sizes = of_group.group_by("group", maintain_order=True).agg(number)["size"].to_list()
    for name, label, row, runs, size in zip(names, labels, rows, report.groups, sizes, strict=True):
        by_size.setdefault((name, size), []).append((row, runs, label))
    ordered = sorted(by_size, key=lambda key: (key[0], key[1] is None, key[1] or 0))

    def place(entry: _Listed) -> tuple[bool, float, float]:
        """Return the place by the mean; behind those that have one, by the successes."""
        row = entry[0]
        if (mean := _row_mean(row)) is not None:
            return False, mean, 0.0
        return True, -row.reached / row.n, row.tta_mean_seconds or math.inf

    listed = [sorted(by_size[key], key=place) for key in ordered]
    sides = iter(briefs([runs for some in listed for _, runs, _ in some[:most]]))
    return tuple(
        _make_league(*key, some, list(islice(sides, len(some[:most]))), confidence)
        for key, some in zip(ordered, listed, strict=True)
    )


#: The row, the runs and the label of an entry.
_Listed = tuple[SummaryRow, pl.DataFrame, str]


def _make_league(
    name: str,
    size: int | None,
    listed: Sequence[_Listed],
    sides: Sequence[SideNumbers],
    confidence: float,
) -> League:
    entries = []
    for (row, runs, label), side in zip(listed, sides, strict=False):  # of the fastest
        mean, low, high = _row_mean(row), row.tta_mean_seconds_low, row.tta_mean_seconds_high
        if not side.all_reached:
            low = high = None
        if mean is not None and not side.all_reached and side.n >= RUNS_FOR_INTERVAL:
            term = time_term(side.outcomes, "mean")
            if term.variance is not None:
                factor = math.exp(two_sided_t(term.df, confidence) * math.sqrt(term.variance))
                low, high = term.estimate / factor, term.estimate * factor
        entries.append(Entry(row, runs, side, label, size, mean, low, high))
    apart = faster(sides, confidence)
    league = League(
        name=name,
        benchmark=entries[0].row.keys["benchmark"],
        size=size,
        entries=tuple(entries),
        ranks=ranks(apart),
        apart=apart,
        ties=ties(apart),
        left_out=len(listed) - len(entries),
        confidence=confidence,
        labels=frozenset(label for _, _, label in listed),
    )
    return league if league.testable and league.n_reached else replace(league, ties=())


def _row_mean(row: SummaryRow) -> float | None:
    """Return the mean of a row, failed runs paid for, or None."""
    mean = row.tta_mean_seconds if row.reached == row.n else row.ert_seconds
    return None if mean is None or math.isinf(mean) else mean


def ranks(apart: Bools) -> tuple[Rank, ...]:
    """Return the range of ranks of each entry, in the order of their means."""
    faster_than, slower_than = apart.sum(axis=0).tolist(), apart.sum(axis=1).tolist()
    return tuple(
        Rank(place + 1, faster + 1, len(apart) - slower)
        for place, (faster, slower) in enumerate(zip(faster_than, slower_than, strict=True))
    )


def ties(apart: Bools) -> tuple[Stretch, ...]:
    """Return the longest stretches of ranks in which no two entries are told apart.

    They may overlap: 1 is told apart from 3, and 2 from neither.
    """
    unlike = apart | apart.T
    stretches: list[Stretch] = []
    start = 0
    for end in range(len(apart)):
        start += int(np.flatnonzero(unlike[start:end, end]).max(initial=-1)) + 1
        if end > start:
            if stretches and stretches[-1][0] == start + 1:
                stretches.pop()
            stretches.append((start + 1, end + 1))
    return tuple(stretches)


def headline(leagues: Sequence[League]) -> str:
    """Return the result of a summary in a sentence, without its full stop."""
    if not leagues:
        return "no entry has runs to rank"
    if len(leagues) == 1:
        return claim(leagues[0])
    results = sum(len(league.entries) + league.left_out for league in leagues)
    benchmarks = list(dict.fromkeys(league.benchmark or league.name for league in leagues))
    names_of = {league.name for league in leagues}
    names = {label for league in leagues for label in league.labels}
    entries = units.plural(len(names), "entry", "entries")
    of = f"{len(benchmarks)} benchmarks" if len(benchmarks) > 1 else benchmarks[0]
    text = f"{entries} of {of}"
    if results > len(names):
        text = f"{entries} with {results:,} results on {of}"
    if not any(league.n_reached for league in leagues):
        every = [entry.runs for league in leagues for entry in league.entries]
        return f"{text}: {advice_text(every) or 'no run reached the target'}"
    if all(len(league.entries) == 1 for league in leagues):
        return f"{text}, each alone in its size class"
    testable = [league for league in leagues if league.testable]
    if not testable:
        return f"{text}: too few runs of each to tell an order from chance"
    leaders = sum(league.has_leader for league in testable)
    where = f"{leaders or 'any'} of {len(testable)}"
    if len(leagues) > len(names_of):
        where += f" size {'class' if len(testable) == 1 else 'classes'}"
    return f"{text}: {'one' if leaders else 'no'} entry is shown to be the fastest in {where}"


def claim(league: League) -> str:
    """Return who leads a league and how sure that is, without a full stop."""
    first, *others = league.entries
    on = f" on {league.name}" if league.benchmark else ""
    if first.mean is None:
        if text := advice_text([entry.runs for entry in league.entries]):
            return f"{text} ({league.name})" if on else text
        n = units.plural(sum(entry.side.n for entry in league.entries), "run")
        return f"{league.n_reached or 'None'} of {n}{on} reached the target"
    time = units.amount(first.mean, AXES[first.row.axis].unit)
    if not others:
        return f"{first.label} takes {time}{on}"
    text = f"{first.label} is first of {len(league.entries) + league.left_out}{on}: {time}"
    if not league.testable:
        return f"{text}, of too few runs to tell from chance"
    if league.has_leader:
        return f"{text}, and shown to be the fastest"
    return f"{text}, {not_separable(league, 0)}"


def advice_text(runs: Sequence[pl.DataFrame]) -> str:
    """Return what to do about runs without any target, without a full stop, or an empty text."""
    text = aims.advice(*runs).text if aims.lack_target(*runs) else ""
    return (text[:1].upper() + text[1:]).removesuffix(".")


def not_separable(league: League, place: int) -> str:
    """Return which ranks cannot be told apart from that of an entry."""
    rivals = league.rivals(place)
    if not rivals:
        return "told apart from every other rank"
    spans: list[list[int]] = []  # 2 to 4, 7
    for number in rivals:
        if spans and spans[-1][-1] == number - 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    listed = ", ".join(" to ".join(map(str, ends)) for ends in spans)
    return f"not told apart from {'ranks' if len(rivals) > 1 else 'rank'} {listed}"


def ties_text(league: League) -> str:
    """Return which ranks cannot be told apart, and by which statistics."""
    count = len(league.entries)
    if count == 1 or not league.n_reached:
        return ""
    if not league.testable:
        return "Too few runs of each to tell any ranks apart."
    pairs = units.plural(count * (count - 1) // 2, "pair")
    how = (
        f"{percentages.percent_text(league.confidence)}, as `compare` judges, by Holm over {pairs}"
    )
    if not league.ties:
        return f"All ranks are told apart ({how})."
    spans = (f"{a} {'and' if b == a + 1 else 'to'} {b}" for a, b in league.ties)
    return f"Ranks that cannot be told apart: {'; '.join(spans)} ({how})."


def hardware(entry: Entry) -> str:
    """Return what an entry ran on: `8× NVIDIA H200`, as far as its runs agree."""
    names = {name: None for name in entry.runs["hardware"].to_list() if name is not None}
    words = ", ".join(names) if len(names) < 3 else f"{len(names)} kinds of hardware"
    if entry.accelerators is None:
        return words
    return f"{entry.accelerators}× {words}" if words else f"{entry.accelerators} accelerators"


def verdicts(report: Report) -> tuple[Conclusion, ...]:
    """Return a conclusion per benchmark, several rounds together, on which entry leads."""
    rows = [row for row in report.records if isinstance(row, QualityRow | SummaryRow)]
    labels = row_names(rows, [name for name in report.by if name not in BENCHMARK])
    by_benchmark: dict[str, list[tuple[str, QualityRow | SummaryRow]]] = {}
    for name, label, row in zip(row_names(rows, BENCHMARK), labels, rows, strict=True):
        by_benchmark.setdefault(name, []).append((label, row))
    advice = next((each.text for each in report.notes if each.code == "no_target"), "")
    names = sorted(by_benchmark)
    return tuple(_make_conclusion(name, by_benchmark[name], advice) for name in names)


def _make_conclusion(
    about: str, entries: Sequence[tuple[str, QualityRow | SummaryRow]], advice: str
) -> Conclusion:
    (_, first), *_ = entries
    count, benchmark = units.plural(len(entries), "entry", "entries"), first.keys["benchmark"]
    qualities = [(label, row) for label, row in entries if isinstance(row, QualityRow)
                 and row.quality_mean is not None]  # fmt: skip
    times = [(label, row, row.tta_mean_seconds) for label, row in entries
             if isinstance(row, SummaryRow) and row.tta_mean_seconds is not None]  # fmt: skip
    if qualities:
        (label, best), *others = qualities
        text = f"mean {best.metric or 'quality'} {best.at} {_mean_quality_text(best)}."
        leads = bool(others) and others[0][1].quality_mean != best.quality_mean
        text = f"{label} has the best {text}" if leads else f"{label}: {text}"
        more = f"The next, {others[0][0]}: {_mean_quality_text(others[0][1])}." if others else ""
        return Conclusion(about, count, text, more, benchmark)
    if not times:
        runs = units.plural(sum(row.n for _, row in entries), "run")
        text = f"None of {runs} reached the target."
        aimless = [row for _, row in entries if isinstance(row, SummaryRow) and row.is_aimless]
        text = advice[:1].upper() + advice[1:] if len(aimless) == len(entries) else text
        text = "No run has a value." if isinstance(first, QualityRow) else text
        return Conclusion(about, count, text, "", benchmark, "dim")
    (label, fastest, least), *_ = times
    text, more, axis = f": {_mean_time_text(fastest, least)}.", "", AXES[fastest.axis]
    equal = len(times) > 1 and times[1][2] == least
    if len(entries) > 1 and not equal:
        what = f"{'shortest mean' if axis.is_time else 'smallest'} {axis.to_target}"
        text = f" has the {what}{text}"
    if len(times) > 1:  # how far the second is behind, and what a summary cannot decide
        name, second, mean = times[1]
        ratio = mean / least
        factor = units.factor(ratio) if ratio < 10 else f"{ratio:.0f}×"
        many = "much" if axis.progress is None else "many"
        takes = f"takes {factor} as long" if axis.is_time else f"needs {factor} as {many}"
        more = f"The next, {name}, {takes}: {_mean_time_text(second, mean)}."
        spreads = [row.tta_std_seconds for row in (fastest, second)]
        if fastest.reached == second.reached == 1:
            more += " With one run each, chance cannot be excluded."
        elif mean - least < max((std for std in spreads if std is not None), default=-math.inf):
            more += (  # no test, a caution
                " That is less than the variation between runs of one entry, so the order may be "
                "due to chance."
            )
    return Conclusion(about, count, f"{label}{text}", more, benchmark)


def _mean_quality_text(row: QualityRow) -> str:
    digits = digits_for([], row.quality_sd, row.quality_mean)
    spread = "" if row.quality_sd is None else f"SD {digits.text(row.quality_sd)}, "
    mean = "" if row.quality_mean is None else digits.text(row.quality_mean)
    without = f", {row.missing} without a value" if row.missing else ""
    return f"{mean} ({spread}{units.plural(row.n, 'run')}{without})"


def _mean_time_text(row: SummaryRow, mean: float) -> str:
    unit = AXES[row.axis].unit
    parts = [] if row.cv is None else [f"CV {units.percent(row.cv)}"]
    single = row.reached == row.n == 1
    count = f"{row.reached} of {units.plural(row.n, 'run')} {AXES[row.axis].reached}"
    parts.append("one run" if single else count)
    text = f"{units.amount(mean, unit)} ({', '.join(parts)})"
    if row.reached < row.n and row.ert_seconds is not None:
        text += f", {units.amount(row.ert_seconds, unit)} counting failed runs"
    return text
