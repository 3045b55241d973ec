"""Are times without a quality read as runs, whatever names them, and does the answer say so?"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.made_logs import write
from tests.random_cases import SEEDS
from tests.reading.asking import ask
from tests.test_cli import run

ALONE = "no quality was looked at"
#: Times of two setups; the means differ by a factor of 1.25.
Times = Mapping[str, Sequence[float]]


def times(draw: random.Random, scale: float) -> Times:
    """Return times in units of `scale` of an old and a new setup, for a ratio of exactly 1.25."""
    apart = [draw.uniform(0.0, 0.01) for _ in range(draw.randint(2, 4))]
    spread = [*apart, *(-gap for gap in apart)]
    draw.shuffle(spread)
    return {
        "the-old": [round(10 * (1 + gap) * scale, 9) for gap in spread],
        "the-new": [round(8 * (1 + gap) * scale, 9) for gap in spread],
    }


def table(draw: random.Random) -> tuple[str, str]:
    """Return the name and the text of a table of times with other columns, units and marks."""
    column, scale = draw.choice(
        [("seconds", 1.0), ("time_ms", 1e3), ("duration (min)", 1 / 60), ("elapsed_h", 1 / 3600),
         ("wall_s", 1.0), ("runtime", 1.0), ("ms", 1e3)]
    )  # fmt: skip
    setup = draw.choice(["setup", "variant", "command", "Implementation", "mode", "branch"])
    number = draw.choice(["run", "trial", "rep", "seed", "iteration", ""])
    mark, ending = draw.choice([(",", "csv"), (";", "csv"), ("\t", "tsv")])
    more = draw.choice([{}, {"exit_code": "0"}, {"benchmark": "sort"}, {"accelerators": "8"}])
    columns = [setup, *([number] if number else []), column, *more]
    order = draw.sample(columns, len(columns))
    lines = [mark.join(order)]
    for name, values in times(draw, scale).items():
        for place, value in enumerate(values):
            cells = {setup: name, number: str(place), column: f"{value:.9g}", **more}
            lines.append(mark.join(cells[key] for key in order))
    return f"{draw.choice(['times', 'bench', 'results'])}.{ending}", "\n".join(lines) + "\n"


def hyperfine(draw: random.Random) -> tuple[str, str]:
    """Return an export of hyperfine."""
    results = [
        {"command": name, "mean": 1.0, "stddev": 0.1, "times": values,
         **draw.choice([{}, {"exit_codes": [0] * len(values)}])}
        for name, values in times(draw, 10 ** draw.uniform(-3, 3)).items()
    ]  # fmt: skip
    return "hyperfine.json", json.dumps({"results": results}, indent=draw.choice([None, 2]))


def pytest_benchmark(draw: random.Random) -> tuple[str, str]:
    """Return a report of pytest-benchmark."""
    group = draw.choice([None, "sorting"])
    tests = [
        {"group": group, "name": name, "fullname": f"a.py::{name}", "params": None,
         "stats": {"mean": 1.0, "rounds": len(values), "data": values}}
        for name, values in times(draw, 10 ** draw.uniform(-6, 1)).items()
    ]  # fmt: skip
    draw.shuffle(tests)
    whole = {"machine_info": {"node": "n"}, "benchmarks": tests, "version": "5.1.0"}
    return "report.json", json.dumps(whole, indent=draw.choice([None, 4]))


@pytest.mark.parametrize("make", [table, hyperfine, pytest_benchmark])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("guess", [(), ("--guess",)])
def test_times_alone_are_compared_and_the_answer_says_that_no_quality_was_looked_at(
    make: object, seed: int, guess: tuple[str, ...], tmp_path: Path
) -> None:
    assert callable(make)
    name, text = make(random.Random(seed))
    write(tmp_path, {name: text})
    answer = ask("compare", tmp_path, *guess, "--a", "entry=*old", "--b", "entry=*new")
    (row,) = answer.rows
    assert answer.code == 0
    assert row["speedup"] == pytest.approx(1.25, rel=1e-6)
    assert (row["verdict"], row["axis"], row["conditions"]) == ("faster", "duration", [])
    assert row["n_a"] == row["reached_a"] == row["n_b"]
    assert ALONE in answer.text


@pytest.mark.parametrize("command", ["summary", "runs", "rank", "power", "variance", "compare"])
@pytest.mark.parametrize("form", ["table", "md", "json"])
def test_every_answer_about_times_alone_says_so(command: str, form: str, tmp_path: Path) -> None:
    name, text = hyperfine(random.Random(1))
    write(tmp_path, {name: text})
    sides = ["--a", "entry=the-old", "--b", "entry=the-new"] if command == "compare" else []
    shown = run(command, tmp_path, *sides, "--format", form).stdout
    assert ALONE in shown
    assert "epochs" not in shown or form == "json" or command == "variance"


def test_a_page_says_that_no_quality_was_looked_at(tmp_path: Path) -> None:
    name, text = table(random.Random(3))
    write(tmp_path / "logs", {name: text})
    page = tmp_path / "page.html"
    assert run("report", tmp_path / "logs", "-o", page).returncode == 0
    written = page.read_text("utf-8")
    assert ALONE in written
    assert re.search(r"\b(\d+) runs, \1 succeeded", written)


def test_a_gate_takes_times_alone(tmp_path: Path) -> None:
    write(tmp_path, dict([table(random.Random(4))]))
    slower = ["--a", "entry=the-new", "--b", "entry=the-old"]
    faster = ["--a", "entry=the-old", "--b", "entry=the-new"]
    gate = ["--fail-on", "slower:2%"]
    assert run("compare", tmp_path, *slower, *gate).returncode == 3
    assert run("compare", tmp_path, *faster, *gate).returncode == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_command_that_fails_is_a_failed_run(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    codes = [0, draw.choice([1, 2, 137, None]), 0]
    results = [{"command": "c", "mean": 1.0, "times": [1.0, 1.1, 1.2], "exit_codes": codes}]
    failed = draw.choice(["1,timeout,124", "1,,0", "1,3.5,1", "1,nan,0"])
    text = f"variant,run,seconds,exit_code\na,0,2.5,0\na,{failed}\na,2,2.25,0\n"
    write(tmp_path, {"h/h.json": json.dumps({"results": results}), "t/t.csv": text})
    answer = ask("summary", tmp_path)
    assert [(row["n"], row["reached"]) for row in answer.rows] == [(3, 2), (3, 2)]
    assert "2 of 6 runs failed (2 aborted)" in answer.text


def test_runs_of_equal_length_all_count(tmp_path: Path) -> None:
    write(tmp_path, {"t.csv": "setup,run,seconds\n" + "".join(f"a,{n},2.5\n" for n in range(4))})
    (row,) = ask("summary", tmp_path).rows
    assert row["n"] == 4


@pytest.mark.parametrize(
    ("files", "asked"),
    [
        ({"b.csv": "command,mean,stddev,median,user,system,min,max\nx,1,.1,1,1,1,1,1\n"},
         "--export-json"),
        ({"b.json": '{"machine_info": {}, "benchmarks": [{"name": "t", "stats": {"mean": 1}}]}'},
         "--benchmark-save-data"),
        ({"b.csv": "variant,trial,wall_s,user_s\na,1,3,2\na,2,3.1,2\n"},
         "several columns of times: wall_s, user_s"),
        ({"b.csv": "setup,run,seconds,size\na,1,3,20\na,2,3.1,21\n"}, "size: a quality"),
        ({"b.csv": "setup,run,time_s\na,1,3\na,2,6\na,3,9.1\nb,1,2\nb,2,4\nb,3,6\n"},
         "rises in each setup"),
        ({"b.csv": 'setup,run,time_ms\na,1,about ten\na,2,11\nb,1,9\n'}, "about ten"),
    ],
)  # fmt: skip
def test_what_is_unclear_or_a_mean_is_asked(
    files: dict[str, str], asked: str, tmp_path: Path
) -> None:
    answer = ask("summary", write(tmp_path, files), "--guess")
    assert answer.code
    assert not answer.rows
    assert asked in answer.text


def test_an_option_answers_which_column_is_the_time(tmp_path: Path) -> None:
    text = "variant,trial,wall_s,user_s\na,1,3,2\na,2,3.1,2\n"
    write(tmp_path / "logs", {"b.csv": text})
    out = tmp_path / "runs.parquet"
    assert run("ingest", tmp_path / "logs", "--seconds", "user_s s", "-o", out).returncode == 0
    assert [row["tta_seconds"] for row in ask("runs", out).rows] == [2.0, 2.0]


@pytest.mark.parametrize(
    "text",
    [
        "model,step,seconds,val_acc\na,1,3,.5\na,2,6,.6\nb,1,2,.5\nb,2,4,.6\n",
        "epoch,seconds,accuracy\n1,3,.5\n2,6,.6\n",
        "optimizer,seed,minutes,accuracy\na,1,3,.5\na,2,3.1,.6\nb,1,2,.5\nb,2,2,.6\n",
        "config,rep,time_s,score\na,1,10,.5\na,2,11,.6\nb,1,9,.5\nb,2,9.5,.6\n",
    ],
)
def test_a_table_with_a_quality_is_none_of_times_alone(text: str, tmp_path: Path) -> None:
    answer = ask("runs", write(tmp_path, {"log.csv": text}), "--guess")
    assert {row["dialect"] for row in answer.rows} == {"table"}
    assert ALONE not in answer.text


def test_a_table_of_the_parts_of_one_run_is_none_of_times_alone(tmp_path: Path) -> None:
    answer = ask("runs", write(tmp_path, {"timings.csv": "phase,seconds\nload,3\ntrain,90\n"}))
    assert not answer.rows


def test_a_repetition_with_a_quality_is_a_run(tmp_path: Path) -> None:
    text = "config,rep,time_s,score\na,1,10,.5\na,2,11,.6\nb,1,9,.5\nb,2,9.5,.6\n"
    answer = ask("runs", write(tmp_path, {"log.csv": text}), "--guess", "--target", "score>=0.5")
    assert sorted(row["tta_seconds"] for row in answer.rows) == [9.0, 9.5, 10.0, 11.0]


def curves(folder: Path) -> None:
    """Write the logs of a setup that was evaluated."""
    for seed in range(3):
        rows = "".join(f"{n},{10 * n + seed},{0.5 + n / 20}\n" for n in range(1, 9))
        write(folder, {f"adam/seed{seed}.csv": f"epoch,seconds,val_acc\n{rows}"})


def test_times_alone_beside_logs_are_never_pooled_with_them(tmp_path: Path) -> None:
    curves(tmp_path)
    write(tmp_path, {"adam/times.csv": "setup,run,seconds\nold,1,2\nold,2,2.1\nold,3,2.2\n"})
    target = ["--guess", "--target", "val_acc>=0.8"]
    (row,) = ask("summary", tmp_path, *target).rows
    assert (row["entry"], row["n"], row["reached"]) == ("adam", 3, 3)
    answer = ask("summary", tmp_path, "--guess")
    known = {row["entry"]: (row["suite"], row["reached"], row["flags"]) for row in answer.rows}
    assert known == {"adam": (None, 0, ["no_target"]), "old": ("times alone", 3, [])}
    assert "times alone: 3 of 6 runs" in answer.text
    (row,) = ask("compare", tmp_path, "--guess", "--a", "entry=old", "--b", "entry=adam").rows
    assert row["verdict"] == "unavailable"


def test_a_target_of_times_alone_is_refused(tmp_path: Path) -> None:
    write(tmp_path, dict([table(random.Random(2))]))
    answer = ask("summary", tmp_path, "--target", "val_acc>=0.9")
    assert answer.code == 2
    assert "no quality is known" in answer.text
