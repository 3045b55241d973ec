"""Which notes of an answer count most against it, and in how few words can each be said?"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ttastats.base.codes import ADVICE, CAUTIONS, SHORT
from ttastats.report.answer import Report

_HARM = {code: place for place, code in enumerate(CAUTIONS)}


class Remark(Struct, frozen=True):
    """All notes of one code. `share` names the rows that it is about, unless it is all of them."""

    code: str
    texts: tuple[str, ...]
    mark: str
    share: str
    advice: str = ""

    @property
    def short(self) -> str:
        """Return the remark in a few words."""
        return SHORT.get(self.code) or self.code.replace("_", " ")

    @property
    def brief(self) -> str:
        """Return the remark with its advice, or else its first note."""
        if self.advice:
            about = f": {self.share} rows" if " of " in self.share else f": {self.share}"
            name = f"{self.short[:1].upper()}{self.short[1:]}{about if self.share else ''}"
            text = f"{name}. {self.advice}"
        else:
            more = len(self.texts) - 1
            text = self.texts[0] + (f" ({more} more like it)" if more else "")
        return f"{self.mark} {text}".strip()


def ranked_remarks(report: Report) -> list[Remark]:
    """Return the notes of a report grouped by code, the most serious cautions first."""
    notes: dict[str, list[Any]] = {}
    for note in report.notes:
        notes.setdefault(note.code, []).append(note)
    remarks = []
    for code in sorted(notes, key=lambda code: _HARM.get(code, len(_HARM))):
        flagged = [row for row in report.rows if code in row.get("flags", ())]
        only = flagged[0].get("benchmark") if len(flagged) == 1 else None
        share = str(only or f"{len(flagged)} of {len(report.rows)}")
        share = share if 0 < len(flagged) < len(report.rows) else ""
        texts = tuple(note.text for note in notes[code])
        mark = next((note.mark for note in notes[code] if note.mark), "")
        advice = ADVICE.get(code, "") if report.command == "compare" else ""
        remarks.append(Remark(code, texts, mark, share, advice))
    return remarks
