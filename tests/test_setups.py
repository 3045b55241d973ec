"""Setups and seeds out of recorded settings, and out of the names of folders and files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import ttastats as tta
from ttastats import api, ingest
from ttastats.base.errors import TtastatsError
from ttastats.cli import app, complete
from ttastats.formats.own_logs import setups
from ttastats.formats.own_logs.setups import Seen
from ttastats.ingestion.ingest import Account
from ttastats.outcomes.select import parse_all
from ttastats.sides.question import Selection
from ttastats.table import schema
from ttastats.table.store import read_tables
from ttastats_parsers import settings_files
from ttastats_parsers.settings_files import UnreadError

CSV = "epoch,step,val_acc\n0,10,0.{0}\n1,20,0.9{0}\n"
BLOCK = {"metric": "val_acc >= 0.9"}
TWO = {("adam", 0), ("adam", 1), ("sgd", 0), ("sgd", 1)}


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def runs(folder: Path, **more: object) -> tuple[set[tuple[str, int | None]], Account]:
    output = folder.parent / "runs.parquet"
    account = ingest([folder], output, workers=1, **{"block": BLOCK, **more})  # type: ignore[arg-type]
    frame = read_tables([output]).collect().unique(["run_id", "source"])
    return set(frame.select("entry", "seed").rows()), account


@pytest.mark.parametrize(
    ("name", "stem", "seed"),
    [
        ("seed_0", "", 0), ("adam_seed12", "adam", 12), ("adam-seed=3-lr0.1", "adam-lr0.1", 3),
        ("version_3", "", None), ("trial 2", "", None), ("run-20230329_020146-ruzz7bps", "", None),
        ("2024-05-01", "", None), ("12-30-59", "", None), ("2024-05-01_10-00-00", "", None),
        ("Jan28_23-42-14_adam", "adam", None), ("adam_20240501_101500", "adam", None),
        ("9fb9b6b8914c44bb869c2a2712fb79f7", "", None), ("checkpoint-500", "", None),
        ("51ece938-03c5-4343-8dcc-3f3336b07008", "", None),
        ("adam", "adam", None), ("resnet-18", "resnet-18", None), ("lr1e-3", "lr1e-3", None),
        ("mobilenet_v2", "mobilenet_v2", None), ("lora_r8", "lora_r8", None),
        ("seedling", "seedling", None), ("2026-07-17_FP8", "2026-07-17_FP8", None),
    ],
)  # fmt: skip
def test_what_numbers_runs_is_left_out_of_a_name(name: str, stem: str, seed: int | None) -> None:
    assert setups.split_run_number(name) == (stem, seed)


def entries(*places: str, settings: list[dict[str, object]] | None = None) -> list[tuple[str, int]]:
    several = settings or [{} for _ in places]
    seen = [
        Seen(("table", None), tuple(place.split("/")), "log", own, None, place)
        for place, own in zip(places, several, strict=True)
    ]
    return [tuple(each) for each in setups.infer_setups(seen)]  # type: ignore[misc]


def test_a_number_behind_an_s_is_a_seed_where_such_numbers_count_from_zero() -> None:
    assert entries("lr1e-3-s0", "lr1e-3-s1") == [("lr1e-3", 0), ("lr1e-3", 1)]
    assert entries("vit-s16", "vit-s32") == [("vit-s16", None), ("vit-s32", None)]


def test_a_number_at_the_end_counts_runs_where_others_have_the_same() -> None:
    names = ("adam_0", "adam_1", "sgd_0", "sgd_1")
    assert [entry for entry, _ in entries(*names)] == ["adam", "adam", "sgd", "sgd"]
    assert [entry for entry, _ in entries("exp1", "exp2")] == ["exp1", "exp2"]
    assert [entry for entry, _ in entries("resnet-18", "resnet-50")] == ["resnet-18", "resnet-50"]
    assert [entry for entry, _ in entries("a/0", "a/1", "b/0")] == ["a", "a", "b/0"]


def test_settings_that_vary_make_the_entry() -> None:
    several: list[dict[str, object]] = [
        {"optimizer.name": name, "lr": 0.1, "seed": seed, "output_dir": f"x/{name}{seed}"}
        for name in ("adam", "sgd") for seed in (0, 1)
    ]  # fmt: skip
    places = [f"version_{number}" for number in range(4)]
    assert [entry for entry, _ in entries(*places, settings=several)] == [
        *["optimizer.name=adam"] * 2, *["optimizer.name=sgd"] * 2
    ]  # fmt: skip
    # Names of folders that tell the same are enough.
    places = ["adam/0", "adam/1", "sgd/0", "sgd/1"]
    assert {entry for entry, _ in entries(*places, settings=several)} == {"adam", "sgd"}
    # A folder with two setups is two entries.
    places = ["a/0", "a/1", "a/2", "b/0"]
    assert [entry for entry, _ in entries(*places, settings=several)] == [
        *["a optimizer.name=adam"] * 2, "a optimizer.name=sgd", "b"
    ]  # fmt: skip


def test_a_run_without_settings_makes_none_vary() -> None:
    several: list[dict[str, object]] = [{"lr": 1}, {"lr": 1}, {}]
    names = entries("version_0", "version_1", "version_2", settings=several)
    assert len({entry for entry, _ in names[:2]}) == 1


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
    found, account = runs(written(tmp_path / "logs", files))
    assert {(entry.rpartition("=")[2], seed) for entry, seed in found} == TWO
    assert account.problem_counts()["inferred_setup"] == 4
    (first, *_) = [each for each in account.problems if each.code == "inferred_setup"]
    assert name in first.message
    assert "adam" in first.message


@pytest.mark.parametrize("pattern", ["{0}/seed_{1}/log", "{0}-s{1}/log", "{0}_seed{1}", "{0}-s{1}"])
def test_names_of_folders_and_files_tell_setups_and_seeds(pattern: str, tmp_path: Path) -> None:
    files = {f"{pattern.format(*each)}.csv": CSV.format(n) for n, each in enumerate(sorted(TWO))}
    folder = written(tmp_path / "logs", files)
    assert runs(folder)[0] == TWO
    # A folder, or a run, that is read alone has the same name.
    for below in folder.iterdir():
        assert below.is_file() or runs(below)[0] <= TWO


def test_a_block_stands_above_what_is_inferred(tmp_path: Path) -> None:
    files = {f"adam/seed_{seed}/log.csv": CSV.format(seed) for seed in range(3)}
    files["adam/seed_0/hparams.yaml"] = "lr: 0.1\nseed: 8\n"
    block = {**BLOCK, "files": "{entry}/seed_{_}/log.csv", "entry": "mine", "seed": "5"}
    found, account = runs(written(tmp_path / "logs", files), block=block)
    assert found == {("mine", 5)}
    assert "inferred_setup" not in account.problem_counts()
    block = {**BLOCK, "files": "**/log.csv", "entry": "rate {lr}"}
    assert ("rate 0.1", 8) in runs(tmp_path / "logs", block=block)[0]


def test_the_next_ingest_names_all_runs_again(tmp_path: Path) -> None:
    files = {}
    for seed in range(2):
        files[f"version_{seed}/metrics.csv"] = CSV.format(seed)
        files[f"version_{seed}/hparams.yaml"] = f"lr: 0.1\nwidth: 8\nseed: {seed}\n"
    folder = written(tmp_path / "logs", files)
    assert runs(folder)[0] == {("logs", 0), ("logs", 1)}
    files = {"version_2/metrics.csv": CSV.format(2), "version_2/hparams.yaml": "lr: 0.2\nwidth: 8"}
    found, account = runs(written(folder, files))
    assert found == {("lr=0.1", 0), ("lr=0.1", 1), ("lr=0.2", None)}
    assert account.problem_counts()["inferred_setup"] == 3


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
        f"job{n}.log": (line + text).format(*each) for n, each in enumerate(sorted(TWO), start=7)
    }
    block = {**BLOCK, "line": r"step (?P<step>\d+) val_acc (?P<val_acc>\S+)", "files": "*.log"}
    found, _ = runs(written(tmp_path / "logs", files), block=block)
    assert {(entry.rpartition("=")[2], seed) for entry, seed in found} == TWO


def test_a_tag_of_yaml_is_refused_and_nothing_is_made_of_it(tmp_path: Path) -> None:
    mark = tmp_path / "made"
    text = f"lr: 0.1\nmodel: !!python/object/apply:os.mkdir ['{mark}']\nbetas: !!python/tuple [1]\n"
    files = {"version_0/metrics.csv": CSV.format(1), "version_0/hparams.yaml": text}
    _, account = runs(written(tmp_path / "logs", files))
    (problem,) = [each for each in account.problems if each.code == "unread_settings"]
    assert "hparams.yaml: YAML tags are refused: model (!!python/object/apply:os.mkdir); betas" in (
        problem.message
    )
    assert not mark.exists()
    rows = read_tables([tmp_path / "runs.parquet"]).collect()
    assert json.loads(rows["extra"][0])["settings"] == {"lr": 0.1, "model": None, "betas": None}


LAUGHS = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))


@pytest.mark.parametrize(
    ("name", "content", "known"),
    [
        ("hparams.yaml", b"a: &a {b: *a}", {}),
        ("hparams.yaml", b"{a: 1, b: [1e-3, 'x']}\n", {"a": 1, "b": [0.001, "x"]}),
        ("hparams.yaml", b"x: &x {lr: 1}\ny:\n  <<: *x\n  b: 2\n", {"y.lr": 1, "y.b": 2}),
        ("args.json", b'{"a": {"b": [NaN]}}', {}),
    ],
)
def test_settings_are_read_as_far_as_they_are_plain(
    name: str, content: bytes, known: dict[str, object]
) -> None:
    found = settings_files.of_file(name, content)
    assert known.items() <= found.items()


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


def test_files_of_one_run_in_a_folder_each_are_called_by_their_folders(tmp_path: Path) -> None:
    files = {f"{name}/{name}.csv": CSV.format(n) for n, name in enumerate(("a", "b"))}
    assert runs(written(tmp_path / "logs", files))[0] == {("a", None), ("b", None)}


def test_names_do_not_change_the_order_of_rows(tmp_path: Path) -> None:
    files = {f"run-s{seed}/log.csv": CSV.format(seed) for seed in (2, 0, 1)}
    runs(written(tmp_path / "logs", files))
    rows = read_tables([tmp_path / "runs.parquet"]).collect()
    assert rows["source"].is_sorted()
    assert rows["entry"].unique().to_list() == ["run"]
    assert rows.schema["seed"] == pl.Int64


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
    runs(written(tmp_path / "logs", files))
    return tmp_path / "runs.parquet"


def test_a_recorded_setting_is_asked_for_by_its_name(table: Path) -> None:
    sides = sides_of(table, "model.optimizer=adam", "optimizer=sgd")
    assert [(row.get("n_a"), row.get("n_b")) for row in tta.compare(*sides).records] == [(2, 2)]
    assert tta.read(table, where=["lr>=0.15"]).collect()["source"].n_unique() == 2
    assert api.run_table(table, where=["optimizer=a*", "seed=1"]).height == 1
    report = tta.summary(table, by=["optimizer", "lr"])
    assert [(row.get("optimizer"), row.get("lr"),
    row.get("n")) for row in report.records] == [
        ("adam", 0.1, 2), ("sgd", 0.2, 2)
    ]  # fmt: skip
    kept = tta.filter(table, output=table.with_name("sgd.parquet"), where=["optimizer=sgd"])
    assert kept.runs == 2
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
    compare = get_command(app).commands["compare"]  # type: ignore[attr-defined]
    (label,) = (each for each in compare.params if each.name == "labels")
    proposed = label.shell_complete(
        compare.make_context("compare", [], resilient_parsing=True), "m"
    )
    assert [each.value for each in proposed] == ["model.lr", "model.optimizer"]


def test_no_row_pools_setups_without_saying_so(table: Path) -> None:
    target = ["val_acc>=0.9"]
    summary = tta.summary(table, by=["benchmark"], target=target)
    assert [row.get("flags") for row in summary.records] == [["runs_vary"]]
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
    assert [row.get("flags") for row in tta.summary(table, target=target).records] == [
        ["runs_vary"]
    ]
