"""Which runs are set against which, and what is said of those that are not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from tests.made_curves import evaluation, logs, of
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.outcomes.select import parse_all
from ttastats.report.answer import Report
from ttastats.sides.question import Selection

_HOURS = itertools.count(1)
FIVE = (100.0, 104.0, 96.0, 108.0, 92.0)
FASTER = (50.0, 52.0, 48.0, 54.0, 46.0)


def table(
    seconds: Sequence[float] = FIVE, *, metric: str = "accuracy", **facts: Any
) -> pl.DataFrame:
    """Return the tidy table of dated runs that end at their target, evaluated half-way too."""
    aim = {"metric": metric, "higher_is_better": True, "target_value": 0.75, "step": None}
    known = {
        "suite": "mlperf", "round": "v4.0", "benchmark": "resnet", "entry": "lab/one",
        "run_status": "success",
    }  # fmt: skip
    runs = []
    for length in seconds:
        evaluations = (
            evaluation(0, 0.7, seconds=length / 2, **aim),
            evaluation(1, 0.75, seconds=length, **aim),
        )
        started = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=next(_HOURS))
        about = known | {"run_seconds": length, "started_at": started}
        runs.append(of(*evaluations, **about | facts))
    return logs(runs)


def notes(report: Report, code: str) -> list[str]:
    return [note.text for note in report.notes if note.code == code]


class TestRunsOnBothSides:
    def test_of_a_whole_benchmark_are_the_same_runs_and_cost_the_others_nothing(self) -> None:
        ssd = table(benchmark="ssd")
        resent = ssd.with_columns(source=pl.col("source") + "_resent")
        newer = table(FASTER)
        report = api.compare(pl.concat([table(), ssd]), pl.concat([newer, resent]))
        resnet, same = report.rows
        assert (same["verdict"], same["claim"]) == ("unavailable", "the same runs")
        assert (same["p_value"], same["speedup"], same["n_a"]) == (None, None, 5)
        assert resnet["p_adjusted"] == resnet["p_value"]


class TestOverlappingParts:
    def test_are_refused_with_their_number_an_example_and_a_remedy(self) -> None:
        both = pl.concat([table(system="dgx2"), table(system="dgx2h")])
        a, b = (
            Selection(both, parse_all([f"system={name}"], option))
            for name, option in (("dgx2*", "--a"), ("dgx2h*", "--b"))
        )
        with pytest.raises(TtastatsError, match=r"5 runs would be on both sides: all of") as raised:
            api.compare(a, b, labels=["old", "new"])
        assert "such as log_" in raised.value.what
        assert raised.value.remedy == (
            "Exclude them from one side, for example --a 'system=dgx2*' --a 'system!=dgx2h*'."
        )
        apart = Selection(both, parse_all(["system=dgx2*", "system!=dgx2h*"], "--a"))
        assert [row["n_a"] for row in api.compare(apart, b).rows] == [5]


class TestLikeForLike:
    def test_another_name_of_the_same_hardware_agrees_and_is_said(self) -> None:
        a = pl.concat([table(hardware="DGX-2"), table(hardware="DGX-2H")])
        b = pl.concat([table(FASTER, hardware=f"NVIDIA DGX-2{more}") for more in ("", "H")])
        report = api.compare(a, b)
        assert [row["hardware"] for row in report.rows] == ["NVIDIA DGX-2", "NVIDIA DGX-2H"]
        assert notes(report, "hardware_names") == [
            "treated as the same hardware: DGX-2 and NVIDIA DGX-2; DGX-2H and NVIDIA DGX-2H."
        ]

    def test_a_name_that_may_be_several_setups_is_paired_with_none(self) -> None:
        a = pl.concat([table(accelerators=8, hardware="H100"), table(accelerators=4)])
        a = a.with_columns(entry=pl.lit("lab/") + pl.col("accelerators").cast(pl.String))
        b = pl.concat(
            [
                table(FASTER, accelerators=8, hardware="H100-SXM5", entry="lab/a"),
                table(FASTER, accelerators=8, hardware="H100-PCIe", entry="lab/b"),
                table(FASTER, accelerators=4, entry="lab/c"),
            ]
        )
        report = api.compare(a, b)
        assert [row["accelerators"] for row in report.rows] == [4]
        assert report.only_a == ("mlperf v4.0 resnet 8 H100",)

    def test_plots_show_the_same_pairs(self) -> None:
        a = pl.concat([table(accelerators=8), table(accelerators=16)])
        b = pl.concat([table(FASTER, accelerators=8), table(FASTER, accelerators=32)])
        made = api.material(a, b)
        assert [(p.keys["accelerators"], p.runs.height) for p in made.panels] == [(8, 10)]
        (plot,) = api.plot("speedups", a, b)
        rows = plot.data["speedups"].get_column("row").unique()
        assert [row.partition("␤")[0] for row in rows] == ["resnet"]


class TestDifferentTargets:
    def test_of_other_metrics_are_not_comparable(self) -> None:
        report = api.compare(table(), table(FASTER, metric="top5"))
        assert [row["claim"] for row in report.rows] == ["not comparable"]
        assert notes(report, "targets_differ") == [
            "A's target is accuracy 0.75, B's is top5 0.75 (resnet)."
        ]
