"""`ttastats guess` proposes blocks for logs that nobody has described, and says how sure it is."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import tarfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

import ttastats as tta
from tests import made_logs
from tests.accepted import Case, cases
from tests.conftest import ROOT
from tests.made_stores import scalar
from tests.random_cases import Draw
from tests.test_cli import run as cli_run
from tests.test_wild import TARGET, compared, read_runs, without_target
from ttastats.answers.guessing import kinds, layout, lines
from ttastats.answers.guessing.answer import Guessed, NoLogError, Proposal, proposal_toml
from ttastats.base.errors import TtastatsError
from ttastats.outcomes import target
from ttastats.outcomes.target import UserTarget

Files = dict[str, str | bytes]


def csv_of(*rows: str) -> str:
    return "\n".join(rows) + "\n"


def rows_of(header: str, number: int, row: str) -> str:
    """Return a table with rows made from a template of `{n}` and `{down}`, which decreases."""
    rows = (row.format(n=n, down=round(4 - n / 10, 3)) for n in range(1, number + 1))
    return csv_of(header, *rows)


def seeds(entry: str, *rows: str, header: str = "step,elapsed,val_loss", count: int = 3) -> Files:
    """Return runs of an entry, as tables whose rows may hold the seed."""
    return {
        f"{entry}/seed{seed}.csv": csv_of(header, *(row.format(seed) for row in rows))
        for seed in range(1, count + 1)
    }


FALLING = [f"{n}00,{n}.{{}},{4 - n / 10:g}" for n in range(1, 6)]
RESTARTED = [row.format(3) for row in (*FALLING, *FALLING[2:])]
STAMPED = "2024-05-01 1{hour}:00:0{{n}},250 INFO step={{n}}0 eval_loss={{down}} lr=0.1"
MANY: Files = {
    **seeds("table/adam", *FALLING),
    **seeds("table/muon", *FALLING[1:]),
    "text/small-1.log": rows_of("starting", 4, STAMPED.format(hour=0)),
    "text/small-2.log": rows_of("starting", 4, STAMPED.format(hour=1)),
    "keras/one/training_log.csv": csv_of(
        "epoch,accuracy,loss,val_accuracy,val_loss", "0,0.5,1.0,0.6,0.9", "1,0.6,0.9,0.7,0.8"
    ),
    "back/old.log": csv_of(*(f"after step {n} perplexity: {60 - n}" for n in (1, 2, 1, 2))),
    "seeds.jsonl": "".join(
        json.dumps({"seed": seed, "iter": n, "wall": n, "test/acc": n * 20}) + "\n"
        for seed in (1, 2)
        for n in (1, 2, 3)
    ),
    "README.md": "step loss\n1 2\n",
    "empty.csv": "",
    "settings.json": '{"lr": 0.1, "val_loss": 3}',
    "model.bin": bytes(range(256)) * 40,
}


def state_of(**scores: float) -> str:
    """Return the state file of a Hugging Face trainer with one evaluation."""
    entry = {"step": 1, **scores}
    return json.dumps({"log_history": [entry], "global_step": 1, "epoch": 1.0})


ENDS = ("1,4", "2,3.{}")
EVENTS = scalar(1.0, 1, val_loss=4.0) + scalar(2.0, 2, val_loss=3.0)
ONE_RUN = csv_of("step,elapsed,val_loss", "1,1,4", "2,2,3")
FOLDERS: dict[str, Files] = {
    "of many kinds": MANY,
    "of a read format": {"a.txt": made_logs.reaching(2)},
    "of metrics that are as likely": {
        "trainer_state.json": state_of(**{f"eval_{name}_accuracy": 0.3 for name in "hgfedcba"})
    },
    "of a log with another beside it": {
        "trainer_state.json": state_of(eval_loss=0.3),
        "progress.csv": csv_of("step,val_loss", "1,0.3", "2,0.2"),
    },
    "of a crashed run": seeds("adam", *FALLING) | {"adam/seed4.csv": "step,elapsed,val_loss\n"},
    "of an entry in two folders": seeds("a/x-long", *FALLING) | seeds("b/y-long", *FALLING),
    "of a pointer": seeds("adam", *FALLING)
    | {"adam/seed9.csv": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"},
    "of restarts": seeds("adam", *FALLING, count=8)
    | seeds("sgd", *FALLING, count=8)
    | {"adam/seed3.csv": csv_of("step,elapsed,val_loss", *RESTARTED)},
    "without a time": seeds("adam", *ENDS, header="step,val_loss")
    | seeds("sgd", "1,4", "2,3.5{}", header="step,val_loss"),
    "of a question": {"old.log": str(MANY["back/old.log"])},
    "of one setup": {"a.csv": ONE_RUN},
    "of a summary beside logs": {
        "run_a/log.csv": csv_of("step,val_loss", "1,4", "2,3"),
        "run_b/log.csv": csv_of("step,val_loss", "1,4", "2,2"),
        "all.csv": csv_of("name,val_loss", "a,3", "b,2"),
        "best.csv": csv_of("name,step,val_loss", "a,2,3", "b,2,2"),
    },
    "of a summary beside described logs": {
        "run_a/log.csv": csv_of("step,val_loss", "1,4", "2,3"),
        "ttastats.toml": '[[logs]]\nfiles = "run_a/log.csv"\nmetric = "val_loss"\n',
        "all.csv": csv_of("name,val_loss", "a,3", "b,2"),
    },
    "of runs in one table beside logs": {
        "run_a/log.csv": csv_of("step,val_loss", "1,4", "2,3"),
        "all.csv": csv_of("name,step,val_loss", "a,1,4", "b,1,3", "b,2,2"),
    },
    "of a summary": {"all.csv": csv_of("name,val_loss", "a,3", "b,2")},
    "of events beside a table": {"log.csv": ONE_RUN, "events.out.tfevents.1700000000.host": EVENTS},
    "of seeds without a column": {
        "seeds.csv": csv_of(
            "step,val_loss", *(f"{n // 3},{4 - n / 10:.3}" for n in range(3, 15))
        )
    },
    "of a repeated evaluation": {"seeds.csv": csv_of("step,val_loss", "1,4", "2,3", "3,2", "3,2")},
    "of quotes": {"a.log": csv_of(*(f"'val_loss': {n} # \"x\\y\"" for n in (3, 2)))},
    "of logs of two kinds that are called alike": seeds("a", *FALLING) | seeds("b", *FALLING)
    | {"c/seed1.csv": csv_of("step,perplexity", "1,4", "2,3"), "d.csv": ONE_RUN, "e.csv": ONE_RUN},
    "of accuracies": {
        f"{name}.jsonl": "".join(
            json.dumps({"step": n, "elapsed": n, "val_acc": n / 3 + seed / 1e4}) + "\n"
            for n in (1, 2)
        )
        for seed, name in enumerate(("one", "two", "three"))
    },
    "of means": {"groups.csv": csv_of("name,val_loss_mean,val_loss_std", "1,3,.1", "2,2,.1")},
    "of means of entries": {"groups.csv": csv_of("name,val_loss_mean,val_loss_sem", "a,3,.1")},
    "of runs in columns": {
        "groups.csv": csv_of("Step,lr: 1 - val/loss,lr: 2 - val/loss", "1,3,.1", "2,2,.1")
    },
    "of losses of many digits": {"a.csv": csv_of("step,elapsed,val_loss", "1,1,4", "2,2,3.4321")},
    "of described logs with a target of one metric": {
        f"{name}.csv": csv_of("step,elapsed,val_loss,acc", "1,1,4,.1", f"2,{end},3,.2")
        for name, end in (("x", 2), ("y", 3))
    }
    | {"ttastats.toml": '[[logs]]\nfiles = "{entry}.csv"\nmetric = ["val_loss <= 3.6", "acc"]\n'},
    "of several runs in each file, in part at no known time": {
        f"{name}.csv": csv_of(
            "seed,step,elapsed,val_loss", "1,1,,4", "1,2,2,3", "2,1,1,4", "2,2,2,3"
        )
        for name in ("x", "y", "z")
    },
    "of a last evaluation without a step": {
        "x.csv": csv_of("step,elapsed,val_loss", "1,1,4", "2,2,3"),
        "y.csv": csv_of("step,elapsed,val_loss", "1,1,4", ",2,3"),
    },
    "of described logs of which some have a target": {
        "x.csv": csv_of("step,val_loss", "1,4", "2,3"),
        "y.csv": csv_of("step,elapsed,acc", "1,1,.1", "2,2,.3"),
        "z.csv": csv_of("lr,val_loss", "1,4", "1,3"),
        "ttastats.toml": '[[logs]]\nfiles = "{entry}.csv"\nmetric = ["val_loss <= 3.6", "acc"]\n',
    },
    # Of many files only eight are looked at closely, and others with the same header or lines.
    "of many logs that look alike": {
        f"{'aaaabbbbc'[n]}/run{n}.csv": csv_of("step,elapsed,val_loss", "1,1,4", *rows)
        for n, rows in enumerate([["2,2,3", "3,3,2"]] * 4 + [["2,1,3"]] * 5)
    }
    | {f"d/run{n}.log": csv_of(f"step {n} val_loss=3", f"step 9{n} val_loss=2") for n in range(8)}
    | {"e/run8.log": "epoch 1 acc: .5\n", "f/run9.log": "step 1 val_loss=3 val_acc=.5\n"},
    "of many problems": {
        name: csv_of("step,val_loss", "1,4", *("1" + ",1" * n for n in widths))
        for name, widths in (("a.csv", range(2, 8)), ("b.csv", range(8, 14)))
    },
    "of a preset in two places": {
        name: csv_of("epoch,step,val_acc", "0,9,.1", "1,18,.2")
        for name in ("a/version_0/metrics.csv", "b/lightning_logs/version_0/metrics.csv")
    },
    "of nothing to read": {"a.csv": "", "b.md": "x", "c.csv": "", "d.py": "x"},
    "of prose": {"notes.md": "x", "LOGBOOK.md": "| step | val_loss |\n|---|---|\n| 1 | 2.0 |\n"},
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of logs of many kinds, and of other files."""
    return made_logs.write(tmp_path / "logs", MANY)


