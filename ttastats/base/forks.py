"""Was this process forked from one whose threads it lacks? Polars would wait for them for ever."""

from __future__ import annotations

import os
import sys

#: The process whose threads of polars ran: this one, or one that it was forked from.
_POOL_OF: list[int] = []


def _note_pool() -> None:
    """Note before a fork whether threads of polars run, whoever used them; Linux tells."""
    if "polars" not in sys.modules or _POOL_OF:
        return
    from contextlib import suppress  # which the first start of ttastats need not import
    from pathlib import Path

    with suppress(OSError):  # a thread that has ended meanwhile
        names = [file.read_text() for file in Path("/proc/self/task").glob("*/comm")]
        _POOL_OF.extend([os.getpid()] if "polars-0\n" in names else [])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_note_pool)


def expect_threads() -> None:
    """Raise an error in a process that was forked after an answer, or another use of polars."""
    from ttastats.base.errors import raise_if

    this_process = [os.getpid()]
    _POOL_OF[:] = _POOL_OF or this_process
    message = "this process was forked after polars had been used, which would wait for ever here"
    remedy = 'Use the start method spawn or forkserver: multiprocessing.get_context("spawn").'
    raise_if(this_process != _POOL_OF, message, "fork", remedy)
