"""How does an answer show itself in a notebook? As a table, with its notes and its sentence."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Protocol

from ttastats.report.cells import Report

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

#: Notebooks have styles for tables of their own; this adds what the marks of a report need.
_STYLE = """\
<style>
.ttastats table.report .number { text-align: right; font-variant-numeric: tabular-nums }
.ttastats table.report tbody th { text-align: left; font-weight: normal }
.ttastats table.report .details td { text-align: left; white-space: pre-line; opacity: .75 }
.ttastats caption { text-align: left; font-weight: bold }
.ttastats .notes { opacity: .85 }
</style>
"""


class _Printer(Protocol):
    """What IPython writes plain text to."""

    def text(self, text: str) -> None: ...


def register() -> None:
    """Let IPython show reports as tables, if it is running here; otherwise do nothing.

    IPython is never imported: a program without it pays nothing.
    """
    shell = _shell()
    if shell is None or shell.display_formatter is None:
        return
    formatters = shell.display_formatter.formatters
    formatters["text/html"].for_type(Report, html)
    formatters["text/plain"].for_type(Report, _print)


def _shell() -> InteractiveShell | None:
    ipython = sys.modules.get("IPython")
    shell: InteractiveShell | None = ipython.get_ipython() if ipython else None
    return shell


def html(report: Report) -> str:
    """Give a report as the HTML that a notebook shows."""
    from ttastats.render import as_html

    return f'{_STYLE}<div class="ttastats">\n{as_html.render(report)}</div>\n'


def text(report: Report) -> str:
    """Give a report as plain text, however wide; in a notebook, rich would display it itself."""
    from rich.console import Console

    from ttastats.render import as_table

    stream = io.StringIO()
    as_table.render(report, Console(file=stream, force_jupyter=False, color_system=None))
    return stream.getvalue().rstrip("\n")


def _print(report: Report, printer: _Printer, cycle: bool) -> None:  # noqa: ARG001
    printer.text(text(report))
