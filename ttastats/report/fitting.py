"""Which columns of a table fit on a screen, how wide is each, and how are names shortened?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby, product, takewhile
from typing import Any

from msgspec import Struct
from rich.cells import cell_len

from ttastats.report import harmless
from ttastats.report.cells import Table
from ttastats.report.harmless import escape_invisible

#: Between two columns.
GAP = "  "
#: Rows that must share their first cells, on average, before these stand above them.
_SHARING = 3
#: Names are not shortened further than this while a column may give way instead.
_NAME = 24
_SHORTEST_NAME = 8

#: The widths of columns, and their names that are shortened, by column.
_Fitted = tuple[dict[int, int], dict[int, dict[str, str]]]


class Layout(Struct, frozen=True):
    """The layout of the columns of a table.

    `heads` stand above the rows that share them and `shown` side by side with their `widths`;
    `hidden` find no room. `short` gives the names that are shortened, by column.
    """

    heads: tuple[int, ...]
    shown: tuple[int, ...]
    hidden: tuple[int, ...]
    widths: Mapping[int, int]
    short: Mapping[int, Mapping[str, str]]


def fit_columns(table: Table, width: int | None, without: Collection[str] = ()) -> Layout:
    """Return the layout of a table for a width; without a width every column is complete.

    Columns give way from the right, those of the highest rank first, before names are shortened
    much. Columns whose title is in `without` are hidden at any width.
    """

    @cache
    def texts(p: int) -> list[str]:
        return [harmless.cell_text(row.cells[p]) for row in table.rows]

    @cache
    def natural(p: int) -> int:
        return max(map(cell_len, (table.columns[p].title, *texts(p))))

    if width is None:
        everything = tuple(range(len(table.columns)))
        return Layout((), everything, (), {p: natural(p) for p in everything}, {})
    heads = _head_columns(table)
    body = [p for p in range(len(table.columns)) if p not in heads]
    visible = [p for p in body if table.columns[p].title not in without]
    weak = sorted(
        (p for p in visible if not table.columns[p].names),
        key=lambda p: (table.columns[p].rank, p),
    )

    def fit(shortest: int) -> _Fitted | None:
        return _widths_and_names(table, {p: natural(p) for p in visible}, width, shortest, texts)

    while not (fitted := fit(_NAME)) and weak and visible[1:]:
        visible.remove(weak.pop())
    fitted = fitted or fit(_SHORTEST_NAME)
    widths, short = fitted or ({p: natural(p) for p in visible}, {})  # the screen breaks the names
    hidden = tuple(p for p in body if p not in visible)
    return Layout(heads, tuple(visible), hidden, widths, short)


def _head_columns(table: Table) -> tuple[int, ...]:
    """Return the columns shown as titles above rows, since enough rows share their values."""
    leading = len(list(takewhile(lambda column: column.heads, table.columns[:-1])))
    for depth in range(leading, 0, -1):
        sections = sum(1 for _ in groupby(table.rows, key=lambda row: row.cells[:depth]))
        if sections and len(table.rows) >= _SHARING * sections:
            return tuple(range(depth))
    return ()


def _widths_and_names(
    table: Table,
    widths: dict[int, int],
    width: int,
    shortest: int,
    texts: Callable[[int], list[str]],
) -> _Fitted | None:
    """Return the widths of columns, and their names shortened to these, the longest first.

    None if they do not fit, or names become ambiguous.
    """
    names = [p for p in widths if table.columns[p].names]
    excess = 1 + sum(widths.values()) + len(GAP) * (len(widths) - 1) - width
    for _ in range(excess):
        longest = max(names, key=widths.__getitem__, default=None)
        if longest is None or widths[longest] <= shortest:
            return None
        widths[longest] -= 1
    short: dict[int, dict[str, str]] = {}
    for p in names:
        names_of_column = shorten_names(texts(p), widths[p])
        if names_of_column is None:
            return None
        short[p] = names_of_column
    return widths, short


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


#: The model in a name of hardware: `B200` of `B200-SXM-180GB`, `DGX-2H`, `RTX 4090`.
_MODEL = re.compile(r"[A-Za-z]+(?:\d|-[A-Za-z]*\d| (?=\d+\b))\w*")


def hardware_models(names: Iterable[str]) -> dict[str, str]:
    """Return the model of each hardware name, with the words that keep it distinct."""
    parts = {name: list(map(_model_and_rest, name.split(" | "))) for name in dict.fromkeys(names)}
    short: dict[str, str] = {}
    for words in range(
        1 + max((len(suffix) for models in parts.values() for _, suffix in models), default=0)
    ):
        texts = {
            name: " | ".join(model + "".join(suffix[:words]) for model, suffix in parts[name])
            for name in parts.keys() - short.keys()
        }
        owners = Counter([*texts.values(), *short.values()])
        short |= {name: text for name, text in texts.items() if owners[text] == 1}
    return {name: short.get(name, name) for name in parts}


def _model_and_rest(name: str) -> tuple[str, list[str]]:
    """Return the model in a name of hardware, or the name, and the words behind it."""
    match = _MODEL.search(name)
    return (match[0], re.findall(r"\W*\w+", name[match.end() :])) if match else (name, [])


def cut_middle(name: str, width: int) -> str:
    """Return a name cut in its middle to a width, even if it becomes ambiguous."""
    if cell_len(name) <= width:
        return name
    return ELLIPSIS.join(_head_and_tail(name, (width - 1) // 2, width))


def _head_and_tail(name: str, head: int, width: int) -> tuple[str, str]:
    """Return the beginning and the end of a shortened name."""
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
    shared = [*takewhile(lambda level: len(set(level)) == 1, folders)] if len(parts) > 1 else []
    bare = ["/".join(path[len(shared) :]) for path in parts]
    for width in (_LONGEST, _LONGEST + 8, _LONGEST + 16):
        cut = {name: cut_middle(name, width) for name in bare}
        if len(set(cut.values())) == len(cut):
            break
    else:
        cut = shorten_names(bare, width) or cut
    labels = {name: cut[text] for name, text in zip(names, bare, strict=True)}
    return dict(zip(labels, number_duplicates(labels.values()), strict=True))


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
    labels = number_duplicates(LINE.join(cut[piece] for piece in line) for line in pieces.values())
    return dict(zip(pieces, labels, strict=True))


def number_duplicates(names: Iterable[str]) -> list[str]:
    """Return names with a number behind later ones of equal names."""
    counts, numbered = Counter[str](), []
    for name in names:
        counts[name] += 1
        numbered.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return numbered


def short_path(source: str) -> str:
    """Return the last folders and the name of a log."""
    return "/".join(source.split("/")[-3:])
