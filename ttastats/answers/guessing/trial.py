"""What would ingest make of the files of one kind? Their runs, read just as it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.guessing.answer import Kind, Proposal, proposal_toml
from ttastats.answers.guessing.columns import rank
from ttastats.answers.guessing.kinds import Sketch
from ttastats.base import units
from ttastats.base.records import TIMES_ALONE, Problem
from ttastats.formats import config
from ttastats.formats.block import Block
from ttastats.formats.config import FILE
from ttastats.formats.dialect import PART_OF_A_RUN
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
    """A file, where it lies, in an archive or not, and its path below what is looked at.

    Files of one `kind` belong together; one that needs a block has the `sketch` of it.
    """

    source: Source
    place: PurePosixPath
    below: str
    kind: tuple[str, ...] = ()
    sketch: Sketch | None = None


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
) -> Kind:
    """Return a kind of files, read as `ingest` does it with the proposed block."""
    proposed = config.blocks(proposal_toml(proposal), FILE, root) if proposal else ()
    reading = Reading(blocks=proposed or blocks)
    names = [metric.name for block in proposed for metric in block.metrics]
    shown = {files[at].below for at in (0, len(files) // 2, -1)}
    runs_of_a_file = _RUNS if len(files) < _RUNS else 1
    heads, runs = list[pl.DataFrame](), list[pl.DataFrame]()
    unnamed, problems, parts = list[pl.DataFrame](), list[Problem](), 0
    beginnings = [
        _Beginning(file.source.container, file.source.file, file.below, file.source.entry)
        for file in files
    ]
    for sources in units_of_work(beginnings):
        unit = read_unit(sources, reading)
        assert isinstance(unit.rows, pl.DataFrame)  # noqa: S101 - for the type checker
        heads.append(_run_heads(unit.rows, names))
        parts += len(unit.parts)
        unnamed += unit.marked
        is_shown = pl.col("source").is_in(shown) if len(files) > _RUNS else pl.lit(value=True)
        for rows in unit.rows.filter(is_shown).partition_by("source"):
            runs += rows.partition_by("run_id")[:runs_of_a_file]
        large = [
            Problem("large_file", _READ_IN_PART, "warning", source=source.name)
            for source in sources
            if source.file.size > _MOST_READ
        ]
        of_unit = [problem for problem in unit.problems if problem.code != PART_OF_A_RUN]
        problems += sorted([*of_unit, *large], key=lambda problem: problem.severity != "error")
    named, _ = inferred.infer_entries(unnamed)
    every, *runs = (
        inferred.with_entries(rows.lazy(), named).collect()
        for rows in (pl.concat(heads), *runs[:_RUNS])
    )
    choices = next((_CHOICES[problem.code] for problem in problems if problem.code in _CHOICES), ())
    if proposal:
        proposal = replace(proposal, choices=choices)
    keys = proposal.keys if proposal else {}
    clock, *_ = several(keys.get("seconds", ""))
    preset = keys.get("preset")
    return Kind(
        title,
        tuple(file.below for file in files),
        proposal,
        every,
        tuple(_preview_run(run, names) for run in runs),
        tuple(_problem_lines(problems)),
        parts,
        clock or (f"the clock of {preset}" if preset else ""),
    )


def _run_heads(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return a row for each run, with what `Kind.heads` says of it."""
    is_evaluation = pl.col("eval_index") >= 0
    metric = _first_metric(rows.filter(is_evaluation), names)
    alone = (pl.col("suite") == TIMES_ALONE).any()
    measured = is_evaluation & (pl.col("metric") == metric) & pl.col("value").is_finite()
    return rows.group_by("source", "run_id", maintain_order=True).agg(
        pl.col("entry", "seed", "benchmark").first(),
        evaluations=is_evaluation.sum(),
        timed=pl.col("seconds").is_not_null().any() | alone,
        judged=pl.col("target_value").is_not_null().any() | alone,
        metric=pl.lit(metric),
        final=pl.col("value").filter(measured).last(),
        better=pl.col("higher_is_better").filter(measured).last(),
    )


def _first_metric(evaluations: pl.DataFrame, names: Sequence[str]) -> str:
    """Return the first of some metrics that was evaluated, else the likeliest other one."""
    known = sorted(evaluations["metric"].drop_nulls().unique().sort(), key=rank)
    return next((name for name in (*names, *known) if name in known), "")


def _problem_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """Yield each text of problems once, behind the places where it applies."""
    places: dict[str, dict[str, None]] = {}
    for problem in problems:
        text = problem.message
        if problem.code in _CHOICES:  # the choices stand in the block, as lines to choose from
            text = text.partition(". It may be")[0] + _CHOOSE
        if problem.severity != "info":
            places.setdefault(text, {})[problem.place] = None
    yield from (f"{units.join_names(list(where), 3)}: {text}" for text, where in places.items())


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


def _preview_run(run: pl.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """Return what a run would become, with the numbers of its last evaluation by one metric."""
    row = time_to_target.runs(run).row(0, named=True)
    evaluations = run.filter(pl.col("eval_index") >= 0)
    metric = row["target_metric"] or _first_metric(evaluations, names)
    of_metric = evaluations.filter(pl.col("metric") == metric)
    last = next(of_metric[-1:].iter_rows(named=True), {})
    target = "" if row["target_value"] is None else f"{metric} {row['target_value']:g}"
    if target:
        counts = [f" in {units.count(row[name])} {name}" for name in ("steps", "epochs", "samples")
                  if row[name] is not None] or [" reached"]  # fmt: skip
        if row["tta_seconds"] is not None:
            counts = [f" in {units.seconds(row['tta_seconds'])}"]
        target += counts[0] if row["reached"] else " not reached"
    named = ((name, row[name]) for name in ("entry", "benchmark", "seed"))
    return {
        "file": row["source"],
        "run": " ".join(f"{name}={value}" for name, value in named if value is not None),
        "evaluations": of_metric.height,
        "metric": metric,
        "last": last.get("value"),
        **{name: last.get(name) for name in ("seconds", "step", "epoch")},
        "target": target,
    }
