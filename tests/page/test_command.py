"""`ttastats report` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.page.made import data_of
from tests.plotting.test_profiled import profile
from tests.test_cli import refusal, run
from ttastats.traces import table


def test_one_line_says_what_was_written(sides: list[Path], tmp_path: Path) -> None:
    result = run("report", *sides, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "")
    size = (tmp_path / "report.html").stat().st_size / 1e6
    plots = len(data_of((tmp_path / "report.html").read_text("utf-8"))["plots"])
    assert result.stderr == f"wrote report.html: 20 runs, {plots} plots, {size:.1f} MB\n"


def test_a_page_can_be_sent_to_standard_output(sides: list[Path], tmp_path: Path) -> None:
    result = run("report", sides[0], "-o", "-", "--title", "Mine & yours", cwd=tmp_path)
    assert result.stdout.startswith("<!DOCTYPE html>")
    assert '<p class="title">Mine &amp; yours</p>' in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_profiles_become_a_page_too(tmp_path: Path) -> None:
    for name, seconds in (("a", 1.0), ("b", 0.5)):
        rows = profile(name).with_columns(pl.col("seconds", "value") * seconds)
        table.write_profile(rows, tmp_path / f"{name}.parquet")
    result = run("report", "a.parquet", "b.parquet", "-o", "page.html", cwd=tmp_path)
    assert result.stderr.startswith("wrote page.html: 2 profiles, 7 plots, ")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "<h1>Is a step of b shorter than one of a?</h1>" in text
    assert text.index("b against a") < text.index("A step takes 11.0 ms: 63.6% ")
    together = ("report", "--together", "a.parquet", "b.parquet", "-o", "-")
    assert "<h1>Time of a step of a, b</h1>" in run(*together, cwd=tmp_path).stdout
    refused = refusal(run("report", "a.parquet", "--where", "seed=1", cwd=tmp_path))
    assert "--where: applies to runs, but the files are profiles" in refused


def test_sides_can_be_named_and_chosen(sides: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    labels = ("--label", "small", "--label", "large")
    assert run("report", *sides, *labels, "-o", out).returncode == 0
    claim = "large (8 accelerators) is 1.74× faster than small (1 accelerator) to accuracy ≥ 0.97"
    assert f"</span> {claim} on digits, if no further run fails" in out.read_text("utf-8")
    where = ("--a", "seed<1004", "--b", "seed>=1004")
    assert run("report", sides[0], *where, "-o", out).returncode == 0
    text = out.read_text("utf-8")
    assert "<title>seed&gt;=1004 is between " in text
    assert f"Made by <code>ttastats report {sides[0]} --a &#39;seed&lt;1004&#39;" in text


def test_several_files_can_be_summarised_as_one(sides: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert run("report", "--together", *sides, "-o", out).returncode == 0
    text = out.read_text("utf-8")
    leaders = "To accuracy ≥ 0.97: 2 entries of digits, each alone in its size class."
    assert f'<h1 id="verdict">{leaders}</h1>' in text
    assert "Example/eight_gpus takes " in text


def test_conditions_and_targets_are_said_in_the_head(sides: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    options = ("--where", "seed<1004", "--target", "0.9")
    assert run("report", *sides, *options, "-o", out).returncode == 0
    assert "<dd>seed&lt;1004, target 0.9</dd>" in out.read_text("utf-8")


def test_a_gate_stands_on_the_page_and_fails_the_job(sides: list[Path], tmp_path: Path) -> None:
    slow, fast = sides
    gate = ("--fail-on", "slower:2%")
    passed = run("report", slow, fast, *gate, "-o", tmp_path / "passed.html")
    assert passed.returncode == 0
    text = "<b>gate --fail-on slower:2%: passed</b>"
    assert text in (tmp_path / "passed.html").read_text("utf-8")
    result = run("report", fast, slow, *gate, "-o", tmp_path / "failed.html")
    assert result.returncode == 3
    assert "failed: digits: " in result.stderr
    assert "slower:2%: failed</b>" in (tmp_path / "failed.html").read_text("utf-8")
    alone = run("report", slow, *gate, "-o", tmp_path / "none.html")
    assert "needs two sides" in refusal(alone)
    assert not (tmp_path / "none.html").exists()


def test_mistakes_cost_no_work_and_no_file(sides: list[Path], tmp_path: Path) -> None:
    before = sides[0].read_bytes()
    assert "is an input; the output would overwrite it" in refusal(
        run("report", *sides, "-o", sides[0])
    )
    assert sides[0].read_bytes() == before
    assert "folder does not exist" in refusal(
        run("report", *sides, "-o", tmp_path / "no" / "page.html")
    )
    assert "is a folder" in refusal(run("report", *sides, "-o", tmp_path))
    lonely = run("report", *sides, "--label", "one", "-o", tmp_path / "page.html")
    assert "1 label for 2 sides" in refusal(lonely)
    assert "no such file" in refusal(run("report", tmp_path / "none.parquet", "-o", "-"))
    assert list(tmp_path.iterdir()) == []
