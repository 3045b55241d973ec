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

#: The columns of setups: a fair comparison matches entries by them.
COLUMNS = ("accelerators", "hardware", "division", "nodes")

Value = int | str | None
Key = tuple[Value, ...]

#: Runs of A and of B whose setups agree; and, without a partner, side, setup and runs.
AgreeingRuns = list[tuple[pl.DataFrame, pl.DataFrame]]
UnmatchedRuns = list[tuple[Literal["a", "b"], Key, pl.DataFrame]]


def match(
    a: pl.DataFrame, b: pl.DataFrame, *, asked: bool = False
) -> tuple[tuple[str, ...], AgreeingRuns, UnmatchedRuns]:
    """Return the columns to match by, the agreeing setups of two sides, and the unmatched ones.

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
    criteria = [name for name in COLUMNS if name in {*sizes, "hardware"}
             and not (_one_value(a, name) and _one_value(b, name))]  # fmt: skip
    if not asked:
        return _match_by(a, b, criteria)
    shared_criteria = [name for name in criteria if _have_common(a, b, name)]
    shared_sizes = [name for name in shared_criteria if name in sizes]
    attempts: Sequence[Sequence[str]] = (shared_criteria, shared_sizes, [])
    return next(matching for names in attempts if (matching := _match_by(a, b, names))[1])


def _match_by(
    a: pl.DataFrame, b: pl.DataFrame, columns: Sequence[str]
) -> tuple[tuple[str, ...], AgreeingRuns, UnmatchedRuns]:
    """Return the columns, the setups of two sides that agree in all, and the unmatched ones."""
    names = [f"setup_{name}" for name in columns]
    setup_columns = [f"setup_{name}" for name in COLUMNS]
    parts_a, parts_b = (
        {key: part.drop(setup_columns) for key, part in runs_by(runs, names).items()}
        for runs in (a, b)
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
    counts_a, counts_b = (Counter(pair[side] for pair in agreeing) for side in (0, 1))
    partner |= {x: y for x, y in agreeing if counts_a[x] == counts_b[y] == 1}
    partners = [(parts_a[key], parts_b[partner[key]]) for key in parts_a if key in partner]
    unmatched: UnmatchedRuns = [
        ("a", key, runs) for key, runs in parts_a.items() if key not in partner
    ]
    partner_keys = set(partner.values())
    unmatched.extend(("b", key, runs) for key, runs in parts_b.items() if key not in partner_keys)
    return tuple(columns), partners, unmatched


def _have_common(a: pl.DataFrame, b: pl.DataFrame, column: str) -> bool:
    """Return whether two sides share a value of a column, or a possible name of one hardware."""
    values_a, values_b = (_recorded_values(runs, column) for runs in (a, b))
    if column == "hardware":
        return any(same(*pair) for pair in product(values_a, values_b))
    return not values_a.isdisjoint(values_b)


def values(runs: pl.DataFrame, column: str) -> tuple[Value, ...]:
    """Return the values of a setup column, unknown last."""
    names = runs[column]
    if column == "division" or 0 < names.null_count() < names.len():
        names = runs.select(_entry_value(column)).to_series()
    return tuple(names.unique().sort(nulls_last=True))


def _recorded_values(runs: pl.DataFrame, column: str) -> set[Value]:
    return {*values(runs, column)} - {None}


def _equal(size: Value, other: Value) -> bool:
    return size is not None and size == other


def same(name: Value, other: Value) -> bool:
    """Return whether two names may mean the same hardware: `DGX-2H` and `NVIDIA DGX-2H`.

    They do if all words of one are among the other's and one of them is a model (has a digit).
    Unknown hardware may be any.
    """
    if name is None or other is None:
        return True
    shorter, longer = sorted((words(str(name)), words(str(other))), key=len)
    return shorter == longer or (
        shorter <= longer and any(re.search(r"\d", word) for word in shorter)
    )


@cache
def words(name: str) -> frozenset[str]:
    """Return the lower-case words of a hardware name."""
    return frozenset(re.findall(r"\w+", name.lower()))


def _entry_value(name: str) -> pl.Expr:
    column = pl.col(name)
    if name == "division":  # rounds write `closed` and `Closed`
        column = column.str.to_lowercase()
    known_values, keys = column.drop_nulls(), ("benchmark", "entry")
    single_value = pl.when(known_values.n_unique().over(keys) == 1).then(
        known_values.first().over(keys)
    )
    return pl.coalesce(column, single_value)


def _one_value(runs: pl.DataFrame, column: str) -> bool:
    names = values(runs, column)
    return _one_name(names) if column == "hardware" else len(names) == 1


def _one_name(names: Sequence[Value]) -> bool:
    return all(same(*pair) for pair in combinations(names, 2))


def runs_by(runs: pl.DataFrame, keys: Sequence[str]) -> dict[tuple[Any, ...], pl.DataFrame]:
    """Return the runs of each group in their own order, sorted by the keys, unknown ones last."""
    if not keys:
        return {(): runs}
    sorted_runs = runs.sort(keys, nulls_last=True, maintain_order=True)
    return dict(iter(sorted_runs.group_by(keys, maintain_order=True)))


def common(a: pl.DataFrame, b: pl.DataFrame, column: str) -> Value:
    """Return the common value of two sides in a column, of hardware the longest name, or None."""
    all_values = {*values(a, column), *values(b, column)}
    if column == "hardware":
        names = [str(name) for name in all_values if name is not None]
        return (
            max(names, key=lambda name: (len(name), name), default=None)
            if _one_name(names)
            else None
        )
    return next(iter(all_values)) if len(all_values) == 1 else None


#: By column, the code of a difference between sides and the words of a value.
_DIFFERENCES = {
    "accelerators": ("accelerators_differ", "{} accelerator{s}"),
    "nodes": ("nodes_differ", "{} logged node{s}"),
    "division": ("division_differs", "{} division"),
    "hardware": ("hardware_differ", "{}"),
}


def differing(a: pl.DataFrame, b: pl.DataFrame) -> tuple[list[str], str, str]:
    """Return the columns of setup differences between two sides, and each side's values in words.

    As many nodes as accelerators make are no difference of their own.
    """
    columns = [
        name
        for name in _DIFFERENCES
        if (value_sets := [_recorded_values(runs, name) for runs in (a, b)])
        and all(value_sets)
        and value_sets[0] != value_sets[1]
        and not (name == "hardware" and _one_name([*value_sets[0], *value_sets[1]]))
    ]
    if "accelerators" in columns and "nodes" in columns:
        columns.remove("nodes")
    text_a, text_b = (
        ", ".join(
            _DIFFERENCES[name][1].format(
                text := _or_text(values(runs, name)), s="s" * (text != "1")
            )
            for name in columns
        )
        for runs in (a, b)
    )
    return columns, text_a, text_b


def unlike_sizes(a: pl.DataFrame, b: pl.DataFrame) -> list[tuple[str, str]]:
    """Return the codes and texts of differences in size and division between two sides."""
    return [
        (_DIFFERENCES[name][0], difference.removesuffix("."))
        for name in differing(a, b)[0]
        if name in {"accelerators", "division"}
        for text_a, text_b in [[_or_text(values(runs, name)) for runs in (a, b)]]
        for difference in [wording("setup_differs", column=name, how=f"{text_a} vs {text_b}")]
    ]


def mixed(a: pl.DataFrame, b: pl.DataFrame) -> str:
    """Return the column of several sizes or divisions on one side; empty if there is none.

    A mean over several is that of their mixture: its ratio to another tells who brought which.
    """
    for name in _of_size(a, b):
        if any(len(_recorded_values(runs, name)) > 1 for runs in (a, b)):
            return name
    return ""


def not_comparable(a: pl.DataFrame, b: pl.DataFrame) -> str | None:
    """Return the reason against a ratio of two sides with mixed sizes, if any."""
    if not (name := mixed(a, b)):
        return None
    text_a, text_b = (_or_text(values(runs, name)) or "unknown" for runs in (a, b))
    return wording("mixed_sizes", a=text_a, b=text_b, column=name)


def mixture_notes(
    groups: Sequence[tuple[str, pl.DataFrame, pl.DataFrame]], columns: Sequence[str]
) -> Iterator[Note]:
    """Yield notes on groups of mixed sizes, and on `columns` with one value in each row."""
    for column in ("accelerators", "nodes", "division"):
        mixed_groups = [group for group in groups if mixed(*group[1:]) == column]
        if mixed_groups:
            a, b = (next((v for v in values(runs, column) if v is not None), "...")
                    for runs in mixed_groups[0][1:])  # fmt: skip
            names = units.join_names([name for name, *_ in mixed_groups if name]) or "these runs"
            yield note("mixed_sizes.advice", names=names, column=column, a=a, b=b)
    if columns:
        yield note("one_setup_a_row", columns=[*columns])


def _of_size(a: pl.DataFrame, b: pl.DataFrame) -> tuple[str, ...]:
    """Return the columns of size and division: nodes only where no log has accelerators."""
    has_accelerators = any(runs["accelerators"].count() for runs in (a, b))
    return ("accelerators" if has_accelerators else "nodes", "division")


def _or_text(names: Sequence[Value]) -> str:
    """Return a few values, or the first and the last of many."""
    known_names = [name for name in names if name is not None]
    if len(known_names) < 4:
        return " or ".join(map(str, known_names))
    return (
        f"{len(known_names)} kinds of hardware"
        if isinstance(known_names[0], str)
        else f"{known_names[0]} to {known_names[-1]}"
    )


def values_text(runs: pl.DataFrame, column: str) -> str:
    """Return the values of a setup column in words."""
    names = ["unknown" if value is None else str(value) for value in values(runs, column)]
    return units.join_names(names, 3)


def remarks(groups: Sequence[tuple[str, pl.DataFrame, pl.DataFrame]]) -> Iterator[Note]:
    """Yield notes on differences between two sides, each of one known setup."""
    resized = {name for name, a, b in groups if "accelerators" in differing(a, b)[0]}
    for column, (code, _) in _DIFFERENCES.items():
        values = [(name, common(a, a, column), common(b, b, column)) for name, a, b in groups]
        differences = [
            (name, str(value_a), str(value_b))
            for name, value_a, value_b in values
            if None not in (value_a, value_b)
            and value_a != value_b
            # As many nodes as accelerators make are no difference of their own.
            and not (column == "nodes" and name in resized)
        ]
        renames = [
            difference
            for difference in differences
            if column == "hardware" and same(*difference[1:])
        ]
        distinct_setups = [difference for difference in differences if difference not in renames]
        if distinct_setups:
            by_pair: dict[str, list[str]] = {}  # DGX-2 vs DGX-2H, of which groups if not of all
            for name, value_a, value_b in distinct_setups:
                by_pair.setdefault(f"{value_a} vs {value_b}", []).append(name)
            texts = [f"{pair} ({units.join_names(names)})" for pair, names in by_pair.items()]
            if len(by_pair) == 1 and len(distinct_setups) == len(groups):
                texts = [*by_pair]
            differences_text = "; ".join(texts)
            yield Note(code, wording("setup_differs", column=column, how=differences_text))
        names = dict.fromkeys(
            f"{value_a} and {value_b}"
            for _, value_a, value_b in renames
            if words(value_a) != words(value_b)
        )
        if names:
            yield note("hardware_names", names=[*names])
