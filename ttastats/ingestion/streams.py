"""How are the bytes of a stream read: decompressed, in blocks that end at a line feed, bounded?"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

BLOCK = 8 * 1024 * 1024

#: A compressed log may grow this many times, once it is larger than `_HARMLESS` bytes. Logs grow
#: ten to a hundred times; a bomb grows thousands of times.
MOST_GROWTH = 1_000
_HARMLESS = 1024**3
#: A longer line is handed on in pieces: no event is so long, and memory must stay bounded.
LONGEST_LINE = 64 * 1024 * 1024

COMPRESSED = (".gz", ".xz", ".bz2", ".zst")


class UnreadableError(Exception):
    """A file that cannot be read, with the reason."""


#: What the readers of compressed files raise for damaged ones.
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)


def line_blocks(raw: IO[bytes], name: str, size: int) -> Iterator[bytes]:
    """Give the bytes of a file of some name and size in blocks cut after a line feed.

    The last one ends where the file does.

    Raises
    ------
    UnreadableError
        It grows beyond all measure.
    """
    rest = b""
    chunks = decompressed(raw, name, size)
    chunk = next(chunks, b"")
    for following in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield rest + chunk[:cut] if rest else chunk[:cut]
            rest = chunk[cut:]
        else:
            rest += chunk
            if len(rest) > LONGEST_LINE:
                yield rest
                rest = b""
        chunk = following
    if rest or chunk:
        yield rest + chunk if rest else chunk


def decompressed(raw: IO[bytes], name: str, size: int) -> Iterator[bytes]:
    """Give the bytes of a file in chunks, decompressed by its name's ending."""
    opener = next((_OPENERS[end] for end in COMPRESSED if name.endswith(end)), None)
    if opener is None:
        yield from _chunks(raw, size)
        return
    total = 0
    for chunk in _chunks(opener(raw), 0):
        total += len(chunk)
        if total > _HARMLESS and total > MOST_GROWTH * max(size, 1):
            raise UnreadableError(
                f"grows more than {MOST_GROWTH:,} times when decompressed: refused"
            )
        yield chunk


#: A block of zstandard takes four bytes at least and gives 128 KiB at most, so that so many bytes
#: give no more than 32 MiB, whatever they are.
_ZSTANDARD_AT_ONCE = 1024


class _Zstandard:
    """A reader of this ending whose complaints are those of a file, also about a missing end.

    The stream reader of the package takes a file that was cut for one that is complete.
    """

    def __init__(self, raw: IO[bytes]) -> None:
        import zstandard  # only this ending needs it

        self._damage = zstandard.ZstdError
        self._decompressor = zstandard.ZstdDecompressor()
        self._frame = self._decompressor.decompressobj()
        self._begun = False
        self._pieces = _pieces(raw)

    def read(self, _size: int) -> bytes:
        for piece in self._pieces:
            if content := self._decompressed(piece):
                return content
        if self._begun and not self._frame.eof:
            raise EOFError("ends before its end-of-stream marker was reached")
        return b""

    def _decompressed(self, piece: bytes) -> bytes:
        """Give what some bytes hold, which may end one frame and begin another."""
        found = b""
        while piece:
            if self._frame.eof:
                self._frame = self._decompressor.decompressobj()
            self._begun = True
            try:
                found += self._frame.decompress(piece)
            except self._damage as error:
                raise OSError(str(error)) from error
            piece = self._frame.unused_data if self._frame.eof else b""
        return found


def _pieces(raw: IO[bytes]) -> Iterator[bytes]:
    while chunk := raw.read(_ZSTANDARD_AT_ONCE * 1024):
        for start in range(0, len(chunk), _ZSTANDARD_AT_ONCE):
            yield chunk[start : start + _ZSTANDARD_AT_ONCE]


_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".zst": _Zstandard,
}


def _chunks(stream: Any, size: int) -> Iterator[bytes]:
    """Read a stream to its end, in one piece where it is known to be small.

    One byte more is asked for than there should be: where it does not come, that was the end.
    """
    at_once = min(BLOCK, size + 1) if size else BLOCK
    while chunk := stream.read(at_once):
        yield chunk
        if len(chunk) == size < at_once:
            return
        at_once = BLOCK
