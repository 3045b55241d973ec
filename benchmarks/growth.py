"""Does time grow with the size of what is read? `python benchmarks/growth.py [NAME...]`

Each input is doubled five times; the exponent is the slope of the CPU seconds over the last two
doublings, or over those before one took more than the limit. 1 is linear, 2 quadratic.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

os.environ |= {"POLARS_MAX_THREADS": "1", "TTASTATS_PROGRESS": "0"}

import ttastats as tta
from ttastats.formats import patterns
from ttastats.formats.config import matching_presets

#: CPU seconds after which an input is not doubled again.
LIMIT = 10.0
DOUBLINGS = 5


def presets(head: Callable[[int], str], name: str) -> Callable[[Path, int], object]:
    """Return a look at the first block of a file by all presets."""
    return lambda _, n: matching_presets(head(n).encode(), name)


def ingested(name: str, content: Callable[[int], bytes | str]) -> Callable[[Path, int], object]:
    """Return an ingest of a file."""

    def act(folder: Path, n: int) -> object:
        text = content(n)
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
        block = {"files": "*", "metric": "val_loss"}
        return lambda: tta.ingest(folder / name, folder / "o.parquet", block=block)

    return act


def guessed(name: str, content: Callable[[int], str]) -> Callable[[Path, int], object]:
    """Return a guess of a file."""

    def act(folder: Path, n: int) -> object:
        (folder / name).write_text(content(n))
        return lambda: tta.guess(folder / name)

    return act


def wide(n: int) -> str:
    """Return a table of many columns."""
    names = ["step", "time", "val_loss", *(f"c{number}" for number in range(n))]
    row = ",".join("1.5" for _ in names)
    return "\n".join([",".join(names), *[row] * 20])


def other_keys(n: int) -> str:
    """Return JSON lines with other keys in each row."""
    rows = ({"step": i, "val_loss": i, **{f"c{i}_{k}": k for k in range(10)}} for i in range(n))
    return "\n".join(map(json.dumps, rows))


def matched(
    pattern: Callable[[int], str], path: Callable[[int], str]
) -> Callable[[Path, int], object]:
    """Return a match of a pattern of files."""
    return lambda _, n: patterns.match_path(pattern(n), path(n))


def json_tail(n: int) -> str:
    """Return a long value of JSON that many presets begin to match."""
    return '{"lr": 1' + ' "time": 1' * n + ' "iter": 1' * n + "}"


#: The first size of each input, and what is done with it.
CASES: dict[str, tuple[int, Callable[[Path, int], object]]] = {
    "presets: mmengine": (1_000, presets(json_tail, "a.json")),
    "presets: text": (500, presets(lambda n: " - root - INFO - \n" + "step: 1 loss: " * n,
    "a.log")),
    "presets: words": (
        500, presets(lambda n: " ".join(random.Random(n).choices(
            ("step", "loss", "epoch", "{", "[", "1", ":", "=", "|", "INFO", "time"), k=n * 10)),
            "a.log")
    ),
    "presets: history": (2_000, presets(lambda n: '{"_step": 1, "_runtime"' * n, "a.jsonl")),
    "files: stars": (40, matched(lambda n: "*a" * n + "c?", lambda _: "a" * 400 + "b")),
    "files: path": (400, matched(lambda _: "*a" * 40 + "c?", lambda n: "a" * n + "b")),
    "files: names": (
        5, matched(lambda n: "".join(f"{{n{i}}}" for i in range(n)) + "c.csv",
        lambda n: "a" * (8 * n))
    ),
    "ingest: columns": (2_000, ingested("a.csv", wide)),
    "guess: columns": (2_000, guessed("a.csv", wide)),
    "ingest: keys of rows": (100, ingested("a.jsonl", other_keys)),
    "guess: keys of rows": (100, guessed("a.jsonl", other_keys)),
    "ingest: line feeds": (2_000_000, ingested("a.csv.gz", lambda n: gzip.compress(b"\n" * n))),
    "guess: line feeds": (1_000_000, guessed("a.csv", lambda n: "\n" * n)),
    "ingest: one line of JSON": (
        500_000, ingested("a.json", lambda n: '{"a": [' + "1," * n + "1]}"),
    ),
    "guess: one line of JSON": (500_000, guessed("a.json", lambda n: '{"a": [' + "1," * n + "1]}")),
    "ingest: brackets": (100_000, ingested("a.json", lambda n: "[" * n)),
    "ingest: quotes": (20_000, ingested("a.csv", lambda n: "step,val_loss\n" + '"\n' * n)),
    "ingest: one row": (500_000, ingested("a.csv", lambda n: "step,val_loss\n" + "," * n)),
}  # fmt: skip


def measured(act: Callable[[Path, int], object], n: int) -> float:
    """Return the CPU seconds of one input, without those of making it."""
    with tempfile.TemporaryDirectory() as folder:
        action = act if act.__name__ == "<lambda>" else act(Path(folder), n)
        begun = time.process_time()
        with suppress(tta.TtastatsError):
            action(Path(folder), n) if action is act else action()  # type: ignore[operator]
        return time.process_time() - begun


def main(names: list[str]) -> None:
    """Print a line for each input whose name has one of some words."""
    if "--help" in names:
        print(__doc__)
        return
    print(f"{'input':26} {'sizes':>24}  seconds{'':29} exponent")
    for name, (first, act) in CASES.items():
        if names and not any(word in name for word in names):
            continue
        measured(act, first)  # imports
        seconds: list[float] = []
        while len(seconds) <= DOUBLINGS and max(seconds, default=0) < LIMIT:
            seconds.append(measured(act, first << len(seconds)))
        last = min(2, len(seconds) - 1)
        slope = math.log2(max(seconds[-1], 1e-3) / max(seconds[-1 - last], 1e-3)) / max(last, 1)
        sizes = f"{first:,} to {first << len(seconds) - 1:,}"
        print(
            f"{name:26} {sizes:>24}  {' '.join(f'{s:.2f}' for s in seconds):36} {slope:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
