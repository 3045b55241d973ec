"""From logged scores to evaluations: metric names, units, checkpoints and progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ttastats.quality import Benchmark, Target, metrics
from ttastats.records import Evaluation, Problem
from ttastats_parsers.mlperf_events import Event, as_float, as_int

#: Labels of at least this size are samples, however the log names them: no run has more epochs.
_FEWEST_SAMPLES = 20_000
#: Ranks that log one evaluation each do so within this many seconds; later equal values are real.
_SAME_MOMENT = 1.0
_METRIC_NAMES = {"BBOX": "bbox_map", "SEGM": "segm_map", "FID": "fid", "CLIP": "clip"}
_DEFAULT_METRIC = "eval_accuracy"


@dataclass(frozen=True, slots=True)
class _Score:
    event: Event
    metric: str
    number: float | None
    label: float | None
    from_zero: bool = False  # the label counts from 0


@dataclass(frozen=True, slots=True)
class _Progress:
    epoch: float | None = None
    step: int | None = None
    samples: int | None = None


def evaluations_of(
    events: Iterable[Event],
    weights_times: Mapping[float, float],
    start: Event,
    benchmark: Benchmark | None,
    targets: Mapping[str, Target],
    *,
    fractional_bleu: bool,
    trained_labels: Sequence[Any],
) -> tuple[tuple[Evaluation, ...], list[Problem]]:
    """Give the evaluations of a run in the order of time, and what had to be resolved.

    Parameters
    ----------
    events
        The `eval_accuracy` events in the order of time.
    weights_times
        When the weights of a progress label were ready, on the log's clock.
    trained_labels
        The labels of v0.5's `train_epoch` lines; empty in later formats.
    """
    scores = [score for event in events for score in _scores(event, benchmark, targets)]
    kept = _without_rank_copies(scores)
    shift = _label_shift(kept, trained_labels)
    in_points = fractional_bleu and all((s.number or 0.0) <= 1.0 for s in kept)
    checkpoints = _checkpoints(kept)
    directions = metrics(benchmark.suite, benchmark.name) if benchmark else {}
    zero = start.time
    found = []
    for index, score in zip(checkpoints, kept, strict=True):
        progress = _progress(score, benchmark, shift)
        target = targets.get(score.metric)
        scale = 100.0 if score.metric == "bleu" and in_points else 1.0
        ready = _ready(score, weights_times)
        found.append(
            Evaluation(
                index=index,
                metric=score.metric,
                value=None if score.number is None else score.number * scale,
                logged_value=score.number,
                logged_unit="fraction" if scale != 1.0 else None,
                seconds=_since(score.event.time, zero),
                weights_seconds=_since(ready, zero),
                higher_is_better=target.higher_is_better
                if target
                else directions.get(score.metric),
                epoch=progress.epoch,
                step=progress.step,
                samples=progress.samples,
                line=score.event.line,
                target_value=target.value if target else None,
                target_source=target.source if target else None,
            )
        )
    return tuple(found), list(_dropped(scores, kept))


def _scores(
    event: Event, benchmark: Benchmark | None, targets: Mapping[str, Target]
) -> list[_Score]:
    """Give the metrics of one event: a number, text, a pair, or a mapping of names to numbers."""
    value, label = event.value, _label(event)
    if isinstance(value, dict):
        inner = value.get("accuracy", value)
        named = inner if isinstance(inner, dict) else {_DEFAULT_METRIC: inner}
        return [_Score(event, _metric(k, benchmark), as_float(v), label) for k, v in named.items()]
    if isinstance(value, list) and len(value) == 2:  # one system logs [box, mask] from epoch 0
        pair = zip(("BBOX", "SEGM"), value, strict=True)
        return [_Score(event, _metric(k, benchmark), as_float(v), label, True) for k, v in pair]
    number = as_float(value[0] if isinstance(value, list) and value else value)
    named_metric = event.metadata.get("metric")
    if isinstance(named_metric, str):
        metric = _metric(named_metric, benchmark)
    else:
        metric = _only_metric(benchmark, targets)
    return [_Score(event, metric, number, label)]


def _metric(label: str, benchmark: Benchmark | None) -> str:
    known = metrics(benchmark.suite, benchmark.name) if benchmark else {}
    name = _METRIC_NAMES.get(label.upper(), label.lower())
    return name if name in known or name != _DEFAULT_METRIC else _only_metric(benchmark, {})


def _only_metric(benchmark: Benchmark | None, targets: Mapping[str, Target]) -> str:
    if len(targets) == 1:
        return next(iter(targets))
    known = metrics(benchmark.suite, benchmark.name) if benchmark else {}
    return next(iter(known)) if len(known) == 1 else _DEFAULT_METRIC


def _label(event: Event) -> float | None:
    for word in ("samples_count", "step_num", "epoch_num"):
        label = as_float(event.metadata.get(word))
        if label is not None:
            return label
    return None


def _without_rank_copies(scores: Iterable[_Score]) -> list[_Score]:
    last: dict[tuple[str, float | None, float | None], float] = {}
    kept = []
    for score in scores:
        identity = (score.metric, score.number, score.label)
        time = score.event.time or 0.0
        if identity not in last or time - last[identity] > _SAME_MOMENT:
            kept.append(score)
        last[identity] = time
    return kept


def _dropped(scores: Sequence[_Score], kept: Sequence[_Score]) -> Iterable[Problem]:
    if len(kept) < len(scores):
        text = f"{len(scores) - len(kept)} evaluation(s) logged again by other ranks: one kept"
        yield Problem("rank_copies", text, "info")
    unread = [score for score in kept if score.number is None]
    if unread:
        text = f"the score is not a number: {unread[0].event.value!r:.60}"
        yield Problem("unreadable_score", text, "warning", unread[0].event.line)


def _label_shift(scores: Sequence[_Score], trained_labels: Sequence[Any]) -> float:
    """Give what turns an evaluation's label into epochs trained.

    v0.5, known by its `train_epoch` lines, labels an evaluation with the epoch just trained,
    counted from 0, and in some systems from -1. Later formats log epochs trained.
    """
    if trained_labels:
        labels = (score.label for score in scores)
        first = min((label for label in labels if label is not None), default=0.0)
        return 2.0 if first < 0 else 1.0
    return 1.0 if any(score.from_zero for score in scores) else 0.0


def _checkpoints(scores: Sequence[_Score]) -> list[int]:
    """Number the checkpoints: metrics of one checkpoint share its label, not its time."""
    several = len({score.metric for score in scores}) > 1
    numbers: dict[tuple[float | None, int], int] = {}
    seen: dict[tuple[str, float | None], int] = {}
    found = []
    for position, score in enumerate(scores):
        label = score.label
        occurrence = seen.get((score.metric, label), 0)
        seen[score.metric, label] = occurrence + 1
        key = (label, occurrence) if several and label is not None else (float(position), -1)
        found.append(numbers.setdefault(key, len(numbers)))
    return found


def _progress(score: _Score, benchmark: Benchmark | None, shift: float) -> _Progress:
    metadata = score.event.metadata
    samples = as_int(metadata.get("samples_count"))
    step = as_int(metadata.get("step_num"))
    label = as_float(metadata.get("epoch_num"))
    epoch = None
    if label is not None and label >= _FEWEST_SAMPLES:
        samples = samples or round(label / ((benchmark and benchmark.tokens_per_sample) or 1))
    elif label is not None and (benchmark is None or benchmark.progress == "epochs"):
        epoch = label + shift
    if epoch is None and samples is not None and benchmark and benchmark.epoch_samples:
        epoch = samples / benchmark.epoch_samples
    return _Progress(epoch, step, samples)


def _ready(score: _Score, weights_times: Mapping[float, float]) -> float | None:
    return None if score.label is None else weights_times.get(score.label)


def _since(time: float | None, zero: float | None) -> float | None:
    # Stamps have at most microseconds to tell; the rest is floating-point noise.
    return None if time is None or zero is None else round(time - zero, 6)
