"""How do verdict, numbers and plots become one small HTML file that stands on its own?"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from html import escape
from importlib.resources import files
from json import dumps
from pathlib import Path
from urllib.parse import quote

import polars as pl
from msgspec import Struct

from ttastats.base import __version__, atomic
from ttastats.base.json_safe import script_json
from ttastats.base.stores import Place
from ttastats.output.page import figure, league
from ttastats.output.page.content import Content, Look
from ttastats.output.plots import quality, renderer, theme
from ttastats.output.plots.plot import Plot
from ttastats.report import as_csv, as_html
from ttastats.report.cells import Conclusion, Gate
from ttastats.report.harmless import escape_frame

#: Fonts that are there; a page brings none.
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
#: The heading of plots that are of no one benchmark, beside those that are, and alone.
_ACROSS, _PLOTS = "Across benchmarks", "Plots"
#: The kinds that answer most, and how many plots are shown before the others.
_FIRST_KINDS = ("tta", "quality-time", "targets", "leaderboard", "scaling", "solved")
_RANKS = {kind: rank for rank, kind in enumerate(_FIRST_KINDS)}
_FIRST = 3
#: Kinds that are no plots among others: each has a section, after those of benchmarks.
_OWN_SECTIONS = {"effects": "Effects of settings", "history": "History"}
#: These scripts and this style, and no network; Vega places and colours by style attributes.
_POLICY = (
    "default-src 'none'; script-src {scripts}; style-src-elem {style}; style-src-attr "
    "'unsafe-inline'; img-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'"
)


class Page(Struct, frozen=True):
    """A page, its subject (`20 runs`), the number of its plots, and the verdict of a gate."""

    html: str
    counted: str
    plots: int
    gate: Gate | None = None

    @property
    def size(self) -> int:
        """Return the size of the page in bytes."""
        return len(self.html.encode())

    def __repr__(self) -> str:
        return f"<Page: {self.counted}, {self.plots} plots, {self.size / 1e6:.1f} MB>"

    def _repr_html_(self) -> str:
        """Return the page for a notebook, in a sandboxed frame."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" '
            'style="width: 100%; height: 60rem; border: 0"></iframe>'
        )


def make_page(content: Content) -> Page:
    """Return the page with some content."""
    style, program = package_file("page.css"), page_script()
    vega, sections, figure_text = renderer.vega_script(), _benchmark_sections(content), ""
    answer, rows = content.answer, content.answer.rows if content.answer else ()
    if answer:
        a, *challengers = answer.sides
        b = challengers[0] if len(challengers) == 1 else f"each of {len(challengers)} others"
        links = {section.benchmark: f"#{section.name}" for section in sections}
        figure_text = figure.figure_svg(rows, (a, b), answer.axis, answer.confidence, links)
    # The choices and themes that the script reads at the start.
    combinations = escape_frame(content.choices)
    choices = {"height": combinations.height, "columns": combinations.to_dict(as_series=False)}
    themes = {
        name: theme.theme_config(dark=name == "dark", font_size=12.0) | {"font": _FONT}
        for name in ("light", "dark")
    }
    html = as_html.fill_html(
        "output/page/parts/page.html",
        content=content,
        sections=sections,
        figure=figure_text,
        answer=answer,
        leagues=league.league_tables(content.leagues, content.choices),
        looks=list(_linked_looks(content.looks, sections)),
        # How many rows have which verdict, where each has but a line.
        counted=figure.verdict_counts(rows) if len(rows) >= figure.THIN_FROM else "",
        csv=f"data:text/csv;charset=utf-8,{quote(as_csv.render_csv(content.report))}",
        version=__version__,
        policy=_POLICY.format(
            scripts=" ".join(map(policy_digest, (vega, program))),
            style=policy_digest(style),
        ),
        style=style,
        data=script_json(
            {
                "filters": combinations.columns[:-1],
                "controls": content.controls,
                "choices": choices,
                "themes": themes,
            }
        ),
        plots=compress(plots_json(content.plots)),
        vega=compress(vega),
        script=program,
    )
    return Page(html, content.counted, len(content.plots), content.report.gate)


class Section(Struct, frozen=True):
    """The part of a page on one benchmark, or on several: verdicts, and numbered plots.

    Those that answer most are shown `first`, the others on demand.
    """

    name: str
    heading: str
    benchmark: str | None
    verdicts: tuple[Conclusion, ...]
    first: tuple[tuple[int, Plot], ...]
    more: tuple[tuple[int, Plot], ...]


