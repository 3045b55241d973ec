"""Plots of odd runs, refused plots, and which systems are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
import vl_convert

from tests.plotting import made
from ttastats import api
from ttastats.output.plots.plot import NothingToDrawError, Plot


def the(kind: str, *sources: pl.DataFrame, **how: Any) -> Plot:
    (plot,) = api.plot(kind, *sources, **how)
    return plot


def test_a_run_against_one_like_it_is_a_plot_of_finite_size() -> None:
    a, b = (
        made.rows([(100.0, 5)], entry=f"lab/{name}").with_columns(
            pl.lit(name * 32).alias("content_digest"), value=pl.col("value") + shift
        )
        for name, shift in (("1", 0.0), ("2", 1e-6))
    )
    for kind in ("targets", "speedups", "tta", "quality-time"):
        svg = the(kind, a, b).to_svg()
        assert "Infinity" not in svg
        assert "NaN" not in svg
    assert "no verdict" in the("targets", a, b).to_svg()


def test_unknown_values_of_a_run_are_not_shown() -> None:
    plot = the("tta", made.rows(made.FAST).with_columns(seed=pl.lit(None, pl.Int64)))
    svg = vl_convert.vegalite_to_svg(plot.specification())
    assert "null" not in svg
    assert "seed: ;" in svg


def test_a_history_is_of_one_setup_over_all_rounds_as_the_command_has_it() -> None:
    nights = made.nightly()
    round_ = pl.when(pl.col("seed") < 10).then(pl.lit("v1")).otherwise(pl.lit("v2"))
    of_rounds = api.plot("history", nights.with_columns(round=round_))
    assert len(of_rounds) == len(api.plot("history", nights)) == 2
    assert api.history(nights.with_columns(round=round_)).frame["nights"].sum() == 80


COMPLETE_ON_ONE = ~((pl.col("benchmark") == "bert") & (pl.col("system") == "slow"))
REFUSED: dict[str, tuple[str, Callable[[], list[pl.DataFrame]]]] = {
    "two benchmarks": ("profile", lambda: [of_one_size().filter(COMPLETE_ON_ONE)]),
    "same number of accelerators": ("profile", lambda: [made.many_kinds()]),
    "one file": ("profile", lambda: [made.rows(made.SLOW), made.rows(made.FAST)]),
    "epochs": ("quality-epochs", lambda: [made.rows(made.FAST, epochs=False)]),
    "evaluated": ("quality-time", lambda: [api.run_table(made.two_entries())]),
}


def of_one_size() -> pl.DataFrame:
    return made.many_kinds().with_columns(accelerators=pl.lit(8, pl.Int64))


@pytest.mark.parametrize("why", REFUSED)
def test_impossible_plots_are_refused_with_a_reason(why: str) -> None:
    kind, sources = REFUSED[why]
    with pytest.raises(NothingToDrawError, match=why):
        api.plot(kind, *sources())


def test_a_profile_is_of_the_systems_of_one_size() -> None:
    alike = [
        made.rows(made.FAST, entry=f"lab/{name}", benchmark=benchmark, accelerators=size)
        for name, size in (("a", 8), ("b", 8), ("c", 64), ("d", 512))
        for benchmark in ("resnet", "bert")
    ]
    plot = the("profile", pl.concat(alike))
    assert plot.title == "Performance profile of 2 systems of 8 accelerators"
    assert plot.caption.startswith("20 runs.")
    assert set(plot.data["profile"]["system"]) == {"a", "b"}
    shares = the("profile", of_one_size()).data["profile"]
    for system, share in (("fast", 1.0), ("slow", 0.0)):
        assert shares.filter(pl.col("system") == system)["share"].to_list()[0] == share


@pytest.mark.parametrize("kind", ["tta", "solved"])
def test_a_table_of_runs_can_be_drawn_where_no_curves_are_needed(kind: str) -> None:
    assert the(kind, api.run_table(made.two_entries())).caption.startswith("10 runs")
