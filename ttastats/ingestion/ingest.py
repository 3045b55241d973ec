"""From logs to one table: plan units of work, read each, collect, and give an honest account."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.base import arguments, atomic, errors, stores, streams
from ttastats.base.errors import raise_if
from ttastats.base.forks import expect_threads
from ttastats.base.records import Problem
from ttastats.base.stores import Place
from ttastats.formats.dialect import Metrics
from ttastats.ingestion import (
    absent,
    described,
    guessed,
    inferred,
    manifest,
    proof,
    registry,
    traces,
)
from ttastats.ingestion.account import Account, NothingReadError
from ttastats.ingestion.containers import Fetched
from ttastats.ingestion.described import Description
from ttastats.ingestion.reading import Reading, Spool
from ttastats.ingestion.sources import Source, find
from ttastats.ingestion.workers import Workers
from ttastats.table import schema, store, tables
from ttastats.table.schema import RUNS
from ttastats.traces import table as profile_store

#: A unit of work is about this many bytes, or this many files: enough to make the cost of a frame
#: and of a message between processes small, little enough to keep memory bounded.
_UNIT_BYTES = 32 * 1024 * 1024
_UNIT_FILES = 1_000
#: Bytes of rows that wait in memory until all logs are read; more wait in files.
_HELD_BYTES = 32 * 1024 * 1024
_TO_SHOW_A_TABLE = (
    "Use `ttastats runs` to show it and `ttastats filter` to select from it or merge it. To read "
    "logs again, give the logs."
)

Progress = Callable[[int, int], None]


def _block(name: str, value: Any) -> Any:
    """Take the keys of a block."""
    if isinstance(value, Mapping) and all(map(arguments.is_text, value)):
        return value
    raise arguments.refusal(name, value, "Give a mapping such as {'metric': 'val_loss <= 3.28'}.")


def _guess(name: str, value: Any) -> Any:
    """Take whether to guess, the function that does, or what it proposed."""
    if isinstance(value, tuple) and all(isinstance(item, guessed.Guess) for item in value):
        return value
    return value if callable(value) else arguments.truth(name, value)


def _executor(name: str, value: Any) -> Any:
    """Take what runs functions elsewhere."""
    if hasattr(value, "submit"):
        return value
    raise arguments.refusal(name, value, "Give an executor of concurrent.futures.")


@arguments.checked({"block": _block, "guess": _guess, "executor": _executor})
def ingest(
    paths: str | Path | Sequence[str | Path],
    output: str | Path | None = None,
    *,
    dialect: str | None = None,
    round: str | None = None,  # noqa: A002 - the name of the option
    metrics: Metrics = "evaluations",
    block: Mapping[str, Any] | None = None,
    config: str | Path | None = None,
    guess: object = None,
    ask: guessed.Ask | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    on_progress: Progress | None = None,
    append: bool = False,
    partition: Sequence[str] = (),
) -> Account:
    """Read every log that `paths` mean and write one table.

    Where the output is from an earlier ingest, only logs that have changed since are read.

    Parameters
    ----------
    paths
        A file, folder, archive, pattern or URL, `-` for standard input, or several of them.
    output
        Where to write: a Parquet file, or a folder of them if this is a folder or ends with a
        slash; by default a file with the name of the one path, in the working directory.
    dialect
        Reads every file as this dialect instead of recognising each.
    round
        The round of the suite, where the logs lie in no folder that names it.
    metrics
        `all` keeps training metrics, such as a loss of every step, beside the evaluations.
    block
        What is said of logs that no dialect knows, by the keys of a block of `ttastats.toml`:
        `{"metric": "val_loss <= 3.28", "seconds": "time ms"}`. No such file is looked for then.
        With `guess`, it replaces what is guessed for these keys.
    config
        A `ttastats.toml` in the place of those beside the logs and in the folders above.
    guess
        `tta.guess` reads logs that nobody has described as it proposes; a problem holds each block,
        and others what is in doubt. Without it, that is done where nothing else can be read and
        nothing is in doubt.
    ask
        Answers a doubt, with one of its choices or None; without it, a doubt is an error.
    workers
        Processes; by default one, and every core where there is much to read.
    executor
        Runs the units of work instead of processes of this call.
    on_progress
        Called with the number of bytes done and of bytes in all.
    append
        Runs of logs that are not among `paths` stay in the table, a folder of parts, and new ones
        become parts of it; only what is new or has changed is read and written.
    partition
        Columns of runs that cut the folder as Hive does, `round=v5.0/benchmark=bert/`; a table
        that was cut stays so.

    Raises
    ------
    TtastatsError
        A path is missing, there is no log at all, the output cannot be written, or what is said of
        the logs cannot be read.
    """
    expect_threads()
    streams.whole_file_limit()  # a wrong setting is no fault of a file
    paths = [
        stores.without_secrets(path) if isinstance(path, str) else path
        for path in arguments.paths("paths", paths)
    ]
    for path in map(Path, paths):
        is_table = path.exists() and store.is_ttastats_table(path)
        raise_if(is_table, "is already a table, not logs", str(path), _TO_SHOW_A_TABLE)
    target = stores.parse_place(output or default_output(paths))
    in_parts = str(output or "").endswith(("/", os.sep)) or target.is_dir()
    stores.retried(partial(store.expect_output, target, in_parts=in_parts))
    _expect_parts(target, partition, append=append, in_parts=in_parts)
    reading = Reading(registry.named(dialect).name if dialect else None, round, metrics)
    description = Description(block, config, guess)
    write_once = partial(
        _write_table, [*map(str, paths)], target, reading, workers=workers, executor=executor,
        on_progress=on_progress, append=append, in_parts=in_parts, partition=partition,
    )  # fmt: skip

    def write(description: Description) -> Account:
        account, tries = stores.retried(partial(write_once, description))
        return replace(account, tries=tries)

    try:
        return write(description)
    except NothingReadError as error:
        if guess or not error.files:
            raise
        certain = guessed.certain_guesses(description, error, ask)
        if not certain:
            raise
    return write(replace(description, guess=certain))


def _write_table(
    paths: Sequence[str],
    target: Place,
    reading: Reading,
    description: Description,
    *,
    workers: int | None,
    executor: Executor | None,
    on_progress: Progress | None,
    append: bool,
    in_parts: bool,
    partition: Sequence[str],
) -> Account:
    """Read logs as they are described, and write their table."""
    # In this order: those who read have stopped when what they left behind is removed.
    with (
        store.replacements_named(target),
        atomic.temporary_folder(target) as folder,
        Workers(workers, executor) as readers,
    ):
        state = store.table_state(target)
        joins = target if append and state is not None else None
        (output := folder / "made").mkdir()
        fresh_table = output / "new.parquet"
        spool = Spool(folder, fresh_table if joins else target)
        plan = _plan(paths, reading, description, spool, readers, joins)
        if isinstance(plan, Account):
            account = plan
        elif joins:
            account = _ingest_logs(plan, spool, readers, on_progress)
        else:
            account = _ingest_logs(
                plan, spool, readers, on_progress, in_parts=in_parts, partition=partition
            )
        if joins and account.written:
            manifest.append(fresh_table, target, state, partition)
        return replace(account, output=target)


def _expect_parts(target: Place, partition: Sequence[str], *, append: bool, in_parts: bool) -> None:
    """Raise an error if options for parts do not fit the output, or name no column of runs."""
    option = "--append" if append else "--partition"
    is_file = (append or partition) and not in_parts
    raise_if(is_file, "needs a folder of parts", option, f"Write to a folder: -o {target}/")
    columns = [name for name in schema.RUN_NAMES if schema.POLARS[name] in {pl.String, pl.Int64}]
    for name in partition:
        remedy = errors.suggestion(name, columns, "Columns")
        raise_if(name not in columns, f"{name} is no column of runs", "--partition", remedy)


class _Plan(Struct, frozen=True):
    """What has to be read for a table.

    `problems` and `changes.files` hold what is known of unchanged files; what is read is added.
    """

    paths: Sequence[str]
    target: Place
    state: str | None
    sources: Sequence[Source]
    changes: manifest.Changes
    reading: Reading
    options: manifest.Reader
    problems: list[Problem]

    def account(self, runs: pl.DataFrame, *, written: bool = True) -> Account:
        """Return the account of a table with some `tables.run_heads`."""
        return Account(
            files=len(self.sources),
            other_files=len(self.changes.files["others"]),
            runs=runs.height,
            evaluations=int(runs.get_column("evaluations").sum()),
            problems=(*self.problems, *tables.duplicate_problems(runs)),
            output=self.target,
            unchanged=len(self.changes.unchanged),
            written=written,
            parts=len(self.changes.files["parts"]),
        )

    def nothing_read(self, problems: Sequence[Problem]) -> NothingReadError:
        """Return the error for files without a run or a profile."""
        parts = self.changes.files["parts"]
        return NothingReadError(self.paths, len(self.sources), parts, self.reading.blocks, problems)


def _plan(
    paths: Sequence[str],
    reading: Reading,
    description: Description,
    spool: Spool,
    readers: Workers,
    joins: Place | None,
) -> _Plan | Account:
    """Return the plan of reading, or the account of the table if nothing is new."""
    target = spool.output
    state = store.table_state(target)
    all_sources = find(paths)
    if state is None:  # all of them will be read
        all_sources = _expect_sources(all_sources, readers)
    # Once each, in the order of the rows: a pattern and a folder may mean the same file. The output
    # is no source, wherever it lies.
    output = str((joins or target).resolve())
    by_name = {source.name: source for source in all_sources if not source.is_at(output)}
    blocks, sources = described.find_blocks(
        description, paths, [by_name[name] for name in sorted(by_name)]
    )
    proposals, problems = guessed.proposed_blocks(description, paths, blocks)
    reading = replace(
        reading, blocks=(*proposals, *blocks) if description.options else (*blocks, *proposals)
    )
    options = (reading.dialect, reading.round, reading.metrics, described.digest(reading.blocks))
    if joins and sources:
        number = len(sources)
        sources = manifest.new_sources(manifest.read(joins), sources, options)
        if not sources:
            return Account(files=number, output=target, unchanged=number, written=False)
    old_manifest = manifest.read(target)
    if profile_store.is_profile(target):
        changes = manifest.compare(old_manifest, sources, (*options, "profile"))
        if changes.is_none:
            rows, profile_problems = (
                profile_store.read_profiles([target]),
                profile_store.profile_problems(target),
            )
            return _profile_account(target, sources, changes, rows, profile_problems, written=False)
        old_manifest = manifest.Manifest()
    changes = manifest.compare(old_manifest, sources, options)
    problems[:0] = [
        problem
        for problem in (store.read_problems(target) if changes.unchanged else ())
        if problem.source in changes.unchanged or problem.code in absent.CODES
        if changes.is_none or problem.code not in {*absent.CODES, inferred.CODE, proof.CONTINUED}
    ]
    problems += described.unused_blocks(reading.blocks, sources)
    plan = _Plan(paths, target, state, sources, changes, reading, options, problems)
    if changes.is_none:
        return plan.account(tables.run_heads(store.read_tables([target])), written=False)
    return plan


def _ingest_logs(
    plan: _Plan,
    spool: Spool,
    readers: Workers,
    on_progress: Progress | None,
    *,
    in_parts: bool = False,
    partition: Sequence[str] = (),
) -> Account:
    """Read logs and write their table, or a profile where they are all traces."""
    target, problems, files = plan.target, plan.problems, plan.changes.files
    rows, unnamed = _read_all(plan, spool, readers, on_progress)
    renamed, taken_for = inferred.infer_entries(unnamed)
    rows = inferred.with_entries(rows, renamed)
    runs = tables.run_heads(rows, (*absent.COLUMNS, *proof.COLUMNS))
    problems += [*taken_for, *proof.continued_runs(runs, rows)]
    runs = proof.with_twins(runs, rows)
    if runs.is_empty():
        if any(problem.code == traces.CODE for problem in problems):
            return _ingest_traces(plan)
        raise plan.nothing_read(problems)
    if not partition and in_parts and plan.state is not None:
        partition = RUNS.partition_columns(target) or ()
    unreadable = {problem.source for problem in problems if problem.code == "unreadable_file"}
    # What a store or a server did not give is asked for again.
    readable = [
        source
        for source in plan.sources
        if source.name not in unreadable or not isinstance(source.container, Fetched)
    ]
    blank = [source.name for source in plan.sources if not source.file.size]
    problems += absent.empty_logs(runs.get_column("source"), files["others"], blank)
    left_out = absent.rows(runs, plan.sources, problems, plan.reading.blocks)
    if left_out.height:
        rows = rows.merge_sorted(left_out.lazy(), key="source", maintain_order=True)
        problems += tables.run_problems(left_out.lazy().filter(pl.col("run_status") == "missing"))
    store.write(
        tables.mark_copies(rows, runs),
        target,
        manifest=manifest.encode(readable, files, plan.options),
        problems=problems,
        in_parts=in_parts,
        expected=[plan.state],
        partition=partition or None,
    )
    return plan.account(runs)


def _read_all(
    plan: _Plan, spool: Spool, readers: Workers, on_progress: Progress | None
) -> tuple[pl.LazyFrame, list[pl.DataFrame]]:
    """Read every unit, in order, here or elsewhere, and return all rows that the table has then.

    Rows wait, many in files, until all are read: a run that is missing has a row among them, by
    its name, which is known from the runs behind it.
    """
    fresh = list(_expect_sources(plan.changes.fresh, readers))
    bytes_read, total = 0, sum(source.file.size for source in fresh)
    frames, files = [pl.DataFrame(schema=schema.POLARS)], list[Path]()
    size = 0.0
    unnamed: list[pl.DataFrame] = []
    for unit, result in readers.read(list(units(fresh)), plan.reading, spool):
        bytes_read += sum(source.file.size for source in unit)
        if on_progress:
            on_progress(bytes_read, total)
        run_rows = result.rows
        if isinstance(run_rows, Path):  # by another process of this machine
            files.append(run_rows)
        elif files or (size := size + run_rows.estimated_size()) > _HELD_BYTES:
            files.append(spool.write(run_rows))
        else:
            frames.append(run_rows)
        plan.problems.extend(result.problems)
        for kind, names in plan.changes.files.items():
            names += getattr(result, kind)
        unnamed += result.marked
    rows = pl.concat(frames).lazy()
    if files:
        rows = pl.concat([rows, pl.scan_ipc(files)])
    if plan.changes.unchanged:
        unchanged = store.rows_of_sources(plan.target, plan.changes.unchanged).filter(
            schema.is_run()
        )
        heads = unchanged.select(inferred.COLUMNS).unique(schema.RUN).collect()
        unnamed.append(inferred.marked_runs(heads))
        rows = rows.merge_sorted(unchanged, key="source", maintain_order=True)
    return rows, unnamed


def _ingest_traces(plan: _Plan) -> Account:
    """Read traces that come without any log, and write a profile."""
    target, sources = plan.target, plan.sources
    trace_names = {problem.source for problem in plan.problems if problem.code == traces.CODE}
    profiles = traces.read([source for source in sources if source.name in trace_names])
    problems = [problem for problem in plan.problems if problem.code != traces.CODE]
    problems += profiles.problems
    if profiles.rows.is_empty():
        raise plan.nothing_read(problems)
    other_files = plan.changes.files["others"]
    other_files[:] = [name for name in other_files if name not in trace_names]
    record = manifest.encode(sources, {"others": other_files}, (*plan.options, "profile"))
    profile_store.write_profile(
        profiles.rows, target, manifest=record, problems=problems, expected=[plan.state]
    )
    return _profile_account(target, sources, plan.changes, profiles.rows, problems)


def _profile_account(
    target: Place,
    sources: Sequence[Source],
    changes: manifest.Changes,
    rows: pl.DataFrame,
    problems: Iterable[Problem],
    *,
    written: bool = True,
) -> Account:
    """Return the account of a profile with some rows."""
    n_other = len(changes.files["others"])
    return Account(
        files=len(sources),
        other_files=n_other,
        problems=tuple(problems),
        output=target,
        unchanged=0 if written else len(changes.unchanged) - n_other,
        written=written,
        traces=rows["source"].n_unique(),
        profiles=rows["profile_id"].n_unique(),
    )


def default_output(paths: Sequence[str | Path]) -> Path:
    """Return the default output: the one path's name with `.parquet`, or `runs.parquet`."""
    path = Path(str(paths[0])) if len(paths) == 1 else Path("runs")
    if path.is_dir():
        return Path(f"{path.resolve().name or 'runs'}.parquet")
    stem = path.name.split(".")[0]
    return Path(f"{stem}.parquet") if stem.isidentifier() or path.exists() else Path("runs.parquet")


def _expect_sources(sources: Iterable[Source], readers: Workers) -> Iterator[Source]:
    """Yield the sources, and start worker processes while files are still being found."""
    size = 0
    for source in sources:
        is_trace = source.file.size > _UNIT_BYTES and ".json" in source.file.name
        size += 0 if is_trace else source.file.size  # of a trace, only the first block is read
        readers.expect(size)
        yield source


def units(sources: Sequence[Source]) -> Iterator[tuple[Source, ...]]:
    """Yield sources in units of work, in their order."""
    unit: list[Source] = []
    size = 0
    for source in sources:
        if unit and (size + source.file.size > _UNIT_BYTES or len(unit) >= _UNIT_FILES):
            yield tuple(unit)
            unit, size = [], 0
        unit.append(source)
        size += source.file.size
    if unit:
        yield tuple(unit)
