"""The public logs: every one read, and the published figures found in them."""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import ROOT
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.ingestion.ingest import Account
from ttastats.report.cells import Table
from ttastats.report.render import words
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


def lines_with(real_logs: Path, token: bytes) -> Iterator[tuple[Path, bytes]]:
    """Yield every file that holds a token, found without any parser."""
    for path in sorted(real_logs.rglob("*")):
        if path.is_file() and token in (content := path.read_bytes()):
            yield path, content


@pytest.mark.parametrize("name", ROUNDS)
class TestRound:
    def test_every_run_is_read_and_ends_as_its_log_says(
        self, name: str, runs: dict[str, pl.DataFrame]
    ) -> None:
        counts = runs[name].group_by("run_status").len().rows()
        assert dict(counts) == ROUNDS[name]
        assert runs[name]["reached"].sum() == REACHED[name]

    def test_every_file_with_benchmark_lines_is_a_run_or_a_named_problem(
        self, name: str, real_logs: Path, accounts: dict[str, Account]
    ) -> None:
        if name == "dawnbench":
            found = {str(path) for path in (real_logs / name).rglob("*.tsv")}
        else:
            found = {str(path) for path, _ in lines_with(real_logs / name, b":::ML")}
        table = store.read_tables([accounts[name].output]).select("source").unique().collect()
        named = {problem.source for problem in accounts[name].problems}
        assert found - set(table["source"]) - named == set()

    def test_nothing_is_rejected(self, name: str, accounts: dict[str, Account]) -> None:
        assert accounts[name].rejected == ()


def test_the_time_of_every_v5_success_is_run_stop_minus_run_start(
    real_logs: Path, runs: dict[str, pl.DataFrame]
) -> None:
    def stamp(content: bytes, key: bytes) -> int:
        (line,) = [text for text in content.split(b"\n") if b'"key": "' + key + b'"' in text]
        return int(line.split(b'"time_ms": ')[1].split(b",")[0])

    times = dict(runs["v5.0"].filter("reached").select("source", "tta_seconds").iter_rows())
    for source, seconds in times.items():
        content = Path(source).read_bytes()
        milliseconds = stamp(content, b"run_stop") - stamp(content, b"run_start")
        assert round(seconds * 1000) == milliseconds, source
    assert len(times) == 1708


def test_the_papers_tables_are_reproduced(runs: dict[str, pl.DataFrame]) -> None:
    example = runpy.run_path(str(ROOT / "examples" / "reproduce_paper" / "__main__.py"))
    printed = example["tables"](runs["v0.5"]).tables
    table_3b, table_4, _, _, table_7 = (_texts(table) for table in printed)
    matches = {row[0]: row[-1].split(":")[0] for row in (*table_3b, *table_4, *table_7)}
    assert [row for row, match in matches.items() if match.startswith("yes")] == [
        "SSD, 1xDGX-1",
        "SSD, 8xDGX-1",
        "GNMT, 1xDGX-1",
        "Transformer, 1xDGX-1",
        "ResNet, 80xDGX-1",
        "ResNet, 1 to 80 DGX-1",
        "SSD, 1 to 8 DGX-1",
    ]
    assert [row for row, match in matches.items() if match == "no"] == [
        "ResNet, 1xDGX-1",
        "SSD, 8xDGX-2",
    ]
    assert table_3b[0][2].startswith("0.41%")
    assert table_4[1][4:7] == ["53.6 ± 4.2", "6.3 ± 0.03", "15.0"]
    assert table_7[2][4:6] == ["28.169x", "21.642x"]
    assert table_7[2][6].startswith("28.04 [")
    assert table_7[3][4:6] == ["4.638x", "4.132x"]
    assert [cell.split(" ")[0] for cell in table_7[3][6:8]] == ["4.629", "4.138"]


def test_only_the_result_files_of_a_submission_count(accounts: dict[str, Account]) -> None:
    chosen = ["benchmark=minigo", "system=8-nodes-32s-cpx-tensorflow"]
    report = api.summary(accounts["v0.7"].output, where=chosen)
    (row,) = report.rows
    assert (row["n"], row["reached"], round(row["cv"], 3)) == (10, 10, 0.064)
    assert round(row["tta_mean_seconds"] / 3600, 2) == 6.82
    assert "20 logs outside the result files" in " ".join(note.text for note in report.notes)


