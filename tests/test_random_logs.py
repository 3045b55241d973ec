"""Logs of random content, well formed but odd, are read as was accepted.

What the formats allow is more than the fixtures show: any key may be missing, repeated, late or of
another type. Each dialect reads the same logs again, made from a seed.
"""

from __future__ import annotations

import io
import json
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

import msgspec
import numpy as np

from tests import made_stores as stores
from tests.accepted import Case, at_random, cases
from tests.test_fixtures import plain
from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Metrics, log_from_bytes
from ttastats.formats.own_logs import config
from ttastats.ingestion import registry

#: The bytes of a log, its path, and the files beside it by name.
Made = tuple[bytes, str, dict[str, bytes]]

ODD: tuple[Any, ...] = (None, "", "x", "0.5", -1, 0, 20_000, 1e400, True, [1], {"a": 1}, "nan")


def odd(draw: random.Random, value: Any, chance: float = 0.06) -> Any:
    return draw.choice(ODD) if draw.random() < chance else value


def row_of(draw: random.Random, step: int) -> dict[str, Any]:
    """Return a row of a history: numbers, nested ones, plots, and what is no number."""
    row: dict[str, Any] = {
        "_step": odd(draw, step), "_runtime": odd(draw, 2.5 * step),
        "val/acc": odd(draw, 0.1 * step),
        "_timestamp": odd(draw, 1.7e9 + 3 * step), "epoch": odd(draw, step / 2), "loss": "NaN",
        "eval": {"acc": odd(draw, 0.2 * step), "deep": {"er": {"f1": 0.3}}},
        "plot": {"_type": "image-file", "width": 3}, "trainer/global_step": odd(draw, 10 * step),
        "eval/accuracy": odd(draw, 0.05 * step), "samples": odd(draw, 128 * step),
    }  # fmt: skip
    deep: Any = 0.7
    for _ in range(10):
        deep = {"k": deep}
    return {key: value for key, value in (row | {"far": deep}).items() if draw.random() < 0.85}


def wandb(draw: random.Random) -> Made:
    """Return a store, perhaps without an end, with a summary and a configuration beside it."""
    config = {"lr": odd(draw, 0.1), "seed": odd(draw, 3), "batch_size": odd(draw, 64)}
    start, nanos = draw.choice([0, 1_700_000_000]), draw.choice([0, 5**12])
    about = stores.run_record("abc", "proj", config, start, nanos, group="g", run_name="n")
    rows = [row_of(draw, step) for step in range(draw.randrange(6))]
    records = [stores.history(row | {"_step": n}, nested=draw.random() < 0.5)
               for n, row in enumerate(rows)]  # fmt: skip
    summary = row_of(draw, 9)
    if draw.random() < 0.5:
        records.append(stores.summary_record(summary))
    if draw.random() < 0.1:
        records.append(b"\xff\xff")
    if draw.random() < 0.6:
        records.append(stores.exit_record(draw.choice([0, 1]), 30))
    records = [about, *records] if draw.random() < 0.9 else records
    data = bytearray(stores.wandb_store(records))
    if draw.random() < 0.2:
        data[draw.randrange(7, len(data))] ^= 255
    folder = "/w/proj/wandb/run-20240101_100000-abc"
    beside = {"files/wandb-summary.json": json.dumps(summary).encode(),
              "files/config.yaml": b"lr:\n  value: 0.2\nseed:\n  value: 7\n"}  # fmt: skip
    kept = {name: data for name, data in beside.items() if draw.random() < 0.7}
    return bytes(data), f"{folder}/run-abc.wandb", kept


def wandb_history(draw: random.Random) -> Made:
    """Return a history of the oldest kind, and what lies beside it."""
    rows = [json.dumps(row_of(draw, step)) for step in range(draw.randrange(6))]
    beside = {"wandb-summary.json": json.dumps(row_of(draw, 9)).encode(),
              "wandb-metadata.json": json.dumps({"startedAt": "2019-03-01T10:10:10",
                                                 "state": odd(draw, "finished"),
                                                 "exitcode": odd(draw, 0)}).encode(),
              "config.yaml": b"lr:\n  desc: null\n  value: 0.2\n"}  # fmt: skip
    kept = {name: data for name, data in beside.items() if draw.random() < 0.8}
    return "\n".join(rows).encode(), "/w/wandb/run-20190301_101010-old/wandb-history.jsonl", kept


