"""Pairs of tables: of mutilated logs, of generated columns, or from other programs."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import ttastats as tta
from benchmarks.fuzz import columns, mutations
from ttastats.base.errors import TtastatsError
from ttastats.table import schema, store


@dataclass(frozen=True, slots=True)
class TablePair:
    """The paths of up to two tables, and how they were made; refused tables are left out."""

    origin: str
    how: str
    paths: tuple[Path, ...]


def pair(rng: random.Random, logs: Sequence[bytes], folder: Path) -> TablePair:
    """Write tables A and B into a folder."""
    make = rng.choices((generated, ingested, foreign), (6, 2, 2))[0]
    return make(rng, logs, folder)


def generated(rng: random.Random, _logs: Sequence[bytes], folder: Path) -> TablePair:
    """Write random valid tables; B has the setups of A, some of its runs, or all of them."""
    (names, first), (names_b, second) = both(rng)
    paths = [folder / "a.parquet", folder / "b.parquet"]
    for frame, path in zip((first, second), paths, strict=True):
        store.write(frame, path)
    return TablePair("columns", f"{names} | {names_b}", tuple(paths))


def both(rng: random.Random) -> tuple[tuple[str, pl.DataFrame], tuple[str, pl.DataFrame]]:
    setups = columns.setups(rng)
    names, first = columns.table(rng, setups, "a")
    way = rng.choice(("other runs",) * 6 + ("other setups", "the same", "some shared"))
    if way == "the same":
        return (names, first), (way, first)
    names_b, second = columns.table(
        rng, columns.setups(rng) if way == "other setups" else setups, "b"
    )
    if way == "some shared":
        second = pl.concat([second, first.head(rng.randrange(8))])
    return (names, first), (f"{way} {names_b}", second)


def ingested(rng: random.Random, logs: Sequence[bytes], folder: Path) -> TablePair:
    """Write logs, most of them mutilated, as results of a submission, and ingest them."""
    originals = [rng.choice(logs) for _ in range(rng.choice((1, 1, 2)))]
    names, paths = [], []
    for side in ("a", "b"):
        for number in range(rng.choice((1, 3, 6))):
            name, log = (
                mutations.mutilate(rng, originals) if rng.random() < 0.7 else ("", originals[0])
            )
            round_, system = rng.choice(("v0.5", "v5.0")), rng.choice(("one", "two"))
            folder_of_log = (
                folder / side / round_ / "Org" / "results" / system / rng.choice(("resnet", ""))
            )
            folder_of_log.mkdir(parents=True, exist_ok=True)
            end = "tsv" if log.startswith(b"epoch\t") else "txt"
            (folder_of_log / f"result_{number}.{end}").write_bytes(log)
            names.append(name)
        try:
            paths.append(tta.ingest([folder / side], folder / f"{side}.parquet", workers=1).output)
        except TtastatsError:
            continue  # nothing in them is a run
    return TablePair("logs", " ".join(filter(None, names)), tuple(paths))


def foreign(rng: random.Random, _logs: Sequence[bytes], folder: Path) -> TablePair:
    """Write tables as other programs change them: other columns, rows and types."""
    (names, first), (names_b, second) = both(rng)
    way = rng.choice((framed, cast, fewer, filtered))
    paths = []
    for frame, path in ((first, folder / "a.parquet"), (second, folder / "b.parquet")):
        try:
            way(rng, frame, path)
        except TtastatsError:
            continue  # refused by name
        paths.append(path)
    return TablePair("others", f"{way.__name__}: {names} | {names_b}", tuple(paths))


def framed(rng: random.Random, frame: pl.DataFrame, path: Path) -> None:
    """Make a table of a frame with columns of other names."""
    words: dict[str, Any] = {"run": rng.choice(("source", ["entry", "seed"], "run_id"))}
    optional = ("epoch", "step", "samples", "benchmark", "entry", "accelerators", "run_status")
    words |= {name: name for name in optional if rng.random() < 0.5}
    if rng.random() < 0.5:
        words |= {"target": "target_value", "higher_is_better": "higher_is_better"}
    renamed = frame.rename({"seconds": "at", "metric": "name", "value": "measured"})
    make_content = rng.choice((renamed, renamed.to_pandas, renamed.to_arrow, renamed.lazy))
    content = make_content() if callable(make_content) else make_content
    table = tta.from_frame(content, metric="name", value="measured", seconds="at", **words)
    store.write(table, path)


def cast(rng: random.Random, frame: pl.DataFrame, path: Path) -> None:
    """Write some columns with another type, where they have one."""
    types = (pl.Float32, pl.Float64, pl.Int32, pl.UInt8, pl.String, pl.Categorical, pl.Null)
    for name in rng.sample(schema.NAMES, rng.randint(1, 4)):
        dtype = rng.choice(types)
        with contextlib.suppress(pl.exceptions.PolarsError):  # not every type has a cast to another
            frame = frame.with_columns(pl.col(name).cast(dtype, strict=False))
    frame.write_parquet(path)


def fewer(rng: random.Random, frame: pl.DataFrame, path: Path) -> None:
    """Write some of the columns, and some unknown ones."""
    frame = frame.drop(rng.sample(schema.NAMES, rng.choice((1, 3, 20))))
    frame.with_columns(own=pl.lit("x")).write_parquet(path)


def filtered(rng: random.Random, frame: pl.DataFrame, path: Path) -> None:
    """Write some of the rows in another order, or runs without names or with impossible dates."""
    if rng.random() < 0.1:
        odd = pl.lit(rng.choice((2**62, -(2**62)))).cast(schema.POLARS["started_at"])
        frame = frame.with_columns(started_at=odd)
    if rng.random() < 0.1:
        frame = frame.with_columns(pl.lit(None, pl.String).alias(rng.choice(schema.RUN)))
    frame.sample(fraction=rng.random(), shuffle=True, seed=rng.randrange(99)).write_parquet(path)
