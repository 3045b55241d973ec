"""Which files does a pattern such as `{entry}/seed{seed}.csv` mean, and what does a path name?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ttastats.base.errors import TtastatsError
from ttastats.base.streams import COMPRESSED

#: Columns of the table that count something: `{seed}` stands for digits alone.
COUNTS = ("seed", "accelerators", "nodes", "global_batch_size", "train_samples")
#: What stands in a pattern for the part of a run that a file holds; in a folder of a part, a file
#: for each metric.
PART = "{part}"
PARTS = ("part", "metric")
_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\{([^{}/]*)\}|[{}]|[^*?{}]+")
#: A name in braces inside a text.
PLACE = re.compile(r"\{([^{}]+)\}")
_NAME = re.compile(r"[A-Za-z_]\w*")


class Piece(NamedTuple):
    """What one piece of a path looks like, whether any number of them stand there, its name.

    Of a piece that is not wild, `text` is all of it.
    """

    one: re.Pattern[str]
    many: bool = False
    name: str = ""
    text: str = ""


_CHARACTER, _DIGIT = re.compile("[^/]"), re.compile(r"\d")
_WILDCARDS = {
    "**/": re.compile("[^/]+/"),
    "**": re.compile("(?s:.)"),
    "*": _CHARACTER,
    "?": _CHARACTER,
}


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> tuple[Piece, ...]:
    """Return the pieces of a path pattern.

    `{name}` stands for one or more characters within a part of the path and names them; the first
    of two takes as much as it can. `{_}` names nothing, `*` and `?` are as in a shell, and `**`
    stands for any folders.
    """
    pieces: list[Piece] = []
    for match in _PIECE.finditer(pattern.removeprefix("./")):
        piece, name = match.group(), match.group(1)
        if name is None and piece not in "{}":
            wildcard = _WILDCARDS.get(piece)
            pieces.append(Piece(wildcard, "*" in piece) if wildcard else _text(piece))
        elif name is None or not _NAME.fullmatch(name):
            raise TtastatsError(
                "braces without a name" if name is not None else "unbalanced braces",
                where=f"files = {pattern!r}",
                remedy="{name} matches a part of the path, such as {entry}/{seed}.csv; {_} matches "
                "without a name.",
            )
        else:
            chars = _DIGIT if name in COUNTS else _CHARACTER
            pieces += [Piece(chars, name="" if name == "_" else name), Piece(chars, many=True)]
    return tuple(pieces)


def _text(text: str) -> Piece:
    return Piece(re.compile(re.escape(text)), text=text)


def match_path(pattern: str, path: str) -> Mapping[str, str] | None:
    """Return the groups of a pattern in a relative path, or None if it does not match.

    Of several patterns with `|` between them the first that matches counts. The ending of a
    compressed file may be left out of a pattern.
    """
    for alternative in pattern.split("|"):
        pieces = compile_pattern(alternative)
        for ending in ("", *COMPRESSED):
            stem = path.removesuffix(ending) if path.endswith(ending) else None
            if stem is not None and (names := _match_names(pieces, stem)) is not None:
                return names
    return None


def _match_names(pieces: Sequence[Piece], path: str) -> Mapping[str, str] | None:
    """Return the texts of the names, the same text wherever a name is repeated."""
    is_alike = path.endswith(tuple(piece.text for piece in pieces[-1:]))
    ends = _match_pieces(pieces, path) if is_alike else None
    if ends is None:
        return None
    numbers = [number for number, piece in enumerate(pieces) if piece.name]
    names: dict[str, str] = {}
    for number in numbers:
        names.setdefault(pieces[number].name, path[ends[number] : ends[number + 2]])
    if len(names) < len(numbers):
        repeated = [*pieces]
        for number in numbers:
            repeated[number : number + 2] = _text(names[pieces[number].name]), _text("")
        return None if _match_pieces(repeated, path) is None else names
    return names


def _match_pieces(pieces: Sequence[Piece], path: str) -> tuple[int, ...] | None:
    """Return 0 and the end of each piece in a path, or None.

    No piece is tried twice at one position: the time is at most the product of both lengths.
    """
    visited: set[tuple[int, int]] = set()
    stack: list[tuple[int, int, Any]] = [(0, 0, (0, None))]  # ends from the last on, linked
    while stack:
        number, at, ends = stack.pop()
        if (number, at) in visited:
            continue
        visited.add((number, at))
        if number == len(pieces):
            if at == len(path):
                return tuple(_linked(ends))[::-1]
            continue
        piece = pieces[number]
        match = piece.one.match(path, at)
        if piece.many:
            stack.append((number + 1, at, (at, ends)))
        if match:
            end = match.end()
            state = (number, end, ends)
            stack.append(state if piece.many else (number + 1, end, (end, ends)))
    return None


def _linked(link: Any) -> Iterator[int]:
    while link is not None:
        value, link = link
        yield value


def fill_names(texts: Mapping[str, str], known: Mapping[str, str | None]) -> dict[str, str]:
    """Return texts with the names in braces replaced; texts with unknown names are left out.

    A text that is such a name itself means what it stands for, also where that is unknown.
    """
    values = {name: value for name, value in known.items() if value is not None}
    return {
        key: values[text] if text in known else PLACE.sub(lambda match: values[match[1]], text)
        for key, text in texts.items()
        if (text in values if text in known else values.keys() >= {*PLACE.findall(text)})
    }
