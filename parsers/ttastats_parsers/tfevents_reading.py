"""TensorBoard event files: scalars of TensorFlow 1 and 2, PyTorch, JAX and Keras.

The clock is the wall time at which a value was written, from the first event of the run. Files of
one folder are one run, which was restarted: as TensorBoard does, values of a later file hide those
of earlier ones from its first step on. Folders `train` and `validation` side by side, as Keras
makes them, are one run too, whose metrics are named after the folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers import protobuf
from ttastats_parsers.checkpoints import Measured, evaluations_of
from ttastats_parsers.payloads import as_float, date_of, since
from ttastats_parsers.tfrecords import records_of

_NAME = re.compile(r"tfevents\.(\d{9,11})?")
_SETTINGS = b"_hparams_/session_start_info"
#: Folders that hold the halves of one run beside each other.
_HALVES = frozenset({"train", "training", "validation", "val", "valid", "eval", "test"})
_FLOAT, _DOUBLE, _INT, _LONG = 1, 2, 3, 9
#: Where a tensor keeps its one number, by its type, if not as plain bytes.
_KEPT = {_FLOAT: 5, _DOUBLE: 6, _INT: 7, _LONG: 10}


class Scalar(NamedTuple):
    """One value of a tag."""

    tag: str
    step: int
    time: float | None
    value: float | None


class EventFile(NamedTuple):
    """What a file tells: its scalars, the first and the last time of any event, what is wrong.

    `settings` says that it was written to hold hyperparameters.
    """

    scalars: list[Scalar]
    begun: float | None
    ended: float | None
    problems: list[Problem]
    settings: bool


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run, from its first file; the others are parts of it."""
    top, files = _files(log)
    if files[0] != log.path:
        return
    read = [
        (place, _read(log.read() if place == log.path else log.companion(place) or b""))
        for place in files
    ]
    damage = []
    for place, found in read:
        where = "" if place == log.path else f"{place.relative_to(top)}: "
        damage += [
            Problem(one.code, f"{where}{one.message}", one.severity) for one in found.problems
        ]
    if _is_of_settings(log, [found for _, found in read]):
        yield from damage or [_NOT_A_RUN]
        return
    merged, problems = _merged(read, top)
    if merged:
        other_top = None if top == log.folder else top
        yield _run(merged, [found for _, found in read], other_top, log, [*damage, *problems])
        return
    yield from damage or [_NOT_A_RUN]


def _is_of_settings(log: Log, files: Sequence[EventFile]) -> bool:
    """Return whether `add_hparams` made the folder, which repeats a run's last values."""
    return all(file.settings for file in files) and bool(_event_files(log, log.folder.parent))


_NOT_A_RUN = Problem("not_a_run", "contains settings, texts or graphs but no scalars", "info")


def _files(log: Log) -> tuple[PurePosixPath, list[PurePosixPath]]:
    """Return folder and the files of the run of a file, in the order in which they were begun."""
    if not _NAME.search(log.name):
        return log.folder, [log.path]
    top, folders = _folders(log)
    found = [place for folder in folders for place in _event_files(log, folder)]
    return top, sorted({log.path, *found}, key=_begun)


def _begun(place: PurePosixPath) -> tuple[int, str]:
    match = _NAME.search(place.name)
    return int(match[1]) if match and match[1] else 0, str(place)


def _event_files(log: Log, folder: PurePosixPath) -> list[PurePosixPath]:
    return [folder / word for word in log.listing(folder) if _NAME.search(word) and word[-1] != "/"]


def _folders(log: Log) -> tuple[PurePosixPath, list[PurePosixPath]]:
    """Return the folder of a run, and those that hold its files: itself, or halves of it below.

    A folder that is called `test` is a half only if another one lies beside it or files above it.
    """
    for top in (log.folder, log.folder.parent):
        halves = [top / word[:-1] for word in log.listing(top) if word[:-1].lower() in _HALVES]
        found = [folder for folder in (top, *halves) if _event_files(log, folder)]
        if len(found) > 1 and log.folder in found:
            return top, found
    return log.folder, [log.folder]


def _read(content: bytes) -> EventFile:
    """Return what a file tells, as far as it can be read."""
    records = records_of(content)
    scalars: list[Scalar] = []
    times: list[float] = []
    strange = 0
    for record in records.data:
        try:
            time, found = _event(record)
        except ValueError:
            strange += 1
            continue
        scalars += found
        if time is not None and time > 0:
            times.append(time)
    problems = list(records.problems())
    if strange:
        text = f"{strange:,} record(s) are not events"
        problems.append(Problem("unreadable_record", text, "warning"))
    begun, ended = min(times, default=None), max(times, default=None)
    settings = any(_SETTINGS in record for record in records.data)
    return EventFile(scalars, begun, ended, problems, settings)


