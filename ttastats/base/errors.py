"""What ttastats raises when it cannot go on: what happened, where, and what to do next."""

from __future__ import annotations


class TtastatsError(Exception):
    """An error a user can act on.

    Parameters
    ----------
    what
        What is wrong, as one short sentence without a full stop.
    where
        The file, column or option it is about.
    remedy
        What to do next.
    """

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  {self.remedy}" if self.remedy else text


def raise_if(holds: object, what: str, where: str | None = None, remedy: str | None = None) -> None:
    """Raise a TtastatsError if a condition holds, such as two options that exclude each other."""
    if holds:
        raise TtastatsError(what, where=where, remedy=remedy)
