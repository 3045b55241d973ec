"""From logged scores to evaluations: metric names, units, checkpoints and progress.

Losses, learning rates and throughput of training become evaluations with numbers below 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from ttastats.base.benchmarks import FEWEST_SAMPLES, Benchmark, metrics
from ttastats.base.metric_names import higher_is_better
from ttastats.base.quality import Target
from ttastats.base.records import Evaluation, Problem
from ttastats_parsers.mlperf_events import TRAINING_KEYS, Event, Style, labels_of
from ttastats_parsers.payloads import as_float, as_int, shown, since

#: Ranks that log one evaluation each do so within this many seconds; later equal values are real.
_SAME_MOMENT = 1.0
_METRIC_NAMES = {"BBOX": "bbox_map", "SEGM": "segm_map", "FID": "fid", "CLIP": "clip"}
_DEFAULT_METRIC = "eval_accuracy"
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
    known = metrics(benchmark.suite, benchmark.name) if benchmark else {}
    scores = [score for event in events for score in _scores(event, known, targets)]
    scored = _without_copies(scores)
    is_fraction = style.fractional_bleu and all((score.number or 0.0) <= 1.0 for score in scored)
    scales = {"bleu": 100.0 if is_fraction else 1.0}
    shared = {
        metric: shared_fields(metric, known, targets.get(metric), scales.get(metric, 1.0))
        for metric in {score.metric for score in scored}
    }
    shift = _label_shift(scored, style)
    steps = _labels_are_steps(scored, start, benchmark)
    zero = start.time
    evaluations = []
    for index, score in zip(_checkpoint_numbers(scored), scored, strict=True):
        epoch, step, samples = _progress(score, benchmark, shift, steps, global_batch_size)
        evaluations.append(
            Evaluation(
                index=index,
                value=score.number and score.number * scales.get(score.metric, 1.0),
                logged_value=score.number,
                seconds=since(score.event.time, zero),
                weights_seconds=since(_ready_time(score, ready), zero),
                epoch=epoch,
                step=step,
                samples=samples,
                line=score.event.line,
                **shared[score.metric],
            )
        )
    counts_samples = benchmark is not None and benchmark.progress == "samples"
    none_has_samples = all(evaluation.samples is None for evaluation in evaluations)
    if trained is not None and counts_samples and evaluations and none_has_samples:
        evaluations[-1] = replace(evaluations[-1], samples=trained)
    return tuple(evaluations), list(_copy_problems(scores, scored))


def shared_fields(
    metric: str, directions: Mapping[str, bool], target: Target | None, scale: float = 1.0
) -> dict[str, Any]:
    """Return what evaluations of a metric share; `scale` turns logged values into base units."""
    goal = target.value if target else None
    return {
        "metric": metric,
        "logged_unit": "fraction" if scale != 1.0 else None,
        "higher_is_better": target.higher_is_better if target else directions.get(metric),
        # A log may name its own target in fractions too.
        "target_value": goal * scale if goal is not None and goal <= 1.0 else goal,
        "target_source": target.source if target else None,
    }


def _scores(event: Event, known: Collection[str], targets: Collection[str]) -> list[_Score]:
    """Return the scores of one event: a number, text, a pair, or a mapping of names to numbers."""
    value, named, is_pair = event.value, event.metadata.metric, False
    numbers: Mapping[Any, Any]
    if isinstance(value, dict):
        inner = value.get("accuracy", value)
        numbers = inner if isinstance(inner, dict) else {_DEFAULT_METRIC: inner}
    elif isinstance(value, list) and len(value) == 2:  # one system logs [box, mask] from epoch 0
        numbers, is_pair = {"BBOX": value[0], "SEGM": value[1]}, True
    else:
        number = value[0] if isinstance(value, list) and value else value
        numbers = {named if isinstance(named, str) else None: number}
    labels = map(as_float, labels_of(event.metadata))
    label = next((label for label in labels if label is not None), None)
    return [
        _Score(event, _metric_name(name, known, targets), as_float(number), label, is_pair)
        for name, number in numbers.items()
    ]


def _metric_name(label: Any, known: Collection[str], targets: Collection[str]) -> str:
    """Return the metric of a label; without one, the only metric of the targets or benchmark."""
    if label is None and len(targets) == 1:
        return next(iter(targets))
    text = _DEFAULT_METRIC if label is None else str(label)
    name = _METRIC_NAMES.get(text.upper(), text.lower())
    return next(iter(known)) if name == _DEFAULT_METRIC and len(known) == 1 else name


def _without_copies(scores: Iterable[_Score]) -> list[_Score]:
    """Return the scores without those that other ranks logged in the same moment."""
    last: dict[tuple[str, float | None, float | None], float] = {}
    unique = []
    for score in scores:
        identity = (score.metric, score.number, score.label)
        time = score.event.time or 0.0
        if identity not in last or time - last[identity] > _SAME_MOMENT:
            unique.append(score)
        last[identity] = time
    return unique


def _copy_problems(scores: Sequence[_Score], unique: Sequence[_Score]) -> Iterable[Problem]:
    """Yield a problem for copies that were left out, and for scores that are no numbers."""
    if len(unique) < len(scores):
        text = f"{len(scores) - len(unique)} evaluation(s) repeated by other ranks: one kept"
        yield Problem("rank_copies", text, "info")
    if unread := [score.event for score in unique if score.number is None]:
        first = shown(unread[0].value)[:60]
        text = f"{len(unread)} score(s) are not finite numbers, first: {first}"
        yield Problem("unreadable_score", text, "warning", unread[0].line)


def _label_shift(scores: Sequence[_Score], style: Style) -> float:
    """Return the number to add to an evaluation's label to get epochs trained."""
    if style.labels_epoch_just_trained:  # counted from 0, and in some systems from -1
        labels = [score.label for score in scores if score.label is not None]
        return 2.0 if min(labels, default=0.0) < 0 else 1.0
    return 1.0 if any(score.from_zero for score in scores) else 0.0


