"""Who does the work: this process, more of them, or a cluster that the user has?

Everything that schedules, retries and moves data is the executor's; units of work are alike.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import ttastats
from ttastats.errors import TtastatsError

#: How long a cluster may take to answer.
_PATIENCE = "10s"


@contextmanager
def processes(number: int) -> Iterator[Executor]:
    """Give an executor of some processes of this machine.

    Raises
    ------
    TtastatsError
        One of them was killed, most likely for want of memory.
    """
    import multiprocessing  # a single process needs none of these
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    # A forked child of a process with threads, which polars starts, may hang.
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(number, mp_context=context, initializer=_end_with_parent) as pool:
            yield pool
    except BrokenProcessPool as error:
        raise TtastatsError(
            "a process that read logs was killed; nothing was written",
            remedy="If memory ran out, use fewer: --workers 1.",
        ) from error


def _end_with_parent() -> None:
    """See to it that a killed ingest leaves no process waiting for work for ever."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def dask(address: str) -> Iterator[Executor]:
    """Give an executor of the Dask cluster at an address.

    Raises
    ------
    TtastatsError
        Dask is not installed, no cluster answers there, it has another ttastats, or it gave up.
    """
    try:
        distributed: Any = import_module("distributed")  # an extra
    except ImportError as error:
        raise TtastatsError(
            "--dask needs the package distributed", remedy="pip install 'ttastats[cluster]'"
        ) from error
    try:
        distributed.comm.resolve_address(address)  # a client that cannot would end badly
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:  # a timeout is an OSError
        raise TtastatsError(
            f"no Dask cluster answers: {_first_line(error)}",
            where=address,
            remedy="Give the address its scheduler shows, such as tcp://10.0.0.1:8786.",
        ) from error
    with client:
        _expect_same_program(client, address)
        try:
            yield client.get_executor(pure=False)
        except (
            distributed.KilledWorker,
            distributed.comm.CommClosedError,
            CancelledError,
        ) as error:
            raise TtastatsError(
                f"the Dask cluster gave up: {_first_line(error)}; nothing was written",
                where=address,
                remedy="Look at the logs of its workers; most likely they ran out of memory.",
            ) from error


def _expect_same_program(client: Any, address: str) -> None:
    """Say that some machine has another ttastats, or none: Dask would wait for it for ever."""
    try:
        found = {client.run_on_scheduler(version, "ttastats")}
        found |= set(client.run(version, "ttastats").values())
    except PackageNotFoundError:
        found = {"none"}
    others = found - {ttastats.__version__}
    if others:
        raise TtastatsError(
            f"the Dask cluster has ttastats {', '.join(sorted(others))}, "
            f"this machine {ttastats.__version__}",
            where=address,
            remedy="Install the same version on its scheduler and on every worker.",
        )


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
