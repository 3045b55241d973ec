"""Who does the work: this process, more of them, or a cluster that the user has?

Everything that schedules, retries and moves data is the executor's; units of work are alike.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import Any

from ttastats.base import __version__, slow
from ttastats.base.errors import TtastatsError, needs, raise_if
from ttastats.ingestion.containers import File, Memory
from ttastats.ingestion.reading import Reading, Result, Spool, read_unit
from ttastats.ingestion.sources import Source

Unit = Sequence[Source]

#: From here on more processes pay for their start.
_PARALLEL_BYTES = 400 * 1024 * 1024
#: Units that may be under way or wait for an earlier one: enough for a cluster of many cores.
_AHEAD = 256
#: No log, to be read by a process that has nothing to do yet.
_EMPTY = Source(Memory(b""), File("empty"), "empty", "empty")
#: How long a cluster may take to answer.
_PATIENCE = "10s"


class Workers(ExitStack):
    """Those who read: this process, more of them where they pay, or an executor of the user's.

    By default it is one process, and every core where there is much to read.
    """

    def __init__(self, number: int | None = None, executor: Executor | None = None) -> None:
        super().__init__()
        self._number = number
        self._executor = executor
        self._is_local = executor is None

    def expect(self, size: int) -> None:
        """Start enough processes to read so many bytes, since their imports take a while."""
        if self._executor is not None:
            return
        number = self._number
        if number is None:
            number = (os.cpu_count() or 1) if size >= _PARALLEL_BYTES else 1
        if number > 1:
            self._executor = self.enter_context(processes(number - 1))
            for _ in range(number - 1):
                self._executor.submit(read_unit, (_EMPTY,), Reading())

    def read(
        self, work: Sequence[Unit], reading: Reading, spool: Spool
    ) -> Iterator[tuple[Unit, Result]]:
        """Yield results in the order of the units; a few units are ahead of the reader.

        Rows are left in `spool` by those who see the disk of this machine.
        """
        if self._executor is None:
            for unit in work:
                yield unit, read_unit(unit, reading)
            return
        local_spool = spool if self._is_local else None
        ahead: deque[tuple[Unit, Future[Result]]] = deque()
        units = iter(work)
        while True:
            for unit in islice(units, _AHEAD - len(ahead)):
                ahead.append((unit, self._executor.submit(read_unit, unit, reading, local_spool)))
            if not ahead:
                self.close()  # what is left to do is for one
                return
            if self._is_local:
                _steal_work(ahead, reading, local_spool)
            unit, future = ahead.popleft()  # a future that is kept would keep its rows
            yield unit, future.result()


def _steal_work(
    ahead: deque[tuple[Unit, Future[Result]]], reading: Reading, spool: Spool | None
) -> None:
    """Read units that no process has begun, the last first, until the first is done."""
    for position in reversed(range(len(ahead))):
        if ahead[0][1].done():
            return
        unit, future = ahead[position]
        if future.cancel():
            finished: Future[Result] = Future()
            finished.set_result(read_unit(unit, reading, spool))
            ahead[position] = unit, finished


@contextmanager
def processes(number: int) -> Iterator[Executor]:
    """Yield an executor of several processes on this machine."""
    import multiprocessing  # a single process needs none of these
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    # A forked child of a process with threads, which polars starts, may hang.
    context = multiprocessing.get_context("spawn")

    class Pool(ProcessPoolExecutor):
        """Processes that start with what is submitted."""

        def submit(self, *task: Any, **keywords: Any) -> Future[Any]:
            with _without_script():
                return super().submit(*task, **keywords)

    pool = Pool(number, context, initializer=_begin_worker, initargs=(slow.names_files(),))
    try:
        yield pool
    except BrokenProcessPool as error:
        message = "a worker process was killed; nothing was written"
        raise TtastatsError(message, remedy="If memory ran out, use fewer: --workers 1.") from error
    except BaseException:
        pool.shutdown(cancel_futures=True)  # nothing writes any more when this returns
        raise
    else:
        pool.shutdown(wait=False)


@contextmanager
def _without_script() -> Iterator[None]:
    """Let processes that start in the block not import the script that the user runs.

    They need nothing of it, and one without a guard (`if __name__ == "__main__"`) would run again.
    """
    script = vars(sys.modules["__main__"])
    hidden: dict[str, Any] = {
        name: script.pop(name) for name in ("__file__", "__spec__") if name in script
    }
    script["__spec__"] = None
    try:
        yield
    finally:
        script.update(hidden)


def _begin_worker(names_files: bool) -> None:
    """End this process when the one that started it ends, however that ends."""
    import multiprocessing

    if names_files:
        slow.name_on_stderr()
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def dask(address: str) -> Iterator[Executor]:
    """Yield an executor of the Dask cluster at an address, which has the same ttastats."""
    with needs("distributed", "--dask", "ttastats[cluster]"):
        distributed: Any = import_module("distributed")  # an extra
    try:
        distributed.comm.resolve_address(address)  # a client that cannot would end badly
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:  # a timeout is an OSError
        message = f"cannot connect to the Dask cluster: {_first_line(error)}"
        remedy = "Give the address of its scheduler, such as tcp://10.0.0.1:8786."
        raise TtastatsError(message, where=address, remedy=remedy) from error
    with client:
        _expect_same_program(client, address)
        failures = (distributed.KilledWorker, distributed.comm.CommClosedError, CancelledError)
        try:
            yield client.get_executor(pure=False)
        except failures as error:
            message = f"the Dask cluster failed: {_first_line(error)}; nothing was written"
            remedy = "Check the logs of its workers; they probably ran out of memory."
            raise TtastatsError(message, where=address, remedy=remedy) from error


def _expect_same_program(client: Any, address: str) -> None:
    """Raise an error if a cluster has another version of ttastats."""
    try:
        versions = {client.run_on_scheduler(version, "ttastats")}
        versions |= set(client.run(version, "ttastats").values())
    except PackageNotFoundError:
        versions = {"none"}
    different = versions - {__version__}
    message = (
        f"the Dask cluster has ttastats {', '.join(sorted(different))}, this machine {__version__}"
    )
    remedy = "Install the same version on its scheduler and on every worker."
    raise_if(different, message, address, remedy)


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
