"""Is cost_per_hour the price of a run, wherever it stands, and may each side have its own?"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import ttastats as tta
from tests.made_logs import write
from tests.random_cases import SEEDS
from tests.reading.asking import ask

TARGET = ["--guess", "--target", "val_acc>=0.9"]


def curve(draw: random.Random, hours: float, price: float | None = None) -> str:
    """Return the log of a run that reaches .9 after some hours; `price` is a column."""
    mark = draw.choice([",", "\t", ";"])
    name, factor = draw.choice([("seconds", 3600.0), ("time_min", 60.0), ("hours", 1.0)])
    rows = [["epoch", name, "val_acc"]]
    rows += [[f"{n}", f"{hours * factor * n / 5:.9g}", f"{0.5 + n * 0.08:.3g}"]
             for n in range(1, 7)]  # fmt: skip
    cells = [] if price is None else ["cost_per_hour", *[f"{price:g}"] * 6]
    written = [[*row, *cells[at : at + 1]] for at, row in enumerate(rows)]
    return "".join(f"{mark.join(row)}\n" for row in written)


def sides(draw: random.Random, folder: Path, where: str) -> float:
    """Write runs of two setups whose prices stand somewhere; return the ratio of their costs."""
    ratio, pattern = 1.0, "" if where != "pattern" else "[[logs]]\n"
    for name in ("large", "small"):
        hours, price = draw.uniform(0.5, 4), round(draw.uniform(1, 40), 2)
        ratio = ratio * hours * price if name == "large" else ratio / (hours * price)
        column = price if where == "column" else None
        place = f"{name}-{price:g}" if where == "pattern" else name
        files = {f"{place}/seed{k}.csv": curve(draw, hours + k / 3600, column) for k in range(3)}
        if where == "setting":
            files[f"{name}/config.yaml"] = f"machine:\n  cost_per_hour: {price}\nlr: 0.1\n"
        write(folder, files)
    if pattern:
        named = 'files = "{entry}-{cost_per_hour}/seed{seed}.csv"\nmetric = "val_acc"\n'
        write(folder, {"ttastats.toml": pattern + named})
    return ratio


@pytest.mark.parametrize("where", ["column", "setting", "pattern"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_price_of_a_run_is_read_wherever_it_is_recorded(
    where: str, seed: int, tmp_path: Path
) -> None:
    ratio = sides(random.Random(seed), tmp_path, where)
    a, b = sorted(path for path in tmp_path.iterdir() if path.is_dir())
    words = TARGET[1:] if where == "pattern" else TARGET
    answer = ask("compare", a, b, *words, "--in", "cost")
    (row,) = answer.rows
    assert row["speedup"] == pytest.approx(ratio, rel=0.01)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_side_may_have_a_price_of_its_own(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    sides(draw, tmp_path, "nowhere")
    a, b = tmp_path / "large", tmp_path / "small"

    def ratio(*prices: float) -> float:
        options = [word for price in prices for word in ("--price", str(price))]
        (row,) = ask("compare", a, b, *TARGET, "--in", "cost", *options).rows
        assert isinstance(row["speedup"], float)
        return row["speedup"]

    one, other = draw.uniform(1, 9), draw.uniform(1, 9)
    assert ratio(one, other) == pytest.approx(ratio(one) * one / other)
    assert ratio(one) == pytest.approx(ratio(one, one))


def test_prices_are_one_for_all_or_one_for_each_side(tmp_path: Path) -> None:
    sides(random.Random(1), tmp_path, "column")
    prices = ["--price", "1", "--price", "2", "--price", "3"]
    answer = ask(
        "compare", tmp_path / "large", tmp_path / "small", *TARGET, "--in", "cost", *prices
    )
    assert answer.code == 2
    assert "3 prices for 2 sides" in answer.text


def test_a_price_that_changes_within_a_run_is_none(tmp_path: Path) -> None:
    text = "epoch,seconds,cost_per_hour,val_acc\n1,60,2,.8\n2,120,3,.9\n3,180,3,.95\n"
    answer = ask("summary", write(tmp_path, {"seed0.csv": text}), *TARGET, "--in", "cost")
    assert answer.code == 2
    assert "cost to target" in answer.text
    found = ask("problems", tmp_path, "--guess")
    assert "price_changes" in {row["code"] for row in found.rows}


def test_a_price_is_no_metric(tmp_path: Path) -> None:
    text = "epoch,seconds,cost_per_hour,accuracy\n1,60,2,.8\n2,120,2,.9\n"
    answer = ask("runs", write(tmp_path, {"seed0.csv": text}), "--guess")
    assert [row["value_final"] for row in answer.rows] == [0.9]


def test_the_price_of_a_recorded_run_is_that_of_its_record(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    with tta.record(
        logs, benchmark="b", metric="accuracy", target=0.5, cost_per_hour=2.5
    ) as recorded:
        recorded.evaluation(0.9, epoch=1)
    table = tmp_path / "runs.parquet"
    tta.ingest([logs], output=table)
    assert tta.runs(table).frame["cost"].to_list() == pytest.approx(
        [2.5 / 3600 * seconds for seconds in tta.runs(table).frame["tta_seconds"]]
    )
