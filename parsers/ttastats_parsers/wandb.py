"""Weights & Biases on disk: `run-ID.wandb` stores, histories of old versions, summaries.

The clock is `_runtime`, the seconds since the run began. `_step` counts calls of `log`; where a
program logs its optimizer steps (`trainer/global_step`), they are the steps. A store that was
copied while it was written is complemented by the summary beside it, which is written at the end.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import msgspec

from ttastats.base.records import Problem, Run, RunStatus
from ttastats.formats.dialect import NO_EVALUATION, PART_OF_A_RUN, Log
from ttastats.formats.setups import entry_name, flatten, recorded_seed
from ttastats_parsers import record_files, settings_files
from ttastats_parsers.checkpoints import Measured, evaluations_of, wanted_of
from ttastats_parsers.payloads import as_float, as_int, as_mapping, date_of, json_value, storable
from ttastats_parsers.record_files import LevelDBRecords, problems_of

name = "wandb"

_compiled: Callable[[bytes], dict[str, bytes] | None] | None
try:
    from ttastats_parsers._scan import items as _compiled
except ImportError:  # no compiler was at hand
    _compiled = None

_HISTORY_FILE = "wandb-history.jsonl"
_SUMMARY_FILE = "wandb-summary.json"
_MAGIC = b":W&B\xe1\xbe"
_HEADER = 7
#: How W&B calls the folder of a session, with the run's id behind.
_SESSION = re.compile(r"(?:offline-)?run-(?P<begun>\d{8}_\d{6})-(?P<run>.+)")
_HISTORY, _SUMMARY, _RUN, _EXIT = 2, 3, 17, 18
_STEPS = ("trainer/global_step", "train/global_step", "global_step", "_step")
_EPOCHS = ("epoch", "train/epoch")
#: Keys of a row that say where it stands, not what was measured.
_PROGRESS = frozenset({*_STEPS, *_EPOCHS, "_runtime", "_timestamp", "_wandb"})
#: Rows are nested no deeper, and hold no more numbers.
_DEEPEST, _MOST_LINES = 8, 10_000

_NO_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})

#: How JSON of no object begins, mostly.
_NUMBER_STARTS = frozenset(bytes([byte]) for byte in b'-0123456789"n')
#: Reads NaN and Infinity, too.
_parse_json = partial(json_value, other=json.JSONDecoder(parse_constant=lambda _: None))

Row = dict[str, Any]


class RunFiles(msgspec.Struct):
    """What the files of a run tell, whatever their form."""

    history: list[Row] = []
    summary: Row = {}
    config: Row = {}
    about: Row = {}
    problems: list[Problem] = []
    logged: frozenset[str] = frozenset()


def recognises(head: bytes, path: str) -> bool:
    """Return whether a file is a store, by its first bytes, or beside one, by its name."""
    if head.startswith(_MAGIC):
        return True
    if not head or _MAGIC.startswith(head):  # cut in its first bytes
        return path.endswith((".wandb", _HISTORY_FILE, _SUMMARY_FILE))
    return b"{" in head[:8] and path.endswith((f"/{_HISTORY_FILE}", f"/{_SUMMARY_FILE}"))


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run, from its store, else its history, else its summary; the others are parts.

    A run that was resumed has a folder for each session: the first tells all of them.
    """
    if log.name == _SUMMARY_FILE:
        folders = (log.folder, log.folder.parent if log.folder.name == "files" else log.folder)
        names = [word for folder in folders for word in log.listing(folder)]
        if any(word.endswith(".wandb") or word == _HISTORY_FILE for word in names):
            return
        summary = _parse_json(log.read())
        if not isinstance(summary, dict):
            yield Problem("unreadable_file", "not a JSON object", "error")
            return
        text = "only the summary of the run exists: its last values, without history"
        problem = Problem("summary_only", text, "info")
        config = _read_config(log, log.folder)
        files = RunFiles([summary], summary, config, problems=[problem])
    elif log.name == _HISTORY_FILE:
        files = _read_history(log)
    else:
        files = _read_store(log)
    sessions = _session_folders(log)
    if sessions and sessions[0] != log.folder:
        text = f"a session of the run in {sessions[0].name}"
        yield Problem(PART_OF_A_RUN, text, "info")
        return
    for folder in sessions[1:]:
        files = _add_session(files, log, folder)
    yield _run(files, log)


