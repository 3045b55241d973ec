"""`ttastats guess` proposes blocks for logs that nobody has described, and says how sure it is."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import ttastats as tta
from tests.conftest import ROOT, matches_accepted
from tests.made_stores import scalar
from tests.test_wild import KINDS, differences, order_of, read_runs, seen, told
from ttastats.answers.guessing import kinds, layout, lines
from ttastats.answers.guessing.proposal import NoLogError, Proposal
from ttastats.base.errors import TtastatsError
from ttastats.cli import app

ACCEPTED = Path(__file__).parent / "reference" / "guess.txt"


def csv_of(*rows: str) -> str:
    return "\n".join(rows) + "\n"


def rows_of(header: str, number: int, row: str) -> str:
    """Return a table whose rows are made of `{n}` and `{down}`, which gets smaller."""
    made = (row.format(n=n, down=round(4 - n / 10, 3)) for n in range(1, number + 1))
    return csv_of(header, *made)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return logs of many kinds, with what is none."""
    top = tmp_path / "logs"
    files = {
        **{
            f"table/{entry}/seed{seed}.csv": rows_of(
                "step,elapsed,val_loss", 5, f"{{n}}00,{{n}}.{seed},{{down}}"
            )
            for entry in ("adam", "muon")
            for seed in (1, 2, 3)
        },
        "text/small-1.log": rows_of(
            "starting", 4, "2024-05-01 10:00:0{n},250 INFO step={n}0 eval_loss={down} lr=0.1"
        ),
        "text/small-2.log": rows_of(
            "starting", 4, "2024-05-01 11:00:0{n},500 INFO step={n}0 eval_loss={down} lr=0.1"
        ),
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
    }
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "model.bin").write_bytes(bytes(range(256)) * 40)
    return top


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    refused = isinstance(result.exception, TtastatsError)  # which the program ends with 2
    said = result.stderr + (str(result.exception) if refused else "")
    if result.exception and not refused and not isinstance(result.exception, SystemExit):
        raise result.exception
    return 2 if refused else result.exit_code, result.stdout, said


