"""The fields of a protocol-buffer message, without its description.

Where bytes are no message, are cut, or hold something else, a ValueError is raised.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator

_compiled: Callable[[bytes], list[tuple[int, int | bytes]] | None] | None
try:
    from ttastats_parsers._scan import fields as _compiled
except ImportError:  # no compiler was at hand
    _compiled = None

#: Wire types: a whole number, eight bytes, bytes with their length before them, four bytes.
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def fields(message: bytes) -> Iterable[tuple[int, int | bytes]]:
    """Return number and value of each field of a message: an integer or bytes."""
    plain = None if _compiled is None else _compiled(message)
    return fields_in_python(message) if plain is None else plain


def fields_in_python(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield what `fields` gives, without a compiler's help, up to where a message is damaged."""
    place, end = 0, len(message)
    while place < end:
        key, place = varint(message, place)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, place = varint(message, place)
            yield number, value
            continue
        if kind == BYTES:
            size, place = varint(message, place)
        elif kind in {FIXED64, FIXED32}:
            size = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"no wire type: {kind}")
        if place + size > end:
            raise ValueError("the message is cut")
        yield number, message[place : place + size]
        place += size


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
    """Return the signed number of 64 bits that a field means."""
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
