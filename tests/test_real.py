"""The public logs: every one read, and the published figures found in them."""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.accepted import Case, in_full
from tests.conftest import ROOT
from ttastats import api
from ttastats.ingestion.account import Account
from ttastats.report.answer import Report
from ttastats.table import store

pytestmark = pytest.mark.real

#: Runs, and how their logs say they ended, from a survey of the same files.
ROUNDS = {
    "v0.5": {"success": 449, "aborted": 96, "unknown": 55},
    "v0.6": {"success": 424, "aborted": 1},
    "v0.7": {"success": 931, "aborted": 9},
    "v5.0": {"success": 1708, "aborted": 4, "truncated": 5},
    "dawnbench": {"unknown": 118},
}
REACHED = {"v0.5": 504, "v0.6": 424, "v0.7": 931, "v5.0": 1708, "dawnbench": 69}


@pytest.fixture(scope="module")
def accounts(ingested_round: Callable[[str], Account]) -> dict[str, Account]:
    return {name: ingested_round(name) for name in ROUNDS}


@pytest.fixture(scope="module")
def runs(accounts: dict[str, Account]) -> dict[str, pl.DataFrame]:
    return {name: api.run_table(account.output) for name, account in accounts.items()}


@pytest.mark.parametrize("name", ROUNDS)
def test_every_run_is_read_and_every_file_is_a_run_or_a_named_problem(
    name: str, real_logs: Path, accounts: dict[str, Account], runs: dict[str, pl.DataFrame]
) -> None:
    """Files that hold the token of benchmark lines are found without any parser."""
    counts = runs[name].group_by("run_status").len().rows()
    assert dict(counts) == ROUNDS[name]
    assert runs[name]["reached"].sum() == REACHED[name]
    if name == "dawnbench":
        paths = {str(path) for path in (real_logs / name).rglob("*.tsv")}
    else:
        files = (path for path in (real_logs / name).rglob("*") if path.is_file())
        paths = {str(path) for path in files if b":::ML" in path.read_bytes()}
    table = store.read_tables([accounts[name].output]).select("source").unique().collect()
    named = {problem.source for problem in accounts[name].problems}
    assert paths - set(table["source"]) - named == set()
    assert accounts[name].rejected == ()


EXAMPLES = {"reproduce_paper": "v0.5", "dawnbench_leaderboard": "dawnbench"}


@pytest.mark.parametrize(("name", "logs"), EXAMPLES.items())
def test_published_figures_follow_or_are_shown_not_to(
    name: str, logs: str, runs: dict[str, pl.DataFrame]
) -> None:
    example = runpy.run_path(str(ROOT / "examples" / name / "__main__.py"))
    printed = example["tables"](runs[logs])
    report = printed if isinstance(printed, Report) else Report(name, (), tuple(printed))
    assert Case("answers", name, lambda: [in_full(report)]).is_as_accepted()


#: Speedup of DGX-2H over DGX-2 in the v0.5 round, with its interval, as a separate study found.
DGX = {
    "resnet": (1.057, 1.054, 1.060),
    "ssd": (1.112, 1.026, 1.205),
    "gnmt": (1.070, 0.933, 1.227),
    "transformer": (1.056, 0.897, 1.244),
    "ncf": (1.066, 0.918, 1.239),
}


def test_two_official_systems_compare_as_in_the_study(accounts: dict[str, Account]) -> None:
    output = accounts["v0.5"].output
    a, b = (api.read(output, where=[f"system={name}_ngc*"]) for name in ("dgx2", "dgx2h"))
    report = api.compare(a, b)
    rows: dict[str, Any] = {row["benchmark"]: row for row in report.rows}
    for benchmark, expected in DGX.items():
        row = rows[benchmark]
        values = (row["speedup"], row["speedup_low"], row["speedup_high"])
        assert tuple(round(value, 3) for value in values) == expected, benchmark
    verdicts = {benchmark: row["verdict"] for benchmark, row in rows.items()}
    assert verdicts == {**dict.fromkeys(DGX, "undecided"), "resnet": "faster"}
    assert math.isclose(rows["ssd"]["p_adjusted"], 0.065, abs_tol=0.001)
    assert round(rows["resnet"]["epoch_safe_low"], 3) == 1.009
    assert round(rows["resnet"]["epoch_safe_high"], 3) == 1.107
    assert (rows["ncf"]["reached_a"], rows["ncf"]["reached_b"]) == (80, 83)


def test_runs_are_chosen_by_their_day(accounts: dict[str, Account]) -> None:
    conditions = [f"started_at{sign}2025-04-29" for sign in "<=>"] + ["started_at=*"]
    output = accounts["v5.0"].output
    *parts, known = (api.run_table(output, where=[condition]).height for condition in conditions)
    assert min(parts) > 0
    assert sum(parts) == known
