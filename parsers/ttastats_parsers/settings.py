"""What do repeated runs share? Their settings, but for seeds, names and places."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import xxhash

from ttastats_parsers.payloads import as_int, shown

_OF_ONE_RUN = re.compile(
    r"(?i)(?:^|[._/-])(?:seed|name|id|dir|path|folder|timestamp|date|rank|host|hostname|notes)$|seed$"
)
#: A longer name of an entry cannot be read in a table.
_LONGEST = 120


def entry_of(settings: Mapping[str, Any]) -> str | None:
    """Return the name of what runs with these settings share: the settings, or a digest of many."""
    words = [
        f"{key}={shown(value)}"
        for key, value in sorted(flat(settings).items())
        if not _OF_ONE_RUN.search(key) and value is not None
    ]
    text = " ".join(words)
    if len(text) <= _LONGEST:
        return text or None
    return f"settings {xxhash.xxh3_64_hexdigest(text.encode('utf-8', 'replace'))[:8]}"


def seed_of(settings: Mapping[str, Any]) -> int | None:
    """Return the seed that some settings name."""
    seeds = (as_int(settings.get(word)) for word in ("seed", "random_seed", "SEED", "train.seed"))
    return next((seed for seed in seeds if seed is not None), None)


def flat(settings: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Return nested settings with their keys joined by points."""
    joined: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict) and depth < 8:
            joined |= flat(value, f"{prefix}{key}.", depth + 1)
        else:
            joined[f"{prefix}{key}"] = value
    return joined
