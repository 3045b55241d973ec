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
from ttastats.answers.compare.rows import Result, Times, TimesRow
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


class _Opponent(Struct, frozen=True):
    """A table to compare with the baseline, and its `results`, named among its own rows.

    `prefix` is its label where there are several tables.
    """

    side: Side
    prefix: str
    pairing: Pairing
    results: tuple[Result[Any, Any], ...]
    mean: MeanSpeedup | None = None

    @property
    def about(self) -> tuple[str, str]:
        """Return the common keys of all rows, and the suite and round of both tables."""
        rows = [s.row for s in self.results]
        return grouping.common_title(rows, self.pairing.by), self.pairing.shared

    @property
    def runs(self) -> list[pl.DataFrame]:
        """Return the runs of both sides of each row."""
        return [runs for s in self.results for runs in (s.pair.a, s.pair.b)]

    @property
    def against(self) -> Against:
        """Return the rows of times with their runs and their mean."""
        outcomes = tuple((s.contrast.a.outcomes, s.contrast.b.outcomes) for s in self.results)
        conditions = tuple(tuple(headline.conditions_of(s.contrast)) for s in self.results)
        return Against(tuple(s.row for s in self.results), outcomes, self.mean, conditions)

    def prefixed(self, text: str) -> str:
        """Return a text behind the label of the table where there are several."""
        return f"{self.prefix}: {text}" if self.prefix else text


def times_report(
    baseline: Side,
    others: Sequence[Side],
    what: Question,
    view: View | None = None,
    *,
    also: Sequence[str] = (),
    profiles: Sequence[pl.DataFrame] = (),
    block: Sequence[str] = (),
) -> Report:
    """Return the report on the times of one or more tables against a baseline.

    All p-values of a report are adjusted together. `also` names metrics to compare where the times
    of runs ended, and `block` the columns of blocks (`blocking`). `profiles` are rows of the two
    systems, and explain the throughput of a single comparison.
    """
    options, view = what.judgement, view or View()
    axis = axes.axis_of(baseline.runs)
    paired = blocking.within(pairings(baseline, others, what.by, pool=what.pool), block)
    if axis.is_time:
        paired = [clocks.with_paces(pairing, (baseline, side))
                  for side, pairing in zip(others, paired, strict=True)]  # fmt: skip
    sides_and_pairs = [
        (baseline, side, pair)
        for side, pairing in zip(others, paired, strict=True)
        for pair in pairing.pairs
    ]
    contrasts = comparison.compare([pair for *_, pair in sides_and_pairs], options)
    metrics = quality_comparison.other_metrics(sides_and_pairs, also, options)
    row_of = partial(rows.times_row, options=options)
    contrasts_and_metrics = zip(contrasts, metrics, strict=True)
    opponents, results = _split_by_opponent(
        others, paired, contrasts_and_metrics, row_of, view, options
    )
    for number, opponent in enumerate(opponents):
        ratios = [s.contrast.speedup.ratio for s in opponent.results if s.contrast.speedup]
        # A mean over benchmarks has no plan of its own.
        if not options.max_runs and 2 <= len(ratios) == len(opponent.results):
            mean = geometric_mean_speedup(ratios, confidence=options.confidence)
            opponents[number] = replace(opponent, mean=mean)
    records = [s.row for s in results]
    tables = _times_tables(baseline, opponents, options, view, axis)
    footnotes = [*_times_notes(baseline, opponents, results, options, block)]
    level = options.confidence
    listed = "listed with the table"
    targets = [asked(*opponent.runs, listed=listed) for opponent in opponents]
    claims = view.margin_claims or options.margin != Options().margin
    leads = [
        headline.lead(opponent.against, [s.name for s in opponent.results], target, level,
                      margin_claims=claims)
        for opponent, target in zip(opponents, targets, strict=True)
    ]  # fmt: skip
    texts = [sentences.also_text(results)]
    runs = [runs for opponent in opponents for runs in opponent.runs]
    target = targets[0] if len(opponents) == 1 else asked(*runs)
    if profiles:
        problem = f"the profiles match {len(results)} comparisons"
        remedy = "Select one comparison, for example with --where benchmark=resnet."
        raise_if(len(results) > 1, problem, "--profile-a", remedy)
        explanation = explain_throughput(
            results[0].contrast, results[0].pair, profiles, options.confidence
        )
        records = [structs.replace(records[0], factors=explanation.numbers())]
        tables += explanation.tables(options.confidence)
        footnotes += explanation.notes
        texts.append(explanation.sentence())
    sentence = " ".join(filter(None, texts))
    if sentence:
        leads[-1] = replace(leads[-1], numbers=f"{leads[-1].numbers} {sentence}")
    return Report(
        "compare",
        tuple(records),
        tuple(tables),
        tuple(footnotes),
        " ".join(lead.text for lead in leads),
        _unmatched_names(opponents),
        by=grouping.row_keys(paired[0].by),
        against=tuple(opponent.against for opponent in opponents),
        lead=() if view.same else tuple(leads),
        target=target,
    )


