"""Which runs belong to the sets of runs in a table and are not there: rejected logs, gaps?

They get a row each, of which `run_status` says what it is, so that every answer can count them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import xxhash

from ttastats.base.records import Problem, Run
from ttastats.base.run_names import count_runs, numbered
from ttastats.formats.block import Block, run_fields
from ttastats.ingestion.described import block_for
from ttastats.ingestion.sources import Source
from ttastats.table import tables

#: What is taken over from the runs that lie beside, as far as these agree.
_SHARED = (
    "suite", "round", "benchmark", "division", "submitter", "system", "entry", "hardware",
    "accelerators", "nodes", "framework", "global_batch_size",
)  # fmt: skip
#: What runs of one set share; their seeds count it.
_SET_KEYS = ("suite", "round", "benchmark", "division", "submitter", "system", "entry")
#: The columns of `tables.run_heads` that are looked at here.
COLUMNS = (*_SHARED, "seed")
#: The code of a file that is no log although its name is one of a numbered set of logs.
_UNLIKE = "not_like_its_set"
_MISSING_RUN = "missing_run"
#: Problems that depend on which files lie beside.
CODES = (_UNLIKE, _MISSING_RUN)
#: A name with a number at its end, before the extension.
_NUMBERED = re.compile(r"(.*?)(\d{1,6})((?:\.[^/]*)?)")
#: Fewer numbers count nothing.
_FEWEST_RUNS = 3


def rows(
    runs: pl.DataFrame,
    sources: Sequence[Source],
    problems: Iterable[Problem],
    blocks: Sequence[Block],
) -> pl.DataFrame:
    """Return table rows for rejected logs and for missing runs.

    `runs` are those that were read (`tables.run_heads`), and `sources` all files that were given. A
    file with an error among the `problems` and without a run was rejected; a pattern of `blocks`
    may say which run it holds.
    """
    names = runs.get_column("source").to_list()
    reasons = {problem.source: problem for problem in problems if problem.severity == "error"}
    missing = reasons.keys() - set(names)
    rejected = [source for source in sources if source.name in missing]
    runs = runs.with_columns(pl.Series("folder", map(posixpath.dirname, names), pl.String))
    absent = [
        (source.name, _rejected_run(source, reasons[source.name], runs, blocks))
        for source in rejected
    ]
    absent += _missing_runs(runs, {source.name for source in sources}, rejected)
    sourced = [
        tables.SourcedRun(run, name, xxhash.xxh3_128_hexdigest(name.encode()), 0, "")
        for name, run in absent
    ]
    return tables.table_of_runs(sourced).with_columns(
        pl.lit(None, pl.String).alias(name) for name in ("source_digest", "dialect")
    )


def empty_logs(
    read: Iterable[str], others: Iterable[str], blank: Collection[str] = ()
) -> list[Problem]:
    """Return a problem for each file without a log in a numbered set of mostly logs.

    A run that crashed before it logged anything leaves such a file. Beside a single other it is one
    if it is `blank`: without a byte.
    """
    runs, other_files, empty = map(_numbers_by_set, (read, others, blank))
    text = "not a log, unlike the other files of its numbered set: empty or damaged"
    return [
        Problem(_UNLIKE, text, "error", source=posixpath.join(folder, f"{prefix}{number}{suffix}"))
        for (folder, prefix, suffix), numbers in other_files.items()
        if len(runs.get((folder, prefix, suffix), ()))
        >= max(1 if numbers == empty.get((folder, prefix, suffix)) else 2, len(numbers))
        for number in sorted(numbers)
    ]


def _rejected_run(
    source: Source, problem: Problem, runs: pl.DataFrame, blocks: Sequence[Block]
) -> Run:
    """Return a rejected log as a run of the entry in its path.

    It is that of the runs in its folder or, where there are none, in the nearest folder above that
    has runs; if they are of several entries, it is what a log without a name belongs to.
    """
    base = posixpath.basename(source.file.name)
    path = f"{source.container.folder(source.file.name)}/{base}"
    match = block_for(path, blocks, with_pattern=True)
    fields = {key: value for key, value in run_fields(match[1] if match else {}).items() if value}
    folder = posixpath.dirname(source.name)
    neighbours = runs.filter(pl.col("folder") == folder)
    while neighbours.is_empty() and (parent := posixpath.dirname(folder)) != folder:
        folder = parent
        neighbours = runs.filter(pl.col("folder") == folder)
    if "entry" in fields:
        neighbours = neighbours.filter(pl.col("entry") == fields["entry"])
    fields_of_run = {**_shared_values(neighbours), **fields}
    return Run(
        **{**fields_of_run, "entry": fields_of_run.get("entry") or source.entry},
        run_status="unreadable",
        problems=(Problem(problem.code, problem.message, "error", problem.line),),
    )


def _shared_values(runs: pl.DataFrame) -> dict[str, Any]:
    """Return the known values shared by runs."""
    shared = [column for column in runs.select(_SHARED) if column.n_unique() == 1]
    return {column.name: column[0] for column in shared if column[0] is not None}


def _missing_runs(
    runs: pl.DataFrame, names: set[str], rejected: Sequence[Source]
) -> Iterator[tuple[str, Run]]:
    """Yield the missing runs with the expected names of their logs.

    Where the numbers of files have no gap, or no numbers, the seeds of a set may have one; a
    rejected log may be the one that fills it.
    """
    folders = {posixpath.dirname(source.name) for source in rejected}
    of_files: set[Any] = set()
    for (folder, prefix, suffix), numbers in _numbers_by_set(runs.get_column("source")).items():
        gaps, span = _gaps(numbers)
        # `layers_1`, `layers_3`: what is no number of a run is not missing.
        for number in gaps if numbered(f"{prefix}{max(numbers)}") else ():
            name = posixpath.join(folder, f"{prefix}{number}{suffix}")
            if name in names:
                continue
            neighbours = runs.filter(pl.col("folder") == folder)
            of_files.update(neighbours.get_column("entry"))
            text = f"run {number} of {span} is missing"
            yield name, _missing_run(_shared_values(neighbours), text)
    seeded = runs.filter(pl.col("seed").is_between(0, 10**6))
    sets = seeded.group_by(_SET_KEYS, maintain_order=True).agg("seed")
    for values in sets.iter_rows():
        gaps, span = _gaps(set(values[-1]))
        if not gaps or values[_SET_KEYS.index("entry")] in of_files:
            continue
        shared = zip(_SET_KEYS, values, strict=False)
        group = seeded.filter(pl.col(name).eq_missing(value) for name, value in shared)
        if folders & set(group.get_column("folder")):
            continue
        for seed in gaps:
            name = posixpath.join(group["folder"][0], f"(seed {seed})")
            text = f"the run of seed {seed} is missing ({span})"
            yield name, _missing_run(_shared_values(group), text, seed)


def _numbers_by_set(names: Iterable[str]) -> Mapping[tuple[str, str, str], set[int]]:
    """Return the numbers of files whose names differ in the number only."""
    sets: dict[tuple[str, str, str], set[int]] = {}
    for name in names:
        folder, base = posixpath.split(name)
        match = _NUMBERED.fullmatch(base)
        # A number with leading zeros would have another name than what is derived from it.
        if match and str(int(match[2])) == match[2]:
            sets.setdefault((folder, match[1], match[3]), set()).add(int(match[2]))
    return sets


def _gaps(numbers: set[int]) -> tuple[list[int], str]:
    """Return the missing numbers and their range; none of numbers that look random."""
    lowest, highest = min(numbers, default=0), max(numbers, default=0)
    if len(numbers) < _FEWEST_RUNS or not count_runs(numbers):
        return [], ""
    return sorted(set(range(lowest, highest)) - numbers), f"{lowest} to {highest}"


def _missing_run(fields: Mapping[str, Any], text: str, seed: int | None = None) -> Run:
    problem = Problem(_MISSING_RUN, text, "warning")
    return Run(**fields, seed=seed, run_status="missing", problems=(problem,))
