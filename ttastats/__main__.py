"""Runs the command line: `python -m ttastats`, and the program `ttastats`.

A process that is started to read logs begins by importing what the program was started from, so
nothing is imported here before it is needed.
"""

from __future__ import annotations

from typing import NoReturn

#: Of the eight arenas that polars' allocator has for two processors, each keeps memory that the
#: others want: with one, peaks are a third lower, and a tenth of the time goes with the faults.
_ALLOCATOR = "dirty_decay_ms:100,muzzy_decay_ms:0,narenas:{}"


def main() -> NoReturn:
    """Run the command line; the collector walks the libraries of this short process less often."""
    import gc
    import os

    arenas = max((os.cpu_count() or 1) // 2, 1)
    os.environ.setdefault("_RJEM_MALLOC_CONF", _ALLOCATOR.format(arenas))  # read by `import polars`
    gc.set_threshold(100_000)
    try:
        from ttastats.cli import main as run

        run()
    except SystemExit as end:
        _leave(end)
    except KeyboardInterrupt:  # while libraries are imported; later, a command says it
        os.write(2, b"ttastats: interrupted\n")
        os._exit(130)


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
