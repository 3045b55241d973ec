"""What is inferred of runs that nobody described: their settings, then their entries and seeds?

In a unit of work, the settings beside a log are put into its runs. What these say of entries is
known once all runs are: `infer_entries` names them, of whatever store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import polars as pl
from msgspec import structs

from ttastats.base.records import Problem, Run
from ttastats.base.run_names import split_run_number, stem_of
from ttastats.formats import patterns, setups
from ttastats.formats.block import price_in, price_of, run_fields
from ttastats.formats.dialect import Dialect, Log
from ttastats.formats.setups import MARK
from ttastats.ingestion.sources import Source
from ttastats.table import schema
from ttastats_parsers import settings_files

#: The code of the problem that says of what an entry was inferred.
CODE = "inferred_setup"
#: Stores that record the settings of their runs themselves.
_RECORDING = ("wandb", "mlflow", "mlflow-db", "mlflow-table", "optuna")
#: Dialects that name an entry by the one folder that their runs lie in.
_FOLDERS = ("hf-trainer", "tfevents")
#: Folders above a log that may hold its settings.
_MOST_PARENTS = 3
#: What is looked at of runs to infer their entries.
COLUMNS = ("run_id", "source", "dialect", "benchmark", "entry", "seed", "extra")
_HOST = re.compile(r"tfevents\.\d+\.(.+?)\.\d+\.\d+")


#: Settings in files, the names of these files, and problems of reading them.
FileSettings = tuple[Mapping[str, Any], tuple[str, ...], tuple[Problem, ...]]


def settings_in(
    listing: Callable[[PurePosixPath], Sequence[str]],
    companion: Callable[[PurePosixPath], bytes | None],
    folder: PurePosixPath,
) -> FileSettings:
    """Return the settings in the files of a folder."""
    settings: dict[str, Any] = {}
    names: list[str] = []
    problems: list[Problem] = []
    files = set(listing(folder))
    setting_files = (name for name in settings_files.NAMES if name in files)
    for name in (*setting_files, *settings_files.HYDRA):
        content = companion(folder / name)
        if content is None:
            continue
        try:
            in_file = settings_files.of_file(name, content)
        except settings_files.UnreadError as error:
            in_file = dict(error.settings)
            problems.append(Problem("unread_settings", f"{name}: {error}", "warning"))
        settings |= in_file
        names += [name] if in_file else []
    return settings, tuple(names), tuple(problems)


def surrounding_settings(
    log: Log,
    source: Source,
    dialect: Dialect,
    in_folder: Callable[[PurePosixPath], FileSettings],
    head: bytes,
) -> tuple[FileSettings, Mapping[str, Any]]:
    """Return the settings recorded beside a log and in folders above it, and those at its head."""
    folders = (log.folder, *log.folder.parents[: min(source.depth(), _MOST_PARENTS)])
    in_folders = [] if dialect.name in _RECORDING else [in_folder(folder) for folder in folders]
    in_files: FileSettings = (
        {key: value for settings, _, _ in reversed(in_folders) for key, value in settings.items()},
        tuple(name for _, names, _ in in_folders for name in names),
        tuple(problem for _, _, problems in in_folders for problem in problems),
    )
    return in_files, settings_files.of_head(head) if dialect.name == "lines" else {}


def with_settings(
    run: Run,
    log: Log,
    source: Source,
    dialect: Dialect,
    recorded: Callable[[], tuple[FileSettings, Mapping[str, Any]]],
) -> Run:
    """Return a run with the settings recorded around its log and in it.

    Runs of suites are what their rules say. A run whose entry nobody named is marked with what it
    can be inferred from.
    """
    is_of_suite = run.suite is not None or dialect.name.startswith(("ml", "dawn"))
    if is_of_suite and dialect.name not in _RECORDING:
        return run
    (in_files, files, problems), at_head = recorded()
    in_run = run.extra.get("settings")
    logged = {**at_head, **(in_run if isinstance(in_run, Mapping) else {})}
    settings = {**in_files, **logged}
    extra = {**run.extra, "settings": settings} if settings else run.extra
    all_settings = setups.recorded_settings(extra)
    run = structs.replace(
        run,
        seed=setups.recorded_seed(all_settings) if run.seed is None else run.seed,
        extra=extra,
        problems=(*run.problems, *problems),
    )
    block = log.block
    if block is not None and settings:
        texts = {key: text for key, text in block.fields.items() if getattr(run, key) is None}
        texts_by_name = {
            key: None if value is None else str(value) for key, value in all_settings.items()
        }
        run = structs.replace(run, **run_fields(patterns.fill_names(texts, texts_by_name)))
    mark = _mark_of(run, log, source, dialect, all_settings)
    if mark is None:
        return run
    if names := [*files, *(["the log"] if logged else [])]:
        mark.setdefault("from", names)
    return structs.replace(run, extra={**run.extra, MARK: mark})


def with_price(run: Run) -> Run:
    """Return a run with the recorded price of an hour, if it has none yet."""
    if run.cost_per_hour is not None:
        return run
    fields = {**setups.recorded_settings(run.extra), **run.extra}
    price = price_in(fields)
    return structs.replace(run, cost_per_hour=price_of(fields[price])) if price else run


def _mark_of(
    run: Run, log: Log, source: Source, dialect: Dialect, settings: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the facts for inferring a run's entry, None if it has a name."""
    is_recorded = dialect.name in _RECORDING and run.entry == setups.entry_name(settings)
    is_folder = dialect.name in _FOLDERS and "entry" not in log.named
    is_folder = is_folder and (log.block is None or "entry" not in log.block.fields)
    if run.entry is not None and not is_folder and not is_recorded:
        return None
    mark: dict[str, Any] = {"fallback": run.entry or source.entry}
    if is_recorded and run.entry is not None:
        return mark | {"from": ["its settings"]}
    mark["place"], n_parents = _folder_parts(source, log, run.entry)
    mark |= {"above": n_parents} if n_parents else {}
    if dialect.name in {"table", "lines"}:
        # What a column calls a run tells of it what the name of a file does.
        values = [run.extra.get(name) for name in (log.block.run if log.block else ())]
        if words := [str(name) for name in values if isinstance(name, str)]:
            mark["file"] = "-".join(words)
        elif not log.named.keys() - {*patterns.PARTS}:
            parts = "|".join(map(re.escape, log.named.values()))
            file = stem_of(log.name)
            mark["file"] = re.sub(rf"[-_. ]*(?:{parts})", "", file) if parts else file
    return mark