def tfevents(draw: random.Random) -> Made:
    """Return an event file, perhaps with another of its run or with those of its settings below."""
    name, later = (f"events.out.tfevents.17000{minute}0000.host" for minute in (0, 1))
    beside = {later: events(draw)} if draw.random() < 0.3 else {}
    if draw.random() < 0.2:
        settings = stores.first_event(1.7e9) + stores.hparams(1.7e9)
        settings += stores.scalar(1.7e9, 3, eval__accuracy=0.5) if draw.random() < 0.7 else b""
        above = {f"/t/run/{name}": events(draw)} if draw.random() < 0.7 else {}
        return settings, f"/t/run/1700010000.1/{later}", above
    return events(draw), f"/t/run/validation/{name}", beside


def events(draw: random.Random) -> bytes:
    """Return events that go back, start again, or are damaged."""
    data, time, step = stores.first_event(1.7e9), 1.7e9, 0
    for _ in range(draw.randrange(1, 9)):
        time += draw.choice([0.0, 1.5, 60.0, -5.0])
        step = max(0, step + draw.choice([1, 10, 10, -10, 0]))
        value = draw.choice([0.1, 0.5, 0.9, float("nan")])
        kind = draw.randrange(8)
        if kind < 2:
            data += stores.scalar(time, step, eval__accuracy=value, epoch=step / 10, loss=1 - value)
        elif kind == 2:
            data += stores.tensor(time, step, "epoch_accuracy", value, packed=draw.random() < 0.5)
        elif kind == 3:
            data += stores.text(time, step, "notes", "words")
        elif kind < 6:
            data += stores.tfrecord(stores.field(1, time) + stores.field(5, a_tensor(draw)))
        elif kind == 6:
            strange = draw.choices(b"\x08\x01\x09\x12\x2a\x80", k=draw.randrange(7))
            data += stores.tfrecord(bytes(strange))
        else:
            data += stores.hparams(time)
    if draw.random() < 0.2:
        place = draw.randrange(len(data))
        data = data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :]
    cut = draw.choice([0, 0, 0, 3])
    return data[: len(data) - cut]


def a_tensor(draw: random.Random) -> bytes:
    """Return a summary that holds a tensor of any type, in any of the places for its number."""
    kind, number = draw.choice([1, 1, 2, 3, 9, 9, 7]), draw.choice([-3, 0, 5, 2**40])
    place = draw.choice([4, 4, 5, 6, 7, 10])
    plain = {1: "<f", 2: "<d", 3: "<i", 9: "<q", 7: "<q"}[kind]
    value: Any = number if place in {7, 10} and draw.random() < 0.8 else float(number)
    if place in {4, 5, 6} and draw.random() < 0.8:
        value = struct.pack(plain, min(number, 99) if kind == 3 else number)
    parts = [
        stores.field(1, draw.choice([kind] * 9 + [b"x"])),
        stores.field(2, draw.choice([b""] * 6 + [stores.field(2, b""), stores.field(1, 3)])),
        stores.field(place, value),
    ]
    if place in {7, 10} and draw.random() < 0.4:  # as a row of one
        parts[2] = stores.field(place, stores.varint(number))
    kept = [part for part in parts if draw.random() < 0.9]
    tag = stores.field(1, "eval/accuracy") if draw.random() < 0.95 else b""
    return stores.field(1, tag + stores.field(8, b"".join(kept)))


def hf_trainer(draw: random.Random) -> Made:
    """Return the state of a trainer; entries may lack anything."""
    entries = []
    for step in range(1, draw.randrange(2, 8)):
        entry = {
            "step": odd(draw, 50 * step), "epoch": odd(draw, step / 2),
            "eval_accuracy": odd(draw, 0.1 * step), "eval_loss": odd(draw, 2.0 / step),
            "eval_runtime": odd(draw, 1.5), "eval_other_f1": odd(draw, 0.3), "loss": 1.0,
        }  # fmt: skip
        entries.append({name: one for name, one in entry.items() if draw.random() < 0.85})
    end = {"train_runtime": odd(draw, 90.0, 0.2), "step": 400, "train_samples_per_second": 10.0}
    state = {
        "log_history": odd(draw, [*entries, *([end] if draw.random() < 0.7 else [])], 0.03),
        "max_steps": odd(draw, 400), "global_step": draw.choice([None, 400, 50 * len(entries)]),
        "num_train_epochs": odd(draw, 4), "train_batch_size": odd(draw, 16), "epoch": 2.0,
        "best_metric": odd(draw, 0.4), "total_flos": odd(draw, 1e12),
    }  # fmt: skip
    known = {name: one for name, one in state.items() if draw.random() < 0.95}
    folder = draw.choice(["/h/out", "/h/out/checkpoint-200"])
    return json.dumps(known).encode(), f"{folder}/trainer_state.json", {}


