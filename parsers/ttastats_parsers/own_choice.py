"""Which columns of a file does its block mean or is guessed, and which numbers stand in them?"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TypeVar

import msgspec
import polars as pl

from ttastats.base import metrics as names
from ttastats.base.errors import suggestion
from ttastats.base.metrics import higher_is_better
from ttastats.base.records import Problem, Severity
from ttastats.base.streams import with_encoding
from ttastats.formats.block import Block, CountColumn, Metric, TimeColumn

_Column = TypeVar("_Column", TimeColumn, CountColumn)


class UnfitError(Exception):
    """A file that its block cannot be used on, with the problem to tell."""

    def __init__(self, code: str, message: str, line: int | None = None) -> None:
        message = with_encoding(message)
        super().__init__(message)
        self.problem = Problem(code, message, "error", line)


class ChosenColumns(msgspec.Struct):
    """The columns of one file, and what was guessed; `counts` are those that it has."""

    metrics: tuple[Metric, ...]
    clock: TimeColumn | None
    other_clocks: tuple[TimeColumn, ...]
    counts: dict[str, CountColumn]
    problems: list[Problem]

    @property
    def numbers(self) -> dict[str, str]:
        """Return the columns that must be numbers: counts by name, and metrics as `m0`, `m1` ..."""
        columns = {name: count.column for name, count in self.counts.items()}
        return columns | {f"m{number}": metric.name for number, metric in enumerate(self.metrics)}


def choose(block: Block, columns: Sequence[str]) -> ChosenColumns:
    """Return the columns of a file for a block, guessing what it leaves open.

    A column that it names and the file lacks, or no metric at all, is an UnfitError.
    """
    problems: list[Problem] = []
    metrics = _metrics(block, columns, problems)
    clock = _clock(block, columns, problems)
    guessed: list[str] = []
    counts: dict[str, CountColumn] = {}
    for key, names_of_count in names.COUNTS.items():
        counts_of_block: Sequence[CountColumn] | None = getattr(block, key)
        if counts_of_block is not None:
            if (count := _first_listed(counts_of_block, columns, key, block)) is not None:
                counts[key] = count
        elif (column := names.first_known(names_of_count, columns)) is not None:
            counts[key] = CountColumn(column)
            guessed += [f"{key}: {column}"] if column != key else []
    if guessed:
        problems.append(Problem("guessed_column", f"read as {'; '.join(guessed)}", "info"))
    for column in block.run:
        _expect_column(column, columns, "run")
    other_clocks = (
        time for time in block.seconds or () if time.column in columns and time != clock
    )
    return ChosenColumns(metrics, clock, tuple(other_clocks), counts, problems)


def _first_listed(
    choices: Sequence[_Column], columns: Sequence[str], key: str, block: Block
) -> _Column | None:
    """Return the first listed column of the file; an error if it must have one."""
    for choice in choices:
        if choice.column in columns:
            return choice
    if choices and key not in block.may_lack:
        _expect_column(choices[0].column, columns, key)
    return None


def _expect_column(column: str, columns: Sequence[str], key: str) -> None:
    """Raise an UnfitError if a file lacks a column."""
    if column not in columns:
        nearest = suggestion(column, columns, "Columns", most=12)
        raise UnfitError("no_column", f"{key}: no column {column!r}. {nearest}")


def _metrics(block: Block, columns: Sequence[str], problems: list[Problem]) -> tuple[Metric, ...]:
    """Return the metrics of the block, else those guessed by the names of columns."""
    if block.metrics:
        metrics = tuple(metric for metric in block.metrics if metric.name in columns)
        reason = f"no column {block.metrics[0].name!r}."
        if not metrics and (
            metrics := tuple(metric for metric in block.otherwise if metric.name in columns)
        ):
            text = f"no evaluation was logged: the training metric {metrics[0].name} is read in its"
            problems.append(Problem("training_metric", f"{text} place", "warning"))
    else:
        guessed = names.guess_metrics(columns)
        metrics = tuple(Metric(name, higher_is_better(name), guessed=True) for name in guessed)
        reason = "no column looks like a metric; set one."
        problems.append(Problem("guessed_metric", f"read as metrics: {', '.join(guessed)}", "info"))
    if not metrics:
        name = block.metrics[0].name if block.metrics else ""
        nearest = suggestion(name, columns, "Columns", most=12)
        raise UnfitError("no_metric", f"{reason} {nearest}")
    problems += directions(metrics)
    return metrics


def directions(metrics: Sequence[Metric]) -> list[Problem]:
    """Return a problem for each metric whose direction is guessed or unknown."""
    problems = []
    for better, word in ((True, "higher"), (False, "lower")):
        guessed = [m.name for m in metrics if m.guessed and m.higher_is_better is better]
        if guessed:
            text = f"{word} is better, by name: {', '.join(guessed)}"
            problems.append(Problem("guessed_direction", text, "info"))
    unknown = [metric.name for metric in metrics if metric.higher_is_better is None]
    if unknown:
        text = f"is higher or lower better? Write '{unknown[0]} higher' or '{unknown[0]} lower'"
        problems.append(Problem("unknown_direction", text, "warning"))
    return problems


def _clock(block: Block, columns: Sequence[str], problems: list[Problem]) -> TimeColumn | None:
    """Return the clock of the block, else one guessed by the names of columns."""
    if block.seconds is not None:
        return _first_listed(block.seconds, columns, "seconds", block)
    clocks = names.guess_clocks(columns)
    if len(clocks) > 1:
        clock_names = " and ".join(name for name, _ in clocks)
        text = (
            f"{clock_names} may each be the clock: select one, such as seconds = '{clocks[0][0]} s'"
        )
        problems.append(Problem("two_clocks", text, "warning"))
    if len(clocks) != 1:
        return None
    name, seconds = clocks[0]
    text = f"read as seconds: '{name} {names.UNITS[seconds]}'"
    problems.append(Problem("guessed_clock", text, "info"))
    return TimeColumn(name, seconds)


#: Cells that say: nothing here.
EMPTY = ("", "-", "--", "None", "none", "null", "NULL", "N/A", "n/a", "NA", "<NA>")
#: Cells of one kind that are named before the rest is only counted.
_MOST_NAMES = 3
#: A column of a table holds no larger whole number.
_LARGEST = 2.0**62
#: Of so few cells, a query takes longer than what it does.
FEW = 256
_TEXTS = pl.first().cast(pl.String(), strict=False).str.strip_chars().replace(EMPTY, None)
#: What queries strip; Python by itself strips more.
BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_WITHOUT_PERCENT = pl.first().str.strip_suffix("%").str.strip_chars()


def texts(cells: pl.Series) -> pl.Series:
    """Return cells as stripped texts, null if empty."""
    if cells.dtype.is_nested():
        return pl.Series(cells.name, [None] * len(cells), pl.String())
    if len(cells) > FEW:
        return cells.to_frame().select(_TEXTS).to_series()
    cells = cells.cast(pl.String(), strict=False)
    originals = cells.to_list()
    stripped = [text if text is None else _bare_text(text) for text in originals]
    return cells if stripped == originals else pl.Series(cells.name, stripped, pl.String())


def _bare_text(cell: str) -> str | None:
    """Return a cell as a stripped text, None if empty."""
    text = cell.strip(BLANKS)
    return None if text in EMPTY else text


_GROUPED = r"^[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?$"
#: Blanks, thin ones too, that part thousands.
_SPACED = r"^[-+]?[1-9]\d{0,2}(?:\s\d{3})+(?:[.,]\d*)?$"
_DECIMAL = r"^[-+]?(?:\d+|(?:\d{1,3}(?:\.\d{3})+|\d*),\d+)(?:[eE][-+]?\d+)?$"
_ENDINGS = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "st": 1, "nd": 1, "rd": 1, "th": 1}


def numbers(cells: pl.Series) -> pl.Series:
    """Return cells as floats, null where they are no number; NaN and infinite ones stay.

    `1,000`, `1 000`, `1_000`, `5k`, `3rd` are read whole, `0,54` where the whole column has decimal
    commas, `99/100` as a share where higher is better. A comma that may mean either leaves a cell
    without.
    """
    if cells.dtype.is_numeric():
        return cells.cast(pl.Float64())
    text = texts(cells)
    if (values := _plain_numbers(text)) is not None:
        return values
    text = text.to_frame().select(_WITHOUT_PERCENT).to_series()
    if (values := _plain_numbers(text)) is not None:
        return values
    values = text.cast(pl.Float64(), strict=False)
    spaced = text.str.contains(_SPACED).fill_null(value=False)
    text = text.set(spaced, None).fill_null(text.str.replace_all(r"\s", ""))
    grouped = text.str.contains(r"^[-+]?\d{1,3}(?:_\d{3})+(?:\.\d*)?$").fill_null(value=False)
    text = text.str.replace_all("_", "", literal=True).zip_with(grouped, text)
    values = values.fill_null(text.cast(pl.Float64(), strict=False))
    if mark := _thousands_mark(text, values):
        text = text.str.replace_all(mark, "", literal=True).str.replace(",", ".")
        values = values.fill_null(text.cast(pl.Float64(), strict=False))
    parts = text.str.extract_groups(r"^([-+]?\d*\.?\d+)\s?(?:([kKMBG]|st|nd|rd|th)|/\s?(\d+))$")
    number, ending, divisor = parts.struct.unnest()
    scale = ending.replace_strict(_ENDINGS, default=None, return_dtype=pl.Float64())
    values = values.fill_null(number.cast(pl.Float64()) * scale)
    if higher_is_better(cells.name):
        values = values.fill_null(number.cast(pl.Float64()) / divisor.cast(pl.Float64()))
    return values


def _plain_numbers(text: pl.Series) -> pl.Series | None:
    """Return texts as floats if each is written as one, else None."""
    values = text.cast(pl.Float64(), strict=False)
    return values if values.null_count() == text.null_count() else None


def all_finite(values: pl.Series) -> bool:
    """Return whether the sum of numbers, and so each that is known, is finite."""
    return math.isfinite(values.sum())


def _thousands_mark(text: pl.Series, values: pl.Series) -> str | None:
    """Return the mark of thousands in a column, a comma or a point; None if uncertain."""
    commas = text.filter(text.str.contains(",", literal=True))
    if commas.is_empty():
        return None
    if not commas.str.contains(_GROUPED).all():
        return "." if text.drop_nulls().str.contains(_DECIMAL).all() else None
    # Counts are whole, and who parts thousands does so in each number.
    is_count = any(names.plain(text.name) in likely for likely in names.LIKELY_COUNTS.values())
    small = values.drop_nulls().abs() < 1000
    certain = (
        is_count or commas.str.contains(".", literal=True).any() or (len(small) and small.all())
    )
    return "," if certain else None


def whole(number: float | None) -> int | None:
    """Return a count as an integer that a table can hold, or None."""
    return int(number) if number is not None and abs(number) < _LARGEST else None


def not_numbers(cells: pl.Series, values: pl.Series, lines: pl.Series) -> list[Problem]:
    """Return the problems of cells that are texts in place of a number, NaN or infinite."""
    column = cells.name
    words = values if cells.dtype.is_numeric() else texts(cells)
    if all_finite(values) and _plain_numbers(words) is not None:
        return []
    kinds: list[tuple[str, Severity, pl.Series, pl.Series]] = [
        ("not_a_number", "error", words, words.is_not_null() & values.is_null()),
        ("not_finite", "warning", values, ~values.is_finite()),
    ]
    problems = []
    if not cells.dtype.is_numeric() and _thousands_mark(words, values) == ".":
        problems.append(Problem("decimal_comma", f"{column}: read with decimal commas", "info"))
    for code, severity, originals, is_odd in kinds:
        rows = is_odd.arg_true().to_list()
        for at in rows[:_MOST_NAMES]:
            cell = str(originals.slice(at, 1).cast(pl.String()).item())
            text = f"{column}: {cell[:80]!r} is not a number"
            if re.match(_GROUPED, cell):
                text += " for certain: does its comma part thousands, or decimals?"
            problems.append(Problem(code, text, severity, lines[at]))
        if len(rows) > _MOST_NAMES:
            text = f"{column}: {len(rows) - _MOST_NAMES:,} more cells are not numbers"
            problems.append(Problem(code, text, severity))
    return problems


_CLOCK = r"^(?:(?P<d>\d+)(?: days?,? |-))?\+?(?:(?P<h>\d+):)?(?P<min>\d+):(?P<s>\d\d(?:[.,]\d+)?)$"
#: What units of a duration are called: `2h 05m`, `1 min 3.5 sec`, `250ms`, `P1DT2H`.
_UNITS = {
    "d": "days?|d", "h": "hours?|hrs?|h", "min": "minutes?|mins?|m", "s": "seconds?|secs?|s",
    "ms": "milliseconds?|msecs?|ms",
}  # fmt: skip
_WITH_UNITS = "".join(
    rf"(?:(?P<{unit}>\d(?:[\d.,]*\d)?)\s?(?:{words}),?\s*T?)?" for unit, words in _UNITS.items()
)


def times(cells: pl.Series, clock: TimeColumn) -> pl.Series:
    """Return the seconds in a column of a clock; time stamps count from 1970.

    A duration may be written `1:02:03`, `02:03` for minutes and seconds, `0 days 00:02:03.5`,
    `1-02:03:04` as by slurm, or with units of its own, as `2m 3s`, and `PT2M3S` in ISO 8601.
    """
    if clock.format not in {None, "unix"}:
        return _seconds_since_1970(texts(cells), str(clock.format))
    seconds = numbers(cells) * clock.seconds
    if not all_finite(seconds):
        seconds = seconds.set(~seconds.is_finite(), None)
    if clock.format is None and seconds.null_count() > texts(cells).null_count():
        for form in (_CLOCK, f"(?i)^P?T?{_WITH_UNITS}$"):
            parts = texts(cells).str.extract_groups(form).struct.unnest()
            passed = [_amounts(part) * names.SECONDS[part.name] for part in parts]
            has_part = pl.any_horizontal(part.is_not_null() for part in passed)
            sums = pl.select(pl.when(has_part).then(pl.sum_horizontal(passed))).to_series()
            seconds = seconds.fill_null(sums)
    return seconds


def _amounts(cells: pl.Series) -> pl.Series:
    """Return numbers before a unit; their commas part thousands unless they can only be decimal."""
    grouped = cells.str.replace_all(",", "", literal=True).cast(pl.Float64(), strict=False)
    return numbers(cells).fill_null(grouped)


def is_dated(clock: TimeColumn | None) -> bool:
    """Return whether a clock has dates, so that the start of a run is known."""
    form = (clock.format if clock else None) or ""
    return form == "unix" or any(part in form for part in ("%Y", "%y", "%F", "%s"))


def tells_day(form: str | None) -> bool:
    """Return whether the format of a clock includes the day; true without stamps."""
    days = ("%d", "%e", "%j", "%F", "%s", "%c", "unix")
    return form is None or any(part in form for part in days)


def _seconds_since_1970(stamps: pl.Series, form: str) -> pl.Series:
    """Read stamps of a form as Python writes it; `%f` are the digits behind the seconds."""
    fraction = pl.Series("fraction", [0.0] * len(stamps))
    if "%f" in form:
        prefix, _, suffix = form.partition("%f")
        mark = prefix[-1:] if prefix[-1:] in ".,:" else ""
        start = f"[{mark}]" if mark else ""
        digits = rf"{start}(\d+)(.*)$" if suffix else rf"{start}(\d+)()$"
        fraction = ("0." + stamps.str.extract(digits)).cast(pl.Float64(), strict=False)
        stamps = stamps.str.replace(digits, "$2")
        form = prefix.removesuffix(mark) + suffix
    if not any(part in form for part in ("%Y", "%y", "%F", "%s", "%c")):
        stamps, form = "2000 " + stamps, f"%Y {form}"
    if not tells_day(form):
        stamps, form = "01-01 " + stamps, f"%m-%d {form}"
    zoned = "%z" in form or "%Z" in form
    kind = pl.Datetime("us", "UTC") if zoned else pl.Datetime("us")
    try:
        moments = stamps.str.strptime(kind, form, strict=False)
    except pl.exceptions.PolarsError:
        return pl.Series(stamps.name, [None] * len(stamps), pl.Float64())
    return moments.cast(pl.Int64()) / 1e6 + fraction.fill_null(0.0)