def _benchmark_sections(content: Content) -> list[Section]:
    """Return a section for each benchmark, those of several first, and those of `_APART`."""
    verdicts = content.verdicts if content.answer else ()
    # By the kind, of those of `_APART`, or by the benchmark.
    groups: dict[tuple[str, str | None], list[tuple[int, Plot]]] = {}
    for number, plot in enumerate(content.plots):
        key = (plot.kind, None) if plot.kind in _OWN_SECTIONS else ("", plot.benchmark)
        groups.setdefault(key, []).append((number, plot))
    for verdict in verdicts:
        groups.setdefault(("", verdict.benchmark), [])
    across = _ACROSS if sum(not kind for kind, _ in groups) > 1 else _PLOTS
    kinds, sections = ["", *_OWN_SECTIONS], list[Section]()
    for kind, name in sorted(groups, key=lambda x: (kinds.index(x[0]), x[1] is not None)):
        heading = _OWN_SECTIONS[kind] if kind else name or across
        conclusions = tuple(v for v in verdicts if not kind and v.benchmark == name)
        # The figure of an answer has the times of all runs: its curves come first.
        ranks = _RANKS | {quality.TIME: -1} if content.answer else _RANKS
        plots = sorted(groups[kind, name], key=lambda item: ranks.get(item[1].kind, len(ranks)))
        first, more = tuple(plots[:_FIRST]), tuple(plots[_FIRST:])
        anchor = f"section-{len(sections)}"
        sections.append(Section(anchor, heading, name, conclusions, first, more))
    return sections


def _linked_looks(looks: Sequence[Look], sections: Sequence[Section]) -> Iterator[tuple[Look, str]]:
    """Yield each remark with a link to its plot, curve or section."""
    by_benchmark = {section.benchmark: section for section in reversed(sections)}
    for look in looks:
        section = by_benchmark.get(look.benchmark)
        plots = (*section.first, *section.more) if section else ()
        numbers = {plot.kind: n for n, plot in reversed(plots)}
        number = numbers.get(look.plot, numbers.get(quality.TIME))
        anchor = section.name if section and number is None else f"plot-{number}"
        yield look, anchor if section else ""


#: What every page says of itself near its beginning.
_SIGN = b'name="generator" content="ttastats '
_HEAD_BYTES = 4_000


def expect_page_path(path: Path, inputs: Iterable[Place]) -> None:
    """Raise an error if a path is not writable or holds a file that is no page."""
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


#: In the order they need each other.
_PROGRAM = (
    "data.js", "choice.js", "league.js", "address.js", "hover.js", "drawing.js", "rows.js",
    "copy.js", "tables.js", "page.js",
)  # fmt: skip


def tables_json(frames: Sequence[pl.DataFrame]) -> str:
    """Return tables as a JSON list, each by columns; NaN and infinity are null."""
    texts = (
        f'{{"height":{frame.height},"columns":{frame.select(pl.all().implode()).write_json()[1:-1]}}}'
        for frame in frames
    )
    return f"[{','.join(texts)}]"


def plots_json(plots: Sequence[Plot]) -> str:
    """Return the charts and shared tables that the script reads when a section opens, as JSON."""
    tables, indices = share_tables([plot.data for plot in plots])
    charts = [
        {"chart": plot.chart, "tables": mine} for plot, mine in zip(plots, indices, strict=True)
    ]
    return f'{{"plots":{dumps(charts, allow_nan=False)},"tables":{tables_json(tables)}}}'


def share_tables(
    plots: Sequence[Mapping[str, pl.DataFrame]],
) -> tuple[list[pl.DataFrame], list[dict[str, int]]]:
    """Return the distinct tables of some plots, and for each plot the indices of its own.

    Equal tables of one name are listed once.
    """
    different: list[tuple[str, pl.DataFrame]] = []
    indices: list[dict[str, int]] = []
    for data in plots:
        indices.append({})
        for name, frame in data.items():
            matches = (n for n, (x, y) in enumerate(different) if x == name and y.equals(frame))
            indices[-1][name] = next(matches, len(different))
            if indices[-1][name] == len(different):
                different.append((name, frame))
    return [frame for _, frame in different], indices


def compress(text: str) -> str:
    """Return a text compressed as `unpack` of data.js reads it."""
    return b64encode(zlib.compress(text.encode())).decode()


def package_file(name: str) -> str:
    """Return the text of a file of this package that becomes part of every page."""
    return files("ttastats.output.page").joinpath("parts", name).read_text("utf-8")


def page_script() -> str:
    """Return the script of pages: its parts inside one function."""
    return "(() => {\n'use strict';\n" + "\n".join(map(package_file, _PROGRAM)) + "})();\n"


def policy_digest(text: str) -> str:
    """Return the digest of an inline script or style for the content security policy."""
    return "'sha256-" + b64encode(sha256(text.encode()).digest()).decode() + "'"
