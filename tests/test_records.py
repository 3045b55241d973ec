"""Records of event files and W&B stores: in C and in Python alike, whole and in blocks."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from types import ModuleType

import pytest
from msgspec import structs

from tests import made_stores as stores
from tests.made_stores import field
from ttastats.base import streams
from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Metrics, log_from_bytes
from ttastats_parsers import record_files, tfevents, wandb

needs_compiled = pytest.mark.skipif(tfevents._compiled is None, reason="no compiler was at hand")


def events(draw: random.Random) -> bytes:
    """Return an event file with what TensorFlow, PyTorch and plugins write, some of it damaged."""
    records = [stores.first_event(100.0)]
    for step in range(60):
        time = draw.choice([100.0 + step, float("nan"), -1.0])
        value = draw.choice([step / 60, float("inf"), 0.0])
        double = field(1, 2) + field(2, b"") + field(4, struct.pack("<d", value))
        wide = field(1, 1) + field(2, field(2, b"\x08\x02")) + bytes([0x22, 0])
        item = field(1, "val/odd") + field(8, draw.choice([double, wide]))
        several = field(1, time) + field(2, -step) + field(5, field(1, item))
        kinds = (
            stores.scalar(time, step, val__acc=value, loss=0.5),
            stores.tensor(time, step, "val/acc", value, packed=step % 2 == 0),
            stores.tensor(time, step, "val/odd", value),
            stores.text(time, step, "config", "lr: 1"),
            stores.hparams(time),
            *map(stores.tfrecord, (several, several[:-3], b"\xff" * 30)),
        )
        records.append(draw.choice(kinds))
    return b"".join(records)


def store(draw: random.Random) -> bytes:
    """Return a W&B store with numbers, texts, objects and what is no JSON."""
    values = [1, 0.5, float("nan"), "text", "NaN", None, [1], {"a": 1, "b": {"c": 2}}]
    values.append({"_type": "x"})
    rows = [
        {"_step": step, "_runtime": step * 2.0, "val/acc": step / 50, "loss": draw.choice(values)}
        | {f"own{draw.randrange(4)}": draw.choice(values), "é": 10**30}
        for step in range(50)
    ]
    records = [stores.run_record("a", "p", {"lr": 1}, 100)]
    records += [stores.history(row, nested=draw.random() < 0.3) for row in rows]
    return stores.wandb_store([*records, b"\xff\xff", stores.exit_record(0, 100)])


def damaged(draw: random.Random, data: bytes) -> bytes:
    place = draw.randrange(7, len(data))
    return draw.choice([data, data[:place], data[:place] + b"?" + data[place + 1 :]])


def parsed(
    dialect: ModuleType, data: bytes, name: str, metrics: Metrics, size: int
) -> list[Run | Problem]:
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    log = log_from_bytes(data, f"/logs/a/{name}", metrics=metrics)
    return list(dialect.parse(structs.replace(log, blocks=lambda: iter(pieces))))


@needs_compiled
@pytest.mark.parametrize("metrics", ["evaluations", "all"])
@pytest.mark.parametrize(
    ("make", "dialect", "name"),
    [(events, tfevents, "events.out.tfevents.1"), (store, wandb, "run-a.wandb")],
)
def test_c_gives_what_python_gives(
    make: Callable[[random.Random], bytes],
    dialect: ModuleType,
    name: str,
    metrics: Metrics,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in range(20):
        draw = random.Random(seed)
        data = damaged(draw, make(draw))
        texts = [repr(parsed(dialect, data, name, metrics, size)) for size in (200, len(data))]
        with monkeypatch.context() as without:
            without.setattr(dialect, "_compiled", None)
            without.setattr(record_files, "_compiled", None)
            assert texts == [repr(parsed(dialect, data, name, metrics, len(data)))] * 2


@needs_compiled
def test_rows_with_nested_keys_as_current_versions_write_them_are_read_in_c() -> None:
    draw = random.Random(2)
    for _ in range(300):
        words = [".".join(draw.choices(["val", "é", "acc/1"], k=draw.randint(1, 4))) for _ in "abc"]
        row = dict.fromkeys(words, draw.choice([1, 0.5, "text", None, {"a": 1}]))
        message = stores.items(1, row, nested=draw.random() < 0.8)
        assert wandb._compiled is not None
        assert wandb._compiled(message) == {k: json.dumps(v).encode() for k, v in row.items()}


@needs_compiled
def test_fields_are_those_of_python() -> None:
    draw = random.Random(1)
    for _ in range(3_000):
        message = field(draw.randrange(1, 30), draw.choice([5, -1, 2**63, 0.5, b"ab", ""]))
        message = damaged(draw, bytes(7) + message)[7:] + draw.randbytes(draw.randrange(3))
        try:
            expected = list(record_files.fields_in_python(message))
        except ValueError:
            with pytest.raises(ValueError, match=r"cut|wire"):
                list(record_files.fields(message))
        else:
            assert list(record_files.fields(message)) == expected


def test_an_event_file_of_any_size_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(streams.VARIABLE, "1")
    picture = stores.tfrecord(stores.field(1, 1.0) + stores.field(9, bytes(400_000)))
    data = picture * 8 + stores.scalar(2.0, 1, val__acc=0.5)
    items = parsed(tfevents, data, "events.out.tfevents.1", "evaluations", 100_000)
    assert [len(item.evaluations) for item in items if isinstance(item, Run)] == [1]
