"""Where may a page be written, and what may it not replace?"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ttastats.base import atomic
from ttastats.base.stores import Place

#: What every page says of itself near its beginning.
_SIGN = b'name="generator" content="ttastats '
_HEAD_BYTES = 4_000


def expect_page_path(path: Path, inputs: Iterable[Place]) -> None:
    """Raise an error if a page cannot be written to a path, or would replace what is no page."""
    atomic.expect_no_input(path, inputs)
    atomic.expect_file_place(path, remedy=f"Try -o {path}/report.html.")
    head = b""
    with suppress(OSError), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if path.exists() and _SIGN not in head:
        raise atomic.overwrite_error(path, "already exists and is not a ttastats report")


def write_page(path: Path, text: str) -> None:
    """Write a page atomically: a reader sees the old one or the new one."""
    with atomic.replacing(path) as temporary:
        temporary.write_text(text, "utf-8", newline="\n")
