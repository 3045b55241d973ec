"""An answer on an axis uses the words of that axis: what counts dollars is not called fast."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.made_curves import logs
from tests.made_nights import one_run
from tests.test_cli import run
from ttastats.table import store

ASKED = (
    "summary A", "summary AB -v", "summary F -v", "summary A --at-end", "rank A", "rank AB --top 1",
    "rank AB --mine e3", "variance A -v", "variance A --sources seed -v", "history A -v",
    "history A --fail-on slower:2%", "effects A --on lr -v", "power A -v", "power F -v",
    "scaling A -v", "scaling F -v", "targets A -v", "targets A B -v", "compare A B", "compare B A",
    "compare A B -v", "compare A C -v", "compare A F -v", "compare F A -v", "compare A B F -v",
    "compare A E -v", "compare A E --margin 50%", "compare A B --at-end -v",
    "compare A B --same -v", "compare A B --estimand geomean -v", "compare A E --sequential -v",
    "compare A B --same-convergence -v", "compare A B --fail-on slower:2%",
    "compare B A --fail-on slower:2%", "compare A E --require not-slower:2%",
    "compare A A2 --require not-slower:40%", "compare B A --require not-slower:2%",
)  # fmt: skip
#: Words of time; `--fail-on slower:2%` is what was asked for.
OF_TIME = re.compile(
    r"(?<!not-)\b(?:faster|slower(?!:)|fastest|slowest|throughput|speedups?|as fast|as long|longer"
    r"|time[- ]to[- ]accuracy|TTA|ERT|(?<!CPU )time per epoch|unsteady time)\b",
    re.IGNORECASE,
)
AXES = ("cost", "energy", "epochs", "cpu-seconds")


def side(seed: int, speed: float, *, failing: int = 0, constant: bool = False) -> pl.DataFrame:
    """Return drawn runs of 16 nights on two sizes that log what they cost."""
    rng, runs = np.random.default_rng(seed), []
    for n in range(16):
        pace = speed * float(rng.uniform(60, 66)) / (n % 2 + 1)
        epochs = 10.0 if constant else float(rng.integers(9, 13))
        extra = {"energy_joules": 300 * pace * epochs, "cpu_seconds": 8 * pace * epochs}
        runs.append(one_run(
            pace, epochs, n, n >= failing, seed=n, entry=f"e{seed}", accelerators=8 * (n % 2 + 1),
            system=f"s{n % 2}", cost_per_hour=2.5, extra={"lr": str(n % 2), **extra},
        ))  # fmt: skip
    return logs(runs)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("axis")
    sides = {
        "A": side(1, 1.0), "A2": side(2, 1.0), "B": side(3, 0.6), "C": side(4, 1.1, constant=True),
        "E": side(5, 1.0), "F": side(6, 0.9, failing=5),
    }  # fmt: skip
    sides["AB"] = pl.concat([sides["A"], sides["B"]])
    for name, frame in sides.items():
        store.write(frame, folder / f"{name}.parquet")
    return {name: str(folder / f"{name}.parquet") for name in sides}


@pytest.mark.parametrize("axis", AXES)
def test_no_answer_on_another_axis_speaks_of_time(axis: str, tables: dict[str, str]) -> None:
    found = {}
    # Each question is asked on two axes, as a table and in Markdown.
    first = AXES.index(axis)
    for words in ASKED[first % 2 :: 2]:
        form = ("table", "md")[first // 2]
        result = run(*(tables.get(word, word) for word in words.split()), "--in", axis, "-f", form)
        of_whole_runs = words.startswith("targets") and axis in {"energy", "cpu-seconds"}
        assert result.returncode in ({2} if of_whole_runs else {0, 1, 3}), (words, result)
        text = result.stdout + result.stderr
        found |= {(words, word): text for word in OF_TIME.findall(text)}
    assert not found, found


@pytest.mark.parametrize("axis", AXES)
def test_nor_does_a_page(axis: str, tables: dict[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for words in ("AB", "F", "A B", "B A", "A C", "A F E")[AXES.index(axis) % 2 :: 2]:
        result = run("report", *map(tables.__getitem__, words.split()), "-o", page, "--in", axis)
        assert result.returncode == 0, result.stdout
        text = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", page.read_text(), flags=re.DOTALL)
        assert not OF_TIME.findall(html.unescape(text)), words


@pytest.mark.parametrize(
    ("axis", "better", "worse"),
    [
        ("seconds", "FASTER", "SLOWER"),
        ("cost", "CHEAPER", "DEARER"),
        ("energy", "LESS ENERGY", "MORE ENERGY"),
        ("cpu-seconds", "LESS CPU TIME", "MORE CPU TIME"),
    ],
)
def test_the_first_word_is_that_of_the_axis(
    axis: str, better: str, worse: str, tables: dict[str, str]
) -> None:
    for sides, word, verdict in (("AB", better, "faster"), ("BA", worse, "slower")):
        places = [tables[name] for name in sides]
        assert run("compare", *places, "--in", axis).stdout.split("   ")[0].strip() == word
        answer = run("compare", *places, "--in", axis, "--format", "json").stdout
        assert f'"verdict": "{verdict}"' in answer or f'"verdict":"{verdict}"' in answer


def test_what_is_not_time_is_saved_by_shares(tables: dict[str, str]) -> None:
    sides = tables["A"], tables["B"]
    text = run("compare", *sides, "--in", "energy", "--by", "benchmark", "--pool").stdout
    assert re.search(r"needs \d\d\.\d% less energy", text), text
    assert "× less" not in text


@pytest.mark.parametrize("empty", ["", None])
def test_what_is_not_recorded_is_no_value(empty: str | None, tmp_path: Path) -> None:
    nodes = ["n1", "n2", empty]
    runs = [
        one_run(60.0 + n % 7 + 9 * (n % 3), 10, n, True, seed=n, system=nodes[n % 3],
                extra={"node": nodes[n % 3]})
        for n in range(18)
    ]  # fmt: skip
    store.write(logs(runs), tmp_path / "runs.parquet")
    for column in ("node", "system"):
        for asked in (
            ("compare", "--same", "--by"),
            ("effects", "--on"),
            ("variance", "--sources"),
        ):
            words = (asked[0], tmp_path / "runs.parquet", *asked[1:], column, "--format", "json")
            text = run(*words).stdout
            assert '"n2"' in text or asked[0] == "variance", text
            assert not re.search(r'"(a|b|level|base)": ?""', text), text
            assert '"values": 3' not in text, text
            assert re.search(r"6 runs", text), text
