"""Pictures of the public logs: few seconds, small data, the numbers of the reports."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ttastats import api
from ttastats.ingestion.ingest import ingest

pytestmark = pytest.mark.real


def test_all_pictures_of_a_round_take_seconds_and_are_small(
    real_logs: Path, tmp_path: Path
) -> None:
    table = ingest([real_logs / "v0.5"], tmp_path / "v0.5.parquet").output
    start = time.process_time()
    pictures = api.pictures(table)
    assert time.process_time() - start < 20  # about 2 on an idle core
    assert len(pictures) > 25
    tables = {name: frame for picture in pictures for name, frame in picture.data.items()}
    assert sum(len(frame.write_csv()) for frame in tables.values()) < 3_000_000
    summary = {(row["benchmark"], row["entry"]): row for row in api.summary(table).rows}
    for picture in pictures:
        if picture.kind == "tta":
            means = next(f for n, f in picture.data.items() if n.startswith("mean TTA"))
            for row in means.iter_rows(named=True):
                told = summary[row["benchmark"], row["entry"]]
                assert row["mean"] == told["tta_mean_seconds"]


def test_dawnbench_has_leaderboards_and_records(real_logs: Path, tmp_path: Path) -> None:
    table = ingest([real_logs / "dawnbench"], tmp_path / "dawnbench.parquet").output
    boards = api.plot("leaderboard", table, where=["benchmark=cifar10"])
    first = boards[0].data["leaderboard by time: dawnbench cifar10"].row(0, named=True)
    assert first["entry"].startswith("apple_resnet9")
    (record,) = api.plot("record", table, where=["benchmark=cifar10"])
    assert "9.43 s" in record.caption
    record.to_svg()
