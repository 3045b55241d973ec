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

from ttastats.base import benchmarks, metrics
from ttastats.base.records import UNKNOWN_START, Evaluation, Problem, Run, RunStatus
from ttastats.formats.dialect import NO_EVALUATION, Log
from ttastats.recording.run_log import RECORDER, RESUMED
from ttastats_parsers import mlperf_layout
from ttastats_parsers.mlperf_events import Event, Style, Trace, labels_of
from ttastats_parsers.mlperf_scores import evaluations_of, recorded_evaluations, training_of
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
#: Reasons of a recorded end that the user asked for, which says nothing of the setup. Until version
#: 0.2 a log called every `sys.exit` by its type alone.
_INTERRUPTED = frozenset(
    {"SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "KeyboardInterrupt", "SystemExit"}
)
#: Keys with a column of their own, or that mark time; everything else is kept in `extra`.
_UNDERSTOOD = frozenset(
    {
        "run_start", "run_stop", "run_final", "init_start", "init_stop", "train_loop",
        "eval_accuracy", "eval_error", "eval_iteration_accuracy", "eval_target", "eval_start",
        "eval_stop",
        "epoch_start", "epoch_stop", "block_start", "block_stop", "train_epoch", "train_samples",
        "run_clear_caches", "cache_clear", "seed", "global_batch_size", "submission_benchmark",
        "submission_division", "tracked_stats", "train_loss", "save_model", "checkpoint",
        "workload_source", "workload_import", RESUMED,
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
        unique: dict[tuple[Any, ...], Event] = {}
        for event in events:
            labels, metric = labels_of(event.metadata), event.metadata.metric
            identity = (event.time, shown(event.value), shown(labels), shown(metric))
            unique.setdefault(identity, event)
        events = list(unique.values())
    return sorted(events, key=lambda event: event.time or 0.0)


def _run(by_key: _ByKey, trace: Trace, log: Log, style: Style, token_benchmark: str | None) -> Run:
    """Return the run of a log that has a start."""
    problems: list[Problem] = []
    if trace.unreadable:
        line, content = min(trace.unreadable)
        text = f"{trace.unreadable_count} unreadable line(s), first: {content.strip()[:100]!r}"
        problems.append(Problem("unreadable_line", text, "warning", line))
    layout = mlperf_layout.place_of(log.folder, style.round, log.round, log.companion)
    is_recorded = RECORDER in by_key
    if is_recorded:
        layout = structs.replace(layout, suite="", round=None)
    logged_name = token_benchmark or _first_text(by_key, "submission_benchmark")
    benchmark, mismatch = mlperf_layout.benchmark_name(logged_name, layout)
    problems += [*mismatch, *layout.problems]
    is_minigo = benchmark == "minigo" and layout.round == "v0.6"
    start, end, status, seconds = _start_and_end(by_key, trace, problems, is_minigo=is_minigo)
    targets = _targets_by_metric(by_key, layout.suite, benchmark or "", layout.round, problems)
    batch_size = as_int(_first_value(by_key, "global_batch_size"))
    extra = _extra_fields(by_key)
    scored = _evaluation_events(by_key)
    if is_recorded:
        evaluations, clocks, score_problems = recorded_evaluations(scored, start, targets)
        extra |= {"clocks": clocks} if clocks else {}
    else:
        rules = benchmarks.benchmarks_by_name(layout.suite).get(benchmark or "")
        samples = _trained_samples(by_key)
        evaluations, score_problems = evaluations_of(
            scored, trace.ready, start, rules, targets, style, batch_size, samples
        )
    problems += score_problems
    problems += _scale_problems(evaluations)
    if layout.metered and start.time is not None and end is not None:
        joules, power_problems = mlperf_layout.energy(log, start.time, end)
        extra |= {} if joules is None else {"energy_joules": joules}
        problems += power_problems
    resumed = as_float(_first_value(by_key, RESUMED)) if is_recorded else None
    if resumed:
        text = f"the run goes on with a training after {resumed:g} epochs or steps"
        problems.append(Problem("begins_late", text, "warning", by_key[RESUMED][0].line))
    training = training_of(by_key, start) if log.metrics == "all" else ()
    problems += [] if evaluations else [NO_EVALUATION]
    return Run(
        benchmark=benchmark,
        **_place_fields(by_key, layout, style),
        seed=as_int(_first_value(by_key, "seed")),
        global_batch_size=batch_size,
        train_samples=as_int(_first_value(by_key, "train_samples")),
        started_at=date_of(start.time) if (start.time or 0.0) >= _FIRST_DATE else None,
        clock="wall",
        clock_zero=UNKNOWN_START if resumed else "run_start",
        run_status=status,
        run_seconds=seconds,
        evaluations=(*training, *evaluations),
        problems=tuple(problems),
        extra=extra,
    )


def _place_fields(by_key: _ByKey, layout: mlperf_layout.LogPlace, style: Style) -> dict[str, Any]:
    """Return the suite, the submitter and the system of a run, as fields of it."""
    described = layout.described
    if style.counts_cache_clears:
        # v0.5 describes the whole cluster; the nodes that took part cleared their caches. A machine
        # may do so more than once, so the count only lowers the described number.
        cleared = len(by_key.get("run_clear_caches", ()))
        nodes = min(described.nodes or cleared, cleared) or described.nodes
        total = described.accelerators
        if total is not None:
            total = as_int(total // (described.nodes or 1) * nodes) if nodes is not None else None
        described = structs.replace(described, nodes=nodes, accelerators=total)
    return structs.asdict(described) | {
        "suite": layout.suite or None,
        "round": layout.round,
        "submitter": layout.submitter or _first_text(by_key, "submission_org"),
        "system": layout.system or _first_text(by_key, "submission_platform"),
        "entry": layout.entry,
        "division": described.division or _first_text(by_key, "submission_division"),
        "scaling_factor": layout.scaling_factor,
    }


def _start_and_end(
    by_key: _ByKey, trace: Trace, problems: list[Problem], *, is_minigo: bool
) -> tuple[Event, float | None, RunStatus, float | None]:
    """Return the start of a run, the time of its end, its status and its length in seconds."""
    starts, stops = by_key["run_start"], by_key.get("run_stop", ())
    start = next((event for event in starts if event.time is not None), starts[0])
    later_stops = [event for event in stops if (event.time or 0.0) >= (start.time or 0.0)]
    stop = min(later_stops, key=_line, default=None)  # the first of the file
    end = None if stop is None else stop.time
    status: RunStatus = "unknown"
    seconds = None
    if is_minigo and "eval_result" in by_key:
        # Checkpoints are scored after the run; the score is the moment the winning one was saved.
        seconds = as_float(by_key["eval_result"][0].metadata.timestamp)
    if seconds is not None:
        status = "success"
    elif start.time is not None and (stop is None or end is None):
        status, seconds = "truncated", round(max(trace.last_time - start.time, 0.0), 6)
        text, line = "the log ends before run_stop: truncated", None
        if stops:
            text = "run_stop has no time, or a time before run_start: the run counts as truncated"
            line = stops[0].line
        problems.append(Problem("no_run_stop", text, "warning", line))
    elif start.time is not None and stop is not None and end is not None:
        status = _logged_status(stop, is_recorded=RECORDER in by_key)
        seconds = round(end - start.time, 6)
    if len({event.time for event in starts}) > 1:
        text = "several run_start lines: the earliest counts"
        problems.append(Problem("several_run_starts", text))
    if stop is not None and status == "unknown":
        problems.append(Problem("no_status", "run_stop has no status", "info", stop.line))
    if stop is not None and status == "exception":
        problems.append(Problem("exception", shown(stop.metadata.reason), "warning", stop.line))
    return start, end, status, seconds


def _logged_status(stop: Event, *, is_recorded: bool) -> RunStatus:
    """Return the status of a run by its `run_stop`; a recorded one has a reason.

    A log without an end is that of a process that was killed, for example for want of memory: it
    stays truncated, and fails like any other.
    """
    value, metadata = stop.value, stop.metadata
    inner = as_mapping(value)
    words = (metadata.status, metadata.success, inner.get("success"), inner.get("status"), value)
    texts = (shown(word).strip("' ").lower() for word in words)
    status = _STATUS.get(next(filter(_STATUS.__contains__, texts), ""), "unknown")
    reason = shown(metadata.reason)
    if not is_recorded or status != "aborted" or reason in {"", "None", "epochs"}:
        return status
    return "stopped" if reason in _INTERRUPTED else "exception"


def _evaluation_events(by_key: _ByKey) -> Sequence[Event]:
    """Return the evaluation events; some benchmarks of MLPerf HPC have a name of their own."""
    return by_key.get("eval_accuracy", ()) or by_key.get("eval_error", ())


def _scale_problems(evaluations: Sequence[Evaluation]) -> Iterator[Problem]:
    """Yield a problem if values far above 1 are logged for a target below 1, as percent are."""
    for evaluation in evaluations:
        value, target = evaluation.value or 0.0, evaluation.target_value or 0.0
        is_percent = value > metrics.LARGEST_FRACTION and 0.0 < target < 1.0
        if is_percent and evaluation.higher_is_better and metrics.may_be_share(evaluation.metric):
            text = f"{evaluation.metric} is {value:g} and its target {target:g}: are these "
            text += "percentages? None of its values meets the target"
            yield Problem("percent_or_fraction", text, "error", evaluation.line)
            return


def _trained_samples(by_key: _ByKey) -> int | None:
    """Return `train_samples` if it was logged at the end; at the start it is only a plan."""
    scores = _evaluation_events(by_key)
    end = (scores[-1].time or 0.0) if scores else 0.0
    for event in by_key.get("train_samples", ()):
        if scores and event.time is not None and event.time >= end:
            return as_int(event.value)
    return None


def _targets_by_metric(
    by_key: _ByKey, suite: str, benchmark: str, round_: str | None, problems: list[Problem]
) -> dict[str, metrics.Target]:
    """Return the targets by metric, the rules' or the log's own; a problem if there is none."""
    official = benchmarks.targets(suite, benchmark, round_)
    logged = [e for e in by_key.get("eval_target", ()) if as_float(e.value) is not None]
    if len(official) > 1 or not logged:
        rules = (replace(target, source="rules") for target in official if target.value is not None)
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
        metric = official[0].metric if official else "eval_accuracy"
    if higher is None:
        higher = official[0].higher_is_better if official else True
    value = as_float(logged[0].value)
    return {shown(metric): metrics.Target(shown(metric), bool(higher), value, 1, "log")}


def _extra_fields(by_key: _ByKey) -> dict[str, Any]:
    """Return the values of keys without a column, the number of seeds, the time to begin."""
    values = {key: by_key[key][0].value for key in by_key if key not in _UNDERSTOOD}
    extra = {key: storable(value) for key, value in values.items() if value is not None}
    seeds = {as_int(event.value) for event in by_key.get("seed", ())} - {None}
    if len(seeds) > 1:
        extra["seeds"] = len(seeds)
    init_start, ready = by_key.get("init_start"), by_key.get("init_stop")
    if init_start and ready and init_start[0].time is not None and ready[-1].time is not None:
        extra["init_seconds"] = round(ready[-1].time - init_start[0].time, 6)
    return extra


def _first_value(by_key: _ByKey, key: str) -> Any:
    """Return the first value of a key that is not empty, in the order of the file."""
    events = by_key.get(key, ())
    if len(events) > 1:
        events = sorted((event for event in events if event.value is not None), key=_line)
    return events[0].value if events else None


def _first_text(by_key: _ByKey, key: str) -> str | None:
    """Return the first value of a key if it is a text and no placeholder."""
    value = _first_value(by_key, key)
    text = value.strip() if isinstance(value, str) else ""
    return None if not text or "PLACEHOLDER" in text else text
