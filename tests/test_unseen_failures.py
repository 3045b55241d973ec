"""What is claimed where further runs may fail, and what in a table gives a reason to expect it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import ttastats as tta
from ttastats.report.answer import Report
from ttastats.stats.outcomes import Epochs, Outcomes, make_outcomes
from ttastats.stats.speedup import Speedup, compute_speedup
from ttastats.stats.unseen import STRAGGLER

SEEDS = range(8)
OTHERS = ("benchmark", "accelerators", "run_status")


def drawn(rng: np.random.Generator, n: int, mean: float, cv: float, failed: int = 0) -> Outcomes:
    """Return runs whose epochs vary, of which so many failed."""
    epochs = rng.lognormal(0, cv, n) * 50
    reached = np.arange(n) >= failed
    return make_outcomes(epochs * mean / 50, reached, progress=Epochs(epochs[reached], 1.0))


def drawn_speedup(rng: np.random.Generator) -> Speedup:
    n_a, n_b = rng.integers(3, 30, 2)
    cv, ratio = rng.uniform(0.01, 0.3), float(np.exp(rng.uniform(-1.5, 1.5)))
    failed = int(rng.integers(0, 2))
    a, b = drawn(rng, int(n_a), ratio, cv, failed), drawn(rng, int(n_b), 1.0, cv)
    late_a, late_b = rng.uniform(0, 0.03, 2) if n_a % 2 else (0.0, 0.0)
    return compute_speedup(a, b, estimand="mean", confidence=0.95, late=(late_a, late_b))


def low_at(speedup: Speedup, share: float) -> float:
    """Return the end nearest 1 if a further share of the faster side fails, by the definition."""
    a, b, estimate = speedup.a, speedup.b, speedup.ratio.estimate
    if a is None or b is None or estimate is None:
        return math.nan
    faster, slower = (b, a) if estimate > 1 else (a, b)
    reached = faster.n_reached / faster.n
    # Each further failure costs so much more than a success that the mean of all rises.
    rises = math.log(1 + (STRAGGLER - 1) * share / (reached - share))
    halves = [faster.half_widths(0.95, epochs=False, stragglers=False)[1],
              slower.half_widths(0.95, epochs=False, stragglers=False)[0]]  # fmt: skip
    gap = slower.term.estimate * (1 - slower.late) / faster.term.estimate
    return gap / math.exp(math.sqrt(sum(half**2 for half in halves) + rises**2))


def test_a_claim_turns_at_the_share_of_failures_at_which_its_interval_meets_1() -> None:
    shares = []
    for seed in range(200):
        speedup = drawn_speedup(np.random.default_rng(seed))
        turning, shown = speedup.turning(epochs=True), speedup.limits(0.95, epochs=True)
        robust = speedup.limits(0.95, epochs=True, stragglers=True)
        assert shown
        assert robust
        assert (turning is None) == (shown[0] <= 1 <= shown[1])
        if turning:
            assert turning.side == ("B" if shown[0] > 1 else "A")
            # With limits of its own for each side the interval may meet 1 without a failure.
            least = low_at(speedup, 0.0)
            assert low_at(speedup, turning.share) == pytest.approx(min(1.0, least))
            # It needs no condition just where its runs exclude that share.
            assert (robust[0] <= 1 <= robust[1]) == (turning.share < turning.possible)
            shares.append(turning.share > turning.possible)
    assert 20 < sum(shares) < len(shares) - 20


@pytest.mark.parametrize("seed", SEEDS)
def test_turning_follows_the_sides_when_they_are_swapped(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = drawn(rng, 6, 1.5, 0.1), drawn(rng, 9, 1.0, 0.1)
    forth, back = (
        compute_speedup(*pair, estimand="mean", confidence=0.95).turning(epochs=True)
        for pair in ((a, b), (b, a))
    )
    assert forth
    assert back
    assert (forth.side, back.side) == ("B", "A")
    assert back.share == pytest.approx(forth.share)


def rows(
    rng: np.random.Generator, side: str, n: int, mean: float, *, met: Any = None, ends: int = 0,
    failed: int = 0, **columns: Any,
) -> pl.DataFrame:  # fmt: skip
    """Return evaluations of runs, which stop where they meet their target unless they all `end`."""
    place = "/".join(str(value) for value in columns.values())
    tables = []
    for run in range(n):
        target = int(met[run] if met is not None else rng.integers(60, 90))
        last = ends or target
        pace = mean * rng.lognormal(0, 0.005)
        steps = np.arange(1, last + 1)
        tables.append(
            pl.DataFrame({"run": f"{side} {place} {run}", "epoch": steps, "time": steps * pace,
                          "acc": (steps >= target) * (0.0 if run < failed else 1.0)})
            .with_columns(side=pl.lit(side), **{key: pl.lit(v) for key, v in columns.items()})
        )  # fmt: skip
    return pl.concat(tables)


def compared(*tables: pl.DataFrame) -> Report:
    sides = []
    for name in "ab":
        every = pl.concat(table for table in tables if table["side"][0] == name)
        more = {
            key: key for key in ("benchmark", "accelerators", "run_status") if key in every.columns
        }
        sides.append(
            tta.from_frame(every, run="run", metric="acc", seconds="time", epoch="epoch",
                           target=0.5, entry="side", higher_is_better=True, **more)
        )  # fmt: skip
    return tta.compare(*sides)


def conditions(report: Report) -> list[list[str]]:
    return [row["conditions"] for row in report.rows]


@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.parametrize(
    ("side", "benchmark", "expected"),
    [("b", "one", ["no_stragglers"]), ("a", "one", []), ("b", "two", [])],
)
def test_failures_elsewhere_count_for_the_faster_side_on_the_same_benchmark(
    seed: int, side: str, benchmark: str, expected: list[str]
) -> None:
    rng = np.random.default_rng(seed)
    n, tables = int(rng.integers(4, 8)), []
    for number, (name, size) in enumerate([("one", 8), (benchmark, 16)]):
        for of, mean in (("a", 1.6), ("b", 1.0)):
            failed = int(rng.integers(1, n - 2)) if number and of == side else 0
            tables.append(rows(rng, of, n, mean, failed=failed, benchmark=name, accelerators=size))
    first = conditions(compared(*tables))[0]
    assert first == expected


@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.parametrize(("end", "expected"), [(100, ["no_stragglers"]), (115, [])])
def test_an_end_of_all_runs_near_their_target_is_a_reason_to_expect_failures(
    seed: int, end: int, expected: list[str]
) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 10))
    met = rng.permutation(np.linspace(70, 92, n).astype(int))
    slow, fast = ("a", "b") if seed % 2 else ("b", "a")
    report = compared(rows(rng, slow, n, 1.6, met=met), rows(rng, fast, n, 1.0, met=met, ends=end))
    assert conditions(report) == [expected]
    near = f"all end at evaluation {end}, and the last met its target at evaluation 92"
    assert (near in " ".join(note.text for note in report.notes)) == bool(expected)


@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.parametrize("who", ["a", "b"])
def test_a_run_that_the_user_stopped_counts_for_the_faster_side(seed: int, who: str) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 8))
    tables = [rows(rng, "a", n, 1.6, run_status=None), rows(rng, "b", n, 1.0, run_status=None)]
    kept = [table.with_columns(pl.col("run_status").cast(pl.String)) for table in tables]
    stopped = rows(rng, who, 1, 1.0, failed=1, run_status="stopped")
    report = compared(*kept, stopped)
    assert conditions(report) == [["no_stragglers"] if who == "b" else []]


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_twice_the_runs_are_named_as_such_and_not_as_failures(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 8))
    report = compared(rows(rng, "a", 2 * n, 1.6), rows(rng, "b", n, 1.0))
    assert conditions(report) == [["unbalanced"]]
    text = str(report)
    assert "with unequal numbers of runs" in text
    assert "‡" not in text
    assert "fail" not in report.sentence
    failing = compared(rows(rng, "a", 2 * n, 1.6, failed=1), rows(rng, "b", n, 1.0))
    assert conditions(failing) == [["no_stragglers"]]


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_the_first_screen_says_which_share_of_failures_turns_a_claim(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 8))
    report = compared(rows(rng, "a", n, 1.6), rows(rng, "b", n, 1.0))
    assert conditions(report) == [[]]
    excluded = 1 - 0.05 ** (1 / n)
    (text,) = [note.text for note in report.notes if note.code == "assumption"]
    assert text.startswith("the claim turns if B fails in more than ")
    assert f"({n} of {n} exclude only more than {excluded:.0%})" in text
    assert text.split("(")[0] in str(report)
    # Where the runs exclude every share that would turn it, there is nothing to say.
    sure = compared(rows(rng, "a", 30, 4.0), rows(rng, "b", 30, 1.0))
    assert "assumption" not in [note.code for note in sure.notes]


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_throughput_carries_the_condition_where_a_run_straggles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 10))
    steady, a = rows(rng, "b", n, 1.0), rows(rng, "a", n, 1.7)
    slow = steady.with_columns(
        time=pl.when(pl.col("run") == "b  0").then(pl.col("time") * 1.3).otherwise("time")
    )
    texts = [str(compared(a, b)) for b in (steady, slow)]
    lines = [line for text in texts for line in text.splitlines() if line.startswith(" speedup")]
    assert [line.endswith("]‡") for line in lines] == [False, True]
