"""What is raced, and how: setups and options, as TOML, and the commands of runs."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from ttastats.base.errors import TtastatsError, raise_if
from ttastats.race.judge import Rules
from ttastats.race.plan import Key
from ttastats.race.processes import FILES, Launch
from ttastats.sides import comparison

#: The name of the file that defines a race.
FILE = "race.toml"
_NAME = re.compile(r"[\w.+=-]+")
_DURATION = re.compile(r"(?i)\s*(\d+(?:\.\d*)?|\.\d+)\s*(s|min|m|h|d)?\s*")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
#: Exit code of a run whose `prepare` failed.
NOT_PREPARED = 119
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class Setup(Struct, frozen=True, forbid_unknown_fields=True):
    """A command that trains once, and its name."""

    command: str
    name: str = ""


class Definition(Struct, frozen=True, forbid_unknown_fields=True):
    """A race. `runs` fixes the runs a setup, else looks end it, at most after `max_runs`.

    `setup` runs before the race and `prepare` before each run; `timeout` and `budget` are times
    such as `90 min`. `log` says how output is read, by keys of a block of `ttastats.toml`.
    """

    setups: tuple[Setup, ...] = ()
    target: tuple[str, ...] = ()
    runs: int | None = None
    max_runs: int = comparison.MAX_RUNS
    warmup: int = 0
    seed: int = 0
    setup: str = ""
    prepare: str = ""
    launcher: str = ""
    slots: tuple[str, ...] = ("",)
    timeout: str = ""
    budget: str = ""
    to_end: bool = False
    tty: bool = False
    log: dict[str, Any] = field(default_factory=dict)

    @property
    def rules(self) -> Rules:
        """Return when the race ends."""
        return Rules(self.runs or self.max_runs, fixed=self.runs is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the setups."""
        return tuple(setup.name for setup in self.setups)

    def command(self, key: Key) -> str:
        """Return the command of a setup."""
        return next(setup.command for setup in self.setups if setup.name == key.setup)

    def launch(self, key: Key, folder: Path, slot: int) -> Launch:
        """Return how a run is started: names in braces are filled in, before it the launcher."""
        files = folder / FILES
        fields = {"seed": str(self.seed_of(key)), "dir": str(files), "name": key.setup}
        command = self.command(key)
        for name, value in fields.items():
            command = command.replace(f"{{{name}}}", shlex.quote(value))
        if self.launcher:
            command = f"{self.launcher} sh -c {shlex.quote(command)}"
        if self.prepare:
            command = f"({self.prepare}) || exit {NOT_PREPARED}; {command}"
        if slot_words := self.slots[slot]:
            command = f"export {slot_words}; {command}"
        variables = {
            "TTASTATS_SEED": fields["seed"], "TTASTATS_DIR": fields["dir"],
            "TTASTATS_NAME": key.setup, "TTASTATS_SLOT": str(slot),
        }  # fmt: skip
        return Launch(command, folder, variables, self.tty)

    def seed_of(self, key: Key) -> int:
        """Return the seed of a run: that of its block; warm-ups have seeds of their own."""
        return self.seed + (key.block if key.block >= 0 else 10**6 - key.block)


def checked(definition: Definition) -> Definition:
    """Return a definition with names for all setups; raise an error for one that cannot be run."""
    commands = [setup.command for setup in definition.setups]
    two = "Give two or more: ttastats race 'python a.py --seed {seed}' 'python b.py --seed {seed}'"
    raise_if(len(commands) < 2, f"{len(commands) or 'no'} command to race", None, two)
    names = [setup.name for setup in definition.setups]
    if not all(names):
        names = [name or short for name, short in zip(names, short_names(commands), strict=True)]
    for name in names:
        raise_if(not _NAME.fullmatch(name), f"{name!r} cannot be the name of a setup", "--name",
                 "Use letters, digits and any of . _ + = -")  # fmt: skip
    raise_if(len({*names}) < len(names), "two setups have one name", "--name",
             "Name each: --name adam --name muon")  # fmt: skip
    for slot in definition.slots:
        raise_if(not _is_environment(slot), "is not the environment of a slot", f"--slot {slot}",
                 "Write variables: --slot 'CUDA_VISIBLE_DEVICES=0'")  # fmt: skip
    comparison.check_plan(None if definition.runs else definition.max_runs)
    raise_if((definition.runs or 2) < 2, "needs 2 runs of each setup", f"--runs {definition.runs}")
    for option in ("timeout", "budget"):
        duration(getattr(definition, option), f"--{option}")
    setups = tuple(map(Setup, commands, names))
    return msgspec.structs.replace(definition, setups=setups, slots=definition.slots or ("",))


def _is_environment(words: str) -> bool:
    try:
        return all(map(_VARIABLE.fullmatch, shlex.split(words)))
    except ValueError:  # a quotation that does not end
        return False


def short_names(commands: Sequence[str]) -> list[str]:
    """Return names of commands: their words that not all of them have."""
    words = [re.findall(r"-[\w-]+ +\.?\d[^\s'\"]*|[^\s'\"]+", command) for command in commands]
    common = set.intersection(*map(set, words))
    texts = ["-".join(word for word in name_words if word not in common) for name_words in words]
    plain = [re.sub(r"[^\w.+=-]+", "-", re.sub(r"\{\w+\}", "", text)) for text in texts]
    short = [name.strip("-.=")[-40:].strip("-.=") for name in plain]
    is_clear = all(short) and len({*short}) == len(short)
    return short if is_clear else [f"setup{number}" for number in range(1, len(commands) + 1)]


def duration(text: str, option: str) -> float | None:
    """Return the seconds in `90`, `90 min`, `8h`; None of nothing."""
    if not text:
        return None
    match = _DURATION.fullmatch(text)
    if match is None or not float(match[1]):
        raise TtastatsError("is not a duration", where=f"{option} {text}", remedy="Write 90min.")
    return float(match[1]) * _SECONDS[(match[2] or "s").lower()]


def read(path: Path) -> Definition:
    """Return the definition in a file of TOML or YAML."""
    try:
        text = path.read_text("utf-8")
        if path.suffix in {".yaml", ".yml"}:
            import yaml

            return msgspec.convert(yaml.safe_load(text), Definition)
        return msgspec.convert(tomllib.loads(text), Definition)
    except (OSError, ValueError, msgspec.ValidationError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TtastatsError(f"cannot be read: {reason}", where=str(path)) from error
