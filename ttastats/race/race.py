"""Run a race: start what is next, watch what runs, stop it when it may, and look after each block.

What is raced is a `Definition`, runs are started by `Processes`, and what they say is read by a
`Reading`; simulations put others in the place of both. Nothing is kept in memory alone: the folder
holds every complete run, and the verdict follows from these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import polars as pl
from msgspec import Struct, field
from msgspec.structs import replace

from ttastats.base import units
from ttastats.base.errors import TtastatsError
from ttastats.race import judge, plan
from ttastats.race.definition import NOT_PREPARED, Definition, duration
from ttastats.race.folder import Record
from ttastats.race.judge import Standing
from ttastats.race.outcome import standing_text
from ttastats.race.plan import Key
from ttastats.race.processes import Process, Processes

#: How long a race waits for something to happen before it looks at its limits again.
_WAIT = 1.0
#: Exit codes of a shell that cannot start the command.
_NOT_STARTED = {126: "cannot be executed", 127: "not found"}
#: What output says of memory that was not enough, in lower case.
_MEMORY = ("out of memory", "outofmemory", "memoryerror", "cannot allocate memory", "oom-kill")


class Progress(Protocol):
    """The evaluations of a run so far."""

    def update(self, process: Process, seconds: float) -> bool:
        """Take what is new after so many seconds; return whether the target is met."""
        ...

    @property
    def text(self) -> str:
        """Return the last value and how far it is from the target, in words."""
        ...


class Book(Protocol):
    """Where complete runs are kept and read."""

    def folder(self, key: Key) -> Path:
        """Return the folder of a run."""
        ...

    def begin(self, record: Record) -> Progress:
        """Note that a run begins."""
        ...

    def end(self, record: Record) -> Record:
        """Keep a complete run, and return it with what its output says of its end."""
        ...

    def judged(self) -> pl.DataFrame:
        """Return the table of the complete runs."""
        ...


class Running(Struct):
    """A run that goes on; `ending` is why it was asked to end."""

    record: Record
    process: Process
    progress: Progress
    begun: float
    lasted: float = 0.0
    ending: str = ""


class State(Struct):
    """The state of a race in progress."""

    definition: Definition
    done: dict[Key, Record]
    standing: Standing
    running: dict[int, Running] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)
    spent: float = 0.0

    @property
    def hours(self) -> float:
        """Return the hours of all runs so far."""
        lengths = [record.seconds for record in self.done.values()]
        return sum([*lengths, *(run.lasted for run in self.running.values())]) / 3600

    def blocks(self) -> range:
        """Return the numbers of all blocks."""
        return range(
            -self.definition.warmup * len(self.definition.slots), self.definition.rules.most
        )

    def next_run(self, slot: int) -> Key | None:
        """Return the next run of a slot."""
        order = plan.runs_in_order(
            self.definition.names, self.blocks(), self.definition.seed, self.standing.left
        )
        started = {*self.done, *(run.record.key for run in self.running.values())}
        return plan.next_run([*order], started, self.slots, slot)

    def mean_seconds(self, setup: str) -> float | None:
        """Return the mean length of the runs of a setup, of those to the target if there are."""
        records = [record for record in self.done.values() if record.setup == setup]
        lengths = [record.seconds for record in records if record.end == "target"]
        lengths = lengths or [record.seconds for record in records]
        return sum(lengths) / len(lengths) if lengths else None

    def hours_to_come(self) -> float | None:
        """Return the most hours that may still come, by the mean of each setup; None if unknown."""
        order = plan.runs_in_order(
            self.definition.names, self.blocks(), self.definition.seed, self.standing.left
        )
        means = [self.mean_seconds(key.setup) for key in order if key not in self.done]
        if self.standing.ended or None in means:
            return 0.0 if self.standing.ended else None
        ahead = sum(filter(None, means)) - sum(run.lasted for run in self.running.values())
        budget = duration(self.definition.budget, "--budget") or float("inf")
        return max(0.0, min(ahead, (budget - self.spent) * len(self.definition.slots))) / 3600


class Interrupted(Exception):  # noqa: N818 - no error
    """The user ended the race."""


def run_race(
    definition: Definition,
    done: Mapping[Key, Record],
    processes: Processes,
    book: Book,
    watch: Callable[[State, str], None],
) -> State:
    """Race to the end, and return the last state.

    `watch` is called when something happened, with it in words, and now and then without.
    """
    state = State(definition, dict(done), judge.before_any(definition.names))
    slots = len(definition.slots)  # which all warm up
    state.slots = {block: block % slots for block in state.blocks() if block < 0}
    state.slots |= {record.block: record.slot for record in state.done.values()}
    budget = duration(definition.budget, "--budget")
    state.spent = sum(record.seconds for record in state.done.values()) / len(definition.slots)
    begun, spent_before = processes.now(), state.spent
    _look(state, book, watch)
    try:
        while True:
            state.spent = spent_before + processes.now() - begun
            if budget and state.spent >= budget and not state.standing.ended:
                state.standing = replace(state.standing, ended="budget")
            if not state.standing.ended:
                _fill_slots(state, processes, book, watch)
            for run in state.running.values():
                _stop_if_due(state, run, processes.now())
            if not state.running:
                return state
            processes.wait([run.process for run in state.running.values()], _WAIT)
            for slot, run in [*state.running.items()]:
                if run.process.exit_code is not None:
                    del state.running[slot]
                    _finish(state, run, book, watch)
            watch(state, "")
    except KeyboardInterrupt:
        _interrupt(state, processes, book, watch)
        raise Interrupted from None


def _fill_slots(
    state: State, processes: Processes, book: Book, watch: Callable[[State, str], None]
) -> None:
    for slot in range(len(state.definition.slots)):
        if slot in state.running or (key := state.next_run(slot)) is None:
            continue
        launch = state.definition.launch(key, book.folder(key), slot)
        record = Record(
            key.setup, key.block, state.definition.seed_of(key), slot, launch.command,
            datetime.now(UTC),
        )  # fmt: skip
        progress = book.begin(record)
        process = processes.start(launch)
        state.slots[key.block] = slot
        state.running[slot] = Running(record, process, progress, processes.now())
        watch(state, f"{_run_name(state, record)} begins")


def _stop_if_due(state: State, run: Running, now: float) -> None:
    """Ask a run to end if it has met its target, is over its time, or is needed no more."""
    run.lasted = now - run.begun
    if run.ending:
        return
    limit = duration(state.definition.timeout, "--timeout")
    met = run.progress.update(run.process, run.lasted)
    if met and not state.definition.to_end:
        run.ending = "target"
    elif limit and run.lasted >= limit:
        run.ending = "timeout"
    elif state.standing.ended or run.record.block >= state.standing.left.get(
        run.record.setup, run.record.block + 1
    ):
        run.ending = "needless"
    if run.ending:
        run.process.stop()


def _finish(state: State, run: Running, book: Book, watch: Callable[[State, str], None]) -> None:
    """Keep a run that has ended, and look at the block if that is complete."""
    process = run.process
    record = replace(run.record, exit_code=process.exit_code, seconds=process.seconds,
                     arrivals=process.arrivals)  # fmt: skip
    if run.ending == "needless":
        book.end(replace(record, end="interrupted", reason="the race was over"))
        watch(state, f"{_run_name(state, record)} is needed no more")
        return
    end = run.ending or ("finished" if process.exit_code == 0 else "failed")
    if wrong := _not_begun(state, record):
        record = book.end(replace(record, end="interrupted", reason=wrong[0]))
        message, where = wrong
        raise TtastatsError(": ".join(filter(None, [message, " ".join(record.tail)])), where=where,
                            remedy="Correct the command. The run was not counted.")  # fmt: skip
    record = book.end(replace(record, end=end, reason=failure(end, record, state.definition)))
    state.done[record.key] = record
    how = {"target": "met the target", "timeout": "failed"}.get(record.end, record.end)
    how = f"{how} after {units.seconds(record.seconds)}"
    how += f": {record.reason}" if record.reason else ""
    watch(state, f"{_run_name(state, record)} {how}")
    _look(state, book, watch)


def _not_begun(state: State, record: Record) -> tuple[str, str] | None:
    """Return the error of a command that never began, and its place; None if it did."""
    prepare = state.definition.prepare
    if prepare and record.exit_code == NOT_PREPARED:
        return "failed", f"--prepare {prepare}"
    first = not any(done.setup == record.setup for done in state.done.values())
    shell = _NOT_STARTED.get(record.exit_code or 0)
    return (shell, record.command) if shell and first else None


def failure(end: str, record: Record, definition: Definition) -> str:
    """Return the reason of a failure, by the end of the run and its last lines; else nothing."""
    if end == "timeout":
        return f"over the timeout of {definition.timeout}"
    if end != "failed":
        return ""
    code = record.exit_code or 0
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def with_reason(record: Record, tail: Sequence[str]) -> Record:
    """Return a record with the last lines, and what they say of a failure."""
    text = "\n".join(tail).lower()
    reason = record.reason
    if record.end == "failed":
        if any(word in text for word in _MEMORY) or record.exit_code in {-9, 137}:
            reason = f"out of memory ({reason})" if any(w in text for w in _MEMORY) else reason
        elif tail:
            reason = f"{reason}: {tail[-1].strip()[:200]}"
    return replace(record, tail=tuple(tail), reason=reason)


def _look(state: State, book: Book, watch: Callable[[State, str], None]) -> None:
    """Judge the complete blocks, if there is one more."""
    n = plan.complete_blocks(state.standing.active, state.done)
    if n <= state.standing.n or state.standing.ended:
        return
    if n < state.definition.rules.first:
        state.standing = replace(state.standing, n=n)
        return
    before = state.standing
    runs = book.judged()
    while n > state.standing.n and not state.standing.ended:
        state.standing = judge.judge(runs, state.definition.rules, state.standing, n)
        n = plan.complete_blocks(state.standing.active, state.done)
    for setup, block in state.standing.left.items():
        if setup not in before.left and len(state.standing.setups) > 2:
            watch(state, f"{setup} is slower, and leaves after {units.plural(block, 'run')}")
    watch(state, standing_text(state.standing))


def _run_name(state: State, record: Record) -> str:
    slot = f", slot {record.slot}" if len(state.definition.slots) > 1 else ""
    warm_up = "warm-up of " if record.block < 0 else ""
    return f"{warm_up}{record.setup} (seed {record.seed}{slot})"


def _interrupt(
    state: State, processes: Processes, book: Book, watch: Callable[[State, str], None]
) -> None:
    """End all runs after Ctrl-C, as not complete; a second one does not wait."""
    for run in state.running.values():
        run.process.stop()
    watch(state, "ending the runs; a second Ctrl-C does not wait")
    try:
        while any(run.process.exit_code is None for run in state.running.values()):
            processes.wait([run.process for run in state.running.values()], _WAIT)
    except KeyboardInterrupt:
        processes.close()
    for run in state.running.values():
        book.end(replace(run.record, end="interrupted"))
    watch(state, "interrupted")
