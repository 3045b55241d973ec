"""What must be said of how two sides became pairs?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from ttastats.base import units
from ttastats.base.note import Note, note, wording
from ttastats.sides import setups, shared_runs

#: A group: its name, the runs of A, the runs of B.
Group = tuple[str, pl.DataFrame, pl.DataFrame]


def shared(groups: Sequence[Group], both: pl.Series) -> Iterator[Note]:
    """Name the runs that both sides have: of a difference they say nothing."""
    counts = [
        (name, shared_runs.of_content(pl.concat([a, b], how="diagonal_relaxed"), both))
        for name, a, b in groups
    ]
    counts = [(name, runs) for name, runs in counts if not runs.is_empty()]
    if not counts:
        return
    number = sum(shared_runs.contents(runs) for _, runs in counts)
    example = min(shared_runs.example(runs) for _, runs in counts)
    names = [f"{name} {shared_runs.contents(runs)}" for name, runs in counts]
    yield note("shared_runs", n=number, names=names, example=example)


def setups_that_differ(groups: Sequence[Group]) -> Iterator[Note]:
    """Say in what the setups of a group's sides differ, and which names count as one hardware.

    A setup that is unknown, or one of several of a side, differs from none.
    """
    for column in setups.COLUMNS:
        values = [
            (name, setups.common(a, a, column), setups.common(b, b, column))
            for name, a, b in groups
        ]
        found = [
            (name, str(one), str(other))
            for name, one, other in values
            if one is not None and other is not None and one != other
        ]
        renamed = [each for each in found if column == "hardware" and setups.same(*each[1:])]
        apart = [each for each in found if each not in renamed]
        if apart:
            text = _by_difference(apart, everywhere=len(apart) == len(groups))
            yield Note(f"{column}_differ", wording("setup_differs", column=column, how=text))
        names = dict.fromkeys(
            f"{one} and {other}"
            for _, one, other in renamed
            if setups.words(one) != setups.words(other)
        )
        if names:
            yield note("hardware_names", names=[*names])


def _by_difference(found: Sequence[tuple[str, str, str]], *, everywhere: bool) -> str:
    """Return `DGX-2 vs DGX-2H`, and of which groups if not of all."""
    groups: dict[str, list[str]] = {}
    for name, one, other in found:
        groups.setdefault(f"{one} vs {other}", []).append(name)
    if everywhere and len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{values} ({units.listed(names)})" for values, names in groups.items())


def targets(differing: Sequence[tuple[str, str]]) -> Iterator[Note]:
    """Yield what became of groups whose sides have different targets: their names, and what."""
    groups: dict[str, list[str]] = {}
    for name, text in differing:
        groups.setdefault(text, []).append(name)
    if groups:
        each = [f"{text} ({units.listed(names)})" for text, names in groups.items()]
        yield note("targets_differ", groups=each)
