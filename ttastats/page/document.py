"""How do verdict, numbers and pictures become one HTML file that stands on its own?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from ttastats.json_safe import script_text
from ttastats.page import embedded, script
from ttastats.page.content import Content
from ttastats.pictures import theme
from ttastats.pictures.picture import FILTERS, Picture
from ttastats.render import as_html
from ttastats.report.cells import Gate
from ttastats.version import __version__

#: Fonts that are there; a page brings none.
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
#: The heading of pictures that are of no one benchmark, beside those that are, and alone.
_ACROSS, _ALL = "Across benchmarks", "Pictures"


@dataclass(frozen=True, slots=True)
class Page:
    """A page and what it is of (`20 runs`), its pictures, bytes, and the verdict of a gate."""

    html: str
    counted: str
    pictures: int
    gate: Gate | None = None

    @property
    def size(self) -> int:
        """Give the size of the file in bytes."""
        return len(self.html.encode())


def page(content: Content) -> Page:
    """Give the page of some content."""
    return Page(html(content), content.counted, len(content.pictures), content.report.gate)


def html(content: Content) -> str:
    """Give the text of the page: the same content gives the same bytes."""
    style, own, vega = script.part("page.css"), script.own(), script.vega()
    return as_html.filled(
        "page/parts/page.html",
        content=content,
        sections=_sections(content.pictures),
        version=__version__,
        policy=_policy(style, (vega, own)),
        style=style,
        data=_data(content),
        vega=vega,
        script=own,
    )


def _policy(style: str, scripts: Sequence[str]) -> str:
    """Give the content security policy: these scripts and this style, and no network at all."""
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(map(script.digest, scripts)),
        "style-src-elem": script.digest(style),
        "style-src-attr": "'unsafe-inline'",  # Vega places and colours by style attributes
        "img-src": "data:",
        "connect-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


Section = tuple[str, list[tuple[int, Picture]]]


def _sections(pictures: Sequence[Picture]) -> list[Section]:
    """Give the pictures by benchmark, those of several first: a heading, numbered pictures."""
    names = dict.fromkeys(each.benchmark for each in pictures)
    order = {name: place for place, name in enumerate(names)} | {None: -1}
    numbered = sorted(enumerate(pictures), key=lambda item: order[item[1].benchmark])
    grouped = groupby(numbered, key=lambda item: item[1].benchmark)
    across = _ACROSS if len(names) > 1 else _ALL
    return [(across if name is None else name, list(group)) for name, group in grouped]


def _data(content: Content) -> str:
    """Give what the program of the page reads: tables, charts, themes and choices, as JSON."""
    tables, places = embedded.shared([picture.data for picture in content.pictures])
    charts = [
        {"chart": picture.chart, "tables": mine}
        for picture, mine in zip(content.pictures, places, strict=True)
    ]
    themes = {
        name: theme.config(dark=name == "dark", font_size=12.0) | {"font": _FONT}
        for name in ("light", "dark")
    }
    parts = {
        "filters": script_text(FILTERS),
        "choices": embedded.table(content.choices),
        "themes": script_text(themes),
        "pictures": script_text(charts),
        "tables": embedded.tables(tables),
    }
    return "{" + ",\n".join(f'"{name}":{part}' for name, part in parts.items()) + "}"
