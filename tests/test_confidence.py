"""The confidence that is asked for is that of every interval: one default, in one place."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import ROOT
from tests.made_curves import logs
from tests.made_nights import one_run
from tests.test_cli import refusal, run
from ttastats.table import store

ASKED = (
    "summary A", "summary A -v", "summary A --at-end", "rank A", "variance A",
    "variance A --sources seed", "history A", "effects A --on lr", "power A",
    "power --cv 10% --max-runs 9", "scaling A", "targets A", "targets A B", "compare A B -v",
    "compare A B --wide -v", "compare A B --at-end -v", "compare A B --sequential -v",
    "compare A B --same -v", "compare A B --estimand geomean -v", "compare A --same --by day -v",
)  # fmt: skip
#: A level that no other number of an answer has by chance.
_OTHER = re.compile(r"(?<![\d.,])95 ?%|(?<![\d.])0\.95\b(?!\d)")


def side(speed: float, entry: str) -> pl.DataFrame:
    """Return runs of 16 nights on two sizes, with the same seeds on both sides."""
    return logs(
        [
            one_run(
                speed * (60 + n % 5) / (n % 2 + 1), 10 + n % 3, n, True, seed=n, entry=entry,
                accelerators=8 * (n % 2 + 1), system=f"s{n % 2}", extra={"lr": str(n % 2)},
            )
            for n in range(16)
        ]
    )  # fmt: skip


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder, places = tmp_path_factory.mktemp("sides"), {}
    for name, speed in (("A", 1.0), ("B", 0.8)):
        places[name] = str(folder / f"{name.lower()}.parquet")
        store.write(side(speed, name), Path(places[name]))
    return places


@pytest.mark.parametrize(
    ("words", "form"),
    [(words, form) for at, words in enumerate(ASKED) for form in ("table", ("md", "json")[at % 2])],
)
def test_no_other_confidence_stands_in_an_answer(
    words: str, form: str, tables: dict[str, str]
) -> None:
    asked = [tables.get(word, word) for word in words.split()]
    result = run(*asked, "--confidence", "80%", "--format", form)
    assert result.returncode == 0, result.stdout
    assert not _OTHER.search(result.stdout), result.stdout


@pytest.mark.parametrize("sides", ["A", "A B"])
def test_nor_on_a_page(sides: str, tables: dict[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run(
        "report", *(tables[name] for name in sides.split()), "-o", page, "--confidence", "80%"
    )
    assert result.returncode == 0, result.stdout
    assert not re.search(r"95 ?% |\[95%", page.read_text())


def test_runs_of_no_set_are_refused_with_the_reason(tmp_path: Path) -> None:
    """No run has a value of both columns."""
    runs = [one_run(60.0, 10, n, True, extra={"xy"[n % 2]: str(n)}) for n in range(6)]
    store.write(logs(runs), tmp_path / "runs.parquet")
    result = run("compare", tmp_path / "runs.parquet", "--same", "--by", "x,y")
    assert "no run has all of these" in refusal(result)


def test_the_default_stands_once() -> None:
    files = ROOT.glob("ttastats/**/*.py")
    lines = [line for file in files for line in file.read_text().splitlines() if "0.95" in line]
    of_confidence = [line for line in lines if re.search(r"confidence.*= ?0\.95|CONFIDENCE", line)]
    assert len(of_confidence) == 1, of_confidence
