"""Which numbers and times stand in the cells of a column?"""

from __future__ import annotations

import polars as pl

from ttastats.base.records import Problem, Severity
from ttastats.formats.own_logs.block import TimeColumn

#: Cells that say: nothing here.
EMPTY = ("", "-", "--", "None", "none", "null", "NULL", "N/A", "n/a", "NA", "<NA>")
#: Cells of one kind that are named before the rest is only counted.
_NAMED = 3
#: A column of a table holds no larger whole number.
_LARGEST = 2.0**62


def texts(cells: pl.Series) -> pl.Series:
    """Return cells as stripped texts, null if empty."""
    if cells.dtype.is_nested():
        return pl.Series(cells.name, [None] * len(cells), pl.String())
    stripped = cells.cast(pl.String(), strict=False).str.strip_chars()
    return stripped.set(stripped.is_in(EMPTY), None)


def numbers(cells: pl.Series) -> pl.Series:
    """Return cells as floats, null where they are no number; NaN and infinite ones stay."""
    if cells.dtype.is_numeric():
        return cells.cast(pl.Float64())
    return texts(cells).str.strip_suffix("%").str.strip_chars().cast(pl.Float64(), strict=False)


def whole(number: float | None) -> int | None:
    """Return a count as an integer that a table can hold, or None."""
    return int(number) if number is not None and abs(number) < _LARGEST else None


def not_numbers(cells: pl.Series, values: pl.Series, lines: pl.Series) -> list[Problem]:
    """Return which cells of a column are texts where a number belongs, NaN or infinite."""
    column = cells.name
    words = values if cells.dtype.is_numeric() else texts(cells)
    kinds: list[tuple[str, Severity, pl.Series, pl.Series]] = [
        ("not_a_number", "error", words, words.is_not_null() & values.is_null()),
        ("not_finite", "warning", values.cast(pl.String()), ~values.is_finite()),
    ]
    problems = []
    for code, severity, shown, is_odd in kinds:
        where = is_odd.arg_true().to_list()
        problems += [
            Problem(code, f"{column}: {str(shown[at])[:80]!r} is not a number", severity, lines[at])
            for at in where[:_NAMED]
        ]
        if len(where) > _NAMED:
            text = f"{column}: {len(where) - _NAMED:,} more cells are not numbers"
            problems.append(Problem(code, text, severity))
    return problems


_DURATION = r"^(?:(?P<d>\d+) days?, )?(?:(?P<h>\d+):)?(?P<m>\d+):(?P<s>\d\d(?:\.\d+)?)$"


def times(cells: pl.Series, clock: TimeColumn) -> pl.Series:
    """Return the seconds in a column of a clock; time stamps count from 1970.

    A duration may be written `1:02:03`, or `02:03` for minutes and seconds.
    """
    if clock.format not in {None, "unix"}:
        return _seconds_since_1970(texts(cells), str(clock.format))
    seconds = numbers(cells) * clock.seconds
    seconds = seconds.set(~seconds.is_finite(), None)
    if clock.format is None and not cells.dtype.is_numeric():
        parts = texts(cells).str.extract_groups(_DURATION).struct.unnest().cast(pl.Float64)
        days, hours = (parts[name].fill_null(0.0) for name in "dh")
        written = days * 86_400.0 + hours * 3600.0 + parts["m"] * 60.0 + parts["s"]
        seconds = seconds.fill_null(written)
    return seconds


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
        before, _, after = form.partition("%f")
        mark = before[-1:] if before[-1:] in ".,:" else ""
        start = f"[{mark}]" if mark else ""
        digits = rf"{start}(\d+)(.*)$" if after else rf"{start}(\d+)()$"
        fraction = ("0." + stamps.str.extract(digits)).cast(pl.Float64(), strict=False)
        stamps = stamps.str.replace(digits, "$2")
        form = before.removesuffix(mark) + after
    if not any(part in form for part in ("%Y", "%y", "%F", "%s", "%c")):
        stamps, form = "2000 " + stamps, f"%Y {form}"
    if not tells_day(form):
        stamps, form = "01-01 " + stamps, f"%m-%d {form}"
    zoned = "%z" in form or "%Z" in form
    kind = pl.Datetime("us", "UTC") if zoned else pl.Datetime("us")
    try:
        read = stamps.str.strptime(kind, form, strict=False)
    except pl.exceptions.PolarsError:
        return pl.Series(stamps.name, [None] * len(stamps), pl.Float64())
    return read.cast(pl.Int64()) / 1e6 + fraction.fill_null(0.0)
