"""The simulation behind docs/statistics.md: repeatable, true to `compare`, and able to fail."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.conftest import ROOT, matches_accepted
from ttastats import ingest
from ttastats.sides import comparison, pairing
from ttastats.sides.options import Options

# An installed copy is tested without the benchmarks.
pytest.importorskip("benchmarks.coverage.command")

from benchmarks.coverage import (
    blocks,
    cases,
    command,
    designs,
    effects,
    families,
    intervals,
    real,
    results,
    sequential,
    sessions,
    simulations,
    summary,
)
from benchmarks.coverage.figures import (
    Figure,
    Kind,
    breaks_promise,
    by_mark,
    clustered_rate,
    could_be_chance,
    rate,
)
from benchmarks.coverage.goals import GOALS
from benchmarks.coverage.judging import directed, judge, measured
from benchmarks.coverage.misses import UNEXPLAINED
from benchmarks.coverage.shapes import (
    CONST,
    LN15,
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
)
from benchmarks.coverage.simulations import Plan

TINY = Plan(replicates=2, seed=7)

STRAGGLING = replace(TRF, name="TRF with stragglers", stragglers=0.1)
UNLOGGED = replace(LN45, name="LN45, epochs not logged", epochs_logged=False)


#: Goals that the published page holds.
HELD = (
    "Speedup: the deciding",
    "Claims without a mark",
    "Claims with ‡ alone",
    "Many benchmarks:",
    "Rare events:",
    "Pooled systems:",
    "ERT: the interval covers",
    "Within 2 to 5 blocks: the deciding",
    "Within 2 to 5 blocks: claims",
    "Sessions of one setup:",
    "Qualities at a budget: the interval",
    "Qualities at a budget: at most",
    "A mean against a number:",
    "Changes over nights:",
    "Real runs: the deciding",
)


#: Columns that a comparison asks for, and of which the benchmark knows nothing.
UNKNOWN = {
    **dict.fromkeys(("suite", "round", "benchmark", "division"), pl.String),
    **dict.fromkeys(("submitter", "system", "hardware"), pl.String),
    **dict.fromkeys(("clock_zero", "problems", "run_status"), pl.String),
    **dict.fromkeys(("accelerators", "nodes"), pl.Int64),
    "started_at": pl.Datetime("us", "UTC"),
    **dict.fromkeys(
        ("samples", "steps", "evaluation_interval_samples", "evaluation_interval_steps",
         "evaluations_to_target", "global_batch_size", "run_seconds", "seed", "target_value",
         "evaluations"), pl.Int64,
    ),
}  # fmt: skip


def frame(runs: Runs) -> pl.DataFrame:
    """Return the table of runs that `compare` would be given for one side."""
    times = pl.Series("observed_seconds", runs.times)
    blocks = {} if runs.blocks is None else {"block": runs.blocks}
    table = pl.DataFrame({**blocks, "reached": runs.reached, "observed_seconds": runs.times})
    epochs = None if runs.epochs is None else pl.Series(runs.epochs)
    entries = [f"entry {k}" for k in runs.clusters] if runs.clusters is not None else [None]
    return table.with_columns(
        tta_seconds=pl.when("reached").then(times),
        epochs=pl.lit(epochs, None if epochs is not None else pl.Float64),
        evaluation_interval_epochs=pl.lit(runs.evaluation_interval, pl.Float64),
        entry=pl.Series(entries * (1 if len(entries) > 1 else table.height), dtype=pl.String),
        **{name: pl.lit(None, dtype) for name, dtype in UNKNOWN.items()},
    )


def assert_judged_as_compare_does(a: Runs, b: Runs) -> None:
    (row,) = comparison.compare(
        [pairing.Pair({"benchmark": "made up"}, frame(a), frame(b))], Options()
    )
    shown = judge(a, b)
    assert row.verdict is not None
    assert shown.verdict.word == row.verdict.word
    assert shown.verdict.conditions == row.verdict.conditions
    assert shown.verdict.claim == row.verdict.claim
    if row.speedup is None:
        assert shown.printed is None
        return
    assert shown.printed == (row.speedup.ratio.low, row.speedup.ratio.high)
    assert shown.deciding == row.speedup.limits(0.95, epochs=True)
    assert shown.robust == row.speedup.limits(0.95, epochs=True, stragglers=True)


PAIRS = (
    Pair(TRF, TRF, 1.3), Pair(RARE10, CONST), Pair(LN45, CONST), Pair(UNLOGGED, CONST, 3.0),
    Pair(cases.Q8, cases.Q8_RARELY),
)  # fmt: skip


@pytest.mark.parametrize(
    ("pair", "share", "of_sides"),
    [*((pair, share, {}) for share in (0.0, 0.4, 0.95) for pair in PAIRS),
     (Pair(LN45, LN45), 0.0, {"clusters": ([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2])}),
     (Pair(LN45, LN45), 0.1, {"blocks": ([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 2])})],
)  # fmt: skip
def test_the_benchmark_judges_as_compare_does(
    pair: Pair, share: float, of_sides: dict[str, tuple[list[int], list[int]]]
) -> None:
    sizes, failing = (6, 6) if of_sides else (5, 4), (Failing(share), Failing(share))
    for sides in simulations.samples(pair, sizes, Plan(6, 3), failing=failing):
        a, b = (
            replace(side, **{name: np.array(numbers[k]) for name, numbers in of_sides.items()})
            for k, side in enumerate(sides)
        )
        assert_judged_as_compare_does(a, b)


@pytest.mark.parametrize("margin", [0.01, 0.2])
def test_benchmarks_are_judged_together_as_compare_does(margin: float) -> None:
    pairs = (Pair(TRF, TRF, 1.3), Pair(CONST, CONST), Pair(LN45, LN45, 3.0), Pair(SSD, SSD))
    drawn = [simulations.samples(pair, (5, 5), Plan(6, 3)) for pair in pairs]
    for replicate in zip(*drawn, strict=True):
        together = [pairing.Pair({"benchmark": k}, *map(frame, s)) for k, s in enumerate(replicate)]
        compared = comparison.compare(together, Options(margin=margin))
        verdicts = families.judged([measured(a, b) for a, b in replicate], margin)
        for row, verdict in zip(compared, verdicts, strict=True):
            assert row.verdict is not None
            assert (verdict.claim, verdict.conditions) == (
                row.verdict.claim, row.verdict.conditions
            )  # fmt: skip


def test_runs_without_any_variation_are_judged_as_compare_does() -> None:
    a = Runs(np.full(5, 3.0), np.ones(5, bool), np.full(5, 3.0), 1.0)
    assert_judged_as_compare_does(a, replace(a, times=np.full(5, 2.0)))


@pytest.mark.parametrize("shape", [*SHAPES, STRAGGLING], ids=lambda shape: shape.name)
def test_what_is_true_of_a_shape_is_what_many_draws_show(shape: Shape) -> None:
    drawn = draw(shape, (1, 400_000), np.random.default_rng(5)).row(0)
    times = drawn.times
    assert np.mean(times) == pytest.approx(1.0, abs=0.003)
    assert np.std(times) / np.mean(times) == pytest.approx(shape.cv, rel=0.02)
    assert np.mean(np.log(times)) == pytest.approx(shape.log_mean, abs=0.003)
    if drawn.epochs is not None and shape.cv > 0.01:
        logs = np.log(drawn.epochs), np.log(times)
        covariance = np.cov(*logs)
        assert covariance[0, 1] / covariance[1, 1] == pytest.approx(shape.share_epochs, abs=0.01)


def test_both_sides_of_every_case_have_the_same_expected_time() -> None:
    for case in cases.CASES:
        rng = np.random.default_rng(6)
        a = draw(case.a, (1, 100_000), rng, mean=case.ratio, failing=case.failing[0])
        b = draw(case.b, (1, 100_000), rng, failing=case.failing[1])
        spent_a, spent_b = (side.times.sum() / side.reached.sum() for side in (a, b))
        # All runs of a side share their session.
        slack = 0.05 if case.group == "sessions" else 0.03
        assert spent_a == pytest.approx(spent_b, rel=slack), case.name


def test_epochs_are_rounded_up_to_the_next_evaluation() -> None:
    # On average by about half of the interval, where the epochs spread as far as it.
    assert cases.Q8.mean_epochs == pytest.approx(10.53, abs=0.02)
    assert sum(cases.Q8_RARELY.probabilities) == pytest.approx(1.0)
    assert cases.Q8_RARELY.epochs[:3] == (8.0, 12.0, 16.0)
    assert cases.Q8_RARELY.probabilities[1] > 0.98


@pytest.fixture(scope="module")
def everything() -> list[Figure]:
    parts = (  # of each measurement a few cells have to do
        *((module, "CASES", module.CASES[::every]) for module, every in
          ((blocks, 3), (cases, 4), (designs, 30), (effects, 4))),
        (designs, "BUDGETS", designs.BUDGETS[::5]),
        (blocks, "_CANDIDATE_LAYOUTS", blocks._CANDIDATE_LAYOUTS[:1]),
        (families, "FAMILIES", {key: pairs[:2] for key, pairs in families.FAMILIES.items()}),
        (families, "AT_THE_MARGIN", {"two": next(iter(families.AT_THE_MARGIN.values()))[:2]}),
        (sequential, "FAMILIES", {key: pairs[:2] for key, pairs in sequential.FAMILIES.items()}),
        (sequential, "FIXED", sequential.FIXED[:2]),
        (sequential, "MOST", sequential.MOST[:2]),
        (sessions, "LAYOUTS", sessions.LAYOUTS[::24]),
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in parts:
            patch.setattr(module, name, value)
        return flat(command.measure(TINY, command._tasks([])))


def flat(measured: results.Measured) -> list[Figure]:
    return [figure for figures in measured.values() for figure in figures]


def test_the_same_seed_gives_the_same_figures_and_another_seed_others(
    everything: list[Figure], capsys: pytest.CaptureFixture[str]
) -> None:
    again = flat(command.measure(TINY, [("speedups", ()), ("qualities", ())]))
    assert set(again) < set(everything)
    assert not set(everything).issuperset(simulations.speedups(replace(TINY, seed=8)))
    assert "speedups: " in capsys.readouterr().err


def test_the_file_is_read_as_it_was_written(everything: list[Figure], tmp_path: Path) -> None:
    missed = Figure("throughput", "TRF", "30", rate(9396, 10000), "coverage")
    path = tmp_path / "figures.csv"
    results.write(path, {"all": [*everything, missed]})
    assert "all,throughput,TRF,30,94.0,0.2,coverage,yes\n" in path.read_text("utf-8")
    again = results.read(path)["all"]
    assert breaks_promise(again[-1])
    assert summary.written(again[:-1]) == summary.written(everything)
    results.write(tmp_path / "again.csv", {"all": again})
    assert (tmp_path / "again.csv").read_bytes() == path.read_bytes()


def test_every_quantity_has_figures_and_every_figure_a_meaning(
    everything: list[Figure],
) -> None:
    described = {quantity for quantity, *_ in results.quantities()}
    assert {figure.quantity for figure in everything} == {
        quantity for quantity in described if not quantity.startswith("real: ")
    }
    cells = [(figure.quantity, figure.setup, figure.runs) for figure in everything]
    assert len(set(cells)) == len(cells)


def test_every_goal_is_answered(everything: list[Figure]) -> None:
    for goal in GOALS:
        if not goal.text.startswith("Real"):
            assert any(map(goal.asks, everything)), goal.text


@pytest.mark.parametrize(
    ("hits", "kind", "breaks", "by_chance"),
    [
        (9400, "coverage", False, True),
        (9396, "coverage", True, True),
        (9300, "coverage", True, False),
        (600, "false claim", False, True),
        (604, "false claim", True, True),
        (700, "false claim", True, False),
        (9300, "no promise", False, False),
    ],
)
def test_a_rate_breaks_its_promise_perhaps_by_chance(
    hits: int, kind: Kind, breaks: bool, by_chance: bool
) -> None:
    figure = Figure("throughput", "TRF", "30", rate(hits, 10_000), kind)
    assert (breaks_promise(figure), could_be_chance(figure)) == (breaks, by_chance)


def test_every_claim_is_counted_under_one_mark() -> None:
    pair = Pair(RARE10, CONST)
    verdicts = [judge(a, b).verdict for a, b in simulations.samples(pair, (5, 5), Plan(40, 1))]
    figures = list(by_mark("claims", pair.name, "5", verdicts, directed))
    assert [f.quantity for f in figures] == ["claims", "claims ‡", "claims †"]
    share = sum(f.rate.value for f in figures if f.rate)
    assert share == pytest.approx(sum(map(directed, verdicts)) / len(verdicts))
    assert figures[2].rate is not None
    assert figures[2].rate.value > 0.3


def test_the_error_of_splits_that_share_runs_is_that_of_their_entries() -> None:
    share = clustered_rate([10, 0], [10, 10])
    assert share is not None
    assert (share.value, share.se) == (0.5, pytest.approx(0.5))
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


def test_the_page_has_the_summary_of_the_published_figures() -> None:
    path = ROOT / "docs" / "statistics.md"
    text = path.read_text("utf-8")
    published = results.read(ROOT / "benchmarks" / "coverage" / "figures.csv")
    shown = summary.written(flat(published))
    before, after = text.split("### The goals\n")[0], text.split("\n## Limits\n")[1]
    assert matches_accepted(path, f"{before}{shown}\n## Limits\n{after}")
    assert UNEXPLAINED not in shown
    for goal in HELD:
        (line,) = [row for row in shown.splitlines() if row.startswith(f"| {goal}")]
        assert "| held |" in line or "perhaps by chance" in line, line
    measured = {figure.quantity for figure in flat(published)}
    described = {quantity for quantity, *_ in results.quantities()}
    # How many splits have no upper limit was not among the published figures.
    assert described - measured == {"real: unbounded"}


@pytest.mark.parametrize(
    "pair", [Pair(LN15, LN15), Pair(TRF, TRF), Pair(TRF, CONST, 1.3)], ids=lambda pair: pair.name
)
def test_all_replicates_are_looked_at_as_one_comparison_is(pair: Pair) -> None:
    a, b = sequential.drawn(pair, 5, Plan(40, 7))
    planned = sequential.planned(5, 20)
    for level, epoch_safe in ((0.05, False), (0.05, True), (planned, True)):
        decided = sequential.decides(a, b, level, epoch_safe=epoch_safe)
        for row, claims in enumerate(decided):
            sides = [
                Runs(x.times[row], np.ones(5, dtype=np.bool_), x.epochs[row], x.evaluation_interval)
                for x in (a, b)
            ]
            speedup = measured(*sides).speedup
            limits = speedup.limits(1 - level, epochs=epoch_safe) if speedup else None
            assert limits is not None
            assert claims == (limits[0] > 1 or limits[1] < 1)


def test_a_replicate_stops_at_its_first_decided_look() -> None:
    a, b = sequential.drawn(Pair(LN15, LN15, 1.5), 8, Plan(60, 7))
    runs, decided = sequential.stops(a, b, 8, sequential.planned)
    for row in range(60):
        looks = [
            n
            for n in range(3, 9)
            if sequential.decides(
                a.first(n), b.first(n), sequential.planned(n, 8), epoch_safe=True
            )[row]
        ]
        assert (runs[row], decided[row]) == (looks[0] if looks else 8, bool(looks))
    assert 0 < decided.sum() < 60
