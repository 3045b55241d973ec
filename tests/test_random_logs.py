"""Logs of trackers and trainers, well formed but odd, are read as accepted.

What the formats allow is more than the fixtures show: any key may be missing, repeated, late or of
another type, and a run may have several files, in folders of several forms. All are made of a seed.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests import made_stores as stores
from tests.accepted import Case, cases
from tests.random_cases import Draw, Files, at_random, read_files
from ttastats.base.errors import TtastatsError
from ttastats.ingestion import registry


def row_of(draw: Draw, step: int, runtime: float) -> dict[str, Any]:
    """Return a row of a history: numbers, nested numbers, plots and other values."""
    row: dict[str, Any] = {
        "_step": draw.odd(step), "_runtime": draw.odd(runtime), "val/acc": draw.odd(0.1 * step),
        "_timestamp": draw.odd(1.7e9 + 3 * step), "epoch": draw.odd(step / 2), "loss": "NaN",
        "eval": {"acc": draw.odd(0.2 * step), "deep": {"er": {"f1": 0.3}}},
        "plot": {"_type": "image-file", "width": 3}, "trainer/global_step": draw.odd(10 * step),
        "eval/accuracy": draw.odd(0.05 * step), "samples": draw.odd(128 * step),
    }  # fmt: skip
    deep: Any = 0.7
    for _ in range(10):
        deep = {"k": deep}
    return draw.subset(row | {"far": deep}, 0.85)


def session(draw: Draw, first: int, clock: float, *, timed: bool) -> bytes:
    """Return a session of a run: its rows from a step on, by a clock of its own or going on."""
    settings = {"lr": draw.odd(0.1), "seed": draw.odd(3), "batch_size": draw.odd(64)}
    names = draw.subset({"group": "g", "run_name": "n"}, 0.6)
    records = [
        stores.run_record("abc", draw.choice(["proj", ""]), draw.subset(settings, 0.8),
                          draw.choice([0, 1_700_000_000]), draw.choice([0, 5**12]), **names)
    ][: draw.choice([0, *[1] * 15])]  # fmt: skip
    for step in range(first, first + draw.randrange(6)):
        row = row_of(draw, step, clock + 2.5 * (step - first + 1)) | {"_step": step}
        if not timed:
            row.pop("_runtime", None)
        if draw.chance(0.1):
            del row["_step"]
        records.append(stores.history(row, nested=draw.chance(0.5)))
    if draw.chance(0.5):
        end = row_of(draw, first + 2, clock + 9)
        records.append(stores.summary_record(end | draw.choice([{}, {"_wandb": {"runtime": 30}}])))
    if draw.chance(0.1):
        records.append(b"\xff\xff")
    if draw.chance(0.6):
        records.append(stores.exit_record(draw.choice([0, 1]), draw.choice([8, 40])))
    if draw.chance(0.2):  # of a kind that states nothing here, and one of no run
        records.insert(draw.randrange(len(records) + 1), stores.field(7, stores.field(1, 3)))
    data = stores.wandb_store(records)
    return draw.flipped(data, 0.1 * (len(data) > 7), start=7)


def wandb(draw: Draw) -> Files:
    """Return the folders of the sessions of a run, and perhaps of other runs."""
    files: Files = {}
    timed, goes_on, first = draw.chance(0.8), draw.chance(0.5), 1
    for number in range(draw.choice([1, 1, 1, 2, 2, 3])):
        name = draw.choice(["run", "run", "offline-run"])
        folder = f"/w/proj/wandb/{name}-2024010{number + 1}_100000-abc"
        store = session(draw, first, 7.5 * number if goes_on else 0.0, timed=timed)
        if number == 0 or draw.chance(0.8):
            files[f"{folder}/run-abc.wandb"] = store
        files |= {f"{folder}/files/{name}": data for name, data in draw.subset({
            "requirements.txt": b"wandb",
            "wandb-summary.json": json.dumps(row_of(draw, draw.choice([1, 9]), 50.0)).encode(),
            "config.yaml": b"wandb_version: 1\nlr:\n  value: 0.2\nseed:\n  value: 7\nplain: 3\n",
        }, 0.6).items()}  # fmt: skip
        first += draw.choice([1, 2, 3])
    if draw.chance(0.3):
        folder = "/w/proj/wandb/run-20240101_100000-other"
        files[f"{folder}/run-other.wandb"] = session(draw, 1, 0.0, timed=True)
    if draw.chance(0.3):
        alone = json.dumps({"_step": 4, "_runtime": 20.5, "val": {"acc": 0.5}}).encode()
        summary = "/w/proj/wandb/run-20240105_100000-alone/files/wandb-summary.json"
        files[summary] = draw.choice([alone, alone, b"["])
    return files


def wandb_history(draw: Draw) -> Files:
    """Return a history of the oldest kind, and what lies beside it."""
    rows = [json.dumps(row_of(draw, step, 2.5 * step)) for step in range(draw.randrange(6))]
    if draw.chance(0.3):
        strange = draw.choice(["", "no JSON", "{}", '{"_step": 2}'])
        rows.insert(draw.randrange(len(rows) + 1), strange)
    files = {
        "wandb-summary.json": json.dumps(row_of(draw, 9, 22.5)).encode(),
        "wandb-metadata.json": json.dumps({"startedAt": "2019-03-01T10:10:10",
                                           "state": draw.odd("finished"),
                                           "exitcode": draw.odd(0)}).encode(),
        "config.yaml": b"lr:\n  desc: null\n  value: 0.2\n",
    }  # fmt: skip
    history = draw.choice([b"", b"", b"\xef\xbb\xbf"]) + "\n".join(rows).encode()
    files = {"wandb-history.jsonl": history} | draw.subset(files, 0.8)
    return {f"/w/wandb/run-20190301_101010-old/{name}": data for name, data in files.items()}


def tfevents(draw: Draw) -> Files:
    """Return event files of halves of a run, or of separate runs, perhaps with settings below."""
    files: Files = {}
    folders = ["", "train/", "validation/", "validation/", "Val/", "test/", "other/"]
    for folder in draw.sample(folders, draw.choice([1, 1, 1, 3])):
        for number in range(draw.choice([1, 1, 2])):
            name = draw.choice(["17000{}0000.host", "17000{}0000.host", "{}"])
            place = f"/t/run/{folder}events.out.tfevents.{name.format(draw.randrange(10))}"
            files[place] = events(draw, 1.7e9 + 50 * number, draw.choice([0, 0, 10, 20]))
    if draw.chance(0.25):
        settings = stores.first_event(1.7e9) + stores.hparams(1.7e9)
        settings += stores.scalar(1.7e9, 3, eval__accuracy=0.5) if draw.chance(0.5) else b""
        files["/t/run/1700010000.1/events.out.tfevents.1700010000.host"] = settings
    return files | draw.subset({"/t/run/train/my.tfevents.old": b"none at all"}, 0.1)


def events(draw: Draw, time: float, step: int) -> bytes:
    """Return events that go back, start again, or are damaged."""
    data = stores.first_event(time) if draw.chance(0.95) else b""
    for _ in range(draw.randrange(1, 8)):
        time += draw.choice([0.0, 1.5, 60.0, -5.0])
        step = max(0, step + draw.choice([1, 10, 10, -10, 0]))
        value = draw.choice([0.1, 0.5, 0.9, float("nan")])
        kind = draw.randrange(9)
        if kind < 3:
            values = {"eval__accuracy": value, "acc": value, "epoch": step / 10, "loss": 1 - value}
            data += stores.scalar(time, step, **draw.subset(values, 0.8))
        elif kind == 3:
            data += stores.tensor(time, step, "epoch_accuracy", value, packed=draw.chance(0.5))
        elif kind == 4:
            data += stores.text(time, step, "notes", "words")
        elif kind < 7:
            data += stores.tfrecord(stores.field(1, time) + stores.field(5, a_tensor(draw)))
        elif kind == 7:
            strange = draw.choices(b"\x08\x01\x09\x12\x2a\x80", k=draw.randrange(7))
            data += stores.tfrecord(bytes(strange))
        else:
            data += stores.hparams(time)
    return draw.flipped(data, 0.15)[: draw.choice([None, None, None, -3])]


def a_tensor(draw: Draw) -> bytes:
    """Return a summary that holds a tensor of any type, in any of the places for its number."""
    kind, number = draw.choice([1, 1, 2, 3, 9, 9, 7]), draw.choice([-3, 0, 5, 2**40])
    place = draw.choice([4, 4, 5, 6, 7, 10])
    plain = {1: "<f", 2: "<d", 3: "<i", 9: "<q", 7: "<q"}[kind]
    value: Any = number if place in {7, 10} and draw.chance(0.8) else float(number)
    if place in {4, 5, 6} and draw.chance(0.8):
        value = struct.pack(plain, min(number, 99) if kind == 3 else number)
    parts = [
        stores.field(1, draw.choice([kind] * 9 + [b"x"])),
        stores.field(2, draw.choice([b""] * 6 + [stores.field(2, b""), stores.field(1, 3)])),
        stores.field(place, value),
    ]
    if place in {7, 10} and draw.chance(0.4):  # as a row of one
        parts[2] = stores.field(place, stores.varint(number))
    chosen = [part for part in parts if draw.chance(0.9)]
    tag = stores.field(1, "eval/accuracy") if draw.chance(0.95) else b""
    return stores.field(1, tag + stores.field(8, b"".join(chosen)))


def hf_trainer(draw: Draw) -> Files:
    """Return states of a trainer, its checkpoints, and another run; any key may be missing."""
    entries = [
        draw.subset({
            "step": draw.odd(50 * step), "epoch": draw.odd(step / 2),
            "eval_accuracy": draw.odd(0.1 * step), "eval_loss": draw.odd(2.0 / step),
            "eval_runtime": draw.odd(1.5), "eval_other_f1": draw.odd(0.3), "loss": 1.0,
        }, 0.88)
        for step in range(1, draw.randrange(2, 8))
    ]  # fmt: skip
    end = {"train_runtime": draw.odd(90.0, 0.2), "step": 400, "train_samples_per_second": 10.0}
    folders = ["", "", "checkpoint-9/", "checkpoint-30/", "checkpoint-200/", "last-checkpoint/",
               "other/"]  # fmt: skip
    files: Files = {}
    for folder in draw.sample(folders, draw.choice([1, 1, 1, 4])):
        known = entries[: draw.choice([None, None, None, 0, 1, 3])]
        known = draw.choice([known] * 9 + [[{"step": 10, "eval_accuracy": 0.9}]])
        known += [end] if draw.chance(0.5) else []
        state = draw.subset({
            "log_history": draw.odd(known, 0.03), "max_steps": draw.odd(draw.choice([400, 0])),
            "global_step": draw.choice([None, 400, 50 * len(entries)]), "epoch": 2.0,
            "num_train_epochs": draw.odd(4), "train_batch_size": draw.odd(16),
            "best_metric": draw.odd(0.4), "total_flos": draw.odd(1e12),
        }, 0.95)  # fmt: skip
        text = json.dumps(state).encode()
        files[f"/h/out/{folder}trainer_state.json"] = draw.choice([text] * 15 + [b"{", b"[]"])
    return files


def mlflow_db(draw: Draw) -> Files:
    """Return a database of a few runs."""
    runs = [
        {"run_uuid": f"{n:032x}", "name": f"r{n}",
         "status": draw.choice(["FINISHED", "FAILED", "x"]),
         "start_time": draw.odd(1_700_000_000_000), "end_time": draw.odd(1_700_000_060_000),
         "lifecycle_stage": draw.choice(["active", "active", "deleted"])}
        for n in range(draw.randrange(1, 4))
    ]  # fmt: skip
    for run in runs:
        for name in ("start_time", "end_time"):
            run[name] = run[name] if isinstance(run[name], int | float | None) else None
    metrics = [
        (key, draw.choice([0.1, 0.5, 0.9]), 1_700_000_000_000 + 1000 * step, step,
         draw.chance(0.1), run["run_uuid"])
        for run in runs for step in range(draw.randrange(5)) for key in ("val_acc", "epoch", "loss")
    ]  # fmt: skip
    params = [("lr", "0.1", runs[0]["run_uuid"]), ("seed", str(draw.odd(3)), runs[0]["run_uuid"])]
    data, ahead = bytearray(stores.mlflow_database(runs, metrics, params)), Files()
    if draw.chance(0.3):  # a server writes ahead
        data[18:20] = b"\2\2"
        ahead = draw.choice([{}, {"/m/mlflow.db-wal": b"x"}])
    if draw.chance(0.2):
        data = data.replace(b"TABLE tags", b"TABLE tag5")
    return {"/m/mlflow.db": bytes(data)} | ahead


def mlflow_files(draw: Draw) -> Files:
    """Return the description of a run, with its metrics, parameters and tags in files beside."""
    run = "0123456789abcdef" * 2
    about = {
        "run_id": draw.odd(run), "run_name": draw.odd("r"), "status": draw.odd(3, 0.3),
        "start_time": draw.odd(1_700_000_000_000), "end_time": draw.odd(1_700_000_060_000),
        "lifecycle_stage": draw.choice(["active", "active", "active", "deleted"]),
    }  # fmt: skip
    meta = "".join(f"{key}: {json.dumps(value)}\n" for key, value in about.items())
    beside: dict[str, str] = {
        "params/lr": "0.1", "params/seed": str(draw.odd(3, 0.3)), "params/deep/path": "x",
        **{f"params{'/d' * depth}/x": "y" for depth in (10, 11)},
        "tags/mlflow.runName": "named", "tags/mlflow.parentRunId": "p",
    }  # fmt: skip
    for metric in ("val_acc", "eval/loss", "epoch"):
        lines = [
            " ".join(str(draw.odd(x, 0.04)) for x in (1_700_000_000_000 + 999 * n, 0.1 * n, n))
            for n in range(draw.randrange(5))
        ]
        beside[f"metrics/{metric}"] = "\n".join(line[: draw.choice([99, 99, 99, 17, 9])]
                                                for line in lines)  # fmt: skip
    folder = f"/m/mlruns/7/{run}"
    files = {f"{folder}/{name}": text.encode() for name, text in draw.subset(beside, 0.8).items()}
    files |= draw.subset({f"{folder}/meta.yaml": meta.encode()}, 0.85)
    files |= draw.subset({"/m/mlruns/7/short/metrics/acc": b"1700000001500 0.5"}, 0.2)
    names = [b"name: mine\n", b"name: 3\n", b"name: Default\n"]
    files |= draw.subset({"/m/mlruns/7/meta.yaml": draw.choice(names)}, 0.8)
    return draw.choice([files] * 9 + [files | {f"{folder}/meta.yaml": b"x"}])


def monitor(draw: Draw) -> bytes:
    """Return episodes of an environment, with sessions appended, perhaps with other columns."""
    lines = []
    for session in range(draw.choice([1, 1, 1, 2])):
        header = {"t_start": draw.odd(1.7e9 + 500 * session), "env_id": draw.odd("CartPole", 0.1)}
        columns = draw.choice(["r,l,t", "r,l,t", "r,l,t,lives", "l,r,t"])
        lines += [f"#{json.dumps(header)}", columns][: draw.choice([2, 2, 2, 1])]
        for n in range(1, draw.randrange(2, 6)):
            cells = [str(draw.odd(number, 0.03)) for number in (20.5 * n, 20 * n, 3.3 * n, 5)]
            lines.append(",".join(cells[: columns.count(",") + 1 - draw.choice([0] * 20 + [1])]))
            lines += [""] * draw.choice([0, 0, 0, 1])
    return draw.choice(["\n", "\r\n"]).join(lines).encode()


def monitors(draw: Draw) -> Files:
    """Return the monitor of one environment, perhaps among those of others."""
    names = draw.choice([["monitor.csv"], ["0.monitor.csv", "1.monitor.csv", "10.monitor.csv"],
                         ["env_1.monitor.csv", "env_0.monitor.csv"],
                         ["x.monitor.csv", "0.monitor.csv"]])  # fmt: skip
    files = {f"/s/run/{name}": monitor(draw) for name in names}
    return files | draw.subset({"/s/run/evaluations.npz": b""}, 0.1)


def evaluations(draw: Draw) -> Files:
    """Return arrays of evaluations, of any shape, with monitors beside."""
    count, episodes = draw.randrange(4), draw.choice([1, 3])
    random_state = np.random.default_rng(draw.randrange(1000))
    shape: Any = draw.choice([(count, episodes), (count, episodes), (count,), (count, 2, 2), (2,)])
    arrays: dict[str, Any] = {
        "timesteps": 100 * np.arange(count) if draw.chance(0.9) else np.ones((count, 1)),
        "results": np.round(random_state.normal(20, 5, shape), 3),
        "ep_lengths": np.ones((count, episodes)), "successes": np.ones((count, episodes)) / 2,
    }  # fmt: skip
    if arrays["results"].size and draw.chance(0.2):
        arrays["results"].flat[0] = np.nan
    if draw.chance(0.05):
        arrays["results"] = np.array([None, {}], dtype=object)
    buffer = io.BytesIO()
    np.savez(buffer, **draw.subset(arrays, 0.9))
    files = {"/s/run/evaluations.npz": buffer.getvalue()[: draw.choice([None] * 9 + [300])]}
    return files | {
        f"/s/run/{n}.monitor.csv": monitor(draw) if draw.chance(0.8) else b"#{}\nr,l,t"
        for n in range(draw.choice([0, 1, 2]))
    }


MAKERS = (
    (wandb, 56), (wandb_history, 30), (tfevents, 80), (hf_trainer, 64), (mlflow_db, 20),
    (mlflow_files, 48), (monitors, 40), (evaluations, 30),
)  # fmt: skip


# -------------------------------------------------------------------------------- what are they?

EVENT = stores.first_event(1.7e9)
HEADS = (
    b'', b'PK\x03\x04timesteps.npy results.npy',
    b"PK\x03\x04" + b" " * 4096 + b"timesteps.npy results.npy", b'timesteps.npy results.npy',
    b'PK\x03\x04timesteps.npy', b'{', b'\n {"author": 1, "framework": 2, "hardware": 3}',
    b'x{"author": 1, "framework": 2, "hardware": 3}', b'{"author": 1, "framework": 2}',
    b'\xef\xbb\xbfepoch\thours\ttop1Accuracy\n', b'epoch\thours', b'epoch hours\n',
    b'hours\tf1Score\n1\t2', b'{"log_history": [], "global_step": 1}',
    b'{"best_metric": null, "log_history": [{"step": 1}]}',
    b'lifecycle_stage: active\nrun_id: x\n', b" " * 9000 + b"lifecycle_stage: active",
    b'artifact_uri: x\n', b'SQLite format 3\x00', b'SQLite format 3', b':::MLLOG {}',
    b'x\n:::MLLOG {}', b" " * 70_000 + b":::MLLOG {}", b':::MLL 1.5 run_start: {}',
    b':::MLPv0.5.0 resnet 1.5 (a.py:7) run_start', b':::MLP', b'#{"t_start": 1.5}\nr,l,t\n',
    b'r,l,t\n1,2,3\n', b'#{"env_id": "x"}\n', EVENT, EVENT[:10],
    b'\x18\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', b':W&B\xe1\xbe\x00', b':W&B', b':W&',
    b':W&C\xe1\xbe\x00', b'{"_step": 1, "_runtime": 2.5}', b'{"_step": 1}\n{"_step": 2}',
    b'a,b\n1,2\n', b'words alone\n',
    b"\nepoch\thours\ttop1Accuracy\n", b'\n\n{"author": 1, "framework": 2, "hardware": 3}',
    b'#{"t', b" " * 1100 + b'#{"t_start": 1.5}', b'#{"x": "' + b"y" * 1100 + b'", "t_start": 1.5}',
)  # fmt: skip
PATHS = (
    "/x/evaluations.npz", "/x/a.npz", "/x/run.tsv", "/x/trainer_state.json", "/x/meta.yaml",
    "/m/0123456789abcdef0123456789abcdef/metrics/acc", "/x/mlflow.db", "/x/result_0.txt",
    "/x/0.monitor.csv", "/x/monitor.csv", "/x/events.out.tfevents.1700000000.host",
    "/x/run-abc.wandb", "/x/files/wandb-summary.json", "/x/wandb-history.jsonl", "/x/a.json",
)  # fmt: skip


def recognised() -> Iterator[str]:
    for head in HEADS:
        kinds: dict[str, list[str]] = {}
        for path in PATHS:
            try:
                dialect = registry.recognise(head, path)
            except TtastatsError as error:
                kinds.setdefault(error.what, []).append(path)
                continue
            kinds.setdefault(dialect.name if dialect else "nothing", []).append(path)
        yield f"{head[:50]!r} {len(head)} {json.dumps(kinds)}"


@cases("random_logs", recognised=recognised, **at_random(MAKERS, read_files))
def test_random_logs_are_read_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
