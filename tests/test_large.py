"""Memory stays the same however long a log is; judged by its peak in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from tests.test_limits import limited, linux

#: The lengths that are compared; with TTASTATS_LONG set, those of the longest logs there are.
MEGABYTES = (500, 4_000) if os.environ.get("TTASTATS_LONG") else (50, 200)
LINE = b"step %06d loss 1.2345 lr 0.001 throughput 1234.5 images/s [progress =====>    ] \r 12%%\n"


def write_log(path: Path, example: Path, megabytes: int) -> None:
    """Write a log of some length: the lines of an example, and program output between them."""
    events = example.read_bytes().splitlines(keepends=True)
    output = b"".join(LINE % number for number in range(12_000))
    of_each = megabytes * 1_000_000 // len(events)
    with path.open("wb") as log:
        for event in events:
            log.write(event)
            for start in range(0, of_each, len(output)):
                log.write(output[: output.rfind(b"\n", 0, of_each - start) + 1])


@linux
def test_the_peak_of_memory_does_not_grow_with_a_log(two_systems: Path, tmp_path: Path) -> None:
    peaks, tables = list[int](), list[pl.DataFrame]()
    log, table = tmp_path / "result_0.txt", tmp_path / "x.parquet"
    for megabytes in MEGABYTES:
        write_log(log, two_systems / "one_gpu" / "digits" / "result_0.txt", megabytes)
        assert log.stat().st_size == pytest.approx(megabytes * 1e6, rel=0.01)
        code, stderr, peak = limited("ingest", log, "-o", table)
        assert code == 0, stderr
        peaks.append(peak)
        drop = ("run_id", "source_digest", "line")
        tables.append(pl.read_parquet(table).drop(drop))
    assert max(peaks) < 265
    assert peaks[1] <= 1.15 * peaks[0]
    assert tables[0].equals(tables[1])
    assert tables[0]["eval_index"].is_not_null().any()