def _session_folders(log: Log) -> list[PurePosixPath]:
    """Return the folders of the sessions of a store's run in order; none of other files."""
    match = _SESSION.fullmatch(log.folder.name)
    if match is None or log.name != f"run-{match['run']}.wandb":
        return []
    folders = {}
    for word in log.listing(log.folder.parent):
        sibling = _SESSION.fullmatch(word.removesuffix("/"))
        if sibling is not None and sibling["run"] == match["run"]:
            folder = log.folder.parent / sibling[0]
            if folder == log.folder or log.name in log.listing(folder):
                folders[sibling["begun"]] = folder
    return [folder for _, folder in sorted(folders.items())]


def _add_session(files: RunFiles, log: Log, folder: PurePosixPath) -> RunFiles:
    """Return a run with a later session, whose rows replace repeated ones.

    W&B goes on with the time of the session before, except where that never reached its server.
    """
    blocks = partial(iter, (log.companion(folder / log.name) or b"",))
    session = _read_store(msgspec.structs.replace(log, folder=folder, blocks=blocks))
    steps = [as_int(row.get("_step")) for row in session.history]
    first_step = min((step for step in steps if step is not None), default=math.inf)
    earlier_rows = [row for row in files.history if (as_int(row.get("_step")) or 0) < first_step]
    end = max((as_float(row.get("_runtime")) or 0.0 for row in earlier_rows), default=0.0)
    begins = min((as_float(row.get("_runtime")) or 0.0 for row in session.history), default=end)
    lost_seconds = end if begins < end else 0.0
    rows = [_shift_row(row, lost_seconds) for row in session.history]
    text = f"resumed in {folder.name}, which logged {len(rows):,} more rows"
    n_repeated = len(files.history) - len(earlier_rows)
    text += f"; {n_repeated:,} earlier rows are logged again" if n_repeated else ""
    text += "; the seconds are added up" if lost_seconds else ""
    problems = [problem for problem in files.problems if problem.code != "no_exit_record"]
    facts = files.about | session.about
    facts |= {"started": files.about.get("started"), "exit_code": session.about.get("exit_code")}
    facts["runtime"] = (as_float(session.about.get("runtime")) or 0.0) + lost_seconds
    return RunFiles(
        earlier_rows + rows,
        files.summary | _shift_row(session.summary, lost_seconds),
        files.config | session.config,
        facts,
        [*problems, *session.problems, Problem("resumed", text, "info")],
        files.logged | session.logged,
    )


def _shift_row(row: Row, seconds: float) -> Row:
    """Return a row with its time counted from the start of an earlier session."""
    runtime = as_float(row.get("_runtime"))
    return row if runtime is None else row | {"_runtime": runtime + seconds}


def _read_store(log: Log) -> RunFiles:
    """Return a store's content, with what is missing at its end from the summary."""
    content = log.read()
    logged = _logged_names(content)
    names = wanted_of(logged, log) | _PROGRESS
    records = LevelDBRecords(content, _HEADER)
    run = RunFiles(logged=logged)
    strange = 0
    for record in records.data():
        try:
            _add_record(run, record, names)
        except ValueError:
            strange += 1
    run.problems.extend(problems_of(records.torn, records.damaged))
    if strange:
        text = f"{strange:,} record(s) of the store are unreadable"
        run.problems.append(Problem("unreadable_record", text, "warning"))
    folder = log.folder / "files"
    run.config = run.config or _read_config(log, folder)
    if "exit_code" not in run.about:
        _add_summary(run, log, folder)
    return run


def _logged_names(content: bytes) -> frozenset[str]:
    """Return the names of all numbers in the history of a store."""
    names: set[str] = set()
    number_names: set[str] = set()
    for record in LevelDBRecords(content, _HEADER).data():
        with suppress(ValueError):
            for row in record_files.messages(record, _HISTORY):
                for key, part in _raw_items(row).items():
                    if key not in number_names or _is_object(part):
                        names_in_part = {name for name, _ in _numbers({key: _parse_json(part)})}
                        names |= names_in_part
                        number_names |= names_in_part & {key}
    return frozenset(names)


