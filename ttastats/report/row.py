"""What is a row of an answer? A frozen struct, made when it is read; its fields are the keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import msgspec
import polars as pl
from msgspec import Struct

from ttastats.base.records import FORMER_NAMES
from ttastats.table import schema

T = TypeVar("T")


class Lazy(Sequence[T]):
    """A sequence of a known size whose items are computed when they are first read."""

    def __init__(self, make: Callable[[int], T], size: int) -> None:
        self._make, self._size = make, size
        self._made: dict[int, T] = {}

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lazy | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            positions = range(self._size)[index]
            return Lazy(lambda number: self[positions[number]], len(positions))
        index = range(self._size)[index]
        if index not in self._made:
            self._made[index] = self._make(index)
        return self._made[index]


def lazy_subset(items: Sequence[T], positions: Sequence[int]) -> Sequence[T]:
    """Return the items at the given positions, in that order, as a lazy sequence."""
    return Lazy(lambda number: items[positions[number]], len(positions))


#: A number of a row, None where it is unknown.
Number = float | None


class Key(Struct, frozen=True):
    """What a key of a row means, its unit, and how a table shows it: metadata of `Annotated`.

    Units are base units: seconds, fraction, ratio, runs; `axis` is the unit of what is counted to
    the target; empty where a value is text or has none. A table shows a number under `title`, with
    its `_low` and `_high` if it has an `interval`, with the standard deviation in the key `std`.
    """

    meaning: str
    unit: str = ""
    title: str = ""
    interval: bool = False
    std: str = ""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one group of runs, or of one comparison.

    A field is a key of JSON and CSV, in the order in which they are declared, under its `name` if
    `msgspec.field` renames it. `keys` are the values of the columns by which runs were grouped, and
    come first. A field whose value is a row gives its keys in its place, and one that is
    `msgspec.UNSET`, or that is renamed to nothing, gives none.
    """

    keys: dict[str, Any] = {}

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a dictionary: seconds, fractions, None for unknown."""
        numbers = dict(self.keys)
        for name, key in zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True):
            value = getattr(self, name)
            if isinstance(value, Row):
                numbers |= value.to_dict()
            elif key and value is not msgspec.UNSET and name != "keys":
                numbers[key] = value
        return numbers

    def get(self, name: str) -> Any:
        """Return the value of a key by its name, such as one of `--by`."""
        return self.keys[name] if name in self.keys else getattr(self, name)


class Values(dict[str, Any]):
    """The values of a row by their keys, which cannot be changed: a dictionary of them can."""

    def __missing__(self, key: str) -> Any:
        if key not in FORMER_NAMES:
            raise KeyError(key)
        return self[FORMER_NAMES[key]]

    def __reduce__(self) -> tuple[Any, ...]:
        return Values, (dict(self),)


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("rows of an answer are read-only: change a copy, dict(row)")


for _change in (
    "__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update",
):  # fmt: skip
    setattr(Values, _change, _refuse)


#: A row of an answer, or the values of its keys by name.
AnyRow = Row | Mapping[str, Any]

R = TypeVar("R", bound=Row)


def expect_kind(rows: Sequence[object], kind: type[R]) -> tuple[R, ...]:
    """Return rows as rows of one class; raise an error if they are of another."""
    typed = tuple(row for row in rows if isinstance(row, kind))
    if len(typed) < len(rows):
        raise TypeError(f"not all rows are of {kind.__name__}")
    return typed


class Rows(Lazy[R]):
    """Rows of one kind, stored as a table with a column for each key."""

    def __init__(self, kind: type[R], frame: pl.DataFrame) -> None:
        super().__init__(lambda number: kind(**frame.row(number, named=True)), frame.height)
        self.kind, self.frame = kind, frame

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, (self.kind, self.frame)

    @property
    def typed_frame(self) -> pl.DataFrame:
        """Return the table with types for columns without a value."""
        types = {**schema.POLARS, **_types_of_kind(self.kind)}
        unknown = [name for name, dtype in self.frame.schema.items() if dtype == pl.Null]
        return self.frame.cast({name: types.get(name, pl.String()) for name in unknown})


#: The types of columns for the types of keys.
_TYPES = {
    float: pl.Float64(), int: pl.Int64(), str: pl.String(), bool: pl.Boolean(),
    list[str]: pl.List(pl.String()), list[int]: pl.List(pl.Int64()),
}  # fmt: skip


def typed_table(rows: Sequence[Row]) -> pl.DataFrame | None:
    """Return rows of one class as a typed table; None if types vary or a text is no Unicode."""
    if isinstance(rows, Rows):
        return rows.frame
    if len({(type(row), *row.keys) for row in rows}) != 1:
        return None
    try:
        keys = [pl.Series(name, [row.keys[name] for row in rows]) for name in rows[0].keys]
        columns = list(_typed_columns(rows))
    except UnicodeEncodeError:
        return None
    typed = [column for column in columns if column is not None]
    return pl.DataFrame([*keys, *typed]) if len(typed) == len(columns) else None


def table_of(records: Sequence[Row], rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows as a table whose types are those of their keys, whatever the values."""
    types = dict(schema.POLARS)
    for record in records:
        types |= _types_of(record)
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame([_column(name, [row.get(name) for row in rows], types) for name in names])


