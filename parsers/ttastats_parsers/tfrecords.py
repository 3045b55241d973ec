"""The records of a TFRecord file, their checksums verified.

A record is its length (8 bytes), a checksum of that (4), the data, a checksum of them (4). The
checksum is CRC-32C, masked; a loop over bytes would take longer than all the rest, so it is taken
of all records at once, byte after byte. (`zlib.crc32` has another polynomial.)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from ttastats_parsers.record_files import Records

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
#: Larger records hold images, sounds and graphs and no scalars; their data are not checked, which
#: would take as many steps as the longest has bytes.
LARGEST_CHECKED = 64 * 1024


def records_of(content: bytes) -> Records:
    """Return the records of a file as far as it goes."""
    places, data, sums, torn = _cut(content)
    heads = [content[place : place + 8] for place in places]
    told = [_HEADER.unpack_from(content, place)[1] for place in places]
    wrong = _differing(heads, told)
    if wrong:  # the length is not to be trusted: what was cut behind it is not, either
        first = wrong[0]
        places, data, sums, torn = places[:first], data[:first], sums[:first], None
        damaged = [places[-1] + 16 + len(data[-1]) if places else 0]
    else:
        damaged = []
    small = [number for number, item in enumerate(data) if len(item) <= LARGEST_CHECKED]
    bad = _differing([data[n] for n in small], [sums[n] for n in small])
    lost = {small[number] for number in bad}
    kept = [item for number, item in enumerate(data) if number not in lost]
    return Records(kept, torn, sorted([places[number] for number in lost] + damaged))


def _cut(content: bytes) -> tuple[list[int], list[bytes], list[int], int | None]:
    """Cut a file into records by their lengths, up to its end or to what is cut short."""
    places: list[int] = []
    data: list[bytes] = []
    sums: list[int] = []
    place, end = 0, len(content)
    while place < end:
        if place + 12 > end:
            return places, data, sums, place
        size, told = _HEADER.unpack_from(content, place)
        if place + 16 + size > end:
            if _differing([content[place : place + 8]], [told]):  # a wrong length, not a torn tail
                places.append(place)
                data.append(b"")
                sums.append(0)
                return places, data, sums, None
            return places, data, sums, place
        places.append(place)
        data.append(content[place + 12 : place + 12 + size])
        sums.append(_FOOTER.unpack_from(content, place + 12 + size)[0])
        place += 16 + size
    return places, data, sums, None


def _differing(texts: Sequence[bytes], told: Sequence[int]) -> list[int]:
    """Return the numbers of the texts whose masked checksum is not what was told."""
    if not texts:
        return []
    import numpy as np  # only these files need it

    plain = crc32c(texts)
    rotated = (plain >> np.uint32(15)) | (plain << np.uint32(17))
    masked = rotated + np.uint32(0xA282EAD8)
    return [int(number) for number in np.flatnonzero(masked != np.array(told, np.uint32))]


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
        now = state[:going]
        state[:going] = table[(now ^ byte) & np.uint32(0xFF)] ^ (now >> np.uint32(8))
    result = np.empty_like(state)
    result[order] = state ^ np.uint32(0xFFFFFFFF)
    return result


@cache
def _table() -> NDArray[np.uint32]:
    import numpy as np

    entries = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        entries.append(value)
    return np.array(entries, np.uint32)
