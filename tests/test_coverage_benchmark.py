"""The simulation behind docs/coverage.md: repeatable, true to `compare`, and able to fail."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.conftest import ROOT
from ttastats import comparison, ingest, pairing
from ttastats.stats.verdict import Verdict

# An installed copy is tested without the benchmarks.
pytest.importorskip("benchmarks.coverage.command")

from benchmarks.coverage import command, intervals, page, real, simulations
from benchmarks.coverage.figures import (
    Figure,
    breaks_promise,
    clustered_rate,
    could_be_chance,
    rate,
)
from benchmarks.coverage.judging import Shown, judge
from benchmarks.coverage.misses import UNEXPLAINED, explained
from benchmarks.coverage.shapes import (
    CONST,
    LN45,
    RARE10,
    SHAPES,
    SSD,
    TRF,
    Failing,
    Pair,
    Runs,
    Shape,
    draw,
    generator,
)
from benchmarks.coverage.simulations import Plan

TINY = Plan(replicates=2, seed=7)


def frame(runs: Runs) -> pl.DataFrame:
    """Give the table of runs that `compare` would be given for one side."""
    n = runs.times.size
    epochs = [None] * n if runs.epochs is None else runs.epochs.tolist()
    unknown = pl.Series([None] * n, dtype=pl.Int64)
    return pl.DataFrame(
        {
            "reached": runs.reached,
            "tta_seconds": [
                t if s else None for t, s in zip(runs.times, runs.reached, strict=True)
            ],
            "observed_seconds": runs.times,
            "epochs": pl.Series(epochs, dtype=pl.Float64),
            "epoch_quantum": pl.Series([runs.quantum] * n, dtype=pl.Float64),
            **dict.fromkeys(("samples", "steps", "sample_quantum", "step_quantum"), unknown),
            "evaluations_to_target": unknown,
            "global_batch_size": unknown,
            "entry": pl.Series([None] * n, dtype=pl.String),
            "system": pl.Series([None] * n, dtype=pl.String),
            "started_at": pl.Series([None] * n, dtype=pl.Datetime("us", "UTC")),
        }
    )


def assert_judged_as_compare_does(a: Runs, b: Runs) -> None:
    (one,) = comparison.compare([pairing.Pair({"benchmark": "made up"}, frame(a), frame(b))])
    shown = judge(a, b)
    assert one.verdict is not None
    assert shown.verdict.word == one.verdict.word
    assert shown.verdict.conditions == one.verdict.conditions
    assert shown.verdict.claim == one.verdict.claim
    if one.speedup is None:
        assert shown.printed is None
        return
    assert shown.printed == (one.speedup.ratio.low, one.speedup.ratio.high)
    assert shown.deciding == one.speedup.limits(0.95, epochs=True)


@pytest.mark.parametrize("share", [0.0, 0.4, 0.95])
@pytest.mark.parametrize(
    "pair", [Pair(TRF, TRF, 1.3), Pair(RARE10, CONST), Pair(LN45, CONST)], ids=lambda p: p.name
)
def test_the_benchmark_judges_as_compare_does(pair: Pair, share: float) -> None:
    failing = (Failing(share), Failing(share))
    for a, b in simulations.samples(pair, (5, 4), Plan(6, 3), failing=failing):
        assert_judged_as_compare_does(a, b)


def test_runs_without_any_variation_are_judged_as_compare_does() -> None:
    a = Runs(np.full(5, 3.0), np.ones(5, bool), np.full(5, 3.0), 1.0)
    assert_judged_as_compare_does(a, replace(a, times=np.full(5, 2.0)))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_what_is_true_of_a_shape_is_what_many_draws_show(shape: Shape) -> None:
    drawn = draw(shape, (1, 400_000), np.random.default_rng(5)).row(0)
    times = drawn.times
    assert np.mean(times) == pytest.approx(1.0, abs=0.003)
    assert np.std(times) / np.mean(times) == pytest.approx(shape.cv, rel=0.02)
    assert np.mean(np.log(times)) == pytest.approx(shape.log_mean, abs=0.003)
    if drawn.epochs is not None and len(shape.epochs) > 1:
        logs = np.log(drawn.epochs), np.log(times)
        covariance = np.cov(*logs)
        assert covariance[0, 1] / covariance[1, 1] == pytest.approx(shape.share_epochs, abs=0.01)


def test_the_expected_time_is_what_restarts_take() -> None:
    failing = Failing(0.4, stopped_at=0.3)
    drawn = draw(SSD, (1, 200_000), np.random.default_rng(6), failing=failing)
    assert drawn.times.sum() / drawn.reached.sum() == pytest.approx(failing.expected_time, rel=0.01)


def test_the_same_seed_gives_the_same_page_and_another_seed_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = []
    for name, seed in (("one", "7"), ("two", "7"), ("three", "8")):
        target = tmp_path / name
        assert command.main(["--replicates", "2", "--seed", seed, "-o", str(target)]) == 0
        pages.append(target.read_text("utf-8").replace(f"--seed {seed}", ""))
    assert pages[0] == pages[1]
    assert pages[0] != pages[2]
    assert "pitfalls" in capsys.readouterr().err


def test_every_table_of_the_page_has_figures_and_every_figure_a_table() -> None:
    figures = command.measure(TINY, [])
    shown = {quantity for section in page.SECTIONS for quantity, _ in section.tables}
    assert {figure.quantity for figure in figures} == shown | {"pitfalls"}
    text = page.written(figures, TINY, [])
    for heading in ("## The goals", "## Where we do not hold", *(s.heading for s in page.SECTIONS)):
        assert heading in text
    cells = [(figure.quantity, figure.setup, figure.runs) for figure in figures]
    assert len(set(cells)) == len(cells)


def test_a_cell_does_not_depend_on_which_others_are_measured() -> None:
    one = [generator(1, "a").random(), generator(1, "b").random()]
    assert generator(1, "b").random() == one[1] != one[0]


def _halved(a: Runs, b: Runs, margin: float) -> Shown:
    """Give the intervals half their width: what a wrong standard error would do."""
    shown = judge(a, b, margin)

    def half(limits: tuple[float, float] | None) -> tuple[float, float] | None:
        if limits is None:
            return None
        centre = math.sqrt(limits[0] * limits[1])
        return math.sqrt(limits[0] * centre), math.sqrt(limits[1] * centre)

    return Shown(half(shown.printed), half(shown.deciding), shown.verdict)


def _eager(a: Runs, b: Runs, margin: float) -> Shown:
    """Call B faster whenever its mean is."""
    shown = judge(a, b, margin)
    word = "faster" if b.times.mean() < a.times.mean() else "slower"
    return replace(shown, verdict=Verdict(word, word, margin))


@pytest.fixture
def few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulations, "ALIKE", (Pair(LN45, LN45), Pair(SSD, SSD)))
    monkeypatch.setattr(simulations, "MIXED", ())
    monkeypatch.setattr(simulations, "SIZES", {"5": (5, 5)})


@pytest.mark.usefixtures("few_cells")
def test_the_right_interval_is_seen_to_hold() -> None:
    figures = list(simulations.speedups(Plan(400, 1)))
    assert not [f for f in figures if breaks_promise(f) and not could_be_chance(f)]


@pytest.mark.usefixtures("few_cells")
def test_an_interval_of_half_the_width_is_seen_to_miss() -> None:
    figures = list(simulations.speedups(Plan(100, 1), _halved))
    missed = [f for f in figures if breaks_promise(f) and not could_be_chance(f)]
    assert {f.quantity for f in missed} == {"speedup, printed", "speedup, deciding"}
    assert all(f.rate and f.rate.value < 0.85 for f in missed)
    assert "**missed in 2**" in page.written(figures, Plan(100, 1), [])


@pytest.mark.usefixtures("few_cells")
def test_a_verdict_that_says_too_much_is_seen() -> None:
    figures = list(simulations.speedups(Plan(50, 1), _eager))
    claimed = [f for f in figures if f.quantity == "claims"]
    assert all(f.rate and f.rate.value == 1.0 and breaks_promise(f) for f in claimed)


def test_a_miss_without_a_reason_is_said_to_have_none() -> None:
    odd = Figure("throughput", "TRF", "30", rate(50, 100), "coverage")
    assert explained([odd]) == {UNEXPLAINED: [odd]}


def test_what_promises_nothing_breaks_no_promise() -> None:
    assert not breaks_promise(Figure("faster", "TRF", "5", rate(1, 100), "no promise"))
    assert not breaks_promise(Figure("ERT, shown", "TRF", "5", None, "coverage"))


def test_the_error_of_splits_that_share_runs_is_that_of_their_entries() -> None:
    found = clustered_rate([10, 0], [10, 10])
    assert found is not None
    assert (found.value, found.se) == (0.5, pytest.approx(0.5))
    alike = clustered_rate([5, 5], [10, 10])
    assert alike is not None
    assert alike.se == pytest.approx(math.sqrt(0.25 / 20))


def test_fractions_are_exact() -> None:
    wilson = {
        (f.setup, f.runs): f.rate.value
        for f in intervals.fractions()
        if f.quantity == "Wilson" and f.rate
    }
    # 5 of 5, 4 of 5 and 3 of 5 hold 0.9; the others do not.
    assert wilson["90% reach", "5"] == pytest.approx(0.9**5 + 5 * 0.9**4 * 0.1)


@pytest.fixture
def example(two_systems: Path, tmp_path: Path) -> Path:
    output = tmp_path / "example.parquet"
    ingest([two_systems / "one_gpu", two_systems / "eight_gpus"], output)
    return output


def test_real_entries_are_split_against_themselves(example: Path) -> None:
    entries = real.entries(example)
    assert sorted(int(entry.runs.reached.sum()) for entry in entries) == [9, 10]
    figures = list(real.figures(entries, "example", Plan(4, 1)))
    assert figures == []  # one entry alone with 10 successes says nothing about entries
    twice = [replace(entry, name=name) for entry in entries for name in ("x", "y")]
    figures = list(real.figures(twice, "example", Plan(4, 1)))
    assert {(f.setup, f.runs) for f in figures} == {
        ("example, successes", "5 (2 entries)"),
        ("example, entries with failures", "5 (2 entries)"),
    }
    assert figures == list(real.figures(twice, "example", Plan(4, 1)))


def test_real_runs_are_judged_as_compare_does(example: Path) -> None:
    for entry in real.entries(example):
        order = np.random.default_rng(2).permutation(10)
        a, b = (entry.chosen(half).runs for half in (order[:5], order[5:]))
        assert a.quantum == 1.0
        assert_judged_as_compare_does(a, b)


def test_a_missing_data_file_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--data", str(tmp_path / "none.parquet")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_the_published_page_explains_every_miss_and_holds_the_goals_of_the_speedup() -> None:
    text = (ROOT / "docs" / "coverage.md").read_text("utf-8")
    assert UNEXPLAINED not in text
    for goal in ("Speedup: the deciding", "Verdict: at most 6 %", "ERT: the interval covers"):
        (line,) = [row for row in text.splitlines() if row.startswith(f"| {goal}")]
        assert "| held |" in line
