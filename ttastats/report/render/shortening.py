"""How are names shortened so that each still says which it is, on screens and in plots?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import product

from rich.cells import cell_len

ELLIPSIS = "…"


def shortened(names: Iterable[str], width: int) -> dict[str, str] | None:
    """Return each name in at most `width` columns of a screen, without a part from its middle.

    Which part is chosen for each name so that no other name can be meant: of `tyche_ngpu512_ngc`
    and `tyche_ngpu64_ngc` the numbers stay, and stay whole where that is possible. None if the
    width is not enough to tell all names apart.
    """
    distinct = dict.fromkeys(names)
    short = {name: name for name in distinct if cell_len(name) <= width}
    long = [name for name in distinct if name not in short]
    heads = sorted(range(1, width - 1), key=lambda head: abs(head - width // 2))
    for whole_numbers, head in product((True, False), heads):
        if len(short) == len(distinct):
            break
        parts = {name: _parts(name, head, width) for name in long}
        owners = Counter(parts.values())
        short |= {
            name: ELLIPSIS.join(ends)
            for name, ends in parts.items()
            if name not in short
            and owners[ends] == 1
            and not (whole_numbers and _breaks_a_number(name, *ends))
        }
    return short if len(short) == len(distinct) else None


#: The first word of a name of hardware that has a digit: `B200` of `B200-SXM-180GB`.
_MODEL = re.compile(r"[A-Za-z]*\d\w*")


def models(names: Iterable[str]) -> dict[str, str]:
    """Return the model of each name of hardware, or the whole name where several share it."""

    def model(name: str) -> str:
        match = _MODEL.search(name)
        return match[0] if match else name

    short = {name: " | ".join(map(model, name.split(" | "))) for name in dict.fromkeys(names)}
    owners = Counter(short.values())
    return {name: part if owners[part] == 1 else name for name, part in short.items()}


def middle_cut(name: str, width: int) -> str:
    """Return a name in at most `width` columns, even if another one becomes the same."""
    return name if cell_len(name) <= width else ELLIPSIS.join(_parts(name, (width - 1) // 2, width))


def _parts(name: str, head: int, width: int) -> tuple[str, str]:
    """Return the beginning and the end of a name that stay."""
    return _taken(name, head), _taken(name[::-1], width - head - 1)[::-1]


def _breaks_a_number(name: str, head: str, tail: str) -> bool:
    cuts = (len(head), len(name) - len(tail))
    return any(name[cut - 1].isdigit() and name[cut : cut + 1].isdigit() for cut in cuts)


def _taken(text: str, width: int) -> str:
    """Return as much of the beginning as fits; a wide letter takes two columns."""
    text = text[:width]
    while cell_len(text) > width:
        text = text[:-1]
    return text
