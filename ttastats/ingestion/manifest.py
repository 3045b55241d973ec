"""What did an earlier ingest read, so that the next reads only what changed, and appends it?

The manifest stands in the metadata of the Parquet file it speaks of, so the two cannot part. A log
is unchanged if its size and time of change are; where any other file of a folder has changed, such
as a system description, all of its logs are read again, since what they mean may have changed.
Logs of runs that lie in several files are read again where anything at all has changed.

Their rows become new parts. A part of the table stays as it is unless it holds rows of a log that
was read again, or of a run that was missing and is there now: such parts are written again without
these. A new run that is a copy of one in the table is marked as that. `filter` puts all together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import polars as pl

from ttastats.base import __version__, streams
from ttastats.base.stores import Place
from ttastats.ingestion.sources import Source
from ttastats.table import schema, store
from ttastats.table.kind import pack_json, unpack_json
from ttastats.table.schema import RUNS

#: What stands in a manifest as a list of files.
Kind = Literal["others", "parts", "together"]
KINDS: tuple[Kind, ...] = ("others", "parts", "together")
#: The user's words that decide the rows: the dialect, the round, which metrics.
Reader = tuple[str | None, ...]


class Manifest(msgspec.Struct, frozen=True):
    """What an ingest read: all files by name with size and time of change, and what decided.

    `others` are no logs, `parts` belong to runs that other files tell, and `together` are files
    whose meaning depends on which files lie around them.
    """

    reader: list[Any] = []
    files: dict[str, tuple[int, int]] = {}
    others: list[str] = []
    parts: list[str] = []
    together: list[str] = []


def encode(sources: Sequence[Source], files: Mapping[Kind, Sequence[str]], reader: Reader) -> str:
    """Return the manifest of an ingest as text."""
    states = {source.name: (source.file.size, source.file.changed) for source in sources}
    lists = ([*files.get(kind, ())] for kind in KINDS)
    return pack_json(msgspec.to_builtins(Manifest(_reader_key(reader), states, *lists)))


def read(path: Place) -> Manifest:
    """Return the manifest of a table, empty if there is none that can be used."""
    try:
        return msgspec.convert(unpack_json(store.read_manifest(path)), Manifest)
    except (streams.TooLargeError, msgspec.ValidationError):
        return Manifest()


class Changes(msgspec.Struct, frozen=True):
    """Files compared with a manifest: those to read, and the names of those whose rows stay.

    `files` are the unchanged ones of each kind. `is_none` says that the earlier ingest read exactly
    these files in their present state.
    """

    fresh: list[Source]
    unchanged: frozenset[str]
    files: dict[Kind, list[str]]
    is_none: bool


def compare(before: Manifest, sources: Sequence[Source], reader: Reader) -> Changes:
    """Return the changes in sources since the ingest of a manifest."""
    unchanged = {
        source.name
        for source in sources
        if source.file.changed
        and before.files.get(source.name) == (source.file.size, source.file.changed)
    }
    # A new file that is no log cannot be told from a new log before it is read; it may be one.
    descriptions = any(s.name.endswith(".json") and s.name not in unchanged for s in sources)
    if (
        before.reader != _reader_key(reader)
        or descriptions
        or not unchanged.issuperset(before.others)
    ):
        unchanged = set()
    if not len(unchanged) == len(sources) == len(before.files):
        unchanged -= {*before.together}
    fresh = [source for source in sources if source.name not in unchanged]
    files: dict[Kind, list[str]] = {
        kind: [name for name in getattr(before, kind) if name in unchanged] for kind in KINDS
    }
    is_none = bool(unchanged) and not fresh and len(unchanged) == len(before.files)
    return Changes(fresh, frozenset(unchanged), files, is_none)


def new_sources(before: Manifest, sources: Sequence[Source], reader: Reader) -> list[Source]:
    """Return the sources missing from a manifest in their present state."""
    names = {source.name for source in sources}
    files = {name: state for name, state in before.files.items() if name in names}
    lists = ([name for name in getattr(before, kind) if name in names] for kind in KINDS)
    return compare(Manifest(before.reader, files, *lists), sources, reader).fresh


def _reader_key(reader: Reader) -> list[Any]:
    """Return the key of a reader: version, schema and options."""
    return [__version__, schema.RUNS.version, *reader]


def append(
    new: Path, path: Place, state: str | None, partition: Sequence[str] | None = None
) -> None:
    """Append a new table to a folder of parts that must still be in a known state."""
    old_manifest, new_manifest = read(path), read(new)
    fresh = new_manifest.files.keys()
    # Columns that cut the folder come last as a part is read.
    parts = {name: RUNS.scan(path, name).select(schema.NAMES) for name in RUNS.part_names(path)}
    is_read = pl.col("source").is_in([*fresh])
    in_range = pl.col("source").is_between(pl.lit(min(fresh)), pl.lit(max(fresh)))
    read_again = [
        name
        for name, rows in parts.items()
        if rows.filter(in_range).filter(is_read).select("source").head(1).collect().height
    ]
    candidates = pl.concat(parts.values()).filter(pl.col("content_digest").is_not_null(), ~is_read)
    rows = store.read_tables([new])
    originals = (
        candidates.join(rows, on="content_digest", how="semi")
        .group_by("content_digest")
        .agg(original=pl.col("source").min())
        .collect()
    )
    with_marks = (
        rows.join(originals.lazy(), on="content_digest", how="left", maintain_order="left")
        .with_columns(duplicate_of=pl.coalesce("original", "duplicate_of"))
        .select(schema.NAMES)
    )
    kept = [parts[name].filter(~is_read) for name in read_again]
    joined_rows = pl.concat([*kept, with_marks]).sort(schema.ORDER, maintain_order=True)
    # What was read by another version or with other options is read again where it is given again.
    is_same_reader = old_manifest.reader == new_manifest.reader
    files = {
        name: (size, changed if is_same_reader else 0)
        for name, (size, changed) in old_manifest.files.items()
    }
    lists = (
        [*{*getattr(old_manifest, kind)} - fresh, *getattr(new_manifest, kind)] for kind in KINDS
    )
    joined = Manifest(new_manifest.reader, files | new_manifest.files, *lists)
    problems = [problem for problem in store.read_problems(path) if problem.source not in fresh]
    store.write(
        joined_rows,
        path,
        manifest=pack_json(msgspec.to_builtins(joined)),
        problems=[*problems, *store.read_problems(new)],
        in_parts=True,
        expected=[state],
        partition=partition or RUNS.partition_columns(path) or (),
        unchanged=[name for name in parts if name not in read_again],
    )
