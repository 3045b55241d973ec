"""Own logs are read as `ttastats.toml`, a preset or the options of `ingest` say."""

from __future__ import annotations

import tarfile
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import ttastats as tta
from ttastats.base.errors import TtastatsError
from ttastats.cli import app
from ttastats.table import schema

CSV = "step,time,val_loss\n10,1.0,3.5\n20,2.0,3.2\n"
TOML = """[[logs]]
files   = "{entry}/seed{seed}.csv"
metric  = "val_loss <= 3.28"
seconds = "time s"
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    for entry in ("old", "new"):
        (folder / entry).mkdir(parents=True)
        for seed in (1, 2):
            (folder / entry / f"seed{seed}.csv").write_text(CSV)
    (folder / "README.md").write_text("Some, text, about time\n")
    return folder


def ingested(logs: Path, *arguments: str) -> tuple[int, str, pl.DataFrame | None]:
    output = Path(str(logs).partition("*")[0]).parent / "out.parquet"
    result = CliRunner().invoke(app, ["ingest", str(logs), "-o", str(output), *arguments])
    refused = isinstance(result.exception, TtastatsError)  # which the program ends with 2
    said = result.stderr + (str(result.exception) if refused else "")
    return (
        2 if refused else result.exit_code,
        said,
        pl.read_parquet(output) if output.exists() else None,
    )


def runs(rows: pl.DataFrame | None) -> set[tuple[str, int | None]]:
    assert rows is not None
    return set(rows.select("entry", "seed").unique().rows())


ALL = {("old", 1), ("old", 2), ("new", 1), ("new", 2)}


class TestFileOfBlocks:
    def test_beside_the_logs_is_used_and_is_no_log(self, logs: Path) -> None:
        (logs / "ttastats.toml").write_text(TOML)
        code, said, rows = ingested(logs)
        assert code == 0
        assert runs(rows) == ALL
        assert "4 logs read, 1 other files: 4 runs" in said

    def test_in_a_folder_above_is_used_with_its_own_root(self, logs: Path) -> None:
        (logs.parent / "ttastats.toml").write_text(TOML.replace("{entry}", "logs/{entry}"))
        assert runs(ingested(logs)[2]) == ALL
        assert runs(ingested(logs / "old" / "seed1.csv")[2]) >= {("old", 1)}

    def test_in_a_folder_below_holds_for_that(self, logs: Path) -> None:
        (logs / "old" / "ttastats.toml").write_text(TOML.replace("{entry}/", ""))
        assert runs(ingested(logs)[2]) == {("old", 1), ("old", 2)}

    def test_may_be_named(self, logs: Path, tmp_path: Path) -> None:
        other = tmp_path / "elsewhere" / "my.toml"
        other.parent.mkdir()
        other.write_text(TOML)
        assert runs(ingested(logs, "--config", str(other))[2]) == ALL

    def test_in_an_archive_is_used(self, logs: Path, tmp_path: Path) -> None:
        (logs / "ttastats.toml").write_text(TOML)
        archive = tmp_path / "packed.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(logs, "logs")
        output = tmp_path / "packed.parquet"
        assert tta.ingest([archive], output).runs == 4
        assert runs(pl.read_parquet(output)) == ALL

    def test_that_changes_makes_all_logs_read_again(self, logs: Path, tmp_path: Path) -> None:
        output = tmp_path / "out.parquet"
        (logs / "ttastats.toml").write_text(TOML)
        tta.ingest([logs], output)
        assert tta.ingest([logs], output).unchanged == 5
        (logs / "ttastats.toml").write_text(TOML.replace("3.28", "3.0"))
        assert tta.ingest([logs], output).unchanged == 0
        assert set(pl.read_parquet(output)["target_value"]) == {3.0}

    def test_that_is_wrong_ends_the_ingest_with_file_and_line(self, logs: Path) -> None:
        (logs / "ttastats.toml").write_text(TOML.replace("seconds", "second"))
        code, said, rows = ingested(logs)
        assert (code, rows) == (2, None)
        assert "ttastats.toml:4: unknown key 'second'" in said
        assert "Nearest: seconds" in said

    def test_whose_pattern_matches_nothing_is_told(self, logs: Path) -> None:
        (logs / "ttastats.toml").write_text(f'{TOML}\n[[logs]]\nfiles = "runs/{{run}}.csv"\n')
        code, said, _ = ingested(logs)
        assert code == 0
        assert "ttastats.toml:6: no file matches files = 'runs/{run}.csv'" in said

    def test_goes_before_what_a_file_looks_like(self, logs: Path) -> None:
        text = "epoch,loss,val_loss\n0,1.0,2.0\n"
        (logs / "old" / "keras.csv").write_text(text)
        (logs / "ttastats.toml").write_text('[[logs]]\nfiles = "**/keras.csv"\nmetric = "loss"\n')
        rows = ingested(logs)[2]
        assert rows is not None
        assert set(rows["metric"]) == {"loss"}

    def test_names_files_that_are_not_there_or_not_utf_8(self, logs: Path) -> None:
        (logs / "ttastats.toml").write_text(TOML)
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
        (logs / "old" / "seed1.csv").write_text(pointer)
        (logs / "new" / "seed1.csv").write_text(CSV, "utf-16")
        code, said, rows = ingested(logs)
        assert code == 1
        assert "seed1.csv: a Git LFS pointer" in said
        assert "seed1.csv: a log in UTF-16; convert it to UTF-8" in said
        assert rows is not None
        assert runs(rows.filter(schema.is_run())) == {("old", 2), ("new", 2)}
        # The pattern says which runs the others would have been.
        assert runs(rows.filter(run_status="unreadable")) == {("old", 1), ("new", 1)}


class TestOptions:
    def test_say_one_block(self, logs: Path) -> None:
        code, _, rows = ingested(
            logs,
            *("--files", "{entry}/seed{seed}.csv"),
            *("--metric", "val_loss<=3.28"),
            *("--seconds", "time s"),
        )
        assert code == 0
        assert runs(rows) == ALL
        assert rows is not None
        assert set(rows["target_source"]) == {"user"}

    def test_without_files_mean_all_that_have_the_metric(self, logs: Path) -> None:
        code, said, rows = ingested(logs, "--metric", "val_loss", "--seconds", "time s")
        assert code == 0
        assert runs(rows) == ALL
        assert "4 logs read, 1 other files" in said

    @pytest.mark.parametrize(
        ("given", "files"),
        [
            ("logs/[no]*", "seed{seed}.csv"),
            ("logs/*/*.csv", "{entry}/seed{seed}.csv"),
            ("lo*", "{entry}/seed{seed}.csv"),
            ("lo*", "logs/{entry}/seed{seed}.csv"),
        ],
    )
    def test_start_at_the_folders_that_a_pattern_of_paths_means(
        self, logs: Path, given: str, files: str
    ) -> None:
        code, _, rows = ingested(
            logs.parent / given, "--files", files, "--metric", "val_loss", "--seconds", "time s"
        )
        assert code == 0
        assert rows is not None
        assert set(rows["seed"]) == {1, 2}
        assert set(rows["entry"]) == {"old", "new"}

    def test_that_no_file_fits_are_answered_with_the_nearest(self, logs: Path) -> None:
        code, said, rows = ingested(logs, "--metric", "val_los")
        assert (code, rows) == (2, None)
        assert "no column 'val_los'. Nearest: val_loss." in said

    def test_that_cannot_be_read_are_named(self, logs: Path) -> None:
        code, said, _ = ingested(logs, "--line", "(?P<x>a)(?=b)")
        assert code == 2
        assert "--line: invalid regular expression" in said
        assert ingested(logs, "--preset", "kears")[1].count("Nearest: keras") == 1

    def test_and_a_file_of_blocks_are_one_too_many(self, logs: Path) -> None:
        code, said, _ = ingested(logs, "--metric", "a", "--config", "b.toml")
        assert code == 2
        assert "--metric and --config both describe the logs" in said

    def test_of_going_back_are_those_that_its_error_names(self, logs: Path) -> None:
        (logs / "old" / "seed1.csv").write_text(f"{CSV}10,1.0,3.4\n")
        options = ("--metric", "val_loss", "--seconds", "time s")
        code, said, _ = ingested(logs, *options)
        assert code == 1
        assert "seed1.csv:4: step decreases" in said
        for option in ("--new-run", "--resume"):
            assert ingested(logs, *options, option, "step back")[0] == 0


class TestPreset:
    def test_is_recognised_by_itself(self, logs: Path) -> None:
        for name in ("a", "b"):
            (logs / f"{name}.txt").write_text(
                "step:0/9 val_loss:10.8 train_time:0ms\nstep:9/9 val_loss:3.2 train_time:9ms\n"
            )
        code, _, rows = ingested(logs)
        assert code == 0
        assert rows is not None
        assert set(rows["target_source"]) == {"rules"}
        assert set(rows["entry"]) == {"a", "b"}

    def test_is_not_taken_for_a_document_that_quotes_a_log(self, logs: Path) -> None:
        (logs / "README.md").write_text("step:0/9 val_loss:10.8 train_time:0ms\n")
        assert ingested(logs)[0] == 2

    def test_tells_the_run_and_the_entry_by_the_path(self, logs: Path) -> None:
        for version in range(2):
            folder = logs / "mnist" / "lightning_logs" / f"version_{version}"
            folder.mkdir(parents=True)
            (folder / "metrics.csv").write_text("epoch,step,val_acc\n0,9,0.5\n")
        rows = ingested(logs)[2]
        assert rows is not None
        assert rows["entry"].to_list() == ["mnist", "mnist"]
        assert [text.count('"run":"') for text in rows["extra"]] == [1, 1]

    def test_of_several_that_a_file_looks_like_none_is_chosen(
        self, monkeypatch: pytest.MonkeyPatch, logs: Path
    ) -> None:
        from ttastats.formats.own_logs import presets

        monkeypatch.setattr(presets, "matching_presets", lambda *_: {"keras": {}, "lightning": {}})
        _, said, _ = ingested(logs)
        assert "matches several presets: keras, lightning" in said

    def test_says_what_it_is_and_can_be_read(self) -> None:
        from ttastats.formats.own_logs import config, presets

        for name, preset in presets.load_presets().items():
            config.complete_block({"preset": name}, lambda key: key, "/")
            assert presets.preset_block(name).preset == name
            assert len(preset.title) > 10


def test_what_is_said_in_python_is_what_the_options_say(logs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    account = tta.ingest([logs], output, block={"metric": "val_loss", "seconds": "time s"})
    assert account.runs == 4
    with pytest.raises(TtastatsError, match="Nearest: metric"):
        tta.ingest([logs], output, block={"metrics": "val_loss"})
