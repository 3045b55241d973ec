"""What is a kind of table, and how does one become a file or a folder, whole or not at all?

A folder holds the same rows in the same order as one file would, cut into parts of a million. The
rows are sorted by source, so the smallest and largest values that every row group carries already
let a reader skip most of it. On request it is cut by columns instead (`round=v5.0/`, as Hive does),
whose parts do not hold these columns; then, and where parts were added, the rows are in order
within a part only. polars, duckdb and pyarrow read it by its name or as `FOLDER/*.parquet`. The
part without rows says what the whole is.

Every reader of a file reads its footer, so long texts in it are packed.
"""

from __future__ import annotations

import base64
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote

import msgspec
import polars as pl
from msgspec import Struct

from ttastats.base import __version__, arguments, atomic, stores, streams
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.records import Problem, Severity
from ttastats.base.stores import Place, Url

if TYPE_CHECKING:
    from polars.io.partition import FileProviderArgs


#: File metadata key under which kind, version, writer and creation time are kept.
KEY = "ttastats"
MANIFEST_KEY = "ttastats.ledger"  # its first name, which tables keep
_PROBLEMS_KEY = "ttastats.problems"
_PARTS_KEY, _REPLACED_KEY = "ttastats.parts", "ttastats.replaced_parts"
#: The columns that cut a folder: none where parts were added, and no key where rows are in order.
_PARTITION_KEY = "ttastats.partition"
#: What each column holds, for whoever reads the file with another program.
_COLUMNS_KEY = "ttastats.columns"
#: The part without rows by which a folder is known to be ours; programs that leave out names with
#: an underscore miss nothing.
HEAD = "_ttastats.parquet"
#: A writer holds a row group in memory, with all its columns, and so many rows of all partitions.
_PART_ROWS, _GROUP_ROWS, _HELD_ROWS = 1_000_000, 20_000, 200_000
#: The number of a part, and what tells its writer from others, below the values of its rows.
PART = re.compile(r"(?:[a-z_]+=[^/]+/)*([0-9a-f]{8})-[0-9a-f]{8}\.parquet")
_NULL = "__HIVE_DEFAULT_PARTITION__"

#: A problem as it is stored: source, code, message, severity and line.
_PackedProblem = tuple[str | None, str, str, Severity, int | None]

Name = Literal["runs", "profile"]
#: What a table of each kind is where the other is needed, and what to do with it.
_OTHER_KINDS: dict[str, tuple[str, str]] = {
    "runs": (
        "a table of runs, not a profile",
        "Use `ttastats summary {path}`. To make a profile from traces: ttastats ingest TRACES -o "
        "prof.parquet",
    ),
    "profile": ("a profile, not a table of runs", "Use `ttastats profile {path}`."),
}


class Column(Struct, frozen=True):
    """One column; `of_run` tells whether it is constant over the rows of a run."""

    name: str
    dtype: pl.DataType
    description: str
    of_run: bool = False


