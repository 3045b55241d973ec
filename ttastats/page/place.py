"""Where may a page be written, and what may it not replace?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ttastats import store
from ttastats.errors import TtastatsError

#: What every page says of itself near its beginning.
_SIGN = 'name="generator" content="ttastats '
_HEAD_BYTES = 4_000


def expect(path: Path, inputs: Iterable[Path]) -> None:
    """Say before any work that the page could not be written, or would replace what is no page.

    Raises
    ------
    TtastatsError
        It is an input, a folder, or a file that no report wrote.
    """
    store.expect_no_input(path, inputs)
    remedy = "Name another place with -o."
    if path.is_dir():
        raise TtastatsError("is a folder", where=str(path), remedy=f"Try -o {path}/report.html.")
    if path.exists() and not _is_page(path):
        raise TtastatsError(
            "exists and is no report of ttastats; it is left as it is",
            where=str(path),
            remedy=remedy,
        )
    if not path.resolve().parent.is_dir():
        raise TtastatsError("there is no such folder", where=str(path.parent), remedy=remedy)


def _is_page(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _SIGN.encode() in file.read(_HEAD_BYTES)
    except OSError:
        return False


def write(path: Path, text: str) -> None:
    """Write a page: a reader sees the old one or the complete new one.

    Raises
    ------
    TtastatsError
        It cannot be written; what was there is untouched.
    """
    with store.replacing(path) as temporary:
        temporary.write_text(text, "utf-8", newline="\n")
