"""What does an answer remark beside its numbers, and in which words?"""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ttastats.base import percentages, units
from ttastats.base.codes import TEXTS


class Note(Struct, frozen=True):
    """A footnote: a code for programs, advice for people, a mark if cells refer to it."""

    code: str
    text: str
    mark: str = ""

    def prefixed(self, name: str) -> Note:
        """Return the note with the name of a side or group in front, if there is a name."""
        return replace(self, text=f"{name}: {self.text}") if name else self


def note(key: str, mark: str = "", **fields: object) -> Note:
    """Return the note for a key of `codes.TEXTS`; the part before a dot is its code."""
    return Note(key.partition(".")[0], wording(key, **fields), mark)


def wording(key: str, **fields: object) -> str:
    """Return a text of `codes.TEXTS` with its fields filled in."""
    return fill_template(TEXTS[key], **fields)


def fill_template(template: str, *values: object, **fields: object) -> str:
    """Return a template with its fields filled in, formatted as their specifications say."""
    return _TEMPLATE.vformat(template, values, fields)


class _Template(Formatter):
    """A template whose fields may be written as `units` does: `{n:# run}` is `1 run`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a field formatted by a writer of `_WRITERS`, or by Python's own rules."""
        writer, _, argument = format_spec.partition(" ")
        if writer in _WRITERS:
            return _WRITERS[writer](value, argument)
        return format(value, format_spec)


#: How a field is written, by the first word of its specification; the rest is an argument.
_WRITERS: dict[str, Callable[[Any, str], str]] = {
    "#": lambda number, forms: units.plural(number, *forms.split("/")),  # {n:# entry/entries}
    "?": lambda number, forms: forms.split("/")[number != 1],  # {n:? its/their}: their
    "list": lambda names, most: units.join_names(names, int(most or 6)),  # {names:list 3}: a, b, c
    "join": lambda names, _: "; ".join(names),
    "percent": lambda share, _: percentages.percent_text(share),
    "seconds": lambda number, _: units.seconds(number),
    "p": lambda p_value, _: units.p_text(p_value),
    "significant": lambda number, digits: units.significant(number, int(digits or 3)),
}
_TEMPLATE = _Template()
