"""Which settings do runs record that no column of the table holds, and in what do they differ?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import polars as pl

from ttastats.base.errors import TtastatsError
from ttastats.base.units import join_names
from ttastats.formats import setups
from ttastats.outcomes import select
from ttastats.table.schema import parse_extra

#: Settings that an error names.
_MOST_NAMES = 12


def flat_settings(extra: str | None) -> dict[str, Any]:
    """Return the recorded settings of a run by name, flat; an empty text records none."""
    fields = parse_extra(extra)
    scalars = {
        name: value for name, value in fields.items() if not isinstance(value, dict | list | None)
    }
    settings = scalars | setups.recorded_settings(fields)
    return {name: value for name, value in settings.items() if value != ""}


def varying(extras: Iterable[str | None]) -> list[str]:
    """Return the names of the recorded settings that differ between runs."""
    return setups.varying_names(map(_setup_settings, dict.fromkeys(extras)))


def _setup_settings(extra: str | None) -> dict[str, str]:
    return setups.setup_settings(setups.recorded_settings(parse_extra(extra)))


def apart(extras: pl.Series) -> pl.Series:
    """Return the settings that differ between runs, as text for each run; empty without any."""
    if not recorded_by(extras).any():
        return pl.Series([""] * extras.len(), dtype=pl.String())
    shares = {extra: _setup_settings(extra) for extra in extras.unique()}
    names = setups.varying_names(shares.values())
    texts = {
        extra: " ".join(f"{name}={share[name]}" for name in names if name in share)
        for extra, share in shares.items()
    }
    return pl.Series([texts[extra] for extra in extras], dtype=pl.String())


#: What the record of a run with settings contains.
_MARKS = [f'"{name}":' for name in setups.RECORDED]


def recorded_by(extras: pl.Series) -> pl.Series:
    """Return for each run whether it records settings."""
    return extras.str.contains_any(_MARKS)


def pooled(runs: pl.DataFrame, by: Sequence[str]) -> dict[tuple[Any, ...], list[str]]:
    """Return the groups whose runs record different settings, with their names."""
    if "extra" not in runs.columns or not recorded_by(runs["extra"]).any():
        return {}
    groups = {
        keys: [name for name in varying(extras) if name not in by]
        for keys, extras in _by_group(runs, by)
    }
    return {keys: names for keys, names in groups.items() if names}


def _by_group(
    runs: pl.DataFrame, by: Sequence[str]
) -> Iterator[tuple[tuple[Any, ...], list[str | None]]]:
    """Yield the keys of each group of runs, and its records (`extra`), each once."""
    grouped = runs.group_by(by or pl.lit(0), maintain_order=True)
    records = grouped.agg(**{"recorded extras": pl.col("extra").unique()})
    for *keys, extras in records.select(*by, "recorded extras").iter_rows():
        yield tuple(keys), extras


def setting_names(extras: Iterable[str | None]) -> list[str]:
    """Return the names of all recorded settings."""
    return sorted({name for extra in dict.fromkeys(extras) for name in flat_settings(extra)})


def full_name(name: str, names: Sequence[str]) -> str | None:
    """Return the recorded setting of a name: itself, or the only one ending with it."""
    if name in names:
        return name
    ending = [setting for setting in names if setting.endswith((f".{name}", f"/{name}"))]
    return ending[0] if len(ending) == 1 else None


def column(extras: pl.Series, name: str) -> pl.Series:
    """Return the values of a setting, as numbers or booleans if all known ones are."""
    values = {extra: flat_settings(extra).get(name) for extra in extras.unique()}
    nonnull = [value for value in values.values() if value is not None]
    numbers = {extra: _as_number(value) for extra, value in values.items()}
    dtype: pl.DataType = pl.String()
    if nonnull and all(isinstance(value, bool) for value in nonnull):
        dtype = pl.Boolean()
    elif all(_as_number(value) is not None for value in nonnull):
        values, dtype = numbers, pl.Float64()
    else:
        values = {
            extra: value if isinstance(value, str | None) else str(value)
            for extra, value in values.items()
        }
    series = pl.Series(name, [values[extra] for extra in extras], dtype)
    is_whole = nonnull and all(number is None or number.is_integer() for number in numbers.values())
    return series.cast(pl.Int64()) if dtype == pl.Float64() and is_whole else series


def values(extras: pl.Series, name: str) -> pl.Series | None:
    """Return the values of the setting of a name, None where no run records it."""
    setting = full_name(name, setting_names(extras))
    return None if setting is None else column(extras, setting)


def _as_number(value: Any) -> float | None:
    """Return a number that may be recorded as text, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 2.0**62 else None


