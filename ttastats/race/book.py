"""Keep the runs of a race in its folder, and read them: the first run tells how."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import tomli_w
from msgspec.structs import replace

from ttastats.base import atomic, units
from ttastats.base.errors import TtastatsError
from ttastats.ingestion.guessed import Ask
from ttastats.outcomes.target import parse_all, target_text
from ttastats.race import reading
from ttastats.race.definition import Definition
from ttastats.race.folder import BLOCKS, TABLE, RaceFolder, Record, run_name
from ttastats.race.plan import Key
from ttastats.race.processes import OUTPUT, Process
from ttastats.race.race import with_reason
from ttastats.table import store

_TAIL_LINES, _TAIL_BYTES = 5, 4000


class Watched:
    """The evaluations of a run so far, by a reader if there is one."""

    def __init__(self, reader: reading.Reader | None, record: Record) -> None:
        self._reader, self._record = reader, record
        self._live = None if reader is None else reading.Live(reader, record)

    def update(self, process: Process, seconds: float) -> bool:
        """Take what is new; return whether the target is met, as all that was said tells."""
        if self._reader is None or self._live is None:
            return False
        if not self._live.update(process.arrivals, seconds):
            return False
        so_far = replace(self._record, end="finished", arrivals=process.arrivals, seconds=seconds)
        return self._reader.reached(self._reader.rows(so_far))

    @property
    def text(self) -> str:
        """Return the last value and its target, in words."""
        last = self._live.last if self._live else None
        if last is None:
            return ""
        value = "NaN" if self._live and self._live.is_nan else units.significant(last.value or 0.0)
        targets = self._reader.targets if self._reader else ()
        goals = [target for target in targets if target.metric in {None, last.metric}]
        goal = goals[0].value if goals else last.target_value
        if goal is None:
            return f"{last.metric} {value}"
        higher = last.higher_is_better
        higher = goals[0].higher_is_better if goals and higher is None else higher
        gap = goal - (last.value or 0.0) if higher else (last.value or 0.0) - goal
        remaining = (
            ""
            if value == "NaN" or gap <= 0
            else f", {units.significant(float(f'{gap:.3g}'))} to go"
        )
        return f"{last.metric} {value} (target{target_text('', higher, goal)}{remaining})"


class FolderBook:
    """The runs of a race in a folder; how they are read is asked for where that is in doubt."""

    def __init__(self, folder: RaceFolder, definition: Definition, ask: Ask | None) -> None:
        self._folder, self._definition, self._ask = folder, definition, ask
        self._records: dict[Key, Record] = {}
        self._rows: dict[Key, pl.DataFrame] = {}
        self.reader: reading.Reader | None = None
        self.read_as = ""
        parse_all(definition.target)  # which is wrong before a run, not behind it
        if (file := folder.path / BLOCKS).exists() and not definition.log:
            self._use(tomllib.loads(file.read_text("utf-8")).get("logs", []))
        elif {"line", "preset", "metric"} & definition.log.keys():
            self._use([{"seconds": "", **definition.log, "files": f"runs/*/{OUTPUT}"}], new=True)

    def _use(self, blocks: list[Mapping[str, Any]], *, new: bool = False) -> None:
        self.reader = reading.reader_for(self._folder.runs, blocks, self._definition.target)
        self.read_as = "; ".join(
            f"{key} {value if isinstance(value, str) else ', '.join(value)}"
            for block in blocks
            for key, value in block.items()
            if value and key != "files"
        )
        if new:
            text = tomli_w.dumps({"logs": blocks})
            atomic.write_text(self._folder.path / BLOCKS, text)

    def load(self, records: Mapping[Key, Record]) -> None:
        """Take the complete runs of an earlier command."""
        self._records = {key: record for key, record in records.items() if key.block >= 0}
        if self.reader is None and self._records:
            self._propose(next(iter(self._records.values())))

    def folder(self, key: Key) -> Path:
        """Return the folder of a run."""
        return self._folder.folder(key)

    def begin(self, record: Record) -> Watched:
        """Note that a run begins."""
        self._folder.write(record)
        return Watched(self.reader, record)

    def end(self, record: Record) -> Record:
        """Keep a complete run, and return it with what its output says of its end."""
        record = with_reason(record, last_lines(self.folder(record.key) / OUTPUT))
        self._folder.write(record)
        if record.end == "interrupted":
            return record
        if self.reader is None:
            self._propose(record)
        if record.key.block >= 0:
            self._records[record.key] = record
        return record

    def _propose(self, record: Record) -> None:
        """Decide how runs are read, by one that did not fail at once."""
        metrics = [target.metric for target in parse_all(self._definition.target) if target.metric]
        name = run_name(record.key)
        try:
            blocks = reading.propose(
                self._folder.runs, name, self._definition.log, metrics, self._ask
            )
            reader = reading.reader_for(self._folder.runs, blocks, self._definition.target)
            reading.expect_evaluations(reader, reader.rows(record), record)
        except TtastatsError:
            failed = {earlier.setup for earlier in self._records.values()} | {record.setup}
            if record.end == "failed" and failed < {*self._definition.names}:
                return
            raise
        self._use([*blocks], new=True)

    def _rows_of(self, record: Record) -> pl.DataFrame:
        if record.key not in self._rows:
            self._rows[record.key] = self._readable().rows(record)
        return self._rows[record.key]

    def table(self) -> pl.DataFrame:
        """Return the tidy table of the complete runs, warm-ups left out."""
        records = sorted(self._records.values(), key=lambda record: record.key[::-1])
        return pl.concat([self._rows_of(record) for record in records])

    def judged(self) -> pl.DataFrame:
        """Return the table of the complete runs, which is written too."""
        table = self.table()
        store.write(table.sort("source", maintain_order=True), self._folder.path / TABLE)
        return self._readable().judged(table)

    def _readable(self) -> reading.Reader:
        if self.reader is None:
            raise TtastatsError("no run told how it is read", where=str(self._folder.path))
        return self.reader


def last_lines(path: Path) -> list[str]:
    """Return the last lines of an output that are not empty."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        text = file.read().decode("utf-8", "replace")
    lines = [line.rsplit("\r", 1)[-1].rstrip() for line in text.rstrip("\r\n").split("\n")]
    return [line for line in lines if line][-_TAIL_LINES:]
