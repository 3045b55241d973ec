"""One browser, and each page built once, for all tests of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.conftest import ROOT
from tests.made_curves import of_spans
from tests.page.made import HOSTILE, rows
from tests.plotting.made import leaders
from tests.plotting.test_profiled import profile
from ttastats import api
from ttastats.traces.table import write_profile

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Else each window has pages of its own for the browser's bars, that nobody sees.
    "--disable-features=PreloadTopChromeWebUI",
)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Yield a headless Chromium, or skip; where TTASTATS_REQUIRE_BROWSER is set, fail."""
    # The package's own scope, since an event loop runs in this thread as long as it is open.
    named = os.environ.get("TTASTATS_BROWSER")
    path = named or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        reason = "no chromium is installed: apt-get install chromium, or set TTASTATS_BROWSER"
        if os.environ.get("TTASTATS_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright  # starts a program of its own

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where pages, screenshots and tables of this session lie."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="package")
def sides(folder: Path) -> list[Path]:
    """Return the tables of the embedded example."""
    logs = ROOT / "examples" / "two_systems" / "Example" / "results"
    paths = []
    for name in ("one_gpu", "eight_gpus"):
        paths.append(folder / f"{name}.parquet")
        api.ingest([logs / name], paths[-1])
    return paths


def page_of(
    name: str, sources: Callable[..., Sequence[api.Source]], *needs: str, **more: Any
) -> Any:
    """Return a fixture: the path of the page that compares or summarises some sources.

    `needs` are the fixtures that the sources are made of.
    """

    @pytest.fixture(scope="package", name=name)
    def built(folder: Path, request: pytest.FixtureRequest) -> Path:
        known = sources(*map(request.getfixturevalue, needs))
        api.html_report(*known, output=folder / f"{name}.html", **more)
        return folder / f"{name}.html"

    return built


@pytest.fixture(scope="package")
def profiled(folder: Path) -> Path:
    """Return a page of two profiles, the second with hostile names."""
    sides = [folder / f"{name}.parquet" for name in ("before", "after")]
    for path, name, seconds in zip(sides, ("made", HOSTILE[0]), (1.0, 0.5), strict=True):
        times = pl.col("seconds", "value") * seconds
        write_profile(profile(name).with_columns(times, operator=pl.lit(HOSTILE[1])), path)
    api.profile_page(*sides, output=folder / "profiled.html")
    return folder / "profiled.html"


def hostile_runs() -> list[pl.DataFrame]:
    """Return runs with hostile names only."""
    table = rows(HOSTILE, benchmarks=[f"{HOSTILE[0]}a\x07\n"])
    return [table.with_columns(metric=pl.lit("".join(HOSTILE)))]


def of_long_names() -> list[pl.DataFrame]:
    """Return sides whose benchmarks and hardware have names longer than a line."""
    names = [f"{'a_benchmark_of_long_names/' * 3}number_{number}" for number in range(2)]
    a, b = (rows(["machine " * 20], runs=5, benchmarks=names, seed=seed) for seed in range(2))
    return [a, b.with_columns(seconds=pl.col("seconds") / 2, content_digest=pl.col("run_id") + "b")]


def of_sixteen() -> list[pl.DataFrame]:
    """Return sides of sixteen benchmarks, the most that have more than a line each."""
    names = [f"benchmark_{number}" for number in range(16)]
    return [rows([side], runs=3, benchmarks=names, seed=ord(side)) for side in "ab"]


def of_several() -> list[pl.DataFrame]:
    """Return sides of two benchmarks, and a third of one side alone."""
    a = rows(["one"], runs=4, benchmarks=("digits", "letters"))
    b = rows(["two"], runs=4, benchmarks=("digits", "letters", "words"), seed=1)
    return [a, b.with_columns(seconds=pl.col("seconds") / 2)]


def with_anomaly() -> list[pl.DataFrame]:
    """Return runs of which one stalled."""
    spans = {run: [10.0 + place / 100] * 8 for place, run in enumerate("abcdef")}
    return [of_spans(spans | {"b": [10.0] * 4 + [100.0] + [10.0] * 3})]


MACHINES = [f"org/machine_{number:02}" for number in range(45)]
LONG = [f"{'a_submitter_of_long_names/' * 6}machine_{number}" for number in range(2)]
LABELS = [f"{'a side of a long name ' * 5}{letter}" for letter in "ab"]

#: The two systems of the example, and both as entries of one table.
compared = page_of("compared", lambda sides: sides, "sides")
summarised = page_of("summarised", lambda sides: [sides], "sides")
many = page_of("many", lambda: [rows(MACHINES[:30], benchmarks=("digits", "letters"))])
thirty = page_of("thirty", lambda: [rows(MACHINES[:30], runs=2)])
#: More entries than a plot shows.
crowded = page_of("crowded", lambda: [rows(MACHINES, runs=2)])
hostile = page_of("hostile", hostile_runs, title=HOSTILE[1], labels=(HOSTILE[0],))
long_names = page_of("long_names", lambda: [rows(LONG)])
long_compared = page_of("long_compared", of_long_names, labels=LABELS)
sixteen = page_of("sixteen", of_sixteen)
#: Entries over two years.
dated = page_of("dated", lambda: [leaders()])
several = page_of("several", of_several)
anomalous = page_of("anomalous", with_anomaly)
