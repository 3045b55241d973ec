"""One browser, and each page built once, for all tests of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from tests.conftest import ROOT
from tests.made_curves import of_spans
from tests.page.made import HOSTILE, rows
from tests.plotting.made import leaders
from tests.plotting.test_profiled import profile
from ttastats import api
from ttastats.traces import store

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
    found = []
    for name in ("one_gpu", "eight_gpus"):
        found.append(folder / f"{name}.parquet")
        api.ingest([logs / name], found[-1])
    return found


@pytest.fixture(scope="package")
def compared(folder: Path, sides: list[Path]) -> Path:
    """Return the page that compares the two systems of the example."""
    return _page(folder / "compared.html", *sides)


@pytest.fixture(scope="package")
def summarised(folder: Path, sides: list[Path]) -> Path:
    """Return the page that summarises both systems as entries of one table."""
    return _page(folder / "summarised.html", sides)


@pytest.fixture(scope="package")
def many(folder: Path) -> Path:
    """Return a page of 30 entries on two benchmarks."""
    entries = [f"org/machine_{number:02}" for number in range(30)]
    return _page(folder / "many.html", rows(entries, benchmarks=("digits", "letters")))


@pytest.fixture(scope="package")
def hostile(folder: Path) -> Path:
    """Return a page whose every name is an attempt."""
    metric = pl.lit("".join(HOSTILE))
    table = rows(HOSTILE, benchmarks=[f"{HOSTILE[0]}a\x07\n"]).with_columns(metric=metric)
    return _page(folder / "hostile.html", table, title=HOSTILE[1], labels=(HOSTILE[0],))


@pytest.fixture(scope="package")
def profiled(folder: Path) -> Path:
    """Return a page of two profiles, the second with names that are attempts."""
    sides = [folder / f"{name}.parquet" for name in ("before", "after")]
    for path, name, seconds in zip(sides, ("made", HOSTILE[0]), (1.0, 0.5), strict=True):
        times = pl.col("seconds", "value") * seconds
        store.write_profile(profile(name).with_columns(times, operator=pl.lit(HOSTILE[1])), path)
    api.profile_page(*sides, output=folder / "profiled.html")
    return folder / "profiled.html"


@pytest.fixture(scope="package")
def crowded(folder: Path) -> Path:
    """Return a page of more entries than a plot shows."""
    entries = [f"org/machine_{number:02}" for number in range(45)]
    return _page(folder / "crowded.html", rows(entries, runs=2))


@pytest.fixture(scope="package")
def long_names(folder: Path) -> Path:
    """Return a page of two entries whose names are longer than a line."""
    entries = [f"{'a_submitter_of_long_names/' * 6}machine_{number}" for number in range(2)]
    return _page(folder / "long.html", rows(entries))


@pytest.fixture(scope="package")
def sixteen(folder: Path) -> Path:
    """Return a comparison of as many benchmarks as have more than a line each."""
    names = [f"benchmark_{number}" for number in range(16)]
    a, b = (rows([one], runs=3, benchmarks=names, seed=ord(one)) for one in "ab")
    return _page(folder / "sixteen.html", a, b)


@pytest.fixture(scope="package")
def long_compared(folder: Path) -> Path:
    """Return a comparison whose sides, benchmarks and hardware have names longer than a line."""
    names = [f"{'a_benchmark_of_long_names/' * 3}number_{number}" for number in range(2)]
    a, b = (rows(["machine " * 20], runs=5, benchmarks=names, seed=seed) for seed in range(2))
    b = b.with_columns(seconds=pl.col("seconds") / 2, content_digest=pl.col("run_id") + "b")
    labels = [f"{'a side of a long name ' * 5}{letter}" for letter in "ab"]
    return _page(folder / "long_compared.html", a, b, labels=labels)


@pytest.fixture(scope="package")
def dated(folder: Path) -> Path:
    """Return a page of entries over two years."""
    return _page(folder / "dated.html", leaders())


@pytest.fixture(scope="package")
def several(folder: Path) -> Path:
    """Return a page that compares two benchmarks, and holds a third of one side alone."""
    a = rows(["one"], runs=4, benchmarks=("digits", "letters"))
    b = rows(["two"], runs=4, benchmarks=("digits", "letters", "words"), seed=1)
    return _page(folder / "several.html", a, b.with_columns(seconds=pl.col("seconds") / 2))


@pytest.fixture(scope="package")
def anomalous(folder: Path) -> Path:
    """Return a page of runs of which one stood still."""
    spans = {run: [10.0 + place / 100] * 8 for place, run in enumerate("abcdef")}
    spans["b"] = [10.0] * 4 + [100.0] + [10.0] * 3
    return _page(folder / "anomalous.html", of_spans(spans))


def _page(path: Path, *sources: api.Source, **more: object) -> Path:
    api.html_report(*sources, output=path, **more)  # type: ignore[arg-type]
    return path
