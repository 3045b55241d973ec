"""Generated custom logs: long tables, event files and W&B stores.

Each logs training at every step, and an evaluation after every `EVERY` of them.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from ttastats_parsers.record_files import crc32c

EVERY = 250
_TRAINING = ("train_loss", "lr", "grad_norm", "tokens_per_s", "memory_gb", "mfu", "data_time")


def _rows(number: int) -> Iterator[dict[str, float]]:
    """Yield the rows of a run, with digits that differ from row to row as in measurements."""
    for step in range(number):
        row: dict[str, float] = {"step": step, "epoch": round(step / 5000, 4)}
        row["time"] = round(step * 0.11, 3)
        for position, name in enumerate(_TRAINING, start=3):
            row[name] = round((step * 7919 % 9973 + 1) / 9973 * position, 6)
        if step % EVERY == EVERY - 1:
            row |= {"val_loss": round(3 - step / number, 5), "val_accuracy": step / number}
        yield row


def csv(path: Path, number: int) -> int:
    """Write a CSV file and return its bytes."""
    names = ["step", "epoch", "time", *_TRAINING, "val_loss", "val_accuracy"]
    with path.open("w") as file:
        file.write(",".join(names) + "\n")
        for row in _rows(number):
            file.write(",".join(str(row.get(name, "")) for name in names) + "\n")
    return path.stat().st_size


def jsonl(path: Path, number: int) -> int:
    """Write lines of JSON and return their bytes."""
    with path.open("w") as file:
        for row in _rows(number):
            file.write(json.dumps(row) + "\n")
    return path.stat().st_size


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _events(number: int) -> Iterator[bytes]:
    start = 1.7e9
    yield b"\x09" + struct.pack("<d", start) + _field(3, b"brain.Event:2")
    for row in _rows(number):
        step = b"\x10" + _varint(int(row["step"])) if row["step"] else b""
        head = b"\x09" + struct.pack("<d", start + row["time"]) + step
        for name in ("train_loss", "lr", "val_accuracy"):
            if name in row:
                tag = name.replace("_", "/", 1).encode()
                value = _field(1, tag) + b"\x15" + struct.pack("<f", row[name])
                yield head + _field(5, _field(1, value))


def tfevents(path: Path, number: int) -> int:
    """Write an event file and return its bytes."""
    with path.open("wb") as file:
        stream = _events(number)
        while events := list(islice(stream, 10_000)):
            sizes = [struct.pack("<Q", len(event)) for event in events]
            sums = crc32c([*sizes, *events])
            masked = [((int(s) >> 15 | int(s) << 17) + 0xA282EAD8) & 0xFFFFFFFF for s in sums]
            packed = [struct.pack("<I", checksum) for checksum in masked]
            of_sizes, of_events = packed[: len(events)], packed[len(events) :]
            for parts in zip(sizes, of_sizes, events, of_events, strict=True):
                file.write(b"".join(parts))
    return path.stat().st_size


_BLOCK = 32 * 1024


def wandb(path: Path, number: int) -> int:
    """Write a W&B store and return its bytes."""
    offset = 7
    with path.open("wb") as file:
        file.write(b":W&B\xe1\xbe\x00")
        for row in _rows(number):
            fields = {"_step": row["step"], "_runtime": row["time"]}
            fields["_timestamp"] = 1.7e9 + row["time"]
            fields |= {name: row[name] for name in row if name not in {"step", "time"}}
            items = b"".join(
                _field(1, _field(1, key.encode()) + _varint(16 << 3 | 2) + _sized(value))
                for key, value in fields.items()
            )
            content, first = _field(2, items), True
            while content or first:
                remaining = _BLOCK - offset % _BLOCK
                if remaining < 7:
                    offset += file.write(bytes(remaining))
                    continue
                part, content = content[: remaining - 7], content[remaining - 7 :]
                kind = {(True, False): 1, (True, True): 2, (False, True): 3, (False, False): 4}[
                    first, bool(content)
                ]
                checksum = zlib.crc32(part, zlib.crc32(bytes([kind])))
                offset += file.write(struct.pack("<IHB", checksum, len(part), kind) + part)
                first = False
    return path.stat().st_size


def _sized(value: float) -> bytes:
    data = json.dumps(value).encode()
    return _varint(len(data)) + data


#: What is made: the writer, the name of the file, and the rows of the smaller one.
KINDS: dict[str, tuple[Callable[[Path, int], int], str, int]] = {
    "CSV": (csv, "train_log.csv", 1_500_000),
    "JSON lines": (jsonl, "train_log.jsonl", 150_000),
    "event file": (tfevents, "events.out.tfevents.1700000000.host", 150_000),
    "W&B store": (wandb, "run-abc.wandb", 40_000),
}
