"""In what do the runs of one group differ, though nobody asked about it?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import polars as pl

from ttastats.formats.own_logs import setups
from ttastats.outcomes.settings import by_group
from ttastats.table.schema import parse_extra

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


def columns(runs: pl.DataFrame, by: Sequence[str]) -> dict[str, Groups]:
    """Return the setup columns that vary inside groups of runs, with these groups.

    Columns that are grouped by are not among them.
    """
    if runs.is_empty():
        return {}
    candidates = [name for name in SETUP if name not in by]
    counts = runs.group_by(by or pl.lit(0), maintain_order=True).agg(
        pl.col(name).drop_nulls().n_unique() for name in candidates
    )
    groups = {name: counts.filter(pl.col(name) > 1).select(by).rows() for name in candidates}
    several = {name for name in candidates if (counts[name] > 1).any()}
    return {name: tuple(rows) for name, rows in groups.items() if name in several}


def settings(runs: pl.DataFrame, by: Sequence[str]) -> dict[str, Groups]:
    """Return the recorded settings that vary inside groups of runs, with these groups.

    They are hyperparameters that no column holds, by their names in `extra`, learning rates
    first, and all that stores and files of settings tell but what numbers runs. What some runs do
    not record does not differ.
    """
    groups: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for keys, extras in by_group(runs, by):
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
    """Return the recorded settings of how a run was trained, as text."""
    fields = parse_extra(extra)
    named = {name: fields[name] for name in fields if _is_setting(name)}
    plain = {name: repr(value) for name, value in named.items() if value is not None}
    return plain | setups.setup_settings(setups.recorded_settings(fields))


@lru_cache(4_096)  # runs have the same few names
def _is_setting(name: str) -> bool:
    return _SETTING.search(name) is not None
