"""What a clock cannot say reaches the verdict: its start, its jumps, its unit, its metric."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ttastats as tta
from tests.made_logs import write
from tests.made_stores import first_event, scalar
from tests.reading.asking import ask
from tests.reading.curves import GUISES, Curves, compared
from ttastats.base.records import ESTIMATED_START, UNKNOWN_START

in_guises = pytest.mark.parametrize("seed", GUISES)
NO_DIRECTION = {"undecided", "unavailable", "same"}


# ------------------------------------------------------------------- a metric that is logged later


def logs_with_a_test(draw: Curves, late: float) -> tuple[dict[str, str | bytes], str]:
    """Return the logs of two runs whose test follows the hit `late` seconds later, and a target."""
    kind, name = draw.draw.choice((("csv", ","), ("tsv", "\t"))), draw.draw.choice(("test", "fid"))
    ending, separator = kind
    pace, files = draw.draw.uniform(9, 40), dict[str, str | bytes]()
    for run in range(3):
        lines = [separator.join((draw.unit, "seconds", "val_acc", f"{name}_acc"))]
        for row in draw.rows(pace + run / 10):
            quality = round(row["quality"], 4)
            cells = (row["progress"], round(row["seconds"], 2), quality, "")
            lines.append(separator.join(map(str, cells)))
            if row["progress"] == draw.hit * draw.every:
                cells = (row["progress"], round(row["seconds"] + late, 2), "", quality)
                lines.append(separator.join(map(str, cells)))
                break
        files[f"seed{run}.{ending}"] = "\n".join(lines) + "\n"
    return files, "val_acc>=0.9"


@in_guises
def test_a_test_after_the_hit_is_not_charged_to_the_target(seed: int, tmp_path: Path) -> None:
    for late, side in ((1.0, "a"), (150.0, "b")):
        files, target = logs_with_a_test(Curves(seed), late)
        write(tmp_path / side, files)
    answer = ask("compare", tmp_path / "a", tmp_path / "b", "--guess", "--target", target)
    (row,) = answer.rows
    assert row["speedup"] == pytest.approx(1)
    assert row["verdict"] in NO_DIRECTION


@in_guises
def test_in_event_files_the_hit_stays_at_its_step(seed: int, tmp_path: Path) -> None:
    draw = Curves(seed)
    pace = draw.draw.uniform(20, 60)
    for side, late in (("a", 1.0), ("b", 4 * pace)):
        for number in range(3):
            start = 1_700_000_000.0 + 9_000 * number
            events = first_event(start)
            for place in range(1, draw.length + 2):
                now, quality = start + pace * place + number, 0.5 + 0.4 * place / draw.hit
                events += scalar(now, place * draw.every, val__acc=quality)
                if place == draw.hit:
                    events += scalar(now + late, place * draw.every, test__acc=quality)
            name = f"{side}/seed{number}/events.out.tfevents.{start:.0f}.host"
            write(tmp_path, {name: events})
    answer = ask("compare", tmp_path / "a", tmp_path / "b", "--target", "val/acc>=0.9",
                 "--in", "steps")  # fmt: skip
    assert (answer.rows[0]["tta_a_seconds"], answer.rows[0]["tta_b_seconds"]) == (
        draw.hit * draw.every, draw.hit * draw.every,
    )  # fmt: skip
    timed = ask("compare", tmp_path / "a", tmp_path / "b", "--target", "val/acc>=0.9")
    assert timed.rows[0]["speedup"] == pytest.approx(1)


# ----------------------------------------------------------------------- where the clock begins


@in_guises
def test_sides_of_which_one_start_is_estimated_carry_that(seed: int) -> None:
    draw = Curves(seed)
    pace = draw.draw.uniform(20, 60)
    known, estimated = draw.side(pace), draw.side(1.3 * pace, clock_zero=ESTIMATED_START)
    row, text = compared(known, estimated)
    assert (row["verdict"], "clock_start_estimated" in row["conditions"]) == ("slower", True)
    assert "the start of the clock of B is estimated" in text
    assert "estimated start of a clock" in text.split("\n")[0]
    both, text = compared(draw.side(pace, clock_zero=ESTIMATED_START), estimated)
    assert (both["verdict"], both["conditions"]) == ("slower", ["constant_epochs"] * both["dagger"])
    assert "of A and B is estimated" in text


@in_guises
def test_a_side_that_begins_late_has_no_time_and_no_verdict(seed: int) -> None:
    draw = Curves(seed)
    pace, first = draw.draw.uniform(20, 60), draw.draw.randrange(4, 7)
    late = draw.side(pace, first=first, startup=pace * (first - 1), clock_zero=UNKNOWN_START)
    row, text = compared(draw.side(pace), late)
    place = f"{draw.unit} {first * draw.every}"
    assert (row["verdict"], row["speedup"], row["n_b"]) == ("unavailable", None, 0)
    assert f"B begins at {place}" in text
    assert "begins_late" in row["flags"]
    assert tta.runs(late).frame["tta_seconds"].to_list() == [None] * 4
    assert tta.runs(late).frame["reached"].all()
    assert "begins_late" in {note.code for note in tta.summary(late).notes}


@in_guises
def test_runs_that_begin_late_are_in_no_mean(seed: int) -> None:
    draw = Curves(seed)
    pace = draw.draw.uniform(20, 60)
    late = [draw.rows(pace, first=5, seed=9, clock_zero=UNKNOWN_START)]
    whole = [draw.rows(pace, seed=n) for n in range(3)]
    mixed = draw.table([row for rows in (*whole, *late) for row in rows])
    (row,) = tta.summary(mixed).rows
    assert (row["n"], row["tta_mean_seconds"]) == (3, pytest.approx(pace * draw.hit, rel=0.01))
    row, text = compared(draw.side(1.01 * pace), mixed)
    assert (row["verdict"], "1 of 4 runs of B begins at" in text) == ("unavailable", True)
    in_steps, _ = compared(draw.side(1.01 * pace), mixed, unit=f"{draw.unit}s")
    assert (in_steps["n_b"], in_steps["verdict"]) == (4, "undecided")


# --------------------------------------------------------------------------- jumps and pauses


def changed(rows: list[dict[str, Any]], place: int, seconds: float) -> list[dict[str, Any]]:
    """Return the evaluations of a run whose clock changes before one of them."""
    return [
        {**row, "seconds": row["seconds"] + seconds * (number >= place)}
        for number, row in enumerate(rows)
    ]


@in_guises
@pytest.mark.parametrize("hour", [3600.0, 3630.0, -3600.0])
def test_an_hour_in_one_interval_is_a_change_of_the_clock(seed: int, hour: float) -> None:
    draw = Curves(seed)
    pace = draw.draw.uniform(4000, 5000)
    jumped = [row for n in range(4)
              for row in changed(draw.rows(0.99 * pace, seed=n), 3, hour)]  # fmt: skip
    row, text = compared(draw.side(pace), draw.table(jumped))
    assert "clock_changed" in row["flags"]
    assert "an hour off the others" in text
    # Without the hour, B is a little faster.
    assert row["verdict"] in NO_DIRECTION | {"faster"} - ({"faster"} if hour > 0 else set())
    faster = [row for n in range(4) for row in changed(draw.rows(pace / 4, seed=n), 3, hour)]
    if hour > 0:
        row, text = compared(draw.side(pace), draw.table(faster))
        assert (row["verdict"], "clock_changed" in row["conditions"]) == ("faster", True)
        assert "if no clock changed by an hour" in text


@in_guises
def test_an_hour_after_the_target_or_in_an_unsteady_run_is_none(seed: int) -> None:
    draw = Curves(seed)
    draw.length = draw.hit + 2
    pace = draw.draw.uniform(300, 600)
    after = [row for n in range(4)
             for row in changed(draw.rows(pace, seed=n), draw.hit + 1, 3600.0)]  # fmt: skip
    row, _ = compared(draw.side(pace), draw.table(after))
    assert "clock_changed" not in row["flags"]
    unsteady = [row for n in range(4) for row in changed(draw.rows(9000.0, seed=n), 3, 3600.0)]
    for number, each in enumerate(unsteady):
        each["seconds"] += 700.0 * (number % 2)
    row, _ = compared(draw.side(pace), draw.table(unsteady))
    assert "clock_changed" not in row["flags"]


@in_guises
def test_a_pause_of_runs_launched_together_is_told(seed: int) -> None:
    draw = Curves(seed)
    pace = draw.draw.uniform(50, 90)
    rows = [row for n in range(4) for row in changed(draw.rows(pace, seed=n), 4, 900.0)]
    paused = draw.table(rows)
    together = pl.lit("2026-01-05").str.to_datetime(time_zone="UTC").dt.cast_time_unit("us")
    apart = together + pl.duration(hours=pl.col("seed") * 30)
    _, text = compared(draw.side(pace), paused.with_columns(started_at=together))
    assert "stood still at the same time" in text
    _, text = compared(draw.side(pace), paused.with_columns(started_at=apart))
    assert "stood still" not in text  # at one place of separate runs, it is the schedule


# ------------------------------------------------------------------------------------- units


@in_guises
@pytest.mark.parametrize("factor", [60.0, 1000.0, 3600.0])
def test_clocks_in_other_units_are_doubted(seed: int, factor: float) -> None:
    draw = Curves(seed)
    pace = draw.draw.uniform(20, 60)
    row, text = compared(draw.side(pace), draw.side(pace / factor * draw.draw.uniform(0.98, 1.02)))
    assert (row["verdict"], "units_differ" in row["conditions"]) == ("faster", True)
    assert "if both clocks count in one unit" in text.split("\n")[0]
    row, text = compared(draw.side(pace), draw.side(pace / 30))
    assert "units_differ" not in row["flags"]


def test_a_gate_requires_nothing_of_clocks_in_other_units() -> None:
    draw = Curves(9)
    sides = draw.side(60.0), draw.side(1.0)
    gate = tta.compare(*sides, require="not-slower:1%").gate
    assert gate is not None
    assert (gate.passed, "different units" in str(gate.failures)) == (False, True)
    same = tta.compare(draw.side(60.0), draw.side(40.0), require="not-slower:1%").gate
    assert same is not None
    assert same.passed


#: Times that no run has, made of usual ones; all of a run, or that of the hit alone.
UNUSABLE: dict[str, tuple[bool, Callable[[float], float]]] = {
    "negative": (True, lambda at: at - 1e6),
    "beyond": (True, lambda at: at * 1e300),
    "milliseconds since 1970": (True, lambda at: 1.7e12 + at * 1e3),
    "seconds since 1970": (True, lambda at: 1.7e9 + at),
    "infinite": (False, lambda _: float("inf")),
    "unknown": (False, lambda _: float("nan")),
}


@in_guises
@pytest.mark.parametrize("odd", UNUSABLE)
def test_an_unusable_time_is_no_failure(seed: int, odd: str) -> None:
    draw = Curves(seed)
    whole, change = UNUSABLE[odd]
    rows = draw.rows(draw.draw.uniform(20, 60))[: draw.hit]
    for row in rows if whole else rows[-1:]:
        row["seconds"] = change(row["seconds"])
    table = draw.table(rows)
    (run,) = tta.runs(table).rows
    assert (run["reached"], run["tta_seconds"]) == (True, None)
    (counted,) = tta.summary(table, unit=f"{draw.unit}s").rows
    assert (counted["reached"], counted["tta_mean_seconds"]) == (1, draw.hit * draw.every)


def test_a_weight_that_took_no_time_met_nothing() -> None:
    draw = Curves(4)
    rows = [{**row, "quality": 0.95 if row["progress"] == draw.every else 0.5}
            for row in draw.rows(20.0, startup=-20.0)]  # fmt: skip
    (run,) = tta.runs(draw.table(rows)).rows
    assert not run["reached"]


# ------------------------------------------------------------------------- seeds, and doubts


@in_guises
def test_one_seed_in_all_runs_of_a_side_is_a_condition(seed: int, tmp_path: Path) -> None:
    draw = Curves(seed)
    pace, number = draw.draw.uniform(20, 60), draw.draw.randrange(99)

    def one(pace: float) -> pl.DataFrame:
        return draw.side(pace).with_columns(seed=pl.lit(number, pl.Int64))

    row, text = compared(one(pace), one(0.8 * pace))
    assert (row["verdict"], "one_seed" in row["conditions"]) == ("faster", True)
    assert "for one seed" in text.split("\n")[0]
    assert f"have the same seed ({number})" in text


@pytest.mark.parametrize("code", ["clock_start_estimated", "clock_changed", "scale_unclear"])
def test_a_doubt_of_the_reading_is_a_condition_of_the_verdict(code: str) -> None:
    draw = Curves(1)
    problem = f'[{{"code":"{code}","severity":"warning","message":"why"}}]'
    doubted = draw.side(20.0).with_columns(problems=pl.lit(problem))
    row, text = compared(draw.side(30.0), doubted)
    assert (row["verdict"], code in row["conditions"], "of B" in text) == ("faster", True, True)
    plain = problem.replace(code, "guessed_clock")
    row, _ = compared(draw.side(30.0), draw.side(20.0).with_columns(problems=pl.lit(plain)))
    assert not set(row["conditions"]) - {"constant_epochs"}


def test_times_that_cannot_be_used_are_told() -> None:
    draw = Curves(2)
    problem = '[{"code":"unusable_time","severity":"error","message":"why"}]'
    row, text = compared(draw.side(30.0), draw.side(20.0).with_columns(problems=pl.lit(problem)))
    assert (row["verdict"], "unusable_time" in row["flags"]) == ("faster", True)
    assert "times of B are negative" in text
    row, _ = compared(
        draw.side(30.0), draw.side(20.0).with_columns(problems=pl.lit(problem)),
        unit=f"{draw.unit}s",
    )  # fmt: skip
    assert "unusable_time" not in row["flags"]
