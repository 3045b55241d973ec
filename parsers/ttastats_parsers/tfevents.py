"""TensorBoard event files: scalars of TensorFlow 1 and 2, PyTorch, JAX and Keras.

The clock is the wall time at which a value was written, from the first event of the run. Files of
one folder are one run, which was restarted: as TensorBoard does, values of a later file hide those
of earlier ones from its first step on. Folders `train` and `validation` side by side, as Keras
makes them, are one run too, whose metrics are named after the folder.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from math import inf, nan
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ttastats.base import streams
from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers import record_files, settings_files
from ttastats_parsers.checkpoints import Measured, evaluations_of, wanted_of
from ttastats_parsers.payloads import as_float, date_of, since
from ttastats_parsers.record_files import problems_of, tf_records

_compiled: Callable[..., tuple[int, int, float, float, int]] | None
try:
    from ttastats_parsers._scan import scalars as _compiled
except ImportError:  # no compiler was at hand
    _compiled = None

name = "tfevents"

_NAME = re.compile(r"tfevents\.(\d{9,11})?")
_NO_EVENTS = (".json", ".csv", ".txt")
#: What the first record of a file says, behind the 12 bytes that tell its length.
_VERSION = b"brain.Event:"
_SETTINGS = b"_hparams_/session_start_info"
#: What a summary of the plugin for texts bears, and what texts of settings are called.
_TEXT = b"\n\x04text"
_TEXTS = re.compile(
    r"(?:^|[/_])(?:config|args|hparams|hyperparameters|params|settings)(?:[/_]|$)", re.IGNORECASE
)
#: How `add_hparams` calls a folder of its own: the time.
_HPARAMS_FOLDER = re.compile(r"\d{9,10}\.\d+/")
#: Folders that hold the halves of one run beside each other.
_HALVES = frozenset({"train", "training", "validation", "val", "valid", "eval", "test"})
_FLOAT, _DOUBLE, _INT, _INT64 = 1, 2, 3, 9
#: Where a tensor keeps its one number, by its type, if not as plain bytes.
_FIELDS = {_FLOAT: 5, _DOUBLE: 6, _INT: 7, _INT64: 10}
_NOT_A_RUN = Problem("not_a_run", "contains settings, texts or graphs but no scalars", "info")


#: A value of a tag as it waits in bytes: step, time, value, and the number of its record; a time or
#: value that is not finite is unknown.
_ROW = struct.Struct("=qddq")
Rows = dict[str, bytearray]


class Scalar(NamedTuple):
    """One value of a tag."""

    tag: str
    step: int
    time: float | None
    value: float | None


class EventFile(NamedTuple):
    """What a file tells: its scalars, the first and the last time of any event, what is wrong.

    `holds_settings` says that it was written to hold hyperparameters, `settings` which it tells.
    """

    path: PurePosixPath
    scalars: Rows
    begun: float | None
    ended: float | None
    problems: list[Problem]
    holds_settings: bool
    settings: dict[str, Any]


def recognises(head: bytes, path: str) -> bool:
    """Return whether a file has events, by its name or its first record."""
    if "tfevents." in path.rpartition("/")[2] and not path.endswith(_NO_EVENTS):
        return not head.startswith(b"{")
    return _VERSION in head[12:64]


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run, from its first file; the others are parts of it."""
    top, paths = _run_files(log)
    if paths[0] != log.path:
        return
    files = [
        read_file(path, log.blocks() if path == log.path else [log.companion(path) or b""])
        for path in paths
    ]
    problems = []
    for file in files:
        prefix = "" if file.path == log.path else f"{file.path.relative_to(top)}: "
        problems += [
            Problem(problem.code, f"{prefix}{problem.message}", problem.severity)
            for problem in file.problems
        ]
    # `add_hparams` makes a folder of its own, which repeats a run's last values.
    is_of_settings = all(file.holds_settings for file in files)
    if (is_of_settings and event_files(log.listing, log.folder.parent)) or not any(
        file.scalars for file in files
    ):
        yield from problems or [_NOT_A_RUN]
        return
    trainings = _split_trainings(files, top)
    if len(trainings) > 1:
        text = (
            f"the steps begin again {len(trainings) - 1} times: each training is a run of its own"
        )
        problems.append(Problem("several_trainings", text, "warning"))
    for training in trainings:
        scalars, replaced = _merge_files(training, top)
        if scalars:
            folder = None if top == log.folder else top
            yield _run(scalars, training, folder, log, [*problems, *replaced])


