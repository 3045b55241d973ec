"""What does a run of one's own tell, of `ttastats train` or recorded by `ttastats.record`?

No rule of a round reads it: one process wrote the log, every score names its metric, and its labels
mean what their names say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from ttastats.base.quality import Target
from ttastats.base.records import Evaluation, Problem, RunStatus
from ttastats_parsers.mlperf_events import Event, labels_of
from ttastats_parsers.mlperf_scores import shared_fields
from ttastats_parsers.payloads import as_float, as_int, shown, since

#: Clocks beside the wall that an evaluation may tell.
_CLOCKS = ("cpu_seconds", "training_seconds", "training_cpu_seconds")
#: Reasons of an end that the user asked for, which says nothing of the setup. Until version 0.2 a
#: log called every `sys.exit` by its type alone.
_INTERRUPTED = frozenset(
    {"SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "KeyboardInterrupt", "SystemExit"}
)


def end_of(status: RunStatus, stop: Event | None) -> tuple[RunStatus, list[Problem]]:
    """Return how a run ended: interrupted by the user, by an exception, or as its log says.

    A problem names the exception. A log without an end is that of a process that was killed, for
    example for want of memory: it stays `truncated`, and fails like any other.
    """
    reason = shown(stop.metadata.reason) if stop is not None else ""
    if stop is None or status != "aborted" or reason in {"", "None", "epochs"}:
        return status, []
    if reason in _INTERRUPTED:
        return "stopped", []
    return "exception", [Problem("exception", reason, "warning", stop.line)]


def clocks_of(events: Sequence[Event]) -> dict[str, list[float | None]]:
    """Return the times of each checkpoint by other clocks than the wall clock."""
    numbered = zip(_checkpoints(events), events, strict=True)
    first = [next(group)[1] for _, group in groupby(numbered, key=lambda pair: pair[0])]
    times = {name: [as_float(getattr(event.metadata, name)) for event in first] for name in _CLOCKS}
    return {name: values for name, values in times.items() if any(v is not None for v in values)}


def evaluations_of(
    events: Sequence[Event], start: Event, targets: Mapping[str, Target]
) -> tuple[tuple[Evaluation, ...], list[Problem]]:
    """Return evaluations in the order of time, and the problem of scores that are no numbers."""
    evaluations, problems = [], []
    for index, event in zip(_checkpoints(events), events, strict=True):
        samples, step, epoch = labels_of(event.metadata)
        metric, value = shown(event.metadata.metric), as_float(event.value)
        evaluations.append(
            Evaluation(
                index=index,
                value=value,
                logged_value=value,
                seconds=since(event.time, start.time),
                epoch=as_float(epoch),
                step=as_int(step),
                samples=as_int(samples),
                line=event.line,
                **shared_fields(metric, {}, targets.get(metric)),
            )
        )
    if unread := [evaluation for evaluation in evaluations if evaluation.value is None]:
        text = f"{len(unread)} score(s) are not finite numbers"
        problems.append(Problem("unreadable_score", text, "warning", unread[0].line))
    return tuple(evaluations), problems


def _checkpoints(events: Sequence[Event]) -> Iterator[int]:
    """Number the checkpoints: the metrics of one are logged together."""
    index, moment = -1, None
    metrics: set[str] = set()
    for event in events:
        place, metric = (event.time, labels_of(event.metadata)), shown(event.metadata.metric)
        if place != moment or metric in metrics:
            index, moment, metrics = index + 1, place, set()
        metrics.add(metric)
        yield index
