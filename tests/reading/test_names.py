"""What names of files and folders say: settings make entries; numbers of runs and dates do not."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.made_logs import write
from tests.random_cases import SEEDS
from tests.reading.asking import Answer, ask
from ttastats.formats import patterns, setups

GUISES = pytest.mark.parametrize("seed", SEEDS)
#: Settings with values that vary, as programs and people write them into names.
SETTINGS = (
    ("lr", ("0.1", "0.2", "0.3")), ("wd", ("1e-2", "1e-3", "1e-4")), ("bs", ("64", "128", "256")),
    ("dropout", ("0.01", "0.1", "0.5")), ("layers", ("1", "2", "3")), ("momentum", ("0", "1", "2")),
    ("gpus", ("1", "2", "4")), ("warmup", ("100", "200", "400")), ("temp", ("-1", "-2", "-3")),
)  # fmt: skip
#: What programs and people add to names of runs, by a number from 0.
STAMPS = (
    "2024032{0}_193041", "2024-03-2{0}", "2024-03-2{0}T19:30:41", "Mar2{0}_19-30-41",
    "2024-03-2{0}_19-30", "17000{0}0000", "17000{0}0000123", "482913{0}", "slurm-4829{0}",
    "1d7c6{0}0a-846f-4dc8-9809-dcb1e42496da", "job_77{0}", "2{0}.03.2024",
)  # fmt: skip


def curve(rng: random.Random, number: int) -> tuple[str, str]:
    """Return an ending and a log of a run that reaches .9 after so many more seconds."""
    progress, metric = rng.choice(["epoch", "step"]), "val_acc"
    rows = [(at, at * (20 + number), round(0.5 + 0.04 * at, 2)) for at in range(1, 13)]
    header = (progress, "seconds", metric)
    form = rng.choice(["csv", "jsonl", "log"])
    if form == "csv":
        lines = [",".join(map(str, row)) for row in (header, *rows)]
    elif form == "jsonl":
        lines = [json.dumps(dict(zip(header, row, strict=True))) for row in rows]
    else:
        lines = [f"{progress} {at} val_acc {value} elapsed {time} s" for at, time, value in rows]
    return form, "\n".join(lines) + "\n"


def logs(folder: Path, seed: int, names: Iterable[str], head: str = "{0}") -> Path:
    """Write a log of one form for each name, in a folder of its own or as a file."""
    inside = random.Random(f"place {seed}").choice(["{0}.{1}", "{0}/metrics.{1}"])
    files = {}
    for number, name in enumerate(names):
        ending, text = curve(random.Random(seed), number)
        files[inside.format(name, ending)] = head.format(text, number)
    return write(folder, files)


def sizes(answer: Answer) -> list[int]:
    return sorted(row["n"] for row in answer.rows)


def ask_sizes(folder: Path) -> list[int]:
    return sizes(ask("summary", folder, "--guess", "--target", "val_acc>=0.9"))


@GUISES
@pytest.mark.parametrize(("name", "values"), SETTINGS)
def test_a_setting_in_a_name_makes_an_entry_for_each_value(
    tmp_path: Path, name: str, values: tuple[str, ...], seed: int
) -> None:
    mark = "=" if values[0].startswith("-") else random.Random(seed).choice(["_", "=", "", "-"])
    before = ("", "adam_", "run_")[(seed + len(name)) % 3]
    assert ask_sizes(logs(tmp_path, seed, [f"{before}{name}{mark}{v}" for v in values])) == [1] * 3


@GUISES
def test_two_settings_in_a_name_make_an_entry_for_each_pair(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    (one, values), (two, others) = rng.sample(SETTINGS[:4], 2)
    names = [f"{one}={a},{two}={b}" for a in values[:2] for b in others]
    if rng.random() < 0.5:
        names = [f"{word}_{two}{b}" for word in ("adam", "sgd") for b in others]
    assert ask_sizes(logs(tmp_path, seed, names)) == [1] * 6


@GUISES
@pytest.mark.parametrize("stamp", STAMPS)
def test_dates_and_jobs_are_no_part_of_an_entry(tmp_path: Path, stamp: str, seed: int) -> None:
    form = ("{0}_{1}", "{1}_{0}-lr0.1", "{0}/{1}")[(seed + len(stamp)) % 3]
    names = [form.format(word, stamp.format(n)) for word in ("adam", "sgd") for n in range(1, 4)]
    answer = ask("summary", logs(tmp_path, seed, names), "--guess", "--target", "val_acc>=0.9")
    assert sizes(answer) == [3, 3]
    assert not any(stamp.format(1) in row["entry"] for row in answer.rows)


@pytest.mark.parametrize(
    ("names", "runs"),
    [
        (("run1", "run2"), [2]), (("adam", "sgd"), [1, 1]), (("1", "2", "3"), [3]),
        (("adam_s0", "adam_s1", "sgd_s0", "sgd_s1"), [2, 2]), (("trial-7", "trial-9"), [2]),
        (("adam_0", "adam_1", "adam_2", "sgd_0", "sgd_1", "sgd_2"), [3, 3]), (("v1", "v2"), [2]),
        (("adam_lr0.1_0", "adam_lr0.1_1", "adam_lr0.2_0", "adam_lr0.2_1"), [2, 2]),
        (("fold0", "fold1", "fold2"), [3]), (("resnet-18", "resnet-50", "vgg-16"), [1, 1, 1]),
        (("net_1", "net_2", "net_4"), [1, 1, 1]), (("exp1", "exp2"), [1, 1]),
        (("a1", "a2", "b1", "b2"), [1, 1, 1, 1]),
        (("lr=0.1,seed=2", "lr=0.1,seed=3", "lr=0.2,seed=2"), [1, 2]), (("3", "7"), [1, 1]),
        (tuple(f"t_a1b2c_0000{n}_{n}_lr=0.{n},wd=0_2024-03-28_19-30-4{n}" for n in (1, 2)), [1, 1]),
    ],
)  # fmt: skip
def test_only_numbers_that_count_repetitions_tell_runs_apart(
    names: tuple[str, ...], runs: list[int], tmp_path: Path
) -> None:
    assert ask_sizes(logs(tmp_path, 1, names)) == runs
    seen = [setups.Seen((), (), name, {}, None, "x") for name in names]
    assert sorted(Counter(setup.entry for setup in setups.infer_setups(seen)).values()) == runs


@GUISES
def test_numbers_that_are_recorded_seeds_are_seeds(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    seeds, stem = rng.choice([(1, 2, 3), (7, 42, 1337)]), rng.choice(["base", "baseline", "my_exp"])
    head = rng.choice([
        "Namespace(lr=0.1, seed={0}, optimizer='adam', pid=9{0})",
        '{{"lr": 0.1, "seed": {0}, "free_memory": 9{0}, "out": "/tmp/x{0}"}}',
    ])  # fmt: skip
    files = {}
    for at, number in enumerate(seeds):
        lines = [
            f"epoch {n} val_acc {0.5 + n / 25:.2f} elapsed {n * (20 + at)} s" for n in range(1, 12)
        ]
        files[f"{stem}{number}.log"] = "\n".join([head.format(number), *lines]) + "\n"
    write(tmp_path / "logs", files)
    (row,) = ask("summary", tmp_path / "logs", "--guess", "--target", "val_acc>=0.9").rows
    assert row["n"] == 3
    rows = ask("runs", tmp_path / "logs", "--guess", "--target", "val_acc>=0.9").rows
    assert sorted(row["seed"] for row in rows) == list(seeds)


@pytest.mark.parametrize(
    "setting",
    ["hostname", "pid", "node_ip", "object_store_memory", "free_memory", "gpu_mem_free", "log_dir"],
)
def test_what_only_says_where_a_run_was_is_no_setting(setting: str) -> None:
    assert setups.setup_settings({setting: 7, f"trainer.{setting}": 7, "lr": 0.1}) == {"lr": "0.1"}
    paths = {"weights": "/scratch/4711/x.pt", "data": "s3://bucket/b/imagenet/"}
    assert setups.setup_settings(paths) == {"data": "imagenet", "weights": "x.pt"}


@GUISES
def test_a_column_with_the_seed_is_the_seed_of_its_run(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    name, number = rng.choice(["seed", "Seed", "random_seed"]), rng.choice([0, 7, 1234])
    for side, pace in (("a", 20), ("b", 18)):
        for run in range(4):
            cells = [f"{n},{n * pace + run / 10},{number},{0.5 + n / 25:.2f}" for n in range(1, 12)]
            text = "\n".join([f"epoch,seconds,{name},val_acc", *cells])
            write(tmp_path, {f"{side}/run{run}.csv": text + "\n"})
    answer = ask("compare", tmp_path / "a", tmp_path / "b", "--guess", "--target", "val_acc>=0.9")
    assert "seed" in " ".join(answer.rows[0]["conditions"])
    rows = ask("runs", tmp_path / "a", "--guess", "--target", "val_acc>=0.9").rows
    assert {row["seed"] for row in rows} == {number}


@pytest.mark.parametrize("field", ["hardware", "framework", "system", "submitter"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "log"])
def test_a_field_that_names_an_empty_column_is_unknown(
    field: str, form: str, tmp_path: Path
) -> None:
    line = r"line = 'epoch (?P<epoch>\d+) acc (?P<val_acc>\S+)( on (?P<node>\S+))?'" + "\n"
    rows = {
        "csv": "epoch,node,val_acc\n1,,0.5\n2,,0.9\n",
        "jsonl": '{"epoch": 1, "node": null, "val_acc": 0.5}\n',
        "log": "epoch 1 acc 0.5\nepoch 2 acc 0.9\n",
    }
    block = f'[[logs]]\nfiles = "*.{form}"\nmetric = "val_acc"\n{field} = "node"\n'
    block += line if form == "log" else ""
    write(tmp_path, {f"x/a.{form}": rows[form], "x/ttastats.toml": block})
    (row,) = ask("summary", tmp_path / "x", "--by", field).rows
    assert row[field] is None
    assert patterns.fill_names({field: "node-{node}"}, {"node": None}) == {}


@GUISES
def test_a_panel_holds_a_run_in_each_column_however_it_was_saved(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    quote, mark = rng.choice(['"', ""]), rng.choice([",", ";", "\t"])
    metric = rng.choice(["val/accuracy", "eval_acc"])
    names = [f"{word}-s{n}" for word in ("muon", "sgd") for n in range(3)]
    header: list[object] = [
        "Step",
        *(f"{n} - {metric}{end}" for n in names for end in ("", "__MIN", "__MAX")),
    ]
    cells: list[list[object]] = [[100 * at, *[0.5 + at / 25] * 18] for at in range(1, 12)]
    lines = [mark.join(f"{quote}{cell}{quote}" for cell in row) for row in (header, *cells)]
    write(tmp_path, {"x/panel.csv": "\n".join(lines) + "\n"})
    for more in ((), ("--guess",)):
        rows = ask("summary", tmp_path / "x", "--target", f"{metric}>=0.7", *more).rows
        assert [(row["entry"], row["n"]) for row in rows] == [("muon", 3), ("sgd", 3)]
    runs = ask("runs", tmp_path / "x", "--target", f"{metric}>=0.7").rows
    assert sorted(row["seed"] for row in runs) == [0, 0, 1, 1, 2, 2]


@GUISES
def test_files_of_one_kind_are_read_alike_in_one_block(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    words = rng.sample(
        ["adam", "sgd", "muon", "lion", "shampoo", "adafactor", "rmsprop", "adagrad", "lamb"], 7
    )
    for word in words:
        cells = [f"{n},{20 * n},{0.5 + n / 25:.2f}" for n in range(rng.choice([4, 12]))]
        write(tmp_path, {f"x/{word}.csv": "\n".join(["epoch,seconds,val_acc", *cells]) + "\n"})
    for word in rng.sample(["other", "more", "else"], rng.randrange(1, 4)):
        cells = [f"{n},{2 / n}" for n in range(1, 9)]
        write(tmp_path, {f"x/{word}.csv": "\n".join(["step,val_loss", *cells]) + "\n"})
    problems = ask("problems", tmp_path / "x", "--guess").rows
    assert len([row for row in problems if row["code"] == "guessed_block"]) == 2
    rows = ask("runs", tmp_path / "x", "--guess", "--target", "val_acc>=0.6").rows
    assert {row["epochs"] for row in rows if row["reached"]} == {4}


@GUISES
def test_logs_of_clients_are_no_runs_of_their_own(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    server, client = (
        rng.choice(["server", "global", "global_model"]),
        rng.choice(["client_", "client"]),
    )
    form = rng.choice(["{0}.csv", "{0}/metrics.csv"])
    for place in ("fedavg", "fedprox"):
        for name in (server, *(f"{client}{number}" for number in (0, 1, 3))):
            cells = [f"{n},{0.5 + n / 25:.2f}" for n in range(1, 12)]
            text = "\n".join(["round,val_acc", *cells]) + "\n"
            write(tmp_path, {f"x/{place}/{form.format(name)}": text})
    rows = ask("runs", tmp_path / "x", "--guess", "--target", "val_acc>=0.9").rows
    assert len(rows) == 2
    assert all("client" not in row["source"].rpartition("/x/")[2] for row in rows)


@pytest.mark.parametrize("number", range(4))
def test_a_number_of_a_folder_that_is_the_seed_of_one_run_stays_in_its_entry(
    tmp_path: Path, number: int
) -> None:
    files = {f"every{number}/seed{seed}.csv": "epoch,val_acc\n1,0.5\n2,0.6\n" for seed in range(4)}
    write(tmp_path, files)
    rows = ask("runs", tmp_path / f"every{number}", "--guess").rows
    assert [(row["entry"], row["seed"]) for row in rows] == [
        (f"every{number}", seed) for seed in range(4)
    ]
