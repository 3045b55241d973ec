"""How are the bytes of a stream read: decompressed, in blocks that end at a line feed, bounded?

A reader of lines holds a block at a time and needs no limit. Formats that are read whole have
these; `SECURITY.md` states them.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO, Any

from ttastats.base.errors import raise_if

#: Sets the limit of a file that is read whole, in units of 2**20 bytes.
VARIABLE = "TTASTATS_LIMIT_MB"
MEGABYTE = 1024 * 1024
_DEFAULT_LIMIT = 256
#: A document becomes objects of Python, which take up to twenty times its bytes.
_DOCUMENT_SHARE = 4
_DOCUMENTS = (".json", ".yaml", ".yml", ".toml")
COMPRESSED = (".gz", ".xz", ".bz2", ".zst")

#: Compressed bytes may grow this many times, once they are more than `HARMLESS`. Logs grow ten to
#: a hundred times; a bomb grows thousands of times.
MOST_GROWTH = 1_000
HARMLESS = 1024**3


#: Evaluations of a file that is a table, an event file or a store: each takes up to 700 bytes.
EVALUATIONS = 4_000_000
_PIECE = 256 * 1024


class TooLargeError(Exception):
    """Bytes that exceed a limit; the message states the limit."""


def wide_text(head: bytes) -> str:
    """Return why the begin of a text is not in UTF-8: units of two or four bytes; else nothing."""
    sample = head[:4096]
    if sample.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        name = "32"
    elif sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        name = "16"  # as Windows shells write
    else:
        halves = sample[::2], sample[1::2]
        fewest_zeros, most_zeros = sorted(half.count(0) / max(len(half), 1) for half in halves)
        if fewest_zeros > 0 or most_zeros < _MOSTLY:
            return ""
        name = "16"
    return f"a log in UTF-{name}; convert it to UTF-8"


#: Of letters in units of two bytes, so many have a byte of zero.
_MOSTLY = 0.8


def with_encoding(what: str) -> str:
    """Return a fault of names in a file, with the reason where they are not in UTF-8."""
    return f"{what.rstrip('.')}; it is not in UTF-8: convert it" if "\ufffd" in what else what


def whole_file_limit() -> int:
    """Return the largest size in bytes of a file read whole, from the variable or the default."""
    text = os.environ.get(VARIABLE) or str(_DEFAULT_LIMIT)
    is_invalid = not text.isdecimal() or not int(text[:9])
    raise_if(
        is_invalid,
        f"{text!r} is not a positive whole number",
        VARIABLE,
        f"Set it to {_DEFAULT_LIMIT}",
    )
    return int(text[:9]) * MEGABYTE


def document_limit() -> int:
    """Return the largest size in bytes of a JSON, YAML or TOML file."""
    return whole_file_limit() // _DOCUMENT_SHARE


def limit_for(name: str) -> int:
    """Return the largest size in bytes of a file read whole, by its name's extension."""
    for end in COMPRESSED:
        name = name.removesuffix(end)
    return document_limit() if name.endswith(_DOCUMENTS) else whole_file_limit()


def expect_size(size: int, most: int, what: str = "") -> None:
    """Raise TooLargeError if a size in bytes exceeds a limit; `what` begins the message."""
    if size > most:
        raise TooLargeError(
            f"{what}larger than {most / MEGABYTE:,g} MB, the limit for a file of this kind that "
            f"is read whole (stopped at {size / MEGABYTE:,.4g} MB; "
            f"{VARIABLE}={whole_file_limit() // MEGABYTE} sets it)"
        )


def expect_evaluations(number: int) -> None:
    """Raise TooLargeError if a file holds more evaluations than the limit."""
    if number > EVALUATIONS:
        raise TooLargeError(
            f"{number:,} evaluations are more than {EVALUATIONS:,}, the limit for a file; log them "
            "less often, or one file per run"
        )


def join_blocks(blocks: Iterable[bytes], most: int) -> bytes:
    """Return blocks as one bytes object; TooLargeError once they exceed `most` bytes."""
    chunks, size = [], 0
    for block in blocks:
        size += len(block)
        expect_size(size, most)
        chunks.append(block)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def read_bounded(file: IO[bytes], most: int) -> bytes:
    """Return all bytes of a file; TooLargeError if they exceed `most` bytes."""
    pieces = iter(partial(file.read, _PIECE), b"")  # a reader allocates what it may read
    return join_blocks(pieces, most)


