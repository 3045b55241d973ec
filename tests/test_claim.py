"""Is a mean shown to be as good as a number, and what is missing if not?"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from tests.made_curves import evaluation, logs, of, side
from tests.test_cli import run
from tests.wild_tables import nanochat, nanogpt, parameter_golf, track_3
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.table import store

LOSSES = [3.277, 3.279, 3.276, 3.278, 3.275]


def test_what_no_run_tells_cannot_be_claimed() -> None:
    bare = logs([of(evaluation(0, 3.2, step=None)), of(evaluation(0, 3.21, step=None))])
    with pytest.raises(TtastatsError, match="no run logs its steps"):
        api.claim(bare, steps="<= 300", at_end=True)
    timeless = logs([of(evaluation(0, value, seconds=None)) for value in (3.2, 3.21)])
    with pytest.raises(TtastatsError, match="no run logs its seconds"):
        api.claim(timeless, seconds="<= 300", target=["3.28"])
    with pytest.raises(TtastatsError, match="no run logs its seconds"):
        api.claim(side(LOSSES), seconds="<= 300", target=["3.28"], unit="steps")


def test_the_exit_code_is_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "runs.parquet"
    store.write(side(LOSSES), file)
    assert run("claim", file, "--quality", "val_loss <= 3.28").returncode == 0
    fails = run("claim", file, "--quality", "val_loss <= 3.278", "--level", "1%")
    assert (fails.returncode, "not shown" in fails.stdout) == (3, True)
    assert "[98% CI]" in fails.stdout
    refused = run("claim", file, "--quality", "val_loss <= 3.28", "--level", "60%")
    assert refused.returncode == 2
    assert "Exit code 0: it holds; 3: it does not" in " ".join(
        run("claim", "--help").stdout.split()
    )


# ------------------------------------------------------------------------------- what others state


def of_file(table: Path, *options: str) -> dict[str, Any]:
    done = run("claim", table, "-f", "json", *options)
    assert done.returncode in {0, 3}, done.stderr
    (found,) = json.loads(done.stdout)["rows"]
    return dict(found)


@pytest.mark.real
def test_the_loss_of_a_record_of_the_nanogpt_speedrun(wild: Path, tmp_path: Path) -> None:
    found = of_file(nanogpt(wild, tmp_path)[1], "--quality", "val_loss <= 3.28", "--level", "1%")
    assert (found["n"], found["holds"]) == (13, True)
    assert found["p_value"] == pytest.approx(0.0006690604, rel=1e-6)


@pytest.mark.real
def test_twenty_runs_of_track_3_by_its_z_test(wild: Path, tmp_path: Path) -> None:
    table = track_3(wild, tmp_path)
    found = of_file(table, "--quality", "val_loss <= 3.28", "--sigma", "0.0013", "--level", "0.1%")
    assert (found["n"], found["holds"]) == (20, True)
    assert found["margin"] * math.sqrt(20) == pytest.approx(0.004789657608)
    assert found["p_value"] == pytest.approx(stats.norm.sf(0.004789657608 / 0.0013))
    plain = of_file(table, "--quality", "val_loss <= 3.28")
    assert plain["p_value"] == pytest.approx(0.001052929246)


@pytest.mark.real
def test_twenty_seeds_do_not_reach_what_a_pull_request_asks(wild: Path, tmp_path: Path) -> None:
    found = of_file(nanochat(wild, tmp_path), "--quality", "core_score >= 0.256525")
    assert (found["n"], found["holds"], found["runs_needed"]) == (20, False, None)
    assert found["mean"] == pytest.approx(0.238905)
    assert found["sd"] == pytest.approx(0.006246217803)


@pytest.mark.real
def test_three_seeds_of_parameter_golf(wild: Path, tmp_path: Path) -> None:
    table = parameter_golf(wild, tmp_path)
    found = of_file(table, "--quality", "submitted_bpb <= 1.0822")
    assert found["mean"] == pytest.approx(1.081002877)
    assert found["sd"] == pytest.approx(0.0001967961789)
    assert (found["n"], found["holds"]) == (3, True)
