"""What would ingest make of the files of one kind? Their runs, read just as it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.guessing.answer import Kind, RunSeen
from ttastats.answers.guessing.columns import rank
from ttastats.answers.guessing.proposal import Proposal, written
from ttastats.base import units
from ttastats.base.records import Problem
from ttastats.formats.dialect import PART_OF_A_RUN
from ttastats.formats.own_logs import FILE, config
from ttastats.formats.own_logs.block import Block
from ttastats.ingestion import inferred
from ttastats.ingestion.ingest import units as units_of_work
from ttastats.ingestion.reading import Reading, read_unit
from ttastats.ingestion.sources import Source
from ttastats.outcomes import time_to_target
from ttastats.sides.options import several

#: So many runs are shown, and no more of each file is read than this.
_RUNS = 3
_MOST_READ = 4 * 1024 * 1024
_READ_IN_PART = f"only the first {_MOST_READ // 2**20} MiB were read"


class File(Struct, frozen=True, eq=False):
    """A file, where it lies, in an archive or not, and its path below what is looked at."""

    source: Source
    place: PurePosixPath
    below: str


class _Beginning(Source, frozen=True, gc=False):
    """A file of which no more is read than a guess needs."""

    def blocks(self) -> Iterator[bytes]:
        """Yield the first blocks, the last of them cut after a line."""
        room = _MOST_READ
        for block in super().blocks():
            yield block if len(block) <= room else block[: block.rfind(b"\n", 0, room) + 1 or room]
            room -= len(block)
            if room <= 0:
                return


def read_kind(
    title: str,
    files: Sequence[File],
    proposal: Proposal | None,
    root: str,
    blocks: tuple[Block, ...],
) -> tuple[Kind, Proposal | None]:
    """Read the files of a kind as `ingest` does; return the kind and an improved proposal."""
    own = config.blocks(written(proposal), FILE, root) if proposal else ()
    reading = Reading(blocks=own or blocks)
    shown = {files[at].below for at in (0, len(files) // 2, -1)}
    first = [metric.name for block in own for metric in block.metrics]
    heads: list[pl.DataFrame] = []
    runs: list[pl.DataFrame] = []
    parts = 0
    unnamed: list[inferred.Inferred] = []
    problems: dict[str, dict[str, None]] = {}
    beginnings = [
        _Beginning(file.source.container, file.source.file, file.below, file.source.entry)
        for file in files
    ]
    for of_unit in units_of_work(beginnings):
        unit = read_unit(of_unit, reading)
        assert isinstance(unit.rows, pl.DataFrame)  # noqa: S101 - for the type checker
        is_evaluation = pl.col("eval_index") >= 0
        metric = next(iter(_ordered_metrics(unit.rows.filter(is_evaluation), first)), "")
        measured = is_evaluation & (pl.col("metric") == metric) & pl.col("value").is_finite()
        heads.append(
            unit.rows.group_by("source", "run_id", maintain_order=True).agg(
                pl.col("entry", "seed", "benchmark").first(),
                evaluations=is_evaluation.sum(),
                timed=pl.col("seconds").is_not_null().any(),
                judged=pl.col("target_value").is_not_null().any(),
                metric=pl.lit(metric),
                final=pl.col("value").filter(measured).last(),
                better=pl.col("higher_is_better").filter(measured).last(),
            )
        )
        parts += len(unit.parts)
        unnamed += unit.inferred
        many, room = len(files) > _RUNS, _RUNS - len(runs)
        chosen = unit.rows.filter(pl.col("source").is_in(shown)) if many else unit.rows
        runs += [
            run
            for of_file in chosen.partition_by("source", maintain_order=True)
            for run in of_file.partition_by("run_id", maintain_order=True)[
                : room if len(files) < _RUNS else 1
            ]
        ][:room]
        remarks = [problem for problem in unit.problems if problem.code != PART_OF_A_RUN]
        remarks += [
            Problem("large_file", _READ_IN_PART, "warning", source=each.name)
            for each in of_unit
            if each.file.size > _MOST_READ
        ]
        for problem in sorted(remarks, key=lambda each: each.severity != "error"):
            if proposal and problem.code in _CHOICES and not proposal.choices:
                proposal = replace(proposal, choices=_CHOICES[problem.code])
            text = problem.message
            if problem.code in _CHOICES:  # the choices stand in the block, as lines to choose from
                text = text.partition(". It may be")[0] + _CHOOSE
            if problem.severity != "info":
                problems.setdefault(text, {})[problem.place] = None
    named, _ = inferred.settled(unnamed)
    every, *runs = (
        inferred.renamed(of.lazy(), named).collect() for of in (pl.concat(heads), *runs)
    )
    keys = proposal.keys if proposal else {}
    clock, *_ = several(keys.get("seconds", ""))
    preset = keys.get("preset")
    kind = Kind(
        title,
        tuple(file.below for file in files),
        written(proposal) if proposal else None,
        proposal.reasons if proposal else (),
        every,
        tuple(_preview_run(run, first) for run in runs),
        tuple(f"{units.join_names(list(places), 3)}: {text}" for text, places in problems.items()),
        parts,
        clock or (f"the clock of {preset}" if preset else ""),
    )
    return kind, proposal


def _ordered_metrics(evaluations: pl.DataFrame, first: Sequence[str]) -> list[str]:
    known = sorted(evaluations["metric"].drop_nulls().unique().sort(), key=rank)
    return [*(name for name in first if name in known), *known]


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


_CHOOSE = (
    ": a new run, a new epoch or a resumed run? Uncomment one of the last three lines of the block"
)


def _preview_run(run: pl.DataFrame, first: Sequence[str]) -> RunSeen:
    row = time_to_target.runs(run).row(0, named=True)
    evaluations = run.filter(pl.col("eval_index") >= 0)
    metric = row["target_metric"] or next(iter(_ordered_metrics(evaluations, first)), "")
    of_metric = evaluations.filter(pl.col("metric") == metric)
    last = of_metric.row(-1, named=True) if of_metric.height else dict.fromkeys(of_metric.columns)
    named = {name: row[name] for name in ("entry", "benchmark", "seed")}
    target = "" if row["target_value"] is None else f"{metric} {row['target_value']:g}"
    if target:
        counts = [f" in {units.count(row[name])} {name}" for name in ("steps", "epochs", "samples")
                  if row[name] is not None] or [" reached"]  # fmt: skip
        if row["tta_seconds"] is not None:
            counts = [f" in {units.seconds(row['tta_seconds'])}"]
        target += counts[0] if row["reached"] else " not reached"
    return RunSeen(
        file=row["source"],
        names=" ".join(f"{name}={value}" for name, value in named.items() if value is not None),
        evaluations=of_metric.height,
        metric=metric,
        final=last["value"],
        seconds=last["seconds"],
        step=last["step"],
        epoch=last["epoch"],
        to_target=target,
    )
