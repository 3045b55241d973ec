"""The records of a file, their checksums verified, and the fields of protocol buffers.

Where bytes are no message, are cut, or hold something else, a ValueError is raised.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ttastats.base.records import Problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
#: Larger records hold images, sounds and graphs and no scalars; their data are not checked, which
#: would take as many steps as the longest has bytes.
LARGEST_CHECKED = 64 * 1024
_BLOCK = 32 * 1024
_PIECE_HEADER = struct.Struct("<IHB")
_FULL_PIECE, _FIRST_PIECE, _MIDDLE_PIECE, _LAST_PIECE = 1, 2, 3, 4
_TORN, _DAMAGED = -1, -2


class Records(NamedTuple):
    """The data of the records, and what is wrong with the file.

    `torn` is the offset at which the last record is cut short; `damaged` are offsets of records
    whose checksum is wrong, which are left out. Behind a wrong length nothing can be found.
    """

    data: list[bytes]
    torn: int | None
    damaged: list[int]


def problems_of(torn: int | None, damaged: Sequence[int]) -> Iterator[Problem]:
    """Yield the problems of a file of records."""
    if torn is not None:
        text = f"the last record is truncated at byte {torn:,}"
        yield Problem("torn_tail", f"{text}: copied while it was written?", "warning")
    if damaged:
        text = f"{len(damaged):,} record(s) with a wrong checksum, first at byte {damaged[0]:,}"
        yield Problem("wrong_checksum", text, "error")


def tf_records(content: bytes) -> Records:
    """Return the records of a TFRecord file as far as it goes.

    A record is its length (8 bytes), a checksum of that (4), the data, a checksum of them (4). The
    checksum is CRC-32C, masked; a loop over bytes would take longer than all the rest, so it is
    taken of all records at once, byte after byte. (`zlib.crc32` has another polynomial.)
    """
    # Place, bytes and checksum of the length and of the data of each record in turn.
    parts: list[tuple[int, bytes, int]] = []
    position, end = 0, len(content)
    while position + 12 <= end:
        size, checksum = _HEADER.unpack_from(content, position)
        parts.append((position, content[position : position + 8], checksum))
        if position + 16 + size > end:
            break
        (checksum,) = _FOOTER.unpack_from(content, position + 12 + size)
        parts.append((position, content[position + 12 : position + 12 + size], checksum))
        position += 16 + size
    faults = _bad_parts(parts)
    stop = min((number for number in faults if number % 2 == 0), default=None)
    torn = position if position < end and stop is None else None
    # A wrong length is not to be trusted: what was cut behind it is not, either.
    records = [
        part[1] for number, part in enumerate(parts[:stop]) if number % 2 and number not in faults
    ]
    damaged = [parts[number][0] for number in sorted(faults) if stop is None or number <= stop]
    return Records(records, torn, damaged)


def _bad_parts(parts: Sequence[tuple[int, bytes, int]]) -> set[int]:
    """Return the numbers of the parts of records whose checksum is wrong."""
    small = [number for number, part in enumerate(parts) if len(part[1]) <= LARGEST_CHECKED]
    if not small:
        return set()
    import numpy as np  # only these files need it

    checksums = crc32c([parts[number][1] for number in small])
    masked = ((checksums >> np.uint32(15)) | (checksums << np.uint32(17))) + np.uint32(0xA282EAD8)
    is_bad = masked != np.array([parts[number][2] for number in small], np.uint32)
    return {small[at] for at in np.flatnonzero(is_bad)}


def crc32c(texts: Sequence[bytes]) -> NDArray[np.uint32]:
    """Return the CRC-32C (Castagnoli) of each text."""
    import numpy as np

    table = _table()
    lengths = np.array([len(text) for text in texts])
    order = np.argsort(-lengths, kind="stable")  # so that those that go on are the first ones
    flat = np.frombuffer(b"".join(texts), np.uint8)
    starts = (np.cumsum(lengths) - lengths)[order]
    ascending = lengths[order][::-1]
    state = np.full(len(texts), 0xFFFFFFFF, np.uint32)
    for position in range(int(lengths.max())):
        going = len(texts) - int(np.searchsorted(ascending, position, side="right"))
        byte = flat[starts[:going] + position]
        active = state[:going]
        state[:going] = table[(active ^ byte) & np.uint32(0xFF)] ^ (active >> np.uint32(8))
    result = np.empty_like(state)
    result[order] = state ^ np.uint32(0xFFFFFFFF)
    return result


@cache
def _table() -> NDArray[np.uint32]:
    """Return the CRC-32C of each byte."""
    import numpy as np

    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ (table & np.uint32(1)) * np.uint32(0x82F63B78)
    return table


class LevelDBRecords:
    """The records of a log of LevelDB behind `start` bytes, without those of a damaged piece.

    Blocks have 32 KiB, and records may span them. W&B takes the checksum of zlib over type and
    data, and puts seven bytes of its own in front, which count as part of the first block.
    """

    def __init__(self, content: bytes, start: int) -> None:
        self._content = content
        self._start = start
        self.damaged: list[int] = []
        self.torn: int | None = None

    def data(self) -> Iterator[bytes]:
        """Yield the data of each; `torn` and `damaged` are known at the end."""
        self.damaged, self.torn = [], None
        parts: list[bytes] | None = None
        for position, kind, data in _read_pieces(self._content, self._start):
            if kind == _DAMAGED:
                self.damaged.append(position)
                parts = None
            elif kind == _TORN:
                self.torn = position
            elif kind in {_FULL_PIECE, _FIRST_PIECE}:
                parts = [data]
            elif parts is not None and kind in {_MIDDLE_PIECE, _LAST_PIECE}:
                parts.append(data)
            if parts is not None and kind in {_FULL_PIECE, _LAST_PIECE}:
                yield b"".join(parts)
                parts = None
        if parts is not None and self.torn is None:
            self.torn = len(self._content)


def _read_pieces(content: bytes, position: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield place, kind and data of the pieces; after a damaged one, from the next block on."""
    header = _PIECE_HEADER.size
    while position < len(content):
        n_left = _BLOCK - position % _BLOCK
        if n_left < header:  # too little for a header: zeros
            position += n_left
            continue
        if position + header > len(content):
            yield position, _TORN, b""
            return
        checksum, size, kind = _PIECE_HEADER.unpack_from(content, position)
        data = content[position + header : position + header + size]
        if not checksum and not size and not kind:  # the rest of a block laid out in advance
            position += n_left
        elif len(data) < size:
            yield position, _TORN, b""
            return
        elif zlib.crc32(data, zlib.crc32(bytes([kind]))) != checksum:
            yield position, _DAMAGED, b""
            position += n_left
        else:
            yield position, kind, data
            position += header + size


