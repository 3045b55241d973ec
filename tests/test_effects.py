"""Effects of settings as a user meets them: which runs, which settings, and what is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.plotting import made
from tests.stats import test_effects as cases
from tests.test_cli import run
from tests.test_compare import side
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.report.answer import Report
from ttastats.table import store

START = datetime(2026, 11, 1, 8, tzinfo=UTC)


def trained(seconds: float, epochs: float | None, number: int, **settings: Any) -> pl.DataFrame:
    """Return a run that recorded its settings, started after those before it."""
    more: dict[str, Any] = {"started_at": START + timedelta(hours=number)}
    return side([(seconds, epochs)], extra=settings, **more).with_columns(
        run_id=pl.lit(f"run {number}"), source=pl.lit(f"{number}.log")
    )


def table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.concat([trained(number=number, **row) for number, row in enumerate(rows)])


def of_a(**more: Any) -> list[dict[str, Any]]:
    """Return the runs of the first case: a throughput knob and an epochs knob."""
    return [
        {"seconds": row["tta"], "epochs": row["epochs"], "batch": row["batch"], "lr": row["lr"]}
        | more
        for row in cases.A.iter_rows(named=True)
    ]


def rows(report: Report, kind: str = "effect") -> list[dict[str, Any]]:
    return [dict(row) for row in report.rows if row["row"] == kind]


def effect(report: Report, setting: str, part: str, level: str | None = None) -> dict[str, Any]:
    (found,) = (
        row
        for row in rows(report)
        if (row["setting"], row["part"]) == (setting, part) and level in (None, row["level"])
    )
    return found


def texts(report: Report, code: str) -> list[str]:
    return [note.text for note in report.notes if note.code == code]


def test_each_setting_is_found_in_the_part_it_changes() -> None:
    report = api.effects(table(of_a()), on=["batch", "lr"])
    batch = [effect(report, "batch", part) for part in ("tta", "epochs", "time_per_epoch")]
    assert [row["ratio"] for row in batch] == pytest.approx([0.66425562, 1.04061857, 0.63832766])
    assert batch[0]["ratio"] == pytest.approx(batch[1]["ratio"] * batch[2]["ratio"])
    assert [row["plain_low"] for row in batch] == pytest.approx(
        [0.60930776, 0.95526763, 0.63458169]
    )
    assert (batch[0]["level"], batch[0]["base"]) == ("64", "32")
    assert (batch[0]["n"], batch[0]["n_base"]) == (6, 6)
    assert batch[0]["ratio_per_doubling"] == batch[0]["ratio"]
    lr = effect(report, "lr", "time_per_epoch")
    assert lr["p"] == lr["p_adjusted"] > 0.5
    assert effect(report, "lr", "epochs")["p_adjusted"] == 2 * effect(report, "lr", "epochs")["p"]
    assert report.sentence == (
        "batch 64 vs 32: time to target × 0.66 [0.61, 0.72], through "
        "time per epoch × 0.64. lr 0.3 vs 0.1: time to target × 0.79 [0.72, 0.86], through "
        "epochs × 0.79."
    )


def test_of_many_effects_the_sentence_tells_four() -> None:
    runs = [
        {"seconds": 100 * 1.5**k * (1 + 0.004 * n), "epochs": 5, "host": f"host {k}"}
        for k in range(7)
        for n in range(3)
    ]
    text = api.effects(table(runs), on=["host"]).sentence
    assert text.count("time to target ×") == 4
    assert text.endswith("2 more effects are shown.")


def test_benchmarks_whose_progress_has_different_units_stand_in_one_table() -> None:
    others = table(of_a()).with_columns(
        benchmark=pl.lit("bert"),
        epochs=pl.lit(None, pl.Float64),
        samples=pl.col("epochs").cast(pl.Int64) * 10,
        run_id=pl.format("bert {}", "run_id"),
        content_digest=pl.lit(None, pl.String),
    )
    report = api.effects(pl.concat([table(of_a()), others]), on=["batch", "lr"])
    assert {row["part"] for row in rows(report) if row["benchmark"] == "bert"} == {
        "tta", "samples", "time_per_sample",
    }  # fmt: skip
    assert report.sentence.startswith("bert: batch 64 vs 32")
    assert [column.title for column in report.tables[1].columns][-2:] == [
        "progress", "time per progress",
    ]  # fmt: skip


def test_shares_say_which_setting_explains_a_part_and_what_the_parts_add_up_to() -> None:
    shares = {
        row["setting"]: row for row in rows(api.effects(table(of_a()), on=["batch", "lr"]), "share")
    }
    assert shares["batch"]["omega2_tta"] == pytest.approx(0.69875695)
    assert shares["lr"]["omega2_progress"] == pytest.approx(0.7599143)
    assert shares["residual"]["share_tta"] == pytest.approx(1 - 0.94443270)
    parts = rows(api.effects(table(of_a()), on=["batch", "lr"]), "part")
    assert [row["setting"] for row in parts] == ["epochs", "time per epoch", "2 × covariance"]
    assert sum(row["share_tta"] for row in parts) == pytest.approx(1)


def test_a_number_of_three_values_acts_by_doublings_unless_its_values_are_levels() -> None:
    runs = [
        {"seconds": 100 * 1.2**k * (1 + 0.004 * n), "epochs": 5 + n % 2, "batch": 32 * 2**k}
        for k in range(3)
        for n in range(4)
    ]
    report = api.effects(table(runs), on=["batch"])
    row = effect(report, "batch", "tta")
    assert (row["level"], row["ratio"]) == (None, pytest.approx(1.2))
    assert row["ratio_per_doubling"] == row["ratio"]
    levels = api.effects(table(runs), on="batch", levels="batch")
    assert effect(levels, "batch", "tta", "128")["ratio"] == pytest.approx(1.44)
    assert effect(levels, "batch", "tta", "128")["ratio_per_doubling"] == pytest.approx(1.2)
    bent = [run | {"seconds": run["seconds"] * (3 if run["batch"] == 64 else 1)} for run in runs]
    (text,) = texts(api.effects(table(bent), on=["batch"]), "not_straight")
    assert "--levels batch" in text


def test_settings_that_were_changed_together_are_one_and_named() -> None:
    runs = [run | {"width": 2 * run["batch"]} for run in of_a()]
    report = api.effects(table(runs), on=["batch", "lr", "width"])
    assert texts(report, "aliased") == [
        "batch and width were changed together in these runs: what they do together is shown, and "
        "which of them does it cannot be told."
    ]
    row = effect(report, "batch & width", "tta")
    assert (row["level"], row["base"]) == ("64 & 128", "32 & 64")
    assert row["ratio"] == pytest.approx(0.66425562)


def test_failed_runs_are_counted_by_level_and_times_are_those_of_the_others() -> None:
    failed = [
        run | ({"epochs": None} if run["lr"] == 0.3 and n % 6 in (3, 4) else {})
        for n, run in enumerate(of_a())
    ]
    report = api.effects(table(failed), on=["batch", "lr"])
    levels = {(row["setting"], row["level"]): row for row in rows(report, "level")}
    assert [levels["lr", level]["reached"] for level in ("0.1", "0.3")] == [6, 2]
    assert levels["batch", "32"]["reached"] == 4
    assert levels["lr", "0.3"]["p"] < 0.05 < levels["batch", "32"]["p"]
    (text,) = texts(report, "survivors")
    assert text.startswith("4 runs of 12 did not reach the target, and lr changes how many do")
    assert effect(report, "lr", "tta")["n"] == 2


def test_a_level_with_one_success_has_no_time_and_is_named() -> None:
    runs = of_a() + [
        {"seconds": 70.0, "epochs": epochs, "batch": 128, "lr": 0.1} for epochs in (8, None)
    ]
    report = api.effects(table(runs), on=["batch", "lr"], levels=["batch"])
    assert texts(report, "level_left_out")[0].startswith("batch 128: fewer than 2 runs")
    assert effect(report, "batch", "tta")["ratio"] == pytest.approx(0.66425562)


def test_a_base_can_be_named_and_else_is_that_of_the_first_run() -> None:
    runs = [
        {"seconds": 100.0 + n, "epochs": 5, "precision": ("fp32", "bf16")[n % 2]} for n in range(8)
    ]
    assert effect(api.effects(table(runs), on=["precision"]), "precision", "tta")["base"] == "fp32"
    named = api.effects(table(runs), on=["precision=bf16"])
    assert effect(named, "precision", "tta")["level"] == "fp32"
    with pytest.raises(TtastatsError, match="precision is never fp8"):
        api.effects(table(runs), on=["precision=fp8"])
    (text,) = texts(named, "constant_epochs")
    assert text.startswith("epochs are the same in all runs")
    assert effect(named, "precision", "epochs")["ratio"] == 1.0


class TestSessions:
    @staticmethod
    def runs(*, nested: bool, days: int = 4) -> pl.DataFrame:
        made = []
        for number in range(6 * days):
            day, place = divmod(number, 6)
            slow = (1.0, 1.3, 0.8, 1.1)[day % 4]
            level = day % 2 if nested else place % 2
            seconds = 100 * slow * (1 - 0.1 * level) * (1 + 0.004 * (place // 2))
            run = trained(seconds, 5 + place % 2, number, precision=("fp32", "bf16")[level])
            made.append(
                run.with_columns(started_at=pl.lit(START + timedelta(days=day, hours=place)))
            )
        return pl.concat(made)

    def test_a_setting_that_varies_in_each_is_compared_within_them(self) -> None:
        ratio = [
            effect(
                api.effects(self.runs(nested=False), on=["precision"], block=block),
                "precision",
                "tta",
            )
            for block in ((), "day")
        ]
        assert [row["ratio"] for row in ratio] == pytest.approx([0.9, 0.9])
        assert ratio[1]["ratio_high"] < 0.91 < 1 < ratio[0]["ratio_high"]
        report = api.effects(self.runs(nested=False), on=["precision"], block=["day"])
        assert "sessions" in {row["setting"] for row in rows(report, "share")}
        assert "sessions are a block" in texts(report, "method")[0]

    def test_a_setting_that_is_constant_in_each_is_judged_by_sessions(self) -> None:
        report = api.effects(self.runs(nested=True), on=["precision"], block=["day"])
        row = effect(report, "precision", "tta")
        assert row["df"] == pytest.approx(2)
        assert row["p"] > 0.05 > row["plain_p"]
        assert "CR2" in texts(report, "method")[0]

    def test_one_session_of_a_level_is_no_interval(self) -> None:
        report = api.effects(self.runs(nested=True, days=2), on=["precision"], block=["day"])
        assert effect(report, "precision", "tta")["ratio_low"] is None
        assert texts(report, "few_runs")[0].startswith("no intervals: a setting is constant")


def test_too_few_runs_have_ratios_without_intervals() -> None:
    report = api.effects(table([of_a()[n] for n in (0, 1, 3, 6, 9)]), on=["batch", "lr"])
    row = effect(report, "batch", "tta")
    assert row["ratio"] is not None
    assert row["ratio_low"] is row["p"] is None
    assert (
        texts(report, "few_runs")
        == [
            "no intervals: 5 runs with 3 numbers to estimate leave 2 degrees of freedom, and 4 are "
            "needed."
        ]
        or row["n"] < 3
    )


def test_an_interaction_whose_cells_are_empty_is_named() -> None:
    runs = [run for run in of_a() if not (run["batch"] == 64 and run["lr"] == 0.3)]
    report = api.effects(table(runs), on=["batch", "lr"], interactions=True)
    assert texts(report, "empty_cells") == [
        "no interaction of batch × lr: combinations are missing."
    ]
    whole = api.effects(table(of_a()), on=["batch", "lr"], interactions=True)
    assert effect(whole, "batch × lr", "tta")["plain_p"] == pytest.approx(0.885663, rel=1e-5)


def test_settings_without_two_levels_are_refused_with_a_way_out() -> None:
    with pytest.raises(TtastatsError, match="no setting of epochs_planned, lr"):
        api.effects(table(of_a(lr=0.1, epochs_planned=3)), on=["epochs_planned", "lr"])
    with pytest.raises(TtastatsError, match="unknown column 'lrr'"):
        api.effects(table(of_a()), on=["lrr"])
    with pytest.raises(TtastatsError, match="no setting given"):
        api.effects(table(of_a()), on=[])
    (text,) = texts(api.effects(table(of_a(width=16)), on=["batch", "width"]), "constant_setting")
    assert text == "width has the same value in all runs: nothing to compare."


def test_steps_have_no_parts() -> None:
    report = api.effects(table(of_a()), on=["batch", "lr"], unit="epochs")
    assert {row["part"] for row in rows(report)} == {"tta"}
    assert effect(report, "lr", "tta")["ratio"] == pytest.approx(0.78881064)


def test_the_command_line_prints_effects_shares_and_levels(tmp_path: Path) -> None:
    from tests.made_curves import evaluation, logs, of

    made = []
    for number, row in enumerate(of_a()):
        aim = {"metric": "top1_accuracy", "higher_is_better": True, "target_value": 0.7}
        each = [
            evaluation(k, 0.71 if k == row["epochs"] - 1 else 0.5,
                       seconds=row["seconds"] * (k + 1) / row["epochs"], epoch=k + 1.0, **aim)
            for k in range(row["epochs"])
        ]  # fmt: skip
        facts = {"benchmark": "toy", "entry": "one", "run_status": "success"}
        extra = {"settings": {"values": {"batch": row["batch"], "lr": row["lr"]}}}
        made.append(of(*each, seed=number, extra=extra, run_seconds=row["seconds"], **facts))
    store.write(logs(made), tmp_path / "runs.parquet")
    done = run("effects", "runs.parquet", "--on", "batch,lr", "--confidence", "90%", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "batch 64 vs 32  time to target" in done.stdout
    assert "ratio [90%]" in done.stdout
    assert re.search(r"batch 64 .* 6 \+ 6  0\.664 \[0\.61\d, 0\.71\d\]  <\.001", done.stdout)
    assert "of it: 2 × covariance" in done.stdout
    failed = run("effects", "runs.parquet", cwd=tmp_path)
    assert failed.returncode == 2
    assert "no setting given" in failed.stderr
    asked = run("effects", "runs.parquet", "--on", "batch", "--format", "csv", cwd=tmp_path)
    assert asked.stdout.startswith("suite,round,benchmark")


def test_the_plot_has_a_panel_a_part_with_the_ratios_of_the_answer() -> None:
    sweep = made.swept()
    panels = api.plot("effects", sweep)
    assert [panel.title for panel in panels] == [
        "Time to target by setting: resnet", "Epochs by setting: resnet",
        "Time per epoch by setting: resnet",
    ]  # fmt: skip
    report = api.effects(sweep, on=["batch_size", "lr"])
    assert report.sentence in panels[0].caption
    # Two sizes times two rates times four seeds; the runs of the base are counted once.
    assert all(panel.caption.startswith("16 runs that reached the") for panel in panels)
    (table,) = panels[0].data.values()
    assert all(panel.data.keys() == panels[0].data.keys() for panel in panels)
    assert table["ratio"].to_list() == [row["ratio"] for row in rows(report)]
    assert table["ratio_low"].to_list() == [row["ratio_low"] for row in rows(report)]
    (one,) = {row for panel in api.plot("effects", sweep, on="lr") for row in panel.data}
    assert api.plot("effects", sweep, on="lr")[0].data[one]["row"].unique().to_list() == [
        "lr 0.3 vs 0.1"
    ]


def test_only_a_table_that_records_settings_is_drawn_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = api.html_report(made.swept())
    assert "<h2>Effects of settings</h2>" in page.html
    store.write(made.swept(), tmp_path / "sweep.parquet")
    drawn = run("plot", "effects", tmp_path / "sweep.parquet", "--on", "lr", "--confidence", ".9",
                "-o", tmp_path / "lr.svg")  # fmt: skip
    assert "lr 0.3 vs 0.1" in drawn.stderr
    assert "90% intervals" in drawn.stderr
    other = run("plot", "tta", tmp_path / "sweep.parquet", "--on", "lr", "-o", tmp_path / "a.svg")
    assert "Supported by: effects." in other.stderr
    monkeypatch.setattr("ttastats.answers.effects.report", None)  # would end in a TypeError
    assert "Effects of settings" not in api.html_report(made.two_entries()).html
    with pytest.raises(TtastatsError, match="no setting was varied in enough runs"):
        api.plot("effects", made.two_entries())
