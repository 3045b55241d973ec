"""What does an answer remark beside its numbers?"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """A footnote: a code for programs, advice for people, a mark if cells refer to it."""

    code: str
    text: str
    mark: str = ""
