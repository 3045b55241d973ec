"""Is a mean shown to be as good as a number, and what is missing if not?"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats

from tests.made_curves import evaluation, logs, of, side
from tests.test_cli import run
from tests.wild_tables import nanochat, nanogpt, parameter_golf, track_3
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.table import store

LOSSES = [3.277, 3.279, 3.276, 3.278, 3.275]


def test_unlogged_quantities_cannot_be_claimed() -> None:
    bare = logs([of(evaluation(0, 3.2, step=None)), of(evaluation(0, 3.21, step=None))])
    with pytest.raises(TtastatsError, match="no run logs its steps"):
        api.claim(bare, steps="<= 300", at_end=True)
    timeless = logs([of(evaluation(0, value, seconds=None)) for value in (3.2, 3.21)])
    with pytest.raises(TtastatsError, match="no run logs its seconds"):
        api.claim(timeless, seconds="<= 300", target=["3.28"])
    with pytest.raises(TtastatsError, match="no run logs its seconds"):
        api.claim(side(LOSSES), seconds="<= 300", target=["3.28"], unit="steps")


def test_the_exit_code_follows_the_verdict(tmp_path: Path) -> None:
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


def timed(epochs: list[int], pace: float = 100.0) -> pl.DataFrame:
    """Return runs that met their target after so many epochs of about so many seconds."""
    runs = []
    for number, last in enumerate(epochs):
        seconds = pace * (1 + number % 3 / 1000)
        evaluations = (
            evaluation(
                place, 3.2 if place == last - 1 else 4.0, epoch=place + 1.0, step=None,
                seconds=seconds * (place + 1), target_value=3.28,
            )
            for place in range(last)
        )  # fmt: skip
        runs.append(of(*evaluations, seed=number))
    return logs(runs)


@pytest.mark.parametrize(
    ("limit", "verdict", "conditions"),
    [("<= 305", "holds †", ["constant_epochs"]), ("<= 400", "holds", []),
     ("<= 290", "not met", [])],
)  # fmt: skip
def test_a_claim_about_times_says_where_it_needs_constant_epochs(
    limit: str, verdict: str, conditions: list[str]
) -> None:
    report = api.claim(timed([3] * 5), seconds=limit)
    (row,) = report.rows
    assert row["conditions"] == conditions
    text = str(report)
    assert f"  {verdict}" in text
    condition = "holds at the 5% level if the number of epochs is constant (†)"
    assert (condition in " ".join(text.split())) == bool(conditions)
    varied = api.claim(timed([2, 3, 3, 3, 2, 3, 2, 3]), seconds="<= 350").rows[0]
    assert (varied["holds"], "constant_epochs" in varied["conditions"]) == (True, False)


def test_equal_losses_hold_only_if_no_run_differs() -> None:
    report = api.claim(side([3.2799] * 5), quality="val_loss <= 3.28", at_end=True)
    (row,) = report.rows
    assert (row["holds"], row["conditions"], row["p_value"]) == (True, ["equal_values"], None)
    text = " ".join(str(report).split())
    assert "holds at the 5% level if no run differs: the mean of 5 runs" in text
    assert "holds, if no run differs" in text
    assert "p =" not in text
    assert "p <" not in text


@pytest.mark.real
@pytest.mark.parametrize(
    ("table", "options", "stated"),
    [
        (lambda *at: nanogpt(*at)[1], "--quality val_loss<=3.28 --level 1%",
         {"n": 13, "holds": True, "p_value": 0.0006690604}),
        (track_3, "--quality val_loss<=3.28 --sigma 0.0013 --level 0.1%",
         {"n": 20, "holds": True, "margin": 0.004789657608 / math.sqrt(20),
          "p_value": stats.norm.sf(0.004789657608 / 0.0013)}),
        (track_3, "--quality val_loss<=3.28", {"p_value": 0.001052929246}),
        (nanochat, "--quality core_score>=0.256525",
         {"n": 20, "holds": False, "runs_needed": None, "mean": 0.238905, "sd": 0.006246217803}),
        (parameter_golf, "--quality submitted_bpb<=1.0822",
         {"n": 3, "holds": True, "mean": 1.081002877, "sd": 0.0001967961789}),
    ],
    ids=["a record of the nanogpt speedrun", "track 3 by its z test", "by its t test",
         "a pull request of nanochat", "parameter golf"],
)  # fmt: skip
def test_numbers_are_those_that_others_state(
    table: Callable[..., Path], options: str, stated: dict[str, Any], wild: Path, tmp_path: Path
) -> None:
    result = run("claim", table(wild, tmp_path), "-f", "json", *options.split())
    assert result.returncode in {0, 3}, result.stderr
    (row,) = json.loads(result.stdout)["rows"]
    assert {name: row[name] for name in stated} == pytest.approx(stated)
