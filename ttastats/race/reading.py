"""What do the output and the files of a run say, by the clock of the race?

A line counts at the moment when it arrived, from the start of the process. How lines are read is
decided once, by the code of `guess` and `ingest`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

import numpy as np
import polars as pl
from msgspec import Struct

from ttastats.answers.guessing import folder as guessing
from ttastats.api import tables as api
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.metrics import Target, plain
from ttastats.base.records import Evaluation, Problem, Run, RunStatus
from ttastats.formats import config
from ttastats.formats.block import Block, Keys
from ttastats.formats.dialect import log_from_bytes
from ttastats.ingestion import given
from ttastats.ingestion.guessed import Ask, as_options
from ttastats.ingestion.reading import Reading, choose_dialect, read_unit
from ttastats.ingestion.sources import find
from ttastats.outcomes.target import UserTarget, parse_all
from ttastats.race.folder import Record, run_name
from ttastats.race.processes import OUTPUT, Arrivals
from ttastats.table import schema, tables

_CHUNK, _AT_ONCE = 1 << 20, 1 << 23
_STATUS: dict[str, RunStatus] = {"target": "success", "finished": "unknown"}
#: A file that grows is read again after so many times what it took before, and at most so much of a
#: line that does not end is kept.
_PAUSE_FACTOR, _LONGEST = 50.0, 1 << 20


class Reader(Struct, frozen=True):
    """How the runs in a folder are read; `targets` are those of the user, if any."""

    runs: Path
    blocks: tuple[Block, ...]
    targets: tuple[UserTarget, ...]

    @property
    def metrics(self) -> list[str]:
        """Return the metrics that the targets name."""
        return [target.metric for target in self.targets if target.metric]

    def rows(self, record: Record) -> pl.DataFrame:
        """Return the rows of a run in a tidy table; one without values if nothing was evaluated."""
        folder = self.runs / run_name(record.key)
        with given.asked_about(self.metrics):
            table = read_unit([*find([str(folder)])], Reading(blocks=self.blocks)).rows
            rows = (
                given.as_named(table.lazy()).collect() if isinstance(table, pl.DataFrame) else None
            )
        best = None if rows is None else self._best(rows)
        status = _STATUS.get(record.end, "exception")
        problems = (Problem("exception", record.reason),) if status == "exception" else ()
        name = run_name(record.key)
        run = Run(
            benchmark="race", entry=record.setup, system="race", seed=record.seed,
            started_at=record.started_at, clock="total", clock_zero="start of the process",
            run_status=status, run_seconds=record.seconds, problems=problems,
        )  # fmt: skip
        head = tables.table_of_runs([tables.SourcedRun(run, f"runs/{name}", name, 0, "race")])
        if best is None:
            return head
        run_keys = head.select(schema.RUN_NAMES)[pl.zeros(best.height, pl.UInt32, eager=True)]
        timed = best.select(schema.EVALUATION_NAMES).with_columns(
            seconds=_seconds(best, folder, record), weights_seconds=pl.lit(None, pl.Float64)
        )
        for target in self.targets:  # so that who is given the table need not know it
            is_aim = (
                pl.lit(value=True) if target.metric is None else pl.col("metric") == target.metric
            )
            timed = timed.with_columns(
                target_value=pl.when(is_aim).then(target.value).otherwise("target_value"),
                target_source=pl.when(is_aim).then(pl.lit("user")).otherwise("target_source"),
            )
        return run_keys.hstack(timed)

    def _best(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Return the run whose evaluations count: of the metrics asked for, the one with most."""
        values = rows.filter(pl.col("metric").is_not_null())
        if self.metrics:
            of_metrics = values.filter(pl.col("metric").is_in(self.metrics))
            values = values.join(of_metrics, on=schema.RUN, how="semi", nulls_equal=True)
        parts = values.partition_by(schema.RUN, maintain_order=True)
        return max(parts, key=lambda part: part.height, default=None)

    def reached(self, rows: pl.DataFrame) -> bool:
        """Return whether a run has met its target."""
        try:
            return bool(self.judged(rows)["reached"].any())
        except TtastatsError:  # nothing was evaluated yet
            return False

    def judged(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the table of runs, judged by the target."""
        return api.run_table(rows, target=[str(target) for target in self.targets])


def _seconds(rows: pl.DataFrame, folder: Path, record: Record) -> pl.Series:
    """Return when each row arrived; of files without lines, its own clock on that of the race."""
    source = str(rows["source"][0])
    name = source.removeprefix(f"{folder}/")
    if rows["line"].null_count() == 0 and name in record.arrivals:
        seconds = arrival_of_lines(folder / name, rows["line"].to_numpy(), record.arrivals[name])
        return pl.Series("seconds", seconds)
    started = rows["started_at"][0]
    ahead = max(0.0, (started - record.started_at).total_seconds()) if started else 0.0
    return rows["seconds"] + ahead


def arrival_of_lines(
    path: Path, lines: np.ndarray, arrivals: Sequence[tuple[int, float]]
) -> np.ndarray:
    """Return when each line (from 1) of a file was complete; shape of `lines`."""
    ends = np.empty(lines.size, dtype=np.int64)
    order = np.argsort(lines)
    done, before, offset = 0, 0, 0
    with path.open("rb") as file:
        while done < order.size and (chunk := file.read(_CHUNK)):
            feeds = np.flatnonzero(np.frombuffer(chunk, np.uint8) == 10)
            while done < order.size and lines[order[done]] <= before + feeds.size:
                ends[order[done]] = offset + feeds[lines[order[done]] - before - 1] + 1
                done += 1
            before, offset = before + feeds.size, offset + len(chunk)
    ends[order[done:]] = offset  # a last line that does not end
    sizes, seconds = (np.array(column) for column in zip(*arrivals, strict=True))
    return seconds[np.minimum(np.searchsorted(sizes, ends), sizes.size - 1)]


def propose(
    runs: Path, name: str, answers: Keys, metrics: Iterable[str], ask: Ask | None
) -> list[Keys]:
    """Return the blocks that read the runs of a race, proposed from one of them.

    A doubt that nobody answers is an error, as in `ingest`.
    """
    with given.asked_about(metrics):
        guess = guessing.propose(str(runs / name), (), {"seconds": "", **answers}, ask)
    blocks: list[Keys] = []
    doubts = []
    for proposed in guess.blocks:
        files = str(proposed.keys["files"])
        if files != OUTPUT:
            files = f"files/**/*{PurePosixPath(files).suffix}"
        blocks.append({**proposed.keys, "files": f"runs/*/{files}"})
        doubts += [doubt for doubt in proposed.doubts if doubt.is_open and doubt.key != "seconds"]
    if doubts:
        choices = [as_options(choice) for doubt in doubts for choice in doubt.choices]
        commands = "\n  ".join(f"ttastats race {choice}" for choice in choices if choice)
        message = "; ".join(f"{doubt.key}: {doubt.text}" for doubt in doubts)
        remedy = f"Go on with one of\n  {commands}"
        raise TtastatsError(message, where=f"{runs.name}/{name}", remedy=remedy)
    return blocks


def complete(blocks: Sequence[Keys], root: Path) -> tuple[Block, ...]:
    """Return blocks whose patterns start from the folder of the race."""
    return tuple(config.complete_block(keys, "the race".format, str(root)) for keys in blocks)


class Live:
    """The evaluations of a run in progress, read as far as necessary.

    Lines of text are read once. Other files are read again when they have grown, ever more rarely
    as that takes longer. `seen` has the last value of each metric.
    """

    def __init__(self, reader: Reader, record: Record) -> None:
        self._reader, self._record = reader, record
        self._folder = reader.runs / run_name(record.key)
        self._read: dict[str, int] = {}
        self._not_before = 0.0
        self.last: Evaluation | None = None
        self.is_nan = False

    def update(self, arrivals: Arrivals, seconds: float) -> bool:
        """Read new lines; return whether a value may have met the target."""
        if seconds < self._not_before:
            return False
        begun, may_meet = time.process_time(), False
        for name, sizes in arrivals.items():
            if sizes and sizes[-1][0] > self._read.get(name, 0):
                values = [*self._evaluations(name)]
                may_meet |= any(map(self._meets, values))
                for evaluation in values:
                    if self._is_asked(evaluation):
                        self.last = evaluation
                        self.is_nan |= (
                            evaluation.value is None or evaluation.value != evaluation.value
                        )
        self._not_before = seconds + _PAUSE_FACTOR * (time.process_time() - begun)
        return may_meet

    def _evaluations(self, name: str) -> Iterable[Evaluation]:
        """Yield the new evaluations of a file; all of one that is read as a whole."""
        path, start = self._folder / name, self._read.get(name, 0)
        reading = Reading(blocks=self._reader.blocks)
        with path.open("rb") as file:
            head = file.read(_CHUNK)
            dialect, block, start_name = choose_dialect(
                head, PurePosixPath(path.parent), path.name, None, reading
            )
            data = head
            if dialect is not None and dialect.name == "lines":
                file.seek(start)
                data = file.read(_AT_ONCE)
                whole = data.rfind(b"\n") + 1
                data = data[:whole] if whole or len(data) < _LONGEST else data
                self._read[name] = start + len(data)
            else:
                data += file.read()
                self._read[name] = len(data)
        if dialect is None or not data:
            return
        log = log_from_bytes(data, str(path), block=block, named=start_name)
        with given.asked_about(self._reader.metrics):
            for item in dialect.parse(log):
                if isinstance(item, Run):
                    yield from item.evaluations

    def _is_asked(self, evaluation: Evaluation) -> bool:
        names = {*map(plain, self._reader.metrics)}
        return plain(evaluation.metric) in names if names else evaluation.target_value is not None

    def _meets(self, evaluation: Evaluation) -> bool:
        goals: list[tuple[float | None, bool | None]] = [
            (target.value, target.higher_is_better)
            for target in self._reader.targets
            if target.metric is None or plain(target.metric) == plain(evaluation.metric)
        ] or [(evaluation.target_value, None)]
        for value, higher in goals:
            higher = evaluation.higher_is_better if higher is None else higher
            goal = Target(evaluation.metric, higher is not False, value, 1, "")
            if evaluation.value is not None and goal.is_met_by(evaluation.value):
                return True
        return False


def reader_for(runs: Path, blocks: Sequence[Keys], targets: Sequence[str]) -> Reader:
    """Return the reader of a race."""
    return Reader(runs, complete(blocks, runs.parent), parse_all(targets))


def expect_evaluations(reader: Reader, rows: pl.DataFrame, record: Record) -> None:
    """Raise an error if the first run of a race tells nothing by which it could be judged."""
    name = f"runs/{run_name(record.key)}"
    nothing = rows["metric"].null_count() == rows.height
    tail = "\n  ".join(record.tail)
    raise_if(nothing, "no evaluation was found in its output and files", name,
             f"Say how: --line 'loss (?P<val_loss>\\S+)' --metric val_loss\n  {tail}")  # fmt: skip
    has_target = rows["target_value"].is_not_null().any() or reader.targets
    metrics = ", ".join(rows["metric"].drop_nulls().unique().sort())
    raise_if(not has_target, "no target is known", name,
             f"Give one: --target 'METRIC<=VALUE'; evaluated were: {metrics}")  # fmt: skip
