"""Random cases: a random generator, odd values and bytes, and how logs are read."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from tests.test_fixtures import plain
from ttastats.base.records import Problem, Run
from ttastats.formats import config
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import registry

#: Seeds of the guises in which a test draws its input; a third where there is time.
SEEDS = range(3 if os.environ.get("TTASTATS_LONG") else 2)

#: The content of files by their paths.
Files = dict[str, bytes]

ODD: tuple[Any, ...] = (None, "", "x", "0.5", -1, 0, 20_000, 1e400, True, [1], {"a": 1}, "nan")


class Draw(random.Random):
    """A random generator that also makes values odd, and drops or damages some of them."""

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def odd(self, value: Any, probability: float = 0.06) -> Any:
        """Return the value or, rarely, one of another type or size."""
        return self.choice(ODD) if self.chance(probability) else value

    def subset(self, values: Mapping[str, Any], probability: float) -> dict[str, Any]:
        """Return a random subset of items, each with this probability."""
        return {name: value for name, value in values.items() if self.chance(probability)}

    def flipped(self, data: bytes, probability: float, start: int = 0) -> bytes:
        """Return bytes of which one, from `start` on, may be another."""
        changed = bytearray(data)
        if self.chance(probability):
            changed[self.randrange(start, len(data))] ^= 255
        return bytes(changed)


def at_random(
    makers: Iterable[tuple[Callable[[Draw], Any], int]], read: Callable[[Any, int], Iterable[Any]]
) -> dict[str, Callable[[], Iterator[str]]]:
    """Return a case for each maker with its number of seeds; each line begins with its seed."""

    def lines(make: Callable[[Draw], Any], seeds: int) -> Iterator[str]:
        for seed in range(seeds):
            for line in read(make(Draw(f"{make.__name__} {seed}")), seed):
                yield f"{seed} {line}"

    return {make.__name__: partial(lines, make, seeds) for make, seeds in makers}


#: What a user may state of any of the logs.
BLOCK = config.complete_block(
    {
        "metric": [
            "eval/accuracy >= 30 %", "val_acc >= 0.5", "val/acc higher", "eval_accuracy >= 3",
            "r >= 40", "eval/mean_reward >= 20", "validation/eval/accuracy >= 40",
        ]
    },
    lambda key: key,
    "/",
)  # fmt: skip


def read_files(files: Files, seed: int) -> Iterator[str]:
    """Yield the runs and problems of each file; some seeds give metrics, a block, a round."""
    stated: dict[str, Any] = {
        "metrics": "evaluations" if seed % 3 else "all",
        "block": None if seed % 5 else BLOCK,
        "round": None if seed % 8 else "v4.1",
    }
    for path, data in files.items():
        dialect = registry.recognise(data, path)
        if dialect is not None:
            for item in dialect.parse(log_from_bytes(data, path, files, **stated)):
                yield f"{path} {in_short(item)}"


def in_short(item: Run | Problem) -> str:
    """Return a run as JSON without unknown values; its evaluations as rows, without names."""
    fields = without_unknown(plain(item))
    if isinstance(item, Run):
        rows = [without_unknown(msgspec.structs.astuple(e)) for e in item.evaluations]
        for row in rows:
            while row and row[-1] is None:
                row.pop()
        fields |= {"evaluations": rows}
    return json.dumps(fields, default=str, separators=(",", ":"))


def without_unknown(value: Any) -> Any:
    """Return a value without unknown items and messages of Python or SQLite, which vary."""
    if isinstance(value, dict):
        foreign = value.get("code") in {"bad_description", "unreadable_file"}
        known = {k: without_unknown(v) for k, v in value.items() if k != "message" or not foreign}
        return {name: item for name, item in known.items() if item not in (None, (), {})}
    return [without_unknown(item) for item in value] if isinstance(value, list | tuple) else value
