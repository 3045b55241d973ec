"""MLflow's file store: `mlruns/EXPERIMENT/RUN/meta.yaml` tells a run, a file each its metrics.

The clock is the time stamp of each value, from the start of the run.
"""

from __future__ import annotations

from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers import plain_yaml
from ttastats_parsers.mlflow_places import META, PARTS, run_folder
from ttastats_parsers.mlflow_runs import Logged, StoredRun, run_of
from ttastats_parsers.payloads import as_float, as_int

#: Metrics may lie in folders, as their names may have slashes; no deeper than this.
_DEEPEST = 10


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run from its description; all other files are parts of it."""
    if log.name == META:
        about = plain_yaml.mapping(log.read())
        if "run_id" in about or "run_uuid" in about:
            yield from run_of(_told(log, about), log)
        return
    folder = run_folder(str(log.path))
    if folder is not None and log.companion(folder / META) is None:
        yield Problem("no_description", f"no {META} in {folder.name}: not a run", "warning")


def _told(log: Log, about: dict[str, object]) -> StoredRun:
    logged: list[Logged] = []
    bad = 0
    for metric, content in _files(log, "metrics"):
        values, unread = _values(metric, content)
        logged += values
        bad += unread
    problems = []
    if bad:
        text = f"{bad:,} line(s) of its metrics are not `time value step`"
        problems.append(Problem("unreadable_line", text, "warning"))
    experiment = plain_yaml.mapping(log.companion(log.folder.parent / META) or b"").get("name")
    texts = {
        kind: {word: data.decode("utf-8", "replace").strip() for word, data in _files(log, kind)}
        for kind in PARTS
    }
    return StoredRun(
        about,
        experiment if isinstance(experiment, str) else None,
        texts["params"],
        texts["tags"],
        logged,
        problems,
    )


def _files(log: Log, kind: str) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of all files of a kind; folders are parts of names."""
    waiting = [(log.folder / kind, "", 0)]
    while waiting:
        folder, prefix, depth = waiting.pop()
        for word in log.listing(folder):
            if not word.endswith("/"):
                yield prefix + word, log.companion(folder / word) or b""
            elif depth < _DEEPEST:
                waiting.append((folder / word[:-1], prefix + word, depth + 1))


def _values(metric: str, content: bytes) -> tuple[list[Logged], int]:
    """Return the values of a metric, and how many of its lines are none.

    A line has a time and a value; then the step, and the name and digest of a data set.
    """
    found, bad = [], 0
    for line in content.decode("utf-8", "replace").split("\n"):
        words = line.split()
        time = as_float(words[0]) if len(words) > 1 else None
        if time is not None and (as_float(words[1]) is not None or words[1].lower() in _NO_NUMBERS):
            step = as_int(words[2]) if len(words) > 2 else 0
            found.append(Logged(metric, time, as_float(words[1]), step))
        else:
            bad += bool(words)
    return found, bad


_NO_NUMBERS = frozenset({"nan", "inf", "-inf", "infinity", "-infinity"})
