"""What is inferred of runs that nobody described: their settings, then their entries and seeds?

In a unit of work, the settings beside a log are put into its runs. What these say of entries is
known once all runs are: `settled` names them, of whatever store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Any

import msgspec
import polars as pl
from msgspec import structs

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Dialect, Log
from ttastats.formats.own_logs import patterns, setups
from ttastats.formats.own_logs.block import run_fields
from ttastats.formats.own_logs.setups import MARK
from ttastats.ingestion.containers import Container, Memory, Refused, Tracking
from ttastats.ingestion.sources import Source
from ttastats.table import schema
from ttastats_parsers import settings_files

#: The code of the problem that says of what an entry was inferred.
CODE = "inferred_setup"
#: Stores that record the settings of their runs themselves.
_RECORDING = ("wandb", "mlflow", "mlflow-db")
#: Dialects that name an entry by the one folder that their runs lie in.
_FOLDERS = ("hf-trainer", "tfevents")
#: Folders above a log that may hold its settings.
_ABOVE = 3
#: What is looked at of runs of an earlier table.
COLUMNS = ("run_id", "source", "dialect", "benchmark", "entry", "seed", "extra")
_HOST = re.compile(r"tfevents\.\d+\.(.+?)\.\d+\.\d+")


class Inferred(msgspec.Struct, frozen=True):
    """A run whose entry is inferred: where it is in the table, and what is known of it."""

    run_id: str
    source: str
    dialect: str
    benchmark: str | None
    entry: str
    seed: int | None
    mark: Mapping[str, Any]
    settings: Mapping[str, Any]


Found = tuple[Mapping[str, Any], tuple[str, ...], tuple[Problem, ...]]


class Beside:
    """The settings in the folders around logs, each file read once for a unit of work."""

    def __init__(self) -> None:
        self._of_folder = cache(self._read)

    def settings(self, source: Source, companion: Callable[[PurePosixPath], bytes | None]) -> Found:
        """Return the settings recorded beside a log and in the folders above it."""
        container = source.container
        if isinstance(container, Memory | Refused | Tracking):
            return {}, (), ()
        folder = container.folder(source.file.name)
        places = (folder, *folder.parents[: min(source.depth(), _ABOVE)])
        found = [self._of_folder(container, place, companion) for place in places]
        return (
            {key: value for own, _, _ in reversed(found) for key, value in own.items()},
            tuple(name for _, names, _ in found for name in names),
            tuple(problem for _, _, problems in found for problem in problems),
        )

    def _read(
        self,
        container: Container,
        folder: PurePosixPath,
        companion: Callable[[PurePosixPath], bytes | None],
    ) -> Found:
        settings: dict[str, Any] = {}
        names: list[str] = []
        problems: list[Problem] = []
        listed = set(container.listing(folder))
        named = (name for name in settings_files.NAMES if name in listed)
        for name in (*named, *settings_files.HYDRA):
            content = companion(folder / name)
            if content is None:
                continue
            try:
                own = settings_files.of_file(name, content)
            except settings_files.UnreadError as error:
                own = dict(error.settings)
                problems.append(Problem("unread_settings", f"{name}: {error}", "warning"))
            settings |= own
            names += [name] if own else []
        return settings, tuple(names), tuple(problems)


def with_settings(
    items: Iterable[Run | Problem],
    log: Log,
    source: Source,
    dialect: Dialect,
    beside: Beside,
    head: bytes,
) -> list[Run | Problem]:
    """Return the runs of a log with the settings recorded around it and at its head.

    Runs of suites are what their rules say. A run whose entry nobody named is marked with what it
    can be inferred from.
    """
    items = list(items)
    if not any(isinstance(item, Run) and _is_ttastats_run(item, dialect) for item in items):
        return items
    found: Found = ({}, (), ())
    if dialect.name not in _RECORDING:
        found = beside.settings(source, log.companion)
    at_head = settings_files.of_head(head) if dialect.name == "lines" else {}
    return [
        _add_settings(item, log, source, dialect, found, at_head)
        if isinstance(item, Run) and _is_ttastats_run(item, dialect)
        else item
        for item in items
    ]


def _is_ttastats_run(run: Run, dialect: Dialect) -> bool:
    return (run.suite is None and not dialect.name.startswith(("ml", "dawn"))) or (
        dialect.name in _RECORDING
    )


def _add_settings(
    run: Run,
    log: Log,
    source: Source,
    dialect: Dialect,
    found: Found,
    at_head: Mapping[str, Any],
) -> Run:
    """Return a run with the settings in its log and beside it."""
    beside, files, problems = found
    own = run.extra.get("settings")
    logged = {**at_head, **(own if isinstance(own, Mapping) else {})}
    names = [*files, *(["the log"] if logged else [])]
    settings = {**beside, **logged}
    extra = {**run.extra, "settings": settings} if settings else run.extra
    every = setups.recorded_settings(extra)
    run = structs.replace(
        run,
        seed=setups.recorded_seed(every) if run.seed is None else run.seed,
        extra=extra,
        problems=(*run.problems, *problems),
    )
    block = log.block
    if block is not None and settings:
        texts = {key: text for key, text in block.fields.items() if getattr(run, key) is None}
        known = {key: str(value) for key, value in every.items() if value is not None}
        run = structs.replace(run, **run_fields(patterns.fill_names(texts, known)))
    return _mark_inferred(run, log, source, dialect, names, every)


def _mark_inferred(
    run: Run,
    log: Log,
    source: Source,
    dialect: Dialect,
    names: Sequence[str],
    settings: Mapping[str, Any],
) -> Run:
    """Return a run with the facts that its entry will be inferred from, if it has no name."""
    is_told = dialect.name in _RECORDING and run.entry == setups.entry_name(settings)
    is_folder = dialect.name in _FOLDERS and "entry" not in log.named
    is_folder = is_folder and (log.block is None or "entry" not in log.block.fields)
    if run.entry is not None and not is_folder and not is_told:
        return run
    mark: dict[str, Any] = {"fallback": run.entry or source.entry}
    if is_told and run.entry is not None:
        names = ("its settings",)
    else:
        parts = _folder_parts(source, log, run.entry)
        mark["place"] = [part for part in parts if part]
        if dialect.name in {"table", "lines"} and not log.named:
            mark["file"] = log.name.partition(".")[0]
    if names:
        mark["from"] = list(names)
    return structs.replace(run, extra={**run.extra, MARK: mark})


def _folder_parts(source: Source, log: Log, entry: str | None) -> list[str]:
    """Return the folders of a log below what was given, with some above if needed."""
    below = source.depth()
    parts = list(log.folder.parts[1:])
    if entry is not None and entry in parts:  # a folder of the run's own lies below
        at = len(parts) - parts[::-1].index(entry)
        below, parts = below - (len(parts) - at), parts[:at]
    first = max(len(parts) - max(below, 0), 0)
    # Neither a number alone nor what counts runs says what a run is.
    while first > 0 and not any(
        not part.isdecimal() and setups.split_run_number(part)[0] for part in parts[first:]
    ):
        first -= 1
    host = _HOST.search(log.name)
    if host is not None and parts and parts[-1].endswith(host[1]):
        parts[-1] = parts[-1].removesuffix(host[1])
    return parts[first:]


def of_runs(rows: pl.DataFrame) -> list[Inferred]:
    """Return the runs of a table whose entries are inferred."""
    marked = rows.filter(pl.col("extra").str.contains(f'"{MARK}":', literal=True))
    found = []
    for row in marked.select(COLUMNS).unique(schema.RUN, maintain_order=True).iter_rows(named=True):
        fields = schema.parse_extra(row.pop("extra"))
        if isinstance(mark := fields.get(MARK), Mapping):
            found.append(Inferred(**row, mark=mark, settings=setups.recorded_settings(fields)))
    return found


def settled(runs: Sequence[Inferred]) -> tuple[pl.DataFrame, list[Problem]]:
    """Return the runs whose entry or seed changes by inference, and a problem on each.

    The frame has the columns of `schema.RUN`, `entry` and `seed`.
    """
    named = setups.infer_setups(
        [
            setups.Seen(
                (run.dialect, run.benchmark),
                tuple(map(str, run.mark.get("place", ()))),
                str(run.mark.get("file", "")),
                run.settings,
                run.seed,
                str(run.mark.get("fallback", run.entry)),
            )
            for run in runs
        ]
    )
    other = [
        (run.run_id, run.source, *setup)
        for run, setup in zip(runs, named, strict=True)
        if (run.entry, run.seed) != tuple(setup)
    ]
    kinds = {"run_id": pl.String, "source": pl.String, "entry": pl.String, "seed": pl.Int64}
    problems = [
        Problem(CODE, _inferred_text(run, setup), "info", source=run.source)
        for run, setup in zip(runs, named, strict=True)
        if setup != (run.mark.get("fallback"), None)
    ]
    return pl.DataFrame(other, kinds, orient="row"), problems


def _inferred_text(run: Inferred, setup: setups.Setup) -> str:
    place = "/".join(map(str, [*run.mark.get("place", ()), *filter(None, [run.mark.get("file")])]))
    sources = [*dict.fromkeys(map(str, run.mark.get("from", ())))]
    sources += [f"the path {place}"] if place else []
    seed = "" if setup.seed is None else f", seed {setup.seed}"
    return f"taken for entry {setup.entry!r}{seed}, from {' and '.join(sources)}"


def renamed(rows: pl.LazyFrame, other: pl.DataFrame) -> pl.LazyFrame:
    """Return rows of runs with the inferred entries and seeds."""
    if other.is_empty():
        return rows
    new = other.lazy().rename({"entry": "other entry", "seed": "other seed"})
    return (
        rows.join(new, on=schema.RUN, how="left", maintain_order="left")
        .with_columns(pl.coalesce("other entry", "entry").alias("entry"))
        .with_columns(pl.coalesce("other seed", "seed").alias("seed"))
        .drop("other entry", "other seed")
    )
