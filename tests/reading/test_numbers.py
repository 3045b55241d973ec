"""Numbers are read whole, however they are written; one that may mean two things is asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl
import pytest

import ttastats as tta
from tests.made_logs import write
from tests.random_cases import SEEDS, Draw
from tests.reading.asking import ask
from ttastats.formats.block import TimeColumn
from ttastats_parsers.own_choice import numbers, times


@pytest.fixture(params=SEEDS)
def draw(request: pytest.FixtureRequest) -> Draw:
    return Draw(f"numbers {request.param}")


#: How a text says a name and its number.
FORMS = ("{} {}", "{}: {}", "{}={}", "{} = {}", "[{} {}]")


def text_of(draw: Draw, rows: Iterable[dict[str, str]]) -> str:
    """Return lines that tell numbers by their names in one form, parted in one way."""
    form, between = draw.choice(FORMS), draw.choice([" ", ", ", " | ", " - "])
    lines = (between.join(form.format(*cell) for cell in row.items()) for row in rows)
    return "\n".join([f"run of {draw.randrange(9)} gpus", *lines, ""])


def test_thousands_in_a_text_are_read_whole(draw: Draw, tmp_path: Path) -> None:
    every, pace = draw.choice([500, 1000, 1563, 20_000]), draw.choice([61, 130, 1300])
    count = draw.choice(["step", "iter", "global_step"])
    rows = (
        {count: f"{every * n:,}", "val_loss": f"{4 / n:.4f}", "elapsed": f"{pace * n:,.1f}s"}
        for n in range(1, 13)
    )
    write(tmp_path, {"seed0.log": text_of(draw, rows)})
    row = ask("runs", tmp_path, "--guess", "--target", "val_loss<=0.5").row("seed0")
    assert (row["steps"], row["tta_seconds"]) == (8 * every, 8 * pace)


#: Durations with units, and without: what people print, and pandas and Python.
DURATIONS: tuple[Callable[[int], str], ...] = (
    lambda s: f"{s // 60}m {s % 60}s",
    lambda s: f"{s // 3600}h{s % 3600 // 60:02d}m{s % 60:02d}s",
    lambda s: f"{s // 60} min {s % 60} sec",
    lambda s: f"{s // 3600} hours, {s % 3600 // 60} minutes, {s % 60} seconds",
    lambda s: f"{1000 * s}ms",
    lambda s: f"{s // 3600}:{s % 3600 // 60:02d}:{s % 60:02d}",
    lambda s: f"{s:,} s",
)


@pytest.mark.parametrize("duration", DURATIONS)
def test_durations_with_their_units_are_read_whole(
    draw: Draw, duration: Callable[[int], str], tmp_path: Path
) -> None:
    pace, name = draw.randrange(61, 900), draw.choice(["elapsed", "time", "train_time"])
    rows = (
        {"epoch": str(n), "val_acc": f"{0.5 + n / 20:.3f}", name: duration(pace * n)}
        for n in range(1, 11)
    )
    write(tmp_path, {"seed0.log": text_of(draw, rows)})
    row = ask("runs", tmp_path, "--guess", "--target", "val_acc>=0.9").row("seed0")
    assert (row["epochs"], row["tta_seconds"]) == (8, 8 * pace)


def test_counts_with_a_prefix_are_read_whole(draw: Draw, tmp_path: Path) -> None:
    unit, factor = draw.choice([("k", 1000), ("K", 1000), ("M", 1_000_000)])
    every = draw.choice([1, 5, 25])
    rows = ({"step": f"{every * n}{unit}", "val_loss": f"{4 / n:.4f}"} for n in range(1, 13))
    write(tmp_path, {"seed0.log": text_of(draw, rows)})
    row = ask("runs", tmp_path, "--guess", "--target", "val_loss<=0.5").row("seed0")
    assert row["steps"] == 8 * every * factor


def european(draw: Draw, values: Iterable[tuple[int, float, float]]) -> str:
    mark = draw.choice([";", "\t"])
    names = ("epoch", draw.choice(["seconds", "elapsed_s", "time"]), "val_acc")
    cells = ((str(n), f"{s:.1f}", f"{v:.4f}") for n, s, v in values)
    rows = (mark.join(row).replace(".", ",") for row in cells)
    return "\n".join([mark.join(names), *rows, ""])


def test_decimal_commas_of_a_whole_column_are_read_and_said(draw: Draw, tmp_path: Path) -> None:
    for side, pace in (("a", 20), ("b", 16)):
        for seed in range(3):
            rows = ((n, pace * n + seed + 0.5, 0.5 + 0.04 * n) for n in range(1, 12))
            write(tmp_path, {f"{side}/seed{seed}.csv": european(draw, rows)})
    answer = ask("compare", tmp_path / "a", tmp_path / "b", "--guess", "--target", "val_acc>=0.9")
    assert answer.rows[0]["speedup"] == pytest.approx(201.5 / 161.5, rel=1e-3)
    problems = ask("problems", tmp_path / "a", "--guess").rows
    assert "val_acc: read with decimal commas" in [problem["message"] for problem in problems]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "epoch;val_loss\n1;4,213\n2;3,521\n3;2,987\n"),
        ("a.tsv", "step\tval_ppl\n1\t1,213\n2\t1,021\n3\t1,003\n"),
        ("a.log", "".join(f"episode {n} reward {1000 + 7 * n:,}\n" for n in range(1, 9))),
    ],
)
def test_a_comma_that_may_part_thousands_or_decimals_is_asked_about(
    name: str, content: str, tmp_path: Path
) -> None:
    answer = ask("runs", write(tmp_path, {name: content}), "--guess")
    assert (answer.code, answer.rows) == (2, [])
    assert "part thousands, or decimals?" in answer.text


def test_a_clock_whose_comma_may_mean_two_things_is_not_used_and_asked_about(
    tmp_path: Path,
) -> None:
    rows = "".join(f"{n};{20 + n},{n}31;0,{9 - n}\n" for n in range(1, 8))
    write(tmp_path, {"a.csv": f"epoch;seconds;val_loss\n{rows}"})
    answer = ask("runs", tmp_path, "--guess", "--target", "val_loss<=0.3")
    assert (answer.row("a")["epochs"], answer.row("a")["tta_seconds"]) == (6, None)
    assert "'21,131': does its comma part thousands, or decimals?" in answer.text


def test_durations_of_pandas_are_read(draw: Draw, tmp_path: Path) -> None:
    pace, name = draw.randrange(61, 5000), draw.choice(["duration", "elapsed", "wall_time"])
    spans = (pl.Series([1000 * pace * n for n in range(1, 11)], dtype=pl.Int64()) // 1000).to_list()
    rows = "".join(
        f"{n},{s // 86_400} days {s % 86_400 // 3600:02d}:{s % 3600 // 60:02d}:{s % 60:02d}.250000,"
        f"{0.5 + n / 20:.3f}\n"
        for n, s in enumerate(spans, start=1)
    )
    write(tmp_path, {"seed0.csv": f"epoch,{name},val_acc\n{rows}"})
    row = ask("runs", tmp_path, "--guess", "--target", "val_acc>=0.9").row("seed0")
    assert row["tta_seconds"] == 8 * pace + 0.25


def test_a_share_of_so_many_is_read_as_a_share(draw: Draw, tmp_path: Path) -> None:
    total = draw.choice([500, 10_000, 50_000])
    lines = "".join(
        f"Train Epoch: {n} [0/{total} (0%)]\tLoss: {3 / n:.4f}\n"
        f"Test set: Average loss: {2 / n:.4f}, Accuracy: {right}/{total} ({right / total:.0%})\n"
        for n in range(1, 11)
        for right in [round(total * (0.5 + n / 25))]
    )
    write(tmp_path, {"seed0.log": lines})
    row = ask("runs", tmp_path, "--guess", "--target", "accuracy>=0.9").row("seed0")
    assert (row["epochs"], row["value_final"]) == (10, 0.9)


@pytest.mark.parametrize(("number", "seconds"), [("1,024", "1m 5s"), ("2k", "1:05"), ("9", "65")])
def test_a_later_number_is_not_cut_by_what_the_first_lines_showed(
    draw: Draw, number: str, seconds: str, tmp_path: Path
) -> None:
    rows = [(str(n), f"{n}s" if draw.chance(0.5) else str(n), f"{4 / n:.3f}") for n in range(1, 9)]
    names = ("step", "elapsed", "val_loss")
    text = text_of(
        draw, (dict(zip(names, row, strict=True)) for row in (*rows, ("{}", "{}", "{}")))
    )
    early, _, form = text.removesuffix("\n").rpartition("\n")
    config = tmp_path / "ttastats.toml"
    tta.guess(write(tmp_path / "logs", {"a.log": early}), config)
    write(tmp_path / "logs", {"a.log": f"{early}\n{form.format(number, seconds, 0.1)}\n"})
    table = tmp_path / "x.parquet"
    tta.ingest([tmp_path / "logs"], table, config=config)
    last = pl.read_parquet(table).row(-1, named=True)
    assert (last["step"], last["seconds"]) == ({"1,024": 1024, "2k": 2000, "9": 9}[number], 65)


@pytest.mark.parametrize(
    ("name", "cells", "values"),
    [
        ("step", ["1,000", "2,000"], [1000, 2000]),
        ("val_loss", ["1,000", "2,000"], [None, None]),
        ("val_loss", ["0,54", "1,234"], [0.54, 1.234]),
        ("val_loss", ["999", "1,234"], [999, 1234]),
        ("val_loss", ["2000", "1,234"], [2000, None]),
        ("val_loss", ["65.0", "1,234.5"], [65, 1234.5]),
        ("val_loss", ["1.234,5", "2"], [1234.5, 2]),
        ("val_loss", ["1.234", "0,5"], [1.234, None]),
        ("val_loss", ["1,2,3", "5k", "1.5 M"], [None, 5000, 1.5e6]),
        ("accuracy", ["9900/10000", "91.2%", "92 %"], [0.99, 91.2, 92]),
        ("step", ["3/10", "x", None], [None, None, None]),
    ],
)
def test_cells_are_numbers_as_their_column_says(
    name: str, cells: list[str | None], values: list[float | None]
) -> None:
    assert numbers(pl.Series(name, cells, pl.String())).to_list() == values


def test_cells_are_times_with_or_without_units() -> None:
    cells = {
        "1m 3s": 63, "2h05m": 7500, "1,300 s": 1300, "1.5h": 5400, "250ms": 0.25, "1:02:03": 3723,
        "1 day, 2:03:04": 93784, "0 days 00:01:19.277": 79.277, "3d 4h": 273_600, "7": 420,
        "x": None, "5 apples": None, "1m 3": None,
    }  # fmt: skip
    assert times(pl.Series([*cells]), TimeColumn("t", 60.0)).to_list() == [*cells.values()]


def test_underscores_part_thousands_and_nothing_else(draw: Draw) -> None:
    value = draw.randrange(1_000, 10**9)
    head, *digits = f"{value:_}"
    cut = draw.randrange(len(digits))
    broken = head + "".join(digits[:cut]).replace("_", "") + "_" + "".join(digits[cut:])
    texts = pl.Series("steps", [f"{value:_}", f"{value:_}.5", "7", "1__000", broken])
    one, half, seven, double, odd = numbers(texts).to_list()
    assert (one, half, seven, double) == (value, value + 0.5, 7, None)
    assert odd == (value if broken == f"{value:_}" else None)
