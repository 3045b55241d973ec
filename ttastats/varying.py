"""In what do the runs of one group differ, though nobody asked about it?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

import polars as pl

from ttastats.extra import recorded

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


def columns(runs: pl.DataFrame, by: Sequence[str]) -> tuple[str, ...]:
    """Give the setup columns in which runs of one group differ, among those not grouped by."""
    if runs.is_empty():
        return ()
    candidates = [name for name in SETUP if name not in by]
    counts = runs.group_by(by or pl.lit(0)).agg(
        pl.col(name).drop_nulls().n_unique() for name in candidates
    )
    return tuple(name for name in candidates if (counts.get_column(name) > 1).any())


def settings(runs: pl.DataFrame, by: Sequence[str]) -> tuple[str, ...]:
    """Give the recorded settings in which runs of one group differ, learning rates first.

    They are hyperparameters that no column holds, by their names in `extra`. What some runs do
    not record does not differ.
    """
    grouped = runs.group_by(by or pl.lit(0)).agg(extras=pl.col("extra").drop_nulls().unique())
    found = {name for extras in grouped.get_column("extras") for name in _differing(extras)}
    return tuple(sorted(found, key=lambda name: ("learning_rate" not in name, name)))


@lru_cache(4_096)  # runs have the same few names
def _is_setting(name: str) -> bool:
    return _SETTING.search(name) is not None


def _differing(extras: Iterable[str]) -> set[str]:
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for extra in extras:
        for name, value in recorded(extra).items():
            if value is not None and _is_setting(name):
                seen[name].add(repr(value))
    return {name for name, values in seen.items() if len(values) > 1}
