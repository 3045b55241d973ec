"""Start, watch and stop the command of a run; note when each byte of its output arrived.

All else of a race asks only for what `Processes` and `Process` offer, so that simulations and tests
put others in their place. A run is a session of its own: signals go to its process group, and what
it leaves behind in other groups is known by `TTASTATS_DIR` in its environment (Linux). If the race
itself is killed, a shell that hears of it by the end of a pipe kills the groups of its runs.
"""

from __future__ import annotations

import fcntl
import os
import pty
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from msgspec import Struct

OUTPUT, FILES = "output.log", "files"
#: Sizes at which something arrived, and the seconds since the start of the process.
Arrivals = dict[str, list[tuple[int, float]]]

#: Bytes of a read, and of the pipe where the system allows it.
_CHUNK = 1 << 20
#: Output is taken at most so often, and so many chunks at once: a program that prints single bytes
#: costs no more than others.
_READ_PAUSE, _AT_ONCE = 0.01, 16
#: How often files are looked at, and processes that closed their output.
_LOOK = 0.2
#: From SIGTERM to SIGKILL.
GRACE = 10.0
_MARK = "TTASTATS_DIR"


class Launch(Struct, frozen=True):
    """A command for a shell, the folder of its run, and what it finds in its environment."""

    command: str
    folder: Path
    variables: Mapping[str, str]
    tty: bool = False


class Process(Protocol):
    """A run that was started; `exit_code` is None while it goes on, below 0 after a signal."""

    arrivals: Arrivals
    exit_code: int | None
    seconds: float

    @property
    def group(self) -> int:
        """Return the number of the process group."""
        ...

    def stop(self, *, at_once: bool = False) -> None:
        """Ask the process group to end; kill it after a grace, or at once."""
        ...


class Processes(Protocol):
    """What starts processes and waits for them."""

    def now(self) -> float:
        """Return seconds of a clock that never goes back."""
        ...

    def start(self, launch: Launch) -> Process:
        """Start a run."""
        ...

    def wait(self, processes: Sequence[Process], seconds: float) -> None:
        """Return when something arrived or ended, or after so many seconds."""
        ...

    def close(self) -> None:
        """Leave nothing behind."""
        ...


class RealProcess:
    """A run as a process group of this machine."""

    def __init__(self, launch: Launch) -> None:
        folder = launch.folder
        (folder / FILES).mkdir(parents=True, exist_ok=True)
        self.arrivals: Arrivals = {OUTPUT: [(0, 0.0)]}
        self.exit_code: int | None = None
        self.seconds = 0.0
        self._folder, self._size, self._kill_at, self._looked = folder, 0, float("inf"), 0.0
        self._file = (folder / OUTPUT).open("wb", buffering=0)
        self.output, theirs = pty.openpty() if launch.tty else os.pipe()
        if hasattr(fcntl, "F_SETPIPE_SZ") and not launch.tty:
            with suppress(OSError):
                fcntl.fcntl(self.output, fcntl.F_SETPIPE_SZ, _CHUNK)
        os.set_blocking(self.output, False)
        self.is_open = True
        try:
            self._popen = subprocess.Popen(  # noqa: S602 - the commands are the user's own
                launch.command,
                shell=True,
                stdin=theirs if launch.tty else subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **launch.variables},
                start_new_session=True,
            )
        finally:
            os.close(theirs)
        self._start = time.monotonic()

    @property
    def group(self) -> int:
        """Return the number of the process group."""
        return self._popen.pid

    def look(self) -> None:
        """Take what has arrived, and note whether the process has ended."""
        seconds = time.monotonic() - self._start
        for _ in range(_AT_ONCE):
            if not self._read(seconds):
                break
        if seconds - self._looked >= _LOOK or not self.is_open:
            self._looked = seconds
            self._look_at_files(seconds)
        if seconds > self._kill_at:
            self._signal(signal.SIGKILL)
        if self._popen.poll() is not None:
            self._end(seconds)

    def _end(self, seconds: float) -> None:
        """Take the rest, and kill what is left of the run."""
        self._signal(signal.SIGKILL)
        kill_marked(self._folder / FILES)
        while self._read(seconds):
            pass
        self._look_at_files(seconds)
        self._close()
        self._file.close()
        self.seconds, self.exit_code = seconds, self._popen.returncode

    def _read(self, seconds: float) -> bool:
        """Take one chunk of output; return whether there was one."""
        if not self.is_open:
            return False
        try:
            chunk = os.read(self.output, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # a terminal that nobody holds any more
            chunk = b""
        if not chunk:
            self._close()
            return False
        self._file.write(chunk)
        self._size += len(chunk)
        note_arrival(self.arrivals[OUTPUT], self._size, seconds)
        return True

    def _close(self) -> None:
        if self.is_open:
            self.is_open = False
            os.close(self.output)

    def _look_at_files(self, seconds: float) -> None:
        folders = [self._folder / FILES]
        while folders:
            with suppress(OSError), os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
                    elif entry.is_file():
                        name = os.path.relpath(entry.path, self._folder)
                        noted = self.arrivals.setdefault(name, [])
                        note_arrival(noted, entry.stat().st_size, seconds)

    def stop(self, *, at_once: bool = False) -> None:
        """Ask the process group to end; kill it after a grace, or at once."""
        self._signal(signal.SIGKILL if at_once else signal.SIGTERM)
        self._kill_at = min(self._kill_at, time.monotonic() - self._start + GRACE)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, number)


