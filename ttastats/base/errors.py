"""What ttastats raises or warns of, and which known names come near an unknown one."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path


class TtastatsError(Exception):
    """An error a user can act on.

    Parameters
    ----------
    what
        What is wrong, as one short sentence without a full stop.
    where
        The file, column or option it is about.
    remedy
        What to do next.
    """

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  {self.remedy}" if self.remedy else text


class GateFailed(TtastatsError, AssertionError):  # noqa: N818 - an outcome, as in a test
    """Runs do not meet the conditions of a gate: `what` says which, and why."""


class MissingPackageError(TtastatsError, ModuleNotFoundError):
    """A package that only this feature needs is not installed."""


@contextlib.contextmanager
def needs(package: str, what: str, install: str) -> Iterator[None]:
    """Turn the absence of a package that something needs into an error that says how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        remedy = f'Install it: pip install "{install}"'
        raise MissingPackageError(f"{what} needs the package {package}", remedy=remedy) from None


def raise_if(holds: object, what: str, where: str | None = None, remedy: str | None = None) -> None:
    """Raise a TtastatsError if a condition holds, such as two options that exclude each other."""
    if holds:
        raise TtastatsError(what, where=where, remedy=remedy)


#: Frames that call for a user: those of the package, and of `with` between them.
_WRAPPERS = (f"{Path(__file__).parents[1]}{os.sep}", contextlib.__file__)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn of something at the line outside the package that led to it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_WRAPPERS):
        frame = frame.f_back
    names, position = frame.f_globals, (frame.f_code.co_filename, frame.f_lineno)
    registry = names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(text, category, *position, names.get("__name__"), registry)


#: Names less alike than this are another matter, not a slip.
_ALIKE = 0.65
#: Names that one error lists: a table may have thousands of columns.
_MOST_NAMES = 100
#: More names than this are not all compared letter by letter.
_MOST_COMPARED = 1_000


def nearest_names(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three known names most similar to a name, best first."""
    candidates, pairs = {*known}, {name[at : at + 2].casefold() for at in range(len(name) - 1)}
    if len(candidates) > _MOST_COMPARED:  # of these, only what shares two letters in succession
        candidates = {
            candidate
            for candidate in candidates
            if any(pair in candidate.casefold() for pair in pairs)
        }
    ranked = sorted(
        (-_similarity(name.casefold(), candidate.casefold()), candidate) for candidate in candidates
    )
    return tuple(candidate for likeness, candidate in ranked[:3] if -likeness >= _ALIKE)


def _similarity(name: str, candidate: str) -> float:
    """Return the similarity of two names, from 0 to 1."""
    likeness = _match_ratio(name, candidate)
    shorter, longer = sorted((name, candidate), key=len)
    if len(shorter) > 2 and shorter in longer:  # two letters stand in too many names
        return 0.8 + 0.2 * likeness
    if len(name) > 4:  # the start of a long name, with a slip in it: `dgx3h` for `dgx2h_ngc18.11`
        return max(likeness, 0.9 * _match_ratio(name, candidate[: len(name)]))
    return likeness


def _match_ratio(name: str, candidate: str) -> float:
    return SequenceMatcher(None, name, candidate, autojunk=False).ratio()


def suggestion(
    name: str, known: Iterable[str], what: str, most: int = 8, listed: int = _MOST_NAMES
) -> str:
    """Return a sentence with the nearest names, and all names if they are few or none is near."""
    names = list(dict.fromkeys(known))
    close = nearest_names(name, names)
    parts = [f"Nearest: {', '.join(close)}."] if close else []
    if len(names) <= most or not close:
        remainder = f" and {len(names) - listed:,} more" if len(names) > listed else ""
        parts.append(f"{what}: {', '.join(names[:listed])}{remainder}.")
    return " ".join(parts)
