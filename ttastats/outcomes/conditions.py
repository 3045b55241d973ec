"""What does a condition say: which column, how compared, with which values?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ttastats.base.errors import TtastatsError

_CONDITION = re.compile(r"\s*(\w[\w./-]*)\s*(!=|>=|<=|==?|>|<)\s*(.*?)\s*", re.DOTALL)
#: One alternative and what ends it: in quotes anything, else up to a comma without `\` before it.
_VALUE = re.compile(
    r'\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>(?:[^,\\]|\\.|\\$)*?))\s*(?P<end>,|$)',
    re.DOTALL,
)
#: Stands for any known value.
KNOWN = "*"


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition; of several `values` one is enough, for `!=` none may hold.

    `option` is where the user wrote it: `--where`, `--a`, `--b`.
    """

    column: str
    operator: str
    values: tuple[str, ...]
    option: str = "--where"

    def __str__(self) -> str:
        # A value is read as it is: not as `==`, nor without its spaces.
        values = [
            '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
            if re.search(r'[,"\\]|^[=\s]|\s$', value)
            else value
            for value in self.values
        ]
        return f"{self.column}{self.operator}{','.join(values)}"

    @property
    def place(self) -> str:
        """Return option and condition, as error messages name their place."""
        return f"{self.option} {self}"


def parse(text: str, option: str = "--where") -> Condition:
    """Return the condition in `benchmark=bert,rgat`, `nodes>=8`, `cv>10%`, `entry="a,b"`."""
    match = _CONDITION.fullmatch(text)
    if not match:
        raise TtastatsError(
            f"{text!r} is not a condition",
            where=option,
            remedy="Use column=value, such as benchmark=resnet or nodes>=8.",
        )
    column, operator, right = match.groups()
    values, start, end = [], 0, ","
    while end and (value := _VALUE.match(right, start)):
        quoted, plain = value["quoted"], value["plain"]
        values.append(
            plain.replace("\\,", ",") if quoted is None else re.sub(r'\\(["\\])', r"\1", quoted)
        )
        start, end = value.end(), value["end"]
    condition = Condition(column, operator.replace("==", "="), tuple(values), option)
    if "" in condition.values:
        raise TtastatsError(
            f"{text!r} lacks a value",
            where=option,
            remedy=f"Use {column}={KNOWN} for known values, {column}!={KNOWN} for unknown ones.",
        )
    if len(condition.values) > 1 and operator not in {"=", "==", "!="}:
        raise TtastatsError(
            f"{text!r} has several values",
            where=option,
            remedy="A comma means `or` and works only with = and !=.",
        )
    return condition


def parse_all(texts: Iterable[str | Condition], option: str = "--where") -> tuple[Condition, ...]:
    """Return the conditions in several texts; those already parsed stay as they are."""
    return tuple(text if isinstance(text, Condition) else parse(text, option) for text in texts)
