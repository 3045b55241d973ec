"""What would ingest make of the files of one kind? Their runs, read just as it does."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.guessing.answer import Kind, Proposal
from ttastats.answers.guessing.kinds import Sketch
from ttastats.base import units
from ttastats.base.metrics import metric_rank
from ttastats.base.records import TIMES_ALONE, Problem
from ttastats.formats.config import DOUBT, complete_block
from ttastats.formats.dialect import PART_OF_A_RUN
from ttastats.ingestion.account import NothingReadError
from ttastats.ingestion.guessed import Guess
from ttastats.ingestion.ingest import ingest
from ttastats.ingestion.sources import Source
from ttastats.outcomes import time_to_target
from ttastats.sides.options import several
from ttastats.table import schema, store

#: So many runs are shown.
_RUNS = 3


class File(Struct, frozen=True, eq=False):
    """A file, where it lies, in an archive or not, and its path below what is looked at.

    Files of one `kind` belong together; one that needs a block has the `sketch` of it. `run` is
    the pattern of the run of which it is a part.
    """

    source: Source
    place: PurePosixPath
    below: str
    kind: tuple[str, ...] = ()
    sketch: Sketch | None = None
    run: str = ""


class FileKind(Struct, frozen=True, eq=False):
    """Files of one kind, and what is proposed for them if they need a block."""

    title: str
    files: Sequence[File]
    proposal: Proposal | None


def read_kinds(file_kinds: Sequence[FileKind], guess: Guess) -> Iterator[Kind]:
    """Yield kinds of files with their runs, read by `ingest` as proposed."""
    with TemporaryDirectory(prefix="ttastats-") as folder:
        table = Path(folder) / "runs.parquet"
        try:
            problems: Sequence[Problem] = ingest([guess.path], table, guess=(guess,)).problems
            rows = store.read_tables([table]).filter(pl.col("dialect").is_not_null())
        except NothingReadError as error:
            problems, rows = error.problems, pl.LazyFrame(schema=schema.POLARS)
        kinds = [
            ({file.source.name: file.below for file in kind.files}, kind.title, kind.proposal)
            for kind in file_kinds
        ]
        by_name = {name: index for index, (names, *_) in enumerate(kinds) for name in names}
        # What was left out for its likeness to others may be read nevertheless.
        other_rows = rows.filter(~pl.col("source").is_in([*by_name])).select("source", "dialect")
        for name, dialect in other_rows.unique().sort("source").collect().iter_rows():
            by_name[name] = len(kinds)
            path_by_name = {name: name.removeprefix(f"{guess.path.rstrip('/')}/")}
            kinds.append((path_by_name, f"read too, as {dialect}", None))
        by_folder = {posixpath.dirname(name): index for name, index in by_name.items()}
        of_kinds: list[list[Problem]] = [[] for _ in kinds]
        for problem in problems:
            source = problem.source or ""
            index = by_name.get(source, by_folder.get(posixpath.dirname(source), 0))
            of_kinds[index].append(problem)
        for kind, of_kind in zip(kinds, of_kinds, strict=True):
            yield _read_kind(*kind, rows, of_kind)


def _read_kind(
    path_by_name: Mapping[str, str],
    title: str,
    proposal: Proposal | None,
    rows: pl.LazyFrame,
    problems: Sequence[Problem],
) -> Kind:
    """Return a kind of files with its runs; `path_by_name` shortens the names of files."""
    rows = rows.filter(pl.col("source").is_in([*path_by_name]))
    keys = proposal.keys if proposal else {}
    names = [metric.name for metric in complete_block(keys, str, "").metrics]
    choices = next((_CHOICES[problem.code] for problem in problems if problem.code in _CHOICES), ())
    clock, *_ = several(keys.get("seconds", ""))
    preset = keys.get("preset")
    return Kind(
        title,
        tuple(path_by_name.values()),
        replace(proposal, choices=choices) if proposal else None,
        _run_heads(rows, names),
        tuple(_preview_run(run, names, path_by_name) for run in _some_runs([*path_by_name], rows)),
        tuple(_problem_lines(problems, path_by_name)),
        sum(problem.code == PART_OF_A_RUN for problem in problems),
        clock or (f"the clock of {preset}" if preset else ""),
    )


def _some_runs(sources: Sequence[str], rows: pl.LazyFrame) -> list[pl.DataFrame]:
    """Return the rows of some runs, from the first, the middle and the last file."""
    of_each = _RUNS if len(sources) < _RUNS else 1
    sampled = (
        sources if len(sources) <= _RUNS else [sources[at] for at in (0, len(sources) // 2, -1)]
    )
    files = rows.filter(pl.col("source").is_in(sampled)).collect().partition_by("source")
    runs = [run for file in files for run in file.partition_by("run_id")[:of_each]]
    return runs[:_RUNS]


def _run_heads(rows: pl.LazyFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return a row for each run with the columns of `Kind.heads`."""
    is_evaluation = pl.col("eval_index") >= 0
    metric = _first_metric(rows.filter(is_evaluation).select("metric").unique().collect(), names)
    alone = (pl.col("suite") == TIMES_ALONE).any()
    measured = is_evaluation & (pl.col("metric") == metric) & pl.col("value").is_finite()
    return (
        rows.group_by("source", "run_id", maintain_order=True)
        .agg(
            pl.col("entry", "seed", "benchmark").first(),
            evaluations=is_evaluation.sum(),
            timed=pl.col("seconds").is_not_null().any() | alone,
            judged=pl.col("target_value").is_not_null().any() | alone,
            metric=pl.lit(metric),
            final=pl.col("value").filter(measured).last(),
            better=pl.col("higher_is_better").filter(measured).last(),
        )
        .collect()
    )


def _first_metric(evaluations: pl.DataFrame, names: Sequence[str]) -> str:
    """Return the first evaluated one of some metrics, else the likeliest other one."""
    metrics = sorted(evaluations["metric"].drop_nulls().unique().sort(), key=metric_rank)
    return next((name for name in (*names, *metrics) if name in metrics), "")


def _problem_lines(problems: Sequence[Problem], path_by_name: Mapping[str, str]) -> Iterator[str]:
    """Yield each text of problems once, behind its places, errors first."""
    places_by_text: dict[str, dict[str, None]] = {}
    for problem in sorted(problems, key=lambda problem: problem.severity != "error"):
        problem = replace(problem, source=path_by_name.get(problem.source or "", problem.source))
        text = problem.message
        if problem.code in _CHOICES:  # the choices stand in the block, as lines to choose from
            text = text.partition(". It may be")[0] + _CHOOSE
        if problem.severity != "info" and problem.code not in {PART_OF_A_RUN, DOUBT}:
            places_by_text.setdefault(text, {})[problem.place] = None
    yield from (
        f"{units.join_names(list(places), 3)}: {text}" for text, places in places_by_text.items()
    )


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


def _preview_run(
    run: pl.DataFrame, names: Sequence[str], path_by_name: Mapping[str, str]
) -> dict[str, Any]:
    """Return the preview of a run, with the numbers of its last evaluation by one metric."""
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
    key_values = ((name, row[name]) for name in ("entry", "benchmark", "seed"))
    return {
        "file": path_by_name[row["source"]],
        "run": " ".join(f"{name}={value}" for name, value in key_values if value is not None),
        "evaluations": of_metric.height,
        "metric": metric,
        "last": last.get("value"),
        **{name: last.get(name) for name in ("seconds", "step", "epoch")},
        "target": target,
    }
