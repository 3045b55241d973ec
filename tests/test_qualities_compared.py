"""Two sides at one budget: what is compared, what is said, and what cannot be."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats

from tests.made_curves import curve, evaluation, logs, of, side
from tests.test_cli import run
from tests.wild_tables import nanogpt, track_3
from ttastats import api, ingest
from ttastats.answers.compare.headline import lead_of_qualities
from ttastats.base.errors import TtastatsError
from ttastats.report.answer import Report
from ttastats.sides.options import Options
from ttastats.stats.results import Verdict
from ttastats.table import store

A = [3.20, 3.22, 3.19, 3.21, 3.20]
LOWER = [3.10, 3.12, 3.09, 3.11, 3.10]
LIKE_A = [3.21, 3.19, 3.22, 3.20, 3.21]


def report(a: pl.DataFrame, *others: pl.DataFrame, **asked: Any) -> Report:
    return api.compare(a, *others, **({"at_end": True} | asked))


def row(a: Sequence[float], b: Sequence[float], **asked: Any) -> dict[str, Any]:
    (found,) = report(side(a), side(b), **asked).rows
    return dict(found)


def codes(found: Report) -> list[str]:
    return [note.code for note in found.notes]


def note(found: Report, code: str) -> str:
    (text,) = [note.text for note in found.notes if note.code == code]
    return text


def test_a_lower_loss_is_better_and_a_higher_one_worse() -> None:
    ahead, back = row(A, LOWER), row(LOWER, A)
    assert (ahead["verdict"], back["verdict"]) == ("better", "worse")
    assert ahead["difference"] == pytest.approx(-back["difference"]) == pytest.approx(-0.1)
    assert ahead["difference_low"] == pytest.approx(-back["difference_high"])


def test_the_numbers_are_those_of_welch() -> None:
    found = row(A, LIKE_A)
    theirs = stats.ttest_ind(LIKE_A, A, equal_var=False)
    limits = theirs.confidence_interval()
    assert found["p_value"] == pytest.approx(theirs.pvalue)
    assert (found["difference_low"], found["difference_high"]) == pytest.approx(tuple(limits))
    assert found["verdict"] == "undecided"
    assert found["runs_needed"] > 5


def test_keys_that_scripts_rely_on() -> None:
    found = row(A, LOWER, target=["val_loss<=3.28"])
    assert found["estimand"] == "quality"
    expected = {
        "quality_a": 3.204, "quality_b": 3.104, "difference": -0.1, "seconds_a": 30.0,
        "seconds_b": 30.0, "speedup": 1.0, "speedup_low": 1.0, "speedup_high": 1.0,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert found["difference_low"] < -0.1 < found["difference_high"]
    assert found["p_value"] < 0.001
    assert found["p_target_a"] == pytest.approx(
        stats.ttest_1samp(A, 3.28, alternative="less").pvalue
    )
    assert (found["n_a"], found["missing_a"], found["at"]) == (5, 0, "at the end")


def test_a_margin_is_proposed_only_where_an_interval_could_lie_within_it() -> None:
    assert "--margin" in note(report(side(A), side(LIKE_A)), "undecided")
    assert "--margin" not in note(report(side(A[:1]), side(LIKE_A[:1])), "undecided")


def test_the_lead_has_the_tone_of_verdicts_that_agree() -> None:
    found = report(side(A), side(LOWER))
    assert lead_of_qualities(found, [Verdict.BETTER] * 2).tone == "good"
    assert lead_of_qualities(found, [Verdict.BETTER, Verdict.UNDECIDED]).tone == "plain"


def test_several_tables_are_each_held_against_the_first() -> None:
    found = report(side(A), side(LOWER), side(LIKE_A))
    assert [row["verdict"] for row in found.rows] == ["better", "undecided"]
    assert "B is better than A" in found.sentence
    assert "C is not significantly different from A" in found.sentence
    assert found.rows[0]["p_adjusted"] == pytest.approx(2 * found.rows[0]["p_value"])


def test_the_title_says_what_is_compared() -> None:
    (table,) = report(side(A), side(LOWER), at_end=False, at="step=250", best=True).tables
    assert "val_loss at step 250, best so far, lower is better" in table.title


def test_where_the_budget_is_a_time_it_is_told_how_far_runs_got() -> None:
    def paced(seconds: float) -> pl.DataFrame:
        return logs(
            [
                of(
                    *(evaluation(k, 5.0 - k, seconds=seconds * (k + 1)) for k in range(10)),
                )
                for _ in range(3)
            ]
        )

    (found,) = report(paced(20.0), paced(10.0), at_end=False, at="seconds=100").rows
    assert (found["axis"], found["seconds_a"], found["seconds_b"]) == ("steps", 500.0, 1000.0)
    (cost,) = report(
        paced(20.0), paced(10.0), at_end=False, at="step=500", unit="cost", price=36.0
    ).rows
    assert (cost["axis"], cost["seconds_a"], cost["speedup"]) == ("cost", 1.0, 2.0)


# ---------------------------------------------------------------------------------- runs without


def test_runs_that_ended_before_the_budget_are_counted_and_named() -> None:
    short = logs([curve(5.0, 4.0)])
    found = report(pl.concat([side(A), short]), side(LOWER), at_end=False, at="step=300")
    (numbers,) = found.rows
    assert (numbers["n_a"], numbers["missing_a"]) == (5, 1)
    assert short["source"][0] in note(found, "ended_before")
    assert "5/6 5" in str(found)


def test_ends_of_different_lengths_are_no_budget() -> None:
    found = report(pl.concat([side(A), logs([curve(5.0, 4.0)])]), side(LOWER))
    (numbers,) = found.rows
    assert (numbers["verdict"], numbers["why"]) == ("unavailable", "ends differ")
    text = note(found, "ends_differ")
    assert "A: 5 of 6 runs at 300 steps, the shortest at 200 steps" in text
    assert "--at step=200 is the largest budget that all reach" in text


def test_sides_of_two_lengths_are_compared_at_their_ends_and_that_is_said() -> None:
    shorter = logs([curve(5.0, end) for end in LOWER])
    found = report(side(A), shorter)
    assert found.rows[0]["verdict"] == "better"
    assert "A at 300 steps, B at 200 steps (--at step=200)" in note(found, "lengths_differ")


def test_one_run_a_side_is_an_estimate_without_an_interval() -> None:
    found = report(side(A[:1]), side(LOWER[:1]))
    (numbers,) = found.rows
    assert numbers["difference"] == pytest.approx(-0.1)
    assert (numbers["difference_low"], numbers["verdict"]) == (None, "undecided")
    assert "n=1 on both sides: no inference possible, 2 runs needed per side" in note(
        found, "one_run"
    )


def test_a_budget_nobody_reached_is_refused() -> None:
    with pytest.raises(TtastatsError, match="no run of A has a value at step 900") as error:
        report(side(A), side(LOWER), at_end=False, at="step=900")
    assert "5 ended before it" in error.value.what
    assert "--at step=300 is the largest budget that all reach" in (error.value.remedy or "")


def test_of_a_round_a_benchmark_with_several_metrics_is_left_out() -> None:
    def round_of(ends: Sequence[float]) -> pl.DataFrame:
        other = {"metric": "other", "target_value": 0.1}
        both = logs(
            [of(evaluation(0, end, target_value=3.0), evaluation(0, end, **other)) for end in ends]
        )
        return pl.concat([side(ends), both.with_columns(benchmark=pl.lit("two"))])

    found = report(round_of(A), round_of(LOWER))
    assert [row["benchmark"] for row in found.rows] == ["lm"]
    aside = [note.text for note in found.notes if note.code == "other_metric"]
    assert [text[:2] for text in aside] == ["A:", "B:"]
    assert all(
        "5 runs of entries that log other metrics, or several (select one with --metric)" in text
        for text in aside
    )
    only = {"where": ["benchmark=two"]}
    with pytest.raises(TtastatsError, match="two: several metrics"):
        report(round_of(A), round_of(LOWER), **only)


def test_runs_are_named_without_the_folder_they_share() -> None:
    short = logs([curve(5.0, 4.0), curve(5.5, 4.0)])
    names = pl.Series(["/data/a/x/1.txt", "/data/a/y/1.txt"])
    sources = pl.col("source").replace(short["source"].unique().sort(), names)
    found = report(
        pl.concat([side(A), short.with_columns(sources)]), side(LOWER), at_end=False, at="step=300"
    )
    assert "data/a/x/1.txt" not in note(found, "ended_before")
    assert note(found, "ended_before").endswith(": x/1.txt, y/1.txt.")


def test_a_metric_the_runs_lack_is_refused_with_the_nearest() -> None:
    with pytest.raises(TtastatsError, match="no benchmark logs") as error:
        report(side(A), side(LOWER), metric="val_los")
    assert "Nearest: val_loss" in (error.value.remedy or "")


def test_a_metric_without_a_budget_is_refused() -> None:
    with pytest.raises(TtastatsError, match="--metric needs a budget"):
        report(side(A), side(LOWER), at_end=False, metric="val_loss")


def test_judged_runs_have_no_curve_to_look_at() -> None:
    with pytest.raises(TtastatsError, match="this is a table of runs without evaluations"):
        report(api.run_table(side(A)), api.run_table(side(LOWER)))


@pytest.mark.parametrize("option", ["same_convergence", "epochs_fixed"])
def test_what_is_about_times_alone_is_refused(option: str) -> None:
    with pytest.raises(TtastatsError, match="applies to times to a target"):
        report(side(A), side(LOWER), options=Options(**{option: True}))


def test_the_deviation_of_a_summary_is_as_asked() -> None:
    (found,) = api.summary(side(A), at_end=True, ddof=0).rows
    assert found["quality_sd"] == pytest.approx(float(pl.Series(A).std(ddof=0)))


# ------------------------------------------------------------------------------------- the gate


@pytest.mark.parametrize(
    ("b", "fail_on", "require", "outcome"),
    [
        (LOWER, "worse:0.01", "not-worse:0.01", "passed"),
        (LIKE_A, "worse:0.05", "not-worse:0.05", "passed"),
        (LIKE_A, "worse:0.001", "", "undecided"),
        (LIKE_A, "", "not-worse:0.001", "failed"),
        ([end + 0.1 for end in A], "worse:0.05", "", "failed"),
        ([end + 0.1 for end in A], "worse:0.2", "not-worse:0.2", "passed"),
    ],
)
def test_a_job_fails_where_quality_is_lost(
    b: Sequence[float], fail_on: str, require: str, outcome: str
) -> None:
    found = report(side(A), side(b), fail_on=fail_on, require=require)
    assert found.rows[0]["gate"] == outcome
    assert found.gate is not None
    assert found.gate.passed == (outcome != "failed")


def test_of_many_benchmarks_one_that_is_worse_before_adjustment_does_not_fail_the_job() -> None:
    names = [f"lm_{number}" for number in range(8)]
    slightly_worse = [end + 0.018 for end in A]

    def job(benchmarks: Sequence[str]) -> Report:
        a, b = (
            pl.concat([side(ends, benchmark=name) for name, ends in zip(names, many, strict=True)])
            for many in ([A] * 8, [slightly_worse] + [LIKE_A] * 7)
        )
        only = pl.col("benchmark").is_in(benchmarks)
        return report(a.filter(only), b.filter(only), fail_on="worse:0.001")

    alone, many = job(names[:1]), job(names)
    assert alone.rows[0]["worse_by_low"] == many.rows[0]["worse_by_low"] > 0.001
    assert (alone.rows[0]["verdict"], alone.rows[0]["gate"]) == ("worse", "failed")
    assert (many.rows[0]["verdict"], many.rows[0]["gate"]) == ("undecided", "undecided")


def test_of_an_accuracy_less_is_worse() -> None:
    def accuracies(values: Sequence[float]) -> pl.DataFrame:
        one = {"metric": "acc", "higher_is_better": True}
        return logs(
            [of(evaluation(0, value, seconds=10.0 + n, **one)) for n, value in enumerate(values)]
        )

    found = report(accuracies(A), accuracies(LOWER), fail_on="worse:0.05").gate
    assert found is not None
    (failure,) = found.failures
    assert failure.code == "worse"
    assert failure.text.startswith("B is worse by at least 0.08")


def test_what_cannot_be_judged_fails_the_job() -> None:
    lost = pl.concat([side(A), side(A, benchmark="gone")])
    failing = pl.concat([side(LOWER), logs([curve(5.0, 4.0, math.nan)])])
    for a, b, code in ((lost, side(LOWER), "lost"), (side(A), failing, "not_judged")):
        found = report(a, b, require="not-worse:0.1").gate
        assert found is not None
        assert [failure.code for failure in found.failures] == [code]


def test_the_bounds_of_the_gate_are_one_sided() -> None:
    found = row(A, LIKE_A)
    theirs = stats.ttest_ind(LIKE_A, A, equal_var=False).confidence_interval(0.9)
    assert (found["worse_by_low"], found["worse_by_high"]) == pytest.approx(tuple(theirs))


# ------------------------------------------------------------------------------------- proposed


def test_fixed_lengths_are_recognised_where_runs_fail_by_a_little() -> None:
    asked = {"at_end": False, "target": ["val_loss<=3.20"]}
    found = report(side(A), side(LOWER), **asked)
    text = note(found, "fixed_length")
    assert (
        "all runs have the same length (300 steps), and 2 of 10 runs did not reach the target"
    ) in text
    assert "--at-end" in text
    stopped = logs([*(curve(5.0, 4.0, end) for end in A[1:]), curve(5.0, 3.1)])
    assert "fixed_length" not in codes(report(stopped, side(LOWER), **asked))
    assert "fixed_length" not in codes(report(side(A), side(LOWER), at_end=False, target=["4.5"]))


# ---------------------------------------------------------------------------------- on the screen


@pytest.mark.real
def test_a_record_comes_out_as_its_authors_state_it(wild: Path, tmp_path: Path) -> None:
    truth = json.loads((wild / "truth.json").read_text("utf-8"))
    stated = next(one for one in truth if one["setup"].startswith("record 89"))
    before = next(one for one in truth if one["setup"].startswith("record 88"))
    theirs, old = stated["stated_by_authors"], before["stated_by_authors"]
    done = run("compare", *nanogpt(wild, tmp_path), "--at-end", "-f", "json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["rows"]
    assert found["quality_a"] == pytest.approx(old["mean_val_loss"], abs=1e-9)
    assert found["quality_b"] == pytest.approx(theirs["mean_val_loss"], abs=1e-9)
    assert (found["sd_a"], found["sd_b"]) == pytest.approx((old["sd"], theirs["sd"]), abs=1e-9)
    assert found["p_target_a"] == pytest.approx(old["p"], rel=1e-7)
    assert found["p_target_b"] == pytest.approx(theirs["p"], rel=1e-6)
    assert found["p_value"] == pytest.approx(theirs["welch_p_loss"], abs=1e-7)
    assert found["seconds_a"] == pytest.approx(old["mean_train_time"], abs=1e-6)
    assert found["seconds_b"] == pytest.approx(theirs["mean_train_time"], abs=1e-6)
    assert found["speedup"] == pytest.approx(theirs["speedup"], abs=1e-8)
    assert found["p_speedup"] == pytest.approx(theirs["welch_p_time"], rel=0.01)
    assert (found["speedup_low"], found["speedup_high"]) == pytest.approx(
        (1.0116, 1.0146), abs=1e-4
    )
    assert (found["verdict"], found["n_a"], found["n_b"]) == ("undecided", 13, 13)


@pytest.mark.real
def test_a_stated_accuracy_is_the_best_epoch_and_not_the_last(wild: Path, tmp_path: Path) -> None:
    truth = {one["setup"]: one for one in json.loads((wild / "truth.json").read_text("utf-8"))}
    table = tmp_path / "repvit.parquet"
    ingest([wild / "deit-jsonl"], table, workers=1)

    def accuracies(**asked: Any) -> dict[str, float]:
        rows = api.summary(table, metric="test_acc1", by=["source"], at_end=True, **asked).rows
        return {Path(row["source"]).stem: row["quality_mean"] for row in rows}

    best, last = accuracies(best=True), accuracies()
    assert set(best) == set(last) == {"repvit_m0_9_distill_300e", "repvit_m0_9_distill_450e"}
    for name in best:
        stated = truth[name]["stated_by_authors"]["top1"]
        (run_of,) = truth[name]["runs"]
        assert round(best[name], 1) == stated != round(last[name], 1)
        assert (best[name], last[name]) == pytest.approx((run_of["best"], run_of["final"]))


@pytest.mark.real
def test_twenty_runs_at_a_step(wild: Path, tmp_path: Path) -> None:
    (row,) = api.summary(track_3(wild, tmp_path), at="step=3375").rows
    assert (row["n"], row["quality_mean"]) == (20, pytest.approx(3.278929))


def test_the_command_as_a_user_meets_it(tmp_path: Path) -> None:
    files = []
    for name, ends in (("a", A), ("b", LOWER)):
        files.append(tmp_path / f"{name}.parquet")
        store.write(side(ends, entry=name), files[-1])
    done = run("compare", *files, "--at-end", "--label", "old", "--label", "new")
    assert done.returncode == 0, done.stderr
    assert "B better" in done.stdout
    assert "new is better than old" in done.stdout
    refused = run("compare", *files, "--at", "3325")
    assert refused.returncode == 2
    assert "Write --at-end, --at step=3325" in refused.stderr
    summary = run("summary", files[0], "--at", "step=200", "-f", "json")
    (numbers,) = json.loads(summary.stdout)["rows"]
    assert (numbers["quality_mean"], numbers["n"], numbers["at"]) == (4.0, 5, "at step 200")
    runs = json.loads(run("runs", files[0], "--at-end", "-f", "json").stdout)["rows"]
    assert sorted(one["quality"] for one in runs) == sorted(A)
