"""The workflow of `examples/ci_gate`, with its commands as they are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import programs
from tests.conftest import ROOT
from tests.test_cli import run

WORKFLOW = ROOT / "examples" / "ci_gate" / "time-to-accuracy.yml"
NIGHTLY = WORKFLOW.with_name("nightly.yml")
pytestmark = [
    pytest.mark.skipif(not WORKFLOW.exists(), reason="an installed copy has no examples"),
    pytest.mark.skipif(shutil.which("bash") is None, reason="GitHub runs steps with bash"),
]


def steps(of: Path = WORKFLOW) -> dict[str, Mapping[str, Any]]:
    (job,) = yaml.safe_load(of.read_text("utf-8"))["jobs"].values()
    return {step["name"]: step for step in job["steps"] if "name" in step}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder with programs `ttastats` and `gh`, as a job finds them."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, line in (
        ("ttastats", f'exec "{sys.executable}" -m ttastats "$@"'),
        ("gh", 'printf "%s\\n" "$@" > gh.txt'),
    ):
        (programs / name).write_text(f"#!/usr/bin/env bash\n{line}\n")
        (programs / name).chmod(0o755)
    return tmp_path


def given(checkout: Path, baseline: Path, branch: Path) -> None:
    shutil.copytree(branch, checkout / "logs")
    assert run("ingest", baseline, "-o", checkout / "baseline.parquet").returncode == 0


def bash(step: Mapping[str, Any], checkout: Path) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does."""
    environment = {
        "PATH": os.pathsep.join([str(checkout / "bin"), os.environ["PATH"]]),
        "GITHUB_STEP_SUMMARY": str(checkout / "summary.md"),
        "NUMBER": "7",
    }
    shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
    return programs.call(*shell, step["run"], cwd=checkout, env=programs.environment(**environment))


def test_a_branch_that_is_slower_fails_and_the_summary_says_why(
    checkout: Path, two_systems: Path
) -> None:
    given(checkout, two_systems / "eight_gpus", two_systems / "one_gpu")
    assert bash(steps()["Read the logs"], checkout).returncode == 0
    process = bash(steps()["Compare with the baseline"], checkout)
    assert process.returncode == 3, process.stderr
    assert "failed: digits: this branch is at least" in process.stderr
    summary = (checkout / "summary.md").read_text()
    assert "| benchmark | A: mean ±CV |" in summary
    assert "**gate --fail-on slower:2%: failed**" in summary


def test_a_branch_that_is_faster_passes_and_is_commented_on(
    checkout: Path, two_systems: Path
) -> None:
    given(checkout, two_systems / "one_gpu", two_systems / "eight_gpus")
    assert run("ingest", "logs", "-o", "branch.parquet", cwd=checkout).returncode == 0
    for name in ("Compare with the baseline", "Comment on the pull request"):
        process = bash(steps()[name], checkout)
        assert process.returncode == 0, process.stderr
    assert "passed**" in (checkout / "comparison.md").read_text()
    words = (checkout / "gh.txt").read_text().splitlines()
    assert words[:3] == ["pr", "comment", "7"]
    assert (checkout / words[words.index("--body-file") + 1]).exists()


def test_a_baseline_of_something_else_fails_with_its_message(
    checkout: Path, two_systems: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.tsv").write_text("epoch\thours\tf1Score\n1\t0.5\t0.8\n")
    given(checkout, tmp_path / "other.tsv", two_systems / "one_gpu")
    assert run("ingest", "logs", "-o", "branch.parquet", cwd=checkout).returncode == 0
    process = bash(steps()["Compare with the baseline"], checkout)
    assert process.returncode == 2
    assert "no common round, benchmark" in (checkout / "summary.md").read_text()


def test_a_log_that_cannot_be_read_ends_the_job(checkout: Path, two_systems: Path) -> None:
    given(checkout, two_systems / "one_gpu", two_systems / "one_gpu")
    line = ':::MLLOG {"time_ms": 1, "key": "eval_accuracy", "value": 1, "metadata": {}}\n'
    (checkout / "logs" / "broken.txt").write_text(line)
    assert bash(steps()["Read the logs"], checkout).returncode == 1


def test_the_page_names_the_conditions_that_the_workflow_uses() -> None:
    page = (ROOT / "docs" / "ci_gate.md").read_text("utf-8")
    script = steps()["Compare with the baseline"]["run"]
    assert "--fail-on slower:2%" in script
    assert "--fail-on slower:2%" in page
    assert "examples/ci_gate/time-to-accuracy.yml" in page


def test_a_night_is_added_to_those_before_and_looked_at(checkout: Path, two_systems: Path) -> None:
    given(checkout, two_systems / "one_gpu", two_systems / "one_gpu")
    every = steps(NIGHTLY)
    for _ in range(2):
        process = bash(every["Add this night"], checkout)
        assert process.returncode == 0, process.stderr
    assert (checkout / "before.parquet").exists()
    process = bash(every["Look for a change"], checkout)
    assert process.returncode == 0, process.stderr
    summary = (checkout / "summary.md").read_text("utf-8")
    assert "changes are looked for from 10 nights on" in summary
