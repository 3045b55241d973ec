"""What a log format must offer to be read, and what it is given to read.

A dialect is a module (or any object) with a `name`, a test `recognises(head)` and a function
`parse(log)`. It gets bytes and gives runs; it opens no file and keeps no state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Protocol

import msgspec

from ttastats.records import Problem, Run


class Log(msgspec.Struct, frozen=True):
    """One log to read: its bytes, where it lies, and what lies beside it.

    Parameters
    ----------
    folder
        Where the log lies, an absolute path; its parts may name a submitter or a system.
    name
        The log's own name.
    blocks
        Gives the log's bytes anew at each call, in blocks that end at a line end, so that a log
        of any size is read in bounded memory.
    companion
        Gives the bytes of another file, or None where there is none.
    edition
        The edition the user named, which settles what the path leaves open.
    """

    folder: PurePosixPath
    name: str
    blocks: Callable[[], Iterator[bytes]]
    companion: Callable[[PurePosixPath], bytes | None] = lambda _path: None
    edition: str | None = None

    @property
    def path(self) -> PurePosixPath:
        """Give the absolute place of the log."""
        return self.folder / self.name

    def read(self) -> bytes:
        """Give the whole log at once, for formats whose logs are small."""
        return b"".join(self.blocks())


class Dialect(Protocol):
    """A log format. A module with these three names is one."""

    @property
    def name(self) -> str:
        """The name shown to users and stored with each run."""

    def recognises(self, head: bytes, /) -> bool:
        """Tell from the first block of a file whether it is of this format."""

    def parse(self, log: Log, /) -> Iterable[Run | Problem]:
        """Give the runs of a log, and problems that belong to no run. Never raises on bad bytes."""


def log_from_bytes(
    data: bytes,
    path: str = "/logs/result_0.txt",
    companions: Mapping[str, bytes] | None = None,
    *,
    edition: str | None = None,
) -> Log:
    """Give a log that lives in memory; `companions` maps absolute paths to bytes."""
    files = {PurePosixPath(name): content for name, content in (companions or {}).items()}
    place = PurePosixPath(path)
    return Log(place.parent, place.name, lambda: iter((data,)), files.get, edition)