def _times_tables(
    baseline: Side, opponents: Sequence[_Opponent], options: Options, view: View, axis: Axis
) -> list[Table]:
    """Return a table of times for each side."""
    tests = sum(s.row.p_adjusted is not None for opponent in opponents for s in opponent.results)
    columns, tables = cells.times_columns(options, view, axis, tests), []
    ratio = "speedup = A/B" if axis.is_time else axis.ratio
    lines = partial(cells.cause_lines, dots=view.strips)
    for opponent in opponents:
        titles = (" ".join(filter(None, opponent.about)), opponent.pairing.apart)
        names = f"A = {baseline.label}   B = {opponent.side.label}   {ratio}: >1 means B"
        to = asked(*opponent.runs, head=True)
        head = (": ".join(filter(None, titles)), to)
        title = "   ".join(filter(None, (*head, f"{names} {axis.fill(axis.better)}")))
        table = _side_table(opponent, columns, lines, title)
        if len(opponent.results) == 1 == len(opponents):
            (s,), labels = opponent.results, (baseline.label, opponent.side.label)
            details = [*cells.single_lines(s, dots=view.strips), *sentences.also_lines(s.also)]
            details = [*grouping.append_line(details, s.pair.lost)]
            title = "   ".join(filter(None, head))
            table = replace(table, single=cells.sides_table(s, labels, details, title, view))
        tables.append(table)
    return tables


def _times_notes(
    baseline: Side,
    opponents: Sequence[_Opponent],
    results: Sequence[Times],
    options: Options,
    block: Sequence[str],
) -> Iterator[Note]:
    """Yield the notes on times: on the runs of each side, then on the comparisons."""
    for opponent in opponents:
        names = [s.name for s in opponent.results]
        yield from notes.fixed_length(baseline, opponent.side, opponent.pairing.pairs, names)
    yield from _side_notes(baseline, opponents, block)
    for opponent in opponents:
        yield from (remark.prefixed(opponent.prefix) for remark in opponent.pairing.remarks)
    unmatched = [
        *dict.fromkeys(group.text for opponent in opponents for group in opponent.pairing.alone)
    ]
    has_mean = any(opponent.mean is not None for opponent in opponents)
    yield from notes.times_notes(results, options, unmatched, has_mean=has_mean)
    yield from sentences.also_notes([other for s in results for other in s.also])


