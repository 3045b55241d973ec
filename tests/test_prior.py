"""`--prior`: the noise of earlier entries beside few runs, and when it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.made_curves import logs
from tests.made_nights import one_run
from tests.test_cli import run
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.table import store


def runs(n: int, seed: int, epochs: float = 10.0, noise: float = 0.06) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    facts = {"global_batch_size": 256, "system": f"s{seed}", "entry": f"e{seed}"}
    return logs(
        [
            one_run(60 * float(np.exp(rng.normal(0, 0.01))),
                    epochs * float(np.exp(rng.normal(0, noise))), number, True, **facts)
            for number in range(n)
        ]
    )  # fmt: skip


@pytest.fixture(scope="module")
def earlier() -> pl.DataFrame:
    return pl.concat(runs(8, seed) for seed in range(10, 20))


A, B = runs(3, 1), runs(3, 4, epochs=9.0)


def row(prior: pl.DataFrame | None, a: pl.DataFrame = A, b: pl.DataFrame = B) -> dict[str, Any]:
    (only,) = api.compare(a, b, prior=prior, by=["benchmark"]).rows
    return dict(only)


def test_the_interval_of_epochs_is_narrower_and_the_verdict_that_without_a_prior(
    earlier: pl.DataFrame,
) -> None:
    with_prior, without = row(earlier), row(None)
    assert with_prior["prior_epochs_refused"] is None
    assert with_prior["prior_epochs_entries"] == 10
    assert with_prior["prior_epochs_sd"] == pytest.approx(0.06, abs=0.02)
    width = with_prior["prior_epochs_high"] / with_prior["prior_epochs_low"]
    assert width < without["epochs_high"] / without["epochs_low"]
    assert (with_prior["p_value"], with_prior["verdict"]) == (
        without["p_value"],
        without["verdict"],
    )
    assert "prior_epochs_p" not in without


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"global_batch_size": 1024}, "0 earlier entries are like these"),
        ({"benchmark": "other"}, "0 earlier entries are like these"),
        ({"target_value": 0.9}, "0 earlier entries are like these"),
        ({"epoch": 10.0}, "100% of the 10 earlier entries have no noise"),
    ],
)
def test_entries_that_are_not_like_these_are_refused(
    earlier: pl.DataFrame, change: dict[str, Any], reason: str
) -> None:
    of = row(earlier.with_columns(**{name: pl.lit(value) for name, value in change.items()}))
    assert reason in of["prior_epochs_refused"]
    assert of["prior_epochs_high"] is not None, "Welch's interval stands in its place"


def test_many_runs_need_no_prior(earlier: pl.DataFrame) -> None:
    of = row(earlier, runs(6, 1), runs(6, 2, epochs=9.0))
    assert of["prior_epochs_refused"] == "they are enough to show their noise"
    assert row(earlier, runs(4, 1), runs(4, 2))["prior_throughput_refused"] is not None


def test_a_plan_and_a_claim_take_the_noise_of_earlier_entries(earlier: pl.DataFrame) -> None:
    (plan,), (alone,) = api.power(A, prior=earlier).rows, api.power(A).rows
    assert plan["prior_epochs_entries"] == 10
    assert plan["cv"] != alone["cv"]
    assert plan["cv_high"] / plan["cv_low"] < 3
    (of_two,) = api.power(runs(2, 1), prior=earlier).rows
    assert of_two["prior_epochs_entries"] == 10
    (claim,) = api.claim(A, seconds="<= 700", prior=earlier).rows
    (without,) = api.claim(A, seconds="<= 700").rows
    assert claim["mean"] == without["mean"]
    assert claim["p_value"] != without["p_value"]
    with pytest.raises(TtastatsError, match="--prior is for --seconds and --steps"):
        api.claim(A, quality="accuracy >= 0.7", prior=earlier)


def test_the_commands_take_files(earlier: pl.DataFrame, tmp_path: Path) -> None:
    for name, table in (("a", A), ("b", B), ("earlier", earlier)):
        store.write(table, tmp_path / f"{name}.parquet")
    a, b, prior = (tmp_path / f"{name}.parquet" for name in ("a", "b", "earlier"))
    done = run("compare", a, b, "--by", "benchmark", "--prior", prior, "-v")
    assert done.returncode == 0
    assert "10 earlier entries, noise" in done.stdout
    assert "10 earlier entries" in run("power", a, "--prior", prior).stdout
    assert "10 earlier entries" in run("claim", a, "--seconds", "<= 700", "--prior", prior).stdout


def test_two_values_of_epochs_are_no_difference_of_two_setups(earlier: pl.DataFrame) -> None:
    of = row(earlier, runs(2, 1, noise=0.0), runs(2, 2, epochs=8.5, noise=0.0))
    assert "counted too coarsely" in of["prior_epochs_refused"]