def _folder_parts(source: Source, log: Log, entry: str | None) -> tuple[list[str], int]:
    """Return the folders of a log, those above what was given first, and how many these are."""
    depth = source.depth()
    parts = list(log.folder.parts[1:])
    if entry is not None and entry in parts:  # a folder of the run's own lies below
        at = len(parts) - parts[::-1].index(entry)
        depth, parts = depth - (len(parts) - at), parts[:at]
    n_above = start = max(len(parts) - max(depth, 0), 0)
    # Neither a number alone nor what counts runs says what a run is.
    while start > 0 and not any(
        not part.isdecimal() and split_run_number(part)[0] for part in parts[start:]
    ):
        start -= 1
    host = _HOST.search(log.name)
    if host is not None and parts and parts[-1].endswith(host[1]):
        parts[-1] = parts[-1].removesuffix(host[1])
    return [part for part in parts[start:] if part], n_above - start


def marked_runs(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of `COLUMNS` of the runs in a table whose entries are to be inferred."""
    rows_with_mark = rows.filter(pl.col("extra").str.contains(f'"{MARK}":', literal=True))
    return rows_with_mark.select(COLUMNS).unique(schema.RUN, maintain_order=True)


def infer_entries(marked: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, list[Problem]]:
    """Return the runs whose entry or seed changes by inference, and a problem on each.

    The frame has the columns of `schema.RUN`, `entry` and `seed`.
    """
    empty = pl.DataFrame(schema={name: schema.POLARS[name] for name in COLUMNS})
    rows: list[tuple[dict[str, Any], Mapping[str, Any]]] = []
    run_paths: list[setups.Seen] = []
    for row in pl.concat([empty, *marked]).sort("source", "run_id").iter_rows(named=True):
        fields = schema.parse_extra(row["extra"])
        if not isinstance(mark := fields.get(MARK), Mapping):
            continue
        rows.append((row, mark))
        run_paths.append(
            setups.Seen(
                (row["dialect"], row["benchmark"]),
                tuple(map(str, mark.get("place", ()))),
                str(mark.get("file", "")),
                setups.recorded_settings(fields),
                row["seed"],
                str(mark.get("fallback", row["entry"])),
                int(mark.get("above", 0)),
            )
        )
    changes: list[tuple[Any, ...]] = []
    problems: list[Problem] = []
    for (row, mark), run, setup in zip(
        rows, run_paths, setups.infer_setups(run_paths), strict=True
    ):
        if (row["entry"], row["seed"]) != tuple(setup):
            changes.append((row["run_id"], row["source"], *setup))
        if setup != (mark.get("fallback"), None):
            path = "/".join([*run.place, *filter(None, [run.file])])
            origins = [*dict.fromkeys(map(str, mark.get("from", ())))]
            origins += [f"the path {path}"] if path else []
            seed = "" if setup.seed is None else f", seed {setup.seed}"
            text = f"taken for entry {setup.entry!r}{seed}, from {' and '.join(origins)}"
            problems.append(Problem(CODE, text, "info", source=row["source"]))
    names = (*schema.RUN, "entry", "seed")
    kinds = {name: schema.POLARS[name] for name in names}
    return pl.DataFrame(changes, kinds, orient="row"), problems


def with_entries(rows: pl.LazyFrame, other: pl.DataFrame) -> pl.LazyFrame:
    """Return rows of runs with the inferred entries and seeds."""
    if other.is_empty():
        return rows
    renamed = other.lazy().rename({"entry": "other entry", "seed": "other seed"})
    return (
        rows.join(renamed, on=schema.RUN, how="left", maintain_order="left")
        .with_columns(pl.coalesce("other entry", "entry").alias("entry"))
        .with_columns(pl.coalesce("other seed", "seed").alias("seed"))
        .drop("other entry", "other seed")
    )
