"""A page about the quality at a budget says so, and nothing of times to a target."""

from __future__ import annotations

import json
import re
from typing import Any

import polars as pl
import pytest

from tests.made_curves import curve, logs, side
from tests.page.made import data_of
from tests.test_cli import run
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.output.page import document
from ttastats.table import store

A = [3.281, 3.283, 3.279, 3.282, 3.280]
LOWER = [value - 0.02 for value in A]


def page(*sides: pl.DataFrame, **keywords: Any) -> str:
    """Return the text of a page without its programs, as a reader sees it."""
    text = api.html_report(*sides, **keywords).html
    return text.replace(document.page_script(), "") + json.dumps(data_of(text)["plots"])


def words(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text.split("<body>")[1]))


def test_a_comparison_names_its_estimand_in_title_verdict_and_table() -> None:
    both = [runs.with_columns(target_value=pl.lit(3.28)) for runs in (side(A), side(LOWER))]
    text = page(*both, at_end=True, labels=["old", "new"])
    assert "<title>val_loss at the end: new against old</title>" in text
    shown = words(text)
    assert "val_loss at the end: new is better than old (B − A = -0.0200 [" in shown
    assert "Time: 30.0 s of new, 30.0 s of old; speedup 1.000" in shown
    assert "val_loss at the end, lower is better" in shown
    assert "old: 5 runs, 5 with a value" in shown
    assert "the mark is its value at the budget" in shown
    for wrong in ("faster", "reached the target", "failed", "Time-to-accuracy"):
        assert wrong not in shown
    assert set(re.findall(r"datum\.reached \? '[\w ]+'", text)) == {
        "datum.reached ? 'value after '"
    }
    assert set(re.findall(r'data-kind="([^"]+)"', text)) == {"quality-time", "quality-epochs"}


def test_a_summary_names_the_best_mean_and_who_has_no_value() -> None:
    short = logs([curve(5.0, 4.0, entry="one")])
    entries = pl.concat([side(A, entry="one"), side(LOWER, entry="two"), short])
    text = page(entries, at="step=300")
    assert "<title>val_loss at step 300: " in text
    shown = words(text)
    assert "two has the best mean val_loss at step 300 3.2610 (SD 0.0016, 5 runs)." in shown
    assert "The next, one: 3.2810 (SD 0.0016, 5 runs, 1 without a value)." in shown
    assert "11 runs, 10 with a value, 1 without" in shown


def test_the_options_of_the_command(tmp_path: Any) -> None:
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, ends in zip(files, (A, LOWER), strict=True):
        store.write(side(ends), path)
    out = tmp_path / "page.html"
    result = run("report", *files, "--at", "step=200", "-o", out, "--fail-on", "worse:0.001")
    assert result.returncode == 0, result.stderr
    assert "val_loss at step 200: b against a" in out.read_text("utf-8")
    failed = run("report", *files[::-1], "--at-end", "-o", out, "--fail-on", "worse:0.001")
    assert failed.returncode == 3


def test_a_second_metric_stands_below_times_alone() -> None:
    with pytest.raises(TtastatsError, match="also= applies to times to a target"):
        api.html_report(side(A), side(LOWER), at_end=True, also=["other"])
    with pytest.raises(TtastatsError, match="needs two sides"):
        api.html_report(side(A), also=["other"])
