"""Short names that still tell things apart: entries are paths, and axes are narrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ttastats.report.render.harmless import visible
from ttastats.report.render.shortening import middle_cut, shortened

#: Folders every entry has, which tell nothing.
_NOISE = frozenset({"results", "submission", "training", "train"})
_LONGEST = 34


def label(values: Sequence[Any]) -> str:
    """Return one line for the values of some keys; unknown is said."""
    parts = [
        "unknown" if value is None else visible(" ".join(str(value).split())) for value in values
    ]
    return " · ".join(parts) or "all runs"


def short(names: Sequence[str]) -> dict[str, str]:
    """Return each name without what all share, cut in the middle; names stay distinct."""
    kept = [_without_noise(name) for name in names]
    shared = _shared_folders(kept)
    bare = ["/".join(parts[shared:]) for parts in kept]
    cut = _cut(bare, (_LONGEST, _LONGEST + 8, _LONGEST + 16))
    found = {name: cut[text] for name, text in zip(names, bare, strict=True)}
    return dict(zip(found, numbered(found.values()), strict=True))


def _cut(names: Sequence[str], widths: Sequence[int]) -> dict[str, str]:
    """Return each name without its middle, rather wider than without another part of it."""
    found: dict[str, str] = {}
    for width in widths:
        found = {name: middle_cut(name, width) for name in names}
        if len(set(found.values())) == len(found):
            return found
    return shortened(names, widths[-1]) or found


def _without_noise(name: str) -> list[str]:
    parts = name.split("/")
    return [part for part in parts if part not in _NOISE] or parts


def _shared_folders(names: Sequence[list[str]]) -> int:
    """Count the leading folders that all names have; the last part always stays."""
    if len(names) < 2:
        return 0
    most = min(len(parts) for parts in names) - 1
    first = names[0]
    return next(
        (depth for depth in range(most) if any(parts[depth] != first[depth] for parts in names)),
        most,
    )


def numbered(names: Iterable[str]) -> list[str]:
    """Return names, of those that are equal the later ones with a number."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def file_of(source: str) -> str:
    """Return the last folders and the name of a log: enough to find it."""
    return "/".join(source.split("/")[-3:])