def _add_record(run: RunFiles, record: bytes, names: Set[str]) -> None:
    """Add what one record tells, of its numbers those that are wanted; ValueError if unreadable."""
    for number, value in record_files.fields(record):
        if number == _HISTORY:
            items = _raw_items(record_files.block(value)).items()
            row = {k: _parse_json(part) for k, part in items if k in names or _is_object(part)}
            run.history.append(row)
        elif number == _SUMMARY:
            run.summary.update(_decode_items(record_files.block(value)))
        elif number == _RUN:
            run.about.update(_identity(record_files.block(value)))
            for config in record_files.messages(record_files.block(value), 4):
                run.config.update(_decode_items(config))
        elif number == _EXIT:
            fields = dict(record_files.fields(record_files.block(value)))
            code, runtime = fields.get(1, 0), fields.get(2)
            run.about["exit_code"] = code if isinstance(code, int) else 1
            if isinstance(runtime, int):
                run.about["runtime"] = runtime


def _decode_items(message: bytes) -> Row:
    """Return the items of a message; nested keys are joined by dots."""
    return {key: _parse_json(content) for key, content in _raw_items(message).items()}


def _raw_items(message: bytes) -> Mapping[str, bytes]:
    """Return the keys of the items of a message and what they say in JSON."""
    compiled = None if _compiled is None else _compiled(message)
    if compiled is not None:
        return compiled
    items: dict[str, bytes] = {}
    for item in record_files.messages(message, 1):
        keys: list[str] = []
        key, content = "", b"null"
        for number, part in record_files.fields(item):
            if number == 1:
                key = record_files.text(part)
            elif number == 2:
                keys.append(record_files.text(part))
            elif number == 16:
                content = record_files.block(part)
        items[".".join(keys) or key] = content
    return items


def _is_object(content: bytes) -> bool:
    return content[:1] not in _NUMBER_STARTS and content.lstrip()[:1] == b"{"


def _identity(message: bytes) -> Row:
    """Return identity and start of a run from its record."""
    words = {1: "run_id", 3: "project", 6: "group", 8: "run_name"}
    facts: Row = {}
    for number, value in record_files.fields(message):
        if number in words:
            facts[words[number]] = record_files.text(value)
        elif number == 17:
            time = dict(record_files.fields(record_files.block(value)))
            seconds, nanos = time.get(1, 0), time.get(2, 0)
            if isinstance(seconds, int) and isinstance(nanos, int):
                facts["started"] = seconds + nanos / 1e9
    return facts


def _add_summary(run: RunFiles, log: Log, folder: PurePosixPath) -> None:
    """Complete a store without an end by the summary, with a problem."""
    rows = len(run.history)
    text = f"no exit record after {rows:,} rows: killed, or copied during the run"
    run.problems.append(Problem("no_exit_record", text, "warning"))
    summary = as_mapping(_parse_json(log.companion(folder / _SUMMARY_FILE) or b""))
    last_step = max((_step(row) or 0 for row in run.history), default=-1)
    step = _step(summary)
    if (step or 0) <= last_step or not summary:
        return
    if step is None and not any(True for _ in _numbers(summary)):  # it tells the time alone
        run.summary |= summary
        return
    remark = "" if step is None else f", of step {step:,},"
    text = f"its last values{remark} come from {_SUMMARY_FILE}"
    run.problems.append(Problem("summary_is_later", text, "warning"))
    run.about |= {"history_rows": rows, "last_history_step": last_step}
    run.summary = summary
    run.history.append(summary)


