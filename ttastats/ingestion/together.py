"""Which files beside each other tell the same run, and what does each of them know?

TensorBoard's event files tell when each value was logged; a table of Lightning or the state of a
trainer beside them tells the same values, without times. They are one run: that of the other file,
with these times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isclose
from pathlib import PurePosixPath

from msgspec import structs

from ttastats.base.records import Evaluation, Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers import allennlp, tfevents
from ttastats_parsers.hf_trainer import CHECKPOINT, STATE, run_folder
from ttastats_parsers.payloads import since
from ttastats_parsers.tfevents import EventFile, Scalar

#: Dialects whose files may tell what event files tell too.
DUPLICATING = ("table", "hf-trainer")
#: Folders between the state of a trainer and its event files: `runs/Jan28_23-42-14_host`.
_MOST_FOLDERS = 2
#: Event files keep 32 bits of a number.
_DIGITS = 1e-5

Listing = Callable[[PurePosixPath], Sequence[str]]
EventFiles = Callable[[PurePosixPath], list[PurePosixPath]]
_Key = tuple[str, int | None]


def duplicate_file(log: Log, depth: int, runs_of: Callable[[PurePosixPath], Iterable[Run]]) -> str:
    """Return another file with the run of an event file, or an empty text.

    It lies beside it, or in one of as many folders above as were given.
    """
    paths = [log.folder / name for name in log.listing(log.folder) if name.endswith(".csv")]
    for folder in (log.folder, *log.folder.parents[: min(depth, _MOST_FOLDERS)]):
        names = log.listing(folder)
        if allennlp.FIRST in names:  # it writes the same into `log/train` and `log/validation`
            return allennlp.FIRST
        paths += [folder / STATE] if STATE in names else []
        matches = filter(None, (CHECKPOINT.fullmatch(name[:-1]) for name in names))
        latest = max(matches, key=lambda match: int(match[1] or 0), default=None)
        paths += [folder / latest[0] / STATE] if latest is not None else []
    if not paths:
        return ""
    scalars = _scalars_by_key([tfevents.read_file(log.path, log.blocks())])
    return next(
        (p.name for p in paths if any(_has_same_values(run, scalars) for run in runs_of(p))), ""
    )


def with_times(
    items: list[Run | Problem], log: Log, listing: Listing, event_files: EventFiles
) -> list[Run | Problem]:
    """Return a run without times with those of event files with the same values.

    Where no event files lie, `log.listing` is not asked: other files do not change the run.
    """
    runs = [item for item in items if isinstance(item, Run)]
    if len(runs) != 1 or any(evaluation.seconds is not None for evaluation in runs[0].evaluations):
        return items
    folders = [log.folder]
    if log.name == STATE:  # some trainers write their event files below
        folders = [top := run_folder(log)]
        for folder in (top, top / "runs"):
            names = (name[:-1] for name in listing(folder) if name.endswith("/"))
            folders += [folder / name for name in names if not CHECKPOINT.fullmatch(name)]
    paths = [path for folder in folders for path in event_files(folder)]
    if not paths:
        return items
    log.listing(log.folder)  # what lies around the log decides what it tells
    files = [tfevents.read_file(path, [log.companion(path) or b""]) for path in paths]
    files = [file for file in files if _has_same_values(runs[0], _scalars_by_key([file]))]
    if not files:
        return items
    return [_with_event_times(item, files) if isinstance(item, Run) else item for item in items]


def _scalars_by_key(files: Iterable[EventFile]) -> dict[_Key, Scalar]:
    scalars = (scalar for file in files for scalar in tfevents.scalars_of(file))
    return {_scalar_key(scalar.tag, scalar.step): scalar for scalar in scalars}


def _scalar_key(metric: str, step: int | None) -> _Key:
    return metric.replace("/", "_"), step  # `eval_loss` is logged as `eval/loss`


def _has_same_values(run: Run, scalars: Mapping[_Key, Scalar]) -> bool:
    """Return whether most values of a run are the same in the event files.

    Those of a session that was begun again may differ.
    """
    pairs = [
        (evaluation.logged_value, scalar.value)
        for evaluation in run.evaluations
        if (scalar := scalars.get(_scalar_key(evaluation.metric, evaluation.step))) is not None
    ]
    is_equal = [
        a == b or (a is not None and b is not None and isclose(a, b, rel_tol=_DIGITS))
        for a, b in pairs
    ]
    return sum(is_equal) * 2 > len(is_equal)


def _with_event_times(run: Run, files: Sequence[EventFile]) -> Run:
    """Return a run with the times, the clock and the settings of event files."""
    start, clock = tfevents.clock_of(files)
    scalars = _scalars_by_key(sorted(files, key=lambda file: file.begun or 0.0))

    def timed(evaluation: Evaluation) -> Evaluation:
        scalar = scalars.get(_scalar_key(evaluation.metric, evaluation.step))
        seconds = since(scalar.time, start) if scalar else evaluation.seconds
        return structs.replace(evaluation, seconds=seconds)

    recorded = run.extra.get("settings")
    settings = {key: value for file in files for key, value in file.settings.items()}
    settings |= recorded if isinstance(recorded, Mapping) else {}
    extra = {**run.extra, "event_files": len(files)}
    return structs.replace(
        run,
        **clock | ({"started_at": run.started_at} if run.started_at else {}),
        evaluations=tuple(map(timed, run.evaluations)),
        extra={**extra, "settings": settings} if settings else extra,
    )