def of_folders() -> Iterator[Any]:
    """Yield the proposal for each folder: as printed, as a file, and the runs it gives."""
    for name, files in FOLDERS.items():
        with TemporaryDirectory() as place, contextlib.chdir(place):
            logs = made_logs.write(Path("logs"), files)
            yield f"---------- {name}"
            try:
                proposal = tta.guess(logs)
                yield str(proposal)
                yield proposal.config
                account = tta.ingest([logs], "x.parquet", guess=tta.guess)
            except TtastatsError as error:
                yield str(error)
                continue
            yield [account.runs, account.parts, account.evaluations, account.problem_counts()]


def run(*words: str | Path) -> tuple[int, str, str]:
    result = cli_run(*words)
    return result.returncode, result.stdout, result.stderr


class TestFolder:
    def test_what_is_written_reads_the_runs_that_were_shown_and_stays(self, folder: Path) -> None:
        config, table = folder / "ttastats.toml", folder.parent / "x.parquet"
        code, _, stderr = run("guess", folder, "-o", config)
        assert (code, stderr) == (0, f"wrote {config}\n")
        written = config.read_text()
        account = tta.ingest([folder], table)
        assert account.runs == 6 + 2 + 1 + 2
        assert {problem.code for problem in account.rejected} == {"step_back"}
        rows = pl.read_parquet(table)
        of_table = rows.filter(pl.col("source").str.contains("/table/")).select("entry", "seed")
        assert set(of_table.rows()) == {*product(("adam", "muon"), (1, 2, 3))}
        text = rows.filter(pl.col("source").str.contains("small-1"))
        assert text.select("seconds", "step").rows() == [(n, 10 * n) for n in range(1, 5)]
        again = tta.guess(folder)
        assert again.config == ""
        assert all(kind.title.startswith("already described") for kind in again.kinds)
        assert "--a entry=adam --b entry=muon" in str(again)
        refused = {"ttastats.toml": "exists already; refusing to overwrite", ".": "is a folder"}
        for name, why in refused.items():
            code, _, stderr = run("guess", folder, "-o", folder / name)
            assert (code, why in stderr) == (2, True)
        assert config.read_text() == written

    def test_one_of_the_three_choices_mends_a_step_that_goes_back(self, folder: Path) -> None:
        config = tta.guess(folder).config
        for choice, number in (("new_run", 2), ("new_epoch", 1), ("resume", 1)):
            (folder / "ttastats.toml").write_text(
                config.replace(f'# {choice} = "step back"', f'{choice} = "step back"')
            )
            account = tta.ingest([folder / "back"], folder.parent / f"{choice}.parquet")
            assert (account.runs, account.rejected) == (number, ())

    def test_a_file_elsewhere_holds_above_the_logs_or_where_it_is_named(
        self, folder: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "elsewhere").mkdir()
        other = tmp_path / "elsewhere" / "mine.toml"
        _, shown, _ = run("guess", folder, "-o", other)
        assert f"ttastats ingest {folder} --config {other}" in shown
        for place in (tmp_path / "elsewhere" / "ttastats.toml", folder.parent / "mine.toml"):
            assert f"ttastats ingest {folder} --config {place}" in str(tta.guess(folder, place))
        assert tta.ingest([folder], tmp_path / "x.parquet", config=other).runs == 11
        run("guess", folder, "-o", folder.parent / "ttastats.toml")
        assert tta.ingest([folder], tmp_path / "y.parquet").runs == 11

    def test_the_commands_name_a_file_that_is_free_and_a_metric_with_a_space(
        self, tmp_path: Path
    ) -> None:
        for entry in "ab":
            (tmp_path / f"{entry}.csv").write_text("step,seconds,val acc\n1,1,.5\n2,2,.6")
        (tmp_path / "ttastats.toml").touch()
        write, add, read, compare = tta.guess(tmp_path).commands()
        assert write.endswith(f" -o {tmp_path}/guessed.toml")
        assert add == f"cat {tmp_path}/guessed.toml >> {tmp_path}/ttastats.toml"
        assert read == f"ttastats ingest {tmp_path}"
        assert target.parse(shlex.split(compare)[-1]) == UserTarget(0.6, "val acc", True)

    def test_where_there_are_no_logs_or_no_block_is_needed_none_is_written(
        self, two_systems: Path, tmp_path: Path
    ) -> None:
        assert run("guess", tmp_path)[0] == 2
        path = tmp_path / "LOGBOOK.md"
        path.write_text("| step | val_loss |\n|---|---|\n| 1 | 2.0 |\n")
        for words in (("guess", tmp_path), ("ingest", path), ("ingest", path, "--guess")):
            code, shown, stderr = run(*words)
            assert (code, shown) == (2, "")
            assert "a document: runs are not read from prose" in stderr
        assert run("guess", tmp_path / "none")[0] == run("guess", "-")[0] == 2
        code, _, stderr = run("guess", two_systems, "-o", tmp_path / "ttastats.toml")
        assert (code, "read without a block" in stderr) == (2, True)

    def test_files_of_a_pattern_and_of_an_archive_are_looked_at(
        self, folder: Path, tmp_path: Path
    ) -> None:
        proposal = tta.guess(folder / "table" / "*" / "*.csv")
        assert 'files   = "{entry}/seed{seed}.csv"' in proposal.config
        assert f"-o {folder / 'table' / 'ttastats.toml'}" in str(proposal)
        with tarfile.open(tmp_path / "packed.tar.gz", "w:gz") as archive:
            archive.add(folder / "table", "table")
        tta.guess(tmp_path / "packed.tar.gz", tmp_path / "ttastats.toml")
        rows = tmp_path / "x.parquet"
        assert tta.ingest([tmp_path / "packed.tar.gz"], rows).runs == 6
        assert set(pl.read_parquet(rows)["entry"]) == {"adam", "muon"}

    def test_names_that_do_harm_are_written_harmlessly(self, tmp_path: Path) -> None:
        for name in (b"we{ird}*?'\"$(x)\n.csv", b"esc\x1b[31m.csv", b"bad\xff.csv", b"a\\b.csv"):
            (tmp_path / os.fsdecode(name)).write_text("step,val_loss\n1,2\n2,1\n")
        code, shown, _ = run("guess", tmp_path, "-o", tmp_path / "ttastats.toml")
        assert code == 0
        assert "\x1b" not in shown + (tmp_path / "ttastats.toml").read_text()
        assert tta.ingest([tmp_path], tmp_path / "x.parquet").runs == 4

    def test_of_a_long_text_whole_lines_are_looked_at_and_of_json_all(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text = "step,val_loss\n" + "1,2\n" * 9
        values = json.dumps([{"step": n, "val_loss": n} for n in range(9)])
        for most, rows in ((21, 1), (22, 2), (25, 2), (len(text) - 1, 8), (len(text), 9)):
            monkeypatch.setattr(kinds, "_LOOKED_AT", most)
            assert kinds.make_sketch(text.encode(), "a.csv").rows == rows
            assert kinds.make_sketch(values.encode(), "a.json").rows == 9
        monkeypatch.setattr(kinds, "_LOOKED_AT", len(text) - 1)
        assert kinds.make_sketch(text[:-1].encode(), "a.csv").rows == 9


class TestReadAsGuessed:
    def test_undescribed_files_lead_to_a_verdict_in_one_command(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        sides = [ROOT / "examples" / "own_logs" / "logs" / side for side in ("adam", "muon")]
        for _ in ("read", "kept"):
            code, shown, stderr = run("compare", *sides, "--guess", "--target", "val_loss<=3.4")
            assert code == 0
            assert "FASTER" in shown
            assert stderr.count("read as: metric val_loss, time elapsed s, steps step; ") == 2
        without_a_target = " ".join(run("compare", *sides, "--guess")[1].split())
        assert "To compare the ends instead, add --at-end" in without_a_target

    def test_the_block_stands_in_the_table(self, folder: Path) -> None:
        table = folder.parent / "x.parquet"
        assert run("ingest", folder / "table", "--guess", "-o", table)[0] == 0
        (problem,) = tta.problems(table, codes=["guessed_block"]).rows
        assert tomllib.loads(problem["message"])["logs"] == [
            {"files": "{entry}/seed{seed}.csv", "metric": "val_loss", "seconds": "elapsed s",
             "step": "step"}
        ]  # fmt: skip
        assert "guessed_block" in run("problems", table)[1]
        again = tta.ingest([folder / "table"], table, guess=tta.guess)
        assert [problem.code for problem in again.problems].count("guessed_block") == 1
        assert not again.written

    def test_a_file_with_an_open_question_is_rejected_and_the_others_are_read(
        self, folder: Path
    ) -> None:
        table = folder.parent / "x.parquet"
        code, _, stderr = run("ingest", folder, "--guess", "-o", table)
        assert code == 1
        assert "back/old.log:3: step decreases" in stderr
        entries = Counter(tta.runs(table).frame["entry"])
        assert entries == {"adam": 3, "muon": 3, "text": 2, "keras/one": 1, "logs": 3}
        status = tta.runs(table, where=["run_status=unreadable"]).rows
        assert [Path(row["source"]).name for row in status] == ["old.log"]

    def test_what_a_file_says_goes_before_what_is_guessed(self, folder: Path) -> None:
        (folder / "ttastats.toml").write_text(
            '[[logs]]\nfiles = "table/{system}/*.csv"\nmetric = "val_loss <= 3.6"\nentry = "mine"\n'
        )
        tta.ingest([folder], folder.parent / "x.parquet", guess=tta.guess)
        rows = pl.read_parquet(folder.parent / "x.parquet")
        assert set(rows.filter(pl.col("source").str.contains("/table/"))["entry"]) == {"mine"}
        assert "keras/one" in set(rows["entry"])

    def test_unreadable_inputs_are_refused_with_a_remedy(self, folder: Path) -> None:
        (folder / "notes.txt").write_text("nothing")
        for path in (folder / "notes.txt", folder / "empty.csv"):
            code, _, stderr = run("ingest", path)
            assert (code, f"`ttastats guess {path}` says what" in stderr) == (2, True)
            assert "no run could be read: not a log of a known dialect" in stderr


#: Tables and lines as people write them; the metric, the clock and the progress are to be found.
TABLES = (
    "epoch,loss,acc,val_loss,val_acc\n1,2,.1,2,.1\n2,1,.2,1,.2",
    "step,train_loss\n1,3\n2,2",
    "Wall time,Step,Value\n1700000000,1,3\n1700000001,2,2",
    "step,time,elapsed,val_loss\n" + "".join(f"{n},{n % 2},{n},1\n" for n in range(8)),
    "step,time,elapsed,val_loss\n1,1,1,1\n2,2,2,2",
    "step,elapsed,val_loss\n1,5,3\n2,5,2\n3,5,1",
    "step,time,val_loss\n" + "".join(f"{n},{n % 2},1\n" for n in range(8)),
    "step,total train time (min),eval_time,val_loss\n1,2,9,1\n2,4,9,1",
    "step,time_per_epoch,eta_seconds,val_loss\n1,1,1,1\n2,2,2,2",
    "timestamp,val_loss\n2024-01-01T10:00:00.5,1\n2024-01-01T10:00:01.5,1",
    "step,reward,seed\n1,1,7\n2,1,7\n1,1,8\n2,1,8",
    "name,seed,val_acc\na,1,.5\na,2,.6\nb,1,.7\nb,2,.8",
    "step,val_acc,seed\n1,.1,7\n2,.2,7",
    "epoch,val_acc\n0,.1\n1,.2\n2,.3",
    "epoch,step,val_acc\n0,9,.1\n1,18,.2",
    "epoch,elapsed,val_acc\n1,0:00:30,.5\n2,0:01:00,.6",
    "1 8.04\n2 7.5\n3 6",
    "# step acc\n1 .4\n2 .5\n3 .6\n4 .6\n5 .6",
    # More metrics than are proposed, doubtful ones, and values in percent or not.
    "step,"
    + ",".join(f"val_{c}_loss" for c in "abcdefghij")
    + "\n1"
    + ",1" * 10
    + "\n2"
    + ",1" * 10,
    "step,test_acc,val_acc\n1,.1,.1\n2,.2,.2",
    "step,val_loss,test_acc,accuracy,train_f1,acc\n1,3,.1,.1,.1,.1\n2,2,.2,.2,.2,.2",
    "step,val_acc\n1,1\n2,100",
    "step,val_acc\n1,1\n2,1.5",
    "step,top1\n1,1\n2,100.5",
    'step,"val_acc>2",val_x higher\n1,1,2\n2,2,1',
    "x,y\n1,2\n2,1",
    "step,bleu\n1,2\n2,4",
    "step,id,score_z\n1,4,3\n2,4,4",
    "step,score_z\n1,3",
    "step,score_y,score_z\n1,3,3\n2,3,3",
    # Clocks that go back in a fifth of the steps or in more, by run or not.
    "step,elapsed,val_loss\n" + "".join(f"{n},{t},1\n" for n, t in enumerate((1, 2, 3, 4, 3, 4))),
    "step,elapsed,val_loss\n" + "".join(f"{n},{t},1\n" for n, t in enumerate((1, 2, 3, 2, 3))),
    "name,seed,step,elapsed,val_loss\n"
    + "".join(f"{name},{seed},{n},{n},1\n" for name in "ab" for seed in "12" for n in range(3)),
    "run,model,step,val_loss\na,x,1,1\na,x,2,1\nb,x,1,1\nb,x,2,1\nc,y,1,1\nc,y,2,1",
    "epoch,time,val_acc\n1,9,.1\n2,8,.2\n3,9,.3",
    "epoch,time,val_acc\n1,9,.1\n3,8,.2\n4,9,.3",
    "elapsed_bar,elapsed_of_bar,val_loss\n1,9,1\n2,8,1",
    "step,date,val_loss\n1,2024/01/31 12:00:00Z,1\n2,2024/01/31 12:00:01Z,1",
    "step,date,val_loss\n1,2024-01-31 12:00:00+01:00,1\n2,2024-01-31 12:00:01+01:00,1",
    "step,timestamp,val_loss\n1,900000000,1\n2,900000001,1",
    "step,timestamp,val_loss\n1,3999999999,1\n2,4000000000,1",
    "step,timestamp,elapsed,val_loss\n1,1700000000,1,1\n2,1700000001,2,1",
    "epoch,samples,iter,val_loss\n0,10,1,1\n1,20,2,1",
    "step," + ",".join(f"val_{c}_mean,val_{c}_std" for c in "abc") + "\n1" + ",1" * 6,
    "num_epoch,val_loss\n0,1\n1,1\n3,1",
    "name,step,val_loss\na,1,3\na,1,2\nb,1,3\nb,2,1",
    "step,val_loss\n1,3\n2,2\n3\n4",
    "step,val_loss\n1,3\n3\n4",
)
LINES = (
    "step 2000: train loss 3.7, val loss 3.8\nstep 4000: train loss 3.2, val loss 3.1",
    "Epoch [1/10], Loss: 0.3, Val Acc: 91.2%\nEpoch [2/10], Loss: 0.3, Val Acc: 92.2%",
    "Epoch 1/9\n 7/7 loss: 0.3 - val_loss: 0.2\nEpoch 2/9\n 7/7 loss: 0.3 - val_loss: 0.1",
    "[epoch 3] test accuracy = 0.93 (elapsed 1.5 s)\n[epoch 4] test accuracy = .95 (elapsed 3 s)",
    "step:0/9 val_loss:10.8 train_time:0ms avg:nan\nstep:5/9 val_loss:4.8 train_time:7000ms avg:5",
    "{'eval_loss': 0.3, 'epoch': 1.0}\n{'eval_loss': 0.2, 'epoch': 2.0}",
    "Epoch [1/2] | Test Acc: 55.0% | 0.3s elapsed\nEpoch [2/2] | Test Acc: 56.0% | 0.6s elapsed",
    "epoch 1 val_loss: 2 time: 9.3s\nepoch 2 val_loss: 1 time: 9.1s\nepoch 3 val_loss: 1 time: 9s",
    "1/2 [00:12<00:12, 1it/s, epoch=1, val_acc=.5]\r2/2 [01:24<00:00, 1it/s, epoch=2, val_acc=.6]",
    "E 1: 100%|#| 9/9 [00:12<00:00, val_acc=.5]\nE 2: 100%|#| 9/9 [00:13<00:00, val_acc=.6]",
    "E 1: 100%|#| 9/9 [00:12<00:00, val_acc=.5]\n",
    "100%|#| 9/9 [00:12<00:00, 1it/s]\nval_acc: .5\n100%|#| 9/9 [00:12<00:00, 2it/s]\nval_acc: .6",
    "".join(f"step {n} time {n} s\nstep {n} val_loss {9 - n}\n" for n in (1, 2, 3)),
    "".join(f"2024-05-01 10:0{n}:00 epoch {n} val_loss {9 - n} elapsed {n}.5s\n" for n in (1, 2)),
    "step=1 val_loss=3\nstep=2 val_loss=2\n",
    "".join(f"step={n} val_loss={3 - n} val_acc={n} ms time={n}\n" for n in (1, 2)),
    "23:59:30 step 10 acc 0.50\n00:00:30 step 20 acc 0.90\n",
    "2024-01-01 10:00:00 loading\n2024-01-01 10:00:01 loaded\n"
    + "".join(f"step {n} val_loss {n}\n" for n in range(9)),
    # More forms of lines than are proposed, rare ones, and those without a count.
    "".join(f"step {n} val_{c}_loss={n} of {c}\n" for n in range(3) for c in "abcdef"),
    "".join(f"step {n} val_loss={n}\n" for n in range(30)) + "val_loss=3\nval_acc=.5\n",
    "".join(f"step {n} val_loss={n}\n" for n in range(30)) + "step 9 at end val_acc=.5\n" * 2,
    "".join(f"step {n} val_loss={n}\nval_loss: {n} at step {n}\n" for n in range(3)),
    "".join(f"epoch {n} of 9\nval_loss={n}\n" for n in range(3)),
    "".join(f"val_loss is {n} after the epoch {n}, at 3 sec\n" for n in range(3)),
    "".join(f"lr 0.{n} step {n} loss: [{n}] rank {n}\n" for n in range(3)),
    "".join(f"elapsed: 0:0{n}:30 step {n} val-acc(x): .{n} in {n} h total\n" for n in range(3)),
    "".join(f"[rank0]: step {n} val/err -.{n}e-1 nan\n" for n in range(3)),
    "".join(f"[2024-05-01 10:0{n}:00,123] val_loss {n}\n" for n in range(3)),
    "step 1 val_loss 2 took 3 min\n",
    "step 1 val_loss 1\n",
    *(
        "".join(
            f"{f'2024-01-01 10:0{n}:00 x' if n < timed else 'x'}\nstep {n} val_loss 1\n"
            for n in range(4)
        )
        for timed in (2, 3)
    ),
    "step 1 val/top1 .5\nstep 2 val/top1 .6\n",
    "step1 loss 3\nstep2 loss 2\n",
    "val_loss\n",
    "1 2 3\n4 5 6\n",
    "1.5 2\n2.5 3\n",
    "2 1\n1 2\n",
    "1 2\n2 1\n",
    "x\n1 4\n2 3\n3 2\n4 1\n",
    "x\n1 4\n2 3\n3 2\n4 1\ny\n",
    "step 1 train_loss 3 train_acc .5\n",
    "a b\n1 2\n3 4\nend\n",
    "a a\n1 2\n3 4\n",
)
PATHS = (
    ("adam/seed1.csv", "muon/seed1.csv", "muon/seed2.csv"),
    ("adam_s1.csv", "adam_s2.csv", "muon_s1.csv"), ("adam-1.csv", "adam-2.csv", "muon-1.csv"),
    ("resnet-18.csv", "resnet-50.csv", "vgg-16.csv"), ("x/version_0/m.csv", "x/version_1/m.csv"),
    ("a/x.csv", "a/y.csv", "b/x.csv"), ("run_lr0.1_v2.txt", "run_lr0.3_v2.txt"), ("only.csv",),
    ("m/a/s1.csv.gz", "m/a/s2.csv"), ("a/b/seed1.log", "c/d/seed1.log"),
    tuple(f"{letter}/1d7c6c0{letter}-846f-4dc8-9809-dcb1e42496da.txt" for letter in "ab"),
    ("a-b.csv", "a-b-b.csv"), ("lr-1-x.csv", "lr-1-y.csv", "lr-2-x.csv"),
    # Names that differ between folders are setups and not runs of one.
    ("a/check/kernel.log", "a/check/own.log", "b/base/training.log"),
    ("a/x.log", "a/y.log", "b/x.log", "b/y.log"),
    ("a/v.log", "a/w.log", "a/x.log", "a/y.log", "b/v.log"),
)  # fmt: skip


def of_texts(texts: Iterable[str], path: str) -> Iterator[Any]:
    """Yield the keys that are proposed for a text, and the doubts about them."""
    for text in texts:
        try:
            proposal = kinds.make_sketch(text.encode(), path).proposal
        except NoLogError as error:
            yield text, str(error)
            continue
        doubts = [[reason.key, reason.text] for reason in proposal.reasons if not reason.sure]
        yield text, proposal.keys, doubts


#: Names as logs have them, the forms of a number beside its name, and values by the row.
WORDS = """step iter epoch samples tokens time elapsed time_ms epoch_time eta_seconds timestamp
date val_loss train_loss loss test_acc val_acc top1 accuracy lr seed run name reward bleu val_f1"""
FORMS = ("{}: {}", "{}={}", "{} {}", "{} = {}", "[{} {}/99]", "{} {} ms", "{}:{}s", "({}: {}%)")
COLUMNS: tuple[Callable[[int, int], Any], ...] = (
    lambda n, _: n, lambda n, _: n // 2, lambda n, k: n % 3 * k, lambda n, k: 90 - n * k,
    lambda n, _: 0.1 + n / 20, lambda n, k: 3 + k / (n + 1), lambda n, _: f"0:{n:02}:30",
    lambda n, k: f"2024-05-0{k} 10:{n:02}:00", lambda n, k: 1_700_000_000 + n * k,
    lambda n, _: "ab"[n // 4 % 2], lambda n, _: "" if n % 2 else n, lambda *_: 7, lambda *_: "nan",
)  # fmt: skip


def at_random(seeds: int, *, table: bool) -> Iterator[str]:
    """Yield tables, or lines, of named numbers that rise, fall, repeat, break off, or are none."""
    for seed in range(seeds):
        draw = Draw(f"guess {seed} {table}")
        named = [(name, draw.choice(FORMS), draw.choice(COLUMNS), draw.randrange(1, 5))
                 for name in draw.sample(WORDS.split(), draw.randrange(1, 7))]  # fmt: skip
        rows = []
        for n in range(draw.choice([1, 2, 5, 9])):
            cells = [(name, form, column(n, k)) for name, form, column, k in named]
            if table:
                part = cells[: draw.choice([9, 9, 9, 1])] if seed % 5 == 0 else cells
                rows.append(",".join(str(value) for _, _, value in part))
            else:
                texts = [form.format(name, value) for name, form, value in cells]
                rows += ["\n".join(texts) if seed % 4 == 0 else " ".join(texts)]
                rows += ["and no number"] * draw.chance(0.1)
        yield "\n".join([",".join(name for name, *_ in named)] * table + rows) + "\n"


#: What files of one kind hold, as templates of a header and a row, and how their names end. The
#: step is `n`, from 1 to `last`, the file has the number `k`; `v` falls, and `a` rises.
CONTENTS = (
    ("step,elapsed,val_loss", "{n},{n}.{k},{v}", ".csv .jsonl .log"),
    ("step\telapsed\tval_loss", "{n}\t{n}.{k}\t{v}", ".tsv .txt"),
    ("epoch,time,val_acc,loss", "{n},{k},{a},{v}", ".csv .jsonl"),
    ("epoch,loss,val_loss,val_acc", "{m},{v},{v},{a}", ".csv"),
    ("name,seed,step,val_loss", "x{k},{p},{n},{v}", ".csv .jsonl"),
    ("system,val_acc", "x{n},{a}", ".csv"),
    ("step,perplexity", "{p},{v}", ".csv .log"),
    ("global_step,accumulated_submission_time,score,val_loss", "{n},{n}.{k},{n},{v}", ".csv"),
    ("", "step {n} took {n}.{k}s val_loss={v}", ".log .txt"),
    ("loading", "2024-05-01 10:{k}{n}:00 epoch {n} acc: {a}", ".log"),
    ("", "{p} {v}", ".txt .dat"),
    ("", "step:{m}/9 val_loss:{v} train_time:{n}{k}ms step_avg:2ms", ".log"),
)  # fmt: skip
#: Where they lie, by their number `k`, for each of which there is a half of it, `h`, and a `word`.
PLACES = (
    "{word}/seed{k}", "{word}_s{k}", "x{h}/{word}/run-{k}", "{word}", "{word}-{h}/metrics",
    "all", "lr-{h}-{word}", "{h}1d7c6{k}f", "x/{word}/{word}-{h}", "{word}/files/{k}",
    "x{h}/study_{k}/{word}_jax/trial_{h}/eval_measurements", "version_{k}/metrics",
)  # fmt: skip
OTHERS: tuple[tuple[str, str | bytes], ...] = (
    ("empty.csv", ""), ("seed77.csv", "step,elapsed,val_loss\n"), ("README.md", "step loss\n1 2\n"),
    ("settings.json", '{"lr": 0.1}'), ("model.bin", bytes(range(256))), ("x.csv", "\xe9" * 9),
    ("pointer.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"),
    ("mllog/result_0.txt", made_logs.reaching(2)), ("mllog/result_1.txt", made_logs.reaching(3)),
    ("all.csv", "run,val_loss\na,3\nb,2\n"), ("events.out.tfevents.1700000000.host", EVENTS),
    ("ttastats.toml", '[[logs]]\nfiles = "**/seed{seed}.csv"\nmetric = "val_loss <= 3.6"\n'),
    ("ttastats.toml", '[[logs]]\nfiles = "**/s*.jsonl"\nmetric = "val_acc >= 0.2"\nstep = ""\n'),
)  # fmt: skip


def random_files(draw: Draw) -> Files:
    """Return files of a few kinds, some torn, compressed or alike, and some that are no logs."""
    files: Files = {}
    for _ in range(draw.randrange(1, 4)):
        header, row, endings = draw.choice(CONTENTS)
        place, last = draw.choice(PLACES), draw.choice([1, 2, 3, 5])
        ending, is_torn = draw.choice(endings.split()), draw.chance(0.15)
        for k in range(draw.choice([1, 1, 2, 2, 3, 4, 4, 11])):
            word = ("adam", "muon", "sgd", "a b")[k // draw.choice([1, 2, 2]) % 4]
            path = place.format(k=k, h=k // 2, word=word) + ending
            rows = [
                row.format(
                    n=n, m=n - 1, p=n // 2, k=k % 6, v=f"{4 - n / (k + 5):.3}", a=n / 8 + k / 40
                )
                for n in range(1, last + 1 + (k == 9))
            ]
            if is_torn:
                rows = [row[: draw.choice([99, 99, 5])] for row in rows]
            if ending == ".jsonl":
                cells = [dict(zip(header.split(","), row.split(","), strict=False)) for row in rows]
                rows = [json.dumps(cell) for cell in cells]
            text = csv_of(*([header] if header and ending != ".jsonl" else []), *rows).encode()
            packed = draw.choice(["gz", *[""] * 9])
            files[f"{path}.{packed}" if packed else path] = (
                made_logs.COMPRESSED[packed](text) if packed else text
            )
    folders = sorted({path.rpartition("/")[0] for path in files})
    for name, content in draw.sample(OTHERS, draw.randrange(3)):
        files[f"{draw.choice(folders)}/{name}".lstrip("/")] = content
    return files


def at_random_of_folders(seeds: int) -> Iterator[str]:
    """Yield what is proposed for random files, of a folder, a file, or a pattern."""
    for seed in range(seeds):
        draw = Draw(f"guess {seed}")
        with TemporaryDirectory() as place, contextlib.chdir(place):
            files = random_files(draw)
            root, first = draw.choice(["logs", "acc"]), next(iter(files))
            made_logs.write(Path(root), files)
            path = draw.choice([root] * 6 + [f"{root}/{first}", f"{root}/*/*"])
            below = f"{root}/{first.rpartition('/')[0]}/ttastats.toml"
            outputs = ["ttastats.toml", f"{root}/ttastats.toml", below, "x.toml"]
            output = draw.choice([*[None] * 3 * ("*" not in path), *outputs])
            yield f"---------- {seed} {path} {output or ''}"
            try:
                proposal = tta.guess(path, output)
            except TtastatsError as error:
                yield str(error)
                continue
            yield from (
                [str(proposal), *proposal.config.splitlines()[2:]]
                if seed % 5 == 0
                else (in_short(proposal))
            )


def in_short(proposal: Guessed) -> Iterator[Any]:
    """Yield of each kind its files, what their names say, its runs and problems; the commands."""
    for kind in proposal.kinds:
        keys = kind.proposal.keys if kind.proposal else {}
        named = [keys.get(name) for name in ("entry", "run", "seconds")]
        reasons = kind.proposal.reasons if kind.proposal else ()
        doubts = [reason.text for reason in reasons if reason.key == "files"]
        ends = [kind.heads[name].to_list() for name in ("evaluations", "final", "timed")]
        yield kind.title, len(kind.files), keys.get("files", kind.files[-1]), named, doubts
        yield kind.entries, ends, [run["file"] for run in kind.runs], kind.parts, kind.problems
    yield [proposal.left, *proposal.commands()]


def of_paths() -> Iterator[Any]:
    for paths, inside in product(PATHS, (False, True)):
        for shape in layout.layouts(paths, runs_inside=inside):
            reasons = [(reason.sure, reason.text) for reason in shape.reasons]
            yield paths, inside, shape.pattern, shape.entry, reasons


@cases(
    "guesses", folders=of_folders, tables=partial(of_texts, TABLES, "losses/a.log"), paths=of_paths,
    lines=partial(of_texts, LINES, "losses/a.log"),
    random_tables=lambda: of_texts(at_random(80, table=True), "x/a.csv"),
    random_folders=lambda: at_random_of_folders(12),
    random_lines=lambda: of_texts(at_random(80, table=False), "x/a.log"),
)  # fmt: skip
def test_proposals_are_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()


def test_a_text_with_a_backslash_stands_in_single_quotes_unless_it_ends_in_one() -> None:
    for text, written in (
        (r"a\b", r"'a\b'"),
        (r"a'\b", r"'''a'\b'''"),
        (r"'a\b", r"''''a\b'''"),
        (r"a\b'", r'''"a\\b'"'''),
        ("\x7f", r'"\u007f"'),
        ("\U0001f600\u202e\U000e0001", '"\U0001f600\\u202e\\U000e0001"'),
    ):
        toml = proposal_toml(Proposal({"files": text}, ()))
        assert toml == f"[[logs]]\nfiles   = {written}\n"
        assert tomllib.loads(toml)["logs"] == [{"files": text}]


def test_lines_that_an_attacker_wrote_take_no_time() -> None:
    words = ("loss" + " " * 1900 + "x", "a " * 900, "1" * 1900, "1s " * 600, "1," * 900, "a" * 1900)
    for text in (f"{word}\n" for word in words):
        with pytest.raises(NoLogError):
            lines.proposal(text * 50, "a.log")


# ------------------------------------------------------------------------------- real logs


#: Runs of each kind of public logs, and none twice, as by a summary beside logs.
RUNS = {
    "algoperf": 41, "autoresearch": 13, "deepspeed": 6, "deit-jsonl": 2, "detectron2": 1,
    "keras-csv": 2, "lightning-csv": 22, "llmc": 1, "megatron": 2, "mmdet-json": 1,
    "modded-nanogpt": 46, "nanochat": 20, "nanogpt-stdout": 3, "parameter-golf": 3,
    "rl-seeds": 72, "torchtitan": 5, "wandb-export": 64, "yolo-csv": 4,
}  # fmt: skip


def without_named_target(truth: Mapping[str, Any]) -> dict[str, Any]:
    """Return a truth without the target itself, which a proposed block does not name."""
    judged = TARGET & (truth.keys() - {"target"})
    return without_target(truth) | {name: truth[name] for name in judged}


@pytest.mark.real
def test_blocks_that_are_guessed_read_real_logs_as_an_independent_reader_does(
    wild: Path, tmp_path: Path
) -> None:
    truth = json.loads((wild / "truth.json").read_text())
    setups = [setup for setup in truth if setup["kind"] in RUNS]
    wrong: list[str] = []
    numbers: dict[str, int] = {}
    logs, table = tmp_path / "wild", tmp_path / "x.parquet"
    for kind in RUNS:  # of AlgoPerf's three studies, which are alike, one
        shutil.copytree(wild / kind, logs / kind, ignore=shutil.ignore_patterns("study_[12]"))
        config = tta.guess(logs / kind).config
        # Time of a step back, a person says that an epoch begins there.
        (tmp_path / "x.toml").write_text(config.replace("# new_epoch", "new_epoch"))
        assert ("# new_epoch" in config) == (kind == "detectron2")
        account = tta.ingest([logs / kind], table, config=tmp_path / "x.toml", workers=1)
        numbers[kind] = account.runs
        runs = read_runs(pl.read_parquet(table), logs)
        table.unlink()
        of_kind = [
            {"runs": [run for run in setup["runs"] if (logs / run["file"]).exists()]}
            for setup in setups
            if setup["kind"] == kind
        ]
        number, differing = compared(of_kind, runs, without_named_target)
        wrong += differing
        assert number == sum(len(setup["runs"]) for setup in of_kind)
    assert wrong == []
    assert numbers == RUNS
    assert len(setups) == 81
