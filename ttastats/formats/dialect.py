"""What a log format must offer to be read, and what it is given to read.

A dialect is a module (or any object) with a `name`, a test `recognises(head, path)` and a function
`parse(log)`. It gets bytes and gives runs; it opens no file and keeps no state.

A run may lie in several files: one of them tells it, reading the others as companions, and the
others give nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Literal, Protocol, TypeAlias

import msgspec

from ttastats.base import streams
from ttastats.base.records import Problem, Run
from ttastats.formats.block import Block

#: Which measurements become rows: those of quality, or also those of every training step.
Metrics: TypeAlias = Literal["evaluations", "all"]

#: The code of the problem, of no severity, by which a file says that another one tells its run.
#: It is for files that a person may take for a run; others that are parts of a run say nothing.
PART_OF_A_RUN = "part_of_a_run"
#: The problem of a run of which no evaluation is known.
NO_EVALUATION = Problem("no_evaluation", "the run has no evaluation", "warning")


class Log(msgspec.Struct, frozen=True):
    """One log to read: its bytes, where it lies, and what lies beside it.

    `folder` is an absolute path, whose parts may name a submitter or a system. `blocks` returns the
    log's bytes anew at each call, in blocks that end at a line end, so that a log of any size is
    read in bounded memory. `companion` returns the bytes of another file, or None where there is
    none; `listing` the names in a folder, in order, those of folders with a slash at the end.
    `round` is the one the user named. `metrics` says whether training metrics, such as a loss of
    every step, are wanted too. `block` is what `ttastats.toml`, the options or a preset say of such
    logs, and `named` what its pattern names in the path.
    """

    folder: PurePosixPath
    name: str
    blocks: Callable[[], Iterator[bytes]]
    companion: Callable[[PurePosixPath], bytes | None] = lambda _path: None
    round: str | None = None
    listing: Callable[[PurePosixPath], Sequence[str]] = lambda _folder: ()
    metrics: Metrics = "evaluations"
    block: Block | None = None
    named: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def path(self) -> PurePosixPath:
        """Return the absolute path of the log."""
        return self.folder / self.name

    def read(self) -> bytes:
        """Return the whole content of a log; TooLargeError if it exceeds the limit of its kind."""
        return streams.join_blocks(self.blocks(), streams.limit_for(self.name))


class Dialect(Protocol):
    """A log format. A module with these three names is one."""

    @property
    def name(self) -> str:
        """Return the name shown to users and stored with each run."""
        ...

    @property
    def recognises(self) -> Callable[[bytes], bool] | Callable[[bytes, str], bool]:
        """Return a function of the first block, and of the absolute path, that tells a format.

        Where it is asked with an empty block, the path alone decides.
        """
        ...

    def parse(self, log: Log, /) -> Iterable[Run | Problem]:
        """Return the runs of a log, and problems that belong to no run; bad bytes never raise."""
        ...


def log_from_bytes(
    data: bytes,
    path: str = "/logs/result_0.txt",
    companions: Mapping[str, bytes] | None = None,
    *,
    round: str | None = None,  # noqa: A002 - the name of the column
    metrics: Metrics = "evaluations",
    block: Block | None = None,
    named: Mapping[str, str] | None = None,
) -> Log:
    """Return a log in memory; `companions` maps absolute paths to the bytes of other files."""
    files = {PurePosixPath(name): content for name, content in (companions or {}).items()}
    posix = PurePosixPath(path)

    def listing(folder: PurePosixPath) -> tuple[str, ...]:
        depth = len(folder.parts)
        paths = (file.parts for file in files if file.parts[:depth] == folder.parts)
        names = {f"{parts[depth]}/" if len(parts) > depth + 1 else parts[depth] for parts in paths}
        return tuple(sorted(name for name in names if name[0] != "."))

    blocks = partial(iter, (data,))
    return Log(
        posix.parent, posix.name, blocks, files.get, round, listing, metrics, block, named or {}
    )
