"""Which runs of A are set against which runs of B?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

Runs = pl.DataFrame


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The runs of A and of B (`crossing.runs`) that answer one question, and its keys.

    `unavailable` says why they cannot be judged: they are shown, and nothing is claimed of them.
    """

    keys: Mapping[str, Any]
    a: Runs
    b: Runs
    unavailable: str | None = None