class Kind(Struct, frozen=True):
    """A kind of table.

    `version` is raised by one whenever a column is added, removed or changes its meaning;
    `upgrades` turn a table of the version before into the next, by the version they start from.
    `remedy` says what to give where such a table is needed, `again` how to make one anew.
    """

    name: Name
    version: int
    columns: tuple[Column, ...]
    remedy: str
    again: str
    upgrades: Mapping[int, Callable[[pl.LazyFrame], pl.LazyFrame]]

    def schema(self) -> pl.Schema:
        """Return the names and types of the columns."""
        return pl.Schema({column.name: column.dtype for column in self.columns})

    def read_metadata(self, path: Place) -> dict[str, str]:
        """Return the Parquet metadata of a file, or of a folder's head file."""
        file = path / HEAD if path.is_dir() else path
        is_invalid = not arguments.is_text(str(file))
        remedy = "Rename it: polars reads no such path."
        raise_if(is_invalid, "the name of a table is no UTF-8", str(file), remedy)
        waits = isinstance(file, Path) and file.exists() and not file.is_file()
        raise_if(waits, "neither a file nor a folder", str(file), self.remedy)
        try:
            if isinstance(file, Path):
                return pl.read_parquet_metadata(file)
            if content := file.read_small():
                return pl.read_parquet_metadata(content[0])
            texts = _object_footer(file, stores.state_of(file)).metadata or {}
            return {key.decode(): text.decode() for key, text in texts.items()}
        except FileNotFoundError:
            raise TtastatsError("no such file", where=str(file), remedy=self.remedy) from None
        except (OSError, pl.exceptions.PolarsError) as error:
            reason = getattr(error, "strerror", None) or "not a Parquet file"
            raise TtastatsError(reason, where=str(file), remedy=self.remedy) from error

    def scan(self, path: Place, only: str = "") -> pl.LazyFrame:
        """Return the rows of a file or folder, or of one part of it, in the current schema."""
        metadata = self.read_metadata(path)
        version = self._version(metadata, str(path))
        parts: list[str] = []
        if path.is_dir():
            parts = _listed_names(metadata, _PARTS_KEY, path)
            missing = sorted({*parts} - {*parquet_files(path)}) if isinstance(path, Path) else []
            message = f"part files are missing: {', '.join(missing) or 'all'}"
            raise_if(missing or not parts, message, str(path), "Ingest the logs again.")
        dtypes = {name: self.schema()[name] for name in self.parse_partition(metadata) or ()}
        if isinstance(path, Url):
            frame = _scan_remote(path, parts, only, dtypes)
        else:
            files = [path / name for name in ([only] if only else parts)]
            hive: dict[str, Any] = {
                "glob": False,
                "hive_partitioning": True,
                "hive_schema": dtypes,
            }
            frame = pl.scan_parquet(files or path, **(hive if dtypes else {}))
        for step in range(version, self.version):
            frame = self.upgrades[step](frame)
        return frame

    def _version(self, metadata: Mapping[str, str], where: str) -> int:
        """Return the version in a footer; raise an error for another kind or an unknown version."""
        name = _table_name(metadata)
        if name not in {self.name, None}:
            message, remedy = _OTHER_KINDS[name or self.name]
            raise TtastatsError(message, where=where, remedy=remedy.format(path=where))
        fields = ttastats_fields(metadata)
        version = fields.get("schema", self.version)
        unknown = f"its footer states schema {version}, which does not exist"
        damaged = "It was edited or damaged. Ingest the logs again."
        raise_if(type(version) is int and version < 1, unknown, where, damaged)
        if type(version) is not int or version > self.version:
            writer = fields.get("writer", "a newer ttastats")
            message = (
                f"written by {writer} with schema {version}; this one reads up to {self.version}"
            )
            remedy = f"Upgrade ttastats, or {self.again} with this one."
            raise TtastatsError(message, where=where, remedy=remedy)
        return version

    def is_table(self, path: Place) -> bool:
        """Return whether a file or folder is a table of this kind, written by ttastats."""
        try:
            return _table_name(self.read_metadata(path)) == self.name
        except TtastatsError:
            return False

    def stored_problems(self, path: Place) -> list[Problem] | None:
        """Return the problems stored in a table, or None if none were stored."""
        metadata = self.read_metadata(path)
        try:
            rows = unpack_json(metadata.get(_PROBLEMS_KEY, ""))
            if rows is None:  # as the manifest kept them in the first tables
                footer = unpack_json(metadata.get(MANIFEST_KEY, ""))
                rows = footer.get("problems") if isinstance(footer, dict) else None
            packed = msgspec.convert(rows, list[_PackedProblem] | None)
        except (streams.TooLargeError, msgspec.ValidationError) as error:
            text = f"the problems in its footer cannot be read: {error}"
            raise TtastatsError(text, where=str(path), remedy="Ingest the logs again.") from error
        if packed is None:
            return None
        return [
            Problem(code, message, severity, line, source)
            for source, code, message, severity, line in packed
        ]

    def listed_parts(self, path: Place) -> list[str]:
        """Return the parts listed in a folder's head file, those replaced included."""
        if not (path / HEAD).exists():
            return []
        metadata = self.read_metadata(path)
        keys = (_PARTS_KEY, _REPLACED_KEY)
        return [name for key in keys for name in _listed_names(metadata, key, path)]

    def partition_columns(self, path: Place) -> tuple[str, ...] | None:
        """Return the columns that partition a folder, or None if its rows are in order."""
        return self.parse_partition(self.read_metadata(path))

    def parse_partition(self, metadata: Mapping[str, str]) -> tuple[str, ...] | None:
        """Return the partition columns in the metadata of a folder's head file, or None."""
        try:
            names = json.loads(metadata[_PARTITION_KEY])
        except (KeyError, ValueError, RecursionError):
            return None
        of_run = [column.name for column in self.columns if column.of_run]
        return tuple(name for name in names if name in of_run) if isinstance(names, list) else None

    def part_names(self, path: Place) -> list[str]:
        """Return the names of the parts of a folder."""
        return _listed_names(self.read_metadata(path), _PARTS_KEY, path)

    def write(
        self,
        rows: pl.DataFrame | pl.LazyFrame,
        path: Place,
        *,
        manifest: str = "",
        problems: Iterable[Problem] = (),
        in_parts: bool = False,
        expected: Sequence[str | None] = (),
        partition: Sequence[str] | None = None,
        unchanged: Sequence[str] = (),
    ) -> None:
        """Write ordered rows to `path` atomically: a reader sees the old table or the new one.

        `manifest` is kept beside the rows for the next ingest, `problems` for whoever asks what
        was wrong with what was read; `in_parts` makes a folder. `expected` holds the state of the
        table that this takes the place of (`state_of`), where nobody else's may be replaced.
        `partition` are the columns that cut a folder, and `unchanged` the parts that stay in it, so
        that its rows are in order within a part only.
        """
        fields = {
            "schema": self.version,
            "table": self.name,
            "writer": f"ttastats {__version__}",
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        descriptions = {column.name: column.description for column in self.columns}
        metadata = {KEY: json.dumps(fields), _COLUMNS_KEY: json.dumps(descriptions)}
        packed = [[p.source, p.code, p.message, p.severity, p.line] for p in problems]
        of_whole = metadata | {_PROBLEMS_KEY: pack_json(packed)}
        if manifest:
            of_whole[MANIFEST_KEY] = manifest
        if in_parts:
            self._write_parts(rows.lazy(), path, metadata, of_whole, expected, partition, unchanged)
            return
        with atomic.replacing(path, expected) as temporary:
            _write_rows(rows.lazy(), temporary, of_whole)

    def _write_parts(
        self,
        rows: pl.LazyFrame,
        path: Place,
        metadata: Mapping[str, str],
        of_whole: Mapping[str, str],
        expected: Sequence[str | None],
        partition: Sequence[str] | None,
        unchanged: Sequence[str],
    ) -> None:
        """Write a folder of parts with their metadata, and that of the whole in its head file."""
        # Of what is there, only the parts that the old head lists are removed, those that one lists
        # which it had replaced, and those whose names only a writer of ours gives: a killed one may
        # have left them.
        files = parquet_files(path)
        own_files = [match for match in map(PART.fullmatch, files) if match]
        removable = {*self.listed_parts(path), *(match[0] for match in own_files)}
        stale = sorted(removable & {*files} - {*unchanged})
        writer = os.urandom(4).hex()  # another one may write at the same time
        number = max((int(match[1], 16) + 1 for match in own_files), default=0)

        def part_name(part: FileProviderArgs) -> str:
            keys = part.partition_keys.row(0, named=True) if partition else {}
            folder_of_part = "".join(
                f"{column}={_NULL if value in {None, ''} else quote(str(value), safe=' ')}/"
                for column, value in keys.items()
            )
            return f"{folder_of_part}{number + part.index_in_partition:08x}-{writer}.parquet"

        with atomic.replacing_folder(path, HEAD, stale, expected) as folder:
            parts = pl.PartitionBy(
                folder,
                key=[*(partition or ())] or None,
                include_key=False if partition else None,
                max_rows_per_file=None if partition else _PART_ROWS,
                approximate_bytes_per_file=None,
                file_path_provider=part_name,
            )
            if partition:  # each combination of values is held until the end
                for piece in rows.collect_batches(chunk_size=_HELD_ROWS, maintain_order=True):
                    _write_rows(piece.lazy(), parts, metadata)
                    number += 1
            else:
                _write_rows(rows, parts, metadata)
            lists = {_PARTS_KEY: sorted([*unchanged, *parquet_files(folder)]), _REPLACED_KEY: stale}
            if partition is not None:
                lists[_PARTITION_KEY] = [*partition]
            part_lists = {key: json.dumps(names) for key, names in lists.items()}
            _write_rows(self.schema().to_frame().lazy(), folder / HEAD, {**of_whole, **part_lists})


def _write_rows(
    rows: pl.LazyFrame, target: Path | pl.PartitionBy, metadata: Mapping[str, str]
) -> None:
    """Write rows into a file or several files, one row group after the other."""
    rows.sink_parquet(
        target,
        compression="zstd",
        compression_level=1,  # a fiftieth larger, a fifth faster
        row_group_size=_GROUP_ROWS,
        metadata={**metadata},
        mkdir=True,
        engine="streaming",
    )


def parquet_files(path: Place) -> list[str]:
    """Return the names of the Parquet files in a folder, also in subfolders; none without one."""
    if isinstance(path, Url):
        return [name for name in path.list_folder() if name.endswith(".parquet")]
    return [file.relative_to(path).as_posix() for file in path.rglob("*.parquet")]


def _scan_remote(
    url: Url, parts: Sequence[str], only: str, dtypes: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """Return the rows of a table in a store; a small one is fetched whole."""
    contents = url.read_small(parts)
    if contents is None:
        urls = [url / name for name in ([only] if only else parts)]
        return _scan_ranges(url, urls or [url], dtypes)
    frames = []
    for name, content in zip(parts or [""], contents, strict=True):
        in_name = dict(folder.split("=", 1) for folder in name.split("/")[:-1])
        values = {
            column: None if in_name[column] == _NULL else unquote(in_name[column])
            for column in dtypes
        }
        if only in {"", name}:
            frames.append(
                pl.scan_parquet(content).with_columns(
                    pl.lit(value).cast(dtypes[column]).alias(column)
                    for column, value in values.items()
                )
            )
    return pl.concat(frames)


def _scan_ranges(
    url: Url, objects: Sequence[Url], dtypes: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """Return the rows of objects, of which pyarrow fetches only the ranges it needs."""
    from pyarrow import PythonFile, dataset, fs, schema  # only URLs need it

    class Ranges(fs.FSSpecHandler):  # type: ignore[misc]
        """Reads what is asked for and no more: most stores would fetch megabytes ahead."""

        def open_input_file(self, path: str) -> Any:
            return PythonFile(NamedFile(self.fs.open(path, mode="rb", cache_type="none")), mode="r")

    class NamedFile:
        """An object whose errors name the table: it is read long after it was opened."""

        def __init__(self, file: Any) -> None:
            self.file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def read(self, *size: int) -> Any:
            with stores.store_errors_named(url):
                return self.file.read(*size)

    with stores.store_errors_named(url):
        head = url / HEAD if url.is_dir() else url
        of_all = _object_footer(head, stores.state_of(head)).schema.to_arrow_schema()
        store = fs.PyFileSystem(Ranges(url.store_and_path()[0]))
        names = [part.store_and_path()[1] for part in objects]
        hive = dataset.partitioning(
            schema([of_all.field(column) for column in dtypes]), flavor="hive"
        )
        rows = dataset.dataset(
            names, schema=of_all, filesystem=store, format="parquet", partitioning=hive
        )
    return pl.scan_pyarrow_dataset(rows)


def _listed_names(metadata: Mapping[str, str], key: str, path: Place) -> list[str]:
    """Return the file names in a folder's head file; none may leave the folder."""
    remedy = "Do not use this table, or ingest its logs again into another folder."
    try:
        names = json.loads(metadata.get(key, "[]"))
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TtastatsError(f"{HEAD} holds no list of parts", where=str(path), remedy=remedy)
    for name in names:
        *folders, file = name.split("/")
        is_inside = all(re.fullmatch(r"[a-z_]+=[^/]+", folder) for folder in folders)
        if not is_inside or file in {"", ".", ".."} or set(name) & set("\\:\0") or name == HEAD:
            message = f"{HEAD} lists a part that is no file of the folder: {name!r}"
            raise TtastatsError(message, where=str(path), remedy=remedy)
    has_duplicates = len({*names}) < len(names)
    raise_if(has_duplicates, f"{HEAD} lists a part more than once", str(path), remedy)
    return names


@lru_cache(maxsize=8)
def _object_footer(url: Url, state: str | None) -> Any:
    """Return the footer of an object in a known state, read without the rest."""
    from pyarrow import ArrowInvalid, parquet  # only URLs need it

    if state is None:
        raise TtastatsError("no such file", where=str(url), remedy="Check the URL.")
    with stores.store_errors_named(url):
        try:
            with url.open() as file:
                return parquet.read_metadata(file)
        except ArrowInvalid as error:
            message = "not a Parquet file"
            raise TtastatsError(message, where=str(url), remedy="Check the URL.") from error


def ttastats_fields(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the ttastats part of Parquet metadata, empty in files of other programs."""
    try:
        fields = json.loads(metadata[KEY])
    except (KeyError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _table_name(metadata: Mapping[str, str]) -> str | None:
    """Return the kind of table in a file, or None if another program wrote it.

    The first tables did not say that they hold runs.
    """
    fields = ttastats_fields(metadata)
    if not fields:
        return None
    return "profile" if fields.get("table") == "profile" else "runs"


def pack_json(value: Any) -> str:
    """Return a value as JSON, compressed by zlib, as base64."""
    return base64.b64encode(zlib.compress(json.dumps(value).encode(), level=1)).decode()


def unpack_json(text: str) -> Any:
    """Return the value of a text from `pack_json`, or None of any other text.

    A TooLargeError says that it is larger than a document may be.
    """
    limit = streams.document_limit()
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(text), limit + 1)
        streams.expect_size(len(content), limit)
        return json.loads(content)
    except (ValueError, RecursionError, zlib.error):
        return None