def qualities_report(
    baseline: Side,
    others: Sequence[Side],
    what: Question,
    budget: Budget,
    view: View | None = None,
    block: Sequence[str] = (),
) -> Report:
    """Return the report on qualities at a budget, with costs in the unit of the question."""
    options, view = what.judgement, view or View()
    margin = options.margin if view.margin_claims else None
    unit = axes.by_clock(what.unit, what.clock)
    paired = blocking.within(pairings(baseline, others, what.by, pool=what.pool), block)
    pairs = [pair for pairing in paired for pair in pairing.pairs]
    contrasts = quality_comparison.compare(pairs, budget, options, unit=unit, margin=margin)
    row_of = partial(rows.qualities_row, budget=budget)
    contrasts_and_metrics = zip(contrasts, repeat(()), strict=False)
    opponents, results = _split_by_opponent(
        others, paired, contrasts_and_metrics, row_of, view, options
    )
    texts = [" ".join(filter(None, (f"{'' if s.name == grouping.ALONE else f'{s.name}, '}"
                                   f"{s.row.sentence}", sentences.cost_text(s.row))))
            for s in results]  # fmt: skip
    columns, tables = cells.qualities_columns(options, view), []
    for opponent in opponents:
        metrics = {s.row.metric for s in opponent.results}
        directions = {s.row.higher_is_better for s in opponent.results}
        direction = f", {'higher' if directions == {True} else 'lower'} is better"
        direction = "" if len(directions) > 1 else direction
        metric = metrics.pop() if len(metrics) == 1 else None
        names = f"A = {baseline.label}   B = {opponent.side.label}"
        quality = f"{metric or 'quality'} {budget}{direction}"
        title = "   ".join(filter(None, (*opponent.about, opponent.pairing.apart, quality, names)))
        keys = ("metric",) if len(metrics) > 1 else ()
        tables.append(_side_table(opponent, columns, cells.cost_lines, title, keys))
    records = tuple(s.row for s in results)
    sentence = " ".join(texts)
    word, tone = sentences.judgement(records) if records else ("", "plain")
    return Report(
        "compare",
        records,
        tuple(tables),
        (
            *_budget_notes(baseline, opponents, budget),
            *notes.qualities_notes(results, budget, margin, options),
        ),
        sentence,
        _unmatched_names(opponents),
        by=grouping.row_keys(paired[0].by),
        lead=(Lead(word, sentence, "", tone),) if records and not view.same else (),
    )


def _split_by_opponent(
    others: Sequence[Side],
    paired: Sequence[Pairing],
    contrasts: Iterable[tuple[Any, tuple[OtherMetric, ...]]],
    row_of: Callable[..., Any],
    view: View,
    options: Options,
) -> tuple[list[_Opponent], list[Result[Any, Any]]]:
    """Return each table with its comparisons, and all comparisons with row names."""
    by, contrast_list = grouping.row_keys(paired[0].by), [*contrasts]  # keys are the same for all
    pairs = [pair for pairing in paired for pair in pairing.pairs]
    rows = [
        row_of(contrast, pair, by) for (contrast, _), pair in zip(contrast_list, pairs, strict=True)
    ]
    tests = sum(row.p_adjusted is not None for row in rows)
    results = []
    for row, (contrast, also), pair in zip(rows, contrast_list, pairs, strict=True):
        if isinstance(row, TimesRow):
            reason = sentences.why_undecided(row, tests, options.confidence, fdr=options.fdr)
            row = structs.replace(row, why=reason, also=sentences.also_numbers(also))
        else:
            row = structs.replace(
                row, sentence=sentences.qualities_sentence(row, contrast, options)
            )
        marked = view.margin_claims or row.word is not Verdict.UNDECIDED
        results.append(Result(contrast, pair, row, "", also, marked))
    result_iterator = iter(results)
    opponents = [
        _Opponent(other, other.label if len(others) > 1 else "", pairing,
              tuple(_with_names([*islice(result_iterator, len(pairing.pairs))], by)))
        for other, pairing in zip(others, paired, strict=True)
    ]  # fmt: skip
    if view.same:
        sessions = same.sessions(results, by, options.confidence)
        results = [replace(s, row=structs.replace(s.row, same=keys))
                   for s, keys in zip(results, sessions, strict=True)]  # fmt: skip
    return opponents, _with_names(results, by)


def _with_names(results: Sequence[Result[Any, Any]], by: Sequence[str]) -> list[Result[Any, Any]]:
    names = grouping.row_names([s.row for s in results], by)
    return [replace(s, name=name) for s, name in zip(results, names, strict=True)]


def _unmatched_names(opponents: Sequence[_Opponent]) -> tuple[str, ...]:
    """Return the names of baseline groups without a partner."""
    return tuple(
        opponent.prefixed(group.name)
        for opponent in opponents
        for group in opponent.pairing.alone
        if group.side == "a"
    )


#: Titles of keys on a narrow screen.
_NARROW = {"accelerators": "×", "hardware": "model"}