def mlflow_db(draw: random.Random) -> Made:
    """Return a database of a few runs."""
    runs = [
        {"run_uuid": f"{n:032x}", "name": f"r{n}",
         "status": draw.choice(["FINISHED", "FAILED", "x"]),
         "start_time": odd(draw, 1_700_000_000_000), "end_time": odd(draw, 1_700_000_060_000),
         "lifecycle_stage": draw.choice(["active", "active", "deleted"])}
        for n in range(draw.randrange(1, 4))
    ]  # fmt: skip
    for one in runs:
        for name in ("start_time", "end_time"):
            one[name] = one[name] if isinstance(one[name], int | float | None) else None
    metrics = [
        (key, draw.choice([0.1, 0.5, 0.9]), 1_700_000_000_000 + 1000 * step, step,
         draw.random() < 0.1, one["run_uuid"])
        for one in runs for step in range(draw.randrange(5)) for key in ("val_acc", "epoch", "loss")
    ]  # fmt: skip
    params = [("lr", "0.1", runs[0]["run_uuid"]), ("seed", str(odd(draw, 3)), runs[0]["run_uuid"])]
    data, beside = bytearray(stores.mlflow_database(runs, metrics, params)), {}
    if draw.random() < 0.3:  # a server writes ahead
        data[18:20] = b"\2\2"
        beside = draw.choice([{}, {"mlflow.db-wal": b"x"}])
    if draw.random() < 0.2:
        data = data.replace(b"TABLE tags", b"TABLE tag5")
    return bytes(data), "/m/mlflow.db", beside


def mlflow_files(draw: random.Random) -> Made:
    """Return the description of a run, with its metrics, parameters and tags in files beside."""
    run = "0123456789abcdef" * 2
    about = {
        "run_id": odd(draw, run), "run_name": odd(draw, "r"), "status": odd(draw, 3, 0.3),
        "start_time": odd(draw, 1_700_000_000_000), "end_time": odd(draw, 1_700_000_060_000),
        "lifecycle_stage": draw.choice(["active", "active", "active", "deleted"]),
    }  # fmt: skip
    meta = "".join(f"{key}: {json.dumps(value)}\n" for key, value in about.items())
    beside: dict[str, str] = {
        "params/lr": "0.1", "params/seed": str(odd(draw, 3, 0.3)), "params/deep/path": "x",
        **{f"params{'/d' * depth}/x": "y" for depth in (10, 11)},
        "tags/mlflow.runName": "named", "tags/mlflow.parentRunId": "p",
    }  # fmt: skip
    for metric in ("val_acc", "eval/loss", "epoch"):
        lines = [
            " ".join(str(odd(draw, one, 0.04)) for one in (1_700_000_000_000 + 999 * n, 0.1 * n, n))
            for n in range(draw.randrange(5))
        ]
        beside[f"metrics/{metric}"] = "\n".join(line[: draw.choice([99, 99, 99, 17, 9])]
                                                for line in lines)  # fmt: skip
    kept = {name: text.encode() for name, text in beside.items() if draw.random() < 0.8}
    folder = f"/m/mlruns/7/{run}"
    if draw.random() < 0.8:
        kept["/m/mlruns/7/meta.yaml"] = draw.choice(
            [b"name: mine\n", b"name: 3\n", b"name: Default\n"]
        )
    if draw.random() < 0.1:
        return b"1 2 3", f"{folder}/metrics/acc", draw.choice([{}, {f"{folder}/meta.yaml": b"x"}])
    return meta.encode(), f"{folder}/meta.yaml", kept


def monitor(draw: random.Random) -> bytes:
    """Return episodes of an environment, with sessions appended, perhaps with other columns."""
    lines = []
    for session in range(draw.choice([1, 1, 1, 2])):
        header = {"t_start": odd(draw, 1.7e9 + 500 * session), "env_id": odd(draw, "CartPole", 0.1)}
        columns = draw.choice(["r,l,t", "r,l,t", "r,l,t,lives", "l,r,t"])
        lines += [f"#{json.dumps(header)}", columns][: draw.choice([2, 2, 2, 1])]
        for n in range(1, draw.randrange(2, 6)):
            cells = [str(odd(draw, one, 0.03)) for one in (20.5 * n, 20 * n, 3.3 * n, 5)]
            lines.append(",".join(cells[: columns.count(",") + 1 - draw.choice([0] * 20 + [1])]))
            lines += [""] * draw.choice([0, 0, 0, 1])
    return draw.choice(["\n", "\r\n"]).join(lines).encode()


