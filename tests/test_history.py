"""The history of a setup: the nights and commits of its changes, their part, and the gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.accepted import in_full
from tests.made_nights import nights
from tests.test_cli import run
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.report.answer import Report
from ttastats.table import store

FAILED = (52, 54, 55, 56, 57, 58, 59)


@pytest.fixture(scope="module")
def changed() -> pl.DataFrame:
    """Return a slower step from night 31, worse learning from 46, and failures from 53 on."""
    return nights(
        60,
        lambda night: 60 * (1.02 if night >= 30 else 1),
        lambda night: 10 * (1.15 if night >= 45 else 1),
        lambda night: 2 * (night in FAILED),
    )


def of(report: Report, part: str) -> list[dict[str, Any]]:
    return [dict(row) for row in report.rows if row["part"] == part]


def test_three_changes_are_told_by_part_night_and_commit(changed: pl.DataFrame) -> None:
    report = api.history(changed)
    _, speed = of(report, "time per epoch")
    assert (speed["after_night"], speed["by_night"]) == ("2026-01-30", "2026-01-31")
    assert speed["commits"] == ["c031"]
    assert speed["size_low"] < 0.02 < speed["size_high"]
    _, epochs = of(report, "epochs")
    assert epochs["commits"] == ["c046"]
    assert epochs["size_low"] < 0.15 < epochs["size_high"]
    calm, failing = of(report, "failures")
    assert (calm["mean"], failing["mean"]) == (0, pytest.approx(7 / 8))
    assert "c053" in failing["commits"]
    assert failing["run_next"] == "c052"
    assert [row["size"] for row in of(report, "time-to-accuracy")[1:]] == [
        speed["size"], pytest.approx(epochs["size"])
    ]  # fmt: skip
    text = report.sentence
    assert text.startswith("3 changes in 60 nights. Time per epoch: +1.9%")
    assert "after 2026-01-30, by 2026-01-31 (commit c031)" in text
    assert text.endswith("stays unseen for 20 nights.")


def test_changes_of_both_parts_in_one_night_are_one_of_the_time() -> None:
    report = api.history(
        nights(
            60,
            lambda night: 60 * (1.02 if night >= 15 else 1) * (1.05 if night >= 40 else 1),
            lambda night: 10 * (1.3 if night >= 40 else 1),
        )
    )
    (_, first, second), (_, epochs) = (of(report, part) for part in ("time per epoch", "epochs"))
    both = (1 + second["size"]) * (1 + epochs["size"]) - 1
    assert [row["size"] for row in of(report, "time-to-accuracy")[1:]] == [
        pytest.approx(first["size"]), pytest.approx(both),
    ]  # fmt: skip


def test_an_unchanged_history_says_what_would_have_stayed_unseen() -> None:
    report = api.history(nights(60))
    assert [row["change"] for row in report.rows] == [None] * 4
    speed, epochs = (of(report, part)[0] for part in ("time per epoch", "epochs"))
    assert 0.002 < speed["unseen"] < 0.01
    assert 0.02 < epochs["unseen"] < 0.05
    assert report.sentence.startswith("No change in 60 nights. With this noise, a change under 0.")


def test_few_nights_are_no_error_and_pass_the_gate_undecided() -> None:
    report = api.history(nights(9), fail_on="slower:2%")
    assert report.sentence == "9 nights: changes are looked for from 10 nights on."
    assert report.gate is not None
    assert report.gate.passed
    assert [each.code for each in report.gate.undecided] == ["not_judged"]


def test_setups_with_few_nights_share_a_sentence(changed: pl.DataFrame) -> None:
    short = [
        nights(number).with_columns(
            entry=pl.lit(f"short{number}"), run_id=pl.format("{}s{}", "run_id", pl.lit(number))
        )
        for number in (3, 9)
    ]
    report = api.history(pl.concat([changed, *short], how="diagonal"), by=["entry"])
    assert report.sentence.count("changes are looked for") == 1
    assert report.sentence.endswith(
        "2 setups with at most 9 nights: changes are looked for from 10 nights on."
    )
    assert "3 changes in 60 nights" in report.sentence


def test_a_night_is_the_mean_of_its_runs_and_one_without_success_a_hole(
    changed: pl.DataFrame,
) -> None:
    before, after = of(api.history(changed), "epochs")
    assert (before["nights"], before["n"], before["reached"]) == (45, 90, 90)
    assert (after["nights"], after["n"], after["reached"]) == (15, 30, 16)


def test_the_gate_judges_the_latest_segment(changed: pl.DataFrame) -> None:
    until = "started_at<2026-02-14"
    passed = api.history(changed, where=[until], fail_on="slower:2%").gate
    assert passed is not None
    assert passed.passed
    assert [each.code for each in passed.undecided] == ["undecided"]  # +1.9 %, up to 2.1 %
    failed = api.history(changed, where=[until], fail_on="slower:1%").gate
    assert failed is not None
    assert [each.code for each in failed.failures] == ["slower"]
    whole = api.history(changed, fail_on="slower:5%").gate
    assert whole is not None
    assert [each.code for each in whole.failures] == ["slower", "fails_more"]


def test_a_history_that_got_faster_passes() -> None:
    faster = nights(40, lambda night: 60 * (0.9 if night >= 20 else 1))
    report = api.history(faster, fail_on="slower:2%")
    assert report.gate is not None
    assert not report.gate.findings
    assert of(report, "time per epoch")[1]["size"] < -0.09


def test_nights_like_the_night_before_are_told_and_do_not_fail_the_gate() -> None:
    import numpy as np

    rng, level = np.random.default_rng(8), [0.0]
    for _ in range(59):
        level.append(0.7 * level[-1] + 0.01 * float(rng.normal()))
    wandering = nights(60, lambda n: 60 * float(np.exp(level[n] + 0.03 * (n >= 30))),
                       noise=(0.001, 0.03))  # fmt: skip
    report = api.history(wandering, fail_on="slower:0.1%")
    assert "nights_alike" in {note.code for note in report.notes}
    assert len(of(report, "time per epoch")) > 1
    assert report.gate is not None
    assert report.gate.passed
    assert "no gate judges by it" in in_full(report)


def test_the_order_may_be_a_recorded_commit(changed: pl.DataFrame) -> None:
    _, speed = of(api.history(changed, order="commit"), "time per epoch")
    assert (speed["after_night"], speed["by_night"]) == ("c030", "c031")
    with pytest.raises(TtastatsError, match="unknown column 'comit'"):
        api.history(changed, order="comit")


def test_without_dates_numbers_order_the_nights() -> None:
    undated = nights(12).with_columns(started_at=pl.lit(None, pl.Datetime("us", "UTC")))
    report = api.history(undated, order="commit")
    assert report.rows[0]["first_night"] == "c001"
    assert report.rows[0]["last_night"] == "c012"
    with pytest.raises(TtastatsError, match="no run records its date") as caught:
        api.history(undated)
    assert caught.value.where == "--order date"


def test_runs_without_a_date_are_counted() -> None:
    some = nights(12)
    undated = pl.when(pl.col("source") == some["source"][0]).then(None).otherwise("started_at")
    report = api.history(some.with_columns(started_at=undated))
    assert "1 run excluded: date unknown." in in_full(report)


def test_each_setup_has_a_history_of_its_own(changed: pl.DataFrame) -> None:
    other = nights(40, seed=3, entry="other")
    report = api.history(pl.concat([changed, other]), fail_on="slower:5%")
    assert {row["entry"] for row in report.rows} == {"nightly", "other"}
    assert "other: No change in 40 nights." in report.sentence
    assert report.gate is not None
    assert {each.group for each in report.gate.failures} == {"digits nightly"}


def test_without_epochs_the_time_to_the_target_is_searched_itself() -> None:
    slower = nights(40, lambda night: 60 * (1.3 if night >= 20 else 1))
    report = api.history(slower.with_columns(epoch=pl.lit(None, pl.Float64)))
    assert [row["part"] for row in report.rows] == ["failures", *["time-to-accuracy"] * 2]
    assert report.rows[-1]["after_night"] is not None


def test_the_command_sets_the_exit_code(changed: pl.DataFrame, tmp_path: Path) -> None:
    table = tmp_path / "nights.parquet"
    store.write(changed, table)
    done = run("history", table)
    assert done.returncode == 0
    assert "3 changes in 60 nights" in done.stdout
    failed = run("history", table, "--fail-on", "slower:5%", "--order", "commit")
    assert failed.returncode == 3
    assert "failures +87.5%" in failed.stdout + failed.stderr
    assert run("history", table, "--fail-on", "faster:5%").returncode == 2


def test_the_plot_has_the_nights_segments_and_changes_of_the_answer(changed: pl.DataFrame) -> None:
    times, failures = api.plot("history", changed)
    (table,) = times.data.values()
    counts = dict(
        table.group_by("what", "part").len().select(pl.concat_str("what", "part"), "len").rows()
    )
    assert counts["segmenttime per epoch"] == counts["segmentepochs"] == 2
    (speed,) = table.filter(what="change", part="time per epoch")["split"]
    assert speed == 30.5
    assert "time per epoch +1.9%" in times.caption
    (shares,) = failures.data.values()
    assert shares.filter(what="night")["value"].sum() == len(FAILED)
    with pytest.raises(TtastatsError, match="no setup was run on 10 days or more"):
        api.plot("history", nights(9))


def test_a_baseline_is_the_runs_since_the_last_change(
    changed: pl.DataFrame, tmp_path: Path
) -> None:
    calm = changed.filter(pl.col("started_at") < pl.datetime(2026, 2, 14, time_zone="UTC"))
    store.write(calm, tmp_path / "nights.parquet")
    store.write(nights(3, lambda _: 61.2, runs=3, seed=9), tmp_path / "branch.parquet")
    report = run("compare", tmp_path / "branch.parquet", "--baseline", tmp_path / "nights.parquet",
                 "--format", "json")  # fmt: skip
    assert report.returncode == 0, report.stderr
    assert '"n_a": 28' in report.stdout  # the nights since the slower step of January 31
    both = pl.concat([calm, nights(12, entry="other")])
    with pytest.raises(TtastatsError, match="2 setups"):
        api.latest_segment(both)
