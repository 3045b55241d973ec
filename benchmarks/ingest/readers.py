"""The compared readers, each run in its own process; each prints one line of JSON."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TOKEN = ":::MLLOG "
#: The official grammar of a round.
RULESETS = {"v0.7": "0.7.0", "v5.0": "5.0.0"}
_ONE_MILLISECOND = 1e-3


def _files(folder: str) -> Iterator[Path]:
    return (path for path in sorted(Path(folder).rglob("*")) if path.is_file())


def plain(folder: str) -> dict[str, Any]:
    """Read every line as text and decode those with the token; keep counts and last scores."""
    events = failed = 0
    last: dict[str, Any] = {}
    for path in _files(folder):
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                start = line.rfind(TOKEN)
                if start < 0:
                    continue
                try:
                    event = json.loads(line[start + len(TOKEN) :])
                except ValueError:
                    failed += 1
                    continue
                events += 1
                if event["key"] == "eval_accuracy":
                    last[str(path)] = event["value"]
    return {"events": events, "failed": failed, "files": len(last)}


def official(folder: str, ruleset: str) -> dict[str, Any]:
    """Read every file that holds the token with MLCommons' parser, and keep nothing."""
    events = failed = crashed = 0
    for path in _files(folder):
        logs = _official_events(path, ruleset)
        if logs is None:
            crashed += 1
        else:
            events, failed = events + len(logs[0]), failed + len(logs[1])
    return {"events": events, "failed": failed, "crashed": crashed}


def _official_events(path: Path, ruleset: str) -> tuple[list[Any], list[Any]] | None:
    from mlperf_logging.compliance_checker import mlp_parser

    try:
        lines, failed = mlp_parser.parse_file(str(path), ruleset=ruleset)
    except (KeyError, TypeError):  # where a line has no `time_ms`
        return None
    return lines, failed


def warm(folder: str, output: str) -> dict[str, Any]:
    """Read and write as the command does, without the time of imports."""
    from ttastats.ingestion import registry
    from ttastats.ingestion.ingest import ingest

    registry.dialects()
    Path(output).unlink(missing_ok=True)
    start = time.process_time()
    account = ingest([folder], Path(output), workers=1)
    return {"cpu": time.process_time() - start, "runs": account.runs}


def agreement(ruleset: str, table: str) -> dict[str, Any]:
    """Compare our table with the official parser's events, file by file."""
    from ttastats.table import store

    rows = (
        store.read_tables([Path(table)]).sort("source", "eval_index", maintain_order=True).collect()
    )
    counts = dict.fromkeys(
        ("files", "same_all", "same_last", "reached", "same_tta", "only_ours"), 0
    )
    different: list[str] = []
    for (source, *_), group in rows.group_by("source", maintain_order=True):
        agreements = _agreements(group.to_dicts(), _official_events(Path(str(source)), ruleset))
        for name, holds in agreements.items():
            counts[name] += bool(holds)
        if agreements.get("files") and not (
            agreements["same_last"] and agreements["same_tta"] == agreements["reached"]
        ):
            different.append(str(source))
    return {**counts, "different": different[:20]}


def _agreements(
    rows: list[dict[str, Any]], events: tuple[list[Any], list[Any]] | None
) -> dict[str, bool]:
    """Return the agreements of both readers on a file, by name."""
    evaluations = [row for row in rows if row["seconds"] is not None]
    theirs = _evaluations(events[0]) if events else []
    if not theirs or not evaluations:
        return {"only_ours": bool(evaluations) and not theirs}
    # What several ranks logged at one moment is one evaluation.
    values = sorted({(row["logged_value"], row["seconds"]) for row in evaluations}, key=_when)
    # Of two metrics a run must meet both; that rule is tested elsewhere, evaluation by evaluation.
    single = len({row["metric"] for row in evaluations}) == 1
    target = evaluations[0]
    ours_at = next((at for value, at in values if single and _reaches(target, value)), None)
    theirs_at = next((at for value, at in theirs if _reaches(target, value)), None)
    return {
        "files": True,
        "same_all": len(values) == len(theirs) and all(map(_is_same_point, values, theirs)),
        "same_last": _is_same_point(values[-1], theirs[-1]),
        "reached": ours_at is not None,
        "same_tta": ours_at is not None and theirs_at is not None and _close(ours_at, theirs_at),
    }


def _when(evaluation: tuple[float, float]) -> tuple[int, float]:
    """Return the sort key of an evaluation: its time, then its value."""
    value, seconds = evaluation
    return round(seconds * 1e3), value


def _is_same_point(ours: tuple[float, float], theirs: tuple[float, float]) -> bool:
    return ours[0] == theirs[0] and _close(ours[1], theirs[1])


def _evaluations(events: list[Any]) -> list[tuple[float, float]]:
    """Return value and seconds since the start of every evaluation of one number."""
    start = next((event.timestamp for event in events if event.key == "run_start"), None)
    accuracies = [event for event in events if event.key == "eval_accuracy"]
    if start is None or not all(isinstance(e.value["value"], int | float) for e in accuracies):
        return []
    timed = [(event.value["value"], (event.timestamp - start) / 1e3) for event in accuracies]
    return sorted(set(timed), key=_when)


def _reaches(row: dict[str, Any], value: float) -> bool:
    target = row["target_value"]
    if target is None:
        return False
    return bool(value >= target if row["higher_is_better"] else value <= target)


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, abs_tol=_ONE_MILLISECOND, rel_tol=0)


def polars_table(path: str) -> dict[str, Any]:
    """Read a CSV file or JSON lines with polars, and keep the rows that hold an evaluation."""
    import polars as pl

    read_file = pl.read_csv if path.endswith(".csv") else pl.read_ndjson
    rows = read_file(path, infer_schema_length=1000)
    return {"rows": rows.filter(pl.col("val_accuracy").is_not_null()).height}


def accumulator(path: str) -> dict[str, Any]:
    """Read an event file with TensorBoard."""
    from tensorboard.backend.event_processing import event_accumulator

    events = event_accumulator.EventAccumulator(path, size_guidance={"scalars": 0})
    events.Reload()
    return {"rows": len(events.Scalars("val/accuracy"))}


def store_by_hand(path: str) -> dict[str, Any]:
    """Read a W&B store with its own messages, each row decoded by `json`."""
    import struct

    from wandb.proto import wandb_internal_pb2

    data, offset, parts, rows = Path(path).read_bytes(), 7, [], 0
    while offset < len(data):
        remaining = 32768 - offset % 32768
        if remaining < 7:
            offset += remaining
            continue
        _, size, kind = struct.unpack_from("<IHB", data, offset)
        parts.append(data[offset + 7 : offset + 7 + size])
        offset += 7 + size
        if kind in {1, 4}:  # the last part of a record
            record = wandb_internal_pb2.Record()
            record.ParseFromString(b"".join(parts))
            parts = []
            items = record.history.item
            row = {".".join(i.nested_key) or i.key: json.loads(i.value_json) for i in items}
            rows += "val_accuracy" in row
    return {"rows": rows}


READERS: dict[str, Callable[..., dict[str, Any]]] = {
    function.__name__: function
    for function in (plain, official, warm, agreement, polars_table, accumulator, store_by_hand)
}

if __name__ == "__main__":
    print(json.dumps(READERS[sys.argv[1]](*sys.argv[2:])))
