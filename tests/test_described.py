"""Own logs are read as `ttastats.toml`, a preset or the options of `ingest` say."""

from __future__ import annotations

import contextlib
import shlex
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

import ttastats as tta
from tests import made_logs
from tests.accepted import Case, cases
from tests.test_cli import run
from ttastats.base import streams
from ttastats.base.errors import TtastatsError
from ttastats.formats import config
from ttastats.ingestion import described

CSV = "step,time,val_loss\n10,1.0,3.5\n20,2.0,3.2\n"
TOML = """[[logs]]
files   = "{entry}/seed{seed}.csv"
metric  = "val_loss <= 3.28"
seconds = "time s"
"""


Files = dict[str, str | bytes]
LOGS: Files = {f"logs/{entry}/seed{seed}.csv": CSV for entry in ("old", "new") for seed in (1, 2)}
LOGS["logs/README.md"] = "Some, text, about time\n"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return made_logs.write(tmp_path, LOGS) / "logs"


BLOCK = {"logs/ttastats.toml": TOML}
PATTERN = "--files {entry}/seed{seed}.csv --metric val_loss<=3.28 --seconds 'time s'"
PLAIN = "--metric val_loss --seconds 'time s'"
BACK: Files = {"logs/old/seed1.csv": f"{CSV}10,1.0,3.4\n"}
NANO = "step:0/9 val_loss:10.8 train_time:0ms\nstep:9/9 val_loss:3.2 train_time:9ms\n"
TWO_FORMS = {"logs/old/keras.csv": "epoch,loss,val_loss\n0,1.0,2.0\n"}
#: Files beside the logs, the options with which they are ingested, and their path if not `logs`.
DESCRIBED: dict[str, tuple[Any, ...]] = {
    "by a file beside them": (BLOCK, ""),
    "by one above": ({"ttastats.toml": TOML.replace("{entry}", "logs/{entry}")}, ""),
    "by one below": ({"logs/old/ttastats.toml": TOML.replace("{entry}/", "")}, ""),
    "by one that is named": ({"elsewhere/my.toml": TOML}, "--config elsewhere/my.toml"),
    "by a wrong key": ({"logs/ttastats.toml": TOML.replace("seconds", "second")}, ""),
    "by a pattern of nothing": (
        {"logs/ttastats.toml": f'{TOML}\n[[logs]]\nfiles = "runs/{{run}}.csv"\n'}, ""
    ),
    "before what they look like": (
        TWO_FORMS
        | {"logs/ttastats.toml": '[[logs]]\nfiles = "**/keras.csv"\nmetric = "loss"\n'}, ""
    ),
    "of which some cannot be read": (
        BLOCK
        | {
            "logs/old/seed1.csv": "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "logs/new/seed1.csv": CSV.encode("utf-16"),
        },
        "",
    ),
    "by options": ({}, PATTERN),
    "by a metric alone": ({}, PLAIN),
    "by no column": ({}, "--metric val_los"),
    "by no expression": ({}, "--line '(?P<x>a)(?=b)'"),
    "by no preset": ({}, "--preset kears"),
    "twice": ({}, "--metric a --config b.toml"),
    "that go back": (BACK, PLAIN),
    "of which a part is a new run": (BACK, f"{PLAIN} --new-run 'step back'"),
    "of which a run was resumed": (BACK, f"{PLAIN} --resume 'step back'"),
    "of a preset": ({"logs/a.txt": NANO, "logs/b.txt": NANO.replace("10.8", "10.7")}, ""),
    "quoted in a document": ({"logs/README.md": NANO}, ""),
    "with their run in the path": (
        {
            f"logs/mnist/lightning_logs/version_{n}/metrics.csv": "epoch,step,val_acc\n0,9,0.5\n"
            for n in (0, 1)
        },
        "",
    ),
    "by one above, of which one is read": (
        {"ttastats.toml": TOML.replace("{entry}", "logs/{entry}")}, "", "logs/old/seed1.csv"
    ),
    "that a pattern means": ({}, f"--files seed{{seed}}.csv {PLAIN}", "logs/[no]*"),
    "that a pattern of files means": ({}, PATTERN, "logs/*/*.csv"),
    "below a pattern": ({}, PATTERN, "lo*"),
    "as a pattern begins": ({}, PATTERN.replace("{entry}", "logs/{entry}"), "lo*"),
}  # fmt: skip