def monitors(draw: random.Random) -> Made:
    """Return the monitor of one environment, perhaps among those of others."""
    names = draw.choice([["monitor.csv"], ["0.monitor.csv", "1.monitor.csv", "10.monitor.csv"],
                         ["env_1.monitor.csv", "env_0.monitor.csv"],
                         ["x.monitor.csv", "0.monitor.csv"]])  # fmt: skip
    beside = {name: monitor(draw) for name in names[1:]}
    if draw.random() < 0.1:
        beside["evaluations.npz"] = b""
    return monitor(draw), f"/s/run/{names[0]}", beside


def evaluations(draw: random.Random) -> Made:
    """Return arrays of evaluations, of any shape, with monitors beside."""
    count, episodes = draw.randrange(4), draw.choice([1, 3])
    random_state = np.random.default_rng(draw.randrange(1000))
    shape: Any = draw.choice([(count, episodes), (count, episodes), (count,), (count, 2, 2), (2,)])
    arrays: dict[str, Any] = {
        "timesteps": 100 * np.arange(count) if draw.random() < 0.9 else np.ones((count, 1)),
        "results": np.round(random_state.normal(20, 5, shape), 3),
        "ep_lengths": np.ones((count, episodes)), "successes": np.ones((count, episodes)) / 2,
    }  # fmt: skip
    if arrays["results"].size and draw.random() < 0.2:
        arrays["results"].flat[0] = np.nan
    if draw.random() < 0.05:
        arrays["results"] = np.array([None, {}], dtype=object)
    buffer = io.BytesIO()
    np.savez(buffer, **{name: one for name, one in arrays.items() if draw.random() < 0.9})
    data = buffer.getvalue()
    beside = {f"{n}.monitor.csv": monitor(draw) if draw.random() < 0.8 else b"#{}\nr,l,t"
              for n in range(draw.choice([0, 1, 2]))}  # fmt: skip
    return data[: draw.choice([None] * 9 + [300])], "/s/run/evaluations.npz", beside


MADE: tuple[tuple[Callable[[random.Random], Made], int], ...] = (
    (wandb, 40), (wandb_history, 30), (tfevents, 60),
    (hf_trainer, 40), (mlflow_db, 20), (mlflow_files, 40), (monitors, 40), (evaluations, 30),
)  # fmt: skip


#: What a user may say of any of the logs.
BLOCK = config.complete_block(
    {
        "metric": [
            "eval/accuracy >= 30 %", "val_acc >= 0.5", "val/acc higher", "eval_accuracy <= 3",
            "r >= 40", "eval/mean_reward >= 20", "validation/eval/accuracy >= 40",
        ]
    },
    lambda key: key,
    "/",
)  # fmt: skip


def read(made: Made, seed: int) -> Iterator[str]:
    """Yield what is read of a log; of every third with its metrics of training."""
    metrics: Metrics = "evaluations" if seed % 3 else "all"
    block = None if seed % 5 else BLOCK
    data, path, beside = made
    folder = path.rpartition("/")[0]
    files = {str(PurePosixPath(folder, name)): content for name, content in beside.items()}
    dialect = registry.recognise(data, path)
    if dialect is None:
        yield "nothing"
        return
    log = log_from_bytes(data, path, {path: data} | files, metrics=metrics, block=block)
    for item in dialect.parse(log):
        yield told(item)


def told(item: Run | Problem) -> str:
    """Return all of a run but what is unknown; its evaluations as rows, without names."""
    found = shorter(plain(item))
    if isinstance(item, Run):
        rows = [list(map(shorter, msgspec.structs.astuple(one))) for one in item.evaluations]
        found |= {"evaluations": [without_end(row) for row in rows]}
    return json.dumps(found, default=str, separators=(",", ":"))


def without_end(row: list[Any]) -> list[Any]:
    while row and row[-1] is None:
        row.pop()
    return row


def shorter(value: Any) -> Any:
    """Leave out what is unknown, and messages of what Python or SQLite found, which vary."""
    if isinstance(value, dict):
        foreign = value.get("code") in {"bad_description", "unreadable_file"}
        kept = {k: shorter(one) for k, one in value.items() if k != "message" or not foreign}
        return {name: one for name, one in kept.items() if one not in (None, (), {})}
    return [shorter(one) for one in value] if isinstance(value, list | tuple) else value


@cases("random_logs", **at_random(MADE, read))
def test_random_logs_are_read_as_accepted(case: Case) -> None:
    assert case.is_as_accepted()