def _run_files(log: Log) -> tuple[PurePosixPath, list[PurePosixPath]]:
    """Return the folder and the files of a run, in the order in which they were begun.

    A folder that is called `test` is a half only if another one lies beside it or files above it.
    """
    if not _NAME.search(log.name):
        return log.folder, [log.path]
    for top in (log.folder, log.folder.parent):
        halves = [top / word[:-1] for word in log.listing(top) if word[:-1].lower() in _HALVES]
        folders = [folder for folder in (top, *halves) if event_files(log.listing, folder)]
        if len(folders) > 1 and log.folder in folders:
            break
    else:
        top, folders = log.folder, [log.folder]
    files = [path for folder in folders for path in event_files(log.listing, folder)]

    def start_of(path: PurePosixPath) -> tuple[int, str]:
        match = _NAME.search(path.name)
        return int(match[1]) if match and match[1] else 0, str(path)

    return top, sorted({log.path, *files}, key=start_of)


def event_files(
    listing: Callable[[PurePosixPath], Sequence[str]], folder: PurePosixPath
) -> list[PurePosixPath]:
    """Return the event files directly in a folder."""
    return [folder / word for word in listing(folder) if _NAME.search(word) and word[-1] != "/"]


def read_file(path: PurePosixPath, blocks: Iterable[bytes]) -> EventFile:
    """Return the content of an event file, as far as it can be read."""
    scalars: dict[str, bytearray] = {}
    times: list[float] = []
    strange, holds_settings, settings = 0, False, dict[str, Any]()
    events = _Events()
    for records in events.other_records(blocks):
        for number, record in records:
            try:
                time, values = _event(record)
            except ValueError:
                strange += 1
                continue
            if time is not None and time > 0:
                times.append(time)
            for tag, step, value in values:
                floats = (nan if number is None else number for number in (time, value))
                row = _ROW.pack(step, *floats, number)
                scalars.setdefault(tag, bytearray()).extend(row)
        data = [record for _, record in records]
        holds_settings = holds_settings or any(_SETTINGS in record for record in data)
        settings |= _settings_of(data)
    for name, rows in events.rows.items():
        tag = name.decode("utf-8", "replace")
        if not tag.startswith("_hparams_"):
            if tag in scalars:
                ordered = sorted(_ROW.iter_unpack(scalars[tag] + rows), key=itemgetter(3))
                rows = bytearray().join(_ROW.pack(*row) for row in ordered)
            scalars[tag] = rows
    in_order = sorted(scalars.items(), key=lambda item: _ROW.unpack_from(item[1])[3])
    times += [time for time in events.times if time == time]
    problems = list(problems_of(events.torn, events.damaged))
    if strange:
        text = f"{strange:,} record(s) are not events"
        problems.append(Problem("unreadable_record", text, "warning"))
    start, end = min(times, default=None), max(times, default=None)
    return EventFile(path, dict(in_order), start, end, problems, holds_settings, settings)