def of_described() -> Iterator[Any]:
    """Yield the messages of an ingest and its runs."""
    columns = ("source", "entry", "seed", "metric", "target_value", "target_source", "run_status")
    for name, (files, options, *path) in DESCRIBED.items():
        with TemporaryDirectory() as place, contextlib.chdir(place):
            made_logs.write(Path(), LOGS | files)
            result = run("ingest", *(path or ["logs"]), "-o", "out.parquet", *shlex.split(options))
            yield f"---------- logs described {name}"
            yield result.returncode, result.stderr.splitlines()
            if Path("out.parquet").exists():
                rows = pl.read_parquet("out.parquet").group_by(columns, maintain_order=True)
                yield from rows.agg(pl.col("seconds"), pl.col("extra").first()).rows()


@cases("pieces", of_described=of_described)
def test_logs_are_read_as_they_are_described(case: Case) -> None:
    assert case.is_as_accepted()


def test_in_an_archive_is_used(logs: Path, tmp_path: Path) -> None:
    (logs / "ttastats.toml").write_text(TOML)
    archive = tmp_path / "packed.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(logs, "logs")
    output = tmp_path / "packed.parquet"
    assert tta.ingest([archive], output).runs == 4
    runs = pl.read_parquet(output).select("entry", "seed").unique().rows()
    assert set(runs) == {("old", 1), ("old", 2), ("new", 1), ("new", 2)}


def test_that_changes_makes_all_logs_read_again(logs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    (logs / "ttastats.toml").write_text(TOML)
    tta.ingest([logs], output)
    assert tta.ingest([logs], output).unchanged == 5
    (logs / "ttastats.toml").write_text(TOML.replace("3.28", "3.0"))
    assert tta.ingest([logs], output).unchanged == 0
    assert set(pl.read_parquet(output)["target_value"]) == {3.0}


def test_of_several_presets_that_a_file_looks_like_none_is_chosen(
    monkeypatch: pytest.MonkeyPatch, logs: Path
) -> None:
    monkeypatch.setattr(config, "matching_presets", lambda *_: {"keras": {}, "lightning": {}})
    result = run("ingest", logs, "-o", logs.parent / "out.parquet")
    assert "matches several presets: keras, lightning" in result.stderr


def test_every_preset_says_what_it_is_and_can_be_read() -> None:
    for name, preset in config.load_presets().items():
        config.complete_block({"preset": name}, lambda key: key, "/")
        assert config.preset_block(name).preset == name
        assert len(preset.title) > 10


def test_a_block_can_be_given_in_python(logs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    account = tta.ingest([logs], output, block={"metric": "val_loss", "seconds": "time s"})
    assert account.runs == 4
    with pytest.raises(TtastatsError, match="Nearest: metric"):
        tta.ingest([logs], output, block={"metrics": "val_loss"})


@pytest.mark.parametrize("size", [streams.BLOCK, 16])
def test_a_value_at_an_open_end_may_lack_digits(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BLOCK", size)
    for name, text in (("a.csv", CSV.rstrip()), ("b.csv", CSV)):
        (tmp_path / name).write_text(text)
    block = {"metric": "val_loss", "seconds": "time s"}
    problems = tta.ingest([tmp_path], tmp_path / "x.parquet", block=block).problems
    assert [p.source for p in problems if p.code == "open_end"] == [f"{tmp_path}/a.csv"]


def test_a_block_with_a_pattern_goes_before_a_nearer_one_without() -> None:
    (near,) = config.blocks('[[logs]]\nmetric = "acc"\n', "a", "/logs/a")
    (far,) = config.blocks('[[logs]]\nfiles = "{entry}/log"\nmetric = "acc"\n', "b", "/logs")
    assert described.block_for("/logs/a/log", [near, far]) == (far, {"entry": "a"})
    assert described.block_for("/logs/a/x", [near, far]) == (near, {})
    assert described.block_for("/logs/a/x", [near, far], with_pattern=True) is None
