"""Rows that wait come back in their order, and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from ttastats.ingestion import spill
from ttastats.table import schema


def rows(seed: int) -> pl.DataFrame:
    return pl.DataFrame([{"seed": seed}], schema=schema.POLARS)


@pytest.mark.parametrize("limit", [0, 10**9])
def test_rows_come_back_in_order_and_nothing_stays(
    limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spill, "_HELD_BYTES", limit)
    with spill.Held(tmp_path / "x.parquet") as held:
        for seed in range(5):
            held.add(rows(seed))
        assert held.rows().collect()["seed"].to_list() == [0, 1, 2, 3, 4]
        assert bool(list(tmp_path.iterdir())) == (limit == 0)
    assert list(tmp_path.iterdir()) == []


def test_the_files_of_a_failed_ingest_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spill, "_HELD_BYTES", 0)

    def fail() -> None:
        with spill.Held(tmp_path / "x.parquet") as held:
            held.add(rows(0))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []
