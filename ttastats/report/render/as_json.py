"""A report as one JSON object: raw numbers, null for unknown."""

from __future__ import annotations

from dataclasses import asdict
from json import dumps

from ttastats.base.json_safe import plain
from ttastats.base.version import __version__
from ttastats.report.cells import Printable


def render(report: Printable) -> str:
    """Return the report as JSON text. Infinity is the string "inf": JSON has no such number."""
    gate = report.gate
    text = dumps(
        {
            "ttastats": __version__,
            "command": report.command,
            "rows": [plain(row, infinity="inf") for row in report.rows],
            "notes": [
                {"code": note.code, "mark": note.mark, "text": note.text} for note in report.notes
            ],
            **({} if gate is None else {"gate": {
                "condition": " ".join(gate.conditions),
                "passed": gate.passed,  # what is undecided passed
                "failures": [asdict(finding) for finding in gate.failures],
                "undecided": [asdict(finding) for finding in gate.undecided],
                "conditional": [asdict(finding) for finding in gate.conditional],
            }}),
        },
        indent=1,
        ensure_ascii=False,
        allow_nan=False,
    )  # fmt: skip
    # JSON may hold characters as they are that would steer a terminal.
    return "\n".join(
        line if line.isprintable()
        else "".join(char if char.isprintable() else dumps(char)[1:-1] for char in line)
        for line in text.split("\n")
    )  # fmt: skip
