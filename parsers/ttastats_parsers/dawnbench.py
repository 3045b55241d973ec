"""DAWNBench: `epoch<TAB>hours<TAB>top1Accuracy<TAB>top5Accuracy`, with a JSON of the same stem.

An inference entry is a JSON alone: it becomes a run without evaluations, so that it is counted.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from ttastats.base import benchmarks
from ttastats.base.records import Evaluation, Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.payloads import as_float, as_int, as_mapping, storable

name = "dawnbench"

_SUITE = "dawnbench"
_TASKS = frozenset({"cifar10", "imagenet", "squad"})
_METRICS = {
    "top1accuracy": ("top1_accuracy", 100.0),
    "top5accuracy": ("top5_accuracy", 100.0),
    "f1score": ("f1", 1.0),
}
#: No epoch, hour or percentage is larger.
_LARGEST = 1e9
#: No row has more characters.
_LONGEST_ROW = 10_000
_NO_HEADER = Problem("no_header", "no header with the columns epoch and hours: no run", "error")
_BEFORE_JSON = b"{\xef \t\r\n"
_FIELDS = (b'"author"', b'"framework"', b'"hardware"')


def recognises(head: bytes) -> bool:
    """Return whether the header is of a DAWNBench table, or the JSON of an entry."""
    if head[:1] in _BEFORE_JSON and head[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return all(head.find(field, 0, 4096) >= 0 for field in _FIELDS)
    end = head.find(b"\n", 0, 4096)
    header = head[: end if end >= 0 else 4096].removeprefix(b"\xef\xbb\xbf")
    return b"\t" in header and _column_positions(header.decode("utf-8", "replace")) is not None


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run of a table, or of an inference entry's JSON."""
    text = log.read().decode("utf-8-sig", "replace")
    if not text.lstrip().startswith("{"):
        columns = _column_positions(text)
        yield _training_run(text, columns, log) if columns else _NO_HEADER
    elif log.companion(log.path.with_suffix(".tsv")) is None:
        description, problems = _parse_description(text.encode())
        task, task_problems = _task_of(log.path, {word.lower() for word in description})
        if "latency" in description or "inference" in log.path.parts:
            task += "_inference"
        else:
            text = f"no {log.path.stem}.tsv beside the description"
            task_problems.append(Problem("no_curve", text, "warning"))
        run = _with_description(description, log)
        yield replace(run, benchmark=task, problems=(*problems, *task_problems))


def _training_run(text: str, columns: dict[str, int], log: Log) -> Run:
    """Return the run of a training table, described by the JSON beside it."""
    description, problems = _parse_description(log.companion(log.path.with_suffix(".json")))
    task, task_problems = _task_of(log.path, columns)
    targets = {target.metric: target for target in benchmarks.targets(_SUITE, task, None)}
    rows: list[dict[str, float]] = []
    bad_lines: list[int] = []
    # Text is split at line feeds only, so that line numbers are the file's own.
    for number, line in enumerate(text.split("\n")[1:], start=2):
        if (row := _parse_row(line, columns)) is not None:
            rows.append({**row, "line": number, "seconds": row["hours"] * 3600.0})
        elif line.strip():
            bad_lines.append(number)
    if bad_lines:
        text = f"{len(bad_lines)} line(s) are not rows of numbers"
        problems.append(Problem("unreadable_line", text, "warning", bad_lines[0]))
    # The labels of trained networks may count from 0. A network that has not been trained yet is
    # known by a first row at no time, or at far less time than one row later takes.
    times = sorted({row["seconds"] for row in rows})
    starts_untrained = len(times) > 1 and times[0] < 0.1 * (times[1] - times[0])
    shift = 1.0 if rows and rows[0]["epoch"] == 0.0 and not starts_untrained else 0.0
    evaluations = []
    for index, row in enumerate(rows):
        for word, (metric, scale) in _METRICS.items():
            if word not in row:
                continue
            target = targets.get(metric)
            evaluations.append(
                Evaluation(
                    index=index,
                    metric=metric,
                    value=row[word] / scale,
                    logged_value=row[word],
                    logged_unit="percent" if scale != 1.0 else None,
                    seconds=row["seconds"],
                    higher_is_better=target.higher_is_better if target else True,
                    epoch=row["epoch"] + shift,
                    line=int(row["line"]),
                    target_value=target.value if target else None,
                    target_source="rules" if target else None,
                )
            )
    run = replace(
        _with_description(description, log),
        benchmark=task,
        run_seconds=times[-1] if times else None,
        evaluations=tuple(evaluations),
        problems=(*problems, *task_problems),
    )
    fields = as_mapping(description.get("ttastats"))
    return _as_trainer_run(run, fields) if fields else run


