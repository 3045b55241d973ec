"""Sets of runs of one setup: do they differ, and what can be claimed between sessions?"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.test_blocks import losses, texts, timed
from tests.test_cli import run
from ttastats import api
from ttastats.report import as_json, as_markdown
from ttastats.table import store

MONDAY, TUESDAY, WEDNESDAY = (timed(1.0, (0,) * day + (5,), hour=day) for day in range(3))


def test_two_sets_bound_the_spread_between_sessions_and_three_estimate_it() -> None:
    two = api.compare(MONDAY, TUESDAY, same=True)
    three = api.compare(MONDAY, TUESDAY, WEDNESDAY, same=True)
    assert two.rows[0]["between"] is None
    assert "two sets only show" in two.sentence
    for report, unlike in ((two, "2 sessions alike do not exclude 78%"),
                           (three, "3 sessions alike do not exclude 63%")):  # fmt: skip
        assert f"if other sessions are like these ({unlike} that are not)" in report.sentence
        for text in (str(report), as_markdown.render_markdown(report)):
            assert unlike in " ".join(text.split())
        (share,) = {row["unlike"] for row in json.loads(as_json.render_json(report))["rows"]}
        assert f"{share:.0%}" in unlike
    first, second = three.rows
    assert first["between_high"] == second["between_high"] < two.rows[0]["between_high"]
    logs = np.log([row["tta_a_seconds"] for row in (first,)] +
                  [row["tta_b_seconds"] for row in (first, second)])  # fmt: skip
    assert first["between"] == pytest.approx(np.expm1(logs.std(ddof=1)), rel=0.01)
    worth = math.expm1(4.302653 * math.sqrt(2) * logs.std(ddof=1))  # t with 2 degrees of freedom
    assert first["smallest_claim"] == pytest.approx(worth)
    assert "sessions of these 3 sets is 10.6%" in three.sentence


def test_what_is_said_of_a_table_is_said_once_of_its_sets() -> None:
    undated = timed(1.0, (1,)).with_columns(started_at=pl.lit(None, MONDAY["started_at"].dtype))
    table = pl.concat([MONDAY, TUESDAY, undated])
    report = api.compare(table, same=True, where=["reached=yes"], by=["day"])
    (text,) = texts(report, "chosen_by_result")
    assert text.startswith("--where reached=yes: 11 of 11 runs")
    assert texts(report, "blocks_unknown") == ["1 run excluded: day unknown."]


def test_the_command_takes_sets(tmp_path: Path) -> None:
    files = []
    for day in range(2):
        files.append(tmp_path / f"{day}.parquet")
        store.write(losses(3.0, 0.0, (0,) * day + (4,), day), files[-1])
    result = run("compare", *files, "--at-end", "--same", "-f", "json")
    assert result.returncode == 0, result.stderr
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["verdict"], row["sets"]) == ("apart", 2)
    refused = run("compare", *files, "--at-end", "--same", "2%")
    assert refused.returncode == 2
    assert "--same --margin 2%" in refused.stderr
