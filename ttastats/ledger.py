"""What an earlier ingest read, so that the next one reads only what has changed.

The ledger stands in the metadata of the Parquet file it speaks of, so the two cannot part. A log
is unchanged if its size and time of change are; where any other file of a folder has changed, such
as a system description, all of its logs are read again, since what they mean may have changed.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ttastats
from ttastats import schema, store
from ttastats.records import Problem
from ttastats.sources import Source

Ledger = dict[str, Any]


def record(
    sources: Sequence[Source],
    problems: Sequence[Problem],
    others: Sequence[str],
    dialect: str | None,
    edition: str | None,
) -> str:
    """Give the ledger of an ingest as text."""
    of_files = [
        [p.source, p.code, p.message, p.severity, p.line] for p in problems if p.source is not None
    ]
    fields = {
        "reader": _reader(dialect, edition),
        "files": {source.name: [source.file.size, source.file.changed] for source in sources},
        "others": list(others),
        "problems": of_files,
    }
    return base64.b64encode(zlib.compress(json.dumps(fields).encode(), level=1)).decode()


def of(path: Path) -> Ledger:
    """Give the ledger of a file, empty where there is none."""
    text = store.ledger_of(path)
    if not text:
        return {}
    try:
        found: Ledger = json.loads(zlib.decompress(base64.b64decode(text)))
    except (ValueError, zlib.error):
        return {}
    return found


def split(
    before: Ledger, sources: Sequence[Source], dialect: str | None, edition: str | None
) -> tuple[list[Source], frozenset[str]]:
    """Give the sources to read, and the names of those whose rows can be kept."""
    files = before.get("files", {})
    if before.get("reader") != _reader(dialect, edition):
        return list(sources), frozenset()
    same = {
        source.name
        for source in sources
        if source.file.changed and files.get(source.name) == [source.file.size, source.file.changed]
    }
    if not _others_are_same(before, sources, same):
        return list(sources), frozenset()
    return [source for source in sources if source.name not in same], frozenset(same)


def is_whole(before: Ledger, fresh: Sequence[Source], kept: frozenset[str]) -> bool:
    """Tell whether the earlier ingest saw just these files, all of them as they are now."""
    return bool(kept) and not fresh and len(kept) == len(before["files"])


def said(before: Ledger, kept: frozenset[str]) -> tuple[list[Problem], list[str]]:
    """Give what was said of the files that are kept: problems, and which are no logs."""
    problems = [
        Problem(code, message, severity, line, source)
        for source, code, message, severity, line in before.get("problems", ())
        if source in kept
    ]
    return problems, [name for name in before.get("others", ()) if name in kept]


def _others_are_same(before: Ledger, sources: Sequence[Source], same: set[str]) -> bool:
    """Tell whether the files beside the logs are those of the earlier ingest.

    A new file that is no log cannot be told from a new log before it is read; it may be one.
    """
    others = set(before.get("others", ()))
    present = {source.name for source in sources}
    descriptions = {s.name for s in sources if s.name.endswith(".json") and s.name not in same}
    return others <= present and others <= same and not descriptions


def _reader(dialect: str | None, edition: str | None) -> list[Any]:
    """Give what else decides the rows: the program's version, the schema, the user's words."""
    return [ttastats.__version__, schema.VERSION, dialect, edition]
