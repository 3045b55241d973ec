"""What is a picture? A chart without its data, the data by name, and what its marks mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

#: Columns a reader may choose rows by: a row stays if each that its table has is chosen.
FILTERS = ("benchmark", "system", "entry")


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """One picture.

    `chart` is a Vega-Lite specification whose data sets are references (`{"name": ...}`) to
    tables in `data`; pictures that show the same table share it under one name. `caption` says n
    and what marks and intervals mean, and, where runs were left out or drawn together, how many.
    `benchmark` names the one benchmark it shows, None if it shows several.
    """

    kind: str
    title: str
    caption: str
    chart: Mapping[str, Any]
    data: Mapping[str, pl.DataFrame]
    benchmark: str | None = None
