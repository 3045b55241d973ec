"""How are names shortened so that each still says which it is, on screens and in plots?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import product

from rich.cells import cell_len

ELLIPSIS = "…"


def shorten_names(names: Iterable[str], width: int) -> dict[str, str] | None:
    """Return each name cut in its middle to a width, all still different; None if impossible.

    Which part is chosen for each name so that no other name can be meant: of `tyche_ngpu512_ngc`
    and `tyche_ngpu64_ngc` the numbers stay, and stay whole where that is possible.
    """
    distinct = dict.fromkeys(names)
    short = {name: name for name in distinct if cell_len(name) <= width}
    long = [name for name in distinct if name not in short]
    heads = sorted(range(1, width - 1), key=lambda head: abs(head - width // 2))
    for whole_numbers, head in product((True, False), heads):
        if len(short) == len(distinct):
            break
        parts = {name: _head_and_tail(name, head, width) for name in long}
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


def hardware_models(names: Iterable[str]) -> dict[str, str]:
    """Return the model of each hardware name, or the whole name if several share the model."""

    def model(name: str) -> str:
        match = _MODEL.search(name)
        return match[0] if match else name

    short = {name: " | ".join(map(model, name.split(" | "))) for name in dict.fromkeys(names)}
    owners = Counter(short.values())
    return {name: part if owners[part] == 1 else name for name, part in short.items()}


def cut_middle(name: str, width: int) -> str:
    """Return a name cut in its middle to a width, even if it becomes ambiguous."""
    if cell_len(name) <= width:
        return name
    return ELLIPSIS.join(_head_and_tail(name, (width - 1) // 2, width))


def _head_and_tail(name: str, head: int, width: int) -> tuple[str, str]:
    """Return the beginning and the end of a name that remain."""
    return _take_width(name, head), _take_width(name[::-1], width - head - 1)[::-1]


def _breaks_a_number(name: str, head: str, tail: str) -> bool:
    cuts = (len(head), len(name) - len(tail))
    return any(name[cut - 1].isdigit() and name[cut : cut + 1].isdigit() for cut in cuts)


def _take_width(text: str, width: int) -> str:
    """Return the longest beginning that fits a width; a wide letter takes two columns."""
    text = text[:width]
    while cell_len(text) > width:
        text = text[:-1]
    return text
