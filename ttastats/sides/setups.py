"""Which hardware did runs use, how much of it, and which setups of two sides are alike?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any, Literal

import polars as pl

from ttastats.base import units
from ttastats.base.codes import Note, note, wording

#: What entries of one benchmark differ in most, and by what a fair comparison matches them.
COLUMNS = ("accelerators", "hardware", "division", "nodes")

Value = int | str | None
Key = tuple[Value, ...]

#: Runs of A and of B whose setups agree; and, without a partner, side, setup and runs.
Alike = list[tuple[pl.DataFrame, pl.DataFrame]]
Rest = list[tuple[Literal["a", "b"], Key, pl.DataFrame]]


def match(
    a: pl.DataFrame, b: pl.DataFrame, *, asked: bool = False
) -> tuple[tuple[str, ...], Alike, Rest]:
    """Return the columns to compare, the setups of two sides that agree in them, and the others.

    A column in which each side has one value is no criterion: if the values are equal there is
    nothing to sort by, and if not their difference is what the comparison asks about. `asked`: so
    is a column without a value in common. Hardware then gives way to sizes, and what has no setup
    in common stays whole.
    """
    # A log that broke off early has the setup of its entry, if it is one.
    entry = [_entry_value(name).alias(f"setup_{name}") for name in COLUMNS]
    a, b = a.with_columns(entry), b.with_columns(entry)
    sizes = _of_size(a, b)
    if not all(runs["division"].count() for runs in (a, b)):  # nobody knows which is its like
        sizes = sizes[:1]
    every = [name for name in COLUMNS if name in {*sizes, "hardware"}
             and not (_one_value(a, name) and _one_value(b, name))]  # fmt: skip
    if not asked:
        return _matched(a, b, every)
    shared = [name for name in every if _have_common(a, b, name)]
    tries: Sequence[Sequence[str]] = (shared, [name for name in shared if name in sizes], [])
    return next(found for names in tries if (found := _matched(a, b, names))[1])


def _matched(
    a: pl.DataFrame, b: pl.DataFrame, columns: Sequence[str]
) -> tuple[tuple[str, ...], Alike, Rest]:
    """Return the columns, the setups of two sides that agree in all of them, and the others."""
    names, added = [f"setup_{name}" for name in columns], [f"setup_{name}" for name in COLUMNS]
    parts_a, parts_b = (
        {key: part.drop(added) for key, part in runs_by(runs, names).items()} for runs in (a, b)
    )
    # B's setup for each of A's: the equal one, or the only compatible one. Unknown sizes are none.
    sized = [n for n, name in enumerate(columns) if name != "hardware"]
    partner = {
        key: key for key in parts_a if key in parts_b and not any(key[n] is None for n in sized)
    }
    agree = [same if name == "hardware" else _equal for name in columns]
    agreeing = [
        (x, y)
        for x, y in product(parts_a, parts_b)
        if x not in partner
        and y not in partner
        and all(test(*pair) for test, *pair in zip(agree, x, y, strict=True))
    ]
    of_a, of_b = (Counter(pair[side] for pair in agreeing) for side in (0, 1))
    partner |= {x: y for x, y in agreeing if of_a[x] == of_b[y] == 1}
    alike = [(parts_a[key], parts_b[partner[key]]) for key in parts_a if key in partner]
    rest: Rest = [("a", key, runs) for key, runs in parts_a.items() if key not in partner]
    taken = set(partner.values())
    rest.extend(("b", key, runs) for key, runs in parts_b.items() if key not in taken)
    return tuple(columns), alike, rest


def _have_common(a: pl.DataFrame, b: pl.DataFrame, column: str) -> bool:
    """Return whether both sides have a value of a column; of hardware, a name that may be one."""
    of_a, of_b = (set(values(runs, column)) - {None} for runs in (a, b))
    if column == "hardware":
        return any(same(*pair) for pair in product(of_a, of_b))
    return not of_a.isdisjoint(of_b)


def values(runs: pl.DataFrame, column: str) -> tuple[Value, ...]:
    """Return the values of a setup column, unknown last."""
    names = runs[column]
    if column == "division" or 0 < names.null_count() < names.len():
        names = runs.select(_entry_value(column)).to_series()
    return tuple(names.unique().sort(nulls_last=True))


def _equal(size: Value, other: Value) -> bool:
    return size is not None and size == other


def same(name: Value, other: Value) -> bool:
    """Return whether two names may mean the same hardware: `DGX-2H` and `NVIDIA DGX-2H`.

    They do if all words of one are among the other's and one of them is a model (has a digit).
    Unknown hardware may be any.
    """
    if name is None or other is None:
        return True
    less, more = sorted((words(str(name)), words(str(other))), key=len)
    return less == more or (less <= more and any(re.search(r"\d", word) for word in less))


@cache
def words(name: str) -> frozenset[str]:
    """Return the lower-case words of a hardware name."""
    return frozenset(re.findall(r"\w+", name.lower()))


def _entry_value(name: str) -> pl.Expr:
    column = pl.col(name)
    if name == "division":  # rounds write `closed` and `Closed`
        column = column.str.to_lowercase()
    known, keys = column.drop_nulls(), ("benchmark", "entry")
    only = pl.when(known.n_unique().over(keys) == 1).then(known.first().over(keys))
    return pl.coalesce(column, only)


def _one_value(runs: pl.DataFrame, column: str) -> bool:
    names = values(runs, column)
    return _one_name(names) if column == "hardware" else len(names) == 1


def _one_name(names: Sequence[Value]) -> bool:
    return all(same(*pair) for pair in combinations(names, 2))


def runs_by(runs: pl.DataFrame, keys: Sequence[str]) -> dict[tuple[Any, ...], pl.DataFrame]:
    """Return the runs of each group in their own order, sorted by the keys, unknown ones last."""
    if not keys:
        return {(): runs}
    ordered = runs.sort(keys, nulls_last=True, maintain_order=True)
    return dict(iter(ordered.group_by(keys, maintain_order=True)))


def common(a: pl.DataFrame, b: pl.DataFrame, column: str) -> Value:
    """Return the value both sides have in a column, of hardware the longest name, or None."""
    distinct = {*values(a, column), *values(b, column)}
    if column == "hardware":
        names = [str(name) for name in distinct if name is not None]
        return (
            max(names, key=lambda name: (len(name), name), default=None)
            if _one_name(names)
            else None
        )
    return next(iter(distinct)) if len(distinct) == 1 else None


#: In what the sides of a fair comparison are alike: the code of a difference, the words of a value.
_LIKE = {
    "accelerators": ("accelerators_differ", "{} accelerator{s}"),
    "nodes": ("nodes_differ", "{} logged node{s}"),
    "division": ("division_differs", "{} division"),
    "hardware": ("hardware_differ", "{}"),
}


def differing(a: pl.DataFrame, b: pl.DataFrame) -> tuple[list[str], str, str]:
    """Return in what two sides differ, and each side's own values of that in words.

    As many nodes as accelerators make are no difference of their own.
    """
    columns = [
        name
        for name in _LIKE
        if (known := [set(values(runs, name)) - {None} for runs in (a, b)])
        and all(known)
        and known[0] != known[1]
        and not (name == "hardware" and _one_name([*known[0], *known[1]]))
    ]
    if "accelerators" in columns and "nodes" in columns:
        columns.remove("nodes")
    of_a, of_b = (
        ", ".join(
            _LIKE[name][1].format(text := _or_text(values(runs, name)), s="s" * (text != "1"))
            for name in columns
        )
        for runs in (a, b)
    )
    return columns, of_a, of_b


def unlike_sizes(a: pl.DataFrame, b: pl.DataFrame) -> list[tuple[str, str]]:
    """Return the code and the words of each of size and division in which two sides differ."""
    return [
        (_LIKE[name][0], how.removesuffix("."))
        for name in differing(a, b)[0]
        if name in {"accelerators", "division"}
        for of_a, of_b in [[_or_text(values(runs, name)) for runs in (a, b)]]
        for how in [wording("setup_differs", column=name, how=f"{of_a} vs {of_b}")]
    ]


def mixed(a: pl.DataFrame, b: pl.DataFrame) -> str:
    """Return the column in which a side has several sizes or divisions; empty if there is none.

    A mean over several is that of their mixture: its ratio to another tells who brought which.
    """
    for name in _of_size(a, b):
        if any(len(set(values(runs, name)) - {None}) > 1 for runs in (a, b)):
            return name
    return ""


def not_comparable(a: pl.DataFrame, b: pl.DataFrame) -> str | None:
    """Return why no ratio of two sides says which is faster; None where one may."""
    if not (name := mixed(a, b)):
        return None
    of_a, of_b = (_or_text(values(runs, name)) or "unknown" for runs in (a, b))
    return wording("mixed_sizes", a=of_a, b=of_b, column=name)


def mixture_notes(
    groups: Sequence[tuple[str, pl.DataFrame, pl.DataFrame]], columns: Sequence[str]
) -> Iterator[Note]:
    """Yield notes on groups that mix sizes, and on the `columns` of which rows have one each."""
    for column in ("accelerators", "nodes", "division"):
        some = [group for group in groups if mixed(*group[1:]) == column]
        if some:
            a, b = (next((v for v in values(runs, column) if v is not None), "...")
                    for runs in some[0][1:])  # fmt: skip
            names = units.join_names([name for name, *_ in some if name]) or "these runs"
            yield note("mixed_sizes.advice", names=names, column=column, a=a, b=b)
    if columns:
        yield note("one_setup_a_row", columns=[*columns])


def _of_size(a: pl.DataFrame, b: pl.DataFrame) -> tuple[str, ...]:
    """Return the columns of size and division; nodes count where no log tells accelerators."""
    known = any(runs["accelerators"].count() for runs in (a, b))
    return ("accelerators" if known else "nodes", "division")


def _or_text(names: Sequence[Value]) -> str:
    """Return a few values, or the first and the last of many."""
    known = [name for name in names if name is not None]
    if len(known) < 4:
        return " or ".join(map(str, known))
    return (
        f"{len(known)} kinds of hardware"
        if isinstance(known[0], str)
        else f"{known[0]} to {known[-1]}"
    )


def values_text(runs: pl.DataFrame, column: str) -> str:
    """Return the values of a setup column in words."""
    names = ["unknown" if value is None else str(value) for value in values(runs, column)]
    return units.join_names(names, 3)


def remarks(groups: Sequence[tuple[str, pl.DataFrame, pl.DataFrame]]) -> Iterator[Note]:
    """Yield notes on how the setups of two sides differ, where each is one and known."""
    resized = {name for name, a, b in groups if "accelerators" in differing(a, b)[0]}
    for column, (code, _) in _LIKE.items():
        values = [(name, common(a, a, column), common(b, b, column)) for name, a, b in groups]
        differences = [
            (name, str(value_a), str(value_b))
            for name, value_a, value_b in values
            if None not in (value_a, value_b)
            and value_a != value_b
            # As many nodes as accelerators make are no difference of their own.
            and not (column == "nodes" and name in resized)
        ]
        renamed = [each for each in differences if column == "hardware" and same(*each[1:])]
        apart = [each for each in differences if each not in renamed]
        if apart:
            by_pair: dict[str, list[str]] = {}  # DGX-2 vs DGX-2H, of which groups if not of all
            for name, value_a, value_b in apart:
                by_pair.setdefault(f"{value_a} vs {value_b}", []).append(name)
            texts = [f"{pair} ({units.join_names(names)})" for pair, names in by_pair.items()]
            if len(by_pair) == 1 and len(apart) == len(groups):
                texts = [*by_pair]
            how = "; ".join(texts)
            yield Note(code, wording("setup_differs", column=column, how=how))
        names = dict.fromkeys(
            f"{value_a} and {value_b}"
            for _, value_a, value_b in renamed
            if words(value_a) != words(value_b)
        )
        if names:
            yield note("hardware_names", names=[*names])
