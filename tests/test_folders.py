"""CONTRIBUTING's map names every folder of the package, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import ttastats

ROOT = Path(__file__).parents[1]
PACKAGE = Path(ttastats.__file__).parent
FOLDERS = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} | {"ttastats_parsers"}


def test_the_map_names_every_folder() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"^    (?:\.\./parsers/)?(\w+)/  ", guide, re.MULTILINE)
    assert sorted(named) == sorted(FOLDERS)


def test_no_module_lies_loose() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}
