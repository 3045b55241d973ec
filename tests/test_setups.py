"""Setups and seeds from recorded settings, and from the names of folders and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ttastats as tta
from tests.made_logs import write
from ttastats import api, ingest
from ttastats.base.errors import TtastatsError
from ttastats.cli import app, complete
from ttastats.cli.commands import make_command
from ttastats.formats import setups
from ttastats.formats.setups import Seen
from ttastats.ingestion.account import Account
from ttastats.outcomes.select import parse_all
from ttastats.sides.question import Selection
from ttastats.table import schema
from ttastats.table.store import read_tables
from ttastats_parsers import settings_files
from ttastats_parsers.settings_files import UnreadError

CSV = "epoch,step,val_acc\n0,10,0.{0}\n1,20,0.9{0}\n"
BLOCK = {"metric": "val_acc >= 0.9"}
TWO = {("adam", 0), ("adam", 1), ("sgd", 0), ("sgd", 1)}


def runs(folder: Path, **more: object) -> tuple[set[tuple[str, int | None]], Account]:
    output = folder.parent / "runs.parquet"
    account = ingest([folder], output, workers=1, **{"block": BLOCK, **more})  # type: ignore[arg-type]
    frame = read_tables([output]).collect().unique(["run_id", "source"])
    return set(frame.select("entry", "seed").rows()), account


def entries(*places: str) -> list[tuple[str, int]]:
    seen = [
        Seen(("table", None), tuple(place.split("/")), "log", {}, None, place) for place in places
    ]
    return [tuple(setup) for setup in setups.infer_setups(seen)]  # type: ignore[misc]


def test_a_number_behind_an_s_is_a_seed_where_such_numbers_count_from_zero() -> None:
    assert entries("lr1e-3-s0", "lr1e-3-s1") == [("lr1e-3", 0), ("lr1e-3", 1)]
    assert entries("vit-s16", "vit-s32") == [("vit-s16", None), ("vit-s32", None)]


@pytest.mark.parametrize("name", ["lora_rank", "model_name", "optimizer.name", "model_id"])
def test_a_setting_whose_name_ends_like_that_of_a_run_is_a_setting(name: str) -> None:
    assert setups.entry_name({name: "a"}) == f"{name}=a"


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("hparams.yaml", "optimizer: {0}\nseed: {1}\nlr: 1e-3\n"),
        ("config.yml", "optim:\n  optimizer: {0}\nseed: {1}\n"),
        ("args.json", '{{"optimizer": "{0}", "seed": {1}, "log_dir": "x/{0}/{1}"}}'),
        ("config.toml", '[optim]\nname = "{0}"\n[run]\nseed = {1}\n'),
        (".hydra/config.yaml", "optimizer:\n  name: {0}\nseed: {1}\n"),
        (".hydra/overrides.yaml", "- optimizer={0}\n- +seed={1}\n"),
    ],
)
def test_settings_beside_a_log_tell_setups_and_seeds(name: str, of: str, tmp_path: Path) -> None:
    files = {}
    for number, (optimizer, seed) in enumerate(sorted(TWO)):
        files[f"version_{number}/metrics.csv"] = CSV.format(number)
        files[f"version_{number}/{name}"] = of.format(optimizer, seed)
    entries, account = runs(write(tmp_path / "logs", files))
    assert {(entry.rpartition("=")[2], seed) for entry, seed in entries} == TWO
    assert account.problem_counts()["inferred_setup"] == 4
    (first, *_) = [problem for problem in account.problems if problem.code == "inferred_setup"]
    assert name in first.message
    assert "adam" in first.message


@pytest.mark.parametrize(
    "line",
    [
        "Namespace(batch_size=64, betas=(0.9, 0.99), optimizer='{0}', seed={1}, device=cpu)",
        'INFO args: {{"optimizer": "{0}", "seed": {1}, "amp": true}}',
    ],
)
def test_the_head_of_a_text_log_tells_setups_and_seeds(line: str, tmp_path: Path) -> None:
    text = "\nstep 1 val_acc 0.5{1}\nstep 2 val_acc 0.9{1}\n"
    files = {
        f"job{n}.log": (line + text).format(*setup) for n, setup in enumerate(sorted(TWO), start=7)
    }
    block = {**BLOCK, "line": r"step (?P<step>\d+) val_acc (?P<val_acc>\S+)", "files": "*.log"}
    entries, _ = runs(write(tmp_path / "logs", files), block=block)
    assert {(entry.rpartition("=")[2], seed) for entry, seed in entries} == TWO


def test_a_tag_of_yaml_is_refused_and_nothing_is_made_of_it(tmp_path: Path) -> None:
    mark = tmp_path / "made"
    text = f"lr: 0.1\nmodel: !!python/object/apply:os.mkdir ['{mark}']\nbetas: !!python/tuple [1]\n"
    files = {"version_0/metrics.csv": CSV.format(1), "version_0/hparams.yaml": text}
    _, account = runs(write(tmp_path / "logs", files))
    (problem,) = [problem for problem in account.problems if problem.code == "unread_settings"]
    refused = "hparams.yaml: YAML tags are refused: model (!!python/object/apply:os.mkdir); betas"
    assert refused in problem.message
    assert not mark.exists()
    rows = read_tables([tmp_path / "runs.parquet"]).collect()
    assert json.loads(rows["extra"][0])["settings"] == {"lr": 0.1, "model": None, "betas": None}


LAUGHS = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("hparams.yaml", b"a: [1"), ("hparams.yaml", b"[" * 100_000), ("hparams.yaml", b"text"),
        ("hparams.yaml", b"a: 1\na0: &a0 x\n" + LAUGHS.encode()),
        ("hparams.yaml", b"- " * 100_000 + b"x"), ("hparams.yaml", b"? " * 100_000 + b"x"),
        ("args.json", b"[1]"), ("args.json", b"{" * 10_000), ("config.toml", b"a ="),
        ("config.toml", b"\xff"), ("hparams.yaml", b"!!python/object:x.Y\na: 1"),
        ("args.json", b" " * (settings_files.LARGEST + 1)),
    ],
)  # fmt: skip
def test_damaged_settings_have_a_reason(name: str, content: bytes) -> None:
    with pytest.raises(UnreadError, match=r"\w"):
        settings_files.of_file(name, content)


def sides_of(table: Path, a: str, b: str) -> list[Selection]:
    return [Selection(table, parse_all([condition])) for condition in (a, b)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    files = {}
    for number, (optimizer, seed) in enumerate(sorted(TWO)):
        files[f"version_{number}/metrics.csv"] = CSV.format(number)
        files[f"version_{number}/hparams.yaml"] = (
            f"model:\n  optimizer: {optimizer}\n  lr: 0.{1 + (optimizer == 'sgd')}\nseed: {seed}\n"
        )
    runs(write(tmp_path / "logs", files))
    return tmp_path / "runs.parquet"


def test_a_recorded_setting_is_asked_for_by_its_name(table: Path) -> None:
    sides = sides_of(table, "model.optimizer=adam", "optimizer=sgd")
    assert [(row.get("n_a"), row.get("n_b")) for row in tta.compare(*sides).records] == [(2, 2)]
    assert tta.read(table, where=["lr>=0.15"]).collect()["source"].n_unique() == 2
    assert api.run_table(table, where=["optimizer=a*", "seed=1"]).height == 1
    with pytest.raises(TtastatsError, match="momentum"):
        tta.read(table, where=["lr>=0.15", "momentum=0.9"])
    report = tta.summary(table, by=["optimizer", "lr"])
    rows = [(row.get("optimizer"), row.get("lr"), row.get("n")) for row in report.records]
    assert rows == [("adam", 0.1, 2), ("sgd", 0.2, 2)]
    part = tta.filter(table, output=table.with_name("sgd.parquet"), where=["optimizer=sgd"])
    assert part.runs == 2
    assert tuple(read_tables([table.with_name("sgd.parquet")]).collect().columns) == schema.NAMES


def test_sides_are_called_by_the_values_of_a_setting(table: Path) -> None:
    words = ["compare", str(table), "--a", "lr=0.1", "--b", "lr=0.2", "--label"]
    for name, values in (("optimizer", ["adam", "sgd"]), ("lr", ["0.1", "0.2"])):
        shown = CliRunner().invoke(app, [*words, name, "-f", "json"])
        (row,) = json.loads(shown.stdout)["rows"]
        assert [row["a"], row["b"]] == values
    page = tta.html_report(*sides_of(table, "lr=0.1", "lr=0.2"), labels=["optimizer"])
    assert "A = adam   B = sgd" in page.html
    for name in ("x", "seed", "benchmark", "model"):
        refused = CliRunner().invoke(app, [*words, name])
        assert "1 label for 2 sides" in str(refused.exception)
        assert "name a column or a setting in which the sides differ" in str(refused.exception)


@pytest.mark.parametrize(
    "words",
    [
        ["summary", "--where", "optimiser=adam"], ["runs", "--where", "optimiser=adam"],
        ["summary", "--by", "optimiser"], ["compare", "--a", "optimiser=adam", "--b", "lr=0.2"],
        ["compare", "--a", "lr=0.1", "--b", "lr=0.2", "--block", "optimiser"],
    ],
)  # fmt: skip
def test_the_error_for_an_unknown_name_lists_the_settings_that_vary(
    words: list[str], table: Path
) -> None:
    result = CliRunner().invoke(app, [words[0], str(table), *words[1:]])
    assert isinstance(result.exception, TtastatsError)
    assert "optimiser" in result.exception.what
    assert "Settings that vary: model.lr, model.optimizer" in str(result.exception.remedy)


def test_settings_are_completed(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMP_WORDS", f"ttastats compare {table} --a")
    assert complete.conditions("model.o") == ["model.optimizer="]
    assert complete.conditions("optimizer=") == ["optimizer=adam", "optimizer=sgd"]
    assert complete.columns("entry,model.l") == ["entry,model.lr"]
    compare = make_command("compare")
    (label,) = (parameter for parameter in compare.params if parameter.name == "labels")
    context = compare.make_context("compare", [], resilient_parsing=True)
    proposed = label.shell_complete(context, "m")
    assert [item.value for item in proposed] == ["model.lr", "model.optimizer"]


def test_no_row_pools_setups_without_a_note(table: Path) -> None:
    target = ["val_acc>=0.9"]
    summary = tta.summary(table, by=["benchmark"], target=target)
    (row,) = summary.records
    assert row.get("flags") == ["runs_vary"]
    words = " ".join(str(summary).split())
    assert "pools runs of different settings: model.lr, model.optimizer" in words
    assert "pools runs" in str(tta.variance(table, by=["benchmark"], target=target))
    assert "pools runs" not in str(tta.summary(table, target=target))
    (row,) = tta.compare(*sides_of(table, "seed=0", "seed=1"), target=target).records
    assert (row.get("setups_a"), row.get("setups_b")) == (2, 2)
    mixed, _ = runs(table.parent / "logs", block={**BLOCK, "entry": "one"})
    assert {entry for entry, _ in mixed} == {"one"}
    (row,) = tta.compare(*sides_of(table, "seed=0", "seed=1"), target=target).records
    assert (row.get("setups_a"), row.get("setups_b")) == (2, 2)
    (row,) = tta.summary(table, target=target).records
    assert row.get("flags") == ["runs_vary"]
