"""Logs of random content, well formed but odd, are read as was accepted.

What the formats allow is more than the fixtures show: any key may be missing, repeated, late or of
another type. Each dialect reads the same logs again, made from a seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

import pytest

from tests import made_stores as stores
from tests.conftest import ROOT, matches_accepted
from tests.test_fixtures import plain
from ttastats.dialect import log_from_bytes
from ttastats.ingestion import registry

ACCEPTED = ROOT / "tests" / "reference" / "random_logs"
#: The bytes of a log, its path, and the files beside it by name.
Made = tuple[bytes, str, dict[str, bytes]]

ODD: tuple[Any, ...] = (None, "", "x", "0.5", -1, 0, 20_000, 1e400, True, [1], {"a": 1}, "nan")
BENCHMARKS = {  # with keys of its metrics, and what counts progress
    "resnet": ("v4.0", ["eval_accuracy"]),
    "bert": ("v5.0", ["eval_accuracy", "eval_mlm_accuracy"]),
    "stable_diffusion": ("v5.0", ["eval_accuracy"]),
    "unet3d": ("v4.0", ["eval_accuracy"]),
    "gpt3": ("v4.0", ["eval_accuracy", "eval_error"]),
    "maskrcnn": ("v2.1", ["eval_accuracy", "eval_result"]),
    "strange": ("v4.0", ["eval_accuracy", "eval_error"]),
}
SETTINGS = ("seed", "global_batch_size", "train_samples", "eval_samples", "opt_base_learning_rate",
            "submission_org", "submission_platform", "init_start", "init_stop")  # fmt: skip


def odd(draw: random.Random, value: Any, chance: float = 0.06) -> Any:
    return draw.choice(ODD) if draw.random() < chance else value


def mllog(draw: random.Random) -> Made:
    """Give a log of MLPerf; every part may be missing or odd."""
    benchmark = draw.choice(list(BENCHMARKS))
    edition, metrics = BENCHMARKS[benchmark]
    lines: list[str] = []
    clock = 1_600_000_000_000

    def event(key: str, value: Any = None, *, chance: float = 0.93, **metadata: Any) -> None:
        if draw.random() > chance:
            return
        known = {name: odd(draw, one) for name, one in metadata.items() if draw.random() < 0.9}
        fields = {"time_ms": odd(draw, clock, 0.01), "key": key, "value": odd(draw, value)}
        lines.append(f":::MLLOG {json.dumps(fields | {'metadata': odd(draw, known, 0.02)})}")

    event("submission_benchmark", benchmark)
    for name in draw.sample(SETTINGS, 5):
        event(name, draw.choice([1, 32, 0.1, 117_000, "Lab"]))
    event("run_start")
    unit = draw.choice(["epoch_num", "samples_count", "step_num"])
    size = {"epoch_num": 1, "samples_count": draw.choice([1000, 400_000]), "step_num": 100}[unit]
    for place in range(1, draw.randrange(1, 7)):
        clock += draw.choice([1000, 61_500, 0])
        event(draw.choice(["block_start", "epoch_start"]), **{unit: size * place})
        clock += 5_000
        event(draw.choice(["block_stop", "epoch_stop"]), **{unit: size * place})
        event("eval_start", **{unit: size * place}, chance=0.6)
        clock += draw.choice([10, 2_000])
        for key in draw.sample(metrics, draw.randrange(1, len(metrics) + 1)):
            value = draw.choice([0.1, 0.4, 0.72, 0.76, 0.92, 24.0, 76.0])
            event(key, value, **{unit: size * place}, metric=draw.choice(["FID", "CLIP", "BBOX"]))
        event("train_samples", size * place, chance=0.1)
    clock += draw.choice([0, 5, 100_000])
    event("run_stop", status=draw.choice(["success", "success", "aborted", "x"]), chance=0.85)
    for _ in range(draw.choice([0, 0, 1])):
        draw.shuffle(lines)
    folder = f"/x/{edition}/Lab/results/big/{benchmark}"
    return "\n".join(lines).encode(), f"{folder}/result_{draw.randrange(4)}.txt", {}


def row_of(draw: random.Random, step: int) -> dict[str, Any]:
    """Give a row of a history: numbers, nested ones, pictures, and what is no number."""
    row: dict[str, Any] = {
        "_step": odd(draw, step), "_runtime": odd(draw, 2.5 * step),
        "val/acc": odd(draw, 0.1 * step),
        "_timestamp": odd(draw, 1.7e9 + 3 * step), "epoch": odd(draw, step / 2), "loss": "NaN",
        "eval": {"acc": odd(draw, 0.2 * step), "deep": {"er": {"f1": 0.3}}},
        "picture": {"_type": "image-file", "width": 3}, "trainer/global_step": odd(draw, 10 * step),
        "eval/accuracy": odd(draw, 0.05 * step), "samples": odd(draw, 128 * step),
    }  # fmt: skip
    deep: Any = 0.7
    for _ in range(10):
        deep = {"k": deep}
    return {key: value for key, value in (row | {"far": deep}).items() if draw.random() < 0.85}


def wandb(draw: random.Random) -> Made:
    """Give a store, perhaps without an end, with a summary and a configuration beside it."""
    config = {"lr": odd(draw, 0.1), "seed": odd(draw, 3), "batch_size": odd(draw, 64)}
    about = stores.run_record("abc", "proj", config, draw.choice([0, 1_700_000_000]),
                              group="g", run_name="n")  # fmt: skip
    rows = [row_of(draw, step) for step in range(draw.randrange(6))]
    records = [stores.history(row | {"_step": n}, nested=draw.random() < 0.5)
               for n, row in enumerate(rows)]  # fmt: skip
    summary = row_of(draw, 9)
    if draw.random() < 0.5:
        records.append(stores.summary_record(summary))
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
    """Give a history of the oldest kind, and what lies beside it."""
    rows = [json.dumps(row_of(draw, step)) for step in range(draw.randrange(6))]
    beside = {"wandb-summary.json": json.dumps(row_of(draw, 9)).encode(),
              "wandb-metadata.json": json.dumps({"startedAt": "2019-03-01T10:10:10",
                                                 "state": odd(draw, "finished"),
                                                 "exitcode": odd(draw, 0)}).encode(),
              "config.yaml": b"lr:\n  desc: null\n  value: 0.2\n"}  # fmt: skip
    kept = {name: data for name, data in beside.items() if draw.random() < 0.8}
    return "\n".join(rows).encode(), "/w/wandb/run-20190301_101010-old/wandb-history.jsonl", kept


def tfevents(draw: random.Random) -> Made:
    """Give an event file, perhaps with another of its run or with those of its settings below."""
    name, later = (f"events.out.tfevents.17000{minute}0000.host" for minute in (0, 1))
    beside = {later: events(draw)} if draw.random() < 0.3 else {}
    if draw.random() < 0.2:
        settings = stores.first_event(1.7e9) + stores.hparams(1.7e9)
        settings += stores.scalar(1.7e9, 3, eval__accuracy=0.5) if draw.random() < 0.7 else b""
        above = {f"/t/run/{name}": events(draw)} if draw.random() < 0.7 else {}
        return settings, f"/t/run/1700010000.1/{later}", above
    return events(draw), f"/t/run/validation/{name}", beside


def events(draw: random.Random) -> bytes:
    """Give events that go back, start again, or are damaged."""
    data, time, step = stores.first_event(1.7e9), 1.7e9, 0
    for _ in range(draw.randrange(1, 9)):
        time += draw.choice([0.0, 1.5, 60.0, -5.0])
        step = max(0, step + draw.choice([1, 10, 10, -10, 0]))
        value = draw.choice([0.1, 0.5, 0.9, float("nan")])
        kind = draw.randrange(5)
        if kind < 2:
            data += stores.scalar(time, step, eval__accuracy=value, epoch=step / 10, loss=1 - value)
        elif kind == 2:
            data += stores.tensor(time, step, "epoch_accuracy", value, packed=draw.random() < 0.5)
        elif kind == 3:
            data += stores.text(time, step, "notes", "words")
        else:
            data += stores.hparams(time)
    if draw.random() < 0.2:
        place = draw.randrange(len(data))
        data = data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :]
    cut = draw.choice([0, 0, 0, 3])
    return data[: len(data) - cut]


def hf_trainer(draw: random.Random) -> Made:
    """Give the state of a trainer; entries may lack anything."""
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
        "max_steps": odd(draw, 400), "global_step": odd(draw, 50 * len(entries)),
        "num_train_epochs": odd(draw, 4), "train_batch_size": odd(draw, 16), "epoch": 2.0,
        "best_metric": odd(draw, 0.4), "total_flos": odd(draw, 1e12),
    }  # fmt: skip
    known = {name: one for name, one in state.items() if draw.random() < 0.95}
    folder = draw.choice(["/h/out", "/h/out/checkpoint-200"])
    return json.dumps(known).encode(), f"{folder}/trainer_state.json", {}


def mlflow_db(draw: random.Random) -> Made:
    """Give a database of a few runs."""
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
    return stores.mlflow_database(runs, metrics, params), "/m/mlflow.db", {}


MADE: tuple[tuple[Callable[[random.Random], Made], int], ...] = (
    (mllog, 120), (wandb, 40), (wandb_history, 30), (tfevents, 60), (hf_trainer, 40),
    (mlflow_db, 8),
)  # fmt: skip


def read(made: Made) -> Iterator[str]:
    data, path, beside = made
    folder = path.rpartition("/")[0]
    files = {str(PurePosixPath(folder, name)): content for name, content in beside.items()}
    dialect = registry.recognise(data, path)
    if dialect is None:
        yield "nothing"
        return
    for item in dialect.parse(log_from_bytes(data, path, {path: data} | files)):
        yield json.dumps(shorter(plain(item)), default=str)


def shorter(value: Any) -> Any:
    """Leave out what is unknown, and messages, which may be Python's."""
    if isinstance(value, dict):
        kept = {name: shorter(one) for name, one in value.items() if name != "message"}
        return {name: one for name, one in kept.items() if one not in (None, (), {})}
    return [shorter(one) for one in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(("make", "number"), MADE, ids=lambda one: getattr(one, "__name__", ""))
def test_random_logs_are_read_as_accepted(
    make: Callable[[random.Random], Made], number: int
) -> None:
    lines = [
        f"{seed} {line}\n"
        for seed in range(number)
        for line in read(make(random.Random(f"{make.__name__} {seed}")))
    ]
    assert matches_accepted(ACCEPTED / f"{make.__name__}.txt", "".join(lines))
