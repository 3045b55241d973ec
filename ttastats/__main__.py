"""Runs the command line: `python -m ttastats`, and the program `ttastats`.

A process that is started to read logs begins by importing what the program was started from, so
nothing is imported here before it is needed.
"""

from __future__ import annotations

from typing import NoReturn

#: How soon polars' allocator gives memory back, in ms: its half a second is a third more at peak.
_ALLOCATOR = "dirty_decay_ms:20,muzzy_decay_ms:0"


def main() -> NoReturn:
    """Run the command line; the collector walks the libraries of this short process less often."""
    import gc
    import os

    os.environ.setdefault("_RJEM_MALLOC_CONF", _ALLOCATOR)  # read when polars is imported
    gc.set_threshold(100_000)
    from ttastats.cli import main as run

    try:
        run()
    except SystemExit as end:
        _leave(end)


def _leave(end: SystemExit) -> NoReturn:
    """Exit without freeing the objects of all libraries one by one, a tenth of a short command."""
    import atexit
    import os
    import sys
    import threading

    if threading.active_count() > 1 or not isinstance(end.code, int):
        raise end
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    os._exit(end.code)


if __name__ == "__main__":
    main()
