"""By which blocks are logs read that nobody described, and what must the user confirm first?"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ttastats.base import units
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem
from ttastats.formats.block import Block, Keys
from ttastats.formats.config import GUESSED, NOT_GUESSED, complete_block
from ttastats.ingestion.account import NothingReadError
from ttastats.ingestion.described import Description


class Doubt(Struct, frozen=True):
    """What a guess leaves open about a key, and what the user may mean: keys of a block."""

    key: str
    text: str
    choices: tuple[Keys, ...]

    @property
    def is_open(self) -> bool:
        """Return whether it must be answered: one reading alone is believed, and marked."""
        return self.key == "metric" or len(self.choices) != 1


class Proposed(Struct, frozen=True):
    """A block that is proposed for some logs, also as TOML."""

    keys: Keys
    doubts: tuple[Doubt, ...]
    toml: str


class Guess(Struct, frozen=True):
    """The blocks proposed for a path, whose patterns start from `root`; `left` suits none."""

    path: str
    root: str
    blocks: tuple[Proposed, ...]
    left: tuple[tuple[str, tuple[str, ...]], ...]


#: Asks the user about the logs at a path; returns one of the choices, or None.
Ask: TypeAlias = Callable[[str, Doubt], Keys | None]


#: The module that proposes blocks, named as text: it stands above this one.
_PROPOSER = "ttastats.answers.guessing.folder"


def proposed_blocks(
    description: Description, paths: Sequence[str], blocks: Sequence[Block]
) -> tuple[list[Block], list[Problem]]:
    """Return blocks proposed for what other blocks leave, and a problem with the text of each."""
    if not description.guess:
        return [], []
    guesses = description.guess
    if not isinstance(guesses, tuple):
        guesses = tuple(_guess(description, path, blocks) for path in paths)
    blocks_made: list[Block] = []
    problems: list[Problem] = []
    for guess in guesses:
        location = "a block that `guess` proposes"
        for proposed in guess.blocks:
            block = complete_block(proposed.keys, location.format, guess.root)
            doubts = tuple(f"{doubt.key}: {doubt.text}" for doubt in proposed.doubts)
            blocks_made.append(replace(block, doubts=doubts))
            problems.append(Problem(GUESSED, proposed.toml, "info", source=guess.path))
        problems += [
            Problem(
                NOT_GUESSED, f"{units.join_names(names, 3)}: {reason}", "info", source=guess.path
            )
            for reason, names in guess.left
        ]
    return blocks_made, problems


def _guess(
    description: Description, path: str, blocks: Sequence[Block], ask: Ask | None = None
) -> Guess:
    """Return a guess for the logs at a path described by options alone, or not at all."""
    options = description.options or {}
    guess: Guess = import_module(_PROPOSER).propose(path, () if options else blocks, options, ask)
    return guess


def certain_guesses(
    description: Description, unread: NothingReadError, ask: Ask | None
) -> tuple[Guess, ...]:
    """Return proposals for unread logs; open doubts are an error.

    Where nothing looks like a log, the error that nothing was read says why.
    """
    guesses: list[Guess] = []
    reasons: list[str] = []
    for path in unread.paths:
        try:
            guesses.append(_guess(description, path, unread.blocks, ask))
        except TtastatsError as error:
            reasons.append(error.what)
    if not guesses:
        remedy = "\n  ".join([*(f"{reason}." for reason in reasons), unread.remedy or ""])
        raise TtastatsError(unread.what, where=unread.where, remedy=remedy)
    doubts = {
        f"{doubt.key}: {doubt.text}": doubt
        for guess in guesses
        for proposed in guess.blocks
        for doubt in proposed.doubts
        if doubt.is_open
    }
    if doubts:
        raise _doubt_error(unread.paths, doubts)
    return tuple(guess for guess in guesses if guess.blocks)


def _doubt_error(paths: Sequence[str], doubts: Mapping[str, Doubt]) -> TtastatsError:
    """Return the error for doubts, with a command for each choice."""
    keys = units.join_names([*dict.fromkeys(doubt.key for doubt in doubts.values())], 5)
    choices = dict.fromkeys(
        choice for doubt in doubts.values() for choice in map(as_options, doubt.choices) if choice
    )
    commands = [f"  ttastats ingest {shlex.join(paths)} {choice}" for choice in choices]
    accept = "Accept the guess with --guess"
    lines = [*doubts, f"{accept}, or choose:" if commands else f"{accept}.", *commands]
    message = f"read as guessed, it would be in doubt: {keys}"
    return TtastatsError(message, where=", ".join(paths), remedy="\n  ".join(lines))


def as_options(keys: Keys) -> str:
    """Return keys of a block as options of `ingest`."""
    words = [
        word
        for key, value in keys.items()
        for text in ([value] if isinstance(value, str) else value)
        for word in (f"--{key.replace('_', '-')}", text)
    ]
    return shlex.join(words)
