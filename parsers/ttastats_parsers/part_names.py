"""Which names of files and columns say that a file is a part of a run, and of which one?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ttastats.base.metrics import (
    EVALUATING,
    LIKELY_COUNTS,
    PLAIN_CLOCKS,
    STAMPS,
    TRAINING,
    evaluation_metrics,
    higher_is_better,
    plain,
    unit_of,
)
from ttastats.formats.block import Block
from ttastats.formats.patterns import PART

WORDS = (*EVALUATING, *TRAINING)
_EMPTY_BLOCK = Block("")
_ANY_WORD = "|".join(WORDS)
_WORD = re.compile(rf"(?i)(?<![a-z])(?:{_ANY_WORD})(?![a-z])")


def split_runs(files: Mapping[str, Sequence[str]]) -> dict[str, dict[str, str]]:
    """Return the paths of files by their run, as a pattern, and their part of it.

    `files` are paths with the columns of each. A run has several parts; one of them evaluates, if
    words such as `train` tell them apart.
    """
    runs: dict[str, dict[str, str]] = {}
    for split in (_split_metric, _split_word):
        paths = {path for parts in runs.values() for path in parts.values()}
        parts_by_run = defaultdict[str, dict[str, str]](dict)
        for path, columns in files.items():
            for run, part in split(path, columns) if path not in paths else ():
                parts_by_run[run].setdefault(part, path)
        for run, parts in parts_by_run.items():
            words = {word_of(part) for part in parts}
            if len(parts) > 1 and words & {*EVALUATING, None}:
                runs[run] = parts
    return runs


def _split_metric(path: str, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the run and the part of a file named like its only metric."""
    metrics = metric_columns(columns)
    if len(metrics) != 1 or len(columns) < 2:
        return
    metric_pattern = re.sub(r"[^A-Za-z0-9]+", "[-_./ ]?", metrics[0].rpartition("/")[2])
    if is_value(metrics[0]):
        stem = path.rpartition("/")[2].partition(".")[0]
        if higher_is_better(stem) is None or not evaluation_metrics([stem]):
            return
        metric_pattern = re.escape(stem)
    name = rf"(?i)(?<![a-z0-9])(?:(?:{_ANY_WORD})[-_./])?{metric_pattern}(?![a-z0-9])"
    for match in [*re.finditer(name, path)][-1:]:
        yield f"{path[: match.start()]}{PART}{path[match.end() :]}", match[0]


def _split_word(path: str, _columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the runs and parts of a file that a word says to train or to evaluate."""
    for match in _WORD.finditer(path):
        yield f"{path[: match.start()]}{PART}{path[match.end() :]}", match[0]


def word_of(part: str) -> str | None:
    """Return the word of training or evaluating in a part, or None."""
    words = re.findall("[a-z]+", part.lower())
    return next((word for word in WORDS if word in words), None)


def rank(part: str) -> tuple[int, str]:
    """Return a sort key of parts: those that evaluate first, those that train last."""
    return [*EVALUATING, None, *TRAINING].index(word_of(part)), part


def is_value(column: str) -> bool:
    """Return whether a column holds values whose name stands elsewhere."""
    return plain(column) in {"value", "values", "metric_value"}


def metric_columns(columns: Sequence[str], block: Block = _EMPTY_BLOCK) -> list[str]:
    """Return the columns that are neither a count nor a clock."""
    return [
        name
        for name in columns
        if not is_clock(name, block)
        and not any(is_count(name, kind, block) for kind in LIKELY_COUNTS)
    ]


def is_count(name: str, kind: str, block: Block) -> bool:
    """Return whether a column counts steps, epochs or samples, by name or by its block."""
    count_columns = {count.column for count in getattr(block, kind) or ()}
    return name in count_columns or plain(name) in LIKELY_COUNTS[kind]


def is_clock(name: str, block: Block) -> bool:
    """Return whether a column is a clock or holds time stamps, by name or by its block."""
    clocks = {clock.column for clock in block.seconds or ()}
    return name in clocks or plain(name) in {*PLAIN_CLOCKS, *STAMPS} or unit_of(name) is not None
