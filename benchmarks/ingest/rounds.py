"""One public round, read by grep, plain Python, the official parser and ours."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.ingest.measuring import Cost, grep, measured, ours, ratio, ratios, reader
from benchmarks.ingest.readers import RULESETS

GREP = "grep -F, its output into a pipe"
PLAIN = "plain Python loop: rfind, json.loads; writes nothing"
OFFICIAL = "official parser, parse_file; writes nothing"
SUMMARIZER = "official summarizer, once"
OURS = "`ttastats ingest`, whole command"
WARM = "the same without start-up"

#: Whose CPU time, against whose, is to be at most how much, on the round it was said of.
GOAL_ROUND = "v5.0"
GOALS = (
    (OURS, OFFICIAL, 1 / 12),
    (OURS, SUMMARIZER, 1 / 60),
    (WARM, PLAIN, 1 / 2),
    (WARM, GREP, 4.0),
)


def compared(folder: Path, scratch: Path, turns: int, with_summarizer: bool) -> list[str]:
    """Return the section of one round.

    Raises
    ------
    FileNotFoundError
        There is no such folder.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"no such folder: {folder}")
    table = scratch / "x.parquet"
    ruleset = RULESETS.get(folder.name)
    has_peer = ruleset is not None and importlib.util.find_spec("mlperf_logging") is not None
    measured(grep(folder))  # brings the files into memory
    costs: dict[str, list[Cost]] = {}
    for _ in range(turns):
        for name, cost in _turn(folder, table, ruleset if has_peer else None).items():
            costs.setdefault(name, []).append(cost)
    if has_peer and with_summarizer and folder.name == GOAL_ROUND:
        # It writes its tables where it stands.
        costs[SUMMARIZER] = [measured(_summarizer(folder, str(ruleset)), cwd=scratch)]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    counts = (
        []
        if has_peer
        else [
            "Not compared with the official parser: it is not installed,"
            " or has no grammar for this round."
        ]
    )
    checks = _checks(ruleset, table, costs) if has_peer and ruleset else counts
    return [
        f"### {folder.name}: {size / 1e6:,.0f} MB\n",
        *_table(costs, size),
        *(_goals(costs) if folder.name == GOAL_ROUND else []),
        *checks,
    ]


def _turn(folder: Path, table: Path, ruleset: str | None) -> dict[str, Cost]:
    """Run every reader once, the slow one first, so that compared readers are neighbours."""
    costs = {}
    if ruleset is not None:
        costs[OFFICIAL] = measured(reader("official", folder, ruleset))
    costs[PLAIN] = measured(reader("plain", folder))
    costs[GREP] = measured(grep(folder))
    warm = measured(reader("warm", folder, table))
    inside = json.loads(warm.output.splitlines()[-1])["cpu"]
    costs[WARM] = Cost(inside, warm.wall, warm.peak, warm.output)
    costs[OURS] = measured(ours(folder, table, "--workers", "1"))
    return costs


def _summarizer(folder: Path, ruleset: str) -> list[str]:
    submitters = ",".join(sorted(path.name for path in folder.iterdir() if path.is_dir()))
    pattern = f"{folder.resolve()}/{{{submitters}}}"
    module = "mlperf_logging.result_summarizer"
    return [sys.executable, "-m", module, pattern, "training", ruleset]


def _cpu(costs: Sequence[Cost]) -> list[float]:
    return [cost.cpu for cost in costs]


def _ratio(ours: Sequence[Cost], theirs: Sequence[Cost]) -> float:
    """Return the ratio of CPU times; a reader that ran once is compared with the median."""
    if len(ours) != len(theirs):
        return median(_cpu(ours)) / median(_cpu(theirs))
    return ratio(_cpu(ours), _cpu(theirs))


def _spread(ours: Sequence[Cost], theirs: Sequence[Cost]) -> str:
    """Return the least and largest ratio of a turn."""
    if len(ours) != len(theirs) or len(ours) < 2:
        return ""
    shares = ratios(_cpu(ours), _cpu(theirs))
    return f" ({shares[0]:.3f} to {shares[-1]:.3f})"


def _table(costs: dict[str, list[Cost]], size: int) -> list[str]:
    lines = ["| | CPU s | MB per CPU s | peak MB | ours takes |", "|---|---:|---:|---:|---:|"]
    for name in (GREP, PLAIN, OFFICIAL, SUMMARIZER, OURS, WARM):
        if name not in costs:
            continue
        seconds = median(_cpu(costs[name]))
        peak = median(cost.peak for cost in costs[name]) / 2**20
        times = _ratio(costs[OURS], costs[name])
        against = "" if name in {OURS, WARM} else f"{times:.2f}×"
        lines.append(
            f"| {name} | {seconds:.2f} | {size / 1e6 / seconds:,.0f} | {peak:.0f} | {against} |"
        )
    return [*lines, ""]


def _goals(costs: dict[str, list[Cost]]) -> list[str]:
    lines = []
    for name, rival, goal in GOALS:
        if rival not in costs:
            continue
        reached = _ratio(costs[name], costs[rival])
        word = "met" if reached <= goal else "**missed**"
        lines.append(
            f"- {name}, against {rival}: {reached:.3f}{_spread(costs[name], costs[rival])}; "
            f"goal {goal:.3f}: {word}"
        )
    return [*lines, ""]


def _checks(ruleset: str, table: Path, costs: dict[str, list[Cost]]) -> list[str]:
    """Return whether the readers agree, as text."""
    plain, official = (_counts(costs[name][-1]) for name in (PLAIN, OFFICIAL))
    tally = _counts(measured(reader("agreement", ruleset, table)))
    lines = [
        f"- events: {plain['events']:,} by the plain loop, {official['events']:,} by the official "
        f"parser, which fails on {official['failed']:,} lines and {official['crashed']:,} files",
        f"- files read by the official parser and by ours: {tally['files']:,}; the last evaluation "
        f"has the same value and time (to the millisecond) in {tally['same_last']:,}, every one in "
        f"{tally['same_all']:,}; of runs with one metric {tally['reached']:,} reached the target, "
        f"{tally['same_tta']:,} of them at the same time by both",
        f"- files in which only ours finds evaluations of one number: {tally['only_ours']:,}",
    ]
    if tally["different"]:
        lines.append(f"- different: {', '.join(tally['different'])}")
    return ["They agree on what they read:\n", *lines, ""]


def _counts(cost: Cost) -> dict[str, Any]:
    counts: dict[str, Any] = json.loads(cost.output.splitlines()[-1])
    return counts
