"""In which form are time stamps written? A form is a hypothesis that reads every stamp, or none."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from ttastats.formats.block import TimeColumn
from ttastats_parsers.own_choice import texts, times

#: What the parts of a date are written like; of two forms that suit a stamp the first one is tried.
_PARTS = {"%Y": r"\d{4}", "%m": r"\d\d", "%d": r"\d\d", "%e": r"[ \d]\d",
          "%b": r"[A-Z][a-z]{2}", "%a": r"[A-Z][a-z]{2}"}  # fmt: skip
_DATES = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%m/%d/%Y", "%d/%m/%Y", "%m/%d", "%d/%m", "%m-%d",
    "%a %d %b %Y", "%a, %d %b %Y", "%d %b %Y", "%d/%b/%Y", "%d-%b-%Y", "%a %b %e", "%b %e",
)  # fmt: skip
#: Stamps of this many rows are tried.
_TRIED = 100


def _written(form: str) -> str:
    return re.sub("%[a-zA-Z]", lambda part: _PARTS[part[0]], form.replace(".", r"\."))


#: A stamp, as Python writes it, and programs in C: the year may stand at the end.
STAMP = re.compile(
    rf"(?P<date>(?:{'|'.join(map(_written, _DATES))})(?P<between>[T _,-]{{1,3}}))?\d\d:\d\d:\d\d"
    r"(?:(?P<mark>[.,])\d+)?(?P<year> \d{4}\b)?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)


def form_of(cells: pl.Series) -> str | None:
    """Return the format of stamps such as `2024-01-31 12:00:00,123`, or None."""
    stamps = texts(cells).drop_nulls().head(_TRIED)
    match = STAMP.fullmatch(stamps[0]) if len(stamps) else None
    forms = _forms(match) if match else ()
    read = ((form, times(stamps, TimeColumn("", format=form))) for form in forms)
    return next((form for form, seconds in read if not seconds.has_nulls()), None)


def _forms(stamp: re.Match[str]) -> Iterator[str]:
    """Yield the formats that a stamp may have."""
    zone = {None: "", "Z": "Z"}.get(stamp["zone"], "%z")
    fraction, year = f"{stamp['mark']}%f" if stamp["mark"] else "", " %Y" * bool(stamp["year"])
    clock = f"%H:%M:%S{fraction}{year}{zone}"
    if not stamp["date"]:
        yield clock
    between = stamp["between"] or ""
    date = (stamp["date"] or "").removesuffix(between)
    yield from (f"{form}{between}{clock}" for form in _DATES if re.fullmatch(_written(form), date))


def expression_like(stamp: re.Match[str]) -> str:
    """Return a regular expression for stamps that are written like one, in a group."""
    date = next(_forms(stamp)).partition("%H")[0]
    clock = stamp[0][len(stamp["date"] or "") :].removesuffix(stamp["zone"] or "")
    clock = re.sub(r"\d+", lambda digits: rf"\d{{{len(digits[0])}}}", clock)
    clock = re.sub(r"([.,])\\d\{\d+\}", lambda part: rf"{re.escape(part[1])}\d+", clock)
    return f"(?P<stamp>{_written(date)}{clock})"
