"""Are runs a record by the rules of a contest, and does a check notice what is wrong with them?"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace
from scipy import stats

import ttastats as tta
from tests import programs
from tests.conftest import ROOT
from tests.made_curves import curve, evaluation, logs, of
from tests.test_cli import run
from tests.wild_tables import nanochat, nanogpt, parameter_golf, track_3
from ttastats.answers.record import record_checks
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Run
from ttastats.report.answer import Report
from ttastats.table import store

A = [3.2780, 3.2790, 3.2770, 3.2785, 3.2775]
B = [3.2782, 3.2788, 3.2772, 3.2786, 3.2774]
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def ended(value: float, seconds: float, steps: int = 300, **more: Any) -> Run:
    first = evaluation(0, 5.0 + seconds / 1e4 + value)
    return of(first, evaluation(1, value, seconds=seconds, step=steps), **more)


def side(ends: Sequence[float], seconds: float, **more: Any) -> list[Run]:
    return [ended(end, seconds + number / 10, **more) for number, end in enumerate(ends)]


def judged(
    a: Sequence[Run], b: Sequence[Run], rules: str = "nanogpt-track-1", **more: Any
) -> Report:
    return tta.judge_record(logs(a), logs(b), rules=rules, **more)


def result(found: Report, check: str) -> str:
    (row,) = found.rows
    return str(dict(one.split(": ") for one in row["checks"])[check])


def verdict(found: Report) -> str:
    (row,) = found.rows
    return str(row["verdict"])


# ------------------------------------------------------------------------------------- verdicts


def test_a_record_meets_the_loss_and_takes_less_time() -> None:
    found = judged(side(A, 80.0), side(B, 70.0))
    (row,) = found.rows
    theirs = stats.ttest_1samp(B, 3.28, alternative="less")
    assert (row["verdict"], row["reasons"], row["n_a"], row["n_b"]) == ("record", [], 5, 5)
    assert row["quality_p"] == pytest.approx(theirs.pvalue)
    assert row["seconds_ratio"] == pytest.approx(80.2 / 70.2)
    assert row["seconds_low"] < row["seconds_ratio"] < row["seconds_high"]
    assert found.sentence.startswith("lm: B is a record by the rules of nanogpt-track-1")


def test_runs_of_two_machines_in_an_entry_are_not_one_setup() -> None:
    fast, slow = side(B, 70.0), side([B[0] + 0.0001, B[1] + 0.0001], 140.0)
    found = judged(side(A, 300.0), [*fast, *slow])
    assert (verdict(found), result(found, "one setup")) == ("undecided", "failed")
    assert "B mixes two speeds: 5 runs of about 234 ms and 2 of about 467 ms" in found.sentence


def of_times(*times: float, evaluations: int = 2) -> pl.DataFrame:
    """Return runs that took these seconds and log neither steps, samples nor epochs."""
    runs = [
        of(
            *(
                evaluation(number, 3.3, seconds=10.0 + number, step=None, epoch=None)
                for number in range(evaluations - 1)
            ),
            evaluation(evaluations, B[place], seconds=time, step=None, epoch=None),
        )
        for place, time in enumerate(times)
    ]
    return logs(runs)


def test_an_interval_of_times_that_reaches_0_leaves_the_ratio_without_an_upper_limit() -> None:
    found = tta.judge_record(
        of_times(60, 75), rules="plain", target=["val_loss<=3.28"], against=100
    )
    (row,) = found.rows
    assert (row["verdict"], result(found, "faster")) == ("undecided", "not known")
    assert row["seconds_ratio"] == pytest.approx(1.4815, abs=1e-4)
    assert (row["seconds_low"], row["seconds_high"]) == (pytest.approx(0.6143, abs=1e-4), math.inf)
    assert "ratio 1.481 [0.614, no upper limit]" in str(found)
    slower = tta.judge_record(
        of_times(60, 75), rules="plain", target=["val_loss<=3.28"], against=1.0
    )
    assert result(slower, "faster") == "not known"


def test_times_that_vary_do_not_show_that_runs_stop_differently() -> None:
    def stop(runs: pl.DataFrame) -> str:
        asked = {"rules": "plain", "target": ["val_loss<=3.28"], "against": 100.0}
        return result(tta.judge_record(runs, **asked), "same stop")

    assert stop(of_times(60, 75)) == "passed"  # two evaluations each
    assert stop(of_times(60, 75, evaluations=1)) == "not known"


def test_slower_runs_are_no_record() -> None:
    found = judged(side(A, 70.0), side(B, 80.0))
    assert (verdict(found), result(found, "faster")) == ("no record", "failed")


def test_a_worse_loss_is_no_record_and_one_not_shown_leaves_it_undecided() -> None:
    worse = judged(side(A, 80.0), side([one + 0.01 for one in B], 70.0))
    assert (verdict(worse), result(worse, "quality")) == ("no record", "failed")
    hardly = judged(side(A, 80.0), side([3.27, 3.289, 3.28, 3.279], 70.0))
    assert (verdict(hardly), result(hardly, "quality")) == ("undecided", "not known")
    assert "would show it" in hardly.rows[0]["reasons"][0]


def test_times_that_may_be_equal_leave_it_undecided() -> None:
    found = judged(side(A, 80.0), side(B, 79.95))
    assert (verdict(found), result(found, "faster")) == ("undecided", "not known")


def test_without_a_baseline_nothing_is_a_record_unless_its_number_is_stated() -> None:
    alone = tta.judge_record(logs(side(B, 70.0)), rules="nanogpt-track-1")
    assert (verdict(alone), alone.rows[0]["n_a"]) == ("undecided", None)
    stated = tta.judge_record(logs(side(B, 70.0)), rules="nanogpt-track-1", against=80.0)
    assert (verdict(stated), result(stated, "machines")) == ("record", "not known")
    assert stated.rows[0]["seconds_ratio"] == pytest.approx(80.0 / 70.2)
    told = [replace(one, hardware="H100") for one in side(B, 70.0)]
    found = tta.judge_record(logs(told), rules="nanogpt-track-1", against=80.0)
    assert result(found, "machines") == "not known"  # that of the baseline is not
    slower = tta.judge_record(logs(side(B, 70.0)), rules="nanogpt-track-1", against=60.0)
    assert verdict(slower) == "no record"


# --------------------------------------------------------------------------------------- checks


def test_copies_and_repeated_seeds_leave_it_undecided() -> None:
    runs = side(B, 70.0)
    table = logs(runs)
    copies = table.with_columns(source=pl.col("source") + "/copy")
    found = tta.judge_record(logs(side(A, 80.0)), pl.concat([table, copies]), rules="plain",
                             target=["val_loss<=3.28"])  # fmt: skip
    assert (verdict(found), result(found, "copies")) == ("undecided", "failed")
    assert found.rows[0]["n_b"] == 5
    seeded = [replace(one, seed=number // 2) for number, one in enumerate(runs)]
    again = judged(side(A, 80.0), seeded)
    assert (verdict(again), result(again, "seeds")) == ("undecided", "failed")
    own = [[replace(one, seed=n) for n, one in enumerate(each)] for each in (side(A, 80.0), runs)]
    assert result(judged(*own), "seeds") == "passed"


def test_a_run_of_the_baseline_among_the_new_ones_is_found(tmp_path: Path) -> None:
    a, b = logs(side(A, 80.0)), logs(side(B, 70.0))
    again = a.filter(pl.col("source") == a["source"][0])
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, table in zip(files, (a, pl.concat([b, again])), strict=True):
        store.write(table, path)
    found = tta.judge_record(*files, rules="nanogpt-track-1")
    assert result(found, "copies") == "failed"
    assert "1 run of A also in B" in str(found)
    with pytest.raises(TtastatsError, match="contain the same runs"):
        tta.judge_record(files[0], files[0], rules="nanogpt-track-1")


def test_machines_must_be_one_where_time_counts() -> None:
    def on(hardware: str, runs: list[Run]) -> list[Run]:
        return [replace(one, hardware=hardware, accelerators=8) for one in runs]

    same = judged(on("H100", side(A, 80.0)), on("H100", side(B, 70.0)))
    assert (verdict(same), result(same, "machines")) == ("record", "passed")
    apart = judged(on("A100", side(A, 80.0)), on("H100", side(B, 70.0)))
    assert (verdict(apart), result(apart, "machines")) == ("undecided", "failed")
    mixed = on("H100", side(B[:3], 70.0)) + on("A100", side(B[3:], 70.4))
    assert "B mixes 8 x A100, 8 x H100" in judged(on("H100", side(A, 80.0)), mixed).sentence
    steps = judged(
        on("A100", side(A, 80.0)), on("H100", side(B, 70.0, steps=290)), "nanogpt-track-3"
    )
    assert (verdict(steps), result(steps, "machines")) == ("record", "failed")


def test_the_order_of_runs_is_told_and_decides_nothing() -> None:
    def at(hours: Sequence[int], runs: list[Run]) -> list[Run]:
        return [
            replace(one, started_at=MONDAY + timedelta(hours=hour))
            for one, hour in zip(runs, hours, strict=True)
        ]

    turns = judged(at([0, 2, 4, 6, 8], side(A, 80.0)), at([1, 3, 5, 7, 9], side(B, 70.0)))
    assert (verdict(turns), result(turns, "order")) == ("record", "passed")
    assert "interleaved, in 10 turns" in str(turns)
    apart = judged(at(range(5), side(A, 80.0)), at(range(5, 10), side(B, 70.0)))
    assert (verdict(apart), result(apart, "order")) == ("record", "failed")
    assert "But order: all runs of one side started before the first of the other" in apart.sentence


def test_runs_that_stop_at_different_steps_leave_it_undecided() -> None:
    ragged = [*side(B[:4], 70.0), ended(B[4], 70.4, steps=310)]
    found = judged(side(A, 80.0), ragged)
    assert (verdict(found), result(found, "same stop")) == ("undecided", "failed")
    assert "B 300 steps to 310 steps" in str(found)


def test_a_run_without_a_value_leaves_it_undecided() -> None:
    found = judged(side(A, 80.0), [*side(B, 70.0), ended(math.nan, 70.9)])
    assert (verdict(found), result(found, "runs")) == ("undecided", "failed")
    assert "1 of B without a value" in str(found)


# ---------------------------------------------------------------------------------------- rules


def test_track_3_stops_at_the_earliest_step_at_which_its_test_holds() -> None:
    runs = [curve(4.0, 3.279, 3.274, 3.27 + number / 1e4) for number in range(4)]
    found = tta.judge_record(logs(runs), rules="nanogpt-track-3", against=350)
    (row,) = found.rows
    assert (row["steps_b"], row["quality_b"], row["verdict"]) == (
        300,
        pytest.approx(3.274),
        "record",
    )
    assert row["quality_p"] == pytest.approx(stats.norm.sf(0.006 * 2 / 0.0013))
    slower = tta.judge_record(logs(runs), rules="nanogpt-track-3", against=300)
    assert verdict(slower) == "no record"
    rare = of(evaluation(0, 4.5), evaluation(3, 3.27))  # was not evaluated at step 300
    later = tta.judge_record(logs([*runs, rare]), rules="nanogpt-track-3", against=450)
    assert (later.rows[0]["steps_b"], verdict(later)) == (400, "record")


@pytest.mark.parametrize(
    ("mean", "n", "enough"), [(3.276, 1, True), (3.278, 4, True), (3.2781, 4, False)]
)
def test_track_3_asks_for_a_margin_that_shrinks_with_the_runs(
    mean: float, n: int, enough: bool
) -> None:
    runs = [ended(mean, 70.0 + number) for number in range(n)]
    found = tta.judge_record(logs(runs), rules="nanogpt-track-3", against=350)
    assert (verdict(found) == "record") == enough


def test_what_a_step_is_worth_sets_two_results_of_track_3_against_each_other() -> None:
    a = [ended(3.2788, 70.0 + number, steps=3375) for number in range(20)]
    b = [ended(3.2790, 60.0 + number, steps=3325) for number in range(20)]
    found = judged(a, b, "nanogpt-track-3")
    assert result(found, "pairwise") == "passed"
    assert "0.0065, at least 0.004" in str(found)  # README of track 3: 0.00648 of 12 against 6
    closer = judged(a, [ended(3.2790, 60.0 + n, steps=3350) for n in range(20)], "nanogpt-track-3")
    assert (result(closer, "pairwise"), verdict(closer)) == ("not known", "record")


def test_parameter_golf_asks_for_a_margin_and_for_ten_minutes() -> None:
    a, b = [1.10, 1.1004, 1.1002], [1.08, 1.0804, 1.0802]
    found = judged(side(a, 599.0), side(b, 599.1), "parameter-golf", metric="val_loss")
    (row,) = found.rows
    gap = stats.ttest_ind([one - 0.0072135 for one in a], b, equal_var=False, alternative="greater")
    assert (row["verdict"], row["quality_p"]) == ("record", pytest.approx(gap.pvalue))
    close = judged(side(a, 599.0), side([one - 0.007 for one in a], 598.0), "parameter-golf",
                   metric="val_loss")  # fmt: skip
    assert verdict(close) == "no record"
    for seconds in (599.85, 600.2, 601.0):  # the longest run takes 0.2 s more
        long = judged(side(a, 599.0), side(b, seconds), "parameter-golf", metric="val_loss")
        assert (verdict(long), result(long, "time")) == ("no record", "failed")
    assert "the longest run of B took 600.05 s; under 600 s is required" in str(
        judged(side(a, 599.0), side(b, 599.85), "parameter-golf", metric="val_loss")
    )


def test_a_target_of_the_user_replaces_that_of_the_rules() -> None:
    assert (
        verdict(judged(side(A, 80.0), side(B, 70.0), "plain", target=["val_loss<=3.279"]))
        == "record"
    )
    assert verdict(judged(side(A, 80.0), side(B, 70.0), target=["val_loss<=3.27"])) == "no record"


def test_the_direction_is_that_of_the_metric_where_the_rules_do_not_name_it() -> None:
    sides = side(A, 80.0), side(B, 70.0)
    for target in ("3.28", "val_loss=3.28", "val_loss<=3.28"):
        assert verdict(judged(*sides, "plain", target=[target])) == "record"
        assert (
            verdict(judged(*sides, "airbench", metric="val_loss", target=["val_loss=3.28"]))
            == "record"
        )
    assert verdict(judged(*sides, "plain", target=["val_loss<=3.27"])) == "no record"
    assert verdict(judged(*sides, "plain", target=["val_loss>=3.27"])) == "record"
    rising = [
        logs(runs).with_columns(metric=pl.lit("accuracy"), higher_is_better=pl.lit(True))
        for runs in sides
    ]
    assert verdict(tta.judge_record(*rising, rules="plain", target=["3.27"])) == "record"
    assert verdict(tta.judge_record(*rising, rules="plain", target=["3.29"])) == "no record"


def test_runs_that_were_broken_off_leave_it_undecided() -> None:
    broken = replace(ended(3.2779, 70.9), run_status="stopped")
    found = judged(side(A, 80.0), [*side(B, 70.0), broken])
    assert (verdict(found), result(found, "runs")) == ("undecided", "failed")


def studies(times: Sequence[Sequence[float]]) -> pl.DataFrame:
    """Return studies of trials that reach the target after these times, or never if infinite."""
    runs, fields = [], []
    for study, trials in enumerate(times):
        for time in trials:
            runs.append(ended(3.27 if math.isfinite(time) else 3.5, min(time, 999.0) + study / 100))
            fields.append(json.dumps({"study": str(study)}))
    table = logs(runs).with_columns(target_value=pl.lit(3.28))
    told = dict(zip(table["source"].unique(maintain_order=True), fields, strict=True))
    return table.with_columns(extra=pl.col("source").replace_strict(told))


def test_algoperf_takes_the_best_trial_of_a_study_and_the_median_of_studies() -> None:
    slow = [950.0, 960.0, 970.0]
    a = studies([[900.0, 800.0, *slow], [700.0, math.inf, *slow], [850.0, 860.0, *slow]])
    b = studies([[600.0, 100.0, *slow], [500.0, 300.0, *slow], [math.inf, 650.0, *slow]])
    found = tta.judge_record(a, b, rules="algoperf")
    (row,) = found.rows
    assert (row["n_a"], row["n_b"], row["seconds_a"]) == (3, 3, pytest.approx(800.0))
    assert row["seconds_b"] == pytest.approx(300.01)
    assert row["seconds_ratio"] == pytest.approx(800 / 300.01)
    assert row["verdict"] == "record"  # every study of B before every study of A: p 0.05
    assert verdict(tta.judge_record(b, a, rules="algoperf")) == "no record"


@pytest.mark.parametrize(("a", "b"), [(5, 20), (20, 5), (2, 2), (5, 4)])
def test_studies_of_other_numbers_of_trials_have_no_verdict(a: int, b: int) -> None:
    """The best of 20 trials is faster than the best of 5 of the same algorithm."""
    sides = [
        studies([[start + 10.0 * trial for trial in range(n)]] * 3)
        for n, start in ((a, 500.0), (b, 300.0))
    ]
    for first, second in (sides, sides[::-1]):
        found = tta.judge_record(first, second, rules="algoperf")
        assert (verdict(found), result(found, "trials")) == ("undecided", "failed")
        assert result(found, "faster") == "not known"


def test_studies_that_overlap_or_fail_are_no_record() -> None:
    a = studies([[800.0], [700.0], [850.0]])
    assert (
        verdict(tta.judge_record(a, studies([[600.0], [650.0], [720.0]]), rules="algoperf"))
        == "undecided"
    )
    never = studies([[math.inf], [math.inf], [200.0]])
    assert verdict(tta.judge_record(a, never, rules="algoperf")) == "no record"


def test_rules_are_complete_and_have_a_source() -> None:
    assert list(record_checks.known()) == [
        "nanogpt-track-1", "nanogpt-track-2", "nanogpt-track-3", "parameter-golf", "nanochat",
        "airbench", "algoperf", "plain",
    ]  # fmt: skip
    for one in record_checks.known().values():
        assert one.source
        assert one.title
        assert one.read or one.name == "plain"
        assert (one.target is None) == (one.name in {"parameter-golf", "algoperf", "plain"})
    listed = run("record", "--rules", "list")
    assert listed.returncode == 0
    assert all(name in listed.stdout for name in record_checks.known())


# ------------------------------------------------------------------------------------ bad input


def refused(*tables: pl.DataFrame, **asked: Any) -> str:
    with pytest.raises(TtastatsError) as error:
        tta.judge_record(*tables, **asked)
    return str(error.value)


def test_bad_input_is_a_clear_sentence() -> None:
    a, b = logs(side(A, 80.0)), logs(side(B, 70.0))
    assert "Nearest: nanogpt-track-1" in refused(a, b, rules="nanogpt-track1")
    assert "do not log the quality that nanochat judges" in refused(a, b, rules="nanochat")
    assert "They log: val_loss" in refused(a, b, rules="nanochat")
    assert "B has 1 run with a value" in refused(
        a, logs(side(B[:1], 70.0)), rules="nanogpt-track-1"
    )
    assert "A has 1 run with a value" in refused(
        logs(side(A[:1], 80.0)), b, rules="nanogpt-track-1"
    )
    assert "on both sides" in refused(a, a, rules="nanogpt-track-1")
    assert "the runs have no target" in refused(a, b, rules="plain")
    assert "their study" in refused(a.with_columns(target_value=pl.lit(3.28)), rules="algoperf")
    assert "both a baseline table and --against" in refused(a, b, rules="plain", against=3.0)
    assert "no common benchmark" in refused(
        a, logs(side(B, 70.0, benchmark="other")), rules="nanogpt-track-1"
    )


def test_exit_codes(tmp_path: Path) -> None:
    a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
    for path, runs in ((a, side(A, 80.0)), (b, side(B, 70.0))):
        store.write(logs(runs), path)
    assert run("record", a, b, "--rules", "nanogpt-track-1").returncode == 0
    assert run("record", b, a, "--rules", "nanogpt-track-1").returncode == 3
    assert run("record", a, b, "--rules", "nanochat").returncode == 2
    assert run("record").returncode == 2


# --------------------------------------------------------------------------- published results


def of_files(*words: str | Path) -> dict[str, Any]:
    done = run("record", *words, "-f", "json")
    assert done.returncode in {0, 3}, done.stderr
    (found,) = json.loads(done.stdout)["rows"]
    assert (done.returncode == 0) == (found["verdict"] == "record")
    return dict(found)


@pytest.mark.real
def test_record_89_of_the_nanogpt_speedrun_as_its_authors_state_it(
    wild: Path, tmp_path: Path
) -> None:
    found = of_files(*nanogpt(wild, tmp_path), "--rules", "nanogpt-track-1")
    stated = json.loads((wild / "truth.json").read_text("utf-8"))[1]["stated_by_authors"]
    assert (found["verdict"], found["n_a"], found["n_b"]) == ("record", 13, 13)
    assert found["quality_a"] == pytest.approx(3.2782461538)
    assert found["quality_b"] == pytest.approx(stated["mean_val_loss"])
    assert found["quality_p"] == pytest.approx(stated["p"], rel=1e-6)
    assert found["seconds_ratio"] == pytest.approx(stated["speedup"], abs=1e-8)
    assert found["seconds_low"] == pytest.approx(1.01164, abs=1e-5)
    assert found["seconds_high"] == pytest.approx(1.01456, abs=1e-5)
    assert found["seconds_p"] == pytest.approx(stated["welch_p_time"], rel=0.01)
    assert found["not_known"] == ["seeds", "machines", "order"]


@pytest.mark.real
def test_result_6_of_track_3_by_its_written_rule(wild: Path, tmp_path: Path) -> None:
    found = of_files(track_3(wild, tmp_path), "--rules", "nanogpt-track-3", "--against", "3500")
    assert (found["verdict"], found["n_b"], found["steps_b"]) == ("record", 20, 3375)
    assert found["quality_b"] == pytest.approx(3.278929)
    assert found["quality_p"] == pytest.approx(stats.norm.sf(0.004789657608 / 0.0013))


@pytest.mark.real
def test_twenty_seeds_of_nanochat_are_no_record(wild: Path, tmp_path: Path) -> None:
    found = of_files(nanochat(wild, tmp_path), "--rules", "nanochat", "--against", "5940")
    assert (found["verdict"], found["n_b"]) == ("no record", 20)
    assert found["quality_b"] == pytest.approx(0.238905)


@pytest.mark.real
def test_three_seeds_of_parameter_golf_beat_the_record_before(wild: Path, tmp_path: Path) -> None:
    table = parameter_golf(wild, tmp_path)
    found = of_files(table, "--rules", "parameter-golf", "--against", "1.1147")
    assert (found["verdict"], found["n_b"]) == ("record", 3)
    assert found["quality_b"] == pytest.approx(1.081002877)
    assert {"seeds: passed", "time: passed"} <= set(found["checks"])
    seeds = pl.Series([1.08079352, 1.08103103, 1.08118408])
    theirs = stats.ttest_1samp(seeds, 1.1147 - 0.0072135, alternative="less")
    assert found["quality_p"] == pytest.approx(theirs.pvalue, rel=0.01)
    assert (
        of_files(table, "--rules", "parameter-golf", "--against", "1.085")["verdict"] == "no record"
    )


@pytest.mark.real
def test_medians_of_studies_of_algoperf(
    wild: Path, ingested_round: Callable[[str], tta.Account]
) -> None:
    table = ingested_round("wild").output
    asked = ["source=*/algoperf/*", "entry=baseline", "benchmark=*"]
    found = tta.judge_record(table, rules="algoperf", where=asked)
    medians = {row["benchmark"]: row["seconds_b"] for row in found.rows}
    checked = 0
    for setup in json.loads((wild / "truth.json").read_text("utf-8")):
        if setup["kind"] == "algoperf":
            benchmark = setup["setup"].rpartition(" ")[2]
            theirs = [float(one) for one in setup["check"]["best_trial_tta_per_study"]]
            assert medians[benchmark] == pytest.approx(statistics.median(theirs), abs=1e-5)
            checked += 1
    assert checked == len(medians) == 8


@pytest.mark.real
def test_the_page_of_all_records_has_a_line_for_each(wild: Path, tmp_path: Path) -> None:
    example = ROOT / "examples" / "nanogpt_records"
    if not example.exists():
        pytest.skip("an installed copy has no examples")
    page = tmp_path / "audit.md"
    done = programs.python(example, wild / "modded-nanogpt", "-o", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text("utf-8")
    folder = "2026-07-17_FP8DownProjection"
    assert f"| {folder}/this_pr | 13 | 3.2784 | 0.00067 | 1,390 | 79.7 s | record |" in text
    assert f"| {folder}/baseline | 13 | 3.2782 | 0.0043 | 1,390 | 80.7 s | loss shown; no" in text
    assert "| 20 | 3.2789 | 0.00011 | 3,375 | 495.8 s | loss shown; no baseline |" in text
    assert text.count("\n## ") == 3
