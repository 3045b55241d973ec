"""Which column does a name mean, and what is it a column of?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

import polars as pl

from ttastats.base.errors import TtastatsError
from ttastats.base.nearest import suggestion
from ttastats.base.records import FORMER_NAMES
from ttastats.outcomes import time_to_target
from ttastats.table import schema

#: Of a run as logged; of a run as judged by its target; of an evaluation; of something else, such
#: as a row of an answer.
Kind = Literal["run", "result", "evaluation", "other"]

#: What a person leaves out of a name: `tta` is `tta_mean_seconds`.
_UNSPOKEN = re.compile(r"(_mean)?((?<!epoch)(?<!run)_seconds|_minutes)?$")
#: Shares of a whole and qualities, which may be written in percent.
_FRACTIONS = re.compile(
    r"(cv(?!_ratio)|share|p|prob|time_saved|reached_difference|value|target_value)(_.*)?"
    r"|(.*_)?efficiency(_.*)?"
)


@cache
def results() -> tuple[str, ...]:
    """Return the columns that a table of judged runs adds to the table of `ingest`."""
    judged = time_to_target.runs(pl.LazyFrame(schema=schema.POLARS))
    return tuple(name for name in judged.columns if name not in schema.RUN_NAMES)


def of_runs() -> tuple[str, ...]:
    """Return the columns by which runs can be selected."""
    return (*schema.RUN_NAMES, *results())


def kind(name: str) -> Kind:
    """Return whether a column belongs to runs, evaluations or results."""
    if name in schema.RUN_NAMES:
        return "run"
    if full_name(name, results()) is not None:
        return "result"
    return "evaluation" if name in schema.EVALUATION_NAMES else "other"


def spoken(names: Iterable[str]) -> dict[str, str]:
    """Return the names of columns as in sentences, with the columns they stand for."""
    return {_UNSPOKEN.sub("", name): name for name in names}


def full_name(name: str, known: Sequence[str]) -> str | None:
    """Return the column that a name means, None if there is none."""
    if name in known:
        return name
    former = FORMER_NAMES.get(name, "")
    return former if former in known else spoken(known).get(name)


def in_percent(name: str) -> bool:
    """Return whether a number of a column may be written in percent."""
    return _FRACTIONS.fullmatch(name) is not None


def unknown(name: str, known: Iterable[str], where: str) -> TtastatsError:
    """Return the error for a name that is no column, with the nearest names."""
    return TtastatsError(
        f"unknown column {name!r}", where=where, remedy=suggestion(name, known, "Columns")
    )
