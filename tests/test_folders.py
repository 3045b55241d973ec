"""CONTRIBUTING's map and the table of imports name every folder of the package, and no other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import ttastats

ROOT = Path(__file__).parents[1]
PACKAGE = Path(ttastats.__file__).parent
FOLDERS = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} | {"ttastats_parsers"}


def test_the_map_names_every_folder() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"^    (?:\.\./parsers/)?(\w+)/  ", guide, re.MULTILINE)
    assert sorted(named) == sorted(FOLDERS)


def test_the_table_of_imports_names_every_folder_on_at_most_ten_floors() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (layers,) = (
        contract["layers"]
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    named = [name.removeprefix("ttastats.") for line in layers for name in line.split(" | ")]
    assert sorted(named) == sorted(FOLDERS)
    assert len(layers) <= 10


def test_no_module_lies_loose() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}
