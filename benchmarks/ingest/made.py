"""Generated logs for measurements that no public round allows: many, large, or both."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

from ttastats.recording import run_log

_STAMP = re.compile(rb'"time_ms": (\d+)')


def repeated(folder: Path, target: Path, times: int) -> int:
    """Copy a folder of logs several times with other timestamps, so that none is a duplicate.

    Gives the number of bytes.
    """
    total = 0
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in files:
        content = path.read_bytes()
        for copy in range(times):
            later = copy * 86_400_000

            def moved(match: re.Match[bytes], later: int = later) -> bytes:
                return b'"time_ms": %d' % (int(match.group(1)) + later)

            path_of_copy = target / f"copy{copy}" / folder.name / path.relative_to(folder)
            path_of_copy.parent.mkdir(parents=True, exist_ok=True)
            total += path_of_copy.write_bytes(_STAMP.sub(moved, content))
    return total


def _event(index: int, offset: int, key: str, value: object = None, **labels: object) -> str:
    """Return one event; the millisecond is that of a clock on which `index` counts 100 seconds."""
    before, after = _around_time(key, value, **labels)
    return f"{before}17{index:06}{offset:05}{after}"


_STATS = {"tracked_stats": {"throughput": 12345.6}}


@lru_cache(4_096)
def _around_time(key: str, value: object, **labels: object) -> tuple[str, str]:
    """Return the text of an event around its time, which is all that differs in most events."""
    metadata = {"file": "/workspace/train.py", "lineno": 100, **labels}
    before, after = run_log.event_line(
        "POINT_IN_TIME", 0, key, _STATS.get(key, value), metadata
    ).split('"time_ms": 0', 1)
    return before + '"time_ms": ', after


_SETTINGS = {
    "submission_benchmark": "resnet",
    "submission_org": "Example",
    "submission_division": "closed",
    "submission_status": "onprem",
    "submission_platform": "1xMade",
    "global_batch_size": 4096,
    "opt_name": "lars",
    "opt_base_learning_rate": 13.0,
    "train_samples": 1281167,
    "eval_samples": 50000,
    "gradient_accumulation_steps": 1,
}


def _head(index: int) -> str:
    lines = [_event(index, 0, "cache_clear", True), _event(index, 1, "init_start")]
    lines += [_event(index, 2, key, value) for key, value in _SETTINGS.items()]
    lines += [_event(index, 3, "seed", index), _event(index, 4, "init_stop")]
    return "".join([*lines, _event(index, 5, "run_start")])


_OUTPUT = "[1,0]<stdout>: step loss 1.234 lr 0.01 images/s 12345.6 remaining 0:12:34 of 1:00:00\n"
_EPOCHS = 8


def _body(index: int, first: int, last_score: float) -> str:
    """Return eight epochs: each a block, a score, and two lines of program output."""
    lines = []
    for step in range(_EPOCHS):
        epoch = first + step
        score = last_score if step == _EPOCHS - 1 else 0.1
        at = 1_000 + 900 * step
        lines += [
            _event(index, at, "block_start", epoch_num=epoch),
            _event(index, at + 1, "tracked_stats", epoch_num=epoch),
            _OUTPUT * 2,
            _event(index, at + 700, "block_stop", epoch_num=epoch),
            _event(index, at + 701, "eval_start", epoch_num=epoch),
            _event(index, at + 800, "eval_accuracy", score, epoch_num=epoch),
            _event(index, at + 801, "eval_stop", epoch_num=epoch),
        ]
    return "".join(lines)


def _tail(index: int) -> str:
    return _event(index, 99_999, "run_stop", status="success")


_SYSTEM = {
    "submitter": "Example",
    "division": "closed",
    "status": "onprem",
    "number_of_nodes": "1",
    "accelerators_per_node": "8",
    "accelerator_model_name": "Made",
    "framework": "PyTorch",
}


def runs(target: Path, number: int, length: int = 1) -> tuple[int, int]:
    """Write complete runs of eight epochs and 14 KB times `length`; give their bytes and events.

    They lie as in a submission, a thousand to a system that is described: nothing is missing that
    ingest would have to say.
    """
    total = events = 0
    root = target / "v4.0" / "Example"
    (root / "systems").mkdir(parents=True, exist_ok=True)
    for run in range(number):
        first = run * length
        bodies = [
            _body(first + part, part * _EPOCHS, 0.76 if part == length - 1 else 0.1)
            for part in range(length)
        ]
        text = _head(first) + "".join(bodies) + _tail(first + length - 1)
        system = f"made_{run // 1000}"
        system_folder = root / "results" / system / "resnet"
        if not run % 1000:
            system_folder.mkdir(parents=True)
            described = json.dumps({**_SYSTEM, "system_name": system})
            (root / "systems" / f"{system}.json").write_text(described)
        total += (system_folder / f"result_{run % 1000}.txt").write_text(text)
        events += text.count(":::MLLOG")
    return total, events


def one_log(target: Path, gigabytes: float) -> int:
    """Write one run of which most is program output, with its events spread between."""
    events = (_head(0) + _body(0, 0, 0.76) + _tail(0)).splitlines(keepends=True)
    output = (_OUTPUT * 10_000).encode()
    of_each = int(gigabytes * 1e9) // len(events)
    target.mkdir(parents=True, exist_ok=True)
    with (target / "result_0.txt").open("wb") as log:
        for event in events:
            log.write(event.encode())
            for start in range(0, of_each, len(output)):
                log.write(output[: output.rfind(b"\n", 0, of_each - start) + 1])
        return log.tell()
