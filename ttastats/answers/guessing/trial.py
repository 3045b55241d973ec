"""What would ingest make of the files of one kind? Some of their runs, read just as it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from ttastats.answers.guessing.answer import Kind, RunSeen
from ttastats.answers.guessing.columns import rank
from ttastats.answers.guessing.proposal import Proposal, written
from ttastats.base import units
from ttastats.base.records import Problem
from ttastats.formats.dialect import PART_OF_A_RUN
from ttastats.formats.own_logs import FILE, config, patterns, presets
from ttastats.formats.own_logs.block import Block, metric_of
from ttastats.ingestion import described
from ttastats.ingestion.reading import Reading, read_unit
from ttastats.ingestion.sources import Source
from ttastats.outcomes import time_to_target

#: So many runs are read, of so many files, and no more of each file than this.
_RUNS = 3
_MOST_FILES = 12
_MOST_READ = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """A file, where it lies, in an archive or not, and its path below what is looked at."""

    source: Source
    place: PurePosixPath
    below: str


class _Beginning(Source, frozen=True, gc=False):
    """A file of which no more is read than a guess needs."""

    def blocks(self) -> Iterator[bytes]:
        """Yield the first blocks, the last of them cut behind a line."""
        room = _MOST_READ
        for block in super().blocks():
            yield block if len(block) <= room else block[: block.rfind(b"\n", 0, room) + 1 or room]
            room -= len(block)
            if room <= 0:
                return


def tried(
    title: str,
    files: Sequence[File],
    proposal: Proposal | None,
    root: str,
    blocks: tuple[Block, ...],
) -> tuple[Kind, Proposal | None]:
    """Read some runs of a kind just as `ingest` does; where a step goes back, give the choices."""
    block = written(proposal) if proposal else None
    reading = Reading(blocks=config.blocks(block, FILE, root) if block else blocks)
    runs: list[pl.DataFrame] = []
    problems: dict[str, None] = {}
    # From the beginning, the middle and the end, then others that may hold a run.
    last = len(files) - 1
    for number in dict.fromkeys([0, len(files) // 2, last, *range(min(len(files), _MOST_FILES))]):
        file = files[number]
        if len(runs) >= _RUNS:
            break
        source = file.source
        beginning = _Beginning(source.container, source.file, file.below, source.entry)
        unit = read_unit([beginning], reading)
        assert isinstance(unit.rows, pl.DataFrame)  # noqa: S101 - for the type checker
        room = _RUNS - len(runs) if len(files) < _RUNS else 1
        runs += unit.rows.partition_by("run_id", maintain_order=True)[:room]
        remarks = [problem for problem in unit.problems if problem.code != PART_OF_A_RUN]
        if source.file.size > _MOST_READ:
            text = f"only the first {_MOST_READ // 2**20} MiB were read"
            remarks.append(Problem("large_file", text, "warning"))
        back = next((problem for problem in remarks if problem.code in _CHOICES), None)
        if proposal and back and not proposal.choices:
            proposal = replace(proposal, choices=_CHOICES[back.code])
        problems |= dict.fromkeys(_worded(p, file) for p in remarks if p.severity != "info")
    kind = Kind(
        title,
        tuple(file.below for file in files),
        written(proposal) if proposal else None,
        proposal.reasons if proposal else (),
        tuple(_run_seen(run, _metrics_of(proposal)) for run in runs),
        tuple(problems),
        _entries(files, reading),
    )
    return kind, proposal


#: What it may mean that a step, or a time, goes back.
_CHOICES = {
    "step_back": (
        'new_run = "step back"    # a new run starts there',
        'new_epoch = "step back"  # a new epoch of the same run starts there',
        'resume = "step back"     # the run was resumed there',
    ),
    "time_back": (
        'new_run = "time back"    # a new run starts there',
        'seconds = ""             # the clock restarts in each epoch (replaces seconds)',
        'resume = "time back"     # the run was resumed there',
    ),
}


def _worded(problem: Problem, file: File) -> str:
    line = f":{problem.line}" if problem.line else ""
    message = problem.message
    if problem.code in _CHOICES:  # the choices stand in the block, as lines to choose from
        message = f"{message.partition('. It may be')[0]}: a new run, a new epoch or a resumed run?"
        message += " Uncomment one of the last three lines of the block"
    return f"{file.below}{line}: {message}"


def _entries(files: Sequence[File], reading: Reading) -> tuple[str, ...]:
    """Return what blocks call an entry in all files by their paths, those with most files first."""
    names = []
    for file in files:
        hit = described.block_for(str(file.place), reading.blocks, with_pattern=True)
        named = {**hit[1], **patterns.filled(hit[0].fields, hit[1])} if hit else {}
        names += [named["entry"]] if "entry" in named else []
    return tuple(name for name, _ in Counter(names).most_common())


def _run_seen(run: pl.DataFrame, first: Sequence[str]) -> RunSeen:
    """Return what a run would become, judged as any table is; `first` are its metrics in order."""
    row = time_to_target.runs(run).row(0, named=True)
    evaluations = run.filter(pl.col("eval_index") >= 0)
    known = sorted(evaluations["metric"].drop_nulls().unique().sort(), key=rank)
    metric = row["target_metric"] or next((name for name in (*first, *known) if name in known), "")
    of_metric = evaluations.filter(pl.col("metric") == metric)
    last = of_metric.row(-1, named=True) if of_metric.height else dict.fromkeys(of_metric.columns)
    named = {name: row[name] for name in ("entry", "benchmark", "seed")}
    return RunSeen(
        file=row["source"],
        names=" ".join(f"{name}={value}" for name, value in named.items() if value is not None),
        evaluations=of_metric.height,
        metric=metric,
        higher_is_better=last["higher_is_better"],
        final=last["value"],
        seconds=last["seconds"],
        step=last["step"],
        epoch=last["epoch"],
        to_target=_to_target(row),
    )


def _metrics_of(proposal: Proposal | None) -> Sequence[str]:
    """Return the metrics in the order in which a block or its preset names them."""
    keys = proposal.keys if proposal else {}
    if "metric" in keys or "preset" not in keys:
        return [metric_of(text).name for text in keys.get("metric", ())]
    return [metric.name for metric in presets.block(str(keys["preset"])).metrics]


def _to_target(row: Mapping[str, Any]) -> str:
    if row["target_value"] is None:
        return ""
    target = f"{row['target_metric']} {row['target_value']:g}"
    if not row["reached"]:
        return f"{target} not reached"
    if row["tta_seconds"] is not None:
        return f"{target} in {units.seconds(row['tta_seconds'])}"
    for name in ("steps", "epochs", "samples"):
        if row[name] is not None:
            return f"{target} in {units.count(row[name])} {name}"
    return f"{target} reached"
