"""What does the footer of a Parquet file of ours say: which table, which schema, written by whom?

Every reader of a file reads its footer, so long texts in it are packed.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from ttastats.base import limits, stores
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem, Severity
from ttastats.base.stores import Place, Url
from ttastats.base.version import __version__

#: File metadata key under which kind, version, writer and creation time are kept.
KEY = "ttastats"
MANIFEST_KEY = "ttastats.ledger"  # its first name, which tables keep
_PROBLEMS_KEY = "ttastats.problems"


def table_metadata(table: str, version: int) -> dict[str, str]:
    """Return the Parquet metadata that identify a table: its kind, schema and version."""
    fields = {
        "schema": version,
        "table": table,
        "writer": f"ttastats {__version__}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return {KEY: json.dumps(fields)}


def ingest_metadata(manifest: str, problems: Iterable[Problem]) -> dict[str, str]:
    """Return the Parquet metadata with the manifest of an ingest, and its problems."""
    rows = [[p.source, p.code, p.message, p.severity, p.line] for p in problems]
    return {_PROBLEMS_KEY: pack_json(rows)} | ({MANIFEST_KEY: manifest} if manifest else {})


def read_metadata(file: Place, remedy: str) -> dict[str, str]:
    """Return the Parquet metadata of a file; `remedy` is advice in case there is none."""
    try:
        if isinstance(file, Path):
            return pl.read_parquet_metadata(file)
        if content := file.read_small():
            return pl.read_parquet_metadata(content[0])
        texts = object_footer(file, stores.state_of(file)).metadata or {}
        return {key.decode(): text.decode() for key, text in texts.items()}
    except FileNotFoundError:
        raise TtastatsError("no such file", where=str(file), remedy=remedy) from None
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or "not a Parquet file"
        raise TtastatsError(reason, where=str(file), remedy=remedy) from error


@lru_cache(maxsize=8)
def object_footer(url: Url, state: str | None) -> Any:
    """Return the footer of an object in a known state, read without the rest."""
    from pyarrow import ArrowInvalid, parquet  # only URLs need it

    if state is None:
        raise TtastatsError("no such file", where=str(url), remedy="Check the URL.")
    with stores.store_errors_named(url):
        try:
            with url.open() as file:
                return parquet.read_metadata(file)
        except ArrowInvalid as error:
            what = "not a Parquet file"
            raise TtastatsError(what, where=str(url), remedy="Check the URL.") from error


def ttastats_fields(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the ttastats part of Parquet metadata, empty in files of other programs."""
    try:
        fields = json.loads(metadata[KEY])
    except (KeyError, ValueError):
        return {}
    return fields if isinstance(fields, dict) else {}


def table_kind(metadata: Mapping[str, str]) -> str | None:
    """Return which kind of table a file holds, or None if another program wrote it.

    The first tables did not say that they hold runs.
    """
    fields = ttastats_fields(metadata)
    if not fields:
        return None
    return "profile" if fields.get("table") == "profile" else "runs"


def stored_problems(metadata: Mapping[str, str], where: str) -> list[Problem] | None:
    """Return the problems stored in Parquet metadata, or None if none were stored."""
    try:
        rows = unpack_json(metadata.get(_PROBLEMS_KEY, ""))
        if rows is None:  # as the manifest kept them in the first tables
            before = unpack_json(metadata.get(MANIFEST_KEY, ""))
            rows = before.get("problems") if isinstance(before, dict) else None
        if rows is None:
            return None
        packed = msgspec.convert(rows, list[tuple[str | None, str, str, Severity, int | None]])
    except (limits.TooLargeError, msgspec.ValidationError) as error:
        what = f"the problems in its footer cannot be read: {error}"
        raise TtastatsError(what, where=where, remedy="Ingest the logs again.") from error
    return [
        Problem(code, message, severity, line, source)
        for source, code, message, severity, line in packed
    ]


def pack_json(value: Any) -> str:
    """Return a value as JSON, compressed by zlib, as base64."""
    return base64.b64encode(zlib.compress(json.dumps(value).encode(), level=1)).decode()


def unpack_json(text: str) -> Any:
    """Return the value of a text from `pack_json`, or None of any other text.

    A TooLargeError says that it is larger than a document may be.
    """
    most = limits.document_limit()
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(text), most + 1)
        limits.expect_size(len(content), most)
        return json.loads(content)
    except (ValueError, RecursionError, zlib.error):
        return None
