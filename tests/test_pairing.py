"""Which runs are paired with which, and what is said of the others."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from tests import made_curves
from tests.accepted import Case
from tests.made_curves import evaluation, logs, of
from tests.questions import Questions, accepted_answers
from ttastats import api
from ttastats.outcomes.select import parse_all
from ttastats.report.answer import Report
from ttastats.sides.question import Selection

_HOURS = itertools.count(1)
FIVE = (100.0, 104.0, 96.0, 108.0, 92.0)
FASTER = (50.0, 52.0, 48.0, 54.0, 46.0)


def table(
    seconds: Sequence[float] = FIVE, *, metric: str = "accuracy", **facts: Any
) -> pl.DataFrame:
    """Return the tidy table of dated runs that end at their target, with an evaluation half-way."""
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


def resent() -> Report:
    ssd = table(benchmark="ssd")
    again = ssd.with_columns(source=pl.col("source") + "_resent")
    return api.compare(pl.concat([table(), ssd]), pl.concat([table(FASTER), again]))


def systems(*conditions: tuple[str, ...]) -> Report:
    both = pl.concat([table(system="dgx2"), table(system="dgx2h")])
    sides = (
        Selection(both, parse_all([f"system{text}" for text in texts], option))
        for texts, option in zip(conditions, ("--a", "--b"), strict=True)
    )
    return api.compare(*sides, labels=["old", "new"])


def renamed() -> Report:
    a = pl.concat([table(hardware="DGX-2"), table(hardware="DGX-2H")])
    b = pl.concat([table(FASTER, hardware=f"NVIDIA DGX-2{more}") for more in ("", "H")])
    return api.compare(a, b)


def of_several_setups() -> Report:
    a = pl.concat([table(accelerators=8, hardware="H100"), table(accelerators=4)])
    a = a.with_columns(entry=pl.lit("lab/") + pl.col("accelerators").cast(pl.String))
    b = pl.concat(
        [
            table(FASTER, accelerators=8, hardware="H100-SXM5", entry="lab/a"),
            table(FASTER, accelerators=8, hardware="H100-PCIe", entry="lab/b"),
            table(FASTER, accelerators=4, entry="lab/c"),
        ]
    )
    return api.compare(a, b)


QUESTIONS: Questions = {
    "the same runs of a benchmark cost the others nothing": resent,
    "parts that overlap": lambda: systems(("=dgx2*",), ("=dgx2h*",)),
    "parts that do not": lambda: systems(("=dgx2*", "!=dgx2h*"), ("=dgx2h*",)),
    "another name of the same hardware": renamed,
    "a name that may be several setups": of_several_setups,
    "targets of other metrics": lambda: api.compare(table(), table(FASTER, metric="top5")),
}


@pytest.fixture
def _numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Number logs and hours from 1, as errors name them."""
    monkeypatch.setattr(made_curves, "_LOGS", itertools.count(1))
    monkeypatch.setattr(sys.modules[__name__], "_HOURS", itertools.count(1))


@accepted_answers("pairing", QUESTIONS)
@pytest.mark.usefixtures("in_codes", "_numbered")
def test_runs_are_paired_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_plots_show_the_same_pairs() -> None:
    a = pl.concat([table(accelerators=8), table(accelerators=16)])
    b = pl.concat([table(FASTER, accelerators=8), table(FASTER, accelerators=32)])
    material = api.material(a, b)
    assert [(p.keys["accelerators"], p.runs.height) for p in material.panels] == [(8, 10)]
    (plot,) = api.plot("speedups", a, b)
    rows = plot.data["speedups"].get_column("row").unique()
    assert [row.partition("␤")[0] for row in rows] == ["resnet"]
