"""Generate event files, W&B stores, MLflow stores and arrays of evaluations, byte by byte.

Nothing here uses the readers: bytes are laid out from the descriptions of the formats.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def field(number: int, value: int | float | bytes | str) -> bytes:
    """Return a field of a message; a float is a double."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


# ---------------------------------------------------------------------------------- event files


def crc32c(data: bytes) -> int:
    """Return the CRC-32C, bit by bit, with the reflected polynomial of Castagnoli."""
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    plain = crc32c(data)
    return struct.pack("<I", ((plain >> 15 | plain << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def tfrecord(data: bytes) -> bytes:
    size = struct.pack("<Q", len(data))
    return size + masked(size) + data + masked(data)


def first_event(time: float) -> bytes:
    return tfrecord(field(1, time) + field(3, "brain.Event:2"))


def scalar(time: float, step: int, **values: float) -> bytes:
    """Return an event as PyTorch writes scalars; `__` in a name stands for a slash."""
    summary = b"".join(
        field(1, field(1, tag.replace("__", "/")) + varint(2 << 3 | 5) + struct.pack("<f", value))
        for tag, value in values.items()
    )
    return tfrecord(field(1, time) + field(2, step) + field(5, summary))


def tensor(time: float, step: int, tag: str, value: float, *, packed: bool = False) -> bytes:
    """Return an event as TensorFlow 2 writes scalars."""
    plain = struct.pack("<f", value)
    content = field(1, 1) + field(2, b"") + field(5 if packed else 4, plain)
    plugin = field(9, field(1, field(1, "scalars")))
    item = field(1, tag) + field(8, content) + plugin
    return tfrecord(field(1, time) + field(2, step) + field(5, field(1, item)))


def text(time: float, step: int, tag: str, words: str) -> bytes:
    content = field(1, 7) + field(2, field(2, field(1, 1))) + field(8, words)
    item = field(1, tag) + field(8, content) + field(9, field(1, field(1, "text")))
    return tfrecord(field(1, time) + field(2, step) + field(5, field(1, item)))


def hparams(time: float) -> bytes:
    item = field(1, "_hparams_/session_start_info") + field(8, field(1, 1) + field(4, bytes(4)))
    plugin = field(9, field(1, field(1, "hparams") + field(2, b"settings")))
    return tfrecord(field(1, time) + field(5, field(1, item + plugin)))


# ---------------------------------------------------------------------------------- W&B stores

BLOCK = 32 * 1024


def items(number: int, values: Mapping[str, Any], *, nested: bool = False) -> bytes:
    """Return the items of a history, a summary or a configuration."""
    data = b""
    for key, value in values.items():
        names = b"".join(field(2, part) for part in key.split(".")) if nested else field(1, key)
        data += field(number, names + field(16, json.dumps(value)))
    return data


def history(values: Mapping[str, Any], *, nested: bool = False) -> bytes:
    step = field(2, field(1, int(values.get("_step", 0))))
    return field(2, items(1, values, nested=nested) + step)


def run_record(
    run_id: str, project: str, config: Mapping[str, Any], start: int, nanos: int = 0, **more: str
) -> bytes:
    numbers = {"group": 6, "run_name": 8}
    content = field(1, run_id) + field(3, project) + field(4, items(1, config))
    content += b"".join(field(numbers[word], value) for word, value in more.items())
    time = field(1, start) + (field(2, nanos) if nanos else b"")
    return field(17, content + field(17, time))


def summary_record(values: Mapping[str, Any]) -> bytes:
    return field(3, items(1, values))


def exit_record(code: int, runtime: int) -> bytes:
    return field(18, (field(1, code) if code else b"") + field(2, runtime))


def wandb_store(records: Iterable[bytes]) -> bytes:
    """Return a store: a header of seven bytes, then blocks of 32 KiB as LevelDB's logs have."""
    store = b":W&B\xe1\xbe\x00"
    for record in records:
        rest, first = record, True
        while first or rest:
            left = BLOCK - len(store) % BLOCK
            if left < 7:
                store += bytes(left)
                continue
            piece, rest = rest[: left - 7], rest[left - 7 :]
            kind = (1 if first else 4) if not rest else (2 if first else 3)
            checksum = zlib.crc32(piece, zlib.crc32(bytes([kind])))
            store += struct.pack("<IHB", checksum, len(piece), kind) + piece
            first = False
    return store


# -------------------------------------------------------------------------------- MLflow stores


def mlflow_database(
    runs: Sequence[Mapping[str, Any]],
    metrics: Sequence[tuple[Any, ...]],
    params: Sequence[tuple[str, ...]],
) -> bytes:
    """Return a database with the columns that are read, and small pages."""
    columns = ("run_uuid", "name", "status", "start_time", "end_time", "lifecycle_stage")
    rows = [[run.get(column) for column in columns] for run in runs]
    tags = [("mlflow.runName", run["name"], run["run_uuid"]) for run in runs]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLES)
        connection.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, 1)", rows)
        connection.executemany("INSERT INTO tags VALUES (?, ?, ?)", tags)
        connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", metrics)
        connection.executemany("INSERT INTO params VALUES (?, ?, ?)", params)
        connection.commit()
        return connection.serialize()


_TABLES = """
PRAGMA page_size = 512;
CREATE TABLE experiments (experiment_id INTEGER, name TEXT, lifecycle_stage TEXT);
CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time BIGINT,
    end_time BIGINT, lifecycle_stage TEXT, experiment_id INTEGER);
CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, step BIGINT,
    is_nan BOOLEAN, run_uuid TEXT);
CREATE TABLE latest_metrics (key TEXT);
CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
INSERT INTO experiments VALUES (0, 'Default', 'active'), (1, 'digits', 'active');
"""
