"""Where does a program keep what would take long to make again?"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_folder() -> Path:
    """Return the cache folder by the conventions of the platform."""
    if (base := Path(os.environ.get("XDG_CACHE_HOME", ""))).is_absolute():
        return base / "ttastats"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home(), "ttastats", "cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ttastats"
    return Path.home() / ".cache" / "ttastats"
