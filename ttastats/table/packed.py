"""How does much text go into the metadata of a file, which every reader of the file reads?"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from ttastats.base import limits


def packed(value: Any) -> str:
    """Give JSON, compressed by zlib, as base64."""
    return base64.b64encode(zlib.compress(json.dumps(value).encode(), level=1)).decode()


def unpacked(text: str) -> Any:
    """Return what was packed, or None where it was not.

    Raises
    ------
    TooLargeError
        It is larger than a document may be.
    """
    most = limits.document()
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(text), most + 1)
        limits.expect(len(content), most)
        return json.loads(content)
    except (ValueError, RecursionError, zlib.error):
        return None
