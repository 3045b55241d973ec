"""Lower layers know nothing of higher ones."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import ttastats
import ttastats_parsers

#: Lowest first; what stands on one line may not import what stands on a later one.
LAYERS = (
    ("ttastats.errors", "ttastats.units", "ttastats.nearest", "ttastats.packed"),
    ("ttastats.percentages",),
    ("ttastats.records", "ttastats.quality"),
    ("ttastats.dialect", "ttastats.schema", "ttastats.conform"),
    ("ttastats.tables", "ttastats.store", "ttastats.blocks", "ttastats.frames"),
    ("ttastats.containers",),
    ("ttastats.sources",),
    ("ttastats.ledger",),
    ("ttastats_parsers",),
    ("ttastats.target",),
    ("ttastats.conditions",),
    ("ttastats.counted", "ttastats.stats"),
    ("ttastats.crossing",),
    ("ttastats.columns",),
    ("ttastats.given",),
    ("ttastats.select",),
    ("ttastats.unmet",),
    ("ttastats.setups", "ttastats.shared_runs", "ttastats.common_target"),
    ("ttastats.pairing_remarks",),
    ("ttastats.pairing",),
    ("ttastats.sides",),
    ("ttastats.comparison",),
    ("ttastats.report",),
    ("ttastats.gate",),
    ("ttastats.choice",),
    ("ttastats.render", "ttastats.pictures"),
    ("ttastats.page", "ttastats.notebook", "ttastats.exporting"),
    ("ttastats.registry",),
    ("ttastats.reading",),
    ("ttastats.cluster",),
    ("ttastats.ingestion",),
    ("ttastats.api",),
    ("ttastats.trainer",),
    ("ttastats.cli",),
    ("ttastats.__main__",),
)


def layer(module: str) -> int | None:
    """Give the number of a module's layer; the package itself belongs to none."""
    for number, names in enumerate(LAYERS):
        if any(module == name or module.startswith(f"{name}.") for name in names):
            return number
    return None


def imports(source: str) -> Iterator[str]:
    """Give the modules a source imports, at the top or inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def broken_rules(module: str, source: str) -> list[str]:
    """Give the imports of a module that reach upwards."""
    own = layer(module)
    if own is None:
        return []
    return [
        f"{module} imports {name}"
        for name in imports(source)
        if (other := layer(name)) is not None and other > own
    ]


def modules() -> Iterable[tuple[str, Path]]:
    for package in (ttastats, ttastats_parsers):
        root = Path(str(package.__file__)).parent
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root.parent).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), path


def test_no_module_imports_a_higher_layer() -> None:
    found = [rule for name, path in modules() for rule in broken_rules(name, path.read_text())]
    # The registry must name the package of dialects, which stands below it; nothing else may.
    assert found == []


def test_every_module_has_a_layer() -> None:
    homeless = [name for name, _ in modules() if layer(name) is None and name != "ttastats"]
    assert homeless == []


def test_the_rule_is_seen_to_be_broken() -> None:
    assert broken_rules("ttastats.stats.sample", "from ttastats import store\n") == []
    assert broken_rules("ttastats.store", "def f():\n    import ttastats.cli\n") == [
        "ttastats.store imports ttastats.cli"
    ]
    assert broken_rules("ttastats.quality", "from ttastats import crossing\n") == [
        "ttastats.quality imports ttastats.crossing"
    ]


def test_statistics_know_neither_tables_nor_files() -> None:
    forbidden = {"polars", "pyarrow", "rich", "typer", "pathlib", "os", "io"}
    for name, path in modules():
        if name.startswith("ttastats.stats"):
            assert not forbidden & {word.split(".")[0] for word in imports(path.read_text())}, name


def test_only_the_trainer_imports_torch() -> None:
    for name, path in modules():
        if not name.startswith("ttastats.trainer"):
            assert "torch" not in {word.split(".")[0] for word in imports(path.read_text())}, name
