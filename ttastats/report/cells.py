"""The typed cells, tables and notes a report is made of. Nothing here is text layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ttastats.base.units import Amount
from ttastats.stats.results import Tone

Unit = Literal["fraction", "count", "ratio", "number", "bytes", "flop/second"] | Amount


class Text(Struct, frozen=True):
    """Words. `tone` asks for colour, which never carries meaning alone."""

    text: str
    tone: Tone = "plain"


class Quantity(Struct, frozen=True):
    """A number with its unit, an interval, a spread and a footnote mark, as far as known.

    `spread` is a coefficient of variation (a fraction) or, with `spread_is_std`, a standard
    deviation in the unit of the value. Seconds are written in the unit `of_time`.
    """

    value: float | None
    unit: Unit = "number"
    low: float | None = None
    high: float | None = None
    spread: float | None = None
    spread_is_std: bool = False
    mark: str = ""
    of_time: str = ""


class PValue(Struct, frozen=True):
    """A p-value."""

    value: float | None


class Reached(Struct, frozen=True):
    """How many of the runs reached the target."""

    reached: int
    n: int


Cell = Text | Quantity | PValue | Reached


class Column(Struct, frozen=True):
    """A column of a table for people. Those of high `rank` give way first on a narrow screen.

    One of `names` may be shortened there. Where many rows in succession share the values of the
    first columns that are `heads`, a screen may say these once, above the rows. A screen draws the
    `intervals` of a column beside it; what is `drawn` is left out without a word where it finds no
    room. It shortens names of hardware to `models` where these tell the rows apart. A column with a
    `narrow` title has it, no spreads, and n alone where all runs reached, before a column is
    hidden.
    """

    title: str
    align: Literal["left", "right"] = "left"
    rank: int = 0
    names: bool = False
    heads: bool = False
    intervals: bool = False
    drawn: bool = False
    models: bool = False
    narrow: str = ""


class Line(Struct, frozen=True):
    """Cells, and lines of detail that stand below them.

    A row `of_all` speaks of the others of its table and is no row for programs. On a screen, rows
    stand in the order of their `place`; `more` lines and rows set `aside`, which stands for a
    reason, are shown with -v only.
    """

    cells: tuple[Cell, ...]
    details: tuple[str, ...] = ()
    of_all: bool = False
    more: tuple[str, ...] = ()
    place: tuple[float, ...] = ()
    aside: str = ""


class Table(Struct, frozen=True):
    """A table for people; `single` is what a screen has in its place for its only row."""

    columns: tuple[Column, ...]
    rows: Sequence[Line]
    title: str = ""
    single: Table | None = None


Outcome = Literal["failed", "undecided", "passed"]


class Finding(Struct, frozen=True):
    """A group of runs that failed a condition of the gate, or passed it with a reservation.

    `code` is for programs: `lost`, `never_reached`, `not_judged`, `slower`, `worse`, `fails_more`,
    `undecided`, and for what passed `no_stragglers`, if no run fails or straggles that was not
    seen, and `failed_runs`, which counts those that failed.
    `runs_needed` a side would decide if B is as fast as A.
    """

    condition: str
    group: str
    benchmark: str | None
    b: str | None
    outcome: Outcome
    code: str
    text: str
    runs_needed: int | None = None


class Gate(Struct, frozen=True):
    """What the conditions of a CI job come to: true if it passes, as it does while undecided."""

    conditions: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        values = (f"{name}={getattr(self, name)!r}" for name in ("passed", *self.__struct_fields__))
        return f"Gate({', '.join(values)})"

    @property
    def failures(self) -> tuple[Finding, ...]:
        """Return the findings that fail the job."""
        return tuple(finding for finding in self.findings if finding.outcome == "failed")

    @property
    def undecided(self) -> tuple[Finding, ...]:
        """Return the findings that passed without being shown."""
        return tuple(finding for finding in self.findings if finding.outcome == "undecided")

    @property
    def conditional(self) -> tuple[Finding, ...]:
        """Return the findings that passed under a condition the runs cannot show."""
        return tuple(finding for finding in self.findings if finding.outcome == "passed")

    @property
    def passed(self) -> bool:
        """Return whether the job passes."""
        return not self.failures


class Conclusion(Struct, frozen=True):
    """One benchmark, and the side where several are compared, in a word and in a sentence."""

    about: str
    word: str
    sentence: str
    more: str = ""
    benchmark: str | None = None
    tone: Tone = "plain"


class Lead(Struct, frozen=True):
    """What an answer begins with: a word in capitals, a sentence, and the numbers behind it.

    The conditions of a claim are part of the sentence. Without a word it is a sentence alone.
    """

    word: str
    claim: str
    numbers: str = ""
    tone: Tone = "plain"

    @property
    def text(self) -> str:
        """Return the sentence with its numbers."""
        return f"{self.claim} {self.numbers}".strip()

    def __str__(self) -> str:
        """Return the whole as one text."""
        return f"{self.word}: {self.text}" if self.word else self.text
