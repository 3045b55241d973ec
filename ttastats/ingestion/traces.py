"""Which files are traces of a profiler, and which of them are the ranks of one profile?"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

import polars as pl
import xxhash
from msgspec import Struct
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
    """What some files gave: the rows of profiles, and problems."""

    rows: pl.DataFrame
    problems: tuple[Problem, ...] = ()


def read(sources: Iterable[Source]) -> Traces:
    """Read the traces among some files, one after the other, in bounded memory.

    Ranks of one profile lie in one folder, and have names that are alike but for the rank where
    they tell it. Two traces of one rank are two profiles.
    """
    groups: dict[tuple[str, str], list[tuple[Source, str, kineto.ReadTrace]]] = {}
    problems: list[Problem] = []
    for source in sources:
        try:
            digest, trace = _read_trace(source)
        except NoTraceError:
            if source.named:
                message = "not a profiler trace"
                problems.append(Problem("unknown_format", message, "error", source=source.name))
        except UnreadableError as error:
            problems.append(Problem("unreadable_file", str(error), "error", source=source.name))
        else:
            folder = str(source.container.folder(source.file.name))
            name = posixpath.basename(source.file.name)
            rank_pattern = _RANK.sub(r"\1\2*", name) if _RANK.search(name) else ""
            groups.setdefault((folder, rank_pattern), []).append((source, digest, trace))
            problems += [replace(problem, source=source.name) for problem in trace.problems]
    profiles: list[pl.DataFrame] = []
    for (_, rank_pattern), group in groups.items():
        ranks = {trace.rank for _, _, trace in group}
        if len(group) > 1 and None not in ranks and len(ranks) == len(group):
            group.sort(key=lambda item: item[2].rank or 0)
            profiles += _profile_rows(_without_endings(rank_pattern) or group[0][0].entry, group)
            continue
        for read_one in group:
            name = _without_endings(posixpath.basename(read_one[0].file.name))
            profiles += _profile_rows(name, [read_one])
    return Traces(table.concatenated(profiles), tuple(problems))


def is_trace(source: Source) -> bool:
    """Return whether a file is a trace, by its first block."""
    try:
        return kineto.recognises(next(iter(source.chunks()), b""))
    except UnreadableError:
        return False


def _read_trace(source: Source) -> tuple[str, kineto.ReadTrace]:
    """Return one trace with the digest of its bytes; raise NoTraceError if it is none."""
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
    return state.hexdigest(), trace


def _without_endings(name: str) -> str:
    name = printable(name)
    return re.sub(r"(\.pt)?(\.trace)?(\.json)?(\.gz|\.zst|\.xz|\.bz2)?$", "", name) or name


def _profile_rows(
    name: str, ranks: Sequence[tuple[Source, str, kineto.ReadTrace]]
) -> Iterator[pl.DataFrame]:
    """Yield the rows of each rank of a profile."""
    digests = sorted(digest for _, digest, _ in ranks)
    profile_id = xxhash.xxh3_64_hexdigest(" ".join(digests).encode())
    for source, digest, trace in ranks:
        yield trace.rows.with_columns(
            profile_id=pl.lit(profile_id),
            profile=pl.lit(name),
            source=pl.lit(source.name),
            source_digest=pl.lit(digest),
            origin=pl.lit(trace.origin),
            rank=pl.lit(trace.rank, pl.Int64),
        )