class TestFolder:
    def test_what_is_printed_is_what_was_accepted(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(folder.parent)
        assert matches_accepted(ACCEPTED, f"{tta.guess('logs')}\n\n{tta.guess('logs').config}")

    def test_what_is_written_reads_the_runs_that_were_shown(self, folder: Path) -> None:
        code, _, said = run("guess", folder, "-o", folder / "ttastats.toml")
        assert (code, said) == (0, f"wrote {folder / 'ttastats.toml'}\n")
        account = tta.ingest([folder], folder.parent / "x.parquet")
        assert account.runs == 6 + 2 + 1 + 2
        assert {problem.code for problem in account.rejected} == {"step_back"}
        rows = pl.read_parquet(folder.parent / "x.parquet")
        table = rows.filter(pl.col("source").str.contains("/table/"))
        assert set(table["entry"]) == {"adam", "muon"}
        assert set(table["seed"]) == {1, 2, 3}
        text = rows.filter(pl.col("source").str.contains("small-1"))
        assert text["seconds"].to_list() == [0.0, 1.0, 2.0, 3.0]
        assert text["step"].to_list() == [10, 20, 30, 40]

    def test_one_of_the_three_choices_mends_a_step_that_goes_back(self, folder: Path) -> None:
        config = tta.guess(folder).config
        for choice, number in (("new_run", 2), ("new_epoch", 1), ("resume", 1)):
            (folder / "ttastats.toml").write_text(
                config.replace(f'# {choice} = "step back"', f'{choice} = "step back"')
            )
            account = tta.ingest([folder / "back"], folder.parent / f"{choice}.parquet")
            assert (account.runs, account.rejected) == (number, ())

    def test_a_file_written_above_the_logs_holds_for_them(self, folder: Path) -> None:
        run("guess", folder, "-o", folder.parent / "ttastats.toml")
        assert tta.ingest([folder], folder.parent / "x.parquet").runs == 11

    def test_a_file_of_another_name_is_named_in_the_next_command(self, folder: Path) -> None:
        other = folder.parent / "elsewhere" / "mine.toml"
        other.parent.mkdir()
        _, shown, _ = run("guess", folder, "-o", other)
        assert f"ttastats ingest {folder} --config {other}" in shown
        assert tta.ingest([folder], folder.parent / "x.parquet", config=other).runs == 11

    def test_nothing_that_exists_is_written_over(self, folder: Path) -> None:
        (folder / "ttastats.toml").write_text("# mine\n")
        code, _, said = run("guess", folder, "-o", folder / "ttastats.toml")
        assert code == 2
        assert "exists already; refusing to overwrite" in said
        assert (folder / "ttastats.toml").read_text() == "# mine\n"
        code, _, said = run("guess", folder, "-o", folder)
        assert code == 2
        assert "is a folder" in said

    def test_what_is_described_already_is_not_guessed_at(self, folder: Path) -> None:
        run("guess", folder, "-o", folder / "ttastats.toml")
        found = tta.guess(folder)
        assert found.config == ""
        assert all(kind.title.startswith("already described") for kind in found.kinds)
        assert "--a entry=adam --b entry=muon" in str(found)

    def test_logs_that_are_read_without_a_block_are_said_to_be(
        self, two_systems: Path, tmp_path: Path
    ) -> None:
        code, shown, _ = run("guess", two_systems)
        assert code == 0
        assert "mlperf-mllog: read without a block" in shown
        assert "[[logs]]" not in shown
        code, _, said = run("guess", two_systems, "-o", tmp_path / "ttastats.toml")
        assert code == 2
        assert "read without a block" in said

    def test_of_metrics_that_are_as_likely_the_first_is_shown(self, tmp_path: Path) -> None:
        scores = {f"eval_{name}_accuracy": 0.3 for name in "hgfedcba"}
        state = {"log_history": [{"step": 1, **scores}], "global_step": 1, "epoch": 1.0}
        (tmp_path / "trainer_state.json").write_text(json.dumps(state))
        assert tta.guess(tmp_path).kinds[0].runs[0].metric == "eval_a_accuracy"

    def test_what_lies_beside_a_log_is_not_a_second_run(self, tmp_path: Path) -> None:
        state = {"log_history": [{"step": 1, "eval_loss": 0.3}], "global_step": 1, "epoch": 1.0}
        (tmp_path / "trainer_state.json").write_text(json.dumps(state))
        (tmp_path / "progress.csv").write_text("step,val_loss\n1,0.3\n2,0.2\n")
        found = tta.guess(tmp_path)
        assert [kind.title for kind in found.kinds] == ["hf-trainer: read without a block"]
        assert found.left[0][1] == ("progress.csv",)

    def test_a_crashed_run_does_not_break_the_pattern(self, folder: Path) -> None:
        (folder / "table" / "adam" / "seed4.csv").write_text("step,elapsed,val_loss\n")
        found = tta.guess(folder / "table")
        assert 'files   = "{entry}/seed{seed}.csv"' in found.config
        assert "seed4.csv, which cannot be read: failed runs?" in found.config

    def test_a_folder_with_no_logs_is_an_error(self, tmp_path: Path) -> None:
        assert run("guess", tmp_path)[0] == 2
        (tmp_path / "notes.md").write_text("x")
        code, shown, said = run("guess", tmp_path)
        assert (code, shown) == (2, "")
        assert (
            "none of 1 file(s) looks like a log; notes.md: a document: runs are not read from prose"
            in said
        )
        assert run("guess", tmp_path / "none")[0] == 2

    def test_files_of_a_pattern_and_of_an_archive_are_looked_at(
        self, folder: Path, tmp_path: Path
    ) -> None:
        found = tta.guess(folder / "table" / "*" / "*.csv")
        assert 'files   = "{entry}/seed{seed}.csv"' in found.config
        assert f"-o {folder / 'table' / 'ttastats.toml'}" in str(found)
        with tarfile.open(tmp_path / "packed.tar.gz", "w:gz") as archive:
            archive.add(folder / "table", "table")
        tta.guess(tmp_path / "packed.tar.gz", tmp_path / "ttastats.toml")
        rows = tmp_path / "x.parquet"
        assert tta.ingest([tmp_path / "packed.tar.gz"], rows).runs == 6
        assert set(pl.read_parquet(rows)["entry"]) == {"adam", "muon"}

    def test_folders_that_make_an_entry_together_are_sides(self, folder: Path) -> None:
        for name in ("adam", "muon"):
            (folder / "two" / name).mkdir(parents=True)
            (folder / "table" / name).rename(folder / "two" / name / f"{name}-long")
        assert "--a entry=adam/adam --b entry=muon/muon" in str(tta.guess(folder / "two"))

    def test_standard_input_is_no_file_that_a_block_could_name(self) -> None:
        assert run("guess", "-")[0] == 2

    def test_a_pointer_of_git_lfs_is_named(self, folder: Path) -> None:
        text = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
        (folder / "table" / "adam" / "seed9.csv").write_text(text)
        left = dict(tta.guess(folder).left)
        reason = "a Git LFS pointer, not the file itself: run `git lfs pull`"
        assert left[reason] == ("table/adam/seed9.csv",)

    def test_names_that_do_harm_are_written_harmlessly(self, tmp_path: Path) -> None:
        for name in (b"we{ird}*?'\"$(x)\n.csv", b"esc\x1b[31m.csv", b"bad\xff.csv", b"a\\b.csv"):
            (tmp_path / os.fsdecode(name)).write_text("step,val_loss\n1,2\n2,1\n")
        code, shown, _ = run("guess", tmp_path, "-o", tmp_path / "ttastats.toml")
        assert code == 0
        assert "\x1b" not in shown
        assert "\x1b" not in (tmp_path / "ttastats.toml").read_text()
        assert tta.ingest([tmp_path], tmp_path / "x.parquet").runs == 4

    def test_a_large_file_is_looked_at_in_part(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ttastats.answers.guessing.trial._MOST_READ", 200)
        text = "step,val_loss\n" + "".join(f"{n},{n}\n" for n in range(1000, 2000))
        (tmp_path / "a.csv").write_text(text)
        (kind,) = tta.guess(tmp_path).kinds
        assert kind.runs[0].evaluations < 30
        assert "a.csv: only the first" in kind.problems[-1]


class TestEveryFile:
    def test_is_looked_at_and_marked_where_it_fails(self, tmp_path: Path) -> None:
        for entry in ("adam", "sgd"):
            for seed in range(1, 9):
                rows = [f"{n},{n}.5,{4 - n / 10}" for n in range(1, 6)]
                if (entry, seed) in {("adam", 3), ("sgd", 6)}:
                    rows += rows[2:]  # a restart
                path = tmp_path / "runs" / entry / f"seed{seed}.csv"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(csv_of("step,elapsed,val_loss", *rows))
        shown = str(tta.guess(tmp_path / "runs"))
        assert "14 runs of 2 entries (adam, sgd); seeds 1, 2, 3, 4, 5 and 3 more" in shown
        assert "70 evaluations; time from elapsed s" in shown
        assert " ! adam/seed3.csv:7, sgd/seed6.csv:7: step decreases (here)" in shown
        assert shown.rstrip().endswith("--a entry=adam --b entry=sgd --target 'val_loss<=3.5'")

    def test_without_a_time_the_quality_at_the_end_leads_to_a_verdict(self, tmp_path: Path) -> None:
        for entry, worse in (("adam", 0.0), ("sgd", 0.5)):
            for seed in (1, 2, 3):
                path = tmp_path / "runs" / entry / f"seed{seed}.csv"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(csv_of("step,val_loss", "1,4", f"2,{3 + worse + seed / 100}"))
        found = tta.guess(tmp_path / "runs")
        (words,) = (each for each in found.commands() if "compare" in each)
        assert words.endswith("--a entry=adam --b entry=sgd --at-end")
        assert "no time" in str(found)
        table = tmp_path / "runs.parquet"
        tta.ingest([tmp_path / "runs"], table, guess=tta.guess)
        options = words.replace("runs.parquet", str(table)).split()[2:]
        assert "B is worse than A" in run("compare", *options)[1]

    def test_where_no_run_can_be_read_the_block_comes_first(self, folder: Path) -> None:
        (command,) = tta.guess(folder / "back").commands()
        assert command.startswith("ttastats guess ")

    def test_one_setup_is_compared_with_another_table(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text(csv_of("step,elapsed,val_loss", "1,1,4", "2,2,3"))
        *_, last = tta.guess(tmp_path).commands()
        assert "OTHER.parquet --target 'val_loss<=3'" in last

    def test_a_summary_beside_logs_is_no_second_run(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            (tmp_path / f"run_{name}").mkdir()
            (tmp_path / f"run_{name}" / "log.csv").write_text(
                csv_of("step,val_loss", "1,4", f"2,{3 if name == 'a' else 2}")
            )
        (tmp_path / "all.csv").write_text(csv_of("name,val_loss", "a,3", "b,2"))
        left = {name: reason for reason, names in tta.guess(tmp_path).left for name in names}
        assert left["all.csv"].startswith("a summary beside logs")
        alone = tta.guess(tmp_path / "all.csv")
        assert alone.kinds[0].heads.height == 2
        account = tta.ingest([tmp_path], tmp_path / "x.parquet", guess=tta.guess)
        assert account.runs == 2
        assert any(
            each.code == "not_guessed" and "all.csv" in each.message for each in account.problems
        )

    def test_means_over_runs_are_no_runs(self, tmp_path: Path) -> None:
        path = tmp_path / "groups.csv"
        for header in ("name,val_loss_mean,val_loss_std", "Step,lr: 1 - val/loss,lr: 2 - val/loss"):
            path.write_text(csv_of(header, "1,3,.1", "2,2,.1"))
            with pytest.raises(TtastatsError, match="neither runs nor seeds nor their spread"):
                tta.guess(path)
        path.write_text(csv_of("name,val_loss_mean,val_loss_sem", "a,3,.1", "b,2,.1"))
        with pytest.raises(TtastatsError, match="neither runs nor seeds nor their spread"):
            tta.guess(path)

    def test_events_beside_a_table_of_their_run_with_its_times_are_no_second_run(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "log.csv").write_text(csv_of("step,elapsed,val_loss", "1,1,4", "2,2,3"))
        events = tmp_path / "events.out.tfevents.1700000000.host"
        events.write_bytes(scalar(1.0, 1, val_loss=4.0) + scalar(2.0, 2, val_loss=3.0))
        found = tta.guess(tmp_path)
        assert [kind.files for kind in found.kinds] == [("log.csv",)]
        account = tta.ingest([tmp_path], tmp_path / "x.parquet", guess=tta.guess)
        assert (account.runs, account.parts) == (1, 1)

    def test_rows_of_several_seeds_without_a_column_that_says_so_are_refused(
        self, tmp_path: Path
    ) -> None:
        rows = [f"{n},{4 - n / 10 - seed / 100}" for n in range(1, 5) for seed in range(3)]
        (tmp_path / "seeds.csv").write_text(csv_of("step,val_loss", *rows))
        problem = "seeds.csv:3: val_loss is told anew of the same step in 8 of 12 rows"
        assert problem in str(tta.guess(tmp_path))
        code, _, said = run("ingest", tmp_path, "--guess", "-o", tmp_path / "x.parquet")
        assert code == 2
        assert 'run = "COLUMN"' in said
        twice = [f"{n},{4 - n / 10}" for n in (1, 2, 3, 4, 4)]  # the last is evaluated again
        (tmp_path / "seeds.csv").write_text(csv_of("step,val_loss", *twice))
        assert tta.ingest([tmp_path], tmp_path / "x.parquet", guess=tta.guess).rejected == ()

    def test_a_logbook_is_refused_by_name(self, tmp_path: Path) -> None:
        path = tmp_path / "LOGBOOK.md"
        path.write_text("| step | val_loss |\n|---|---|\n| 1 | 2.0 |\n")
        for command in (("ingest", path), ("guess", path), ("ingest", path, "--guess")):
            code, _, said = run(*command)
            assert code == 2
            assert "a document: runs are not read from prose or its tables" in said


class TestReadAsGuessed:
    def test_files_that_nobody_described_lead_to_a_verdict_in_one_command(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        sides = [ROOT / "examples" / "own_logs" / "logs" / side for side in ("adam", "muon")]
        for _ in ("read", "kept"):
            code, shown, said = run("compare", *sides, "--guess", "--target", "val_loss<=3.4")
            assert code == 0
            assert "3/3 3/3" in shown
            assert said.count('    files   = "seed{seed}.csv"') == 2
            assert "# seconds? elapsed: in s, guessed from the name" in said
        assert run("summary", sides[0])[0] == 2  # the table of a guess is not that of no guess
        without_a_target = " ".join(run("compare", *sides, "--guess")[1].split())
        assert "--target METRIC=VALUE, or compare the ends with --at-end" in without_a_target

    def test_the_block_stands_in_the_table(self, folder: Path) -> None:
        table = folder.parent / "x.parquet"
        assert run("ingest", folder / "table", "--guess", "-o", table)[0] == 0
        (kept,) = tta.problems(table, codes=["guessed_block"]).rows
        assert tomllib.loads(kept["message"])["logs"] == [
            {"files": "{entry}/seed{seed}.csv", "metric": "val_loss", "seconds": "elapsed s",
             "step": "step"}
        ]  # fmt: skip
        assert "guessed_block" in run("problems", table)[1]
        again = tta.ingest([folder / "table"], table, guess=tta.guess)
        assert [each.code for each in again.problems].count("guessed_block") == 1
        assert not again.written

    def test_a_file_with_an_open_question_is_rejected_and_the_others_are_read(
        self, folder: Path
    ) -> None:
        table = folder.parent / "x.parquet"
        code, _, said = run("ingest", folder, "--guess", "-o", table)
        assert code == 1
        assert "back/old.log:3: step decreases" in said
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

    def test_two_descriptions_are_refused(self, folder: Path) -> None:
        for other in (("--metric", "val_loss"), ("--config", "x.toml")):
            code, _, said = run("ingest", folder, "--guess", *other)
            assert code == 2
            assert f"{other[0]} and --guess both describe the logs" in said

    def test_a_file_that_no_format_knows_ends_with_the_line_that_helps(self, folder: Path) -> None:
        for path in (folder / "seeds.jsonl", folder / "table"):
            code, _, said = run("ingest", path)
            assert code == 2
            assert f"`ttastats guess {path}` proposes how to read other logs; --guess reads" in said


def guessed(text: str, path: str = "logs/a.log") -> dict[str, Any]:
    return dict(kinds.sketched(text.encode(), path).proposal.keys)


def doubts(proposal: Proposal) -> Counter[str]:
    return Counter(reason.key for reason in proposal.reasons if not reason.sure)


class TestColumns:
    def test_a_quality_comes_before_a_loss_and_training_is_left_out(self) -> None:
        said = guessed(csv_of("epoch,loss,acc,val_loss,val_acc", "1,2,.1,2,.1", "2,1,.2,1,.2"))
        assert said["metric"] == ("val_acc", "val_loss")

    def test_a_loss_of_training_does_where_nothing_else_is_there_and_is_doubted(self) -> None:
        found = kinds.sketched(b"step,train_loss\n1,3\n2,2\n", "a.csv").proposal
        assert found.keys["metric"] == ("train_loss",)
        assert "metric" in doubts(found)

    def test_a_direction_that_no_name_tells_is_asked_for(self) -> None:
        found = kinds.sketched(
            b"Wall time,Step,Value\n1700000000,1,3\n1700000001,2,2\n", "a.csv"
        ).proposal
        assert found.keys["seconds"] == "Wall time unix"
        assert "is higher or lower better?" in str(found.reasons)

    def test_of_several_clocks_the_one_that_goes_forward_is_taken(self) -> None:
        text = csv_of("step,time,elapsed,val_loss", *(f"{n},{n % 2},{n},1" for n in range(8)))
        assert guessed(text, "a.csv")["seconds"] == "elapsed s"

    def test_two_clocks_and_the_time_of_one_step_are_no_time(self) -> None:
        two = csv_of("step,time,elapsed,val_loss", "1,1,1,1", "2,2,2,2")
        assert guessed(two, "a.csv")["seconds"] == ""
        one = csv_of("step,time,val_loss", *(f"{n},{n % 2},1" for n in range(8)))
        assert guessed(one, "a.csv")["seconds"] == ""

    def test_a_word_of_time_in_a_name_does_where_no_known_clock_is_there(self) -> None:
        text = csv_of("step,total train time (min),eval_time,val_loss", "1,2,9,1", "2,4,9,1")
        assert guessed(text, "a.csv")["seconds"] == "total train time (min) min"
        text = csv_of("step,time_per_epoch,eta_seconds,val_loss", "1,1,1,1", "2,2,2,2")
        assert "seconds" not in guessed(text, "a.csv")

    def test_stamps_are_read_by_their_form(self) -> None:
        text = csv_of("timestamp,val_loss", "2024-01-01T10:00:00.5,1", "2024-01-01T10:00:01.5,1")
        assert guessed(text, "a.csv")["seconds"] == "timestamp %Y-%m-%dT%H:%M:%S.%f"

    def test_a_seed_tells_runs_apart_where_the_step_goes_forward_by_it(self) -> None:
        text = csv_of("step,reward,seed", "1,1,7", "2,1,7", "1,1,8", "2,1,8")
        assert guessed(text, "a.csv")["run"] == ("seed",)
        named = csv_of("name,seed,val_acc", "a,1,.5", "a,2,.6", "b,1,.7", "b,2,.8")
        assert guessed(named, "a.csv")["run"] == ("name", "seed")
        assert guessed(named, "a.csv")["entry"] == "name"

    def test_a_seed_that_does_not_vary_says_nothing(self) -> None:
        assert "run" not in guessed(csv_of("step,val_acc,seed", "1,.1,7", "2,.2,7"), "a.csv")

    def test_epochs_from_zero_get_one_more(self) -> None:
        said = guessed(csv_of("epoch,val_acc", "0,.1", "1,.2", "2,.3"), "a.csv")
        assert said["epoch"] == "epoch + 1"
        assert (
            guessed(csv_of("epoch,step,val_acc", "0,9,.1", "1,18,.2"), "a.csv")["epoch"] == "epoch"
        )


#: Lines as people print them, with the metric, the progress and the clock that they tell.
LINES = [
    ("step 2000: train loss 3.7, val loss 3.8\nstep 4000: train loss 3.2, val loss 3.1",
     {"metric": ("val_loss",), "step": "step"}),
    ("Epoch [1/10], Loss: 0.3, Val Acc: 91.2%\nEpoch [2/10], Loss: 0.3, Val Acc: 92.2%",
     {"metric": ("val_acc",), "epoch": "epoch"}),
    ("Epoch 1/9\n 7/7 loss: 0.3 - val_loss: 0.2\nEpoch 2/9\n 7/7 loss: 0.3 - val_loss: 0.1",
     {"metric": ("val_loss",), "epoch": "epoch"}),
    ("[epoch 3] test accuracy = 0.93 (elapsed 1.5 s)\n[epoch 4] test accuracy = .95 (elapsed 3 s)",
     {"metric": ("test_accuracy",), "epoch": "epoch", "seconds": "time_s s"}),
    ("step:0/9 val_loss:10.8 train_time:0ms avg:nan\nstep:5/9 val_loss:4.8 train_time:7000ms avg:5",
     {"metric": ("val_loss",), "step": "step", "seconds": "time_ms ms"}),
    ("{'eval_loss': 0.3, 'epoch': 1.0}\n{'eval_loss': 0.2, 'epoch': 2.0}",
     {"metric": ("eval_loss",), "epoch": "epoch"}),
    ("Epoch [1/2] | Test Acc: 55.0% | 0.3s elapsed\nEpoch [2/2] | Test Acc: 56.0% | 0.6s elapsed",
     {"metric": ("test_acc",), "epoch": "epoch", "seconds": "time_s s"}),
    ("epoch 1 val_loss: 2 time: 9.3s\nepoch 2 val_loss: 1 time: 9.1s\nepoch 3 val_loss: 1 time: 9s",
     {"metric": ("val_loss",), "epoch": "epoch", "seconds": "sum time_s s"}),
    ("1/2 [00:12<00:12, 1it/s, epoch=1, val_acc=.5]\r2/2 [01:24<00:00, 1it/s, epoch=2, val_acc=.6]",
     {"metric": ("val_acc",), "epoch": "epoch", "seconds": "elapsed_bar s"}),
    ("E 1: 100%|#| 9/9 [00:12<00:00, val_acc=.5]\nE 2: 100%|#| 9/9 [00:13<00:00, val_acc=.6]",
     {"metric": ("val_acc",), "seconds": "sum elapsed_of_bar s"}),
    ("100%|#| 9/9 [00:12<00:00, 1it/s]\nval_acc: .5\n100%|#| 9/9 [00:12<00:00, 2it/s]\nval_acc: .6",
     {"metric": ("val_acc",), "seconds": "sum elapsed_of_bar s"}),
    ("".join(f"step {n} time {n} s\nstep {n} val_loss {9 - n}\n" for n in (1, 2, 3)),
     {"metric": ("val_loss",), "step": "step", "seconds": "time_s s"}),
    ("".join(f"2024-05-01 10:0{n}:00 epoch {n} val_loss {9 - n} elapsed {n}.5s\n" for n in (1, 2)),
     {"metric": ("val_loss",), "epoch": "epoch",
      "seconds": ("time_s s", "stamp %Y-%m-%d %H:%M:%S")}),
    ("epoch,elapsed,val_acc\n1,0:00:30,.5\n2,0:01:00,.6", {"metric": ("val_acc",), "epoch": "epoch",
     "seconds": "elapsed s"}),
    ("1 8.04\n2 7.5\n3 6", {"metric": ("train_loss",), "step": "step"}),
    ("# step acc\n1 .4\n2 .5\n3 .6\n4 .6\n5 .6", {"metric": ("acc",), "step": "step"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), LINES)
def test_lines_are_read_as_people_print_them(text: str, expected: dict[str, Any]) -> None:
    said = guessed(text, "losses/a.log")
    assert {key: said[key] for key in said if key != "line"} == expected


def test_every_expression_that_is_guessed_is_doubted() -> None:
    found = lines.proposal("step=1 val_loss=3\nstep=2 val_loss=2\n", "a.log")
    assert doubts(found)["line"] == 1


def test_stamps_of_the_hour_alone_are_read_too() -> None:
    said = guessed("23:59:30 step 10 acc 0.50\n00:00:30 step 20 acc 0.90\n")
    assert said["seconds"] == "stamp %H:%M:%S"


def test_stamps_at_the_start_alone_are_no_clock() -> None:
    start = "2024-01-01 10:00:00 loading\n2024-01-01 10:00:01 loaded\n"
    told = "".join(f"step {n} val_loss {n}\n" for n in range(9))
    assert "seconds" not in guessed(start + told)


def test_lines_that_an_attacker_wrote_take_no_time() -> None:
    for text in ("loss" + " " * 1900 + "x\n", "a " * 900 + "\n", "1" * 1900 + "\n"):
        with pytest.raises(NoLogError):
            lines.proposal(text * 50, "a.log")


@pytest.mark.parametrize(
    ("paths", "pattern"),
    [
        (["adam/seed1.csv", "muon/seed1.csv", "muon/seed2.csv"], "{entry}/seed{seed}.csv"),
        (["adam_s1.csv", "adam_s2.csv", "muon_s1.csv"], "{entry}_s{seed}.csv"),
        (["adam-1.csv", "adam-2.csv", "muon-1.csv"], "{entry}-{run}.csv"),
        (["resnet-18.csv", "resnet-50.csv", "vgg-16.csv"], "{entry}.csv"),
        (["x/version_0/m.csv", "x/version_1/m.csv"], "x/version_{run}/m.csv"),
        (["a/x.csv", "a/y.csv", "b/x.csv"], "{entry}/{run}.csv"),
        (["run_lr0.1_v2.txt", "run_lr0.3_v2.txt"], "run_{entry}_v2.txt"),
        (["only.csv"], "only.csv"),
        (["m/a/s1.csv.gz", "m/a/s2.csv"], "m/a/s{seed}.csv"),
        (["a/b/seed1.log", "c/d/seed1.log"], "{folder}/{folder2}/seed1.log"),
        (
            [f"{one}/1d7c6c0{one}-846f-4dc8-9809-dcb1e42496da.txt" for one in "ab"],
            "{entry}/{run}.txt",
        ),
    ],
)  # fmt: skip
def test_a_pattern_is_made_of_what_varies(paths: list[str], pattern: str) -> None:
    (found,) = layout.layouts(paths, runs_inside=False)
    assert found.pattern == pattern


def test_names_that_differ_between_folders_are_setups_and_not_runs_of_one() -> None:
    paths = ["a/check/kernel.log", "a/check/own.log", "b/base/training.log"]
    (found,) = layout.layouts(paths, runs_inside=False)
    assert found.pattern == "{folder}/{folder2}/{folder3}.log"
    assert found.entry == "{folder}/{folder2}/{folder3}"
    (found,) = layout.layouts(["a/x.log", "a/y.log", "b/x.log", "b/y.log"], runs_inside=False)
    assert found.pattern == "{entry}/{run}.log"


def test_files_with_runs_inside_are_benchmarks_of_their_folder() -> None:
    (found,) = layout.layouts(["a/x.csv", "a/y.csv", "b/x.csv"], runs_inside=True)
    assert found.pattern == "{entry}/{benchmark}.csv"
    assert not all(reason.sure for reason in found.reasons)


def test_what_is_written_is_toml_whatever_stands_in_it(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("'val_loss': 3 # \"x\\y\"\n'val_loss': 2 # \"x\\y\"\n")
    (block,) = tomllib.loads(tta.guess(tmp_path).config)["logs"]
    assert block["metric"] == "val_loss"


# ------------------------------------------------------------------------------- real logs


@pytest.mark.real
def test_blocks_that_are_guessed_read_real_logs_as_an_independent_reader_does(
    wild: Path, tmp_path: Path
) -> None:
    setups = [one for one in json.loads((wild / "truth.json").read_text()) if one["kind"] in KINDS]
    wrong: dict[str, list[str]] = {}
    numbers: dict[str, int] = {}
    logs = tmp_path / "wild"
    for kind in KINDS:  # of AlgoPerf's three studies, which are alike, one
        shutil.copytree(wild / kind, logs / kind, ignore=shutil.ignore_patterns("study_[12]"))
        config = tta.guess(logs / kind).config
        # Time of a step back, a person says that an epoch begins there.
        (tmp_path / "x.toml").write_text(config.replace("# new_epoch", "new_epoch"))
        asked = config.count("# new_epoch")
        table = tmp_path / "x.parquet"
        account = tta.ingest([logs / kind], table, config=tmp_path / "x.toml", workers=1)
        numbers[kind] = account.runs
        runs = read_runs(pl.read_parquet(tmp_path / "x.parquet"), logs)
        (tmp_path / "x.parquet").unlink()
        taken: dict[tuple[str, str], int] = {}
        for setup in (one for one in setups if one["kind"] == kind):
            for truth in (run for run in setup["runs"] if (logs / run["file"]).exists()):
                key = (truth["file"], truth["metric"])
                position = order_of(truth, key, runs, taken)
                known = {name: value for name, value in seen(truth).items() if name != "target"}
                found = ["not read"] if position is None else None
                if position is not None:
                    read = {**told(runs[key][position], truth), "target": None}
                    found = differences(read, known)
                if found:
                    wrong.setdefault(setup["setup"], []).extend(found)
        assert (asked > 0) == (kind == "detectron2")
    assert wrong == {}
    assert numbers == {  # and none twice, as by a summary beside logs
        "algoperf": 41, "autoresearch": 13, "deepspeed": 6, "deit-jsonl": 2, "detectron2": 1,
        "keras-csv": 2, "lightning-csv": 22, "llmc": 1, "megatron": 2, "mmdet-json": 1,
        "modded-nanogpt": 46, "nanochat": 20, "nanogpt-stdout": 3, "parameter-golf": 3,
        "rl-seeds": 72, "torchtitan": 5, "wandb-export": 64, "yolo-csv": 4,
    }  # fmt: skip
    assert len(setups) == 81
