"""Which name of a file does a text get, and in which folder does a program keep a cache?"""

from __future__ import annotations

import os
import re
import sys
from hashlib import sha256
from pathlib import Path

from ttastats.base.errors import raise_if

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")
#: Folders that mean something in the layout of results, and names that Windows keeps for itself.
_TAKEN = re.compile(r"(results|systems|con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_KEPT = 60


def safe_file_name(text: str | None) -> str:
    """Return a text as a file name valid on every system; a changed name gets a digest.

    What has to be changed gets a part of its digest, so that two names never become one.
    """
    text = text or "unknown"
    if _is_safe(text):
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    readable = _UNSAFE.sub("_", text)[:_KEPT].strip("._+-")
    return f"{readable or 'name'}-{digest}"


def checked_folder_name(text: str, where: str) -> str:
    """Return a name unchanged if it is a valid folder name; otherwise raise an error."""
    what = f"{text!r} cannot be the name of a folder of results"
    raise_if(not _is_safe(text), what, where, "Use letters, digits, dots, dashes and underscores.")
    return text


def _is_safe(text: str) -> bool:
    return bool(_SAFE.fullmatch(text)) and not _TAKEN.fullmatch(text) and not text.endswith(".")


def user_folder() -> Path:
    """Return the cache folder by the conventions of the platform."""
    if (base := Path(os.environ.get("XDG_CACHE_HOME", ""))).is_absolute():
        return base / "ttastats"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home(), "ttastats", "cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ttastats"
    return Path.home() / ".cache" / "ttastats"
