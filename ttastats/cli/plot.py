"""The command that draws: one kind of plot to one file, or as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ttastats.base.errors import TtastatsError
from ttastats.cli.options import (
    Confidence,
    JudgedOptions,
    confidence_level,
    given,
    keywords,
    refuse_of_runs,
    tables,
)
from ttastats.cli.output import say
from ttastats.cli.sides import SideOptions

if TYPE_CHECKING:
    from ttastats.output.plots.drawing import Style
    from ttastats.output.plots.material import Material
    from ttastats.output.plots.plot import Plot

#: Kinds that draw intervals of the confidence asked for; others keep to 95 %, and say so.
_OF_ANY_CONFIDENCE = ("tta", "speedups")
#: Widths that have a name, in inches.
_WIDTHS = {"paper-column": 3.3, "paper-page": 6.9, "page": 640 / 96}


def plot(
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help="Plot kind: tta, speedups, ...; `list` shows all."),
    ],
    files: Annotated[
        list[str] | None,
        tables("Parquet files or logs; several are compared with the first."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write: .svg, .pdf, .png or .html.",
            show_default=False,
        ),
    ] = None,
    *,
    sides: SideOptions,
    asked: JudgedOptions,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="In quality-time and quality-epochs: the metric to draw, such as train_loss "
            "or throughput.",
        ),
    ] = "",
    confidence: Confidence = "",
    width: Annotated[
        str,
        typer.Option(
            "--width",
            metavar="SIZE",
            help="Width: paper-column (3.3in), paper-page (6.9in), page, or inches such as 4.5in.",
            show_default="paper-column; page in .html",
        ),
    ] = "",
    dpi: Annotated[float, typer.Option("--dpi", min=36, max=1200, help="Dots per inch of PNG.")] = (
        192
    ),
    title: Annotated[
        bool, typer.Option("--title/--no-title", help="Draw the title in the plot.")
    ] = True,
) -> None:
    """Draw one kind of plot, sized for a paper."""
    from ttastats.output.plots import kinds
    from ttastats.output.plots.profiled import kinds as of_profiles

    if kind == "list":
        typer.echo("\n".join(f"{name:<16}{said}" for name, said in kinds.described()))
        return
    usual = "page" if output and output.suffix.lower() == ".html" else "paper-column"
    look = partial(_look, width or usual, title, dpi)
    if kind not in of_profiles.KINDS:
        kinds.of(kind, metric)
    if confidence and kind not in _OF_ANY_CONFIDENCE:
        raise TtastatsError(
            f"plot {kind} does not support --confidence",
            where="--confidence",
            remedy=f"Supported by: {', '.join(_OF_ANY_CONFIDENCE)}.",
        )
    if kind in of_profiles.KINDS:
        refuse_of_runs(["--metric"] if metric else given(sides, asked))
        _draw_profiles(kind, files or [], output, look)
        return
    if not files:
        raise TtastatsError("no input file", remedy=f"ttastats plot {kind} FILE -o {kind}.svg")
    drawn = look()
    if output is not None:
        _expected(output, files)
    from ttastats import api
    from ttastats.sides.options import Options

    sources = sides.of(files, one_will_do=True)
    options = Options(confidence=confidence_level(confidence))
    question = {"metric": metric, "options": options, **keywords(sides, asked)}
    if output is None:
        _print(kind, api.material(*sources, **question))
        return
    _write(output, api.plot(kind, *sources, **question), drawn)


def _draw_profiles(
    kind: str, files: Sequence[str], output: Path | None, look: Callable[[], Style]
) -> None:
    from ttastats import api

    if output is None or not files:
        raise TtastatsError(
            "needs a profile and an output file",
            where=f"plot {kind}",
            remedy=f"ttastats plot {kind} prof.parquet -o {kind}.svg",
        )
    drawn = look()
    _expected(output, files)
    _write(output, api.plot_profiles(kind, files), drawn)


def _look(width: str, title: bool, dpi: float) -> Style:
    from ttastats.output.plots.drawing import Style

    return Style(_inches(width) * 96, title, dpi)


def _inches(text: str) -> float:
    if text in _WIDTHS:
        return _WIDTHS[text]
    try:
        inches = float(text.removesuffix("in"))
    except ValueError:
        inches = 0.0
    if not 1.5 <= inches <= 40:
        raise TtastatsError(
            f"{text!r} is not a width",
            where="--width",
            remedy=f"Use {', '.join(_WIDTHS)}, or inches from 1.5 to 40, such as 4.5in.",
        )
    return inches


def _expected(output: Path, inputs: Sequence[str]) -> None:
    from ttastats.output.plots import files

    files.expect(output, [Path(name) for name in inputs])


def _write(output: Path, plots: Sequence[Plot], look: Style) -> None:
    """Write plots, and say what they show."""
    from ttastats.output.plots import files

    files.write(output, plots, look)
    for plot in plots:
        say(plot.title, f"  {plot.caption}")
    say(f"wrote {output}")


def _print(kind: str, material: Material) -> None:
    from shutil import get_terminal_size

    from ttastats.output.plots import in_words

    if kind not in in_words.KINDS:
        raise TtastatsError(
            f"{kind} cannot be printed as text",
            where="plot",
            remedy=f"Write it to a file: -o {kind}.svg. Kinds with text output: "
            f"{', '.join(in_words.KINDS)}.",
        )
    for line in in_words.lines(material, width=get_terminal_size().columns):
        typer.echo(line)
