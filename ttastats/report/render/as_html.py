"""A report as HTML, and every text of a page: names from logs are never markup."""

from __future__ import annotations

import math
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ttastats.report.answer import Report
from ttastats.report.cells import Cell, PValue, Quantity, Reached
from ttastats.report.render import words
from ttastats.report.render.harmless import visible

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


def alone(report: Report) -> str:
    """Return a report as the HTML that a notebook shows, with the style it needs."""
    return f'{_STYLE}<div class="ttastats">\n{render(report)}</div>\n'


def render(report: Report) -> str:
    """Return the tables, notes and sentence of a report as a fragment of HTML.

    Cells of numbers say the raw number (seconds, fractions) in `data-value`.
    """
    return filled("report/render/report.html", report=report)


def filled(template: str, **values: Any) -> str:
    """Fill a template of the package: what it does not call safe is text, and only shows."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # costs start-up time

    environment = Environment(
        autoescape=True,
        finalize=lambda value: value if hasattr(value, "__html__") else visible(str(value)),
        keep_trailing_newline=True,
        loader=FunctionLoader(lambda name: files("ttastats").joinpath(name).read_text("utf-8")),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "code_at_odd_places": re.compile(r"`([^`]+)`").split,
        "gate": words.gate,
        "lines": lambda texts: "\n".join(texts).split("\n"),
        "number": _number,
        "words": words.cell,
    }
    return environment


def _number(cell: Cell) -> str | None:
    """Return the number that a cell is sorted by, in full; None where it has none at all."""
    match cell:
        case Quantity(value=value) | PValue(value=value):
            number = value
        case Reached(reached=reached, n=n):
            number = reached / n if n else None
        case _:
            return None
    return "" if number is None or math.isnan(number) else repr(number)
