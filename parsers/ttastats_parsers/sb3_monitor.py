"""Monitors of Stable-Baselines3: an episode in each line, a file for each environment of a run.

The environments of a run train one model, so their episodes are put together in the order of time,
as Stable-Baselines3 does: each file tells when it was begun, and its times count from there. Steps
are those of all environments. Where the model was evaluated apart (`evaluations.npz`), or the
trainer's own table (`progress.csv`) lies beside, monitors tell no run of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import structs

from ttastats.base.records import Problem, Run
from ttastats.formats.dialect import Log
from ttastats_parsers.checkpoints import Measured, evaluations_of
from ttastats_parsers.payloads import as_float, as_mapping, json_value

name = "sb3-monitor"

_START = b'#{"t_start":'
#: The first line is no longer.
_HEADER = 1024
EVALUATIONS, PROGRESS = "evaluations.npz", "progress.csv"
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
    names = {log.name}
    if _OF_ONE_RUN.fullmatch(log.name):
        names.update(filter(_OF_ONE_RUN.fullmatch, log.listing(log.folder)))
    main, *members = sorted(names, key=lambda file: (len(file), file))  # low numbers first
    listing = log.listing(log.folder)
    if main != log.name or EVALUATIONS in listing or progress_tells(b"total_timesteps", log):
        return
    contents = (log.companion(log.folder / file_name) or b"" for file_name in members)
    siblings = (read(content, has_lines=False) for content in contents)
    yield _run([read(log.read()), *siblings], log)


def progress_tells(column: bytes, log: Log) -> bool:
    """Return whether a `progress.csv` beside a log has a column, and thus tells the same run."""
    is_there = PROGRESS in log.listing(log.folder)
    content = log.companion(log.folder / PROGRESS) if is_there else None
    return column in (content or b"").partition(b"\n")[0]


def read(content: bytes, *, has_lines: bool = True) -> Monitor:
    """Read a monitor, of which a session may be appended; without lines if not those of a log."""
    first_start = start = 0.0
    environment = None
    episodes: list[Episode] = []
    bad_lines: list[int | None] = []
    columns: tuple[str, ...] = _COLUMNS
    for number, line in enumerate(content.decode("utf-8-sig", "replace").split("\n"), start=1):
        text, at = line.strip(), number if has_lines else None
        if text.startswith("#"):
            header = as_mapping(json_value(text[1:]))
            start = as_float(header.get("t_start")) or 0.0
            first_start = first_start or start
            environment = environment or header.get("env_id")
        elif text.startswith("r,"):
            columns = tuple(text.split(","))
        elif text:
            cells = dict(zip(columns, text.split(","), strict=False))
            length, end = as_float(cells.get("l")), as_float(cells.get("t"))
            if text.count(",") + 1 != len(columns) or length is None or end is None:
                bad_lines.append(at)
                continue
            episodes.append(Episode(start + end, as_float(cells.get("r")), int(length), at))
    problems = []
    if bad_lines:
        text = f"{len(bad_lines):,} line(s) are not episodes: ignored"
        problems.append(Problem("bad_line", text, "error", bad_lines[0]))
    benchmark = environment if isinstance(environment, str) and environment != "None" else None
    return Monitor(first_start, benchmark, episodes, problems)


def _run(monitors: list[Monitor], log: Log) -> Run:
    """Return the run of the monitors of its environments."""
    start = min((monitor.begun for monitor in monitors if monitor.begun), default=0.0)
    episodes = [episode for monitor in monitors for episode in monitor.episodes]
    episodes.sort(key=lambda episode: episode.ended)
    measured, steps = [], 0
    for episode in episodes:
        steps += episode.length
        seconds = round(episode.ended - start, 6)
        measured.append(Measured("r", episode.reward, steps, seconds, None, episode.line))
    evaluations, remarks = evaluations_of(measured, log)
    environments = {monitor.environment for monitor in monitors} - {None}
    problems = (*(problem for monitor in monitors for problem in monitor.problems), *remarks)
    return Run(
        benchmark=environments.pop() if len(environments) == 1 else None,
        framework="stable-baselines3",
        started_at=datetime.fromtimestamp(start, UTC) if 0 < start < 4e9 else None,
        clock="wall",
        clock_zero="start of the first environment",
        run_seconds=measured[-1].seconds if measured else None,
        evaluations=tuple(
            structs.replace(evaluation, higher_is_better=evaluation.higher_is_better is not False)
            for evaluation in evaluations
        ),
        problems=problems if evaluations else (*problems, _NO_EPISODE),
        extra={"environments": len(monitors), "reward": "of training"},
    )


_NO_EPISODE = Problem("no_evaluation", "no episode has ended", "warning")
