"""Is B better than A, by how much, why, and how sure? One row per benchmark (Table 7, beyond).

Times to a target are compared, or qualities at a budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, repeat
from typing import Any

import polars as pl
from msgspec import Struct, structs
from msgspec.structs import replace

from ttastats.answers.compare import cells, clocks, headline, notes, rows, same, sentences
from ttastats.answers.compare.rows import Shown, Times, TimesRow
from ttastats.answers.compare.step_factors import explain_throughput
from ttastats.answers.qualities import short_notes
from ttastats.base import units
from ttastats.base.codes import Note, note
from ttastats.base.errors import raise_if
from ttastats.outcomes import axis as axes
from ttastats.outcomes.axis import Axis
from ttastats.outcomes.budget import Budget
from ttastats.outcomes.target import asked
from ttastats.report import fields, grouping
from ttastats.report.answer import Against, Report
from ttastats.report.cells import Cell, Column, Lead, Line, Quantity, Table, Text
from ttastats.report.fields import Field
from ttastats.sides import blocking, comparison, quality_comparison, setups
from ttastats.sides.options import Options, View
from ttastats.sides.pairing import SAME_RUNS, Pairing, Side, pairings
from ttastats.sides.quality_comparison import OtherMetric
from ttastats.sides.question import Question
from ttastats.stats.multiplicity import MeanSpeedup, geometric_mean_speedup
from ttastats.stats.results import Verdict


class _Side(Struct, frozen=True):
    """One table that is held against the baseline; what is `shown` is named among its own rows.

    `prefix` is its label where there are several tables.
    """

    side: Side
    prefix: str
    pairing: Pairing
    shown: tuple[Shown[Any, Any], ...]
    mean: MeanSpeedup | None = None

    @property
    def about(self) -> tuple[str, str]:
        """Return the common keys of all rows, and the suite and round of both tables."""
        rows = [s.row for s in self.shown]
        return grouping.common_title(rows, self.pairing.by), self.pairing.shared

    @property
    def runs(self) -> list[pl.DataFrame]:
        """Return the runs of both sides of each row."""
        return [runs for s in self.shown for runs in (s.pair.a, s.pair.b)]

    @property
    def against(self) -> Against:
        """Return the rows of times with their runs and their mean."""
        outcomes = tuple((s.contrast.a.outcomes, s.contrast.b.outcomes) for s in self.shown)
        conditions = tuple(tuple(headline.conditions_of(s.contrast)) for s in self.shown)
        return Against(tuple(s.row for s in self.shown), outcomes, self.mean, conditions)

    def prefixed(self, text: str) -> str:
        """Return a text behind the label of the table where there are several."""
        return f"{self.prefix}: {text}" if self.prefix else text


def of_times(
    baseline: Side,
    others: Sequence[Side],
    what: Question,
    view: View | None = None,
    *,
    also: Sequence[str] = (),
    profiles: Sequence[pl.DataFrame] = (),
    block: Sequence[str] = (),
) -> Report:
    """Return the report that compares the times of one or more tables with a baseline.

    All p-values of a report are adjusted together. `also` names metrics to compare where the times
    of runs ended, `block` what tells the blocks within which runs are compared (`blocking`).
    `profiles` are rows of the two systems, where one comparison is made, and say why it came out
    so.
    """
    options, view = what.judgement, view or View()
    axis = axes.axis_of(baseline.runs)
    paired = blocking.within(pairings(baseline, others, what.by, pool=what.pool), block)
    if axis.is_time:
        paired = [clocks.examined(each, (baseline, side))
                  for side, each in zip(others, paired, strict=True)]  # fmt: skip
    together = [
        (baseline, side, pair)
        for side, each in zip(others, paired, strict=True)
        for pair in each.pairs
    ]
    compared = comparison.compare([pair for *_, pair in together], options)
    metrics = quality_comparison.other_metrics(together, also, options)
    row_of = partial(rows.of_times, options=options)
    both = zip(compared, metrics, strict=True)
    sides, shown = _split_by_table(others, paired, both, row_of, view, options)
    for number, each in enumerate(sides):
        ratios = [s.contrast.speedup.ratio for s in each.shown if s.contrast.speedup]
        # A mean over benchmarks has no plan of its own.
        if not options.max_runs and 2 <= len(ratios) == len(each.shown):
            mean = geometric_mean_speedup(ratios, confidence=options.confidence)
            sides[number] = replace(each, mean=mean)
    records, tables = [s.row for s in shown], _times_tables(baseline, sides, options, view, axis)
    below = [*_times_notes(baseline, sides, shown, options, block)]
    level = options.confidence
    listed = "listed with the table"
    targets = [asked(*each.runs, listed=listed) for each in sides]
    claims = view.margin_claims or options.margin != Options().margin
    leads = [
        headline.lead(each.against, [s.name for s in each.shown], target, level,
                      margin_claims=claims)
        for each, target in zip(sides, targets, strict=True)
    ]  # fmt: skip
    text = [sentences.also_text(shown)]
    if profiles:
        several = f"the profiles match {len(shown)} comparisons"
        remedy = "Select one comparison, for example with --where benchmark=resnet."
        raise_if(len(shown) > 1, several, "--profile-a", remedy)
        why = explain_throughput(shown[0].contrast, shown[0].pair, profiles, options.confidence)
        records = [structs.replace(records[0], factors=why.numbers())]
        tables += why.tables(options.confidence)
        below += why.notes
        text.append(why.sentence())
    more = " ".join(filter(None, text))
    if more:
        leads[-1] = replace(leads[-1], numbers=f"{leads[-1].numbers} {more}")
    return Report(
        "compare",
        tuple(records),
        tuple(tables),
        tuple(below),
        " ".join(lead.text for lead in leads),
        _unmatched_names(sides),
        by=grouping.row_keys(paired[0].by),
        against=tuple(each.against for each in sides),
        lead=() if view.same else tuple(leads),
        target=targets[0] if len(sides) == 1 else asked(*(x for each in sides for x in each.runs)),
    )


def _times_tables(
    baseline: Side, sides: Sequence[_Side], options: Options, view: View, axis: Axis
) -> list[Table]:
    """Return a table of times for each side."""
    tests = sum(s.row.p_adjusted is not None for each in sides for s in each.shown)
    columns, tables = cells.of_times(options, view, axis, tests), []
    ratio = "speedup = A/B" if axis.is_time else axis.ratio
    lines = partial(cells.cause_lines, dots=view.strips)
    for each in sides:
        about = (" ".join(filter(None, each.about)), each.pairing.apart)
        names = f"A = {baseline.label}   B = {each.side.label}   {ratio}: >1 means B"
        to = asked(*each.runs, head=True)
        head = (": ".join(filter(None, about)), to)
        title = "   ".join(filter(None, (*head, f"{names} {axis.fill(axis.better)}")))
        table = _side_table(each, columns, lines, title)
        if len(each.shown) == 1 == len(sides):
            (s,), labels = each.shown, (baseline.label, each.side.label)
            below = [*cells.single_lines(s, dots=view.strips), *sentences.also_lines(s.also)]
            below = [*grouping.append_line(below, s.pair.lost)]
            title = "   ".join(filter(None, head))
            table = replace(table, single=cells.sides_table(s, labels, below, title, view))
        tables.append(table)
    return tables


def _times_notes(
    baseline: Side,
    sides: Sequence[_Side],
    shown: Sequence[Times],
    options: Options,
    block: Sequence[str],
) -> Iterator[Note]:
    """Yield the notes on times: on the runs of each side, then on the comparisons."""
    for each in sides:
        names = [s.name for s in each.shown]
        yield from notes.fixed_length(baseline, each.side, each.pairing.pairs, names)
    yield from _side_notes(baseline, sides, block)
    for each in sides:
        yield from (remark.prefixed(each.prefix) for remark in each.pairing.remarks)
    unmatched = [*dict.fromkeys(group.text for each in sides for group in each.pairing.alone)]
    has_mean = any(each.mean is not None for each in sides)
    yield from notes.of_times(shown, options, unmatched, has_mean=has_mean)
    yield from sentences.also_notes([other for s in shown for other in s.also])


def of_qualities(
    baseline: Side,
    others: Sequence[Side],
    what: Question,
    budget: Budget,
    view: View | None = None,
    block: Sequence[str] = (),
) -> Report:
    """Return the report at a budget; what was spent is counted in the unit of the question."""
    options, view = what.judgement, view or View()
    margin = options.margin if view.margin_claims else None
    unit = axes.by_clock(what.unit, what.clock)
    paired = blocking.within(pairings(baseline, others, what.by, pool=what.pool), block)
    pairs = [pair for each in paired for pair in each.pairs]
    compared = quality_comparison.compare(pairs, budget, options, unit=unit, margin=margin)
    row_of = partial(rows.of_qualities, budget=budget)
    both = zip(compared, repeat(()), strict=False)
    sides, shown = _split_by_table(others, paired, both, row_of, view, options)
    text = [" ".join(filter(None, (f"{'' if s.name == grouping.ALONE else f'{s.name}, '}"
                                   f"{s.row.sentence}", sentences.cost_text(s.row))))
            for s in shown]  # fmt: skip
    columns, tables = cells.of_qualities(options, view), []
    for each in sides:
        metrics = {s.row.metric for s in each.shown}
        ways = {s.row.higher_is_better for s in each.shown}
        way = "" if len(ways) > 1 else f", {'higher' if ways == {True} else 'lower'} is better"
        metric = metrics.pop() if len(metrics) == 1 else None
        names = f"A = {baseline.label}   B = {each.side.label}"
        quality = f"{metric or 'quality'} {budget}{way}"
        title = "   ".join(filter(None, (*each.about, each.pairing.apart, quality, names)))
        keys = ("metric",) if len(metrics) > 1 else ()
        tables.append(_side_table(each, columns, cells.cost_lines, title, keys))
    records = tuple(s.row for s in shown)
    sentence = " ".join(text)
    word, tone = sentences.judgement(records) if records else ("", "plain")
    return Report(
        "compare",
        records,
        tuple(tables),
        (
            *_budget_notes(baseline, sides, budget),
            *notes.of_qualities(shown, budget, margin, options),
        ),
        sentence,
        _unmatched_names(sides),
        by=grouping.row_keys(paired[0].by),
        lead=(Lead(word, sentence, "", tone),) if records and not view.same else (),
    )


def _split_by_table(
    others: Sequence[Side],
    paired: Sequence[Pairing],
    compared: Iterable[tuple[Any, tuple[OtherMetric, ...]]],
    row_of: Callable[..., Any],
    view: View,
    options: Options,
) -> tuple[list[_Side], list[Shown[Any, Any]]]:
    """Return each table with its comparisons, and all comparisons with row names."""
    by, each = grouping.row_keys(paired[0].by), [*compared]  # keys are the same for all
    pairs = [pair for pairing in paired for pair in pairing.pairs]
    rows = [row_of(contrast, pair, by) for (contrast, _), pair in zip(each, pairs, strict=True)]
    tests = sum(row.p_adjusted is not None for row in rows)
    every = []
    for row, (contrast, also), pair in zip(rows, each, pairs, strict=True):
        if isinstance(row, TimesRow):
            why = sentences.why_undecided(row, tests, options.confidence, fdr=options.fdr)
            row = structs.replace(row, why=why, also=sentences.also_numbers(also))
        else:
            row = structs.replace(row, sentence=sentences.of_qualities(row, contrast, options))
        marked = view.margin_claims or row.word is not Verdict.UNDECIDED
        every.append(Shown(contrast, pair, row, "", also, marked))
    rest = iter(every)
    sides = [
        _Side(other, other.label if len(others) > 1 else "", pairing,
              tuple(_named([*islice(rest, len(pairing.pairs))], by)))
        for other, pairing in zip(others, paired, strict=True)
    ]  # fmt: skip
    if view.same:
        sessions = same.sessions(every, by, options.confidence)
        every = [replace(s, row=structs.replace(s.row, same=keys))
                 for s, keys in zip(every, sessions, strict=True)]  # fmt: skip
    return sides, _named(every, by)


def _named(shown: Sequence[Shown[Any, Any]], by: Sequence[str]) -> list[Shown[Any, Any]]:
    names = grouping.row_names([s.row for s in shown], by)
    return [replace(s, name=name) for s, name in zip(shown, names, strict=True)]


def _unmatched_names(sides: Sequence[_Side]) -> tuple[str, ...]:
    """Return the names of baseline groups that have no partner in a side."""
    return tuple(
        each.prefixed(group.name)
        for each in sides
        for group in each.pairing.alone
        if group.side == "a"
    )


#: Titles of keys on a narrow screen.
_NARROW = {"accelerators": "×", "hardware": "model"}


def _side_table(
    side: _Side,
    columns: Sequence[Field[Any]],
    lines: Callable[[Any], Iterator[str]],
    title: str,
    more: Sequence[str] = (),
) -> Table:
    """Return the table of one side; a setup in which the sides differ is shown for both."""
    names = (*grouping.shown_keys([s.row for s in side.shown], side.pairing.by), *more)

    def key(s: Shown[Any, Any], name: str) -> Text:
        if isinstance(s.row, TimesRow) and name in setups.COLUMNS and s.get(name) is None:
            return Text(
                f"{setups.values_text(s.pair.a, name)} | {setups.values_text(s.pair.b, name)}"
            )
        return fields.key_cell(name, s.row)

    every = [
        Field(
            Column(name, names=True, models=name == "hardware", narrow=_NARROW.get(name, "")),
            partial(key, name=name),
        )
        for name in names
    ]
    every += columns
    body = []
    for s in side.shown:
        below, row = [*lines(s)], s.row
        line = Line(tuple(each.cell(s) for each in every))
        if isinstance(row, TimesRow):
            said = row.word.decided or (row.why and row.word is Verdict.UNDECIDED)
            shown = bool(said) + (len(row.carried) > 1)
            more, below = tuple(below[shown:]), below[:shown]
            # Faster, slower, undecided, by size.
            size = abs(math.log(row.speedup)) if row.speedup else 0.0
            place = (list(Verdict).index(row.word), -size)
            aside = SAME_RUNS if row.claim == SAME_RUNS else ""
            line = replace(line, more=more, place=place, aside=aside)
        details = grouping.append_line([*below, *sentences.also_lines(s.also)], s.pair.lost)
        body.append(replace(line, details=details))
    if side.mean is not None:
        constant = any(s.contrast.speedup and s.contrast.speedup.unseen_epochs for s in side.shown)
        mark, mean = cells.CONSTANT if constant else "", side.mean
        of_all: list[Cell] = [Text("")] * len(every)
        of_all[0] = Text(f"geo-mean of {mean.n}")
        ratio = Quantity(mean.estimate, "ratio", mean.low, mean.high, mark=mark)
        of_all[len(names) + cells.RATIO] = ratio
        body.append(Line(tuple(of_all), of_all=True))
    return Table(tuple(each.column for each in every), tuple(body), title)


def _side_notes(baseline: Side, sides: Sequence[_Side], block: Sequence[str]) -> Iterable[Note]:
    """Yield notes on what varies inside the groups of each side, and on left-out runs."""
    keys = ("pair", *(name for name in block if name in baseline.runs.columns))
    a = baseline.label if len(sides) > 1 else "A"
    named = [(a, baseline, each.pairing.a, each) for each in sides]
    named += [(each.prefix or "B", each.side, each.pairing.b, each) for each in sides]
    return dict.fromkeys(
        remark.prefixed(label)
        for label, side, runs, each in named
        for remark in (
            *grouping.group_notes(runs, keys, [s.name for s in each.shown]),
            *grouping.set_aside_notes(side.runs),
        )
    )


def _budget_notes(baseline: Side, sides: Sequence[_Side], budget: Budget) -> Iterable[Note]:
    made: list[Note] = []
    for each in sides:
        b = (each.prefix or "B", each.side, each.pairing.b)
        for label, side, runs in (("A", baseline, each.pairing.a), b):
            made += short_notes(runs, budget, label)
            absent = (
                *grouping.left_out_notes(runs, ("pair",)),
                *grouping.set_aside_notes(side.runs),
            )
            made += [remark.prefixed(label) for remark in absent]
        made += each.pairing.remarks
    if unmatched := [group.text for each in sides for group in each.pairing.alone]:
        made.append(note("unmatched.qualities", names=units.join_names(unmatched, 6, "; ")))
    return dict.fromkeys(made)
