"""Where the tests find their logs, and how accepted expectations are renewed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"


@pytest.fixture(scope="session")
def real_logs() -> Path:
    """Give the folder of the public logs, or skip."""
    default = Path(os.environ.get("TMPDIR", tempfile.gettempdir()), "ttastats-data")
    folder = Path(os.environ.get("TTASTATS_DATA", default))
    if not (folder / "v0.5").is_dir():
        pytest.skip(f"the public logs are not in {folder}: set TTASTATS_DATA")
    return folder


@pytest.fixture
def two_systems() -> Path:
    """Give the results folder of the embedded example."""
    return ROOT / "examples" / "two_systems" / "Example" / "results"


def matches_accepted(path: Path, text: str) -> bool:
    """Compare a text with its accepted file, or accept it where TTASTATS_ACCEPT is set."""
    if os.environ.get("TTASTATS_ACCEPT"):
        path.write_text(text, "utf-8")
    return path.exists() and path.read_text("utf-8") == text
