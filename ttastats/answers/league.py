"""Who leads among entries of one benchmark, division and size, and is that chance?

Ranks are those of the mean time, of a failed run the expected one. What tells entries apart is what
`compare` would say of them, adjusted for all pairs of one league. An entry then ranks behind those
shown to be faster and before those shown to be slower: all these intervals hold at once, at the
confidence of the pairs (Al Mohamad, Goeman and van Zwet 2022). What `compare` would say only with a
condition narrows no interval: that order is shown beside, with its mark.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import islice

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import astuple, replace

from ttastats.answers.summary import SummaryRow
from ttastats.base import percentages, units
from ttastats.outcomes import aims
from ttastats.outcomes.axis import AXES
from ttastats.report.answer import Report
from ttastats.report.grouping import BENCHMARK, row_names, sort_key
from ttastats.report.row import expect_kind
from ttastats.sides.findings import condition_text
from ttastats.sides.numbers import SideNumbers, briefs
from ttastats.sides.order import Order, order
from ttastats.stats.decision import MARKS
from ttastats.stats.means import RUNS_FOR_INTERVAL
from ttastats.stats.moments import two_sided_t
from ttastats.stats.outcomes import time_term
from ttastats.stats.results import Bools

#: Entries a league shows; of more, the fastest.
MOST = 40

#: The most lanes of ties beside each other; further ties stand in words.
LANES = 5

#: The first and the last of a stretch of ranks.
Stretch = tuple[int, int]


class Rank(Struct, frozen=True):
    """The rank of an entry by its mean, from 1, and the first and the last it may have."""

    rank: int
    first: int
    last: int


class Kind(Struct, frozen=True):
    """By which rules and on how much entries ran; None where unknown or where their runs differ."""

    division: str | None
    accelerators: int | None
    nodes: int | None


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
    """The entries of one benchmark, division and size, fastest first, with their ranks.

    `name` is the benchmark, with the division where there are several; `size` tells a league from
    others of that name. `ranks` are None where nobody reached the target. `order` says which are
    shown to be faster than which, `ties` stretches of ranks that cannot be told apart, `open_ties`
    those that cannot even if every condition is true; `left_out` counts slower entries, and
    `labels` names all.
    """

    name: str
    benchmark: str | None
    kind: Kind
    size: str | None
    entries: tuple[Entry, ...]
    ranks: tuple[Rank | None, ...]
    order: Order
    ties: tuple[Stretch, ...]
    open_ties: tuple[Stretch, ...]
    left_out: int
    confidence: float
    labels: frozenset[str]

    @property
    def title(self) -> str:
        """Return benchmark, division and size in words."""
        kind = self.kind
        division = f"{kind.division} division" if kind.division else ""
        division = "" if self.name.endswith(f" {kind.division}") else division
        return ", ".join(filter(None, (self.name, division, self.size_text)))

    @property
    def size_text(self) -> str:
        """Return the size in words: `16 accelerators on 2 nodes`."""
        size = ((self.kind.accelerators, "accelerator"), (self.kind.nodes, "node"))
        return " on ".join(units.plural(n, noun) for n, noun in size if n is not None)

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

    @property
    def leads_if(self) -> tuple[str, ...]:
        """Return the conditions for one entry to be faster than each other, if any."""
        rivals = self.rivals(0)
        return self.conditions(0) if rivals and rivals == self.conditional_rivals(0) else ()

    def rivals(self, index: int) -> tuple[int, ...]:
        """Return the ranks, from 1, inseparable from that of an entry."""
        return _rivals(self.order.faster, index)

    def conditional_rivals(self, index: int) -> tuple[int, ...]:
        """Return the rivals with a conditional claim against them."""
        even_so = _rivals(self.order.conditional, index)
        return tuple(rank for rank in self.rivals(index) if rank not in even_so)

    def conditions(self, index: int | None = None) -> tuple[str, ...]:
        """Return the codes of the conditions of claims, about one entry or about any."""
        codes_of_claims = (
            code
            for pair, codes in self.order.conditions.items()
            if index is None or index in pair
            for code in codes
        )
        return tuple(sorted(dict.fromkeys(codes_of_claims), key=lambda code: code not in MARKS))

    def lanes(self, ties: Sequence[Stretch]) -> list[tuple[str, ...]]:
        """Return each entry's part of the brackets beside it: `from`, `on`, `to` or ``."""
        lanes: list[list[str]] = []
        for first, last in ties:
            lane = next((lane for lane in lanes if not any(lane[first - 1 : last])), None)
            if lane is None:
                lane = [""] * len(self.entries)
                lanes.append(lane)
            lane[first - 1 : last] = ["from", *["on"] * (last - first - 1), "to"]
        return list(zip(*lanes[:LANES], strict=True)) or [()] * len(self.entries)


