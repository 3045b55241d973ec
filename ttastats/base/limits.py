"""How many bytes of a file by others are held in memory, whatever it lies in?

A reader of lines holds a block at a time and needs no limit. Formats that are read whole have
these; `SECURITY.md` states them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from typing import IO

from ttastats.base.errors import raise_if

#: Sets the limit of a file that is read whole, in units of 2**20 bytes.
VARIABLE = "TTASTATS_LIMIT_MB"
MEGABYTE = 1024 * 1024
_WHOLE = 256
#: A document becomes objects of Python, which take up to twenty times its bytes.
_DOCUMENT_SHARE = 4
_DOCUMENTS = (".json", ".yaml", ".yml", ".toml")
_COMPRESSED = (".gz", ".xz", ".bz2", ".zst")

#: Compressed bytes may grow this many times, once they are more than `HARMLESS`. Logs grow ten to
#: a hundred times; a bomb grows thousands of times.
MOST_GROWTH = 1_000
HARMLESS = 1024**3


#: Evaluations of a file that is a table, an event file or a store: each takes up to 700 bytes.
EVALUATIONS = 4_000_000
_PIECE = 256 * 1024


class TooLargeError(Exception):
    """Bytes that exceed a limit; the message states the limit."""


def whole_file_limit() -> int:
    """Return the largest size in bytes of a file read whole, from the variable or the default."""
    text = os.environ.get(VARIABLE) or str(_WHOLE)
    wrong = not text.isdecimal() or not int(text[:9])
    raise_if(wrong, f"{text!r} is not a positive whole number", VARIABLE, f"Set it to {_WHOLE}")
    return int(text[:9]) * MEGABYTE


def document_limit() -> int:
    """Return the largest size in bytes of a JSON, YAML or TOML file."""
    return whole_file_limit() // _DOCUMENT_SHARE


def limit_for(name: str) -> int:
    """Return the largest size in bytes of a file read whole, by its name's extension."""
    for end in _COMPRESSED:
        name = name.removesuffix(end)
    return document_limit() if name.endswith(_DOCUMENTS) else whole_file_limit()


def expect_size(size: int, most: int, what: str = "") -> None:
    """Raise TooLargeError if a size in bytes exceeds a limit; `what` begins the message."""
    if size > most:
        raise TooLargeError(
            f"{what}larger than {most / MEGABYTE:,g} MB, the limit for a file of this kind that "
            f"is read whole ({VARIABLE}={whole_file_limit() // MEGABYTE} sets it)"
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


def expect_growth(size: int, stored: int) -> None:
    """Raise TooLargeError if decompression grew the bytes far more than logs do."""
    if size > HARMLESS and size > MOST_GROWTH * max(stored, 1):
        raise TooLargeError(
            f"refused: it expands to more than {HARMLESS // MEGABYTE:,} MB and more than "
            f"{MOST_GROWTH:,} times when decompressed"
        )
