"""Which files are parts of one run, and which rows do they tell together?

Files that differ only in what `{part}` stands for in a pattern are one run: a file for each metric
(`acc.tsv`, `val/acc.tsv`), or one for training and one for evaluation (`train_log.csv`,
`test_log.csv`). The first of them, which evaluates if any does, tells the run.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath

import polars as pl
from msgspec import structs

from ttastats.base import streams
from ttastats.base.metrics import EVALUATING, LIKELY_COUNTS, plain
from ttastats.base.records import Problem, Run
from ttastats.base.units import join_names
from ttastats.formats.block import Block
from ttastats.formats.dialect import PART_OF_A_RUN, Log
from ttastats.formats.patterns import PARTS
from ttastats_parsers import own_cells, own_runs
from ttastats_parsers.own_cells import LINE
from ttastats_parsers.own_choice import UnfitError, numbers
from ttastats_parsers.own_rows import Rows
from ttastats_parsers.part_names import (
    WORDS,
    is_clock,
    is_count,
    is_value,
    metric_columns,
    rank,
    word_of,
)

_NONE = Block("")
#: The column that tells the rows of training from those of evaluation.
COLUMN = "part"
_KEY = "\0key"


def runs_of(log: Log) -> Iterator[Run | Problem]:
    """Yield the run of a file and of the parts beside it, or which of these tells it."""
    paths = _paths_of_parts(log)
    first = min(paths, key=rank)
    if paths[first] != log.path:
        yield Problem(PART_OF_A_RUN, f"its run is read with {paths[first].name}", "info")
        return
    named = {name: text for name, text in log.named.items() if name not in PARTS}
    yield from own_runs.runs_of(partial(_read_parts, paths), structs.replace(log, named=named))


def _paths_of_parts(log: Log) -> dict[str, PurePosixPath]:
    """Return the files of a run by what `{part}` stands for, beside a log or one folder below.

    Words such as `train` go together, and so do other names.
    """
    path, own = str(log.path), log.named["part"]
    own = next((both for both in [f"{own}/{log.named.get('metric')}"] if both in path), own)
    at = path.rfind(own, 0, len(path) - len(log.path.suffix))
    before, after = path[:at], path[at + len(own) :]
    paths = {own: log.path}
    for place in _places_beside(log, PurePosixPath(f"{before}x").parent, after):
        part = place[len(before) : len(place) - len(after)]
        is_beside = place.startswith(before) and place.endswith(after) and bool(part)
        if is_beside and (part.lower() in WORDS) == (own.lower() in WORDS):
            paths[part] = PurePosixPath(place)
    return paths


def _places_beside(log: Log, folder: PurePosixPath, after: str) -> Iterator[str]:
    """Yield the paths of files in a folder, and in its folders that may hold parts."""
    for name in log.listing(folder):
        if not name.endswith("/"):
            yield str(folder / name)
        elif "/" in after:
            place = folder / f"{name[:-1]}{after[after.index('/') :]}"
            yield from [str(place)] if place.name in log.listing(place.parent) else []
        elif name[:-1].lower() in WORDS:
            inside = log.listing(folder / name)
            yield from (str(folder / name / inner) for inner in inside if inner[-1] != "/")


def _read_parts(paths: Mapping[str, PurePosixPath], log: Log) -> Rows:
    """Return the rows of all parts; one that cannot be read is left out with a problem."""
    parts: dict[str, Rows] = {}
    problems: list[Problem] = []
    for part in sorted(paths, key=rank):
        path = paths[part]
        if path == log.path:
            parts[part] = _read_rows(log)
            continue
        try:
            parts[part] = _read_rows(_log_beside(log, path))
        except (UnfitError, streams.TooLargeError, *streams.DAMAGED) as error:
            text = f"read without {path.name}: {error}"
            problems.append(Problem("unreadable_part", text, "warning"))
    own, *others = parts.values()
    problems = [*own.problems, *problems]
    if not others:
        return structs.replace(own, problems=problems)
    block = log.block or _NONE
    frames = {part: _filled(rows, block) for part, rows in parts.items()}
    frame = join(frames, block).with_columns(pl.col(LINE).cast(pl.Int64()))
    names = join_names([paths[part].name for part in parts], 5)
    problems.append(Problem("joined_parts", f"one run in {len(parts)} files: {names}", "info"))
    return Rows(frame.drop(LINE), frame[LINE], problems=problems)


def _log_beside(log: Log, path: PurePosixPath) -> Log:
    content = log.companion(path) or b""

    def blocks() -> Iterator[bytes]:
        return streams.line_blocks(io.BytesIO(content), path.name, size=len(content), stored=0)

    return structs.replace(log, name=path.name, folder=path.parent, blocks=blocks)


def _filled(rows: Rows, block: Block) -> pl.DataFrame:
    """Return the rows of a part with their lines; counts and times hold until others are told."""
    frame = rows.frame.with_columns(rows.lines.alias(LINE))
    measured = [LINE, *metric_columns(frame.columns, block)]
    return frame.with_columns(pl.exclude(measured).forward_fill()) if rows.carried else frame


def _read_rows(log: Log) -> Rows:
    if log.block and log.block.line:
        return own_cells.rows_of_lines(log)
    return own_cells.rows_of(log.read())


def join(frames: Mapping[str, pl.DataFrame], block: Block = _NONE) -> pl.DataFrame:
    """Return the rows of parts in the order of progress, with the time of others at the same.

    The column of a file with one metric is called as the file is.
    """
    named = {part: _name_metric(part, frame) for part, frame in frames.items()}
    words = {part: word_of(part) for part in named if named[part].columns == frames[part].columns}
    known = {*filter(None, words.values())}
    if len(known) > 1 and known & {*EVALUATING}:
        for part, word in words.items():
            named[part] = named[part].with_columns(pl.lit(word, pl.String()).alias(COLUMN))
    key = _common_count(list(named.values()), block)
    if key is None:
        return pl.concat(named.values(), how="diagonal_relaxed")
    first = next(iter(key))
    renamed = [frame.rename({name: first}) for frame, name in zip(named.values(), key, strict=True)]
    whole = pl.concat(renamed, how="diagonal_relaxed")
    whole = whole.with_columns(numbers(whole[first]).alias(_KEY))
    if all(numbers(frame[first]).is_unique().all() for frame in renamed):
        by = [name for name in (_KEY, COLUMN) if name in whole.columns]
        others = pl.all().exclude(by).drop_nulls().first()
        whole = whole.group_by(by, maintain_order=True).agg(others)
    clocks = [name for name in whole.columns if is_clock(name, block)]
    if clocks:
        told = pl.col(clocks).drop_nulls().first().over(_KEY)
        whole = whole.with_columns(pl.col(clocks).fill_null(told))
    return whole.sort(_KEY, maintain_order=True).drop(_KEY)


def _name_metric(part: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose only metric is called as its part, if that says the same or more."""
    metrics = metric_columns([name for name in frame.columns if name != LINE])
    if len(metrics) != 1 or not (plain(part).endswith(plain(metrics[0])) or is_value(metrics[0])):
        return frame
    return frame.rename({metrics[0]: part})


def _common_count(frames: Sequence[pl.DataFrame], block: Block) -> list[str] | None:
    """Return the column of each frame that counts the same progress, in order, or None."""
    for kind in LIKELY_COUNTS:
        columns = [
            next((name for name in frame.columns if is_count(name, kind, block)), "")
            for frame in frames
        ]
        if all(columns) and all(
            numbers(frame[name]).drop_nulls().is_sorted()
            for frame, name in zip(frames, columns, strict=True)
        ):
            return columns
    return None
