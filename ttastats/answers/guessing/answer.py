"""The proposals for files and their reasons: as data, and as text."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import Struct

from ttastats.base import units
from ttastats.formats.block import APART, KEYS, Keys
from ttastats.formats.config import FILE
from ttastats.ingestion.given import is_named
from ttastats.ingestion.guessed import Doubt
from ttastats.ingestion.ingest import default_output
from ttastats.outcomes.target import UserTarget
from ttastats.report.answer import Report
from ttastats.report.cells import Column, Line, Table, Text
from ttastats.report.harmless import escape_invisible, escape_lines
from ttastats.sides.options import several

#: The most names of one reason, or of one kind, before the rest is only counted.
_MOST_NAMES = 3
#: Problems that are shown, those of rejected files first.
_PROBLEMS = 10


class Kind(Struct, frozen=True, eq=False):
    """Files of one kind, what is proposed for them if they need a block, and their runs.

    `heads` has a row for each run: what it is called, its `evaluations`, whether it is `timed`,
    `judged` by a target of its own, and the `final` value of its first metric. `runs` are the rows
    of a table of some runs. `parts` is the number of files whose runs are in other files.
    """

    title: str
    files: tuple[str, ...]
    proposal: Proposal | None
    heads: pl.DataFrame
    runs: tuple[Mapping[str, Any], ...]
    problems: tuple[str, ...]
    parts: int
    clock: str

    @property
    def entries(self) -> list[str]:
        """Return the entries, those with most runs first."""
        return [name for name, _ in Counter(self.heads["entry"].drop_nulls()).most_common()]

    @property
    def unlike(self) -> list[str]:
        """Return the entries without copies of the runs of the first."""
        contents = {
            name: {*self.heads.filter(pl.col("entry") == name)["run_id"]} for name in self.entries
        }
        first = next(iter(contents.values()), set())
        return [*self.entries[:1], *(n for n, run_ids in contents.items() if not run_ids & first)]

    @property
    def timed(self) -> int:
        """Return the number of runs with a time."""
        return int(self.heads["timed"].sum())


class Guessed(Struct, frozen=True):
    """The kinds of files in a folder; `left` names the unsuited ones by reason.

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
        logs = units.plural(sum(len(kind.files) for kind in self.kinds), "log")
        number = units.plural(len(self.kinds), "kind")
        lines = [f"{escape_invisible(self.path)}: {logs} of {number}", ""]
        for index, kind in enumerate(self.kinds, start=1):
            lines += [*_kind_lines(index, kind), ""]
        if self.left:
            number = units.plural(sum(len(names) for _, names in self.left), "file")
            reason_lines = [
                f"    {_names_text(names)}: {escape_invisible(text)}" for text, names in self.left
            ]
            lines += [f"not recognised as logs: {number}", *reason_lines, ""]
        lines += ["next", *(f"    {command}" for command in self.commands())]
        return "\n".join(lines)

    def commands(self) -> Iterator[str]:
        """Yield the commands from ingest to a verdict."""
        path = shlex.quote(escape_invisible(self.path))
        config = self.output or escape_invisible(str(Path(self.folder) / FILE))
        if self.config and self.output is None:
            # Nothing that exists is written over: blocks are added to a file of other logs.
            exists = (Path(self.folder) / FILE).exists()
            new_config = str(Path(config).with_name("guessed.toml")) if exists else config
            yield f"ttastats guess {path} -o {shlex.quote(new_config)}"
            if exists:
                yield f"cat {shlex.quote(new_config)} >> {shlex.quote(config)}"
        if all(kind.heads.is_empty() for kind in self.kinds):
            return  # a question must be answered in the file first
        # `ingest` looks for it in the folder, in those above and in those below.
        folder, logs_folder = Path(config).resolve().parent, Path(self.folder).resolve()
        is_around = logs_folder.is_relative_to(folder) or folder.is_relative_to(logs_folder)
        is_met = is_around and Path(config).name == FILE
        option = "" if is_met or not self.config else f" --config {shlex.quote(config)}"
        yield f"ttastats ingest {path}{option}"
        table = shlex.quote(escape_invisible(str(default_output([self.path]))))
        kind = max(self.kinds, key=lambda kind: (len(kind.unlike) > 1, kind.heads.height))
        target = _common_target(kind)
        # Several benchmarks have no target in common; runs without a time answer for their ends.
        question = target if kind.heads["benchmark"].n_unique() <= 1 else ""
        if not kind.timed or not (question or kind.heads["judged"].any()):
            metric = kind.heads["metric"][0]
            question = f" --at-end{f' --metric {shlex.quote(metric)}' if metric else ''}"
        if len(entries := kind.unlike) > 1:
            a, b = (shlex.quote(f"entry={escape_invisible(name)}") for name in entries[:2])
            yield f"ttastats compare {table} --a {a} --b {b}{question}"
        else:
            yield f"ttastats summary {table}{target}"


