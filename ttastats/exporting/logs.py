"""Runs as a folder of logs, each in the format of its suite, which `ingest` reads again."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from ttastats import schema
from ttastats.errors import TtastatsError
from ttastats.exporting import dawnbench, mlperf

_MLPERF = frozenset({"mlperf", "mlperf_hpc"})
_RESULT = re.compile(r"result_\d+\.txt")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written where; `left_out` counts the runs without a log format, by suite."""

    output: Path
    runs: int
    left_out: Mapping[str, int]


def write(table: pl.LazyFrame, output: Path) -> Exported:
    """Write a log per run into a new folder: a reader sees all of it or nothing.

    Raises
    ------
    TtastatsError
        The folder is there and not empty, or cannot be written, or no run has a log format.
    """
    with _new_folder(output) as folder:
        written, left_out = 0, Counter[str]()
        taken: set[PurePosixPath] = set()
        for rows in _runs(table):
            files = _files(rows, taken)
            for place, text in files.items():
                _write(folder / place, text)
            taken |= files.keys()
            written += bool(files)
            left_out.update([] if files else [str(rows[0]["suite"] or "unknown")])
        if not written:
            raise _nothing_to_write(left_out)
    return Exported(output, written, dict(left_out))


def _runs(table: pl.LazyFrame) -> Iterator[list[Row]]:
    """Give the rows of each run."""
    rows = table.collect().sort("source", "run_id", "eval_index", "metric", maintain_order=True)
    for _, group in groupby(rows.iter_rows(named=True), key=itemgetter(*schema.RUN)):
        yield list(group)


def _files(rows: Sequence[Row], taken: set[PurePosixPath]) -> dict[PurePosixPath, str]:
    """Give the files of one run under names that no run before it has; none for other suites."""
    run = rows[0]
    if run["suite"] in _MLPERF or mlperf.was_recorded(run):
        log = _free(mlperf.folder(run), str(run["source"]).rsplit("/", 1)[-1], taken)
        return {log: mlperf.log(rows), **mlperf.companions(run)}
    if run["suite"] != "dawnbench":
        return {}
    files, number = dawnbench.files(rows), 2
    while taken & files.keys():
        files = dawnbench.files([{**row, "entry": f"{run['entry']}_{number}"} for row in rows])
        number += 1
    return files


def _free(folder: PurePosixPath, name: str, taken: set[PurePosixPath]) -> PurePosixPath:
    """Give a log its own name if it is that of a result, or the first number that is free."""
    if _RESULT.fullmatch(name) and folder / name not in taken:
        return folder / name
    number = 0
    while folder / f"result_{number}.txt" in taken:
        number += 1
    return folder / f"result_{number}.txt"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="\n")


def _nothing_to_write(left_out: Mapping[str, int]) -> TtastatsError:
    suites = ", ".join(left_out) or "no run"
    return TtastatsError(
        f"no log format is known for these runs: {suites}",
        where="export",
        remedy="Name a file NAME.csv or NAME.jsonl: every run has rows.",
    )


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder beside `path` that takes its place if the block ends well."""
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise TtastatsError(
            "exists and is not an empty folder; it is left as it is",
            where=str(path),
            remedy="Name another with -o.",
        )
    temporary: Path | None = None
    try:
        place = path.resolve()
        temporary = Path(
            tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".tmp", dir=place.parent)
        )
        inside = temporary / "all"
        inside.mkdir()  # with the permissions of any new folder
        yield inside
        inside.replace(place)
    except OSError as error:
        raise TtastatsError(
            f"cannot write: {error.strerror or error}",
            where=str(path),
            remedy="Nothing was changed. Name a place that can be written to with -o.",
        ) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
