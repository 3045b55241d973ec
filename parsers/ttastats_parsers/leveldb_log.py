"""The records of a log as LevelDB writes it: blocks of 32 KiB, records that may span them.

W&B takes the checksum of zlib over type and data, and puts seven bytes of its own in front, which
count as part of the first block.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from ttastats_parsers.record_files import Records

_BLOCK = 32 * 1024
_HEADER = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


class _Piece(NamedTuple):
    place: int
    kind: int
    data: bytes
    state: str


def records_of(content: bytes, start: int) -> Records:
    """Return records of a file behind `start` bytes; those with a damaged piece are left out."""
    data: list[bytes] = []
    damaged: list[int] = []
    torn: int | None = None
    parts: list[bytes] | None = None
    for piece in _pieces(content, start):
        if piece.state == "damaged":
            damaged.append(piece.place)
            parts = None
        elif piece.state == "torn":
            torn = piece.place
        elif piece.kind == _FULL:
            data.append(piece.data)
            parts = None
        elif piece.kind == _FIRST:
            parts = [piece.data]
        elif parts is not None and piece.kind in {_MIDDLE, _LAST}:
            parts.append(piece.data)
            if piece.kind == _LAST:
                data.append(b"".join(parts))
                parts = None
    if parts is not None and torn is None:
        torn = len(content)
    return Records(data, torn, damaged)


def _pieces(content: bytes, place: int) -> Iterator[_Piece]:
    """Yield the pieces up to the end; behind a damaged one reading goes on at the next block."""
    while place < len(content):
        left = _BLOCK - place % _BLOCK
        if left < _HEADER.size:  # too little for a header: zeros
            place += left
            continue
        if place + _HEADER.size > len(content):
            yield _Piece(place, 0, b"", "torn")
            return
        told, size, kind = _HEADER.unpack_from(content, place)
        if not told and not size and not kind:  # the rest of a block that was laid out in advance
            place += left
            continue
        data = content[place + _HEADER.size : place + _HEADER.size + size]
        if len(data) < size:
            yield _Piece(place, 0, b"", "torn")
            return
        if zlib.crc32(data, zlib.crc32(bytes([kind]))) != told:
            yield _Piece(place, 0, b"", "damaged")
            place += left
            continue
        yield _Piece(place, kind, data, "whole")
        place += _HEADER.size + size
