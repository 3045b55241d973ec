"""What does a command answer: rows, tables and notes, and which notes count most against it?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import polars as pl
from msgspec import Struct

from ttastats.base.arguments import named_in_python
from ttastats.base.codes import ADVICE, CAUTIONS, DOUBTS, SHORT, Note
from ttastats.base.errors import GateFailed
from ttastats.base.forks import expect_threads
from ttastats.base.records import FORMER_NAMES
from ttastats.report.cells import Gate, Lead, Table
from ttastats.report.row import Row, Rows, Values, table_of, typed_table

if TYPE_CHECKING:
    from ttastats.stats.multiplicity import MeanSpeedup
    from ttastats.stats.outcomes import Outcomes
    from ttastats.stats.results import Tone


@dataclass(frozen=True, slots=True, eq=False)
class Against:
    """One table held against the baseline: its rows, the runs behind each, the mean over all.

    `conditions` are codes of what has to be true for the interval of each row.
    """

    rows: tuple[Row, ...]
    runs: tuple[tuple[Outcomes, Outcomes], ...]
    mean: MeanSpeedup | None
    conditions: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Report:
    """The result of a command: a value, equal to another of the same rows, notes and verdict.

    It has the length of its rows and gives them one after the other; the keys of a single row are
    attributes too (`report.speedup`).

    `sentence` is the conclusion, `lead` the same with a word for each table, where it has one; and
    `target` is what runs had to reach, in words. `only_a` lists the groups of the baseline that
    another table lacks, with the label of that table if there are several. `by` names the keys of
    the rows that identify their group. `against` is set if times were compared, by table; `groups`
    are the runs behind each row of a summary. `people` makes what they see, where that is not all.
    """

    command: str
    records: Sequence[Row]
    tables: tuple[Table, ...]
    notes: tuple[Note, ...] = ()
    sentence: str = ""
    only_a: tuple[str, ...] = ()
    gate: Gate | None = None
    by: tuple[str, ...] = ()
    against: tuple[Against, ...] = ()
    lead: tuple[Lead, ...] = ()
    target: str = ""
    groups: Sequence[pl.DataFrame] = field(default=(), repr=False, compare=False)
    people: Callable[[], Report] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """Return the rows for programs: raw numbers (seconds, fractions), None for unknown."""
        if isinstance(self.records, Rows):
            return tuple(map(Values, self.records.frame.iter_rows(named=True)))
        return tuple(Values(row.to_dict()) for row in self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __bool__(self) -> bool:
        return True  # an answer without a row is one

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "records" not in self.__dict__:  # while it is unpickled
            raise AttributeError(name)
        row = self.rows[0] if len(self) == 1 else {}
        if name in row or FORMER_NAMES.get(name) in row:
            return row[name]
        text = f"an answer of {self.command!r} has no attribute {name!r}"
        if self.rows and name in self.rows[0]:
            text += f", but {len(self)} rows with that key: see .rows or .frame"
        raise AttributeError(text, name=name, obj=self)

    @property
    def _value(self) -> tuple[Any, ...]:
        """Return the content by which answers are compared, without their layout."""
        notes = tuple((note.code, note.text, note.mark) for note in self.notes)
        return self.command, self.sentence, self.target, self.gate, notes, self.rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self._value == other._value

    def __hash__(self) -> int:
        *plain, rows = self._value
        return hash((*plain, len(rows)))

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**state, "people": None, "displayed": self.displayed} if self.people else state

    @cached_property
    def displayed(self) -> Report:
        """Return the report as people see it; hidden rows are never formatted."""
        if self.people is None:
            return self
        expect_threads()
        return self.people()

    @property
    def headline(self) -> tuple[Lead, ...]:
        """Return the first sentence of every rendering, with the target."""
        text = to_target(self.target, self.sentence)
        return self.lead or ((Lead("", text),) if text else ())

    @property
    def typed_columns(self) -> pl.DataFrame | None:
        """Return the rows as a typed table; None if the types of a key vary."""
        return typed_table(self.records)

    @property
    def frame(self) -> pl.DataFrame:
        """Return the rows as a DataFrame with the types of their keys."""
        if isinstance(self.records, Rows):
            return self.records.typed_frame
        return table_of(self.records, self.rows)

    def check(self) -> Self:
        """Return the report if its gate passed or none was set; raise `GateFailed` if it failed."""
        if self.gate is not None and not self.gate:
            failures = "; ".join(
                f"{failure.group}: {failure.text}" for failure in self.gate.failures
            )
            with named_in_python():
                raise GateFailed(failures, where=" ".join(self.gate.conditions))
        return self

    def to_markdown(self) -> str:
        """Return the report for people as Markdown, as `--format md` does."""
        from ttastats.report import as_markdown

        return as_markdown.render_markdown(self.displayed)

    def to_json(self) -> str:
        """Return rows, notes and verdict as one JSON object, as `--format json` does."""
        from ttastats.report import as_json

        return as_json.render_json(self)

    def to_csv(self) -> str:
        """Return the rows as CSV, as `--format csv` does."""
        from ttastats.report import as_csv

        return as_csv.render_csv(self)

    def __str__(self) -> str:
        """Return the report as the command line prints it into a pipe: 100 columns, no colour."""
        from ttastats.report import as_table  # costs start-up time

        return as_table.render_text(self.displayed)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the report as HTML tables with notes, for a notebook."""
        from ttastats.report import as_html

        return as_html.render_standalone(self.displayed)


