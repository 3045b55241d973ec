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
    """Return the metadata that say what a table is."""
    fields = {
        "schema": version,
        "table": table,
        "writer": f"ttastats {__version__}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return {KEY: json.dumps(fields)}


def ingest_metadata(manifest: str, problems: Iterable[Problem]) -> dict[str, str]:
    """Return the metadata for the next ingest, and for whoever asks what was wrong."""
    rows = [[each.source, each.code, each.message, each.severity, each.line] for each in problems]
    return {_PROBLEMS_KEY: packed(rows)} | ({MANIFEST_KEY: manifest} if manifest else {})


def metadata_of(file: Place, remedy: str) -> dict[str, str]:
    """Return what the footer of a file says; `remedy` is what to give instead of no such file."""
    try:
        return pl.read_parquet_metadata(file) if isinstance(file, Path) else _remote(file)
    except FileNotFoundError:
        raise TtastatsError("no such file", where=str(file), remedy=remedy) from None
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or "not a Parquet file"
        raise TtastatsError(reason, where=str(file), remedy=remedy) from error


def _remote(url: Url) -> dict[str, str]:
    """Return what the footer of an object says."""
    if content := url.read_small():
        return pl.read_parquet_metadata(content[0])
    texts = of_object(url, stores.state_of(url)).metadata or {}
    return {key.decode(): text.decode() for key, text in texts.items()}


@lru_cache(maxsize=8)
def of_object(url: Url, state: str | None) -> Any:
    """Return the footer of an object in a state, as pyarrow has it; nothing else is read."""
    from pyarrow import ArrowInvalid, parquet  # only URLs need it

    if state is None:
        raise TtastatsError("no such file", where=str(url), remedy="Check the URL.")
    with stores.store_errors_named(url):
        try:
            with url.open() as file:
                return parquet.read_metadata(file)
        except ArrowInvalid as error:
            raise TtastatsError(
                "not a Parquet file", where=str(url), remedy="Check the URL."
            ) from error


def fields_of(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return what a file says of its writing: nothing where another program wrote it."""
    try:
        fields = json.loads(metadata[KEY])
    except (KeyError, ValueError):
        return {}
    return fields if isinstance(fields, dict) else {}


def table_of(metadata: Mapping[str, str]) -> str | None:
    """Return which table a file of ours holds, or None where another program wrote it.

    The first tables did not say that they hold runs.
    """
    fields = fields_of(metadata)
    if not fields:
        return None
    return "profile" if fields.get("table") == "profile" else "runs"


#: A problem as it is packed: source, code, message, severity, line.
_Packed = tuple[str | None, str, str, Severity, int | None]


def problems_in(metadata: Mapping[str, str], where: str) -> list[Problem] | None:
    """Return the problems that were left in the footer of a file, or None if none were written."""
    try:
        rows = unpacked(metadata.get(_PROBLEMS_KEY, ""))
        if rows is None:  # as the manifest kept them in the first tables
            before = unpacked(metadata.get(MANIFEST_KEY, ""))
            rows = before.get("problems") if isinstance(before, dict) else None
        if rows is None:
            return None
        listed = msgspec.convert(rows, list[_Packed])
    except (limits.TooLargeError, msgspec.ValidationError) as error:
        raise TtastatsError(
            f"the problems in its footer cannot be read: {error}",
            where=where,
            remedy="Ingest the logs again.",
        ) from error
    return [
        Problem(code, message, severity, line, source)
        for source, code, message, severity, line in listed
    ]


def packed(value: Any) -> str:
    """Return JSON, compressed by zlib, as base64."""
    return base64.b64encode(zlib.compress(json.dumps(value).encode(), level=1)).decode()


def unpacked(text: str) -> Any:
    """Return what was packed, or None where it was not.

    Raises
    ------
    TooLargeError
        It is larger than a document may be.
    """
    most = limits.document_limit()
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(text), most + 1)
        limits.expect_size(len(content), most)
        return json.loads(content)
    except (ValueError, RecursionError, zlib.error):
        return None
