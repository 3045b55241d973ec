"""What fails a CI job, what lets it pass undecided, and that every format says so."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.accepted import Case, cases
from tests.compare_rows import typed
from tests.test_cli import refusal, run
from tests.test_compare import VARIED_A, VARIED_B, Outcome, compared, side
from ttastats import api
from ttastats.answers.compare import gate
from ttastats.report import as_csv, as_html, as_json, as_markdown, harmless
from ttastats.report.answer import Report
from ttastats.report.cells import Gate
from ttastats.report.grouping import BENCHMARK
from ttastats.stats.unseen import unseen_share

FAIL_ON, REQUIRE = "slower:2%", "not-slower:2%"


def times(outcomes: list[Outcome], factor: float) -> list[Outcome]:
    return [(seconds * factor, epochs) for seconds, epochs in outcomes]


def row(low: float | None, high: float | None, **more: Any) -> dict[str, Any]:
    """Return a row of `compare` as far as the gate looks at it."""
    return {
        "suite": "mlperf", "round": "v4.0", "benchmark": "resnet", "a": "main", "b": "branch",
        "n_a": 5, "n_b": 5, "reached_a": 5, "reached_b": 5,
        "non_inferiority_low": low, "inferiority_high": high,
        "verdict": "undecided", "claim": "undecided", "planning_cv": 0.1,
    } | more  # fmt: skip


def judged(cells: dict[str, Any], *, fail_on: str = "", require: str = "") -> Gate:
    report = Report("compare", (typed(cells),), (), by=BENCHMARK)
    report = gate.judge(report, gate.conditions(fail_on, require), confidence=0.95)
    assert report.gate is not None
    return report.gate


class TestRunsNeeded:
    def test_constant_epochs_take_as_many_runs_as_bound_what_was_not_seen(self) -> None:
        def needed(**more: float) -> int | None:
            cells = row(0.9, 1.1, planning_cv=0.002, **more)
            return judged(cells, fail_on=FAIL_ON).undecided[0].runs_needed

        n = needed(epoch_shift_b=1 / 3)
        assert n is not None
        assert unseen_share(n, 0.9) / 3 <= 0.02 < unseen_share(n - 6, 0.9) / 3
        both = needed(epoch_shift_a=1 / 3, epoch_shift_b=1 / 3)
        assert both is not None
        assert both > n
        assert needed(epoch_shift_a=math.inf) is None


def of_formats() -> Iterator[str]:
    """Yield what each format says of gates that fail, of an undecided one, and of none."""
    a = pl.concat([side(VARIED_A, name) for name in ("resnet", "bert", "ssd")])
    b = pl.concat([side(times(VARIED_A, 2), "resnet"), side(VARIED_A, "bert")])
    for report in (api.compare(a, b, fail_on=FAIL_ON), compared(side(VARIED_A), side(VARIED_B))):
        answer = json.loads(as_json.render_json(report))
        yield json.dumps([answer.get("gate"), [row.get("gate") for row in answer["rows"]]])
        for text in (as_markdown.render_markdown(report), as_html.render_html(report)):
            words = ("gate", "- failed", "- undecided")
            yield from (line for line in text.splitlines() if any(word in line for word in words))
        yield from (line.rpartition(",")[2] for line in as_csv.render_csv(report).splitlines())


@cases("screens", gates=of_formats)
def test_every_format_tells_of_a_gate_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_a_name_cannot_say_that_the_gate_passed() -> None:
    name = "x\ngate --fail-on slower:2%: passed\x1b[32m"
    report = api.compare(
        side(VARIED_B, name), side(VARIED_A, name), fail_on=FAIL_ON, labels=["A", name]
    )
    assert report.gate is not None
    headline, *lines = harmless.gate_lines(report.gate)
    assert headline == "gate --fail-on slower:2%: failed"
    assert all(line.isprintable() for line in lines)
    assert "\ngate" not in as_markdown.render_markdown(report).split("**gate")[1]


class TestCommand:
    @pytest.mark.parametrize("form", ["table", "csv"])
    def test_exit_code_3_and_the_verdict_whatever_the_format(self, tables: Path, form: str) -> None:
        slow, fast = tables / "one_gpu.parquet", tables / "eight_gpus.parquet"
        passed = run("compare", slow, fast, "--fail-on", FAIL_ON, "-f", form)
        assert passed.returncode == 0
        result = run("compare", fast, slow, "--fail-on", FAIL_ON, "-f", form)
        assert result.returncode == 3
        assert "gate --fail-on slower:2%: failed" in result.stderr
        assert "failed: digits: " in result.stderr
        text = passed.stdout if form == "table" else passed.stderr
        assert "gate --fail-on slower:2%: passed" in text
        if form == "table":
            assert "gate --fail-on slower:2%: failed" in result.stdout
            assert passed.stderr == ""

    def test_requirements_fail_in_one_direction(self, tables: Path) -> None:
        slow, fast = tables / "one_gpu.parquet", tables / "eight_gpus.parquet"
        assert run("compare", slow, fast, "--require", REQUIRE).returncode == 0
        assert run("compare", fast, slow, "--require", REQUIRE).returncode == 3

    def test_without_pairs_the_exit_code_is_2(self, tables: Path, tmp_path: Path) -> None:
        (tmp_path / "a.tsv").write_text("epoch\thours\tf1Score\n1\t0.5\t0.8\n")
        run("ingest", "a.tsv", cwd=tmp_path)
        sides = (tables / "one_gpu.parquet", tmp_path / "a.parquet")
        refusal(run("compare", *sides, "--fail-on", FAIL_ON))

    def test_a_condition_is_refused_before_files_are_read(self) -> None:
        message = refusal(run("compare", "none", "none2", "--fail-on", "not-slower:2%"))
        assert "--require not-slower:2%" in message