def unknown(
    name: str, columns_: Sequence[str], extras: Iterable[str | None], where: str
) -> TtastatsError:
    """Return the error for a name that is neither a column nor a setting."""
    extras = list(extras)
    error = select.unknown(name, [*columns_, *setting_names(extras)], where)
    return with_varying(error, varying(extras))


def with_varying(error: TtastatsError, names: Sequence[str]) -> TtastatsError:
    """Return an error whose remedy also names the settings that vary."""
    if not names:
        return error
    text = f"Settings that vary: {join_names(names, _MOST_NAMES)}."
    return TtastatsError(error.what, where=error.where, remedy=f"{error.remedy}\n  {text}")


#: Columns in which runs of one group are expected to agree.
SETUP = (
    "suite", "round", "benchmark", "division", "submitter", "system", "entry", "hardware",
    "accelerators", "nodes", "framework", "global_batch_size", "clock",
)  # fmt: skip

#: Names under which logs record how was trained; all else in `extra` may differ by nature.
_SETTING = re.compile(
    r"^(opt|lars|sgd|lamb|adamw?|lora)_|(^|_)lr(_|$)|learning_rate|warmup|momentum|weight_decay"
    r"|(^|_)batch_size$|gradient_accumulation|optimizer|max_sequence_length|bn_span",
    re.IGNORECASE,
)


#: The groups, by the values of their keys, in which the runs differ in a column or a setting.
Groups = tuple[tuple[Any, ...], ...]


def differing_columns(runs: pl.DataFrame, by: Sequence[str]) -> dict[str, Groups]:
    """Return the setup columns that vary inside groups of runs, with these groups."""
    if runs.is_empty():
        return {}
    candidates = [name for name in SETUP if name not in by]
    counts = runs.group_by(by or pl.lit(0), maintain_order=True).agg(
        pl.col(name).drop_nulls().n_unique() for name in candidates
    )
    varying_names = [name for name in candidates if (counts[name] > 1).any()]
    return {
        name: tuple(counts.filter(pl.col(name) > 1).select(by).rows()) for name in varying_names
    }


def differing_settings(runs: pl.DataFrame, by: Sequence[str]) -> dict[str, Groups]:
    """Return the recorded settings that vary inside groups of runs, with these groups.

    They are hyperparameters by their names in `extra`, learning rates first, and all that stores
    and files of settings tell but what numbers runs. What some runs do not record does not differ.
    """
    groups: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for keys, extras in _by_group(runs, by):
        distinct: defaultdict[str, set[str]] = defaultdict(set)
        for extra in filter(None, extras):
            for name, value in _training_settings(extra).items():
                distinct[name].add(value)
        for name, values in distinct.items():
            if len(values) > 1 and name not in by:
                groups[name].append(keys)
    ordered = sorted(groups, key=lambda name: ("learning_rate" not in name, name))
    return {name: tuple(groups[name]) for name in ordered}


@lru_cache(4_096)
def _training_settings(extra: str) -> dict[str, str]:
    fields = parse_extra(extra)
    settings = {name: fields[name] for name in fields if _is_setting(name)}
    texts = {name: repr(value) for name, value in settings.items() if value is not None}
    return texts | setups.setup_settings(setups.recorded_settings(fields))


@lru_cache(4_096)  # runs have the same few names
def _is_setting(name: str) -> bool:
    return _SETTING.search(name) is not None