def _side_table(
    opponent: _Opponent,
    columns: Sequence[Field[Any]],
    lines: Callable[[Any], Iterator[str]],
    title: str,
    extra_keys: Sequence[str] = (),
) -> Table:
    """Return the table of one side; a setup in which the sides differ is shown for both."""
    keys = grouping.shown_keys([s.row for s in opponent.results], opponent.pairing.by)
    names = (*keys, *extra_keys)

    def key(s: Result[Any, Any], name: str) -> Text:
        if isinstance(s.row, TimesRow) and name in setups.COLUMNS and s.get(name) is None:
            return Text(
                f"{setups.values_text(s.pair.a, name)} | {setups.values_text(s.pair.b, name)}"
            )
        return fields.key_cell(name, s.row)

    table_fields = [
        Field(
            Column(name, names=True, models=name == "hardware", narrow=_NARROW.get(name, "")),
            partial(key, name=name),
        )
        for name in names
    ]
    table_fields += columns
    body = []
    for s in opponent.results:
        texts, row = [*lines(s)], s.row
        line = Line(tuple(field.cell(s) for field in table_fields))
        if isinstance(row, TimesRow):
            has_reason = row.word.decided or (row.why and row.word is Verdict.UNDECIDED)
            n_shown = bool(has_reason) + (len(row.carried) > 1)
            more, texts = tuple(texts[n_shown:]), texts[:n_shown]
            # Faster, slower, undecided, by size.
            size = abs(math.log(row.speedup)) if row.speedup else 0.0
            rank = (list(Verdict).index(row.word), -size)
            aside = SAME_RUNS if row.claim == SAME_RUNS else ""
            line = replace(line, more=more, place=rank, aside=aside)
        details = grouping.append_line([*texts, *sentences.also_lines(s.also)], s.pair.lost)
        body.append(replace(line, details=details))
    if opponent.mean is not None:
        constant = any(
            s.contrast.speedup and s.contrast.speedup.unseen_epochs for s in opponent.results
        )
        mark, mean = cells.CONSTANT if constant else "", opponent.mean
        of_all: list[Cell] = [Text("")] * len(table_fields)
        of_all[0] = Text(f"geo-mean of {mean.n}")
        ratio = Quantity(mean.estimate, "ratio", mean.low, mean.high, mark=mark)
        of_all[len(names) + cells.RATIO] = ratio
        body.append(Line(tuple(of_all), of_all=True))
    return Table(tuple(field.column for field in table_fields), tuple(body), title)


def _side_notes(
    baseline: Side, opponents: Sequence[_Opponent], block: Sequence[str]
) -> Iterable[Note]:
    """Yield notes on variation inside the groups of each side, and on left-out runs."""
    keys = ("pair", *(name for name in block if name in baseline.runs.columns))
    a = baseline.label if len(opponents) > 1 else "A"
    side_runs = [(a, baseline, opponent.pairing.a, opponent) for opponent in opponents]
    side_runs += [
        (opponent.prefix or "B", opponent.side, opponent.pairing.b, opponent)
        for opponent in opponents
    ]
    return dict.fromkeys(
        remark.prefixed(label)
        for label, side, runs, opponent in side_runs
        for remark in (
            *grouping.group_notes(runs, keys, [s.name for s in opponent.results]),
            *grouping.set_aside_notes(side.runs),
        )
    )


def _budget_notes(baseline: Side, opponents: Sequence[_Opponent], budget: Budget) -> Iterable[Note]:
    budget_notes: list[Note] = []
    for opponent in opponents:
        b = (opponent.prefix or "B", opponent.side, opponent.pairing.b)
        for label, side, runs in (("A", baseline, opponent.pairing.a), b):
            budget_notes += short_notes(runs, budget, label)
            run_notes = (
                *grouping.left_out_notes(runs, ("pair",)),
                *grouping.set_aside_notes(side.runs),
            )
            budget_notes += [remark.prefixed(label) for remark in run_notes]
        budget_notes += opponent.pairing.remarks
    if unmatched := [group.text for opponent in opponents for group in opponent.pairing.alone]:
        budget_notes.append(note("unmatched.qualities", names=units.join_names(unmatched, 6, "; ")))
    return dict.fromkeys(budget_notes)
