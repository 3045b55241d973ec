"""Which column does a name mean, which rows meet conditions, and which one leaves nothing?"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import cache, reduce
from typing import Any, Literal, get_args

import polars as pl
from msgspec import Struct

from ttastats.base import percentages, units
from ttastats.base.codes import Note, note
from ttastats.base.errors import TtastatsError, nearest_names, raise_if, suggestion
from ttastats.base.records import FORMER_NAMES
from ttastats.outcomes import time_to_target
from ttastats.table import schema

_COMPARISONS: dict[str, Callable[[Any, Any], pl.Expr]] = {
    "=": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}
#: Values of a column that are named one by one.
_SHORT_LIST = 8
#: A value that is longer, such as JSON, tells nobody anything.
_LONG_TEXT = 100
_WILDCARD = re.compile(r"[*?]")
_INTEGER = re.compile(r"[-+]?[0-9]{1,30}")


def where(frame: pl.LazyFrame, conditions: Iterable[str | Condition]) -> pl.LazyFrame:
    """Return the rows meeting every condition, such as `system=dgx2*` or `nodes>=8`.

    Text is compared as a shell pattern, so `*` and `?` match anything; `*` alone is any known
    value. What is unknown meets no condition but `!=`.
    """
    if not (conditions_ := parse_all(conditions)):
        return frame
    dtypes, expressions = frame.collect_schema(), []
    for condition in conditions_:
        if isinstance(condition, Expression):
            expressions.append(condition.on(dtypes))
            continue
        name = full_name(condition.column, dtypes.names())
        if name is None:
            raise unknown(condition.column, dtypes.names(), condition.place)
        # Joined by `|`, and no null filled where it changes nothing: polars skips row groups then.
        compared = [_comparison(condition, name, dtypes[name], value) for value in condition.values]
        met = reduce(operator.or_, compared)
        expressions.append(~met.fill_null(value=False) if condition.operator == "!=" else met)
    return frame.filter(*expressions)


def _comparison(condition: Condition, name: str, dtype: pl.DataType, text: str) -> pl.Expr:
    """Return an expression that compares a column with one value; null where it is unknown."""
    column, sign = pl.col(name), condition.operator.replace("!=", "=")
    if text == KNOWN and sign == "=":
        return column.is_not_null()
    if dtype == pl.Null:
        return pl.lit(None, pl.Boolean)
    if dtype == pl.String:
        if sign == "=" and _WILDCARD.search(text):
            return column.str.contains(_wildcard_regex(text))
        return _COMPARISONS[sign](column, pl.lit(text))
    if dtype == pl.List(pl.String) and sign == "=":
        return column.list.eval(pl.element().str.contains(_wildcard_regex(text))).list.any()
    if dtype == pl.Boolean:
        truth, as_written = _TRUTH.get(text.casefold()), condition.column
        remedy = f"Write {as_written}=true."
        invalid = truth is None or sign != "="
        raise_if(invalid, f"{as_written} is true or false", condition.place, remedy)
        return column == truth
    if dtype.is_numeric():
        return _COMPARISONS[sign](column, _parse_number(condition, name, dtype, text))
    if dtype.is_temporal():
        # A span: after it is later than its end, before it earlier than its start.
        start, end = _time_span(condition, text)
        if sign == "=":
            return column.is_between(start, end)
        return _COMPARISONS[sign](column, end if sign in {">", "<="} else start)
    raise TtastatsError(f"{name} contains lists and cannot be compared", where=condition.place)


def _wildcard_regex(text: str) -> str:
    wildcards = {"*": ".*", "?": "."}
    return "(?s)^" + "".join(wildcards.get(letter) or re.escape(letter) for letter in text) + "$"


def _parse_number(condition: Condition, name: str, dtype: pl.DataType, text: str) -> float | int:
    if dtype.is_integer() and _INTEGER.fullmatch(text):
        return int(text)  # a seed may have more digits than a float
    if text.lower() in {"inf", "-inf"}:
        return float(text)
    number = percentages.parse_number(text)
    if number is None:
        raise TtastatsError(f"{text!r} is not a number", where=condition.place)
    is_percent = text.endswith("%") and not in_percent(name)
    raise_if(is_percent, f"{name} is not a fraction", condition.place, "Write it without %.")
    return number


def _time_span(condition: Condition, text: str) -> tuple[datetime, datetime]:
    """Return a moment twice, or the start and end of a day; in UTC by default."""
    with suppress(ValueError):
        day = datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
        return day, day + timedelta(days=1, microseconds=-1)
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # in the year 1 or 9999, UTC may be another
        raise TtastatsError(
            f"{text!r} is not a date",
            where=condition.place,
            remedy="Write 2024-01-31 or 2024-01-31T12:00, in UTC.",
        ) from None
    return moment, moment


def unmet(frame: pl.DataFrame, conditions: Sequence[Condition], what: str) -> TtastatsError:
    """Return the error for conditions without a row; `what` is a row, such as `run`."""
    rows = [where(frame.lazy(), [condition]).collect().height for condition in conditions]
    counts = list(zip(conditions, rows, strict=True))
    if empty := next((condition for condition, count in counts if not count), None):
        remedy = there_are(frame, empty, what)
        return TtastatsError(f"no {what} has {empty}", where=empty.option, remedy=remedy)
    matches = ", ".join(f"{condition} ({units.plural(n, what)})" for condition, n in counts)
    return TtastatsError(
        f"no {what} meets all conditions together",
        where=" ".join(condition.place for condition in conditions) or None,
        remedy=f"Each condition alone matches: {matches}." if counts else "The table is empty.",
    )


def remarks(frame: pl.DataFrame, conditions: Sequence[Condition], what: str) -> list[Note]:
    """Return notes on values that no row has: of alternatives, and of what `!=` leaves out."""
    notes = []
    for condition in conditions:
        if condition.operator != "!=" and len(condition.values) == 1:
            continue
        for value in condition.values:
            alternative = Condition(condition.column, "=", (value,), condition.option)
            if value != KNOWN and where(frame.lazy(), [alternative]).collect().is_empty():
                sentence = there_are(frame, alternative, what)
                fields = {"column": alternative.column, "value": value, "there_are": sentence}
                notes.append(note("no_such_value", option=alternative.option, what=what, **fields))
    return notes


def there_are(frame: pl.DataFrame, condition: Condition, what: str) -> str:
    """Return a sentence with the values of a column nearest to those of a condition."""
    if isinstance(condition, Expression):
        return "Nothing in the table meets it."
    name = full_name(condition.column, frame.columns) or condition.column
    values = frame.get_column(name).drop_nulls()
    if values.is_empty():
        return f"{name} is unknown for every {what}."
    if values.dtype == pl.String:
        return _known_texts(sorted(values.unique()), condition)
    if not values.dtype.is_numeric() and not values.dtype.is_temporal():
        return ""
    distinct = values.unique().sort()
    if len(distinct) == 1:
        return f"{name} is {_value_text(distinct[0])}."
    if len(distinct) <= _SHORT_LIST and values.dtype.is_integer():
        return f"{name} is one of {', '.join(_value_text(value) for value in distinct)}."
    return f"{name} lies between {_value_text(distinct[0])} and {_value_text(distinct[-1])}."


def _known_texts(values: Sequence[str], condition: Condition) -> str:
    """Return the values of a column in words, or those nearest to a missing one."""
    if max(map(len, values)) > _LONG_TEXT:
        verb = "is" if len(values) == 1 else "are"
        return f"There {verb} {units.plural(len(values), 'other value')}."
    if condition.operator == "=":
        for value in condition.values:
            text = value.replace("*", "").replace("?", "")
            if nearest_names(text, values):
                return suggestion(text, values, "Values", _SHORT_LIST)
    if len(values) <= _SHORT_LIST:
        return f"Values: {', '.join(values)}."
    return f"There are {len(values)}, from {values[0]} to {values[-1]}."


def _value_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value.isoformat(timespec="seconds") if hasattr(value, "isoformat") else str(value)


_CONDITION = re.compile(r"\s*(\w[\w./-]*)\s*(!=|>=|<=|==?|>|<)\s*(.*?)\s*", re.DOTALL)
#: One alternative and what ends it: in quotes anything, else up to a comma without `\` before it.
_VALUE = re.compile(
    r'\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>(?:[^,\\]|\\.|\\$)*?))\s*(?P<end>,|$)',
    re.DOTALL,
)
#: Stands for any known value.
KNOWN = "*"


class Condition(Struct, frozen=True):
    """One condition, as written in an `option`; one of its values is enough, none for `!=`."""

    column: str
    operator: str
    values: tuple[str, ...]
    option: str = "--where"

    def __str__(self) -> str:
        # A value is read as it is: not as `==`, nor without its spaces.
        values = [
            '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
            if re.search(r'[,"\\]|^[=<>\s]|\s$', value)
            else value
            for value in self.values
        ]
        return f"{self.column}{self.operator}{','.join(values)}"

    @property
    def place(self) -> str:
        """Return option and condition, as error messages name their place."""
        return f"{self.option} {self}"


class Expression(Condition, frozen=True, eq=False):
    """A condition that is an expression of polars; `column` is what decides of what it is."""

    expression: pl.Expr = pl.lit(value=True)

    def __str__(self) -> str:
        return str(self.expression)

    def on(self, types: pl.Schema) -> pl.Expr:
        """Return the expression for a table; raise an error if it gives no truth value there."""
        for name in self.expression.meta.root_names():
            if name not in types:
                raise unknown(name, types.names(), self.option)
        truth = pl.LazyFrame(schema=types).select(holds=self.expression)
        try:
            is_truth = truth.collect_schema()["holds"] == pl.Boolean
        except pl.exceptions.PolarsError as error:
            message = f"{self}: {error}".partition("\n")[0]
            raise TtastatsError(message, where=self.option, remedy=_COMPARE) from None
        raise_if(not is_truth, f"{self} is neither true nor false", self.option, _COMPARE)
        return self.expression


_COMPARE = "Compare a column with a value, such as pl.col('nodes') >= 8."


def parse_expression(expression: pl.Expr, option: str = "--where") -> Expression:
    """Return the condition in an expression, which is of what its latest column is of."""
    names = expression.meta.root_names()
    raise_if(not names, f"{expression} names no column", option, _COMPARE)
    column = max(names, key=lambda name: get_args(Kind).index(kind(name)))
    return Expression(column, "=", (), option, expression)


def parse(text: str, option: str = "--where") -> Condition:
    """Return the condition in `benchmark=bert,rgat`, `nodes>=8`, `cv>10%`, `entry="a,b"`."""
    match = _CONDITION.fullmatch(text)
    if not match:
        raise TtastatsError(
            f"{text!r} is not a condition",
            where=option,
            remedy="Use column=value, such as benchmark=resnet or nodes>=8.",
        )
    column, sign, value_list = match.groups()
    values, start, end = [], 0, ","
    while end and (value := _VALUE.match(value_list, start)):
        quoted, bare = value["quoted"], value["plain"]
        values.append(
            bare.replace("\\,", ",") if quoted is None else re.sub(r'\\(["\\])', r"\1", quoted)
        )
        start, end = value.end(), value["end"]
    if sign == "=" and value_list[:1] in {"<", ">"}:
        remedy = f"Write {column}{value_list[0]}={value_list[1:]}."
        raise TtastatsError(f"{text!r} is not a condition", where=option, remedy=remedy)
    remedy = f"Use {column}={KNOWN} for known values, {column}!={KNOWN} for unknown ones."
    raise_if("" in values, f"{text!r} lacks a value", option, remedy)
    is_list = len(values) > 1 and sign not in {"=", "==", "!="}
    remedy = "A comma means `or` and works only with = and !=."
    raise_if(is_list, f"{text!r} has several values", option, remedy)
    column = FORMER_NAMES.get(column, column)
    return Condition(column, sign.replace("==", "="), tuple(values), option)


def parse_all(
    given: Iterable[str | pl.Expr | Condition], option: str = "--where"
) -> tuple[Condition, ...]:
    """Return the conditions in texts and expressions; those already parsed stay as they are."""
    return tuple(
        item if isinstance(item, Condition)
        else parse_expression(item, option) if isinstance(item, pl.Expr)
        else parse(item, option)
        for item in given
    )  # fmt: skip


#: Of a run as logged; of a run as judged by its target; of an evaluation; of something else, such
#: as a row of an answer.
Kind = Literal["run", "result", "evaluation", "other"]

#: What a person leaves out of a name: `tta` is `tta_mean_seconds`.
_OMITTED = re.compile(r"(_mean)?((?<!epoch)(?<!run)_seconds|_minutes)?$")
#: Shares of a whole and qualities, which may be written in percent.
_FRACTIONS = re.compile(
    r"(cv(?!_ratio)|share|p|prob|time_saved|reached_difference|value|target_value)(_.*)?"
    r"|(.*_)?efficiency(_.*)?"
)


@cache
def results() -> tuple[str, ...]:
    """Return the columns of judged runs beside those of the table of `ingest`."""
    runs = time_to_target.runs(pl.LazyFrame(schema=schema.POLARS))
    return tuple(name for name in runs.columns if name not in schema.RUN_NAMES)


def of_runs() -> tuple[str, ...]:
    """Return the columns for selecting runs."""
    return (*schema.RUN_NAMES, *results())


def kind(name: str) -> Kind:
    """Return whether a column belongs to runs, evaluations or results."""
    if name in schema.RUN_NAMES:
        return "run"
    if full_name(name, results()) is not None:
        return "result"
    return "evaluation" if name in schema.EVALUATION_NAMES else "other"


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return the names of columns as sentences have them, with the columns they stand for."""
    return {_OMITTED.sub("", name): name for name in names}


def full_name(name: str, known: Sequence[str]) -> str | None:
    """Return the column of a name, None if there is none."""
    if name in known:
        return name
    former = FORMER_NAMES.get(name, "")
    return former if former in known else short_names(known).get(name)


def in_percent(name: str) -> bool:
    """Return whether a number of a column may be written in percent."""
    return _FRACTIONS.fullmatch(name) is not None


#: Columns of settings and names, which questions are asked about.
_TELLING = frozenset({
    "benchmark", "submitter", "system", "entry", "hardware", "accelerators", "nodes", "framework",
    "seed", "round", "global_batch_size",
})  # fmt: skip


def unknown(name: str, known: Iterable[str], where: str) -> TtastatsError:
    """Return the error for a name that is no column, with the nearest names."""
    names = sorted(known, key=lambda column: column not in _TELLING)
    remedy = suggestion(name, names, "Columns", listed=12)
    return TtastatsError(f"unknown column {name!r}", where=where, remedy=remedy)
