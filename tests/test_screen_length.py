"""How much text comparisons of submitters have beside their tables, over the public rounds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from itertools import combinations, islice

import polars as pl
import pytest

from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.ingestion.account import Account
from ttastats.outcomes.select import parse_all
from ttastats.report import as_table
from ttastats.sides.question import Selection


def outside(lines: list[str]) -> int:
    """Return the characters before the titles of a table, and from its cautions on."""
    head = next(n for n, line in enumerate(lines) if line.strip() and set(line.strip()) == {"─"})
    tail = (n for n, line in enumerate(lines) if n > head and line.startswith((" ! ", " + ")))
    rest = lines[: head - 1] + lines[next(tail, len(lines)) :]
    return len(" ".join(line.strip() for line in rest))


def screens(table: pl.DataFrame) -> Iterator[list[str]]:
    """Yield the lines of the comparisons of two submitters of a round."""
    names = table["submitter"].drop_nulls().unique().sort().to_list()
    for a, b in combinations(names, 2):
        sides = (Selection(table, parse_all([f"submitter={name}"], "--a")) for name in (a, b))
        try:
            report = api.compare(*sides)
        except TtastatsError:
            continue
        yield as_table.render_text(report).splitlines()


@pytest.mark.real
def test_the_verdict_stands_first_and_text_is_short(
    ingested_round: Callable[[str], Account],
) -> None:
    every = []
    for name in ("v0.6", "v0.7", "v5.0"):
        table = pl.read_parquet(ingested_round(name).output)
        every += list(islice(screens(table), 5))
    assert len(every) >= 10
    lengths = [outside(lines) for lines in every]
    assert statistics.median(lengths) <= 720
    assert max(lengths) <= 1250  # of six benchmarks, whose targets the head names
    assert max(len(line) for lines in every for line in lines) <= 100
    assert all(lines[0].split("   ")[0].strip().isupper() for lines in every)
