"""A report as one JSON object: raw numbers, null for unknown."""

from __future__ import annotations

from json import dumps

from msgspec.structs import asdict

from ttastats.base import __version__
from ttastats.base.json_safe import json_value
from ttastats.report.answer import Report

#: The number of what the keys of an answer mean: it changes with a key that goes or changes.
SCHEMA = 1


def render_json(report: Report) -> str:
    """Return a report as JSON text, with null for infinity, as for all that is no number."""
    gate, frame = report.gate, report.typed_columns
    lines = "" if frame is None else frame.write_ndjson().rstrip("\n").replace("\n", ",\n  ")
    text = dumps(
        {
            "schema": SCHEMA,
            "ttastats": __version__,
            "command": report.command,
            "headline": " ".join(str(lead) for lead in report.headline),
            "target": report.target or None,
            "rows": [] if lines else [json_value(row) for row in report.rows],
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
    if lines:  # every row on one
        text = text.replace('"rows": []', f'"rows": [\n  {lines}\n ]', 1)
    # JSON may hold characters as they are that would steer a terminal.
    return "\n".join(
        line if line.isprintable()
        else "".join(char if char.isprintable() else dumps(char)[1:-1] for char in line)
        for line in text.split("\n")
    )  # fmt: skip
