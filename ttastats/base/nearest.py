"""Which known names come nearest to one that is not known?"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

#: Names less alike than this are another matter, not a slip.
_ALIKE = 0.65


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the three names most like one, best first; case does not count, a part counts much."""
    ranked = [(_likeness(name.casefold(), each.casefold()), each) for each in dict.fromkeys(known)]
    ranked.sort(key=lambda pair: (-pair[0], pair[1]))
    return tuple(each for likeness, each in ranked[:3] if likeness >= _ALIKE)


def _likeness(name: str, other: str) -> float:
    likeness = _ratio(name, other)
    short, long = sorted((name, other), key=len)
    if len(short) > 2 and short in long:  # two letters stand in too many names
        return max(likeness, 0.8 + 0.2 * likeness)
    # The start of a long name, with a slip in it: `dgx3h` for `dgx2h_ngc18.11`.
    return max(likeness, 0.9 * _ratio(name, other[: len(name)])) if len(name) > 4 else likeness


def _ratio(name: str, other: str) -> float:
    return SequenceMatcher(None, name, other, autojunk=False).ratio()


def among(name: str, known: Iterable[str], what: str, most: int = 8) -> str:
    """Return which names come nearest and, of few names, all: `Nearest: resnet. There are: ...`."""
    names = list(dict.fromkeys(known))
    close = nearest(name, names)
    parts = [f"Nearest: {', '.join(close)}."] if close else []
    if len(names) <= most or not close:
        parts.append(f"{what}: {', '.join(names)}.")
    return " ".join(parts)
