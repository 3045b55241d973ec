"""Two processes that share a step tell how long they communicated, in three ways."""

from __future__ import annotations

from pathlib import Path

import pytest

import ttastats as tta
from tests.test_cli import run


@pytest.mark.usefixtures("workers_say")  # else later tests could not read what workers say
def test_two_workers_tell_how_long_they_communicate(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    words = ["--width", "4", "--batch-size", "16", "--workers", "2", "--steps", "2"]
    done = run("profile", "digits", *words, "-o", path, "-v")
    assert done.returncode == 0, done.stderr
    rows = tta.profiled(path).rows
    (workers,) = (row for row in rows if row["section"] == "workers")
    assert workers["name"] == "2"
    # An all-reduce lies within the step, as long as it may be; how long it is, nobody can say here.
    assert 0 < workers["under_way_share"] < 1
    assert workers["pure_share"] > 0
    weights = next(row["bytes"] for row in rows if row["name"] == "optimizer state")
    assert workers["bytes"] == weights  # SGD keeps one number for each gradient
    samples = next(row["value"] for row in rows if row["name"] == "samples")
    assert samples == 8  # of each worker
    assert "the share of each of 2 workers in 16" in done.stdout