def _common_target(kind: Kind) -> str:
    """Return an option with a common target at the end of all runs, if none is known."""
    heads = kind.heads.filter(pl.col("better").is_not_null())
    if heads.is_empty() or kind.heads["judged"].any():
        return ""
    groups = heads.group_by("metric", "better", maintain_order=True)
    (metric, better), runs = max(groups, key=lambda group: group[1].height)
    worst: Any = runs["final"].min() if better else runs["final"].max()
    three = Context(prec=3, rounding=ROUND_FLOOR if better else ROUND_CEILING)
    rounded = f"{float(three.create_decimal(repr(worst))):.3g}"
    return f" --target {shlex.quote(str(UserTarget(float(rounded), metric, better)))}"


def _contents_line(kind: Kind) -> str:
    """Return the numbers of runs, entries, seeds and evaluations, and the source of time."""
    number = len(kind.entries)
    parts = [
        f"{units.plural(kind.heads.height, 'run')} of "
        f"{number:,} {'entry' if number == 1 else 'entries'} ({_names_text(kind.entries)})"
    ]
    if seeds := sorted(kind.heads["seed"].drop_nulls().unique()):
        seed_names = units.join_names(list(map(str, seeds)), 5)
        parts.append(f"{'seed' if len(seeds) == 1 else 'seeds'} {seed_names}")
    parts.append(units.plural(int(kind.heads["evaluations"].sum()), "evaluation"))
    timed_text = "" if kind.timed == kind.heads.height else f" in {kind.timed:,} of them"
    clock = escape_invisible(kind.clock or "the log")
    parts.append(f"time from {clock}{timed_text}" if kind.timed else "no time")
    return "; ".join(parts)


def _kind_lines(index: int, kind: Kind) -> Iterator[str]:
    yield f"{index}. {escape_invisible(kind.title)}"
    yield f"   {units.plural(len(kind.files), 'file')}: {_names_text(kind.files)}"
    no_runs = "parts of runs that other files tell" if kind.parts else "no run can be read"
    yield f"   {no_runs if kind.heads.is_empty() else _contents_line(kind)}"
    reasons = kind.proposal.reasons if kind.proposal else ()
    if kind.proposal:
        # A doubt stands in the file; on the screen it follows the block.
        block = re.sub(r"^# \w+\? .*\n", "", proposal_toml(kind.proposal), flags=re.MULTILINE)
        yield from ("", *(f"   {line}" for line in escape_lines(block).splitlines()))
    if reasons or kind.problems:
        yield ""
    for reason in sorted(reasons, key=lambda reason: not reason.sure):
        yield f" {' ' if reason.sure else '?'} {reason.key:<8} {escape_invisible(reason.text)}"
    yield from (f" ! {escape_invisible(problem)}" for problem in kind.problems[:_PROBLEMS])
    if len(kind.problems) > _PROBLEMS:
        yield f" ! and {len(kind.problems) - _PROBLEMS} more"
    if kind.runs:
        yield from ("", *_run_lines(kind.runs))


def _names_text(names: Sequence[str]) -> str:
    return units.join_names([escape_invisible(name) for name in names], _MOST_NAMES)


