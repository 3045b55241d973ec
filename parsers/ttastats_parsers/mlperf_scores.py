"""From logged scores to evaluations: metric names, units, checkpoints and progress.

Losses, learning rates and throughput of training become evaluations with numbers below 0. Logs of
`ttastats train` and `ttastats.record` follow no rule of a round: one process wrote them, every
score names its metric, and its labels mean what their names say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from ttastats.base.benchmarks import FEWEST_SAMPLES, Benchmark, metrics
from ttastats.base.metrics import Target, higher_is_better
from ttastats.base.records import Evaluation, Problem
from ttastats_parsers.mlperf_events import TRAINING_KEYS, Event, Style, labels_of
from ttastats_parsers.payloads import as_float, as_int, shown, since

#: Ranks that log one evaluation each do so within this many seconds; later equal values are real.
_SAME_MOMENT = 1.0
_METRIC_NAMES = {"BBOX": "bbox_map", "SEGM": "segm_map", "FID": "fid", "CLIP": "clip"}
_DEFAULT_METRIC = "eval_accuracy"
#: Clocks beside the wall that an evaluation of a recorded run may have.
_CLOCKS = ("cpu_seconds", "training_seconds", "training_cpu_seconds")
#: By progress label: how good each evidence is, and when it says that the weights were ready.
Ready = Mapping[float, Sequence[tuple[int, float]]]


class _Score(msgspec.Struct, frozen=True, gc=False):
    event: Event
    metric: str
    number: float | None
    label: float | None
    from_zero: bool = False  # the label counts from 0


def evaluations_of(
    events: Iterable[Event],
    ready: Ready,
    start: Event,
    benchmark: Benchmark | None,
    targets: Mapping[str, Target],
    style: Style,
    global_batch_size: int | None,
    trained: int | None,
) -> tuple[tuple[Evaluation, ...], list[Problem]]:
    """Return the evaluations of a run in the order of time, and the problems found.

    The events are in the order of time. `ready` tells when the weights of a progress label were
    ready, on the log's clock; `trained` are the samples of the whole run where the log says so.
    """
    rules = metrics(benchmark.suite, benchmark.name) if benchmark else {}
    all_scores = [score for event in events for score in _scores(event, rules, targets)]
    scores, problems = _distinct_scores(all_scores)
    is_fraction = style.fractional_bleu and all((score.number or 0.0) <= 1.0 for score in scores)
    scales = {"bleu": 100.0 if is_fraction else 1.0}
    shared = {
        metric: _shared_fields(metric, rules, targets.get(metric), scales.get(metric, 1.0))
        for metric in {score.metric for score in scores}
    }
    labels = [score.label for score in scores if score.label is not None]
    shift = 1.0 if any(score.from_zero for score in scores) else 0.0
    if style.labels_epoch_just_trained:  # counted from 0, and in some systems from -1
        shift = 2.0 if min(labels, default=0.0) < 0 else 1.0
    zero = start.time
    # Most systems that count samples label all evaluations alike, and some number them, which says
    # nothing; the others have training steps as labels.
    counts_samples = benchmark is not None and benchmark.progress == "samples"
    timed = [score for score in scores if (score.event.time or 0.0) >= (zero or 0.0)]
    steps = [score.label for score in timed if score.label is not None] if counts_samples else []
    labels_are_steps = len(steps) > 1 and all(b - a > 1 for a, b in pairwise(steps))
    evaluations = []
    for index, score in zip(_checkpoint_numbers(scores, labels), scores, strict=True):
        time, ready_time = score.event.time, None
        if score.label is not None and time is not None:
            # The best evidence before the evaluation, and of equal ones the latest.
            evidence_before = [
                evidence for evidence in ready.get(score.label, ()) if evidence[1] <= time
            ]
            ready_time = max(evidence_before)[1] if evidence_before else None
        epoch, step, samples = _progress(
            score, benchmark, shift, labels_are_steps, global_batch_size
        )
        evaluations.append(
            Evaluation(
                index=index,
                value=score.number and score.number * scales.get(score.metric, 1.0),
                logged_value=score.number,
                seconds=since(time, zero),
                weights_seconds=since(ready_time, zero),
                epoch=epoch,
                step=step,
                samples=samples,
                line=score.event.line,
                **shared[score.metric],
            )
        )
    none_has_samples = all(evaluation.samples is None for evaluation in evaluations)
    if trained is not None and counts_samples and evaluations and none_has_samples:
        evaluations[-1] = replace(evaluations[-1], samples=trained)
    return tuple(evaluations), problems


def _shared_fields(
    metric: str, directions: Mapping[str, bool], target: Target | None, scale: float = 1.0
) -> dict[str, Any]:
    """Return the shared fields of evaluations of a metric; `scale` turns values into base units."""
    goal = target.value if target else None
    return {
        "metric": metric,
        "logged_unit": "fraction" if scale != 1.0 else None,
        "higher_is_better": target.higher_is_better if target else directions.get(metric),
        # A log may name its own target in fractions too.
        "target_value": goal * scale if goal is not None and goal <= 1.0 else goal,
        "target_source": target.source if target else None,
    }


def _scores(event: Event, names: Collection[str], targets: Collection[str]) -> list[_Score]:
    """Return the scores of one event: a number, text, a pair, or a mapping of names to numbers."""
    value, metric, is_pair = event.value, event.metadata.metric, False
    numbers: Mapping[Any, Any]
    if isinstance(value, dict):
        inner = value.get("accuracy", value)
        numbers = inner if isinstance(inner, dict) else {_DEFAULT_METRIC: inner}
    elif isinstance(value, list) and len(value) == 2:  # one system logs [box, mask] from epoch 0
        numbers, is_pair = {"BBOX": value[0], "SEGM": value[1]}, True
    else:
        number = value[0] if isinstance(value, list) and value else value
        numbers = {metric if isinstance(metric, str) else None: number}
    labels = map(as_float, labels_of(event.metadata))
    label = next((label for label in labels if label is not None), None)
    return [
        _Score(event, _metric_name(name, names, targets), as_float(number), label, is_pair)
        for name, number in numbers.items()
    ]


def _metric_name(label: Any, names: Collection[str], targets: Collection[str]) -> str:
    """Return the metric of a label; without one, the only metric of the targets or benchmark."""
    if label is None and len(targets) == 1:
        return next(iter(targets))
    text = _DEFAULT_METRIC if label is None else str(label)
    name = _METRIC_NAMES.get(text.upper(), text.lower())
    return next(iter(names)) if name == _DEFAULT_METRIC and len(names) == 1 else name


def _distinct_scores(scores: Sequence[_Score]) -> tuple[list[_Score], list[Problem]]:
    """Return the scores without copies that other ranks logged in the same moment, and problems."""
    last_times: dict[tuple[str, float | None, float | None], float] = {}
    distinct, problems = list[_Score](), list[Problem]()
    for score in scores:
        identity = (score.metric, score.number, score.label)
        time = score.event.time or 0.0
        if identity not in last_times or time - last_times[identity] > _SAME_MOMENT:
            distinct.append(score)
        last_times[identity] = time
    if len(distinct) < len(scores):
        text = f"{len(scores) - len(distinct)} evaluation(s) repeated by other ranks: one kept"
        problems.append(Problem("rank_copies", text, "info"))
    if unread := [score.event for score in distinct if score.number is None]:
        example = shown(unread[0].value)[:60]
        text = f"{len(unread)} score(s) are not finite numbers, first: {example}"
        problems.append(Problem("unreadable_score", text, "warning", unread[0].line))
    return distinct, problems


def _checkpoint_numbers(scores: Sequence[_Score], labels: Sequence[float]) -> Iterable[int]:
    """Return the checkpoint of each score: metrics of one checkpoint share its label."""
    if len(set(labels)) == len(labels):  # one metric, as in most logs
        return range(len(scores))
    numbers: dict[tuple[float, int | None], int] = {}
    counts: dict[tuple[str, float], int] = {}
    indices = []
    for position, score in enumerate(scores):
        key: tuple[float, int | None] = position, None
        if (label := score.label) is not None:
            key = label, counts.get((score.metric, label), 0)
            counts[score.metric, label] = key[1] + 1
        indices.append(numbers.setdefault(key, len(numbers)))
    return indices


def _progress(
    score: _Score,
    benchmark: Benchmark | None,
    shift: float,
    labels_are_steps: bool,
    global_batch_size: int | None,
) -> tuple[float | None, int | None, int | None]:
    """Return epochs, steps and samples trained at a score."""
    # Most logs have one of these; as_int and as_float are not called for the others.
    samples, step, label = labels_of(score.event.metadata)
    if samples is None and step is None:
        label = score.label
    else:
        samples = None if samples is None else as_int(samples)
        step = None if step is None else as_int(step)
        label = None if label is None else as_float(label)
    epoch = None
    if label is not None and label >= FEWEST_SAMPLES:
        tokens = (benchmark and benchmark.tokens_per_sample) or 1
        samples = samples or as_int(round(label / tokens))
    elif labels_are_steps and step is None and samples is None:
        step = as_int(label)
    elif label is not None and (benchmark is None or benchmark.progress == "epochs"):
        epoch = label + shift
    counts_samples = benchmark is not None and benchmark.progress == "samples"
    if counts_samples and samples is None and step is not None and global_batch_size:
        samples = as_int(step * global_batch_size)
    if epoch is None and samples is not None and benchmark and benchmark.epoch_samples:
        epoch = samples / benchmark.epoch_samples
    return epoch, step, samples


def training_of(by_key: Mapping[str, Sequence[Event]], start: Event) -> list[Evaluation]:
    """Return training metrics in the order of time, numbered below 0.

    The key `step` of `tracked_stats` is left out: it counts samples, steps or epochs.
    """
    events = [event for key in TRAINING_KEYS for event in by_key.get(key, ())]
    events.sort(key=lambda event: event.time or 0)
    evaluations = []
    for index, event in enumerate(events, start=-len(events)):
        logged = event.value if isinstance(event.value, dict) else {event.key: event.value}
        rate = {} if event.metadata.lr is None else {"lr": event.metadata.lr}
        for metric, number in {**logged, **rate}.items():
            if (value := as_float(number)) is not None:
                shared = {"metric": str(metric), "higher_is_better": higher_is_better(str(metric))}
                evaluations.append(_plain_evaluation(event, index, value, start, shared))
    return evaluations


def recorded_evaluations(
    events: Sequence[Event], start: Event, targets: Mapping[str, Target]
) -> tuple[tuple[Evaluation, ...], dict[str, list[float | None]], list[Problem]]:
    """Return the evaluations of a recorded run, its checkpoints' times by other clocks, problems.

    The events are in the order of time; metrics that are logged together share a checkpoint.
    """
    evaluations, problems = list[Evaluation](), list[Problem]()
    checkpoints = list[Event]()
    moment, logged = None, set[str]()
    for event in events:
        checkpoint, metric = (event.time, labels_of(event.metadata)), shown(event.metadata.metric)
        if checkpoint != moment or metric in logged:
            moment, logged = checkpoint, set()
            checkpoints.append(event)
        logged.add(metric)
        shared = _shared_fields(metric, {}, targets.get(metric))
        value = as_float(event.value)
        evaluations.append(_plain_evaluation(event, len(checkpoints) - 1, value, start, shared))
    if unread := [evaluation for evaluation in evaluations if evaluation.value is None]:
        text = f"{len(unread)} score(s) are not finite numbers"
        problems.append(Problem("unreadable_score", text, "warning", unread[0].line))
    times = {
        name: [as_float(getattr(event.metadata, name)) for event in checkpoints] for name in _CLOCKS
    }
    clocks = {name: values for name, values in times.items() if any(v is not None for v in values)}
    return tuple(evaluations), clocks, problems


def _plain_evaluation(
    event: Event, index: int, value: float | None, start: Event, shared: Mapping[str, Any]
) -> Evaluation:
    """Return the evaluation of an event whose labels mean what their names say."""
    samples, step, epoch = labels_of(event.metadata)
    return Evaluation(
        index=index,
        value=value,
        logged_value=value,
        seconds=since(event.time, start.time),
        epoch=as_float(epoch),
        step=as_int(step),
        samples=as_int(samples),
        line=event.line,
        **shared,
    )
