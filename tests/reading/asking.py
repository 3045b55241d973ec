"""What a command answers about a folder of logs: exit code, rows, and all it says beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.test_cli import run


class Answer(NamedTuple):
    """The exit code, the rows of the report, and notes, conditions and stderr as one text."""

    code: int
    rows: list[dict[str, Any]]
    text: str

    def row(self, source: str) -> dict[str, Any]:
        """Return the one row of a run whose source contains a text."""
        (row,) = (row for row in self.rows if source in str(row["source"]))
        return row


def ask(command: str, *words: str | Path) -> Answer:
    """Run `ttastats COMMAND WORDS --format json` in this process."""
    result = run(command, *words, "--format", "json")
    try:
        report = json.loads(result.stdout)
    except ValueError:
        report = {"rows": [], "notes": []}
    parts = [result.stderr, *(note["text"] for note in report["notes"])]
    parts += [str(row[key]) for row in report["rows"] for key in ("claim", "conditions")
              if row.get(key)]  # fmt: skip
    return Answer(result.returncode, report["rows"], "\n".join(parts))
