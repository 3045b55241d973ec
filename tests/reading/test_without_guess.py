"""Logs that leave no doubt are read without `--guess`; about others, the user is asked."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

import ttastats as tta
from tests import made_logs
from tests.made_logs import write
from tests.programs import PATIENCE, environment
from tests.random_cases import SEEDS, Draw
from tests.reading.asking import ask
from tests.reading.test_guess_and_ingest import FORMS, rows_as
from tests.test_cli import run
from ttastats.base.errors import TtastatsError

PROGRESS = ("epoch", "step", "iteration", "global_step")
CLOCKS = ("seconds", "elapsed", "train_time_ms", "wall_time")
METRICS = ("val_acc", "val_loss", "test_accuracy", "valid/auc", "eval_f1")


def logs_of(draw: Draw, form: str, names: Sequence[str], first: int = 1) -> dict[str, str]:
    """Return logs of two entries with two seeds, whose columns all rise from row to row."""
    slope, word = draw.choice([3, 11, 60]), draw.choice(["seed", "s"])

    def rows(entry: int, seed: int) -> list[list[object]]:
        times = (slope * (n + 1) + seed + entry / 2 for n in range(5))
        return [
            [n + first, *[time] * (len(names) - 2), round(0.1 + 0.1 * n, 3)]
            for n, time in enumerate(times)
        ]

    return {
        f"{entry}/{word}{seed}.{form}": rows_as(form, [*names], rows(place, seed)) + "\n" * place
        for place, entry in enumerate(draw.sample(["adam", "sgd", "lion"], 2))
        for seed in (1, 2)
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_clean_logs_are_read_and_one_line_says_how(seed: int, tmp_path: Path) -> None:
    draw = Draw(f"clean {seed}")
    for form in FORMS:
        clock = draw.choice(CLOCKS[form == "log" :])  # after a number, "seconds" is its unit
        names = [draw.choice(PROGRESS), clock, draw.choice(METRICS)]
        logs = write(tmp_path / form, logs_of(draw, form, names))
        metric = names[2] if form != "log" else names[2].replace("/", "_")
        target = f"{metric}{'<=' if 'loss' in metric else '>='}0.3"
        answer = ask("runs", logs, "--target", target)
        assert (answer.code, len(answer.rows)) == (0, 4), answer
        guessed = [line for line in answer.text.split("\n") if "read as: " in line]
        assert len(guessed) == 1
        assert f"read as: metric {metric}, time {names[1]} " in guessed[0]
        assert guessed[0].endswith(f"; `ttastats guess {logs}` shows all")
        both = ask("compare", *sorted(path for path in logs.iterdir()), "--target", target)
        assert both.code == 0, both
        assert tta.summary(logs, target=[target]).frame["n"].sum() == 4
        table = tmp_path / f"{form}.parquet"
        assert run("ingest", logs, "-o", table).returncode == 0
        assert "guessed_block" in {row["code"] for row in tta.problems(table).rows}
        assert "is up to date" in run("ingest", logs, "-o", table).stderr
        assert ask("runs", table, "--target", target).rows == answer.rows


#: Columns that leave a doubt, the number of the first row, and what the question is about.
DOUBTS = (
    (("epoch", "val_acc"), 0, "epoch"),
    (("epoch", "seconds", "train_loss"), 1, "metric"),
    (("step", "elapsed", "wall_time", "val_loss"), 1, "seconds"),
    (("step", "time", "train_time", "val_acc"), 1, "seconds"),
    (("epoch", "seconds", "accuracy"), 1, "metric"),
)


@pytest.mark.parametrize(
    ("names", "first", "key", "form"),
    [(*doubt, FORMS[at % len(FORMS)]) for at, doubt in enumerate(DOUBTS)],
)
def test_a_doubt_is_refused_with_options_that_work(
    names: Sequence[str], first: int, key: str, form: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    logs = write(Path("my logs"), logs_of(Draw(f"{names} {form}"), form, names, first))
    entry = next(iter(logs.iterdir()))
    with pytest.raises(TtastatsError, match=f"in doubt: {key}"):
        tta.summary(logs)
    assert run("summary", logs).returncode == run("compare", entry, entry).returncode == 2
    assert (
        f"my logs: read as guessed, it would be in doubt: {key}\n  {key}: "
        in run("ingest", logs).stderr
    )
    typed = re.findall(r"^ +ttastats (ingest .*)$", run("runs", logs).stderr, re.MULTILINE)
    assert typed
    for number, words in enumerate([*typed, "ingest 'my logs' --guess"]):
        done = run(*shlex.split(words), "-o", f"{number}.parquet")
        assert done.returncode == 0, (words, done.stderr)
        codes = {row["code"] for row in tta.problems(f"{number}.parquet").rows}
        assert ("guessed_reading" in codes) == words.endswith("--guess")
        assert pl.read_parquet(f"{number}.parquet")["source"].n_unique() == 4
    assert ask("runs", logs, "--guess").code == 0


def test_logs_that_are_known_or_described_are_read_without_a_question(tmp_path: Path) -> None:
    draw = Draw("known")
    for place, form in enumerate(FORMS):
        doubtful = logs_of(draw, form, ("epoch", "seconds", "train_loss"))
        known = write(tmp_path / f"a{place}", {**doubtful, "result_0.txt": made_logs.reaching(3)})
        answer = ask("runs", known)
        assert (answer.code, len(answer.rows)) == (0, 1)
        assert "4 other files" in answer.text
        assert "read as: " not in answer.text
        if form != "log":
            toml = '[[logs]]\nfiles = "{entry}/*"\nmetric = "train_loss"\n'
            described = write(tmp_path / f"b{place}", {**doubtful, "ttastats.toml": toml})
            answer = ask("runs", described)
            assert (answer.code, len(answer.rows)) == (0, 4)
            assert "read as: " not in answer.text


def on_terminal(words: Sequence[str | Path], typed: str, cwd: Path) -> tuple[int, str]:
    """Run the program on a terminal where each question is answered; return its code and screen."""
    ours, its = pty.openpty()
    variables = {**environment(), "TERM": "dumb", "COLUMNS": "200"}
    program = subprocess.Popen(
        [sys.executable, "-m", "ttastats", *map(str, words)],
        stdin=its, stdout=its, stderr=its, env=variables, cwd=cwd, start_new_session=True,
    )  # fmt: skip
    os.close(its)
    shown, answered = b"", 0
    with suppress(OSError):  # by which Linux tells that the other side is closed
        while select.select([ours], [], [], PATIENCE)[0] and (part := os.read(ours, 65536)):
            shown += part
            for _ in range(answered, answered := shown.count(b"(q):")):
                os.write(ours, typed.encode())
    os.close(ours)
    return program.wait(PATIENCE), shown.decode().replace("\r\n", "\n")


def test_on_a_terminal_a_doubt_is_a_question_that_is_asked_once(tmp_path: Path) -> None:
    names = ("step", "elapsed", "wall_time", "val_loss")
    logs = write(tmp_path / "logs", logs_of(Draw("terminal"), "csv", names))
    sides = [side.relative_to(tmp_path) for side in sorted(logs.iterdir())]
    words: list[str | Path] = ["compare", *sides, "--target", "val_loss<=0.4", "--no-pager"]
    code, shown = on_terminal(words, "2\n", tmp_path)
    assert code == 0, shown
    assert shown.count("several columns may be the clock") == shown.count("1. seconds = ") == 1
    assert "2. seconds = wall_time s\n  3. seconds = none" in shown
    assert shown.count("read as: metric val_loss, time wall_time s, steps step;") == 2
    code, shown = on_terminal(words, "", tmp_path)  # the answer is kept
    assert (code, "Read it as" in shown) == (0, False)
    code, shown = on_terminal(("ingest", "logs"), "q\n", tmp_path)
    assert (code, "in doubt: seconds" in shown) == (2, True)


@pytest.mark.parametrize("metric", ["acc", "perplexity", "reward"])
def test_a_metric_that_the_question_names_is_in_no_doubt(tmp_path: Path, metric: str) -> None:
    rows = "".join(f"{at},{at}0,{at / 10}\n" for at in range(1, 6))
    logs = write(tmp_path, {"logs/seed0.csv": f"epoch,seconds,{metric}\n{rows}"}) / "logs"
    assert ask("runs", logs).code == 2
    assert f"--metric {metric}" in ask("runs", logs, "--target", "other>=0.3").text
    limit = "<=0.3" if metric == "perplexity" else ">=0.3"
    (row,) = ask("runs", logs, "--target", f"{metric}{limit}").rows
    assert row["target_metric"] == metric
    again = write(tmp_path, {"again/seed0.csv": f"epoch,seconds,{metric}\n{rows}"}) / "again"
    assert ask("summary", again, "--at-end", "--metric", metric).code == 0
