"""How text from logs is written so that it does nothing but show."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Give a text with every character that shows nothing spelled out: an escape is `\x1b`.

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
    """Give a text of several lines as `visible` does; the line ends stay."""
    return "\n".join(visible(line) for line in text.split("\n"))
