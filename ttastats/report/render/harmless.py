"""How text from logs is written so that it does nothing but show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def visible(text: str) -> str:
    r"""Return a text with every character that shows nothing spelled out: an escape is `\x1b`.

    Control characters, ANSI sequences and overrides of the writing direction would otherwise move
    the cursor, recolour the screen or reverse what stands beside them.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def visible_lines(text: str) -> str:
    """Return a text of several lines as `visible` does; the line ends stay."""
    return "\n".join(visible(line) for line in text.split("\n"))


def visible_in(value: Any) -> Any:
    """Return a value of JSON with every text in it, names of fields too, as `visible` shows it."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): visible_in(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [visible_in(item) for item in value]
    return value


def visible_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with every text in its columns as `visible` shows it."""
    import polars as pl  # --help must not wait for it

    texts = frame.select(pl.col(pl.String).unique().implode())
    shown = []
    for column in texts.columns:
        odd = {name: visible(name) for name in texts[column][0] if name and not name.isprintable()}
        shown += [pl.col(column).replace(odd)] if odd else []
    return frame.with_columns(shown) if shown else frame
