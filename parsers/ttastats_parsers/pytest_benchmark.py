"""Reports of pytest-benchmark: the time of each round of some tests, in seconds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.payloads import as_float, as_mapping, json_value, storable
from ttastats_parsers.timings import timed_runs

name = "pytest-benchmark"

#: What describes the machine goes first.
_LOOKED_AT = 1 << 14
_BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")


def recognises(head: bytes) -> bool:
    """Return whether a file is JSON with the machine and the statistics of benchmarks."""
    begins = _BEGINNING.match(head) and b'"machine_info"' in head[:_LOOKED_AT]
    return bool(begins) and b'"benchmarks"' in head and b'"stats"' in head


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield a run for each round of each test; a group of tests is a benchmark."""
    tests = as_mapping(json_value(log.read())).get("benchmarks")
    if not isinstance(tests, list):
        yield Problem("unreadable_file", "the JSON of pytest-benchmark is torn", "error")
        return
    named_tests = [test for test in map(as_mapping, tests) if "name" in test]
    count = Counter(str(test["name"]) for test in named_tests)
    for test in named_tests:
        entry = str(test["name"])
        entry = str(test.get("fullname", entry)) if count[entry] > 1 else entry
        rounds = as_mapping(test.get("stats")).get("data")
        if not isinstance(rounds, list) or not rounds:
            text = "statistics without the times of the rounds: save them with"
            options = "--benchmark-save-data, or with --benchmark-json"
            yield Problem("means_only", f"{entry}: {text} {options}", "error")
            continue
        group, params = test.get("group"), as_mapping(test.get("params"))
        extra = {"params": storable(params)} if params else {}
        benchmark = None if group is None else str(group)
        yield from timed_runs([*map(as_float, rounds)], [], entry, benchmark=benchmark, extra=extra)
