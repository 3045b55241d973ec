"""Memory stays the same however long a log is; judged by its peak in a process of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.programs import python
from ttastats.table import store

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the peak of a process is read from /proc"
)
#: The lengths that are compared; with TTASTATS_LONG set, those of the longest logs there are.
MEGABYTES = (500, 4_000) if os.environ.get("TTASTATS_LONG") else (50, 200)

# What `ru_maxrss` says includes the peak of the process that started this one.
MEASURED = """
import sys
from pathlib import Path
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
base = peak()
from ttastats.ingestion.ingest import ingest
ingest([sys.argv[1]], Path(sys.argv[2]))
print(base, peak())
"""
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


def peak_bytes(log: Path, output: Path) -> tuple[int, int]:
    """Return the peak memory of an interpreter, and of an ingest, in a fresh process."""
    done = python("-c", MEASURED, log, output)
    assert done.returncode == 0, done.stderr
    base, peak = (1024 * int(word) for word in done.stdout.split())
    return base, peak


def test_the_peak_of_memory_does_not_grow_with_a_log(two_systems: Path, tmp_path: Path) -> None:
    example = two_systems / "one_gpu" / "digits" / "result_0.txt"
    peaks = []
    tables: list[pl.DataFrame] = []
    for megabytes in MEGABYTES:
        log = tmp_path / "result_0.txt"
        write_log(log, example, megabytes)
        assert log.stat().st_size == pytest.approx(megabytes * 1e6, rel=0.01)
        base, peak = peak_bytes(log, tmp_path / "x.parquet")
        log.unlink()
        peaks.append(peak)
        tables.append(store.read_tables([tmp_path / "x.parquet"]).collect())
        assert peak - base < 256 * 2**20
    assert peaks[1] <= 1.15 * peaks[0]
    drop = ("run_id", "source_digest", "line")
    assert tables[0].drop(drop).equals(tables[1].drop(drop))
    assert tables[0]["eval_index"].is_not_null().any()