def _checkpoint_numbers(scores: Sequence[_Score]) -> list[int]:
    """Return the checkpoint of each score: metrics of one checkpoint share its label."""
    labels = [score.label for score in scores if score.label is not None]
    if len(set(labels)) == len(labels):  # one metric, as in most logs
        return list(range(len(scores)))
    numbers: dict[tuple[float, int | None], int] = {}
    seen: dict[tuple[str, float], int] = {}
    indices = []
    for position, score in enumerate(scores):
        key: tuple[float, int | None] = position, None
        if (label := score.label) is not None:
            key = label, seen.get((score.metric, label), 0)
            seen[score.metric, label] = key[1] + 1
        indices.append(numbers.setdefault(key, len(numbers)))
    return indices


def _labels_are_steps(scores: Sequence[_Score], start: Event, benchmark: Benchmark | None) -> bool:
    """Return whether a benchmark that counts samples has training steps as labels.

    Most systems label them all alike, and some number them, which tells nothing.
    """
    if benchmark is None or benchmark.progress != "samples":
        return False
    zero = start.time or 0.0
    scored = [score for score in scores if (score.event.time or 0.0) >= zero]
    labels = [score.label for score in scored if score.label is not None]
    return len(labels) > 1 and all(b - a > 1 for a, b in pairwise(labels))


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


def _ready_time(score: _Score, ready: Ready) -> float | None:
    """Return when the evaluated weights existed, by the best and latest evidence before."""
    time = score.event.time
    if score.label is None or time is None:
        return None
    earlier = [evidence for evidence in ready.get(score.label, ()) if evidence[1] <= time]
    return max(earlier)[1] if earlier else None


def training_of(by_key: Mapping[str, Sequence[Event]], start: Event) -> list[Evaluation]:
    """Return training metrics in the order of time, numbered below 0.

    The key `step` of `tracked_stats` is left out: it counts samples, steps or epochs.
    """
    events = [event for key in TRAINING_KEYS for event in by_key.get(key, ())]
    events.sort(key=lambda event: event.time or 0)
    evaluations = []
    for index, event in enumerate(events, start=-len(events)):
        about = event.metadata
        logged = event.value if isinstance(event.value, dict) else {event.key: event.value}
        rate = {} if about.lr is None else {"lr": about.lr}
        for metric, number in {**logged, **rate}.items():
            if (value := as_float(number)) is None:
                continue
            evaluations.append(
                Evaluation(
                    index=index,
                    metric=str(metric),
                    value=value,
                    logged_value=value,
                    seconds=since(event.time, start.time),
                    higher_is_better=higher_is_better(str(metric)),
                    epoch=as_float(about.epoch_num),
                    step=as_int(about.step_num),
                    samples=as_int(about.samples_count),
                    line=event.line,
                )
            )
    return evaluations