BLOCK = 8 * 1024 * 1024
#: A block of who holds several times as much besides.
_SMALL_BLOCK = 128 * 1024
#: A longer line is handed on in pieces: no event is so long, and memory must stay bounded.
LONGEST_LINE = 64 * 1024 * 1024


class UnreadableError(Exception):
    """A file that cannot be read, with the reason."""


#: What the readers of compressed files raise for damaged ones.
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError)


def line_blocks(raw: IO[bytes], name: str, size: int, stored: int = 0) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file in blocks that end at a line feed.

    The last one ends where the file does. TooLargeError if it grows beyond all measure.
    """
    unfinished = b""
    chunks = decompressed(raw, name, size, stored)
    chunk = next(chunks, b"")
    for next_chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield unfinished + chunk[:cut] if unfinished else chunk[:cut]
            unfinished = chunk[cut:]
        else:
            unfinished += chunk
            if len(unfinished) > LONGEST_LINE:
                yield unfinished
                unfinished = b""
        chunk = next_chunk
    if unfinished or chunk:
        yield unfinished + chunk if unfinished else chunk


def decompressed(
    raw: IO[bytes], name: str, size: int, stored: int = 0, *, at_once: bool = False
) -> Iterator[bytes]:
    """Yield the bytes of a file in chunks, decompressed by the extension of its name.

    `stored` are the bytes that it takes in an archive which compresses each member, else 0. Those
    `at_once` are as small as the reader makes them: none waits for bytes that are damaged.
    """
    opener = next((_OPENERS[end] for end in COMPRESSED if name.endswith(end)), None)
    stream = raw if opener is None else opener(raw)
    read_some, block = stream.read, _SMALL_BLOCK if at_once and opener is None else BLOCK
    if at_once and opener is not None:  # what has been decompressed is given before it reads on
        read_some = getattr(stream, "read1", read_some)
    is_packed, total = opener is not None or stored > 0, 0
    for chunk in _read_chunks(read_some, 0 if opener is not None else size, block):
        if is_packed:
            total += len(chunk)
            if total > HARMLESS and total > MOST_GROWTH * max(stored or size, 1):
                at = f" (stopped at {raw.tell():,} of {size:,} bytes)" if not stored else ""
                raise TooLargeError(
                    f"refused: it expands to more than {HARMLESS // MEGABYTE:,} MB and more than "
                    f"{MOST_GROWTH:,} times when decompressed{at}; decompress it to read all of it"
                )
        yield chunk


class _Zstandard:
    """A reader of this ending whose complaints are those of a file.

    The package's own `open` takes a damaged second frame for the end, which would lose runs.
    """

    def __init__(self, raw: IO[bytes]) -> None:
        # Only this ending needs it.
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        self._damage, self._new = zstd.ZstdError, zstd.ZstdDecompressor
        self._raw, self._frame, self._unread = raw, self._new(), b""
        self._whole = True  # as is what has not begun

    def read(self, size: int) -> bytes:
        """Return up to `size` decompressed bytes, none at the end; there may be several frames."""
        while True:
            if self._frame.eof:
                self._unread, self._frame, self._whole = self._frame.unused_data, self._new(), True
            if self._frame.needs_input and not self._unread:
                self._unread = self._raw.read(1024 * 1024)
                if not self._unread:
                    break
            try:
                content = self._frame.decompress(self._unread, size)
            except self._damage as error:
                raise OSError(str(error)) from error
            self._unread, self._whole = b"", self._frame.eof
            if content:
                return content
        if not self._whole:
            raise EOFError("ends before its end-of-stream marker was reached")
        return b""


_OPENERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".zst": _Zstandard,
}


def _read_chunks(read_some: Callable[[int], bytes], size: int, block: int) -> Iterator[bytes]:
    """Yield the bytes of a read function in chunks; a small file of known size in one.

    One byte more is asked for than there should be: where it does not come, that was the end.
    """
    at_once = min(block, size + 1) if size else block
    while chunk := read_some(at_once):
        yield chunk
        if len(chunk) == size < at_once:
            return
        at_once = block