def _run_lines(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table of runs, without empty columns."""
    texts = [
        [f"{x:.6g}" if isinstance(x, float) else "" if x is None else str(x) for x in run.values()]
        for run in runs
    ]
    filled_columns = [index for index, cells in enumerate(zip(*texts, strict=True)) if any(cells)]
    numbers = {"evaluations", "last", "seconds", "step", "epoch"}
    ranks = {"evaluations": 3, "step": 2, "epoch": 1}  # the target says most of a reading
    columns = [
        Column(name, "right" if name in numbers else "left", rank=ranks.get(name, 0),
               names=name in {"file", "run"})
        for name in runs[0]
    ]  # fmt: skip
    lines = tuple(Line(tuple(Text(cells[index]) for index in filled_columns)) for cells in texts)
    table = Table(tuple(columns[index] for index in filled_columns), lines)
    yield from (f"  {line}" for line in str(Report("guess", (), (table,))).splitlines())


class Reason(Struct, frozen=True):
    """Why a key says what it says; one that is not `sure` should be looked at by a person.

    A `minor` one is shown, and asks nothing. The text of another may name what else may be meant,
    as `seconds = 'elapsed s'`.
    """

    key: str
    text: str
    sure: bool = True
    minor: bool = False


#: The keys to ask a person about: which numbers are compared, at what time, of which run.
_ASKED = ("metric", "seconds", "step", "epoch", "samples", "run")
_MEANT = re.compile(r"(\w+) = '([^']+)'")


class Proposal(Struct, frozen=True):
    """Keys of a block, the reasons for them, and lines of TOML to choose one of."""

    keys: Keys
    reasons: tuple[Reason, ...]
    choices: tuple[str, ...] = ()

    def doubts(self) -> Iterator[Doubt]:
        """Yield what a person should confirm, and what else may be meant.

        The metrics that the question names are read with each choice.
        """
        named = {"metric": tuple(filter(is_named, several(self.keys.get("metric", ()))))}
        for reason in self.reasons:
            if reason.sure or reason.minor or reason.key not in _ASKED:
                continue
            key, value = reason.key, self.keys.get(reason.key)
            meant = [text for name, text in _MEANT.findall(reason.text) if name == key]
            if isinstance(value, str) and (plain := value.removesuffix(" + 1")) != value:
                meant.append(plain)
            values: dict[Any, None] = dict.fromkeys([value, *meant] if value else [*meant, ""])
            beside = named if named["metric"] and key != "metric" else {}
            choices = ({key: text, **beside} for text in values if "COLUMN" not in text)
            yield Doubt(key, reason.text, tuple(choices))

    def replaced(self, user_keys: Keys) -> Proposal:
        """Return the proposal with keys of the user in place of the guessed ones."""
        keys = dict(self.keys)
        if "preset" in user_keys:  # it says how all is read
            keys = {"files": keys.pop("files", "**")}
        dropped_keys = {*user_keys, *(APART if user_keys.keys() & {*APART} else ())}
        if "files" in user_keys and "{" in keys.get("entry", ""):
            dropped_keys.add("entry")
        kept_keys = {key: value for key, value in keys.items() if key not in dropped_keys}
        reasons = (
            reason
            for reason in self.reasons
            if reason.key not in dropped_keys
            and ("preset" not in user_keys or reason.key == "files")
        )
        return Proposal({**kept_keys, **user_keys}, tuple(reasons), self.choices)


class NoLogError(Exception):
    """Nothing suits a file, with the reason."""


def proposal_toml(proposal: Proposal) -> str:
    """Return a proposal as TOML, with doubts as comments."""
    lines = ["[[logs]]"]
    for key in KEYS:
        lines += [
            f"# {key}? {escape_invisible(reason.text)}"
            for reason in proposal.reasons
            if reason.key == key and not reason.sure
        ]
        if key in proposal.keys:
            lines.append(f"{key:<7} = {_toml_value(proposal.keys[key])}")
    if proposal.choices:
        lines += ["# Uncomment the line that applies:"]
        lines += [f"# {choice}" for choice in proposal.choices]
    return "\n".join(lines) + "\n"


def _toml_letter(letter: str) -> str:
    """Return a letter as TOML spells it: JSON knows no escape above U+FFFF but two halves."""
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def _toml_value(value: bool | str | tuple[str, ...]) -> str:
    """Return a truth, one text or several in TOML, those with a backslash in single quotes."""
    if isinstance(value, bool):
        return json.dumps(value)
    texts = []
    for text in several(value):
        if "\\" in text and text.isprintable() and "'''" not in text and text[-1] != "'":
            quote = "'''" if "'" in text else "'"
            texts.append(f"{quote}{text}{quote}")
        else:
            texts.append("".join(map(_toml_letter, json.dumps(text, ensure_ascii=False))))
    if len(texts) == 1:
        return texts[0]
    inside = ", ".join(texts)
    lines = "".join(f"  {text},\n" for text in texts)
    return f"[{inside}]" if len(inside) < 80 else f"[\n{lines}]"