def _rivals(faster: Bools, index: int) -> tuple[int, ...]:
    is_tied = ~(faster[index] | faster[:, index])
    return tuple(n + 1 for n in np.flatnonzero(is_tied).tolist() if n != index)


def leagues(report: Report, confidence: float, most: int | None = MOST) -> tuple[League, ...]:
    """Return the leagues of a summary, by benchmark and division, the smallest size first.

    Of more than `most` entries the fastest are judged; None judges all.
    """
    rows = expect_kind(report.records, SummaryRow)
    names = row_names(rows, BENCHMARK)
    labels = row_names(rows, [name for name in report.by if name not in BENCHMARK])
    kinds = _kinds(report.groups)
    divisions = {kind.division for kind in kinds}
    by_kind: dict[tuple[str, Kind], list[_EntryRuns]] = {}
    for name, label, row, runs, kind in zip(names, labels, rows, report.groups, kinds, strict=True):
        if len(divisions) > 1 and kind.division:
            name = f"{name} {kind.division}"
        by_kind.setdefault((name, kind), []).append((row, runs, label))
    sorted_keys = sorted(by_kind, key=lambda key: sort_key(key[0], *astuple(key[1])))
    size_counts = Counter((name, kind.accelerators) for name, kind in sorted_keys)

    def sort_key_of(entry: _EntryRuns) -> tuple[bool, float, float]:
        """Return the order by the mean, and without one behind, by the successes."""
        row = entry[0]
        if (mean := _row_mean(row)) is not None:
            return False, mean, 0.0
        return True, -row.reached / row.n, row.tta_mean_seconds or math.inf

    entry_lists = [sorted(by_kind[key], key=sort_key_of) for key in sorted_keys]
    sides = iter(briefs([runs for entries in entry_lists for _, runs, _ in entries[:most]]))
    return tuple(
        _make_league(
            name, kind, entries, list(islice(sides, len(entries[:most]))), confidence,
            by_nodes=size_counts[name, kind.accelerators] > 1,
        )
        for (name, kind), entries in zip(sorted_keys, entry_lists, strict=True)
    )  # fmt: skip


def _kinds(groups: Sequence[pl.DataFrame]) -> list[Kind]:
    """Return division and size of each group of runs, None where unknown or different."""
    if not groups:
        return []
    group_numbers = np.repeat(np.arange(len(groups)), [group.height for group in groups])
    runs = pl.concat(group.select(Kind.__struct_fields__) for group in groups).with_columns(
        pl.col("division").str.to_lowercase(), group=pl.Series(group_numbers)
    )
    common_values = (
        pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name)
        for name in Kind.__struct_fields__
    )
    kinds = runs.group_by("group", maintain_order=True).agg(*common_values)
    return [Kind(*row) for row in kinds.select(Kind.__struct_fields__).iter_rows()]


#: The row, the runs and the label of an entry.
_EntryRuns = tuple[SummaryRow, pl.DataFrame, str]


