"""What is left of a race: a folder that anybody can read, and from which the race goes on.

    race.toml           setups and options       environment.json    git, host, GPU, packages
    ttastats.toml       how output is read       events.log          what happened when
    runs/0003-muon/     output.log, files/       runs/0003-muon.json command, times, how it ended
    runs.parquet        the table that `compare`, `report`, `history` and CI take

A run is complete when its record says how it ended; one without an end is put aside and made again.
"""

from __future__ import annotations

import fcntl
import os
import platform
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from msgspec import Struct

from ttastats.base import atomic
from ttastats.base.errors import TtastatsError
from ttastats.race import definition as definitions
from ttastats.race.definition import Definition
from ttastats.race.plan import Key
from ttastats.race.processes import FILES, Arrivals, kill_marked

TABLE, BLOCKS = "runs.parquet", "ttastats.toml"
#: Variables that are written down; others may hold secrets.
_VARIABLES = (
    "CUDA", "HIP", "ROCR", "NCCL", "OMP", "MKL", "OPENBLAS", "PYTHON", "TORCH", "XLA", "SLURM",
)  # fmt: skip


class Record(Struct, frozen=True):
    """One run: what was started when and where, and how it ended; `end` is empty until then.

    `end` is target, finished, timeout, failed or interrupted, `reason` says more of a failure, and
    `tail` holds the last lines. `arrivals` tells which size each file had after how many seconds.
    """

    setup: str
    block: int
    seed: int
    slot: int
    command: str
    started_at: datetime
    end: str = ""
    reason: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    tail: tuple[str, ...] = ()
    arrivals: Arrivals = {}

    @property
    def key(self) -> Key:
        """Return the key of the run."""
        return Key(self.setup, self.block)


def run_name(key: Key) -> str:
    """Return the name of a run: its block, from 1 (warm-ups w1 ...), and its setup."""
    number = f"{key.block + 1:04d}" if key.block >= 0 else f"w{-key.block:03d}"
    return f"{number}-{key.setup}"


class RaceFolder:
    """The folder of a race, which one process at a time may use."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.runs = self.path / "runs"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder, and keep other races out of it."""
        with atomic.write_errors_named(self.path):
            self.runs.mkdir(parents=True, exist_ok=True)
        with (self.path / "race.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                busy, remedy = "another race runs in this folder", "Wait, or give -o FOLDER."
                raise TtastatsError(busy, where=str(self.path), remedy=remedy) from None
            yield

    def stored(self) -> Definition | None:
        """Return the race that this folder holds, or None."""
        file = self.path / definitions.FILE
        return definitions.read(file) if file.exists() else None

    def store(self, definition: Definition) -> None:
        """Write the definition of the race."""
        values = msgspec.to_builtins(definition).items()
        text = tomli_w.dumps({key: value for key, value in values if value is not None})
        atomic.write_text(self.path / definitions.FILE, text)

    def records(self) -> dict[Key, Record]:
        """Return the complete runs; others are put aside, and what is left of them is killed."""
        complete = {}
        for file in sorted(self.runs.glob("*.json")):
            record = msgspec.json.decode(file.read_bytes(), type=Record)
            if record.end not in {"", "interrupted"}:
                complete[record.key] = record
                continue
            kill_marked(self.folder(record.key) / FILES)
            self._put_aside(record.key)
        for folder in self.runs.iterdir():
            if folder.is_dir() and "~" not in folder.name and not self._file(folder.name).exists():
                self._put_aside(folder.name)
        return complete

    def _put_aside(self, key: Key | str) -> None:
        name = key if isinstance(key, str) else run_name(key)
        number = len([*self.runs.glob(f"{name}~*")]) + 1
        with suppress(FileNotFoundError):
            (self.runs / name).rename(self.runs / f"{name}~{number}")
        self._file(name).unlink(missing_ok=True)

    def folder(self, key: Key) -> Path:
        """Return the folder of a run."""
        return self.runs / run_name(key)

    def _file(self, name: str) -> Path:
        return self.runs / f"{name}.json"

    def write(self, record: Record) -> None:
        """Write the record of a run: it is complete with that."""
        text = msgspec.json.format(msgspec.json.encode(record), indent=1).decode()
        atomic.write_text(self._file(run_name(record.key)), text)

    def note(self, event: str) -> None:
        """Add a line to the events."""
        with (self.path / "events.log").open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {event}\n")


def write_environment(folder: RaceFolder) -> None:
    """Write the environment of the race."""
    text = msgspec.json.format(msgspec.json.encode(_environment()), indent=1).decode()
    atomic.write_text(folder.path / "environment.json", text)


def _environment() -> dict[str, Any]:
    """Return the environment: code, host, GPUs, packages and relevant variables."""
    status = _output_of("git", "status", "--porcelain")
    return {
        "git_commit": _output_of("git", "rev-parse", "HEAD"),
        "git_clean": None if status is None else not status,
        "folder": str(Path.cwd()),
        "host": platform.node(),
        "system": platform.platform(),
        "cpus": os.cpu_count(),
        "gpus": _output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"),
        "python": platform.python_version(),
        "packages": {package.name: package.version for package in metadata.distributions()},
        "variables": _environment_variables(os.environ),
        "time_zone": time.tzname[0],
    }


def _environment_variables(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(_VARIABLES)}


def _output_of(*words: str) -> str | None:
    """Return the output of a program; None if it is missing or fails."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(  # noqa: S603 - words of this module
            words, capture_output=True, text=True, timeout=20, check=True
        )
        return done.stdout.strip()
    return None
