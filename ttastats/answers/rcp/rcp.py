"""Does each entry converge as the reference does, and what does the official check make of it?

Two answers stand side by side and apart: a ratio with an interval, from the scatter of both sides,
and the verdict and factor of the official rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from ttastats.answers.rcp.convergence_rules import Library
from ttastats.answers.rcp.rcp_row import RcpOptions, RcpRow, row_maker
from ttastats.answers.score import factor_text, shown_keys
from ttastats.base import percentages, units
from ttastats.base.codes import Note, note
from ttastats.base.errors import raise_if
from ttastats.outcomes.left_out import RESULT
from ttastats.report import fields, grouping
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Quantity, Text
from ttastats.report.fields import Field
from ttastats.report.row import expect_kind
from ttastats.stats.results import Verdict

#: Answers of more entries show the numbers behind each verdict only if asked.
_FEW = 12
#: Keys that say less of an entry than others.
_LESS = ("suite", "round", "division", "entry")
#: Grids that differ by more than this factor shift a mean visibly.
_COARSER = 1.5


def report(
    runs: pl.DataFrame, library: Library, options: RcpOptions, by: Sequence[str] = RESULT
) -> Report:
    """Return the report of the convergence of runs judged by the official targets."""
    row_of = row_maker(library, options)
    rows = [
        row_of(grouping.key_values(keys), group) for keys, group in grouping.group_runs(runs, by)
    ]
    has_no_reference = all(row.reference_n is None for row in rows)
    remedy = "--ruleset 5.0.0 selects the records of a round, --records FOLDER other records."
    raise_if(has_no_reference, f"no entry has a reference: {_reasons_text(rows)}", "rcp", remedy)
    names = ("suite", "round", "benchmark", "batch_size", "ratio")
    rows.sort(
        key=lambda row: (row.official_verdict != "failed", grouping.sort_key(*map(row.get, names)))
    )
    in_full = options.verbose or len(rows) <= _FEW

    def mean(side: str, row: RcpRow) -> Quantity:
        cv = row.get(f"{side}_cv")
        return Quantity(row.get(f"{side}_mean"), row.unit or "epochs", spread=cv)

    def lines(row: RcpRow) -> tuple[str, ...]:
        if not in_full:  # the columns say enough; an entry without an interval gets its reason
            return () if row.low is not None else (_verdict_text(row),)
        texts = (_official_text, _pass_rates_text, _resolution_text, _verdict_text)
        return tuple(filter(None, (text(row) for text in texts)))

    table_fields: list[Field[RcpRow]] = [
        Field(Column("official"), lambda row: Text(row.official_verdict or "–")),
        fields.text_field(
            "BS", lambda row: "–" if row.batch_size is None else f"{row.batch_size:,}", rank=1
        ),
        fields.reached_field(rank=2),
        *(Field(Column(of, "right", rank=2), partial(mean, of)) for of in ("entry", "reference")),
        Field(
            Column(f"entry/reference [{options.confidence * 100:g}%]", "right"),
            lambda row: Quantity(row.ratio, "ratio", row.low, row.high),
        ),
        Field(Column("converges"), _verdict_cell),
        fields.text_field(
            "factor",
            lambda row: factor_text(
                None if row.official_verdict == "failed" else row.official_factor
            ),
            rank=1,
        ),
    ]
    notes = _rcp_notes(rows, options.confidence, in_full=in_full)
    return grouping.group_report(
        "rcp", rows, table_fields, runs, by, notes, names=shown_keys(rows, by),
        details=[*map(lines, rows)], sentence=_rcp_sentence(rows, by, options.confidence),
    )  # fmt: skip


def _rcp_sentence(rows: Sequence[RcpRow], by: Sequence[str], confidence: float) -> str:
    one_benchmark = len({row.keys.get("benchmark") for row in rows}) == 1
    hidden_keys = (*_LESS, "benchmark") if one_benchmark else _LESS
    names = grouping.row_names(rows, [name for name in by if name not in hidden_keys] or by)
    tested = [(name, row) for name, row in zip(names, rows, strict=True) if row.low is not None]
    names_by_verdict: dict[str, list[str]] = {}
    for name, row in tested:
        if Verdict(row.verdict).directed:
            names_by_verdict.setdefault(row.verdict, []).append(name)
    verdicts = "; ".join(
        f"{len(of):,} {verdict} ({units.join_names(of, 3)})"
        for verdict, of in names_by_verdict.items()
    )
    text = (
        f"{sum(map(len, names_by_verdict.values())) or 'none'} of "
        f"{units.plural(len(tested), 'entry', 'entries')} converge"
        f"{'s' if len(tested) == 1 else ''} unlike the reference, at "
        f"{percentages.percent_text(confidence)} each (by chance alone "
        f"{units.significant((1 - confidence) * len(tested), 2)})"
        f"{f': {verdicts}' if verdicts else ''}."
    )
    official: dict[str, list[str]] = {}
    for name, row in zip(names, rows, strict=True):
        if row.official_verdict:
            official.setdefault(row.official_verdict, []).append(name)
    words = [f"{len(of):,} {verdict}" for verdict, of in official.items()]
    if failed := official.get("failed"):
        words[list(official).index("failed")] += f" ({units.join_names(failed, 3)})"
    check = f"Official check: {units.join_names(words)}. " if words else ""
    return f"{check}{text[:1].upper()}{text[1:]}"


def unanswered(answer: Report) -> int:
    """Return the number of entries without a reference."""
    return sum(row.reference_n is None for row in expect_kind(answer.records, RcpRow))


def _reasons_text(rows: Sequence[RcpRow]) -> str:
    reasons = {str(row.status) for row in rows if row.reference_n is None}
    return units.join_names(sorted(reasons), between="; ")


def _verdict_cell(row: RcpRow) -> Text:
    verdict = Verdict(row.verdict)
    word = verdict.signed if verdict is Verdict.UNDECIDED else verdict.label
    return Text(word, verdict.tone)


def _verdict_text(row: RcpRow) -> str:
    if row.ratio is None:
        return f"verdict  none: {row.status}"
    if row.low is None or row.high is None:
        change = f"{_change_text(row.ratio)} {row.unit} than the reference"
        return f"verdict  {change}, no interval: {row.status}"
    if row.verdict == Verdict.UNDECIDED:
        span = f"{_change_text(row.low)} to {_change_text(row.high)} {row.unit}"
        return f"verdict  not significantly different from the reference: {span}"
    text = f"verdict  converges {row.verdict} than the reference in these runs"
    interval = row.interval or row.reference_interval
    if not interval or row.entry_mean is None or row.reference_mean is None:
        return text
    # The difference as the number of runs that stop at another evaluation.
    evaluations_apart = abs(row.entry_mean - row.reference_mean) / interval
    total = evaluations_apart * row.reached
    if evaluations_apart >= 1:
        return f"{text}; as if every run stopped {evaluations_apart:.1f} evaluations {row.verdict}"
    if total < 1:
        return f"{text}; less than one run stopping at the next evaluation"
    runs = f"{round(total)} of {units.plural(row.reached, 'run')}"
    return f"{text}; as if {runs} stopped one evaluation {row.verdict}"


def _change_text(ratio: float) -> str:
    return f"{units.percent(abs(1 - ratio))} {'fewer' if ratio < 1 else 'more'}"


def _official_text(row: RcpRow) -> str:
    if row.official_verdict is None:
        return f"official  none: {row.official_reason}" if row.official_reason else ""
    if row.official_limit is None:
        return f"official  {row.official_verdict}: {row.official_reason}"
    mean, reference, limit = (
        units.mean_count(value or 0.0, row.unit or "")
        for value in (row.official_mean, row.official_reference_mean, row.official_limit)
    )
    factor = f", time x{applied:.4f}" if (applied := _applied_factor(row)) > 1 else ""
    return (
        f"official  olympic mean {mean.rsplit(' ', 1)[0]} against {reference.rsplit(' ', 1)[0]}, "
        f"limit {limit}: {row.official_verdict}{factor} ({row.official_reason})"
    )


def _pass_rates_text(row: RcpRow) -> str:
    if row.reference_fails is None:
        return ""
    fails, few, fewer = (
        units.percent(share or 0.0)
        for share in (row.reference_fails, row.faster_5_passes, row.faster_10_passes)
    )
    return (
        f"error rates  the reference itself fails the check in "
        f"{fails if row.reference_fails else 'none'} of {row.draws:,} "
        f"simulated sets of {row.submission_runs} runs; a setup that needs 5% fewer "
        f"{row.unit} passes in {few}, one that needs 10% fewer in {fewer}"
    )


def _resolution_text(row: RcpRow) -> str:
    """Return the interval of evaluations in words: it limits the agreement of two means."""
    interval = row.interval or row.reference_interval
    if row.reference_mean is None:
        return ""
    if not interval:
        return "grid  unknown: no run logs two evaluations"
    share = units.percent(interval / row.reference_mean)
    text = f"grid  one evaluation is {share} of the reference's mean"
    if row.reference_interval and _grids_differ(row):
        other = units.percent(row.reference_interval / row.reference_mean)
        text += f" ({other} in the reference's own runs)"
    if row.early is None:
        return text
    return (
        f"{text}; stopped an evaluation or more before the reference's median: "
        f"entry {row.early} of {row.reached}, "
        f"reference {row.reference_early} of {row.reference_n}"
    )


def _grids_differ(row: RcpRow) -> bool:
    if not row.interval or not row.reference_interval:
        return False
    return not 1 / _COARSER < row.interval / row.reference_interval < _COARSER


def _rcp_notes(rows: Sequence[RcpRow], confidence: float, *, in_full: bool) -> Iterator[Note]:
    official = [row for row in rows if row.official_verdict]
    yield note("rcp")
    if official:
        yield note("official")
    tested = [row for row in rows if row.low is not None]
    if len(tested) > 1:
        n_directed = sum(Verdict(row.verdict).directed for row in tested)
        chance = (1 - confidence) * len(tested)
        yield note(
            "many_entries",
            differ=n_directed,
            n=len(tested),
            confidence=confidence,
            chance=chance,
        )
    rows_with_ratio = [row for row in rows if row.ratio is not None]
    for key, number in (
        ("interpolated.rcp", sum(row.reference == "interpolated" for row in rows)),
        ("smallest", sum(row.reference == "smallest" for row in rows)),
        ("grids_differ.rcp", sum(map(_grids_differ, rows_with_ratio))),
        ("failed_runs.rcp", sum(row.n - row.reached for row in rows_with_ratio)),
    ):
        if number:
            yield note(key, n=number)
    llama = [row for row in official if row.keys["benchmark"] == "llama31_405b"]
    if slack := [row for row in llama if row.ruleset != "5.0.0"]:
        passing_rows = (row for row in slack if row.official_verdict != "failed")
        yield note("slack", n=sum(row.official_as_written == "failed" for row in passing_rows))
    if scaled := [row for row in official if _applied_factor(row) > 1]:
        earlier = sum(row.verdict == Verdict.EARLIER for row in scaled)
        yield note("scaled.rcp", n=len(scaled), earlier=earlier)
    published = [
        (row.published_factor, _applied_factor(row)) for row in official if row.published_factor
    ]
    if any(factor != 1.0 for factor, _ in published):
        other = sum(abs(factor - applied) > 1e-6 for factor, applied in published)
        key = "published.other" if other else "published.same"
        yield note(key, n=len(published), other=other)
    if n_without_reference := sum(row.reference_n is None for row in rows):
        yield note("no_reference", n=n_without_reference, reasons=_reasons_text(rows))
    if not in_full:
        yield note("verbose")


def _applied_factor(row: RcpRow) -> float:
    return 1.0 if row.official_verdict == "failed" else row.official_factor or 1.0
