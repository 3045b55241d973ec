"""How do verdict, numbers and pictures become one HTML file that stands on its own?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from string import Template

from ttastats.json_safe import script_text
from ttastats.page import embedded, script
from ttastats.page.content import Content
from ttastats.page.facts import Fact
from ttastats.pictures import theme
from ttastats.pictures.picture import FILTERS, Picture
from ttastats.render import as_html
from ttastats.render.as_html import prose, text
from ttastats.report.answer import Report
from ttastats.report.cells import Gate
from ttastats.report.verdicts import Verdict
from ttastats.version import __version__

#: Fonts that are there; a page brings none.
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_ACROSS = "Across benchmarks"


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and what is in it: runs, pictures, bytes, the verdict of a gate if one was asked."""

    html: str
    runs: int
    pictures: int
    gate: Gate | None = None

    @property
    def size(self) -> int:
        """Give the size of the file in bytes."""
        return len(self.html.encode())


def page(content: Content) -> Page:
    """Give the page of some content."""
    runs = int(content.choices.get_column("runs").sum())
    return Page(html(content), runs, len(content.pictures), content.report.gate)


def html(content: Content) -> str:
    """Give the text of the page: the same content gives the same bytes."""
    style, own, vega = script.part("page.css"), script.own(), script.vega()
    sections = _sections(content.pictures)
    return Template(script.part("page.html")).substitute(
        policy=_policy(style, (vega, own)),
        title=text(content.title),
        version=text(__version__),
        style=style,
        facts="".join(map(_fact, content.facts)),
        contents=_contents(sections),
        verdicts="".join(map(_verdict, content.verdicts)),
        gate="" if content.report.gate is None else as_html.gate(content.report.gate),
        advice=prose(_advice(content.report)),
        numbers="".join(map(as_html.table, content.report.tables))
        + as_html.notes(content.report.notes),
        sections="".join(_section(*section) for section in sections),
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


def _fact(fact: Fact) -> str:
    return f"<div><dt>{text(fact.name)}</dt><dd>{prose(fact.text)}</dd></div>\n"


def _verdict(verdict: Verdict) -> str:
    benchmark = f' data-benchmark="{text(verdict.benchmark)}"' if verdict.benchmark else ""
    more = f"<p>{text(verdict.more)}</p>" if verdict.more else ""
    return (
        f'<li class="verdict" data-tone="{verdict.tone}"{benchmark}>'
        f"<h3>{text(verdict.about)} <span>{text(verdict.word)}</span></h3>"
        f'<p class="claim">{text(verdict.sentence)}</p>{more}</li>\n'
    )


def _advice(report: Report) -> str:
    if report.command == "summary":
        return (
            "A summary describes and tests nothing: whether one entry is really faster than "
            "another, by how much and how sure, `ttastats compare` says."
        )
    return ""


Section = tuple[str, str, list[tuple[int, Picture]]]


def _sections(pictures: Sequence[Picture]) -> list[Section]:
    """Give the pictures by benchmark, those of several first: an anchor, a heading, pictures."""
    names = dict.fromkeys(each.benchmark for each in pictures)
    order = {name: place for place, name in enumerate(names)} | {None: -1}
    numbered = sorted(enumerate(pictures), key=lambda item: order[item[1].benchmark])
    grouped = groupby(numbered, key=lambda item: item[1].benchmark)
    return [
        (f"section-{number}", _ACROSS if name is None else name, list(group))
        for number, (name, group) in enumerate(grouped)
    ]


def _contents(sections: Sequence[Section]) -> str:
    return "".join(
        f'<li{_about(pictures)}><a href="#{anchor}">{text(heading)}</a></li>\n'
        for anchor, heading, pictures in sections
    )


def _about(pictures: Sequence[tuple[int, Picture]]) -> str:
    benchmark = pictures[0][1].benchmark
    return "" if benchmark is None else f' data-benchmark="{text(benchmark)}"'


def _section(anchor: str, heading: str, pictures: Sequence[tuple[int, Picture]]) -> str:
    figures = "".join(_figure(number, picture) for number, picture in pictures)
    return (
        f'<details class="section" id="{anchor}"{_about(pictures)} open>'
        f"<summary><h2>{text(heading)}</h2></summary>\n{figures}</details>\n"
    )


def _figure(number: int, picture: Picture) -> str:
    return (
        f'<figure id="picture-{number}" data-picture="{number}" data-kind="{text(picture.kind)}">'
        f"<h3>{text(picture.title)}</h3>\n"
        '<div class="drawing"></div>\n'
        f"<figcaption>{prose(picture.caption)}</figcaption></figure>\n"
    )


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
