"""Monitors of Stable-Baselines3: an episode in each line, a file for each environment of a run.

The environments of a run train one model, so their episodes are put together in the order of time,
as Stable-Baselines3 does: each file tells when it was begun, and its times count from there. Steps
are those of all environments. Where the model was evaluated apart (`evaluations.npz`), monitors
tell no run of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import structs

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.checkpoints import Measured, evaluations_of
from ttastats_parsers.payloads import as_float, as_mapping

name = "sb3-monitor"

_START = b'#{"t_start":'
#: The first line is no longer.
_HEADER = 1024
EVALUATIONS = "evaluations.npz"
#: `0.monitor.csv`, `1.monitor.csv`, and with the process in front, are environments of one run.
_OF_ONE_RUN = re.compile(r"(?:(?:env|rank|worker|process)[_.-]?)?\d+(?:\.\d+)*\.monitor\.csv")
_COLUMNS = ("r", "l", "t")


class Episode(NamedTuple):
    """One episode: its end in seconds since 1970, its return, its steps, and its line."""

    ended: float
    reward: float | None
    length: int
    line: int | None


class Monitor(NamedTuple):
    """What a file tells: when it was begun, the environment, the episodes, what is wrong."""

    begun: float
    environment: str | None
    episodes: list[Episode]
    problems: list[Problem]


def recognises(head: bytes, path: str) -> bool:
    """Return whether the first line is of a monitor; if cut there, by its name too."""
    start = head.removeprefix(b"\xef\xbb\xbf")[:_HEADER]
    if len(start) < len(_START) and _START.startswith(start):
        return path.endswith(".monitor.csv")
    return start.startswith(b"#{") and b'"t_start":' in start


def parse(log: Log) -> Iterator[Run | Problem]:
    """Yield the run from the first file of its environments; the others are parts of it."""
    names = environments(log)
    if names[0] != log.name or EVALUATIONS in log.listing(log.folder):
        return
    beside = [read(log.companion(log.folder / other) or b"") for other in names[1:]]
    elsewhere = [  # their lines are none of the log's
        one._replace(
            episodes=[episode._replace(line=None) for episode in one.episodes],
            problems=[structs.replace(problem, line=None) for problem in one.problems],
        )
        for one in beside
    ]
    yield _run([read(log.read()), *elsewhere], log)


def environments(log: Log) -> list[str]:
    """Return the names of the monitors of a run, those of low numbers first."""
    if not _OF_ONE_RUN.fullmatch(log.name):
        return [log.name]
    beside = [one for one in log.listing(log.folder) if _OF_ONE_RUN.fullmatch(one)]
    return sorted({*beside, log.name}, key=lambda one: (len(one), one))


def read(content: bytes) -> Monitor:
    """Read a monitor; where a session was appended, its header stands in the middle."""
    first = begun = 0.0
    environment = None
    episodes: list[Episode] = []
    bad: list[int] = []
    columns: tuple[str, ...] = _COLUMNS
    for number, line in enumerate(content.decode("utf-8-sig", "replace").split("\n"), start=1):
        text = line.strip()
        if text.startswith("#"):
            header = _header(text[1:])
            begun = as_float(header.get("t_start")) or 0.0
            first = first or begun
            environment = environment or header.get("env_id")
        elif text.startswith("r,"):
            columns = tuple(text.split(","))
        elif text:
            episode = _episode(text.split(","), columns, begun, number)
            episodes += [episode] if episode else []
            bad += [] if episode else [number]
    problems = []
    if bad:
        text = f"{len(bad):,} line(s) are not episodes: ignored"
        problems.append(Problem("bad_line", text, "error", bad[0]))
    named = environment if isinstance(environment, str) and environment != "None" else None
    return Monitor(first, named, episodes, problems)


def _header(text: str) -> Any:
    try:
        return as_mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _episode(cells: list[str], columns: tuple[str, ...], begun: float, line: int) -> Episode | None:
    told = dict(zip(columns, cells, strict=False))
    length, ended = as_float(told.get("l")), as_float(told.get("t"))
    if len(cells) != len(columns) or length is None or ended is None:
        return None
    return Episode(begun + ended, as_float(told.get("r")), int(length), line)


def _run(monitors: list[Monitor], log: Log) -> Run:
    begun = min((one.begun for one in monitors if one.begun), default=0.0)
    episodes = [episode for one in monitors for episode in one.episodes]
    episodes.sort(key=lambda episode: episode.ended)
    measured, steps = [], 0
    for episode in episodes:
        steps += episode.length
        seconds = round(episode.ended - begun, 6)
        measured.append(Measured("r", episode.reward, steps, seconds, None, episode.line))
    evaluations, said = evaluations_of(measured, log)
    known = {one.environment for one in monitors} - {None}
    problems = (*(problem for one in monitors for problem in one.problems), *said)
    return Run(
        benchmark=known.pop() if len(known) == 1 else None,
        framework="stable-baselines3",
        started_at=datetime.fromtimestamp(begun, UTC) if 0 < begun < 4e9 else None,
        clock="wall",
        clock_zero="start of the first environment",
        run_seconds=measured[-1].seconds if measured else None,
        evaluations=tuple(
            structs.replace(one, higher_is_better=True)
            if one.metric == "r" and one.higher_is_better is None
            else one
            for one in evaluations
        ),
        problems=problems if evaluations else (*problems, _NO_EPISODE),
        extra={"environments": len(monitors), "reward": "of training"},
    )


_NO_EPISODE = Problem("no_evaluation", "no episode has ended", "warning")
