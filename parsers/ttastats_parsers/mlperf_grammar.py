"""From the events of one MLPerf log to a run: start, stop, status, evaluations and progress.

All three line formats share this grammar; `Style` holds the few words in which they differ.
Definitions follow the official rules: a run lasts from `run_start` to `run_stop`, and its
evaluations count whenever they were logged, since some benchmarks score checkpoints afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from msgspec import structs

from ttastats.base import benchmarks, quality
from ttastats.base.records import Problem, Run, RunStatus
from ttastats.formats.dialect import NO_EVALUATION, Log
from ttastats.recording.run_log import RECORDER
from ttastats_parsers import mlperf_layout, mlperf_power, recorded
from ttastats_parsers.mlperf_events import Event, Style, Trace, labels_of
from ttastats_parsers.mlperf_scores import evaluations_of, training_of
from ttastats_parsers.payloads import as_float, as_int, as_mapping, date_of, shown, storable

#: Stamps before 2001 are relative clocks or placeholders, not dates.
_FIRST_DATE = 1_000_000_000.0
_line = attrgetter("line")
_STATUS: dict[str, RunStatus] = {
    "success": "success",
    "succuss": "success",  # 78 official runs spell it so
    "true": "success",
    "aborted": "aborted",
    "abort": "aborted",
    "fail": "aborted",
    "false": "aborted",
}
#: Keys with a column of their own, or that mark time; everything else is kept in `extra`.
_UNDERSTOOD = frozenset(
    {
        "run_start", "run_stop", "run_final", "init_start", "init_stop", "train_loop",
        "eval_accuracy", "eval_error", "eval_iteration_accuracy", "eval_target", "eval_start",
        "eval_stop",
        "epoch_start", "epoch_stop", "block_start", "block_stop", "train_epoch", "train_samples",
        "run_clear_caches", "cache_clear", "seed", "global_batch_size", "submission_benchmark",
        "submission_division", "tracked_stats", "train_loss", "save_model", "checkpoint",
        "workload_source", "workload_import",
    }
)  # fmt: skip


_ByKey = dict[str, list[Event]]


def runs_of(
    trace: Trace, log: Log, style: Style, benchmark: str | None = None
) -> Iterator[Run | Problem]:
    """Yield the run of a log, or the problem that says why there is none.

    `benchmark` is the name that the line format itself carries, if it does.
    """
    by_key = {
        key: events if len(events) == 1 else _deduplicated(events)
        for key, events in trace.events.items()
    }
    if "run_start" in by_key:
        yield _run(by_key, trace, log, style, benchmark)
    elif trace.torn_start or _evaluation_events(by_key) or "run_stop" in by_key or not by_key:
        text = "has evaluations or an end but no readable run_start: no run"
        yield Problem("no_run_start", text, "error")
    else:
        yield Problem("not_a_run", "has benchmark lines but is not the log of a run", "info")


def _deduplicated(events: list[Event]) -> list[Event]:
    """Return the events sorted by time, without those logged twice word for word."""
    try:  # the usual case, and cheap: no two agree in time and value
        all_differ = len({(event.time, event.value) for event in events}) == len(events)
    except TypeError:  # a value that is a mapping
        all_differ = False
    if not all_differ:
        seen: dict[tuple[Any, ...], Event] = {}
        for event in events:
            labels, metric = labels_of(event.metadata), event.metadata.metric
            identity = (event.time, shown(event.value), shown(labels), shown(metric))
            seen.setdefault(identity, event)
        events = list(seen.values())
    return sorted(events, key=lambda event: event.time or 0.0)


def _run(by_key: _ByKey, trace: Trace, log: Log, style: Style, token_benchmark: str | None) -> Run:
    problems: list[Problem] = []
    if trace.unreadable:
        line, content = min(trace.unreadable)
        text = f"{trace.unreadable_count} unreadable line(s), first: {content.strip()[:100]!r}"
        problems.append(Problem("unreadable_line", text, "warning", line))
    recorded_here = RECORDER in by_key
    place = mlperf_layout.place_of(log.folder, style.round, log.round, log.companion)
    if recorded_here:
        place = structs.replace(place, suite="", round=None)
    suite, round_, described = place.suite, place.round, place.described
    if style.counts_cache_clears:
        described = _participating(described, len(by_key.get("run_clear_caches", ())))
    named = token_benchmark or _first_text(by_key, "submission_benchmark")
    benchmark, mismatch = mlperf_layout.benchmark_name(named, place)
    problems += [*mismatch, *place.problems]
    start, stop = _start_and_stop(by_key)
    is_minigo = benchmark == "minigo" and round_ == "v0.6"
    status, run_seconds = _end_of_run(by_key, trace, start, stop, is_minigo=is_minigo)
    problems += _end_problems(by_key, stop, status)
    if recorded_here:
        status, ended = recorded.end_of(status, stop)
        problems += ended
    targets = _targets_by_metric(by_key, suite, benchmark or "", round_, problems)
    batch_size = as_int(_first_value(by_key, "global_batch_size"))
    scored = _evaluation_events(by_key)
    if recorded_here:
        evaluations, score_problems = recorded.evaluations_of(scored, start, targets)
    else:
        known = benchmarks.benchmarks_by_name(suite).get(benchmark or "")
        samples = _trained_samples(by_key)
        evaluations, score_problems = evaluations_of(
            scored, trace.ready, start, known, targets, style, batch_size, samples
        )
    problems += score_problems
    joules = None
    if place.metered and start.time is not None and stop is not None and stop.time is not None:
        joules, power_problems = mlperf_power.energy(log, start.time, stop.time)
        problems += power_problems
    training = training_of(by_key, start) if log.metrics == "all" else ()
    if not evaluations:
        problems.append(NO_EVALUATION)
    fields: dict[str, Any] = structs.asdict(described)
    fields["division"] = described.division or _first_text(by_key, "submission_division")
    return Run(
        suite=suite or None,
        round=round_,
        benchmark=benchmark,
        submitter=place.submitter or _first_text(by_key, "submission_org"),
        system=place.system or _first_text(by_key, "submission_platform"),
        entry=place.entry,
        **fields,
        seed=as_int(_first_value(by_key, "seed")),
        global_batch_size=batch_size,
        train_samples=as_int(_first_value(by_key, "train_samples")),
        started_at=date_of(start.time) if (start.time or 0.0) >= _FIRST_DATE else None,
        clock="wall",
        clock_zero="run_start",
        run_status=status,
        run_seconds=run_seconds,
        scaling_factor=place.scaling_factor,
        evaluations=(*training, *evaluations),
        problems=tuple(problems),
        extra=_extra_fields(by_key, joules),
    )


def _start_and_stop(by_key: _ByKey) -> tuple[Event, Event | None]:
    """Return the earliest run_start, and the first run_stop of the file that is not before it."""
    starts = by_key["run_start"]
    start = next((event for event in starts if event.time is not None), starts[0])
    zero = start.time or 0.0
    stops = [event for event in by_key.get("run_stop", ()) if (event.time or 0.0) >= zero]
    return start, min(stops, key=_line, default=None)


def _end_of_run(
    by_key: _ByKey, trace: Trace, start: Event, stop: Event | None, *, is_minigo: bool
) -> tuple[RunStatus, float | None]:
    """Return how the run ended, and its length in seconds."""
    if is_minigo and "eval_result" in by_key:
        # Checkpoints are scored after the run; the score is the moment the winning one was saved.
        scored = as_float(by_key["eval_result"][0].metadata.timestamp)
        if scored is not None:
            return "success", scored
    if start.time is None:
        return "unknown", None
    if stop is None or stop.time is None:
        return "truncated", round(max(trace.last_time - start.time, 0.0), 6)
    value, metadata = stop.value, stop.metadata
    inner = as_mapping(value)
    words = (metadata.status, metadata.success, inner.get("success"), inner.get("status"), value)
    seconds = round(stop.time - start.time, 6)
    for word in words:
        if status := _STATUS.get(shown(word).strip("' ").lower()):
            return status, seconds
    return "unknown", seconds


def _evaluation_events(by_key: _ByKey) -> Sequence[Event]:
    """Return the evaluation events; some benchmarks of MLPerf HPC have a name of their own."""
    return by_key.get("eval_accuracy", ()) or by_key.get("eval_error", ())


def _trained_samples(by_key: _ByKey) -> int | None:
    """Return `train_samples` if it was logged at the end; at the start it is only a plan."""
    scores = _evaluation_events(by_key)
    last = (scores[-1].time or 0.0) if scores else 0.0
    for event in by_key.get("train_samples", ()):
        if scores and event.time is not None and event.time >= last:
            return as_int(event.value)
    return None


def _end_problems(by_key: _ByKey, stop: Event | None, status: RunStatus) -> Iterator[Problem]:
    """Yield a problem for each part of the start or end of a run that is unclear."""
    if status == "truncated" and "run_stop" in by_key:
        text = "run_stop has no time, or a time before run_start: the run counts as truncated"
        yield Problem("no_run_stop", text, "warning", by_key["run_stop"][0].line)
    elif status == "truncated":
        yield Problem("no_run_stop", "the log ends before run_stop: truncated", "warning")
    if len({event.time for event in by_key["run_start"]}) > 1:
        yield Problem("several_run_starts", "several run_start lines: the earliest counts")
    if stop is not None and status == "unknown":
        yield Problem("no_status", "run_stop has no status", "info", stop.line)


def _targets_by_metric(
    by_key: _ByKey, suite: str, benchmark: str, round_: str | None, problems: list[Problem]
) -> dict[str, quality.Target]:
    """Return the targets by metric, the rules' or the log's own; a problem if there is none."""
    known = benchmarks.targets(suite, benchmark, round_)
    logged = [e for e in by_key.get("eval_target", ()) if as_float(e.value) is not None]
    if len(known) > 1 or not logged:
        rules = (replace(target, source="rules") for target in known if target.value is not None)
        targets = {target.metric: target for target in rules}
        if not targets:
            text = f"no quality target is known for {benchmark or None}: the status decides"
            if round_ is None and benchmarks.metrics(suite, benchmark):
                text = f"the target of {benchmark} depends on the round, which no folder names"
                text += ": --round"
            problems.append(Problem("no_target", text))
        return targets
    metric, higher = logged[0].metadata.metric, logged[0].metadata.higher_is_better
    if metric is None:
        metric = known[0].metric if known else "eval_accuracy"
    if higher is None:
        higher = known[0].higher_is_better if known else True
    value = as_float(logged[0].value)
    return {shown(metric): quality.Target(shown(metric), bool(higher), value, 1, "log")}


def _participating(described: mlperf_layout.System, cleared: int) -> mlperf_layout.System:
    """Return a described system with only the nodes that took part, as they cleared their caches.

    v0.5 describes the whole cluster. A machine may clear its caches more than once, so the count
    only lowers the described number.
    """
    nodes = min(described.nodes or cleared, cleared) or described.nodes
    total = described.accelerators
    if total is not None:
        total = as_int(total // (described.nodes or 1) * nodes) if nodes is not None else None
    return structs.replace(described, nodes=nodes, accelerators=total)


def _extra_fields(by_key: _ByKey, joules: float | None) -> dict[str, Any]:
    values = {key: by_key[key][0].value for key in by_key if key not in _UNDERSTOOD}
    extra = {key: storable(value) for key, value in values.items() if value is not None}
    seeds = {as_int(event.value) for event in by_key.get("seed", ())} - {None}
    if len(seeds) > 1:
        extra["seeds"] = len(seeds)
    begun, ready = by_key.get("init_start"), by_key.get("init_stop")
    if begun and ready and begun[0].time is not None and ready[-1].time is not None:
        extra["init_seconds"] = round(ready[-1].time - begun[0].time, 6)
    if joules is not None:
        extra["energy_joules"] = joules
    if RECORDER in by_key and (clocks := recorded.clocks_of(_evaluation_events(by_key))):
        extra["clocks"] = clocks
    return extra


def _first_value(by_key: _ByKey, key: str) -> Any:
    """Return the first value of a key that is not empty, in the order of the file."""
    events = by_key.get(key, ())
    if len(events) > 1:
        events = sorted((event for event in events if event.value is not None), key=_line)
    return events[0].value if events else None


def _first_text(by_key: _ByKey, key: str) -> str | None:
    value = _first_value(by_key, key)
    text = value.strip() if isinstance(value, str) else ""
    return None if not text or "PLACEHOLDER" in text else text