def _read_history(log: Log) -> RunFiles:
    """Return the rows of a history as versions before 0.10 write it."""
    history, bad_numbers = [], []
    for number, line in enumerate(log.read().removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        row = _parse_json(line) if line.strip() else {}
        if isinstance(row, dict):
            history += [row | {"_line": number}] if row else []
        else:
            bad_numbers.append(number)
    problems = []
    if bad_numbers:
        text = f"{len(bad_numbers):,} line(s) are not JSON objects"
        problems.append(Problem("unreadable_line", text, "warning", bad_numbers[0]))
    summary = as_mapping(_parse_json(log.companion(log.folder / _SUMMARY_FILE) or b""))
    return RunFiles(history, summary, _read_config(log, log.folder), problems=problems)


def _read_config(log: Log, folder: PurePosixPath) -> Row:
    """Return the settings of `config.yaml`: {key: {value: ..}}."""
    settings = settings_files.of_yaml(log.companion(folder / "config.yaml") or b"")
    return {
        key: value.get("value") if isinstance(value, dict) and "value" in value else value
        for key, value in settings.items()
        if key != "wandb_version"
    }


def _run(files: RunFiles, log: Log) -> Run:
    """Return the run of its files."""
    evaluations, remarks = evaluations_of(list(_measured(files)), log, files.logged)
    config = {key: value for key, value in files.config.items() if key != "_wandb"}
    start = as_float(files.about.get("started"))
    if start is None:
        start = as_float(as_mapping(files.config.get("_wandb")).get("start_time"))
    status: RunStatus = "truncated" if log.name.endswith(".wandb") else "unknown"
    if (code := files.about.get("exit_code")) is not None:
        status = "aborted" if code else "success"
    # The run lasted until its last row, or until the exit where that is later.
    ends = [as_float(row.get("_runtime")) for row in (*files.history, files.summary)]
    ends += [as_float(files.about.get("runtime"))]
    ends += [as_float(as_mapping(files.summary.get("_wandb")).get("runtime"))]
    keys = ("run_id", "run_name", "group", "history_rows", "last_history_step")
    folder = log.folder.parent if log.folder.name == "files" else log.folder
    extra = {key: files.about[key] for key in keys if files.about.get(key) is not None}
    return Run(
        benchmark=files.about.get("project") or None,
        entry=files.about.get("group") or entry_name(config),
        seed=recorded_seed(flatten(config)),
        started_at=date_of(start),
        clock="wall",
        clock_zero="start of the W&B run",
        run_status=status,
        run_seconds=max((end for end in ends if end is not None), default=None),
        evaluations=evaluations,
        problems=(*files.problems, *remarks, *([] if evaluations else [NO_EVALUATION])),
        extra={"folder": folder.name, **extra, "config": storable(config)},
    )


def _measured(files: RunFiles) -> Iterator[Measured]:
    """Yield the numbers of the history, with step, time and epoch."""
    stamps = (as_float(row.get("_timestamp")) for row in files.history)
    start = as_float(files.about.get("started"))
    zero = start or next((stamp for stamp in stamps if stamp is not None), None)
    for row in files.history:
        seconds = as_float(row.get("_runtime"))
        stamp = as_float(row.get("_timestamp"))
        if seconds is None and stamp is not None and zero is not None:
            seconds = round(stamp - zero, 6)  # no row says how long after the start it was logged
        step, epoch = _step(row), _first_number(row, _EPOCHS)
        for metric, value in _numbers(row):
            yield Measured(metric, value, step, seconds, epoch, as_int(row.get("_line")))


def _numbers(row: Mapping[str, Any]) -> Iterable[tuple[str, float | None]]:
    """Yield the numbers of a row by name, those of nested ones joined by points."""
    queue: list[tuple[str, Any, int]] = [(key, row[key], 0) for key in row]
    for count, (key, value, depth) in enumerate(queue):
        if key in _PROGRESS or key == "_line" or count > _MOST_LINES:
            continue
        if isinstance(value, dict):
            if "_type" not in value and depth < _DEEPEST:  # else an image, a table, a histogram
                queue += [(f"{key}.{inner}", value[inner], depth + 1) for inner in value]
        elif value is None or (isinstance(value, str) and value in _NO_NUMBERS):
            yield key, None
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield key, as_float(value)


def _step(row: Mapping[str, Any]) -> int | None:
    """Return the optimizer step of a row, or its count of logged rows."""
    return as_int(_first_number(row, _STEPS))


def _first_number(row: Mapping[str, Any], keys: Iterable[str]) -> float | None:
    return next((value for key in keys if (value := as_float(row.get(key))) is not None), None)
