"""Short names that still tell things apart: entries are paths, and axes are narrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any

from ttastats.report.render.harmless import escape_invisible
from ttastats.report.render.shortening import cut_middle, shorten_names

#: Between the lines of a name that has several; no line feed, which names could hold.
LINE = "␤"
#: The column of names that stand beside lines.
NAME = "name"

#: Folders every entry has, which tell nothing.
_NOISE = frozenset({"results", "submission", "training", "train"})
_LONGEST = 34


def key_label(values: Sequence[Any]) -> str:
    """Return the values of some keys as one line of text."""
    parts = [
        "unknown" if value is None else escape_invisible(" ".join(str(value).split()))
        for value in values
    ]
    return " · ".join(parts) or "all runs"


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return each name without common folders, cut in the middle; names stay distinct.

    A name is rather wider than without another part of it.
    """
    parts = [name.split("/") for name in names]
    parts = [[part for part in path if part not in _NOISE] or path for path in parts]
    folders = zip(*(path[:-1] for path in parts), strict=False)
    shared = [*takewhile(lambda some: len(set(some)) == 1, folders)] if len(parts) > 1 else []
    bare = ["/".join(path[len(shared) :]) for path in parts]
    for width in (_LONGEST, _LONGEST + 8, _LONGEST + 16):
        cut = {name: cut_middle(name, width) for name in bare}
        if len(set(cut.values())) == len(cut):
            break
    else:
        cut = shorten_names(bare, width) or cut
    shown = {name: cut[text] for name, text in zip(names, bare, strict=True)}
    return dict(zip(shown, number_duplicates(shown.values()), strict=True))


def short_labels(rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return a short name for the values of some keys in each row; equal ones have one name."""
    full = [key_label(values) for values in rows]
    short = short_names(list(dict.fromkeys(full)))
    return [short[name] for name in full]


def wrapped_names(names: Iterable[str], fits: Callable[[str], bool], most: int) -> dict[str, str]:
    """Return each name wrapped to lines that fit; names stay distinct."""
    pieces = {name: name.split(LINE) for name in names}
    long = dict.fromkeys(piece for line in pieces.values() for piece in line)
    cut: dict[str, str] = {}
    for letters in range(most, 3, -1):
        short = shorten_names(long, letters) or {}
        cut = {piece: text for piece, text in short.items() if fits(text)} | cut
        if len(cut) == len(long):
            break
    cut = {piece: cut_middle(piece, 3) for piece in long} | cut
    shown = number_duplicates(LINE.join(cut[piece] for piece in line) for line in pieces.values())
    return dict(zip(pieces, shown, strict=True))


def number_duplicates(names: Iterable[str]) -> list[str]:
    """Return names with a number behind later ones of equal names."""
    seen, numbered = Counter[str](), []
    for name in names:
        seen[name] += 1
        numbered.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return numbered


def short_path(source: str) -> str:
    """Return the last folders and the name of a log."""
    return "/".join(source.split("/")[-3:])