_compiled: Callable[[bytes], list[tuple[int, int | bytes]] | None] | None
try:
    from ttastats_parsers._scan import fields as _compiled
except ImportError:  # no compiler was at hand
    _compiled = None

#: Wire types: a whole number, eight bytes, bytes with their length before them, four bytes.
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def fields(message: bytes) -> Iterable[tuple[int, int | bytes]]:
    """Return number and value of each field of a message: an integer or bytes."""
    fields_ = None if _compiled is None else _compiled(message)
    return fields_in_python(message) if fields_ is None else fields_


def fields_in_python(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield what `fields` gives, without a compiler's help, up to where a message is damaged."""
    position, end = 0, len(message)
    while position < end:
        key, position = varint(message, position)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, position = varint(message, position)
            yield number, value
            continue
        if kind == BYTES:
            size, position = varint(message, position)
        elif kind in {FIXED64, FIXED32}:
            size = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"no wire type: {kind}")
        if position + size > end:
            raise ValueError("the message is cut")
        yield number, message[position : position + size]
        position += size


def varint(message: bytes, place: int) -> tuple[int, int]:
    """Return the variable-length integer at a position, and the position behind it."""
    value = shift = 0
    while True:
        if place >= len(message) or shift > 63:
            raise ValueError("the message is cut")
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def signed(value: int | bytes) -> int:
    """Return a field as a signed number of 64 bits."""
    if not isinstance(value, int):
        raise ValueError("no whole number")
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value


def block(value: int | bytes, size: int | None = None) -> bytes:
    """Return the bytes of a field, which must have a given size if one is given."""
    if not isinstance(value, bytes) or (size is not None and len(value) != size):
        raise ValueError("no bytes of that length")
    return value


def text(value: int | bytes) -> str:
    """Return the text of a field; what is not UTF-8 is replaced."""
    return block(value).decode("utf-8", "replace")


def double(value: int | bytes) -> float:
    """Return the number of a field of eight bytes."""
    number: float = struct.unpack("<d", block(value, 8))[0]
    return number


def single(value: int | bytes) -> float:
    """Return the number of a field of four bytes."""
    number: float = struct.unpack("<f", block(value, 4))[0]
    return number


def messages(message: bytes, first: int, *path: int) -> Iterator[bytes]:
    """Yield the messages, or texts, that lie at the end of a path of fields."""
    for number, value in fields(message):
        if number == first:
            inner = block(value)
            yield from messages(inner, *path) if path else (inner,)