def test_a_run_that_went_on_after_its_target_counts_all_it_trained(
    runs: dict[str, pl.DataFrame],
) -> None:
    entry = {"benchmark": "ssd", "entry": "Google/tpu-v3-4096-JAX"}
    found = runs["v0.7"].filter(**entry)
    assert sorted(found["epochs"]) == [100.0, 105.0, 105.0, 110.0, 110.0]


def test_inference_entries_are_no_failed_runs(runs: dict[str, pl.DataFrame]) -> None:
    aside = runs["dawnbench"].filter(set_aside="inference")
    assert (aside.height, aside["evaluations"].null_count()) == (49, 49)
    assert runs["dawnbench"].filter(pl.col("set_aside").is_null())["reached"].all()


def test_scaling_sets_no_hardware_against_another(accounts: dict[str, Account]) -> None:
    report = api.scaling(accounts["v5.0"].output)
    found = {(row["benchmark"], row["entry"]): row for row in report.rows}
    h100 = found["llama31_405b", "NVIDIA/eos-dfw_n1024_ngc25.01_nemo"]
    assert h100["base_entry"] == "NVIDIA/eos-dfw_n64_ngc25.01_nemo"
    assert round(h100["efficiency"], 3) == 0.734  # 0.328 against a base of GB200
    h200 = found["retinanet", "Oracle/1xBM.GPU.H200.8"]
    assert (h200["base_entry"], h200["efficiency"]) == (h200["entry"], 1.0)  # 0.664 against B200
    slopes = next(note.text for note in report.notes if note.code == "slope")
    assert "llama31_405b NVIDIA NVIDIA H100-SXM5-80GB 0.89" in slopes
    assert "mixed_curves" not in {note.code for note in report.notes}


def test_the_blogs_figures_follow_or_are_shown_not_to(runs: dict[str, pl.DataFrame]) -> None:
    example = runpy.run_path(str(ROOT / "examples" / "dawnbench_leaderboard" / "__main__.py"))
    *boards, claims = (_texts(table) for table in example["tables"](runs["dawnbench"]))
    assert [len(board) for board in boards] == [27, 31, 11]
    assert boards[1][0][1] == "apple_resnet9_8v100_pytorch"
    assert {row[0] for row in claims if row[2] == "no"} == {
        "seed ImageNet training: 10 d 10 h 42 min",
        "fast.ai on 8 V100: $72.50",
    }
    assert len(claims) == 19


def _texts(table: Table) -> list[list[str]]:
    return [[words.cell_text(cell) for cell in row.cells] for row in table.rows]


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
    found: dict[str, Any] = {row["benchmark"]: row for row in report.rows}
    for benchmark, expected in DGX.items():
        row = found[benchmark]
        values = (row["speedup"], row["speedup_low"], row["speedup_high"])
        assert tuple(round(value, 3) for value in values) == expected, benchmark
    assert {b: row["verdict"] for b, row in found.items()} == {
        "resnet": "faster",
        "ssd": "undecided",
        "gnmt": "undecided",
        "transformer": "undecided",
        "ncf": "undecided",
    }
    assert math.isclose(found["ssd"]["p_adjusted"], 0.065, abs_tol=0.001)
    assert round(found["resnet"]["epoch_safe_low"], 3) == 1.009
    assert round(found["resnet"]["epoch_safe_high"], 3) == 1.107
    assert (found["ncf"]["reached_a"], found["ncf"]["reached_b"]) == (80, 83)


