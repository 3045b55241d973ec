"""What was guessed of some files: as data, and as a person reads it."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import Struct

from ttastats.answers.guessing.proposal import Reason
from ttastats.base import units
from ttastats.formats.own_logs import FILE
from ttastats.ingestion.ingest import default_output
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Table, Text
from ttastats.report.render.harmless import escape_invisible, escape_lines

#: Names of one reason, or of one kind, that are shown before the rest is only counted.
_NAMED = 3
#: Problems that are shown, those of rejected files first.
_PROBLEMS = 10


class RunSeen(Struct, frozen=True):
    """What one run would become; numbers are those of its last evaluation by `metric`."""

    file: str
    names: str
    evaluations: int
    metric: str
    final: float | None
    seconds: float | None
    step: int | None
    epoch: float | None
    to_target: str


class Kind(Struct, frozen=True, eq=False):
    """Files of one kind: the block that is proposed for them, if they need one, and their runs.

    `heads` has a row for each run: what it is called, its `evaluations`, whether it is `timed` and
    `judged` by a target of its own, and the `final` value of its first metric. Some `runs` are
    shown. `parts` is the number of files whose runs other files tell.
    """

    title: str
    files: tuple[str, ...]
    block: str | None
    reasons: tuple[Reason, ...]
    heads: pl.DataFrame
    runs: tuple[RunSeen, ...]
    problems: tuple[str, ...]
    parts: int
    clock: str

    @property
    def entries(self) -> list[str]:
        """Return the entries, those with most runs first."""
        return [name for name, _ in Counter(self.heads["entry"].drop_nulls()).most_common()]

    @property
    def timed(self) -> int:
        """Return the number of runs with a time."""
        return int(self.heads["timed"].sum())


class Guessed(Struct, frozen=True):
    """What the files of a folder are taken for; `left` names those that nothing suits, by reason.

    `config` is the proposed `ttastats.toml`, empty where no block is needed; its patterns start
    from `folder`, whose absolute place is `root`, or from that of `output`, where it was written.
    """

    path: str
    kinds: tuple[Kind, ...]
    left: tuple[tuple[str, tuple[str, ...]], ...]
    config: str
    folder: str
    root: str
    output: str | None = None

    def __str__(self) -> str:
        """Return all of it as text."""
        number = sum(len(kind.files) for kind in self.kinds)
        lines = [
            f"{escape_invisible(self.path)}: {units.plural(number, 'log')} of "
            f"{units.plural(len(self.kinds), 'kind')}",
            "",
        ]
        for place, kind in enumerate(self.kinds, start=1):
            lines += [*_kind_lines(place, kind), ""]
        if self.left:
            number = sum(len(names) for _, names in self.left)
            lines.append(f"not recognised as logs: {units.plural(number, 'file')}")
            lines += [
                f"    {_named(names)}: {escape_invisible(reason)}" for reason, names in self.left
            ]
            lines.append("")
        lines += ["next", *(f"    {command}" for command in self.commands())]
        return "\n".join(lines)

    def commands(self) -> Iterator[str]:
        """Yield the commands from ingest to a verdict."""
        path = shlex.quote(escape_invisible(self.path))
        config = self.output or escape_invisible(str(Path(self.folder) / FILE))
        if self.config and self.output is None:
            yield f"ttastats guess {path} -o {shlex.quote(config)}"
        # `ingest` looks for it in the folder, in those above and in those below.
        folder, place = Path(config).resolve().parent, Path(self.folder).resolve()
        is_around = folder == place or folder in place.parents or place in folder.parents
        if all(kind.heads.is_empty() for kind in self.kinds):
            return  # a question must be answered in the file first
        is_met = is_around and Path(config).name == FILE
        named = "" if is_met or not self.config else f" --config {shlex.quote(config)}"
        yield f"ttastats ingest {path}{named}"
        table = shlex.quote(escape_invisible(str(default_output([self.path]))))
        kind = max(self.kinds, key=lambda kind: (len(kind.entries) > 1, len(kind.files)))
        if len(entries := kind.entries) > 1:
            a, b = (shlex.quote(f"entry={escape_invisible(name)}") for name in entries[:2])
            yield f"ttastats compare {table} --a {a} --b {b}{_question_for(kind)}"
        else:
            yield f"ttastats summary {table}{_common_target(kind)}"
            yield f"ttastats compare {table} OTHER.parquet{_question_for(kind)}  # of another setup"


def _question_for(kind: Kind) -> str:
    """Return which question the runs can answer: time to target, or quality at the end.

    Several benchmarks have no target in common.
    """
    is_judged = bool(kind.heads["judged"].any())
    one = kind.heads["benchmark"].n_unique() <= 1 and not is_judged
    target = _common_target(kind) if one and kind.timed else ""
    return target if target or (is_judged and kind.timed) else " --at-end"


def _common_target(kind: Kind) -> str:
    """Return a target that all runs meet at their end if none is known.

    It is rounded to three digits, so that the worst value still meets it.
    """
    known = kind.heads.filter(pl.col("better").is_not_null())
    if known.is_empty() or kind.heads["judged"].any():
        return ""
    alike = known.group_by("metric", "better", maintain_order=True)
    (metric, better), runs = max(alike, key=lambda each: each[1].height)
    worst: Any = runs["final"].min() if better else runs["final"].max()
    three = Context(prec=3, rounding=ROUND_FLOOR if better else ROUND_CEILING)
    rounded = f"{float(three.create_decimal(repr(worst))):.3g}"
    target = f"{metric}{'>=' if better else '<='}{rounded}"
    return f" --target {shlex.quote(target)}"


def _contents_line(kind: Kind) -> str:
    number = len(kind.entries)
    parts = [
        f"{units.plural(kind.heads.height, 'run')} of "
        f"{number:,} {'entry' if number == 1 else 'entries'} ({_named(kind.entries)})"
    ]
    if seeds := sorted(kind.heads["seed"].drop_nulls().unique()):
        named = units.join_names(list(map(str, seeds)), 5)
        parts.append(f"{'seed' if len(seeds) == 1 else 'seeds'} {named}")
    parts.append(units.plural(int(kind.heads["evaluations"].sum()), "evaluation"))
    clock = kind.clock or "the log"
    timed = "" if kind.timed == kind.heads.height else f" in {kind.timed:,} of them"
    parts.append(f"time from {escape_invisible(clock)}{timed}" if kind.timed else "no time")
    return "; ".join(parts)


def _kind_lines(place: int, kind: Kind) -> Iterator[str]:
    yield f"{place}. {escape_invisible(kind.title)}"
    yield f"   {units.plural(len(kind.files), 'file')}: {_named(kind.files)}"
    nothing = "parts of runs that other files tell" if kind.parts else "no run can be read"
    yield f"   {nothing if kind.heads.is_empty() else _contents_line(kind)}"
    if kind.block:
        plain = [line for line in kind.block.splitlines() if not _DOUBT.match(line)]
        yield ""
        yield from (f"   {line}" for line in escape_lines("\n".join(plain)).splitlines())
    if kind.reasons or kind.problems:
        yield ""
    for mark, sure in ((" ", True), ("?", False)):
        reasons = (reason for reason in kind.reasons if reason.sure is sure)
        yield from (
            f" {mark} {reason.key:<8} {escape_invisible(reason.text)}" for reason in reasons
        )
    yield from (f" ! {escape_invisible(problem)}" for problem in kind.problems[:_PROBLEMS])
    if len(kind.problems) > _PROBLEMS:
        yield f" ! and {len(kind.problems) - _PROBLEMS} more"
    if kind.runs:
        yield ""
        yield from _run_lines(kind.runs)


#: A doubt that stands in the file; on the screen it follows the block.
_DOUBT = re.compile(r"# \w+\? ")


def _named(names: Sequence[str]) -> str:
    return units.join_names([escape_invisible(name) for name in names], _NAMED)


_COLUMNS = (
    Column("file"), Column("run"), Column("evaluations", "right"), Column("metric"),
    Column("last", "right"), Column("seconds", "right"), Column("step", "right"),
    Column("epoch", "right"), Column("target"),
)  # fmt: skip


def _run_lines(runs: Sequence[RunSeen]) -> Iterator[str]:
    rows = []
    for run in runs:
        numbers = (
            "" if number is None else f"{number:.{6 if isinstance(number, float) else 20}g}"
            for number in (run.final, run.seconds, run.step, run.epoch)
        )
        texts = (run.file, run.names, str(run.evaluations), run.metric)
        rows.append((*texts, *numbers, run.to_target))
    filled = [number for number, cells in enumerate(zip(*rows, strict=True)) if any(cells)]
    lines = tuple(Line(tuple(Text(cells[number]) for number in filled)) for cells in rows)
    table = Table(tuple(_COLUMNS[number] for number in filled), lines)
    yield from (f"  {line}" for line in str(Report("guess", (), (table,))).splitlines())
