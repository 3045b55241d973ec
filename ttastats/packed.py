"""How does much text go into the metadata of a file, which every reader of the file reads?"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any


def packed(value: Any) -> str:
    """Give JSON, compressed by zlib, as base64."""
    return base64.b64encode(zlib.compress(json.dumps(value).encode(), level=1)).decode()


def unpacked(text: str) -> Any:
    """Give what was packed, or None where it was not."""
    try:
        return json.loads(zlib.decompress(base64.b64decode(text)))
    except (ValueError, zlib.error):
        return None