class TestConditions:
    """What a person types at the v0.5 round."""

    def test_rows_of_two_benchmarks_by_their_spread(self, accounts: dict[str, Account]) -> None:
        output = accounts["v0.5"].output
        every = api.summary(output, where=["benchmark=resnet,ssd"])
        kept = api.summary(output, where=["benchmark=resnet,ssd", "cv>5%"])
        assert [row for row in every.rows if (row["cv"] or 0.0) > 0.05] == list(kept.rows)
        assert {row["benchmark"] for row in kept.rows} == {"resnet", "ssd"}
        left_out = len(every.rows) - len(kept.rows)
        assert f"{len(kept.rows)} rows shown, {left_out} other rows hidden" in (kept.notes[-1].text)

    def test_evaluations_are_not_left_out_before_the_judgement(
        self, accounts: dict[str, Account]
    ) -> None:
        output = accounts["v0.5"].output
        with pytest.raises(TtastatsError, match="value is a column of evaluations"):
            api.summary(output, where=["value<0.7"])
        runs = api.runs(output, where=["benchmark=resnet", "value<0.7"])
        assert (len(runs.rows), sum(row["reached"] for row in runs.rows)) == (70, 70)

    def test_runs_that_failed(self, accounts: dict[str, Account]) -> None:
        failed = api.runs(accounts["v0.5"].output, where=["reached=false"])
        assert len(failed.rows) == 600 - REACHED["v0.5"]

    def test_runs_by_their_day(self, accounts: dict[str, Account]) -> None:
        output = accounts["v5.0"].output
        before, after = (
            api.run_table(output, where=[f"started_at{sign}2025-04-29"]).height for sign in "<>"
        )
        day = api.run_table(output, where=["started_at=2025-04-29"]).height
        known = api.run_table(output, where=["started_at=*"]).height
        assert min(before, after, day) > 0
        assert before + day + after == known

    def test_a_target_is_asked_of_the_benchmarks_that_log_its_metric(
        self, accounts: dict[str, Account]
    ) -> None:
        output = accounts["v0.5"].output
        found = api.summary(output, target=["top1_accuracy=70%"])
        assert {row["benchmark"] for row in found.rows} == {"resnet"}
        assert all(row["reached"] == row["n"] for row in found.rows)
        assert "gnmt (logs bleu)" in found.notes[-1].text
        beyond = api.summary(output, target=["top1_accuracy=0.99"])
        assert {row["reached"] for row in beyond.rows} == {0}

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("acc=0.9", "no benchmark logs the metric 'acc'\n  Nearest: top1_accuracy."),
            ("top1_accuracy=97", "top1_accuracy of resnet lies between 0.00374 and 0.755"),
            (
                "0.75",
                "0.75 is far outside the logged range: bleu of gnmt lies between 16.2 and 22.7",
            ),
        ],
    )
    def test_a_target_that_cannot_be_asked_is_refused(
        self, target: str, message: str, accounts: dict[str, Account]
    ) -> None:
        with pytest.raises(TtastatsError) as refused:
            api.summary(accounts["v0.5"].output, target=[target])
        assert message in str(refused.value)


#: Speedup of v0.6 over v0.5 on DGX-2H at a target both are judged by, and that target.
ROUNDS_APART = {
    "gnmt": (21.8, 1.837, 1.598, 2.112),
    "resnet": (0.749, 1.402, 1.348, 1.458),
    "ssd": (0.212, 1.275, 1.183, 1.375),
}


def test_rounds_with_other_targets_are_judged_at_one(accounts: dict[str, Account]) -> None:
    files = [accounts[name].output for name in ("v0.5", "v0.6")]
    report = api.compare(*files, where=["system=dgx2h_ngc*"])
    found: dict[str, Any] = {row["benchmark"]: row for row in report.rows}
    for benchmark, (target, *expected) in ROUNDS_APART.items():
        row = found[benchmark]
        assert (row["target_value"], row["flags"][0]) == (target, "targets_differ")
        limits = [row["speedup"], row["speedup_low"], row["speedup_high"]]
        assert limits == pytest.approx(expected, abs=0.0006)
    assert "targets_differ" not in found["transformer"]["flags"]


def test_rounds_are_compared_like_for_like(accounts: dict[str, Account]) -> None:
    report = api.compare(accounts["v0.5"].output, accounts["v0.6"].output)
    setups = {(row["accelerators"], row["hardware"]) for row in report.rows}
    assert setups == {(16, "NVIDIA DGX-2"), (16, "NVIDIA DGX-2H")}
    assert report.tables[0].title.startswith("mlperf: A v0.5, B v0.6")


def test_a_round_is_not_compared_with_itself(accounts: dict[str, Account]) -> None:
    output = accounts["v5.0"].output
    with pytest.raises(TtastatsError, match="contain the same runs: 1,717 runs"):
        api.compare(output, output)


def test_parts_of_a_round_that_share_runs_are_refused(accounts: dict[str, Account]) -> None:
    output = accounts["v0.5"].output
    a, b = (api.read(output, where=[f"system={name}*"]) for name in ("dgx2", "dgx2h"))
    with pytest.raises(TtastatsError, match="140 runs would be on both sides"):
        api.compare(a, b)