def _as_trainer_run(run: Run, fields: dict[str, Any]) -> Run:
    """Return a run of `ttastats train` with its benchmark, entry, target and clock."""
    target, settings = as_float(fields.get("target")), as_mapping(fields.get("settings"))
    evaluations = [
        replace(evaluation, metric="accuracy", target_value=target, target_source="log")
        for evaluation in run.evaluations
    ]
    return replace(
        run,
        suite=None,
        benchmark=_clean_text(fields.get("benchmark")),
        entry=_clean_text(fields.get("entry")),
        seed=as_int(settings.get("seed")),
        clock="train",
        evaluations=tuple(evaluations),
        problems=tuple(problem for problem in run.problems if problem.code != "task_guessed"),
        extra={"settings": settings},
    )


def _column_positions(text: str) -> dict[str, int] | None:
    """Return the positions of the columns by lower-case name, or None if it is no such table."""
    header = text.split("\n", 1)[0].strip().lower().split("\t")
    names = {word.strip(): position for position, word in enumerate(header)}
    complete = {"epoch", "hours"} <= names.keys() and bool(_METRICS.keys() & names.keys())
    return names if complete else None


def _parse_row(line: str, columns: dict[str, int]) -> dict[str, float] | None:
    """Return the numbers of a line by column, None if it holds something else."""
    if len(line) > _LONGEST_ROW:
        return None
    cells = [as_float(cell) for cell in line.strip("\r").split("\t")]
    positions = {word: columns[word] for word in ("epoch", "hours", *_METRICS) if word in columns}
    if max(positions.values()) >= len(cells):
        return None
    row = {word: cells[position] for word, position in positions.items()}
    numbers = {
        word: cell for word, cell in row.items() if cell is not None and abs(cell) <= _LARGEST
    }
    return numbers if len(numbers) == len(row) else None


def _task_of(path: PurePosixPath, columns: Collection[str]) -> tuple[str, list[Problem]]:
    """Return the task from the folders, or from the metric with a problem that says so."""
    for folder in reversed(path.parts):
        if folder.lower() in _TASKS:
            return folder.lower(), []
    tasks = {"f1score": "squad", "top5accuracy": "imagenet"}
    task = next((tasks[word] for word in tasks if word in columns), "cifar10")
    text = f"no folder names the task; inferred from the metric: {task}"
    return task, [Problem("task_guessed", text)]


def _parse_description(content: bytes | None) -> tuple[dict[str, Any], list[Problem]]:
    """Return the fields of the JSON beside a table, with a problem if it has none."""
    if content is None:
        return {}, [Problem("no_description", "no JSON of the same name beside the table")]
    try:
        fields = json.loads(content.decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError) as error:
        return {}, [Problem("bad_description", f"the JSON beside the table is invalid: {error}")]
    return (fields if isinstance(fields, dict) else {}), []


def _with_description(fields: dict[str, Any], log: Log) -> Run:
    """Return a run without evaluations, with what its JSON says."""
    columns = {"author", "hardware", "framework", "costPerHour"}
    extra = {_clean_text(word) or "": fields[word] for word in fields if word not in columns}
    return Run(
        suite=_SUITE,
        round=log.round,
        submitter=_clean_text(fields.get("author")),
        system=_clean_text(fields.get("hardware")),
        entry=log.path.stem,
        hardware=_clean_text(fields.get("hardware")),
        framework=_clean_text(fields.get("framework")),
        cost_per_hour=as_float(fields.get("costPerHour")),
        started_at=_parse_date(fields.get("timestamp")),
        clock="wall",
        clock_zero="start of training",
        extra={word: storable(value) for word, value in extra.items()},
    )


def _parse_date(value: Any) -> datetime | None:
    """Return the date in a text such as 2018-4-20."""
    try:
        year, month, day = (int(part) for part in str(value).split("-"))
        return datetime(year, month, day, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _clean_text(value: Any) -> str | None:
    """Return a text stripped of spaces, with lone surrogates replaced, or None."""
    if not isinstance(value, str):
        return None
    return value.strip().encode("utf-8", "replace").decode() or None