def note_arrival(noted: list[tuple[int, float]], size: int, seconds: float) -> None:
    """Note the size of something that grew; what arrived shortly before counts as this."""
    if noted and noted[-1][0] == size:
        return
    if len(noted) > 1 and seconds - noted[-2][1] < _READ_PAUSE:
        noted.pop()
    noted.append((size, seconds))


class RealProcesses:
    """Processes of this machine, with a guard that ends them if this one is killed."""

    def __init__(self) -> None:
        self._running: list[RealProcess] = []
        end, self._to_guard = os.pipe()
        script = 'trap "" HUP INT TERM; while read l; do g=$l; done; [ -z "$g" ] || kill -9 -- $g'
        self._guard = subprocess.Popen(  # noqa: S603 - no input of others
            ["/bin/sh", "-c", script],
            stdin=end,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(end)

    def now(self) -> float:
        """Return seconds of a clock that never goes back."""
        return time.monotonic()

    def start(self, launch: Launch) -> RealProcess:
        """Start a run."""
        process = RealProcess(launch)
        self._running.append(process)
        self._tell_guard()
        return process

    def _tell_guard(self) -> None:
        line = " ".join(f"-{process.group}" for process in self._running)
        with suppress(OSError):
            os.write(self._to_guard, f"{line}\n".encode())

    def wait(self, processes: Sequence[Process], seconds: float) -> None:
        """Return when something arrived or ended, or after so many seconds."""
        del processes  # those that were started here
        with selectors.DefaultSelector() as selector:
            for process in self._running:
                if process.is_open:
                    selector.register(process.output, selectors.EVENT_READ)
            time.sleep(_READ_PAUSE)
            selector.select(max(0.0, min(seconds, _LOOK) - _READ_PAUSE))
        for process in self._running:
            process.look()
        ended = [process for process in self._running if process.exit_code is not None]
        if ended:
            self._running = [process for process in self._running if process not in ended]
            self._tell_guard()

    def close(self) -> None:
        """Kill all running processes."""
        for process in self._running:
            process.stop(at_once=True)
        while self._running:
            self.wait((), _LOOK)
        if self._guard.returncode is None:
            os.close(self._to_guard)
            self._guard.wait()


def kill_marked(folder: Path) -> None:
    """Kill the processes whose environment says that they belong to the run in a folder (Linux)."""
    mark = f"{_MARK}={folder}".encode()
    if sys.platform != "linux":
        return
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            with suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
