"""Which files are traces of a profiler, and which of them are the ranks of one profile?"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

import polars as pl
import xxhash
from msgspec import Struct, structs
from msgspec.structs import replace

from ttastats.base.records import Problem
from ttastats.base.streams import UnreadableError
from ttastats.ingestion.containers import printable
from ttastats.ingestion.sources import Source
from ttastats.traces import kineto, table
from ttastats.traces.pieces import NoTraceError

#: The code of the problem, of no severity, by which a file says that it is no log but a trace.
CODE = "trace"
MESSAGE = (
    "a profiler trace, not a log of runs: read it with `ttastats profile`, or ingest it "
    "separately to save it as a profile"
)
_RANK = re.compile(r"(?i)(rank|worker|gpu|device)([-_]?)([0-9]+)")


class Traces(Struct, frozen=True):
    """What some files gave: the rows of profiles, problems, and the names of what is no trace."""

    rows: pl.DataFrame
    problems: tuple[Problem, ...] = ()
    others: tuple[str, ...] = ()


class _Read(Struct, frozen=True, eq=False):
    source: Source
    digest: str
    trace: kineto.ReadTrace


def read(sources: Iterable[Source]) -> Traces:
    """Read the traces among some files, one after the other, in bounded memory."""
    ranks: list[_Read] = []
    problems: list[Problem] = []
    others: list[str] = []
    for source in sources:
        try:
            rank = _read_one(source)
        except NoTraceError:
            others.append(source.name)
            if source.named:
                what = "not a profiler trace"
                problems.append(Problem("unknown_format", what, "error", source=source.name))
        except UnreadableError as error:
            problems.append(Problem("unreadable_file", str(error), "error", source=source.name))
        else:
            ranks.append(rank)
            problems += [structs.replace(each, source=source.name) for each in rank.trace.problems]
    rows = [_profile_rows(profile, name) for name, profile in _group_ranks(ranks)]
    return Traces(table.concatenated(rows), tuple(problems), tuple(others))


def is_trace(source: Source) -> bool:
    """Return whether a file is a trace, by its first block."""
    try:
        return kineto.recognises(next(iter(source.chunks()), b""))
    except UnreadableError:
        return False


def _read_one(source: Source) -> _Read:
    """Return one trace with its digest; raise NoTraceError if it is none."""
    state = xxhash.xxh3_128()
    looks_like_one = False

    def chunks() -> Iterator[bytes]:
        nonlocal looks_like_one
        for chunk in source.chunks():
            if not looks_like_one and not kineto.recognises(chunk):
                raise NoTraceError
            looks_like_one = True
            state.update(chunk)
            yield chunk

    try:
        trace = kineto.read_trace(chunks())
    except NoTraceError:
        if looks_like_one:
            raise UnreadableError("a trace without readable events") from None
        raise
    name = _RANK.search(posixpath.basename(source.file.name))
    if trace.rank is None and name is not None:
        trace = replace(trace, rank=int(name.group(3)))
    return _Read(source, state.hexdigest(), trace)


def _group_ranks(ranks: Sequence[_Read]) -> Iterator[tuple[str, list[_Read]]]:
    """Yield the traces that are ranks of one profile, with a name.

    Ranks lie in one folder, and have names that are alike but for the rank where they tell it. Two
    traces of one rank are two profiles.
    """
    groups: dict[tuple[str, str], list[_Read]] = {}
    for rank in ranks:
        folder = str(rank.source.container.folder(rank.source.file.name))
        name = posixpath.basename(rank.source.file.name)
        alike = _RANK.sub(r"\1\2*", name) if _RANK.search(name) else ""
        groups.setdefault((folder, alike), []).append(rank)
    for (_, alike), group in groups.items():
        numbers = {rank.trace.rank for rank in group}
        if len(group) > 1 and None not in numbers and len(numbers) == len(group):
            ordered = sorted(group, key=lambda rank: rank.trace.rank or 0)
            yield _without_endings(alike) or group[0].source.entry, ordered
            continue
        for rank in group:
            yield _without_endings(posixpath.basename(rank.source.file.name)), [rank]


def _without_endings(name: str) -> str:
    name = printable(name)
    return re.sub(r"(\.pt)?(\.trace)?(\.json)?(\.gz|\.zst|\.xz|\.bz2)?$", "", name) or name


def _profile_rows(profile: Sequence[_Read], name: str) -> pl.DataFrame:
    digests = sorted(rank.digest for rank in profile)
    profile_id = xxhash.xxh3_64_hexdigest(" ".join(digests).encode())
    return pl.concat(
        [
            rank.trace.rows.with_columns(
                profile_id=pl.lit(profile_id),
                profile=pl.lit(name),
                source=pl.lit(rank.source.name),
                source_digest=pl.lit(rank.digest),
                origin=pl.lit(rank.trace.origin),
                rank=pl.lit(rank.trace.rank, pl.Int64),
            )
            for rank in profile
        ]
    )
