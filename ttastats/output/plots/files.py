"""How do plots become a file: in which format, and which of them fit into one?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from ttastats.base import atomic
from ttastats.base.errors import TtastatsError
from ttastats.output.plots import drawing
from ttastats.output.plots.drawing import Drawable, Style


class Filed(Drawable, Protocol):
    """What is drawn, of which kind, and of which one benchmark."""

    @property
    def kind(self) -> str:
        """Return the kind of plot."""
        ...

    @property
    def benchmark(self) -> str | None:
        """Return the one benchmark it shows, None for several."""
        ...


_DRAW: dict[str, Callable[[Sequence[Drawable], Style], str | bytes]] = {
    ".svg": drawing.svg,
    ".pdf": drawing.pdf,
    ".png": drawing.png,
    ".html": drawing.html,
}
#: What HTML holds beside each other, other formats hold one above the other.
_MOST_STACKED = 3


def expect(output: Path, inputs: Sequence[Path] = ()) -> None:
    """Refuse, before any work, what cannot be written.

    Raises
    ------
    TtastatsError
        The name ends in no known format, or the place is an input or no place for a file.
    """
    if output.suffix.lower() not in _DRAW:
        raise TtastatsError(
            "has no supported plot format",
            where=str(output),
            remedy=f"Use one of these extensions: {', '.join(_DRAW)}.",
        )
    atomic.expect_no_input(output, inputs)
    atomic.expect_file_place(output)


def write(output: Path, plots: Sequence[Filed], look: Style) -> None:
    """Write plots in the format that the name of the output ends in, whole or not at all.

    Raises
    ------
    TtastatsError
        As `expect`; or these are more than a file of this format shows.
    """
    expect(output)
    suffix = output.suffix.lower()
    if suffix != ".html":
        _expect_one_benchmark(plots)
    drawn = _DRAW[suffix](plots, look)
    with atomic.replacing(output) as temporary:
        temporary.write_bytes(drawn.encode() if isinstance(drawn, str) else drawn)


def _expect_one_benchmark(plots: Sequence[Filed]) -> None:
    """A figure of a paper shows one benchmark; an HTML file may show all."""
    titles = [plot.title for plot in plots]
    names = list(dict.fromkeys(plot.benchmark or "" for plot in plots))
    if len(names) > 1:
        raise TtastatsError(
            f"{len(plots)} plots ({', '.join(names)}) for one file",
            where=plots[0].kind,
            remedy=f"Select one with --where benchmark={names[0]}, or write all to an .html file.",
        )
    if len(plots) > _MOST_STACKED:
        raise TtastatsError(
            f"{len(plots)} plots for one file: {'; '.join(titles)}",
            where=plots[0].kind,
            remedy="Select one with --where round=..., or write all to an .html file.",
        )