@dataclass(frozen=True, eq=False)
class Gated(Report):
    """The result of a command with conditions."""

    gate: Gate = field(kw_only=True)


def with_gate(report: Report, gate: Gate) -> Gated:
    """Return a report with the verdict of its conditions."""
    values: dict[str, Any] = {field.name: getattr(report, field.name) for field in fields(report)}
    values["gate"] = gate
    return Gated(**values)


def to_target(target: str, sentence: str) -> str:
    """Return a sentence about times with their target."""
    if not target or target in sentence:
        return sentence
    return f"To {target}: {sentence}" if sentence else f"Target: {target}."


_HARM = {code: severity for severity, code in enumerate(CAUTIONS)}


class Remark(Struct, frozen=True):
    """All notes of one code; `share` names the rows concerned, unless all are."""

    code: str
    texts: tuple[str, ...]
    mark: str
    share: str
    advice: str = ""

    @property
    def short(self) -> str:
        """Return the remark in a few words."""
        return SHORT.get(self.code) or self.code.replace("_", " ")

    @property
    def label(self) -> str:
        """Return the remark in a few words with the rows it concerns."""
        return f"{self.short}{f': {self.share}' if self.share else ''}"

    @property
    def tone(self) -> Tone:
        """Return the tone of the remark."""
        return DOUBTS.get(self.code, "plain")

    @property
    def brief(self) -> str:
        """Return the remark with its advice, or else its first note."""
        if self.advice:
            extent = f": {self.share} rows" if " of " in self.share else f": {self.share}"
            name = f"{self.short[:1].upper()}{self.short[1:]}{extent if self.share else ''}"
            text = f"{name}. {self.advice}"
        else:
            repeats = len(self.texts) - 1
            text = self.texts[0] + (f" ({repeats} more like it)" if repeats else "")
        return f"{self.mark} {text}".strip()


def ranked_remarks(report: Report) -> list[Remark]:
    """Return the notes of a report grouped by code, the most serious cautions first."""
    notes: dict[str, list[Any]] = {}
    for note in report.notes:
        notes.setdefault(note.code, []).append(note)
    remarks = []
    for code in sorted(notes, key=lambda code: _HARM.get(code, len(_HARM))):
        flagged = [row for row in report.rows if code in row.get("flags", ())]
        only = flagged[0].get("benchmark") if len(flagged) == 1 else None
        share = str(only or f"{len(flagged)} of {len(report.rows)}")
        share = share if 0 < len(flagged) < len(report.rows) else ""
        texts = tuple(note.text for note in notes[code])
        mark = next((note.mark for note in notes[code] if note.mark), "")
        advice = ADVICE.get(code, "") if report.command == "compare" else ""
        remarks.append(Remark(code, texts, mark, share, advice))
    return remarks
