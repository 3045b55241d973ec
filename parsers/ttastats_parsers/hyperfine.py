"""Exports of hyperfine: the times of each run of some commands, in seconds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.payloads import as_float, as_mapping, json_value, storable
from ttastats_parsers.timings import distinct_names, timed_runs

name = "hyperfine"

_JSON = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:')
_MEANS = re.compile(rb'(?:\xef\xbb\xbf)?"?command"?,"?mean"?,"?stddev"?,')
_NO_RUNS = Problem(
    "means_only",
    "means over runs, from which no spread can be told: export the runs with --export-json",
    "error",
)


def recognises(head: bytes) -> bool:
    """Return whether a file begins as `--export-json` or `--export-csv` write it."""
    return bool(_JSON.match(head) or _MEANS.match(head))


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield a run for each time of each command; a command that failed is a failed run."""
    content = log.read()
    if _MEANS.match(content):
        yield _NO_RUNS
        return
    results = as_mapping(json_value(content)).get("results")
    if not isinstance(results, list):
        yield Problem("unreadable_file", "the JSON of hyperfine is torn", "error")
        return
    commands = [result for result in map(as_mapping, results) if "command" in result]
    parameters = [as_mapping(result.get("parameters")) for result in commands]
    names = distinct_names([str(result["command"]) for result in commands], parameters)
    for entry, result, settings in zip(names, commands, parameters, strict=True):
        times, codes = (result.get(key) for key in ("times", "exit_codes"))
        if not isinstance(times, list) or not times:
            yield _NO_RUNS
            continue
        # A command that a signal ended has no code.
        failed = [code != 0 for code in codes] if isinstance(codes, list) else []
        extra = {"params": storable(settings)} if settings else {}
        yield from timed_runs([*map(as_float, times)], failed, entry, extra=extra)