def _event(record: bytes) -> tuple[float | None, list[Scalar]]:
    time, step, summaries = None, 0, []
    for number, value in protobuf.fields(record):
        if number == 1:
            time = as_float(protobuf.double(value))
        elif number == 2:
            step = protobuf.signed(value)
        elif number == 5:
            summaries.append(protobuf.block(value))
    found = [Scalar(tag, step, time, value) for item in summaries for tag, value in _values(item)]
    return time, found


def _values(summary: bytes) -> Iterator[tuple[str, float | None]]:
    """Yield the tags and numbers of a summary; what is no number, such as an image, is left out."""
    for number, value in protobuf.fields(summary):
        if number != 1:
            continue
        tag, scalar, is_scalar = "", None, False
        for inner, content in protobuf.fields(protobuf.block(value)):
            if inner == 1:
                tag = protobuf.text(content)
            elif inner == 2:
                scalar, is_scalar = as_float(protobuf.single(content)), True
            elif inner == 8:
                numbers = _tensor(protobuf.block(content))
                scalar, is_scalar = (as_float(numbers[0]), True) if numbers else (None, False)
        if is_scalar and not tag.startswith("_hparams_"):
            yield tag, scalar


def _tensor(content: bytes) -> list[float]:
    """Return the number of a tensor that is one number, nothing of any other."""
    kind, dimensions = 0, 0
    kept: dict[int, int | bytes] = {}
    for number, value in protobuf.fields(content):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 2:
            dimensions = sum(1 for inner, _ in protobuf.fields(protobuf.block(value)) if inner == 2)
        else:
            kept[number] = value
    if dimensions or kind not in _KEPT:
        return []
    plain, value = kept.get(4), kept.get(_KEPT[kind], 0)  # zero is not written at all
    if kind in {_INT, _LONG}:
        return [float(_whole(plain, value))]
    data = plain or value or bytes(4 if kind == _FLOAT else 8)
    return [protobuf.single(data) if kind == _FLOAT else protobuf.double(data)]


def _whole(plain: int | bytes | None, value: int | bytes) -> int:
    """Return whole number that is kept as plain bytes, or as a field, alone or in a row of one."""
    if plain:
        return int.from_bytes(protobuf.block(plain), "little", signed=True)
    return protobuf.signed(protobuf.varint(value, 0)[0] if isinstance(value, bytes) else value)


def _merged(
    read: Sequence[tuple[PurePosixPath, EventFile]], top: PurePosixPath
) -> tuple[list[Scalar], list[Problem]]:
    """Return the scalars of all files; of a tag, a later file counts from its first step on."""
    by_tag: dict[str, list[Scalar]] = {}
    hidden, first_hidden = 0, 0
    for place, found in read:
        prefix = f"{place.parent.name}/" if place.parent != top else ""
        fresh: dict[str, list[Scalar]] = {}
        for scalar in found.scalars:
            fresh.setdefault(prefix + scalar.tag, []).append(
                scalar._replace(tag=prefix + scalar.tag)
            )
        for tag, scalars in fresh.items():
            first = min(scalar.step for scalar in scalars)
            before = by_tag.get(tag, [])
            kept = [scalar for scalar in before if scalar.step < first]
            first_hidden = first_hidden if len(kept) == len(before) or hidden else first
            hidden += len(before) - len(kept)
            by_tag[tag] = kept + scalars
    problems = []
    if hidden:
        text = f"{hidden:,} value(s) replaced by a later file that starts at step {first_hidden:,}"
        problems.append(Problem("restarted", text, "warning"))
    return [scalar for scalars in by_tag.values() for scalar in scalars], problems


def _run(
    scalars: Sequence[Scalar],
    files: Sequence[EventFile],
    top: PurePosixPath | None,
    log: Log,
    problems: Sequence[Problem],
) -> Run:
    begun = min((file.begun for file in files if file.begun is not None), default=None)
    ended = max((file.ended for file in files if file.ended is not None), default=None)
    epochs = {s.step: s.value for s in scalars if s.tag.rpartition("/")[2] == "epoch"}
    measured = [
        Measured(
            scalar.tag, scalar.value, scalar.step, since(scalar.time, begun), _epoch(scalar, epochs)
        )
        for scalar in scalars
    ]
    evaluations, said = evaluations_of(measured, log)
    return Run(
        entry=top.name if top else None,
        started_at=date_of(begun),
        clock="wall",
        clock_zero="first event",
        run_seconds=since(ended, begun),
        evaluations=evaluations,
        problems=(*problems, *said),
        extra={"event_files": len(files)} if len(files) > 1 else {},
    )


def _epoch(scalar: Scalar, epochs: dict[int, float | None]) -> float | None:
    """Return the epochs trained, logged at the same step; Keras counts those of `epoch_` from 0."""
    if scalar.tag.rpartition("/")[2].startswith("epoch_"):
        return float(scalar.step + 1)
    return epochs.get(scalar.step)
