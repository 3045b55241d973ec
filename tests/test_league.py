"""The ranks that entries may have, ties, and what a league says about them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace

from tests.page.made import rows
from ttastats import api
from ttastats.answers import league
from ttastats.answers.league import League, Rank, ranks, ties
from ttastats.base.records import ESTIMATED_START
from ttastats.sides.comparison import compare
from ttastats.sides.design import Design, Grid
from ttastats.sides.numbers import SideNumbers, briefs
from ttastats.sides.options import Options
from ttastats.sides.order import order
from ttastats.sides.pairing import Pair
from ttastats.stats.outcomes import Epochs, make_outcomes
from ttastats.stats.results import Bools


def runs(
    paces: dict[str, list[float]],
    accelerators: dict[str, int] | None = None,
    *,
    steady: Sequence[str] = (),
) -> pl.DataFrame:
    """Return runs of entries that took three times these seconds; negative ones failed then.

    They need about as many epochs each, `steady` entries the same number.
    """
    parts = []
    for entry, seconds in paces.items():
        table = rows([entry], runs=1)
        for n, pace in enumerate(seconds):
            times = (pl.int_range(pl.len()) + 1) * abs(pace)
            name = pl.lit(f"{entry}/{n}")
            value = pl.when(pl.lit(pace > 0)).then("value").otherwise(pl.lit(0.5))
            longer = 1.0 if entry in steady else 1 + n % 2 / 100
            parts.append(
                table.with_columns(
                    run_id=name, source=name, content_digest=name, seconds=times, value=value,
                    seed=pl.lit(n, pl.Int64), epoch=pl.col("epoch") * longer,
                    run_seconds=pl.lit(3 * abs(pace)), submitter=pl.lit(entry.split("/")[0]),
                    accelerators=pl.lit((accelerators or {}).get(entry, 8), pl.Int64),
                )
            )  # fmt: skip
    return pl.concat(parts)


def around(mean: float, spread: float, count: int = 6, seed: int = 0) -> list[float]:
    return list(np.random.default_rng(seed).normal(mean, spread, count))


def leagues(table: pl.DataFrame) -> tuple[League, ...]:
    return league.leagues(api.summary(table), confidence=0.95)


def apart(count: int, *pairs: tuple[int, int]) -> Bools:
    """Return whether the first of each pair is shown to be faster."""
    shown = np.zeros((count, count), dtype=np.bool_)
    for pair in pairs:
        shown[pair] = True
    return shown


@pytest.mark.parametrize(("count", "is_noted"), [(9, True), (10, False)])
def test_the_cv_of_fewer_than_ten_runs_is_of_runs_like_those_seen(
    count: int, is_noted: bool
) -> None:
    codes = {note.code for note in api.summary(runs({"a/x": around(10.0, 1.0, count)})).notes}
    assert ("like_those_seen" in codes) is is_noted


def test_an_entry_ranks_behind_the_faster_and_before_the_slower() -> None:
    assert ranks(apart(4, (0, 2), (0, 3), (1, 3))) == (
        Rank(1, 1, 2), Rank(2, 1, 3), Rank(3, 2, 4), Rank(4, 3, 4),
    )  # fmt: skip
    assert ranks(apart(1)) == (Rank(1, 1, 1),)


@pytest.mark.parametrize("seed", range(20))
def test_every_stretch_is_a_tie_and_none_can_be_longer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 9))
    unlike = {pair for pair in combinations(range(count), 2) if rng.random() < 0.4}

    def tied(first: int, last: int) -> bool:
        return not any(pair in unlike for pair in combinations(range(first - 1, last), 2))

    every = [
        (first, last)
        for first, last in combinations(range(1, count + 1), 2)
        if tied(first, last)
        and not (first > 1 and tied(first - 1, last))
        and not (last < count and tied(first, last + 1))
    ]
    assert list(ties(apart(count, *unlike))) == every
    assert ties(apart(0)) == ()


#: Times that vary, failures, runs of no success, single and equal runs.
PACES = {
    "a/1": around(10, 0.3), "b/2": around(10.2, 0.3, seed=1), "c/3": around(14, 0.5, seed=2),
    "d/4": [*around(10, 0.3, 3, seed=3), -12.0], "e/5": [-9.0] * 6, "f/6": [20.0],
    "g/7": [13.0] * 6, "h/8": [12.5] * 6,
}  # fmt: skip
_RNG = np.random.default_rng(5)
MANY = {
    f"s/{n}": [
        float(pace * (-1 if _RNG.random() < 0.04 else 1))
        for pace in around(10 + n % 5 / 2, 0.1 * (n % 3), int(_RNG.integers(2, 9)), seed=n)
    ]
    for n in range(9)
}


def guise(seed: int) -> pl.DataFrame:
    """Return entries of random pace and noise, of which some are odd in how they were made."""
    rng = np.random.default_rng(seed)
    names = [f"s/{n}" for n in range(5)]
    paces = {
        name: [float(pace * (rng.choice([-1, 3]) if seed % 3 == 0 and rng.random() < 0.1 else 1))
               for pace in rng.normal(10 + rng.choice([0, 1, 4, 9]), rng.choice([0.02, 0.2]),
                                      rng.choice([4, 5, 5, 8]))]
        for name in names
    }  # fmt: skip
    steady = [name for name in names if rng.random() < 0.4]
    table, number = runs(paces, steady=steady), pl.col("entry").str.slice(2).cast(pl.Int64)
    started, one_machine = pl.col("started_at"), seed % 2 == 0
    table = table.with_columns(
        system=pl.lit("one") if one_machine else pl.col("system"),
        started_at=started + pl.duration(hours=30 * number + 4 * pl.col("seed"))
        if one_machine
        else started + pl.duration(hours=4 * pl.col("seed"), minutes=number),
    )
    odd = number == int(rng.integers(5))
    changes = (
        {"seed": pl.when(odd).then(0).otherwise("seed")},
        {"seed": pl.when(odd).then(pl.col("seed") // 2).otherwise("seed")},
        {"clock_zero": pl.when(odd).then(pl.lit(ESTIMATED_START)).otherwise("clock_zero")},
        {"seconds": pl.when(odd & (pl.col("seed") % 2 == 1)).then(pl.col("seconds") * 1.4)
                    .otherwise("seconds")},
    )  # fmt: skip
    return table.with_columns(**changes[seed % len(changes)])


@pytest.mark.parametrize(
    "table",
    [runs(PACES), runs(MANY), runs(PACES, steady=[*PACES]), *map(guise, range(12))],
    ids=["paces", "many", "steady", *(f"guise {n}" for n in range(12))],
)
def test_pairs_are_judged_as_a_comparison_of_all_of_them_judges_them(table: pl.DataFrame) -> None:
    groups = api.summary(table).groups
    places = list(combinations(range(len(groups)), 2))
    named = (Pair({}, groups[a], groups[b], labels=(f"{a}", f"{b}")) for a, b in places)
    comparisons = compare([*named], Options())
    verdicts = {
        (a, b) if c.verdict.word == "slower" else (b, a): set(c.verdict.conditions)
        for (a, b), c in zip(places, comparisons, strict=True)
        if c.verdict.word in {"faster", "slower"}
    }
    made = order(briefs(groups), 0.95)
    of_order = {pair: set(codes) for pair, codes in made.conditions.items()}
    of_order |= {tuple(pair): set() for pair in np.argwhere(made.faster).tolist()}
    assert of_order.keys() == verdicts.keys()  # of many pairs, each at a stricter level
    assert all(of_order[pair] >= conditions for pair, conditions in verdicts.items())
    assert of_order.keys() == {*map(tuple, np.argwhere(made.conditional).tolist())}
    for a, b in places[::3]:
        (alone,), two = (
            compare([Pair({}, groups[a], groups[b])], Options()),
            briefs([groups[a], groups[b]]),
        )
        pairs = order(two, 0.95)
        says = {"slower": (0, 1), "faster": (1, 0)}.get(alone.verdict.word)
        assert pairs.conditional.any() == (says is not None)
        if says:
            assert pairs.conditions.get(says, ()) == alone.verdict.conditions


def test_the_random_entries_carry_every_kind_of_condition() -> None:
    every = [order(briefs(api.summary(guise(n)).groups), 0.95) for n in range(12)]
    codes = {code for each in every for some in each.conditions.values() for code in some}
    assert codes >= {
        "constant_epochs", "unbalanced", "separate_sessions", "one_seed",
        "clock_start_estimated", "mixed_speeds",
    }  # fmt: skip
    assert any(each.faster.any() for each in every)


def entry_of(name: str, n: int, rng: np.random.Generator, *, rare: bool) -> SideNumbers:
    """Return runs of a mean of one, of three epochs or, in one of ten, four; or of 62 each."""
    epochs = np.where(rng.random(n) < 0.1, 4.0, 3.0) if rare else np.full(n, 62.0)
    times = epochs / (3.1 if rare else 62.0) * rng.lognormal(0, 0.0025, n)
    return SideNumbers(n, make_outcomes(times, progress=Epochs(epochs, 1.0)))


@pytest.mark.parametrize(("n", "fast"), [(3, 1.0), (5, 1.0), (5, 0.6), (10, 1.0)])
def test_intervals_of_ranks_hold_entries_that_are_alike_but_for_rare_long_runs(
    n: int, fast: float
) -> None:
    wrong, marked, led = 0, 0, 0
    for seed in range(40):
        rng = np.random.default_rng([seed, n])
        sides = [entry_of(f"{k}", n, rng, rare=k < 4) for k in range(8)]
        quick = sides[7].outcomes
        sides[7] = SideNumbers(n, make_outcomes(quick.times * fast, progress=quick.progress))
        made = order(sides, 0.95)
        wrong += bool(made.faster[:7].any())
        marked += bool(made.conditions)
        led += bool(made.faster[7, :7].all())
    assert wrong <= 3  # of 40, at 5 %
    assert marked > 10
    assert led == (0 if fast == 1.0 else 40)


def test_a_side_may_have_met_its_target_before_a_late_evaluation() -> None:
    table = runs({"a/1": around(12, 0.1), "b/2": around(10, 0.1, seed=1)})
    fast, slow = briefs(api.summary(table).groups)

    def shown(fast_share: float, slow_share: float) -> tuple[bool, bool]:
        """Return whether the first is shown to be faster, from either side of the pair."""
        x, y = (
            replace(side, design=Design(grids={"epochs": Grid(share, share)}))
            for side, share in ((fast, fast_share), (slow, slow_share))
        )
        every = order([x, y], 0.95).conditional, order([y, x], 0.95).conditional
        return bool(every[0][0, 1]), bool(every[1][1, 0])

    assert shown(0.3, 0.3) == (True, True)
    assert shown(0.3, 0.05) == (True, True)
    assert shown(0.05, 0.3) == (False, False)


def test_a_league_holds_the_entries_of_one_benchmark_and_size_in_the_order_of_means() -> None:
    sizes = {"a/1": 8, "b/2": 8, "c/3": 16}
    times = {"a/1": around(12, 0.1), "b/2": around(10, 0.1, seed=1), "c/3": around(5, 0.1, seed=2)}
    eight, sixteen = leagues(runs(times, sizes))
    assert (eight.size, sixteen.size) == ("8", "16")
    assert [entry.label for entry in eight.entries] == ["b/2", "a/1"]
    assert eight.ranks == (Rank(1, 1, 1), Rank(2, 2, 2))


def test_open_and_closed_entries_and_unlike_numbers_of_nodes_share_no_ranks() -> None:
    times = {f"s/{n}": around(10 + n, 0.1, seed=n) for n in range(6)}
    number = pl.col("entry").str.slice(2).cast(pl.Int64)
    table = runs(times).with_columns(
        division=pl.when(number == 0).then(pl.lit("Open")).otherwise(
            pl.when(number == 1).then(pl.lit("CLOSED")).otherwise(pl.lit("closed"))),
        nodes=pl.when(number == 5).then(2).when(number == 4).then(None).otherwise(1),
    )  # fmt: skip
    found = {each.title: [entry.label for entry in each.entries] for each in leagues(table)}
    assert found == {
        "digits closed, 8 accelerators on 1 node": ["s/1", "s/2", "s/3"],
        "digits closed, 8 accelerators on 2 nodes": ["s/5"],
        "digits closed, 8 accelerators": ["s/4"],
        "digits open, 8 accelerators on 1 node": ["s/0"],
    }
    assert len({(each.name, each.size) for each in leagues(table)}) == 4
    (one,) = leagues(table.filter(number.is_between(1, 3)))
    assert (one.title, one.name, one.size) == (
        "digits, closed division, 8 accelerators on 1 node", "digits", "8"
    )  # fmt: skip
    rows_of = api.rank(table).rows
    assert {(row["division"], row["nodes"]) for row in rows_of} == {
        ("open", 1), ("closed", 1), ("closed", 2), ("closed", None)
    }  # fmt: skip


SOME_TIED = {
    "a/1": around(10, 0.5), "b/2": around(10.1, 0.5, seed=1), "c/3": around(15, 0.1, seed=2),
    "d/4": [*around(12, 3.0, 4, seed=4), -50.0],
}  # fmt: skip
_BY_HOLM = "(95%, as `compare` judges, by Holm over"


@pytest.mark.parametrize(
    ("times", "claim", "tied", "headline"),
    [
        ({"a/1": around(12, 0.1), "b/2": around(10, 0.1, seed=1)},
         "b/2 is first of 2 on digits: 30.1 s, and shown to be the fastest",
         f"All ranks are told apart {_BY_HOLM} 1 pair).",
         "2 entries with 4 results on digits: 2 of 2 size classes have a clear winner"),
        (SOME_TIED, "a/1 is first of 4 on digits: 30.1 s, not told apart from ranks 2, 4",
         f"Ranks that cannot be told apart: 1 and 2; 3 and 4 {_BY_HOLM} 6 pairs).",
         "4 entries with 8 results on digits: none of 2 size classes has a clear winner"),
        ({"a/1": [10.0], "b/2": [20.0]},
         "a/1 is first of 2 on digits: 30.0 s, of too few runs to tell from chance",
         "Too few runs of each to tell any ranks apart.",
         "2 entries with 4 results on digits: too few runs of each to tell an order from chance"),
        ({"a/1": [10.0] * 3}, "a/1 takes 30.0 s on digits", "",
         "1 entry with 2 results on digits, each alone in its size class"),
        ({"a/1": [-10.0] * 3, "b/2": [-20.0] * 3}, "None of 6 runs on digits reached the target",
         "", "2 entries with 4 results on digits: no run reached the target"),
    ],
    ids=["all told apart", "some tied", "one run each", "alone", "nobody reached"],
)  # fmt: skip
def test_claims_say_who_leads_and_what_is_not_told_apart(
    times: dict[str, list[float]], claim: str, tied: str, headline: str
) -> None:
    (only,) = leagues(runs(times))
    assert league.claim(only) == claim
    assert league.ties_text(only) == tied
    assert league.headline((only, only)) == headline


def test_numbers_are_those_of_the_summary_with_failed_runs_paid_for() -> None:
    table = runs({"a/1": [*around(10, 0.2, 5), -12.0], "b/2": around(10, 0.2), "c/3": [-9.0] * 3})
    (only,) = leagues(table)
    rows_of = {row["entry"]: row for row in api.summary(table).rows}
    for entry in only.entries:
        row = rows_of[entry.label]
        assert (entry.side.n, entry.side.n_reached) == (row["n"], row["reached"])
        mean = row["ert_seconds"] if row["reached"] else None
        assert (entry.mean, entry.accelerator_seconds) == (mean, mean and 8 * mean)
        if entry.low is not None and entry.mean is not None and entry.high is not None:
            assert entry.low < entry.mean < entry.high
    assert [entry.label for entry in only.entries] == ["b/2", "a/1", "c/3"]
    assert rows_of["a/1"]["tta_mean_seconds"] < rows_of["a/1"]["ert_seconds"]


def test_entries_of_failures_at_unknown_times_have_no_mean_and_are_ordered_by_successes() -> None:
    times = {"a/1": [10.0] * 3 + [-12.0] * 3, "b/2": [11.0, 12.0, 13.0, -12.0], "c/3": [-9.0] * 2}
    failed = (pl.col("value") == 0.5).all().over("run_id")
    untimed = (pl.when(~failed).then(name).alias(name) for name in ("seconds", "run_seconds"))
    (only,) = leagues(runs(times).with_columns(untimed))
    assert [entry.label for entry in only.entries] == ["b/2", "a/1", "c/3"]
    assert {(entry.mean, entry.low, entry.high) for entry in only.entries} == {(None, None, None)}
    assert league.claim(only) == "6 of 12 runs on digits reached the target"


def test_a_mean_has_an_interval_from_three_runs_on_failed_ones_among_them() -> None:
    times = {"a/1": [10.0, 11.0], "b/2": [10.0, -12.0], "c/3": [10.0, 11.0, -12.0], "d/4": [10.0,
             11.0, 12.0]}  # fmt: skip
    (only,) = leagues(runs(times))
    known = {entry.label: (entry.low is not None, entry.high is not None) for entry in only.entries}
    neither, both = (False, False), (True, True)
    assert known == {"a/1": neither, "b/2": neither, "c/3": both, "d/4": both}


def test_of_many_entries_the_fastest_are_shown_and_the_others_counted() -> None:
    (only,) = leagues(runs({f"s/{n:02}": [10.0 + n, 10.1 + n] for n in range(45)}))
    assert (len(only.entries), only.left_out) == (league.MOST, 5)
    assert league.claim(only).startswith("s/00 is first of 45 on digits: 30.1 s")
    text = "45 entries with 90 results on digits: none of 2 size classes has a clear winner"
    assert league.headline((only, only)) == text
    assert league.not_separable(only, 7) == "not told apart from ranks 1 to 7, 9 to 40"
