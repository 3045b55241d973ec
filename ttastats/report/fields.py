"""How do rows become a table for people, and which keys have rows of several answers?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Generic, TypeVar

from msgspec import Struct

from ttastats.outcomes.axis import Axis
from ttastats.report.cells import Cell, Column, Line, Quantity, Reached, Table, Text, Unit
from ttastats.report.row import Key, Lazy, Row, key_descriptions
from ttastats.table import schema

#: The rows of which a column makes cells.
T = TypeVar("T", contravariant=True)


class Field(Struct, Generic[T], frozen=True):
    """A column, and what makes its cell of a row for programs."""

    column: Column
    cell: Callable[[T], Cell]


def make_table(
    rows: Sequence[T],
    fields: Sequence[Field[T]],
    title: str,
    details: Sequence[tuple[str, ...]] = (),
) -> Table:
    """Return a table of rows with a column for each field, and detail lines below each row."""

    def make_line(place: int) -> Line:
        cells = tuple(field.cell(rows[place]) for field in fields)
        return Line(cells, details[place] if details else ())

    return Table(tuple(field.column for field in fields), Lazy(make_line, len(rows)), title)


def key_fields(names: Sequence[str], *, heads: bool = True) -> list[Field[Any]]:
    """Return the fields of grouping keys; `heads` lets them be titles above common rows."""
    return [Field(Column(name, names=True, heads=heads), partial(key_cell, name)) for name in names]


def key_cell(name: str, row: Row) -> Text:
    """Return the cell of a grouping key; an unknown one is shown as such."""
    return Text("unknown" if row.get(name) is None else str(row.get(name)))


def number_field(
    title: str,
    name: str,
    unit: Unit = "count",
    *,
    interval: bool = False,
    std: str = "",
    rank: int = 0,
    drawn: bool = False,
) -> Field[Any]:
    """Return the field of a number with its interval or standard deviation."""

    def cell(row: Row) -> Quantity:
        low, high = (row.get(f"{name}_low"), row.get(f"{name}_high")) if interval else (None, None)
        spread = row.get(std) if std else None
        return Quantity(row.get(name), unit, low, high, spread, spread_is_std=bool(std))

    return Field(Column(title, "right", rank=rank, intervals=drawn), cell)


#: How numbers of a unit are shown; those of another, such as runs, are counts.
_SHOWN: dict[str, Unit] = {
    "fraction": "fraction", "ratio": "ratio", "number": "number", "bytes": "bytes",
    "flop/second": "flop/second", "seconds": "seconds", "dollars": "dollars",
}  # fmt: skip


def number_fields(kind: type[Row], *names: str, rank: int = 0) -> list[Field[Any]]:
    """Return the fields of several numbers of a row, as the metadata of their keys describe."""

    def described(name: str) -> Field[Any]:
        about = key_descriptions(kind)[name]
        title, unit = about.title or name, _SHOWN.get(about.unit, "count")
        return number_field(title, name, unit, interval=about.interval, std=about.std, rank=rank)

    return [described(name) for name in names]


def field_of_part(field: Field[Any], part: Callable[[Any], Row]) -> Field[Any]:
    """Return a field of a part of a row as a field of the row."""
    return Field(field.column, lambda row: field.cell(part(row)))


def text_field(title: str, text: Callable[[T], str], *, rank: int = 0) -> Field[T]:
    """Return a field of text that is aligned like numbers."""
    return Field(Column(title, "right", rank=rank), lambda row: Text(text(row)))


def expected_time_field(rows: Sequence[Row], axis: Axis) -> list[Field[Any]]:
    """Return the field of the expected time to a success, if any run failed."""
    if all(row.get("reached") == row.get("n") for row in rows):
        return []
    return [number_field("ERT" if axis.is_time else axis.expected, "ert_seconds", axis.unit)]


def log_field() -> Field[Any]:
    """Return the field of the name of a run's log."""
    column = Column("log", rank=1, names=True)
    return Field(column, lambda row: Text(row.source.split("/")[-1]))


