"""What did the reading of a file of records, whose checksums are verified, give?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ttastats.base.records import Problem


class Records(NamedTuple):
    """The data of the records, and what is wrong with the file.

    `torn` is the offset at which the last record is cut short; `damaged` are offsets of records
    whose checksum is wrong, which are left out. Behind a wrong length nothing can be found.
    """

    data: list[bytes]
    torn: int | None
    damaged: list[int]

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong."""
        if self.torn is not None:
            text = f"the last record is truncated at byte {self.torn:,}"
            yield Problem("torn_tail", f"{text}: copied while it was written?", "warning")
        if self.damaged:
            text = f"{len(self.damaged):,} record(s) with a wrong checksum, "
            text += f"first at byte {self.damaged[0]:,}"
            yield Problem("wrong_checksum", text, "error")
