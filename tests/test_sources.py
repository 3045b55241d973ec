"""Where the spread of runs comes from, as a user asks it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.test_cli import run
from tests.test_effects import START, trained
from ttastats import api
from ttastats.report.answer import Report


def table() -> pl.DataFrame:
    """Return runs whose time per epoch depends on the host and whose epochs on the seed."""
    rng = np.random.default_rng(5)
    speed, need = rng.normal(0, 0.05, 6), (9, 12, 10, 15)
    tables = []
    for number in range(4 * 6):
        host, seed = divmod(number, 4)
        epochs = need[seed] + number % 2
        seconds = float(10 * epochs * np.exp(speed[host] + rng.normal(0, 0.004)))
        runs = trained(seconds, epochs if number != 9 else None, number, host=f"h{host}")
        start = START + timedelta(days=host, hours=seed)
        tables.append(runs.with_columns(seed=pl.lit(seed), started_at=pl.lit(start)))
    return pl.concat(tables)


def row(report: Report, source: str, part: str) -> dict[str, Any]:
    (only,) = (r for r in report.rows if (r["source"], r["part"]) == (source, part))
    return dict(only)


def test_each_source_is_seen_in_the_part_it_changes() -> None:
    report = api.variance(table(), sources=["host", "seed"])
    assert row(report, "host", "time_per_epoch")["share"] > 0.9
    assert row(report, "seed", "epochs")["share"] > 0.8
    assert row(report, "seed", "time_per_epoch")["p"] > 0.1 > row(report, "seed", "epochs")["p"]
    host = row(report, "host", "tta")
    assert (host["n"], host["reached"], host["values"]) == (24, 23, 6)
    assert sum(row(report, name, "tta")["share"] for name in ("host", "seed", "run")) == (
        pytest.approx(1)
    )
    assert report.sentence.startswith("Variance of time to target: host ")


def test_the_command_line_takes_names_separated_by_commas(two_systems: Path) -> None:
    result = run("variance", str(two_systems), "--sources", "seed, day", "--by", "benchmark")
    assert result.returncode == 0, result.stderr
    assert "where the variance comes from" in result.stdout
    assert "time per epoch  seed " in result.stdout
    assert "day: no variance of its own" in result.stdout
    unknown = run("variance", str(two_systems), "--sources", "sede")
    assert (unknown.returncode, "--sources" in unknown.stderr) == (2, True)