def _column(name: str, values: list[Any], types: Mapping[str, pl.DataType]) -> pl.Series:
    """Return a column of the type of its key, or of its values if they differ."""
    dtype = types.get(name)
    if fields := dict.fromkeys(key for value in values if isinstance(value, dict) for key in value):
        dtype = pl.Struct(dict.fromkeys(fields, dtype or pl.Float64()))
    elif dtype is None and all(value is None for value in values):
        dtype = pl.String()
    try:
        return pl.Series(name, values, dtype)
    except (TypeError, pl.exceptions.PolarsError):
        return pl.Series(name, values, strict=False)


def _types_of(row: Row) -> Mapping[str, pl.DataType]:
    """Return the types of the keys of a row and its parts."""
    types = dict(_types_of_kind(type(row)))
    for part in (getattr(row, name) for name in type(row).__struct_fields__):
        if isinstance(part, Row):
            # Keys that are made of a name, such as that of a metric: most are numbers.
            texts = (key for key in part.keys if key.endswith("verdict"))
            types |= {
                **{key: _TYPES.get(type(value), pl.Float64()) for key, value in part.keys.items()},
                **dict.fromkeys(texts, pl.String()),
                **_types_of(part),
            }
    return types


def _type_of(hint: Any) -> pl.DataType | None:
    """Return the type of a column for that of a key; of a dictionary, that of its values."""
    if get_origin(hint) is Literal:
        return _TYPES.get(type(get_args(hint)[0]))
    if get_origin(hint) is dict:
        return next((_TYPES[part] for part in get_args(get_args(hint)[1]) if part in _TYPES), None)
    return _TYPES.get(hint)


@cache
def _types_of_kind(kind: type[Row]) -> Mapping[str, pl.DataType]:
    hints, types = get_type_hints(kind), dict[str, pl.DataType]()
    for name, key in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        hint = hints[name]
        parts = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
        dtypes = [dtype for part in parts if (dtype := _type_of(part))]
        types |= {key: dtypes[0]} if key and len(dtypes) == 1 else {}
    return types


def _typed_columns(rows: Sequence[Row]) -> Iterator[pl.Series | None]:
    """Yield each column of some rows; None if its types vary."""
    kind = type(rows[0])
    hints = get_type_hints(kind)
    for name, key in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        values, hint = [getattr(row, name) for row in rows], hints[name]
        of_list = get_origin(hint) is list
        parts = [part for part in get_args(hint) if part is not NoneType and not of_list] or [hint]
        if isinstance(hint, type) and issubclass(hint, Row):
            yield from _typed_columns(values)
        elif name != "keys":
            if not (key and parts[0] in _TYPES and len(parts) == 1):
                yield None
            elif of_list:  # thousands of rows have a few lists
                lists = [list(texts) for texts in dict.fromkeys(map(tuple, values))]
                positions = {tuple(texts): position for position, texts in enumerate(lists)}
                column = pl.Series(key, lists, _TYPES[hint])
                yield column.gather([positions[tuple(value)] for value in values])
            else:
                yield pl.Series(key, values, _TYPES[parts[0]])


@cache
def key_descriptions(kind: type[Row]) -> dict[str, Key]:
    """Return the keys of a row class with their descriptions, without grouping keys."""
    described: dict[str, Key] = {}
    hints = get_type_hints(kind, include_extras=True)
    for name, key in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        for part in (hints[name], *get_args(hints[name])):  # a key that may be absent is a union
            if isinstance(part, type) and issubclass(part, Row):
                described |= key_descriptions(part)
            elif get_origin(part) is Annotated:
                described.update((key, k) for k in part.__metadata__ if isinstance(k, Key))
    return described
