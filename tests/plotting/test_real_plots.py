"""Plots of the public logs: small data, the numbers of the reports."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ttastats import api
from ttastats.ingestion.account import Account

pytestmark = pytest.mark.real


def test_all_plots_of_a_round_are_small(ingested_round: Callable[[str], Account]) -> None:
    table = ingested_round("v0.5").output
    plots = api.plots(table)
    assert len(plots) > 20
    tables = {name: frame for plot in plots for name, frame in plot.data.items()}
    assert sum(len(frame.write_csv()) for frame in tables.values()) < 3_000_000
    summary = {(row["benchmark"], row["entry"]): row for row in api.summary(table).rows}
    for plot in plots:
        if plot.kind == "tta":
            means = next(f for n, f in plot.data.items() if n.startswith("mean TTA"))
            for row in means.iter_rows(named=True):
                entry = summary[row["benchmark"], row["entry"]]
                assert row["mean"] == entry["tta_mean_seconds"]


def test_dawnbench_has_leaderboards_and_records(
    ingested_round: Callable[[str], Account],
) -> None:
    table = ingested_round("dawnbench").output
    boards = api.plot("leaderboard", table, where=["benchmark=cifar10"])
    first = boards[0].data["leaderboard by time: dawnbench cifar10"].row(0, named=True)
    assert first["entry"].startswith("apple_resnet9")
    (record,) = api.plot("record", table, where=["benchmark=cifar10"])
    assert "9.43 s" in record.caption
    record.to_svg()
