"""Is it a record by the rules of a contest? A line for each check, and a verdict to be pasted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ttastats.answers.record.contest_rules import Rules, known
from ttastats.answers.record.record_checks import Result
from ttastats.answers.record.record_judged import JudgedRecord
from ttastats.base import units
from ttastats.base.note import Note
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Table, Text
from ttastats.report.row import Row
from ttastats.stats.verdict import Tone

_TONES: Mapping[Result, Tone] = {
    "passed": "good",
    "failed": "bad",
    "not known": "dim",
    "told": "plain",
}
_COLUMNS = (Column("check"), Column("result"), Column("figures"))
#: What keeps nothing from being a record where logs do not tell it.
_SETTLED = ("seeds", "machines", "order", "time", "same stop")


class RecordRow(Row, frozen=True, kw_only=True):
    """A benchmark judged by the rules of a contest."""

    benchmark: str | None
    rules: str
    verdict: str
    reasons: list[str]
    n_a: int | None = None
    n_b: int | None = None
    quality_a: float | None = None
    quality_b: float | None = None
    quality_p: float | None = None
    seconds_ratio: float | None = None
    seconds_low: float | None = None
    seconds_high: float | None = None
    seconds_p: float | None = None
    seconds_a: float | None = None
    seconds_b: float | None = None
    steps_a: float | None = None
    steps_b: float | None = None
    checks: list[str]
    not_known: list[str]


class RulesRow(Row, frozen=True, kw_only=True):
    """The rules of a contest."""

    rules: str
    title: str
    read: str
    source: str


def report(
    judged: Sequence[tuple[str | None, JudgedRecord]], rules: Rules, labels: Sequence[str]
) -> Report:
    """Return the report of each benchmark judged; `labels` name A, where there is one, and B."""
    letters = ("A", "B")[-len(labels) :]
    sides = "   ".join(f"{letter} = {label}" for letter, label in zip(letters, labels, strict=True))
    rows, tables, sentences = [], [], []
    for benchmark, record in judged:
        rows.append(_row(benchmark, record, rules))
        lines = tuple(
            Line((Text(check.name), Text(check.result, _TONES[check.result]), Text(check.said)))
            for check in record.checks
        )
        title = "   ".join(part for part in (benchmark, rules.name, sides) if part)
        tables.append(Table(_COLUMNS, lines, title))
        sentences.append(_sentence(benchmark, record, rules))
    notes = (Note("rules", rules.remark),) if rules.remark else ()
    return Report("record", tuple(rows), tuple(tables), notes, " ".join(sentences))


def _row(benchmark: str | None, record: JudgedRecord, rules: Rules) -> RecordRow:
    return RecordRow(
        benchmark=benchmark,
        rules=rules.name,
        verdict=record.verdict,
        reasons=[f"{check.name}: {check.said}" for check in record.against],
        checks=[f"{check.name}: {check.result}" for check in record.checks],
        not_known=[check.name for check in record.checks if check.result == "not known"],
        **record.numbers,
    )


def _sentence(benchmark: str | None, record: JudgedRecord, rules: Rules) -> str:
    """Return the verdict, what it rests on, and what a reader must settle who trusts a record."""
    of = f"{benchmark}: " if benchmark else ""
    if record.verdict != "record":
        reasons = "; ".join(f"{one.name} {one.result}: {one.said}" for one in record.against)
        undecided = record.verdict == "undecided"
        word = "whether B is a record is undecided" if undecided else "B is not a record"
        word = word if of else word[:1].upper() + word[1:]
        return f"{of}{word} by the rules of {rules.name} ({reasons})."
    deciding = [check for check in record.checks if check.disproves and check.decides]
    grounds = "; ".join(f"{check.name}: {check.said}" for check in deciding)
    open_ = [check for check in record.checks if check.name in _SETTLED]
    silent = [check.name for check in open_ if check.result == "not known"]
    said = f" Not in the logs: {units.listed(silent)}." if silent else ""
    failed = (check for check in open_ if check.result == "failed")
    said += "".join(f" But {check.name}: {check.said}." for check in failed)
    return f"{of}B is a record by the rules of {rules.name} ({grounds}).{said}"


def of_rules() -> Report:
    """Return the report of all rules there are, with their sources."""
    rows = [
        RulesRow(rules=one.name, title=one.title, read=one.read, source=one.source)
        for one in known().values()
    ]
    columns = (
        Column("rules"),
        Column("definition of a record"),
        Column("rules as of", rank=2, names=True),
        Column("source", rank=1, names=True),
    )
    body = tuple(Line(tuple(map(Text, row.numbers().values()))) for row in rows)
    return Report("record", tuple(rows), (Table(columns, body, "contest rules"),))
