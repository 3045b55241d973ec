"""The commands that draw: one kind of plot to one file or as text, or a whole page."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import typer

import ttastats as tta
from ttastats.base import stores
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.cli.options import COMPARING, refuse_of_runs, sources, split_options, takes
from ttastats.cli.output import progress, say, show_page
from ttastats.sides.options import SideKeywords, TargetKeywords

#: Kinds that draw intervals.
_OF_ANY_CONFIDENCE = (
    "tta", "speedups", "effects", "variance", "targets", "scaling", "history",
)  # fmt: skip
#: Widths that have a name, in inches.
_WIDTHS = {"paper-column": 3.3, "paper-page": 6.9, "page": 640 / 96}


@takes(*COMPARING)
def report(
    files: Sequence[str],
    output: Path = Path("report.html"),
    title: str = "",
    together: bool = False,
    **options: Any,
) -> None:
    """Write an HTML page with verdict, numbers and plots.

    FILE...: Parquet files, logs, profiles or traces; one is summarized, several are compared with
        the first.
    --output, -o FILE: HTML file to write, or - for standard output.
    --title TEXT: Heading of the page.
    --together: Pool several files into one summary instead of comparing them.

    $ ttastats report a.parquet b.parquet -o answer.html
    $ ttastats report runs.parquet --where benchmark=resnet
    """
    from ttastats.ingestion.given import is_profile  # polars costs start-up time
    from ttastats.output.page import document
    from ttastats.report import harmless

    path = None if str(output) == "-" else output
    if path is not None:
        document.expect_page_path(path, map(stores.parse_place, files))
    how, keywords = split_options(options)
    if all(is_profile(stores.parse_place(file)) for file in files):
        refuse_of_runs(options)
        paths = [files] if together else files
        page = tta.profile_page(*paths, output=path, title=title, confidence=how.confidence)
    else:
        tables = [list(files)] if together else sources(files, keywords, one_will_do=True)
        with progress("drawing plots") as on_progress:
            page = tta.html_report(
                *tables,
                output=path,
                title=title,
                on_progress=on_progress,
                command=shlex.join(["ttastats", *sys.argv[1:]]),
                options=how,
                **keywords,
            )
    if path is None:
        show_page(page.html)
    else:
        size = f"{page.size / 1e6:.1f} MB"
        say(f"wrote {output}: {page.counted}, {page.plots} plots, {size}")
    if page.gate is not None and not page.gate:
        say(*harmless.gate_lines(page.gate))
        raise typer.Exit(3)


@takes("metric on confidence a b", SideKeywords, TargetKeywords)
def plot(
    kind: str,
    files: Sequence[str] = (),
    output: Path | None = None,
    width: str = "",
    dpi: float = 192,
    title: bool | None = None,
    **options: Any,
) -> None:
    """Draw one kind of plot, sized for a paper.

    KIND: Plot kind: tta, speedups, ...; `list` shows all.
    FILE...: Parquet files or logs; several are compared with the first.
    --output, -o FILE: File to write: .svg, .pdf, .png or .html.
    --metric METRIC: In quality-time and quality-epochs: the metric to draw, such as train_loss or
        throughput.
    --on COLUMNS: In effects: the settings, comma-separated. [default: (recorded ones that vary)]
    --width SIZE: Width: paper-column (3.3in), paper-page (6.9in), page, or inches such as 4.5in.
        [default: (paper-column; page in .html)]
    --dpi: Dots per inch of PNG. [36<=x<=1200]
    --title/--no-title: Draw the title in the plot. [default: (on a page; a paper has captions)]

    $ ttastats plot speedups a.parquet b.parquet -o speedups.pdf
    $ ttastats plot quality-time runs.parquet -o curves.svg --width paper-page
    """
    from ttastats import api  # polars costs start-up time
    from ttastats.output.plots import drawing, kinds
    from ttastats.output.plots.tta import KINDS, text_plot

    if kind == "list":
        typer.echo("\n".join(f"{name:<16}{text}" for name, text in kinds.kind_descriptions()))
        return
    profiled = kind in kinds.OF_PROFILES
    if not profiled:
        kinds.drawer_of(kind, options.get("metric", ""), options.get("on", ()))
    raise_if(
        "confidence" in options and kind not in _OF_ANY_CONFIDENCE,
        f"plot {kind} does not support --confidence",
        "--confidence",
        f"Supported by: {', '.join(_OF_ANY_CONFIDENCE)}.",
    )
    usual = "page" if output and output.suffix.lower() == ".html" else "paper-column"
    title = usual == "page" if title is None else title
    style = drawing.Style(_inches(width or usual) * 96, title, dpi)
    if profiled:
        refuse_of_runs(options)
        remedy = f"ttastats plot {kind} prof.parquet -o {kind}.svg"
        needs = "needs a profile and an output file"
        raise_if(output is None or not files, needs, f"plot {kind}", remedy)
    raise_if(not files, "no input file", None, f"ttastats plot {kind} FILE -o {kind}.svg")
    how, question = split_options(options)
    on = question.pop("on", ())
    tables = sources(files, question, one_will_do=True)
    if output is None:
        material = api.material(*tables, options=how, **question)
        remedy = f"Write it to a file: -o {kind}.svg. Kinds with text output: {', '.join(KINDS)}."
        raise_if(kind not in KINDS, f"{kind} cannot be printed as text", "plot", remedy)
        for line in text_plot(material, width=get_terminal_size().columns):
            typer.echo(line)
        return
    drawing.expect_drawable(output, [stores.parse_place(name) for name in files])
    if profiled:
        plots = api.plot_profiles(kind, files)
    else:
        plots = api.plot(kind, *tables, on=on, options=how, **question)
    drawing.write_plots(output, plots, style)
    for plot in plots:
        say(plot.title, f"  {plot.caption}")
    say(f"wrote {output}")


def _inches(width: str) -> float:
    """Return a width in inches."""
    with suppress(ValueError):
        inches = _WIDTHS.get(width) or float(width.removesuffix("in"))
        if 1.5 <= inches <= 40:
            return inches
    remedy = f"Use {', '.join(_WIDTHS)}, or inches from 1.5 to 40, such as 4.5in."
    raise TtastatsError(f"{width!r} is not a width", where="--width", remedy=remedy)
