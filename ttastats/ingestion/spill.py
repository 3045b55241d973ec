"""Where do rows wait until all are read: in memory, or in files beside the output?"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ttastats.base import atomic
from ttastats.table import schema

#: Rows are held in memory up to about this many bytes, then kept in files until all are there.
_HELD_BYTES = 24 * 1024 * 1024
#: Several of these files are read at a time.
_PART_OF_HELD = 4_000


@dataclass(frozen=True, slots=True)
class PartFiles:
    """A folder beside an output where rows wait; every process of this machine may write there."""

    folder: Path
    output: Path

    def write(self, rows: pl.DataFrame) -> list[Path]:
        """Write rows into files that are small enough to read several at a time, and name them.

        Raises
        ------
        TtastatsError
            The disk is full.
        """
        with atomic.naming(self.output):
            return [self._write_one(some) for some in rows.iter_slices(_PART_OF_HELD)]

    def _write_one(self, rows: pl.DataFrame) -> Path:
        handle, name = tempfile.mkstemp(suffix=".arrow", dir=self.folder)
        os.close(handle)
        rows.write_ipc(name, compression="lz4")  # thrice as fast to write as Parquet
        return Path(name)


class Held:
    """Rows that wait for the rest: in memory while they are few, then in files beside the output.

    The order in which they are added is kept.
    """

    def __init__(self, output: Path) -> None:
        self._output = output
        self._place: PartFiles | None = None
        self._parts: list[Path] = []
        self._frames: list[pl.DataFrame] = []
        self._bytes = 0

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        if self._place is not None:
            shutil.rmtree(self._place.folder, ignore_errors=True)

    def place(self) -> PartFiles:
        """Give where other processes may leave rows, to be added by the names of their files."""
        if self._place is None:
            with atomic.naming(self._output):
                above, prefix = atomic.above(self._output), f".{self._output.name}."
                name = tempfile.mkdtemp(prefix=prefix, suffix=".tmp", dir=above)
                self._place = PartFiles(Path(name), self._output)
        return self._place

    def add(self, rows: pl.DataFrame | Sequence[Path]) -> None:
        """Take some rows, or the files at `place` that hold them."""
        if not isinstance(rows, pl.DataFrame):
            self._spill()  # what came before stays before
            self._parts += rows
        elif not rows.is_empty():
            self._frames.append(rows)
            self._bytes += int(rows.estimated_size())
            if self._bytes > _HELD_BYTES:
                self._spill()

    def _spill(self) -> None:
        if self._frames:
            self._parts += self.place().write(pl.concat(self._frames))
            self._frames, self._bytes = [], 0

    def rows(self) -> pl.LazyFrame:
        """Give all rows; they can be read as long as this is open."""
        none = pl.DataFrame(schema=schema.POLARS)
        held = pl.concat([none, *self._frames], rechunk=False).lazy()
        return pl.concat([pl.scan_ipc(self._parts), held]) if self._parts else held