def _make_league(
    name: str,
    kind: Kind,
    listed: Sequence[_EntryRuns],
    sides: Sequence[SideNumbers],
    confidence: float,
    *,
    by_nodes: bool,
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
        entries.append(Entry(row, runs, side, label, kind.accelerators, mean, low, high))
    pairs = order(sides, confidence, AXES[entries[0].row.axis])
    size = None if kind.accelerators is None else str(kind.accelerators)
    if (by_nodes or size is None) and kind.nodes is not None:
        size = " on ".join(filter(None, (size, units.plural(kind.nodes, "node"))))
    league = League(
        name=name,
        benchmark=entries[0].row.keys["benchmark"],
        kind=kind,
        size=size,
        entries=tuple(entries),
        ranks=ranks(pairs.faster),
        order=pairs,
        ties=ties(pairs.faster),
        open_ties=ties(pairs.conditional) if pairs.conditions else (),
        left_out=len(listed) - len(entries),
        confidence=confidence,
        labels=frozenset(label for _, _, label in listed),
    )
    if not league.n_reached:
        return replace(league, ranks=(None,) * len(entries), ties=())
    return league if league.testable else replace(league, ties=())


def _row_mean(row: SummaryRow) -> float | None:
    """Return the mean of a row, failed runs paid for, or None."""
    mean = row.tta_mean_seconds if row.reached == row.n else row.ert_seconds
    return None if mean is None or math.isinf(mean) else mean


def ranks(faster_pairs: Bools) -> tuple[Rank, ...]:
    """Return the range of ranks of each entry, in the order of their means."""
    faster_than, slower_than = faster_pairs.sum(axis=0).tolist(), faster_pairs.sum(axis=1).tolist()
    return tuple(
        Rank(index + 1, faster + 1, len(faster_pairs) - slower)
        for index, (faster, slower) in enumerate(zip(faster_than, slower_than, strict=True))
    )


def ties(faster_pairs: Bools) -> tuple[Stretch, ...]:
    """Return the longest stretches of inseparable ranks.

    They may overlap: 1 is told apart from 3, and 2 from neither.
    """
    is_separable = faster_pairs | faster_pairs.T
    stretches: list[Stretch] = []
    start = 0
    for end in range(len(faster_pairs)):
        start += int(np.flatnonzero(is_separable[start:end, end]).max(initial=-1)) + 1
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
    league_names = {league.name for league in leagues}
    names = {label for league in leagues for label in league.labels}
    entries = units.plural(len(names), "entry", "entries")
    of = f"{len(benchmarks)} benchmarks" if len(benchmarks) > 1 else benchmarks[0]
    text = f"{entries} of {of}"
    if results > len(names):
        text = f"{entries} with {results:,} results on {of}"
    if not any(league.n_reached for league in leagues):
        entry_runs = [entry.runs for league in leagues for entry in league.entries]
        return f"{text}: {advice_text(entry_runs) or 'no run reached the target'}"
    if all(len(league.entries) == 1 for league in leagues):
        return f"{text}, each alone in its size class"
    testable = [league for league in leagues if league.testable]
    if not testable:
        return f"{text}: too few runs of each to tell an order from chance"
    leaders = sum(league.has_leader for league in testable)
    kinds = (
        "size class/size classes" if len(leagues) > len(league_names) else "benchmark/benchmarks"
    )
    classes = units.plural(len(testable), *kinds.split("/"))
    has = "have" if leaders > 1 else "has"
    text = f"{text}: {leaders or 'none'} of {classes} {has} a clear winner"
    conditional_leads = [codes for league in testable if (codes := league.leads_if)]
    if not conditional_leads:
        return text
    conditions = dict.fromkeys(code for codes in conditional_leads for code in codes)
    number = f"{len(conditional_leads)} more" if leaders else str(len(conditional_leads))
    return f"{text}, in {number} only {condition_text([*conditions], ' or ')}"


def claim(league: League) -> str:
    """Return the leader of a league and its certainty, without a full stop."""
    first, *other_entries = league.entries
    on = f" on {league.name}" if league.benchmark else ""
    if first.mean is None:
        if text := advice_text([entry.runs for entry in league.entries]):
            return f"{text} ({league.name})" if on else text
        n = units.plural(sum(entry.side.n for entry in league.entries), "run")
        return f"{league.n_reached or 'None'} of {n}{on} reached the target"
    axis = AXES[first.row.axis]
    time = units.amount(first.mean, axis.unit)
    if not other_entries:
        return f"{first.label} {axis.takes} {time}{on}"
    text = f"{first.label} is first of {len(league.entries) + league.left_out}{on}: {time}"
    if not league.testable:
        return f"{text}, of too few runs to tell from chance"
    if league.has_leader:
        return f"{text}, and shown to {'be' if axis.does == 'is' else 'need'} the {axis.best}"
    if codes := league.leads_if:
        return f"{text}, and {axis.does} the {axis.best} {condition_text(codes)}"
    return f"{text}, {not_separable(league, 0)}"


def advice_text(runs: Sequence[pl.DataFrame]) -> str:
    """Return the advice on runs without any target, without a full stop, or an empty text."""
    text = aims.advice(*runs).text if aims.lack_target(*runs) else ""
    return (text[:1].upper() + text[1:]).removesuffix(".")


def not_separable(league: League, index: int) -> str:
    """Return the ranks inseparable from that of an entry in words."""
    rivals, conditional_rivals = league.rivals(index), league.conditional_rivals(index)
    if not rivals:
        return "told apart from every other rank"
    even_so = [rank for rank in rivals if rank not in conditional_rivals]
    texts = [f"not told apart from {_ranks_text(even_so)}"] if even_so else []
    if conditional_rivals:
        is_all = len(conditional_rivals) == len(league.entries) - 1
        ranks_text = "every other rank" if is_all else _ranks_text(conditional_rivals)
        condition = condition_text(league.conditions(index))
        texts.append(f"told apart from {ranks_text} only {condition}")
    return ", ".join(texts)


def _ranks_text(ranks: Sequence[int]) -> str:
    """Return ranks in words: `ranks 2 to 4, 7`."""
    spans: list[list[int]] = []
    for number in ranks:
        if spans and spans[-1][-1] == number - 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    spans_text = ", ".join(" to ".join(map(str, ends)) for ends in spans)
    return f"{'ranks' if len(ranks) > 1 else 'rank'} {spans_text}"


def ties_text(league: League) -> str:
    """Return the inseparable ranks in words, and the statistics behind them."""
    count = len(league.entries)
    if count == 1 or not league.n_reached:
        return ""
    if not league.testable:
        return "Too few runs of each to tell any ranks apart."
    pairs = units.plural(count * (count - 1) // 2, "pair")
    method = (
        f"{percentages.percent_text(league.confidence)}, as `compare` judges, by Holm over {pairs}"
    )
    if not league.ties:
        return f"All ranks are told apart ({method})."
    text = f"Ranks that cannot be told apart: {_spans_text(league.ties)} ({method})."
    if codes := league.conditions():
        separable_ties = f"all but {_spans_text(league.open_ties)}" if league.open_ties else "all"
        text += f" Told apart {condition_text(codes)}: {separable_ties}."
    return text


def _spans_text(ties: Sequence[Stretch]) -> str:
    return "; ".join(f"{a} {'and' if b == a + 1 else 'to'} {b}" for a, b in ties)


def hardware(entry: Entry) -> str:
    """Return the hardware of an entry: `8× NVIDIA H200`, as far as its runs agree."""
    names = {name: None for name in entry.runs["hardware"].to_list() if name is not None}
    words = ", ".join(names) if len(names) < 3 else f"{len(names)} kinds of hardware"
    if entry.accelerators is None:
        return words
    return f"{entry.accelerators}× {words}" if words else f"{entry.accelerators} accelerators"
