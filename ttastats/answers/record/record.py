"""Is it a record by the rules of a contest? A line for each check, and a verdict to be pasted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from ttastats.answers.record.record_checks import Result, Rules, known
from ttastats.answers.record.record_judged import JudgedRecord
from ttastats.base import units
from ttastats.base.note import Note
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Table, Text
from ttastats.report.keys import Benchmark, High, Low
from ttastats.report.row import Key, Number, Row
from ttastats.stats.results import Tone

_TONES: Mapping[Result, Tone] = {
    "passed": "good", "failed": "bad", "not known": "dim", "told": "plain",
}  # fmt: skip
_COLUMNS = (Column("check"), Column("result"), Column("figures", rank=1))

_Quality = Annotated[Number, Key("mean quality of the runs", "metric")]
_Seconds = Annotated[Number, Key("mean time of the runs, or median of the studies", "seconds")]
_Steps = Annotated[Number, Key("steps of the longest run", "steps")]
_Count = Annotated[int | None, Key("runs with a value, or studies", "runs")]


class RecordRow(Row, frozen=True, kw_only=True):
    """A benchmark judged by the rules of a contest; A is the baseline, B the new runs."""

    benchmark: Benchmark
    rules: Annotated[str, Key("name of the rules")]
    verdict: Annotated[str, Key("`record`, `no record` or `undecided`")]
    reasons: Annotated[list[str], Key("checks that keep it from being a record, with figures")]
    n_a: _Count = None
    n_b: _Count = None
    quality_a: _Quality = None
    quality_b: _Quality = None
    quality_p: Annotated[Number, Key("one-sided p of the quality that the rules ask for")] = None
    seconds_ratio: Annotated[Number, Key("time of A over that of B", "ratio")] = None
    seconds_low: Low = None
    seconds_high: High = None
    seconds_p: Annotated[Number, Key("p of the ratio")] = None
    seconds_a: _Seconds = None
    seconds_b: _Seconds = None
    steps_a: _Steps = None
    steps_b: _Steps = None
    checks: Annotated[list[str], Key("every check with its result")]
    not_known: Annotated[list[str], Key("checks that the logs do not answer")]


class RulesRow(Row, frozen=True):
    """The rules of a contest."""

    rules: Annotated[str, Key("their name")]
    title: Annotated[str, Key("what is a record by them")]
    read: Annotated[str, Key("which wording they were taken from")]
    source: Annotated[str, Key("where they are published")]


def report(
    judged: Sequence[tuple[str | None, JudgedRecord]], rules: Rules, labels: Sequence[str]
) -> Report:
    """Return the report of each judged benchmark; `labels` name A, if there is one, and B."""
    letters = ("A", "B")[-len(labels) :]
    sides = "   ".join(f"{letter} = {label}" for letter, label in zip(letters, labels, strict=True))
    rows, tables, sentences = [], [], []
    for benchmark, record in judged:
        rows.append(
            RecordRow(
                benchmark=benchmark,
                rules=rules.name,
                verdict=record.verdict,
                reasons=[f"{check.name}: {check.figures}" for check in record.against],
                checks=[f"{check.name}: {check.result}" for check in record.checks],
                not_known=[check.name for check in record.checks if check.result == "not known"],
                **record.numbers,
            )
        )
        lines = tuple(
            Line((Text(check.name), Text(check.result, _TONES[check.result]), Text(check.figures)))
            for check in record.checks
        )
        title = "   ".join(filter(None, (benchmark, rules.name, sides)))
        tables.append(Table(_COLUMNS, lines, title))
        sentences.append(_record_sentence(benchmark, record, rules))
    notes = (Note("rules", rules.remark),) if rules.remark else ()
    return Report("record", tuple(rows), tuple(tables), notes, " ".join(sentences))


def _record_sentence(benchmark: str | None, record: JudgedRecord, rules: Rules) -> str:
    of = f"{benchmark}: " if benchmark else ""
    if record.verdict != "record":
        checks = (f"{check.name} {check.result}: {check.figures}" for check in record.against)
        undecided = record.verdict == "undecided"
        word = "whether B is a record is undecided" if undecided else "B is not a record"
        word = word if of else word[:1].upper() + word[1:]
        return f"{of}{word} by the rules of {rules.name} ({'; '.join(checks)})."
    grounds = "; ".join(
        f"{check.name}: {check.figures}"
        for check in record.checks
        if check.disproves and check.decides
    )
    text = f"{of}B is a record by the rules of {rules.name} ({grounds})."
    # What keeps nothing from being a record where logs do not tell it.
    settled = {"seeds", "machines", "order", "time", "same stop"}
    unsettled = [check for check in record.checks if check.name in settled]
    if silent := [check.name for check in unsettled if check.result == "not known"]:
        text += f" Not in the logs: {units.join_names(silent)}."
    failed = (check for check in unsettled if check.result == "failed")
    return text + "".join(f" But {check.name}: {check.figures}." for check in failed)


def of_rules() -> Report:
    """Return the report of all contest rules, with their sources."""
    rows = [RulesRow(x.name, x.title, x.read, x.source) for x in known().values()]
    columns = (
        Column("rules"), Column("definition of a record"),
        Column("rules as of", rank=2, names=True), Column("source", rank=1, names=True),
    )  # fmt: skip
    body = tuple(Line(tuple(map(Text, row.to_dict().values()))) for row in rows)
    return Report("record", tuple(rows), (Table(columns, body, "contest rules"),))
