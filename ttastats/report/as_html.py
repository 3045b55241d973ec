"""A report as HTML, and every text of a page: names from logs are never markup."""

from __future__ import annotations

import math
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ttastats.report import harmless
from ttastats.report.answer import Report
from ttastats.report.cells import Cell, PValue, Quantity, Reached
from ttastats.report.harmless import escape_invisible
from ttastats.report.time_units import with_common_units

if TYPE_CHECKING:
    from jinja2 import Environment

#: Notebooks have styles for tables of their own; this adds what the marks of a report need.
_STYLE = """\
<style>
.ttastats table.report th, .ttastats table.report td { text-align: left }
.ttastats table.report .number { text-align: right; font-variant-numeric: tabular-nums }
.ttastats table.report tbody th { font-weight: normal }
.ttastats table.report .details td { white-space: pre-line; opacity: .75 }
.ttastats caption { text-align: left; font-weight: bold }
.ttastats .notes { opacity: .85 }
</style>
"""


def render_standalone(report: Report) -> str:
    """Return a report as the HTML that a notebook shows, with its style."""
    return f'{_STYLE}<div class="ttastats">\n{render_html(report)}</div>\n'


def render_html(report: Report) -> str:
    """Return tables, notes and sentence of a report as an HTML fragment.

    Cells of numbers say the raw number (seconds, fractions) in `data-value`.
    """
    return fill_html("report/report.html", report=report)


def fill_html(template: str, **values: Any) -> str:
    """Return a template of the package filled in, with values escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # costs start-up time

    environment = Environment(
        autoescape=True,
        finalize=lambda value: (
            value if hasattr(value, "__html__") else escape_invisible(str(value))
        ),
        keep_trailing_newline=True,
        loader=FunctionLoader(lambda name: files("ttastats").joinpath(name).read_text("utf-8")),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "code_at_odd_places": re.compile(r"`([^`]+)`").split,
        "gate": harmless.gate_lines,
        "lines": lambda texts: "\n".join(texts).split("\n"),
        "number": _sort_value,
        "with_common_units": with_common_units,
        "words": harmless.cell_text,
    }
    return environment


def _sort_value(cell: Cell) -> str | None:
    """Return the number by which a cell is sorted, in full; None if it has none."""
    match cell:
        case Quantity(value=value) | PValue(value=value):
            number = value
        case Reached(reached=reached, n=n):
            number = reached / n if n else None
        case _:
            return None
    return "" if number is None or math.isnan(number) else repr(number)
