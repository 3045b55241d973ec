"""AllenNLP: `metrics_epoch_0.json`, `metrics_epoch_1.json` ... of a folder are one run.

Each file tells the metrics of its epoch, from 0, and how long the training has taken so far, which
starts again where it was resumed. `metrics.json` tells the last epoch again. `best_validation_...`
are metrics of an earlier epoch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import NO_EVALUATION, PART_OF_A_RUN, Log
from ttastats_parsers.checkpoints import Measured, evaluations_of
from ttastats_parsers.payloads import as_float, as_mapping, json_value

name = "allennlp"

FIRST = "metrics_epoch_0.json"
_EPOCH = re.compile(r"metrics_epoch_(\d{1,9})\.json")
_OVERALL = "metrics.json"
_KEYS = (b'"training_duration"', b'"best_epoch"', b'"epoch"')
_DURATION = re.compile(r"(?:(\d+) days?, )?(\d+):(\d\d):(\d\d(?:\.\d+)?)")
_MEASURED = ("validation_", "training_")


def recognises(head: bytes, path: str) -> bool:
    """Return whether a file is of an epoch, or of the last, by its name and its keys."""
    file = path.rpartition("/")[2]
    if not head:
        return _EPOCH.fullmatch(file) is not None
    is_named = file == _OVERALL or _EPOCH.fullmatch(file) is not None
    return is_named and all(key in head for key in _KEYS)


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run from the file of its first epoch; the others are parts of it."""
    files = {log.name, *filter(_EPOCH.fullmatch, log.listing(log.folder))}
    of_epochs = sorted(filter(_EPOCH.fullmatch, files), key=_number)
    if of_epochs and log.name == _OVERALL:
        yield Problem(PART_OF_A_RUN, f"its last epoch is that of {of_epochs[-1]}", "info")
    elif log.name == (of_epochs or [_OVERALL])[0]:
        yield _run(log, of_epochs or [_OVERALL])


def _number(file: str) -> int:
    match = _EPOCH.fullmatch(file)
    return int(match[1]) if match else 0


def _run(log: Log, files: list[str]) -> Run:
    """Return the run in the files of its epochs, in their order."""
    measured: list[Measured] = []
    problems: list[Problem] = []
    session_start = latest = 0.0
    for file in files:
        content = log.read() if file == log.name else log.companion(log.folder / file)
        epoch = as_mapping(json_value(content or b""))
        if not epoch:
            problems.append(Problem("unreadable_file", f"{file}: not an object of JSON", "error"))
            continue
        seconds = _seconds(epoch)
        if seconds is not None and seconds < latest - session_start:
            problems.append(
                Problem("resumed", f"resumed at {file}: the seconds are added up", "info")
            )
            session_start = latest
        latest = latest if seconds is None else session_start + seconds
        number = as_float(epoch.get("epoch"))
        epochs = (_number(file) if number is None else number) + 1
        measured += _values(epoch, epochs, None if seconds is None else latest)
    is_evaluated = any(item.metric.startswith(_MEASURED[0]) for item in measured)
    evaluations, remarks = evaluations_of(measured if is_evaluated else (), log)
    return Run(
        framework="allennlp",
        clock="wall",
        clock_zero="start of training",
        run_seconds=latest or None,
        evaluations=tuple(structs.replace(evaluation, step=None) for evaluation in evaluations),
        problems=(*problems, *remarks, *([] if evaluations else [NO_EVALUATION])),
    )


def _seconds(epoch: Mapping[str, Any]) -> float | None:
    """Return the seconds of training so far."""
    match = _DURATION.fullmatch(str(epoch.get("training_duration")))
    if match is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return days * 86_400 + hours * 3_600 + minutes * 60 + seconds


def _values(fields: Mapping[str, Any], epoch: float, seconds: float | None) -> Iterator[Measured]:
    """Yield the metrics of an epoch, whose number is their step until they are sorted."""
    for metric, value in fields.items():
        if metric.startswith(_MEASURED) and isinstance(value, int | float):
            yield Measured(metric, as_float(value), int(epoch), seconds, epoch)
