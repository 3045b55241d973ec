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

_EMPTY_BLOCK = Block("")
#: The column that tells the rows of training from those of evaluation.
COLUMN = "part"
_KEY = "\0key"


def runs_of(log: Log) -> Iterator[Run | Problem]:
    """Yield the run of a file and of the parts beside it, or which of these tells it."""
    paths = _paths_of_parts(log)
    main = min(paths, key=rank)
    if paths[main] != log.path:
        yield Problem(PART_OF_A_RUN, f"its run is read with {paths[main].name}", "info")
        return
    names = {name: text for name, text in log.named.items() if name not in PARTS}
    yield from own_runs.runs_of(partial(_read_parts, paths), structs.replace(log, named=names))


def _paths_of_parts(log: Log) -> dict[str, PurePosixPath]:
    """Return the files of a run by what `{part}` stands for, beside a log or one folder below.

    Words such as `train` go together, and so do other names.
    """
    path, own_part = str(log.path), log.named["part"]
    with_metric = f"{own_part}/{log.named.get('metric')}"
    own_part = with_metric if with_metric in path else own_part
    at = path.rfind(own_part, 0, len(path) - len(log.path.suffix))
    prefix, suffix = path[:at], path[at + len(own_part) :]
    paths = {own_part: log.path}
    for sibling in _sibling_paths(log, PurePosixPath(f"{prefix}x").parent, suffix):
        part = sibling[len(prefix) : len(sibling) - len(suffix)]
        is_beside = sibling.startswith(prefix) and sibling.endswith(suffix) and bool(part)
        if is_beside and (part.lower() in WORDS) == (own_part.lower() in WORDS):
            paths[part] = PurePosixPath(sibling)
    return paths


def _sibling_paths(log: Log, folder: PurePosixPath, suffix: str) -> Iterator[str]:
    """Yield the paths of files in a folder, and in its folders that may hold parts."""
    for name in log.listing(folder):
        if not name.endswith("/"):
            yield str(folder / name)
        elif "/" in suffix:
            path = folder / f"{name[:-1]}{suffix[suffix.index('/') :]}"
            yield from [str(path)] if path.name in log.listing(path.parent) else []
        elif name[:-1].lower() in WORDS:
            names = log.listing(folder / name)
            yield from (str(folder / name / inner) for inner in names if inner[-1] != "/")


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
    main, *companions = parts.values()
    problems = [*main.problems, *problems]
    if not companions:
        return structs.replace(main, problems=problems)
    block = log.block or _EMPTY_BLOCK
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


def join(frames: Mapping[str, pl.DataFrame], block: Block = _EMPTY_BLOCK) -> pl.DataFrame:
    """Return the rows of parts in the order of progress, with the time of others at the same.

    The column of a file with one metric is called as the file is.
    """
    by_part = {part: _name_metric(part, frame) for part, frame in frames.items()}
    words = {
        part: word_of(part) for part in by_part if by_part[part].columns == frames[part].columns
    }
    parts = {*filter(None, words.values())}
    if len(parts) > 1 and parts & {*EVALUATING}:
        for part, word in words.items():
            by_part[part] = by_part[part].with_columns(pl.lit(word, pl.String()).alias(COLUMN))
    key = _common_count(list(by_part.values()), block)
    if key is None:
        return pl.concat(by_part.values(), how="diagonal_relaxed")
    count_name = next(iter(key))
    renamed = [
        frame.rename({name: count_name}) for frame, name in zip(by_part.values(), key, strict=True)
    ]
    rows = pl.concat(renamed, how="diagonal_relaxed")
    rows = rows.with_columns(numbers(rows[count_name]).alias(_KEY))
    if all(numbers(frame[count_name]).is_unique().all() for frame in renamed):
        by = [name for name in (_KEY, COLUMN) if name in rows.columns]
        values = pl.all().exclude(by).drop_nulls().first()
        rows = rows.group_by(by, maintain_order=True).agg(values)
    clocks = [name for name in rows.columns if is_clock(name, block)]
    if clocks:
        times = pl.col(clocks).drop_nulls().first().over(_KEY)
        rows = rows.with_columns(pl.col(clocks).fill_null(times))
    return rows.sort(_KEY, maintain_order=True).drop(_KEY)


def _name_metric(part: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose only metric is called as its part, if that says the same or more."""
    metrics = metric_columns([name for name in frame.columns if name != LINE])
    if len(metrics) != 1 or not (plain(part).endswith(plain(metrics[0])) or is_value(metrics[0])):
        return frame
    return frame.rename({metrics[0]: part})


def _common_count(frames: Sequence[pl.DataFrame], block: Block) -> list[str] | None:
    """Return the column of each frame with the same count of progress, in order, or None."""
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