def known_keys(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Return those of some keys that have a value in any row."""
    return [name for name in names if any(row.get(name) is not None for row in rows)]


def reached_field(rank: int = 0) -> Field[Any]:
    """Return the field of how many runs reached the target."""
    column = Column("reached", "right", rank=rank)
    return Field(column, lambda row: Reached(row.get("reached"), row.get("n")))


def column_key(name: str, unit: str = "") -> Key:
    """Return the key of a column of the table of runs."""
    return Key(next(column.description for column in schema.COLUMNS if column.name == name), unit)


RunId = Annotated[str, column_key("run_id")]
Source = Annotated[str, column_key("source")]
Suite = Annotated[str | None, column_key("suite")]
Round = Annotated[str | None, column_key("round")]
Benchmark = Annotated[str | None, column_key("benchmark")]
Entry = Annotated[str | None, column_key("entry")]
Submitter = Annotated[str | None, column_key("submitter")]
System = Annotated[str | None, column_key("system")]
RunStatus = Annotated[str, column_key("run_status")]
RunSeconds = Annotated[float | None, column_key("run_seconds", "seconds")]
Seed = Annotated[int | None, column_key("seed")]
Steps = Annotated[float | None, Key("steps trained until then", "steps")]
Epochs = Annotated[float | None, Key("epochs trained until then", "epochs")]
Samples = Annotated[float | None, Key("samples trained until then", "samples")]
Cost = Annotated[float | None, Key("what the time until then cost", "dollars")]
SetAside = Annotated[str | None, Key("code of the reason why the run does not count")]

RunCount = Annotated[int, Key("runs of the group", "runs")]
ReachedCount = Annotated[int, Key("those of them that reached the target", "runs")]
AxisName = Annotated[str, Key("what is counted to the target: the name of an axis (`--in`)")]
TtaMean = Annotated[
    float | None, Key("mean time to the target of the runs that reached it", "axis")
]
TtaStd = Annotated[float | None, Key("standard deviation of the time to the target", "axis")]
Ert = Annotated[
    float | None, Key("expected time to a success: what failed runs took is included", "axis")
]
EpochsMean = Annotated[float | None, Key("mean epochs to the target", "epochs", "epochs")]
EpochSecondsMean = Annotated[float | None, Key("mean time per epoch", "axis")]
Cv = Annotated[
    float | None,
    Key("coefficient of variation of the times to the target", "fraction", interval=True),
]
SpeedupOfB = Annotated[float | None, Key("mean of A over that of B: above 1, B is faster", "ratio")]
PAlone = Annotated[float | None, Key("p of no difference, of this row alone")]
PAdjusted = Annotated[float | None, Key("the same, adjusted for all that is judged together")]
VerdictOfTimes = Annotated[str, Key("of B: faster, slower, same, undecided or unavailable")]
Dagger = Annotated[bool, Key("whether the claim holds for a constant number of epochs only")]
Conditions = Annotated[list[str], Key("codes of what has to be true for the claim")]
Marks = Annotated[str, Key("the marks of these conditions: †, ‡")]
Why = Annotated[str | None, Key("why nothing is decided, or what the claim carries")]
#: The limits of the interval of the key before them, in its unit.
Low = Annotated[float | None, Key("lower limit of its confidence interval", "same")]
High = Annotated[float | None, Key("upper limit of its confidence interval", "same")]
Withheld = Annotated[str | None, Key("code of the reason why it has no interval")]


Interrupted = Annotated[int, Key("runs that the user interrupted: not counted", "runs")]
RejectedLogs = Annotated[int, Key("logs that could not be read", "logs")]
MissingRuns = Annotated[int, Key("runs missing from numbered sets", "runs")]


class LeftOutKeys(Row, frozen=True):
    """What belongs to a group of runs and is in none of its numbers."""

    interrupted: Interrupted = 0
    rejected_logs: RejectedLogs = 0
    missing_runs: MissingRuns = 0


class LeftOutOfA(Row, frozen=True):
    """The same of side A."""

    interrupted_a: Interrupted = 0
    rejected_logs_a: RejectedLogs = 0
    missing_runs_a: MissingRuns = 0


class LeftOutOfB(Row, frozen=True):
    """The same of side B."""

    interrupted_b: Interrupted = 0
    rejected_logs_b: RejectedLogs = 0
    missing_runs_b: MissingRuns = 0
