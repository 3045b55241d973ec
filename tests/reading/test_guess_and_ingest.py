"""What `guess` shows is what `ingest` reads, and what the user says replaces a part of a guess."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import ttastats as tta
from tests.made_logs import write
from tests.random_cases import SEEDS, Draw
from tests.reading.asking import ask
from tests.test_cli import run
from tests.test_guess import random_files
from ttastats.base.errors import TtastatsError

FORMS = ("csv", "jsonl", "log")


def rows_as(form: str, names: list[str], rows: list[list[object]]) -> str:
    """Return rows as a table, as JSON lines, or as lines of a text log."""
    if form == "csv":
        table: list[list[object]] = [[*names], *rows]
        return "".join(",".join(map(str, row)) + "\n" for row in table)
    cells = [list(zip(names, row, strict=True)) for row in rows]
    if form == "jsonl":
        lines = (", ".join(f'"{name}": {value}' for name, value in row) for row in cells)
        return "".join(f"{{{line}}}\n" for line in lines)
    return "start\n" + "".join(
        " ".join(f"{name}={value}" for name, value in row) + "\n" for row in cells
    )


@pytest.mark.parametrize("seed", range(6))
def test_what_guess_shows_is_what_ingest_reads_and_its_commands_run(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("logs"), random_files(Draw(f"guess and ingest {seed}")))
    try:
        shown = tta.guess("logs")
    except TtastatsError:
        return
    tta.ingest(["logs"], "x.parquet", guess=tta.guess)
    read = pl.read_parquet("x.parquet").filter(pl.col("dialect").is_not_null())
    heads = pl.concat([kind.heads for kind in shown.kinds])
    of_table = Counter(read.unique(["source", "run_id"])["entry"])
    assert Counter(heads["entry"]) == of_table
    is_bad = any(kind.problems for kind in shown.kinds)
    for command in shown.commands():
        program, *words = shlex.split(command)
        if program == "cat":
            config = Path(words[-1])
            config.write_text(config.read_text() + Path(words[0]).read_text())
            continue
        done = run(*words)
        assert done.returncode == 0 or (done.returncode == 1 and is_bad), (command, done)


def folders_of_two_clocks(seed: int) -> Iterator[tuple[dict[str, str], str, str]]:
    """Yield a folder with two clocks and two metrics in each form, and the names of the second."""
    draw = Draw(f"two clocks {seed}")
    for form in FORMS:
        first, second = draw.sample(["elapsed", "wall_time", "seconds", "time"], 2)
        metric, other = draw.sample(["val_acc", "val_f1", "test_acc", "valid_auc"], 2)
        files = {
            f"{entry}/seed{number}.{form}": rows_as(
                form,
                ["step", first, second, metric, other],
                [[n, 10 * n, 7 * n + number, 0.1 * n, 0.1 * n + 0.05] for n in range(1, 6)],
            )
            for entry in draw.sample(["adam", "sgd", "muon"], 2)
            for number in (1, 2)
        }
        yield files, second, other


@pytest.mark.parametrize("seed", SEEDS)
def test_an_option_replaces_that_part_of_every_guess(seed: int, tmp_path: Path) -> None:
    for place, (files, clock, metric) in enumerate(folders_of_two_clocks(seed)):
        logs = write(tmp_path / str(place) / "logs", files)
        table = tmp_path / f"{place}.parquet"
        said = {"metric": [metric], "seconds": f"{clock} s"}
        words = ("--metric", metric, "--seconds", f"{clock} s", "--guess", "-o", table)
        done = run("ingest", logs, *words)
        assert done.returncode == 0, done.stderr
        assert f"read as: metric {metric}, time {clock} s, steps step; `ttastats" in done.stderr
        assert "guessed_reading" not in done.stderr
        rows = pl.read_parquet(table)
        assert set(rows["metric"]) == {metric}
        assert rows.group_by("entry").agg(pl.col("seed").unique().sort()).height == 2
        last = rows.filter(pl.col("step") == 5).sort("source")["seconds"].to_list()
        assert last == [36, 37, 36, 37]
        again = tmp_path / f"{place}b.parquet"
        tta.ingest([logs], again, guess=tta.guess, block=said)
        assert pl.read_parquet(again).drop("source").equals(rows.drop("source"))


def test_a_pattern_and_lines_of_the_user_replace_those_of_the_guess(tmp_path: Path) -> None:
    text = "".join(f"step {n} val_loss {9 - n} at {n}.5 s\n" for n in range(1, 5))
    logs = write(tmp_path / "logs", {f"{name}.log": text for name in ("a-1", "a-2", "b-1")})
    table = tmp_path / "x.parquet"
    line = r"step (?P<iteration>\d+) val_loss (?P<val_loss>\S+)"
    done = run(
        "ingest", logs, "--guess", "--files", "{system}-{seed}.log", "--line", line, "-o", table
    )
    assert done.returncode == 0, done.stderr
    rows = pl.read_parquet(table)
    assert {*rows.select("system", "seed").rows()} == {("a", 1), ("a", 2), ("b", 1)}
    assert (rows["step"].max(), rows["seconds"].is_null().all()) == (4, True)
    files = {"c/seed1.csv": "step,val_acc\n1,.1\n2,.2\n", "c/seed2.jsonl": '{"val_acc": .1}\n' * 2}
    done = run("ingest", write(logs, files), "--guess", "--files", "c/{run}.*", "-o", table)
    assert (done.returncode, "--files c/{run}.*: matches logs of several" in done.stderr) == (
        2,
        True,
    )


def test_what_a_file_of_blocks_says_is_read_beside_what_is_guessed(tmp_path: Path) -> None:
    table = "step,seconds,val_acc\n1,1,.1\n2,2,.2\n"
    logs = write(tmp_path / "logs", {"a/seed1.csv": table, "b/seed1.csv": table})
    (tmp_path / "x.toml").write_text(
        '[[logs]]\nfiles = "logs/a/*"\nentry = "mine"\nstep = "step"\n'
    )
    for option, words in ((), ("guessed",)), (("--metric", "val_acc"), ("--config",)):
        done = run("ingest", logs, "--guess", "--config", tmp_path / "x.toml", *option,
                   "-o", tmp_path / "x.parquet")  # fmt: skip
        assert done.returncode == (2 if option else 0)
        assert all(word in done.stderr for word in words)
    assert {*pl.read_parquet(tmp_path / "x.parquet")["entry"]} == {"mine", "b"}


def test_options_refine_recognised_logs_beside_guessed_ones_and_nothing_else(
    tmp_path: Path,
) -> None:
    keras = "epoch,accuracy,loss,val_accuracy,val_loss\n0,0.5,1.0,0.6,0.9\n1,0.6,0.9,0.7,0.8\n"
    logs = write(tmp_path / "logs", {
        "a/training_log.csv": keras, "b/seed1.csv": "step,elapsed,val_loss\n1,1,3\n2,2,2\n",
        "all.csv": "name,val_loss\nx,3\ny,2\n",
    })  # fmt: skip
    done = run("ingest", logs, "--guess", "--metric", "val_loss", "-o", tmp_path / "x.parquet")
    assert done.returncode == 0, done.stderr
    rows = pl.read_parquet(tmp_path / "x.parquet")
    assert {*map(Path, rows["source"])} == {logs / "a/training_log.csv", logs / "b/seed1.csv"}
    assert {*rows["metric"]} == {"val_loss"}


def test_an_accepted_doubt_is_a_warning_of_each_run(tmp_path: Path) -> None:
    draw = Draw("accepted doubts")
    for place, form in enumerate(FORMS):
        metric = draw.choice(["val_acc", "test_auc"])
        text = rows_as(form, ["epoch", metric], [[n, 0.1 * n] for n in range(4)])
        logs = write(tmp_path / str(place), {f"a/seed{n}.{form}": text + "\n" * n for n in (1, 2)})
        answer = ask("runs", logs, "--guess")
        assert (answer.code, len(answer.rows)) == (0, 2)
        assert "? epoch: starts at 0" in answer.text
        tta.ingest([logs], tmp_path / f"{place}.parquet", guess=tta.guess)
        told = tta.problems(tmp_path / f"{place}.parquet", codes=["guessed_reading"]).rows
        assert [row["severity"] for row in told] == ["warning"] * 2
