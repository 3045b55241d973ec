"""Which rows of an answer are kept, and what is said of how its runs were chosen?"""

from __future__ import annotations

from dataclasses import replace

from ttastats.report.answer import Report
from ttastats.report.ordering import filtered
from ttastats.sides.question import Chosen


def answered(report: Report, *sides: Chosen) -> Report:
    """Keep the rows asked for and say how the runs were chosen; what holds for all sides, once.

    A gate has judged all rows before: a condition must not hide a failure from it.
    """
    everywhere = {note for note in sides[0].notes if all(note in one.notes for one in sides)}
    said = [note for note in sides[0].notes if note in everywhere]
    for number, one in enumerate(sides):
        letter = chr(ord("A") + number)
        said += [note.of(letter) for note in one.notes if note not in everywhere]
    kept = filtered(report, sides[0].of_answer)
    return replace(kept, notes=(*kept.notes, *said))
