"""What v0.5 and v0.6 share: events found by a pattern, and the lines they stand on."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: The rest of a line, up to another token on it: ranks may write without a line end between them.
REST = rb"((?:[^\n:]++|:(?!::ML))*+)"


class Lines:
    """The line numbers of a log, counted only where they are asked for.

    Lines end at a line feed only: progress bars leave lone carriage returns inside lines.
    """

    __slots__ = ("_block", "_line", "_place")

    def __init__(self) -> None:
        self._line = 1
        self._block = b""
        self._place = 0

    def enter(self, block: bytes) -> None:
        """Go on to the next block."""
        self._line += self._block.count(b"\n", self._place)
        self._block, self._place = block, 0

    def at(self, match: re.Match[bytes]) -> int:
        """Return the line of a match; matches are asked about in their order."""
        self._line += self._block.count(b"\n", self._place, match.start())
        self._place = match.start()
        return self._line


def matches(
    blocks: Iterator[bytes], pattern: re.Pattern[bytes], lines: Lines
) -> Iterator[re.Match[bytes]]:
    """Yield every match of `pattern`; `lines` follows, so that it can be asked for their lines."""
    for block in blocks:
        lines.enter(block)
        yield from pattern.finditer(block)