class _Events:
    """The scalars of a file as `rows` of their tags, read block by block, and what is wrong."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytearray] = {}
        self.times: list[float] = []
        self.torn: int | None = None
        self.damaged: list[int] = []

    def other_records(self, blocks: Iterable[bytes]) -> Iterator[list[tuple[int, bytes]]]:
        """Yield the records other than plain scalars, with their numbers."""
        if _compiled is None:
            records = tf_records(streams.join_blocks(blocks, streams.whole_file_limit()))
            self.torn, self.damaged = records.torn, records.damaged
            yield list(enumerate(records.data))
            return
        unfinished, offset, record = b"", 0, 0
        for block in blocks:
            data = unfinished + block if unfinished else block
            streams.expect_size(len(data), streams.whole_file_limit() + len(block), "a record is ")
            records_of: list[tuple[int, bytes]] = []
            bad_positions: list[int] = []
            end, record, first_time, last_time, is_lost = _compiled(
                data, record, self.rows, records_of, bad_positions
            )
            self.damaged += [offset + position for position in bad_positions]
            self.times += [first_time, last_time]
            yield records_of
            unfinished, offset = data[end:], offset + end
            if is_lost:
                return
        if unfinished:
            self.torn = offset


def _settings_of(records: Sequence[bytes]) -> dict[str, Any]:
    """Return the hyperparameters of the plugin, and texts such as `config` or `args`."""
    settings: dict[str, Any] = {}
    for record in records:
        if _SETTINGS in record or _TEXT in record:
            with suppress(ValueError):
                for value in record_files.messages(record, 5, 1):
                    tag = b"".join(record_files.messages(value, 1)).decode("utf-8", "replace")
                    if tag.startswith("_hparams_/"):
                        entries = record_files.messages(value, 9, 1, 2, 3, 1)
                        settings.update(map(_hparam, entries))
                    elif _TEXTS.search(tag.removesuffix("/text_summary")):
                        text = next(record_files.messages(value, 8, 8), b"")
                        settings |= settings_files.of_text(text.decode("utf-8", "replace"))
    return settings


def _hparam(entry: bytes) -> tuple[str, Any]:
    """Return an item of a map from names to `google.protobuf.Value`."""
    key = ""
    value: Any = None
    for number, content in record_files.fields(entry):
        if number == 1:
            key = record_files.text(content)
            continue
        for kind, inner in record_files.fields(record_files.block(content)):
            if kind == 2:
                value = record_files.double(inner)
                value = int(value) if value.is_integer() and abs(value) < 2**53 else value
            elif kind == 3:
                value = record_files.text(inner)
            elif kind == 4:
                value = bool(inner)
    return key, value


def _event(record: bytes) -> tuple[float | None, list[tuple[str, int, float | None]]]:
    """Return the time of an event, and tag, step and value of its scalars."""
    time, step = None, 0
    scalars: list[tuple[str, int, float | None]] = []
    for number, value in record_files.fields(record):
        if number == 1:
            time = as_float(record_files.double(value))
        elif number == 2:
            step = record_files.signed(value)
    for summary in record_files.messages(record, 5, 1):
        tag, scalar, is_scalar = "", None, False
        for inner, content in record_files.fields(summary):
            if inner == 1:
                tag = record_files.text(content)
            elif inner == 2:
                scalar, is_scalar = as_float(record_files.single(content)), True
            elif inner == 8:
                numbers = _tensor_number(record_files.block(content))
                scalar, is_scalar = (as_float(numbers[0]), True) if numbers else (None, False)
        if is_scalar and not tag.startswith("_hparams_"):
            scalars.append((tag, step, scalar))
    return time, scalars


def _tensor_number(content: bytes) -> list[float]:
    """Return the number of a tensor of one element, empty for any other."""
    kind, dimensions = 0, 0
    fields: dict[int, int | bytes] = {}
    for number, value in record_files.fields(content):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 2:
            dimensions = sum(
                1 for inner, _ in record_files.fields(record_files.block(value)) if inner == 2
            )
        else:
            fields[number] = value
    if dimensions or kind not in _FIELDS:
        return []
    packed, value = fields.get(4), fields.get(_FIELDS[kind], 0)  # zero is not written at all
    if kind in {_INT, _INT64}:
        if packed:
            return [float(int.from_bytes(record_files.block(packed), "little", signed=True))]
        # A field alone, or in a row of one.
        integer = record_files.varint(value, 0)[0] if isinstance(value, bytes) else value
        return [float(record_files.signed(integer))]
    data = packed or value or bytes(4 if kind == _FLOAT else 8)
    return [record_files.single(data) if kind == _FLOAT else record_files.double(data)]


def _split_trainings(files: Sequence[EventFile], top: PurePosixPath) -> list[list[EventFile]]:
    """Return the files by training: one begins where steps begin again after all was written.

    A run that is resumed goes on at a later step; files of halves are written side by side.
    """
    trainings: list[list[EventFile]] = []
    firsts: dict[str, int] = {}
    end = inf
    for file in files:
        steps = {
            tag: min(row[0] for row in _ROW.iter_unpack(rows)) for tag, rows in _tagged(file, top)
        }
        is_repeated = [step <= firsts[tag] for tag, step in steps.items() if tag in firsts]
        if not trainings or (is_repeated and all(is_repeated) and (file.begun or 0.0) >= end):
            trainings.append([])
            firsts, end = {}, -inf
        trainings[-1].append(file)
        firsts = steps | firsts
        end = max(end, file.ended or -inf)
    return trainings


def _tagged(file: EventFile, top: PurePosixPath) -> Iterator[tuple[str, bytearray]]:
    """Yield the rows of the tags of a file, those of a half with its folder in front."""
    prefix = f"{file.path.parent.name}/" if file.path.parent != top else ""
    return ((prefix + name, rows) for name, rows in file.scalars.items())


def _merge_files(files: Sequence[EventFile], top: PurePosixPath) -> tuple[Rows, list[Problem]]:
    """Return the scalars of all files; a later file replaces those from its first step on."""
    by_tag: Rows = {}
    hidden, first_hidden = 0, 0
    for file in files:
        for tag, rows in _tagged(file, top):
            if rows_before := by_tag.get(tag):
                first_step = min(row[0] for row in _ROW.iter_unpack(rows))
                kept_rows = bytearray().join(
                    _ROW.pack(*row) for row in _ROW.iter_unpack(rows_before) if row[0] < first_step
                )
                n_lost = (len(rows_before) - len(kept_rows)) // _ROW.size
                first_hidden = first_step if n_lost and not hidden else first_hidden
                hidden += n_lost
                rows = kept_rows + rows
            by_tag[tag] = rows
    problems = []
    if hidden:
        text = f"{hidden:,} value(s) replaced by a later file that starts at step {first_hidden:,}"
        problems.append(Problem("restarted", text, "warning"))
    return by_tag, problems


def _run(
    scalars: Rows,
    files: Sequence[EventFile],
    top: PurePosixPath | None,
    log: Log,
    problems: Sequence[Problem],
) -> Run:
    """Return the run of the scalars of its files."""
    start, clock = clock_of(files)
    epochs = {
        step: value
        for tag, rows in scalars.items()
        if tag.rpartition("/")[2] == "epoch"
        for step, _, value in _known_rows(rows)
    }
    tags = wanted_of(scalars.keys(), log)
    measured = [
        Measured(
            tag,
            value,
            step,
            since(time, start),
            # Keras counts the steps of `epoch_` as epochs from 0.
            float(step + 1) if tag.rpartition("/")[2].startswith("epoch_") else epochs.get(step),
        )
        for tag, rows in scalars.items()
        if tag in tags
        for step, time, value in _known_rows(rows)
    ]
    evaluations, remarks = evaluations_of(measured, log, scalars.keys())
    settings: dict[str, Any] = {}
    folder = top or log.folder
    for word in filter(_HPARAMS_FOLDER.fullmatch, log.listing(folder)):
        for path in event_files(log.listing, folder / word[:-1]):
            settings |= _settings_of(tf_records(log.companion(path) or b"").data)
    for file in files:
        settings |= file.settings
    return Run(
        entry=top.name if top else None,
        **clock,
        evaluations=evaluations,
        problems=(*problems, *remarks),
        extra=({"event_files": len(files)} if len(files) > 1 else {})
        | ({"settings": settings} if settings else {}),
    )


def clock_of(files: Sequence[EventFile]) -> tuple[float | None, dict[str, Any]]:
    """Return the time of the first event of a run, and the fields of its clock."""
    start = min((file.begun for file in files if file.begun is not None), default=None)
    end = max((file.ended for file in files if file.ended is not None), default=None)
    return start, {
        "started_at": date_of(start),
        "clock": "wall",
        "clock_zero": "first event",
        "run_seconds": since(end, start),
    }


def scalars_of(file: EventFile) -> Iterator[Scalar]:
    """Yield the scalars of a file, tag by tag."""
    for tag, rows in file.scalars.items():
        yield from (Scalar(tag, *row) for row in _known_rows(rows))


def _known_rows(rows: bytearray) -> Iterator[tuple[int, float | None, float | None]]:
    """Yield step, time and value of the rows of a tag."""
    for step, time, value, _ in _ROW.iter_unpack(rows):
        yield step, time if time == time else None, value if value == value else None
