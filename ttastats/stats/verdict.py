"""The words of verdicts, and how each is shown."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

Tone = Literal["plain", "good", "bad", "dim"]
"""Asks for a colour, which never carries meaning alone."""


class Verdict(StrEnum):
    """What a comparison comes to, in a word about B; the value is the word in rows for programs.

    ``label`` is the word for people and ``signed`` the same behind a sign, so that no colour is
    needed. ``answer`` is that to "is B better?".
    """

    label: str
    signed: str
    tone: Tone
    answer: str

    def __new__(cls, word: str, *shown: Any) -> Verdict:
        """Return the member of a word, with its sign, tone, answer and label."""
        made = str.__new__(cls, word)
        made._value_ = word
        sign, made.tone, made.answer, made.label = shown
        made.signed = f"{sign} {'the same' if word == 'same' else made.label}"
        return made

    FASTER = "faster", "▲", "good", "Yes", "faster"
    SLOWER = "slower", "▼", "bad", "No", "slower"
    BETTER = "better", "▲", "good", "Yes", "better"
    WORSE = "worse", "▼", "bad", "No", "worse"
    EARLIER = "earlier", "<", "plain", "Yes", "earlier"
    LATER = "later", ">", "plain", "No", "later"
    SAME = "same", "=", "plain", "No", "same"
    UNDECIDED = "undecided", "~", "dim", "Undecided", "undecided"
    UNAVAILABLE = "unavailable", "–", "dim", "No verdict", "no verdict"
    NO_REFERENCE = "no reference", "–", "dim", "No verdict", "no reference"

    @property
    def directed(self) -> bool:
        """Return whether the verdict is "faster" or "slower", "better" or "worse"."""
        return self in _DIRECTED

    @property
    def decided(self) -> bool:
        """Return whether the verdict is a claim: a direction, or that the sides are the same."""
        return self.directed or self is Verdict.SAME

    @property
    def colour(self) -> Tone:
        """Return the colour of the verdict in a table; only directions have one."""
        return self.tone if self.directed else "plain"


_DIRECTED = frozenset(Verdict) - {
    Verdict.SAME, Verdict.UNDECIDED, Verdict.UNAVAILABLE, Verdict.NO_REFERENCE
}  # fmt: skip
