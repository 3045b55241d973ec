"""Is it a record by the rules of a contest? A line for each check, and a verdict to be pasted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ttastats.answers.record.contest_rules import Rules, known
from ttastats.answers.record.record_checks import Result
from ttastats.answers.record.record_judged import JudgedRecord
from ttastats.base import units
from ttastats.base.note import Note
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Table, Text
from ttastats.stats.verdict import Tone

_TONES: dict[Result, Tone] = {
    "passed": "good",
    "failed": "bad",
    "not known": "dim",
    "told": "plain",
}
_KEYS = (
    "n_a", "n_b", "quality_a", "quality_b", "quality_p", "seconds_ratio", "seconds_low",
    "seconds_high", "seconds_p", "seconds_a", "seconds_b", "steps_a", "steps_b",
)  # fmt: skip
#: What keeps nothing from being a record where logs do not tell it.
_SETTLED = ("seeds", "machines", "order", "time", "same stop")


def report(
    found: Sequence[tuple[str | None, JudgedRecord]], rules: Rules, labels: Sequence[str]
) -> Report:
    """Give the report of each benchmark judged; `labels` name A, where there is one, and B."""
    rows = tuple(_row(benchmark, one, rules) for benchmark, one in found)
    letters = ("A", "B")[-len(labels) :]
    sides = "   ".join(f"{letter} = {label}" for letter, label in zip(letters, labels, strict=True))
    tables = tuple(
        _table(one, "   ".join(part for part in (benchmark, rules.name, sides) if part))
        for benchmark, one in found
    )
    said = " ".join(_sentence(benchmark, one, rules) for benchmark, one in found)
    notes = (Note("rules", rules.remark),) if rules.remark else ()
    return Report("record", rows, tables, notes, said)


def _row(benchmark: str | None, one: JudgedRecord, rules: Rules) -> dict[str, Any]:
    numbers: Mapping[str, Any] = one.numbers
    return {
        "benchmark": benchmark,
        "rules": rules.name,
        "verdict": one.verdict,
        "reasons": [f"{check.name}: {check.said}" for check in one.against],
        **{key: numbers.get(key) for key in _KEYS},
        "checks": [f"{check.name}: {check.result}" for check in one.checks],
        "not_known": [check.name for check in one.checks if check.result == "not known"],
    }


def _table(one: JudgedRecord, title: str) -> Table:
    columns = (Column("check"), Column("result"), Column("figures"))
    body = tuple(
        Line((Text(check.name), Text(check.result, _TONES[check.result]), Text(check.said)))
        for check in one.checks
    )
    return Table(columns, body, title)


def _sentence(benchmark: str | None, one: JudgedRecord, rules: Rules) -> str:
    """Say the verdict, what it rests on, and what the logs do not tell."""
    of = f"{benchmark}: " if benchmark else ""
    if one.verdict == "record":
        deciding = [check for check in one.checks if check.disproves and check.decides]
        grounds = "; ".join(f"{check.name}: {check.said}" for check in deciding)
        return f"{of}B is a record by the rules of {rules.name} ({grounds}).{_open(one)}"
    reasons = "; ".join(f"{check.name} {check.result}: {check.said}" for check in one.against)
    word = (
        "B is not a record" if one.verdict == "no record" else "whether B is a record is undecided"
    )
    word = word if of else word[:1].upper() + word[1:]
    return f"{of}{word} by the rules of {rules.name} ({reasons})."


def _open(one: JudgedRecord) -> str:
    """Say what a reader must settle who trusts a record."""
    of_runs = [check for check in one.checks if check.name in _SETTLED]
    silent = [check.name for check in of_runs if check.result == "not known"]
    said = f" Not in the logs: {units.listed(silent)}." if silent else ""
    failed = (check for check in of_runs if check.result == "failed")
    return said + "".join(f" But {check.name}: {check.said}." for check in failed)


def of_rules() -> Report:
    """Give the report of all rules there are, with their sources."""
    rows = tuple(
        {"rules": one.name, "title": one.title, "read": one.read, "source": one.source}
        for one in known().values()
    )
    columns = (
        Column("rules"),
        Column("definition of a record"),
        Column("rules as of", rank=2, names=True),
        Column("source", rank=1, names=True),
    )
    body = tuple(Line(tuple(Text(row[name]) for name in row)) for row in rows)
    return Report("record", rows, (Table(columns, body, "contest rules"),))
