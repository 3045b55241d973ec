"""What does the footer of a Parquet file of ours say: which table, which schema, written by whom?

There are two kinds of tables, runs and profiles. The first tables did not say that they hold runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import polars as pl

from ttastats.base.errors import TtastatsError
from ttastats.base.limits import TooLargeError
from ttastats.base.records import Problem, Severity
from ttastats.base.version import __version__
from ttastats.table.packed import packed, unpacked

Kind = Literal["runs", "profile"]

#: File metadata key under which kind, version, writer and creation time are kept.
KEY = "ttastats"
MANIFEST_KEY = "ttastats.ledger"  # its first name, which tables keep
_PROBLEMS_KEY = "ttastats.problems"

#: What each kind of table is called, and what to do with one where the other is needed.
_CALLED: dict[Kind, tuple[str, str]] = {
    "runs": (
        "a table of runs, not a profile",
        "Use `ttastats summary {path}`. To make a profile from traces: ttastats ingest TRACES -o "
        "prof.parquet",
    ),
    "profile": ("a profile, not a table of runs", "Use `ttastats profile {path}`."),
}


def about(kind: Kind, version: int, now: datetime | None = None) -> dict[str, str]:
    """Give the metadata that say what a table is."""
    said = {
        "schema": version,
        "table": kind,
        "writer": f"ttastats {__version__}",
        "created": (now or datetime.now(UTC)).isoformat(timespec="seconds"),
    }
    return {KEY: json.dumps(said)}


def left(manifest: str, problems: Iterable[Problem]) -> dict[str, str]:
    """Give the metadata for the next ingest, and for whoever asks what was wrong."""
    kept = [[one.source, one.code, one.message, one.severity, one.line] for one in problems]
    return {_PROBLEMS_KEY: packed(kept)} | ({MANIFEST_KEY: manifest} if manifest else {})


def metadata_of(file: Path, remedy: str) -> dict[str, str]:
    """Give what the footer of a file says.

    Raises
    ------
    TtastatsError
        It is missing or no Parquet file; `remedy` says what to give.
    """
    try:
        return pl.read_parquet_metadata(file)
    except FileNotFoundError:
        raise TtastatsError("no such file", where=str(file), remedy=remedy) from None
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or "not a Parquet file"
        raise TtastatsError(reason, where=str(file), remedy=remedy) from error


def said(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Give what a file says of its writing: nothing where another program wrote or filtered it."""
    try:
        found = json.loads(metadata[KEY])
    except (KeyError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def kind_of(metadata: Mapping[str, str]) -> Kind | None:
    """Give which table a file of ours holds, or None where another program wrote it."""
    found = said(metadata)
    if not found:
        return None
    return "profile" if found.get("table") == "profile" else "runs"


def expect(kind: Kind, version: int, metadata: Mapping[str, str], where: str) -> int:
    """Give the version of a table that is of a kind, or of no known one.

    Raises
    ------
    TtastatsError
        It is of the other kind, or newer than this program.
    """
    found, is_kind = said(metadata), kind_of(metadata)
    if is_kind not in {kind, None}:
        what, remedy = _CALLED[is_kind or kind]
        raise TtastatsError(what, where=where, remedy=remedy.format(path=where))
    has = found.get("schema", version)
    if type(has) is int and has < 1:
        raise TtastatsError(
            f"its footer states schema {has}, which does not exist",
            where=where,
            remedy="It was edited or damaged. Ingest the logs again.",
        )
    if type(has) is not int or has > version:
        again = "ingest the logs again" if kind == "runs" else "create the profile again"
        raise TtastatsError(
            f"written by {found.get('writer', 'a newer ttastats')} with schema {has}; "
            f"this one reads up to {version}",
            where=where,
            remedy=f"Upgrade ttastats, or {again} with this one.",
        )
    return has


#: A problem as it is packed: source, code, message, severity, line.
_Kept = tuple[str | None, str, str, Severity, int | None]


def problems_in(metadata: Mapping[str, str], where: str) -> list[Problem] | None:
    """Return the problems that were left in the footer of a file, or None if none were written.

    Raises
    ------
    TtastatsError
        They are larger than a document may be, or not a list of problems.
    """
    try:
        kept = unpacked(metadata.get(_PROBLEMS_KEY, ""))
        if kept is None:  # as the manifest kept them in the first tables
            before = unpacked(metadata.get(MANIFEST_KEY, ""))
            kept = before.get("problems") if isinstance(before, dict) else None
        if kept is None:
            return None
        listed = msgspec.convert(kept, list[_Kept])
    except (TooLargeError, msgspec.ValidationError) as error:
        raise TtastatsError(
            f"the problems in its footer cannot be read: {error}",
            where=where,
            remedy="Ingest the logs again.",
        ) from error
    return [
        Problem(code, message, severity, line, source)
        for source, code, message, severity, line in listed
    ]


def arrow(columns: pl.Schema, descriptions: Mapping[str, str], metadata: dict[str, str]) -> Any:
    """Give the Arrow schema with each column's description in its field metadata.

    Readers of Arrow look for the file's `metadata` in here, others in the footer of the file.
    Texts are large strings: pyarrow cannot compare the views that polars would write.
    """
    import nanoarrow  # only a writer needs it

    plain = nanoarrow.c_array_stream(columns.to_frame()).get_schema()
    text = nanoarrow.c_schema(nanoarrow.large_string())
    described = {
        name: (text if dtype == pl.String else field).modify(
            name=name, metadata={"description": descriptions[name]}
        )
        for (name, dtype), field in zip(columns.items(), plain.children, strict=True)
    }
    return plain.modify(children=described, metadata=metadata)
