"""Which file holds up the others? It is named after a while, and again after twice that."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

#: Seconds after which a file is named.
SECONDS = 5.0


class _Watch:
    """Looks from a thread at what is read; a library's names nothing, as nobody asked it to."""

    tell: Callable[[str], None] | None = None
    file, since = "", 0.0
    thread: threading.Thread | None = None

    def look(self) -> None:
        """Name what takes long, for ever."""
        start, limit = self.since, SECONDS
        while True:
            time.sleep(SECONDS / 5)
            file, since = self.file, self.since
            if since != start:
                start, limit = since, SECONDS
            took = time.monotonic() - since
            if file and self.tell is not None and took >= limit:
                limit *= 2
                self.tell(f"still reading {file} ({took:.0f} s)")


_watch = _Watch()


def begin(file: str) -> None:
    """Note the file that is read from now on, an empty name where that ends."""
    _watch.file, _watch.since = file, time.monotonic()
    if _watch.tell is not None and _watch.thread is None:
        _watch.thread = threading.Thread(target=_watch.look, daemon=True)
        _watch.thread.start()


def name_files(tell: Callable[[str], None]) -> None:
    """Name slow files by a function."""
    _watch.tell = tell


def name_on_stderr() -> None:
    """Name slow files on stderr, as a process does that a command started."""

    def tell(text: str) -> None:
        letters = (letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
        sys.stderr.write(f"{''.join(letters)}\n")

    name_files(tell)


def names_files() -> bool:
    """Return whether slow files are named."""
    return _watch.tell is not None
