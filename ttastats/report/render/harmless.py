"""How text from logs is written so that it does nothing but show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def escape_invisible(text: str) -> str:
    r"""Return a text with every invisible character escaped: ESC becomes `\x1b`.

    Control characters, ANSI sequences and overrides of the writing direction would otherwise move
    the cursor, recolour the screen or reverse what stands beside them.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def escape_lines(text: str) -> str:
    """Return a text of several lines with invisible characters but line ends escaped."""
    return "\n".join(escape_invisible(line) for line in text.split("\n"))


def escape_json(value: Any) -> Any:
    """Return a JSON value with invisible characters escaped in all its texts and keys."""
    if isinstance(value, str):
        return escape_invisible(value)
    if isinstance(value, dict):
        return {escape_invisible(key): escape_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [escape_json(item) for item in value]
    return value


def escape_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with invisible characters escaped in all its texts."""
    import polars as pl  # --help must not wait for it

    texts = frame.select(pl.col(pl.String).unique().implode())
    shown = []
    for column in texts.columns:
        odd = {
            name: escape_invisible(name)
            for name in texts[column][0]
            if name and not name.isprintable()
        }
        shown += [pl.col(column).replace(odd)] if odd else []
    return frame.with_columns(shown) if shown else frame
