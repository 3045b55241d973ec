"""Lower layers know nothing of higher ones."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import ttastats
import ttastats_parsers

#: Lowest first; what stands on one line may not import what stands on a later one. A module stands
#: where its own name does, or else its package's; `ttastats.ingestion` itself is empty.
LAYERS = (
    (
        "ttastats.version",
        "ttastats.errors",
        "ttastats.units",
        "ttastats.metric_names",
        "ttastats.nearest",
        "ttastats.packed",
        "ttastats.extra",
        "ttastats.limits",
        "ttastats.json_safe",
        "ttastats.mllog",
        "ttastats.dawnbench",
        "ttastats.clock",
        "ttastats.collector",
        "ttastats.ingestion",
        "ttastats.quality",
    ),
    (
        "ttastats.percentages",
        "ttastats.atomic",
        "ttastats.file_names",
        "ttastats.result_files",
        "ttastats.run_ends",
    ),
    ("ttastats.run_log", "ttastats.system_file", "ttastats.budget"),
    (
        "ttastats.records",
        "ttastats.benchmarks",
        "ttastats.contest_rules",
        "ttastats.convergence_records",
    ),
    ("ttastats.footer", "ttastats.ingestion.streams"),
    ("ttastats.own_logs",),
    ("ttastats.dialect", "ttastats.schema", "ttastats.conform"),
    ("ttastats.tables", "ttastats.store", "ttastats.frames"),
    ("ttastats.ingestion.spill",),
    ("ttastats.ingestion.containers",),
    ("ttastats.ingestion.sources",),
    ("ttastats.profiles",),
    ("ttastats.ingestion.traces",),
    ("ttastats.ingestion.described",),
    ("ttastats.ingestion.absent",),
    ("ttastats.ingestion.manifest",),
    ("ttastats_parsers",),
    ("ttastats.ingestion.registry",),
    ("ttastats.ingestion.reading",),
    ("ttastats.ingestion.workers",),
    ("ttastats.ingestion.ingest",),
    ("ttastats.ingestion.cache",),
    ("ttastats.ingestion.profiled",),
    ("ttastats.recording",),
    ("ttastats.callbacks",),
    ("ttastats.target",),
    ("ttastats.conditions",),
    ("ttastats.counted", "ttastats.left_out", "ttastats.varying", "ttastats.stats"),
    ("ttastats.time_to_target", "ttastats.convergence_rules"),
    ("ttastats.lengths", "ttastats.convergence_sides"),
    ("ttastats.at_budget", "ttastats.at_stop"),
    ("ttastats.columns",),
    ("ttastats.axis",),
    ("ttastats.given",),
    ("ttastats.select",),
    ("ttastats.unmet",),
    ("ttastats.setups", "ttastats.shared_runs", "ttastats.common_target"),
    ("ttastats.pairing_remarks",),
    ("ttastats.pairing",),
    ("ttastats.design",),
    ("ttastats.sides",),
    ("ttastats.blocking", "ttastats.looks", "ttastats.options"),
    ("ttastats.comparison",),
    ("ttastats.quality_comparison", "ttastats.record_checks"),
    ("ttastats.report.cells",),
    ("ttastats.render",),
    ("ttastats.report",),
    ("ttastats.gate",),
    ("ttastats.quality_gate",),
    ("ttastats.choice",),
    ("ttastats.question",),
    ("ttastats.record_sides",),
    ("ttastats.plotting",),
    ("ttastats.page", "ttastats.exporting"),
    ("ttastats.guessing",),
    ("ttastats.api",),
    ("ttastats.trainer",),
    ("ttastats.profiler",),
    ("ttastats.cli",),
    ("ttastats.__main__",),
)


def layer(module: str) -> int | None:
    """Give the number of a module's layer; the package itself belongs to none."""
    found = [
        (len(name), number)
        for number, names in enumerate(LAYERS)
        for name in names
        if module == name or module.startswith(f"{name}.")
    ]
    return max(found)[1] if found else None


@cache
def statements(source: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Give all import statements of a source, at the top or inside functions."""
    found = ast.walk(ast.parse(source))
    return tuple(node for node in found if isinstance(node, ast.Import | ast.ImportFrom))


def imports(source: str) -> Iterator[str]:
    """Give the modules a source imports, at the top or inside functions."""
    for node in statements(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


#: Only what is called by its users may lead to the package's root, which leads to the API.
ROOT_MAY_BE_IMPORTED_BY = ("ttastats.__main__",)


def broken_rules(module: str, source: str) -> list[str]:
    """Give the imports of a module that reach upwards."""
    own = layer(module)
    if own is None:
        return []
    above = [
        f"{module} imports {name}"
        for name in imports(source)
        if (other := layer(name)) is not None and other > own
    ]
    if "ttastats" in import_statements(source) and module not in ROOT_MAY_BE_IMPORTED_BY:
        above.append(f"{module} imports the package's root")
    return above


def import_statements(source: str) -> set[str]:
    """Give the modules named by `import ...` alone: `from ttastats import x` names a module x."""
    found = (node for node in statements(source) if isinstance(node, ast.Import))
    return {alias.name for node in found for alias in node.names}


def circles(sources: dict[str, str]) -> list[tuple[str, ...]]:
    """Give the sets of modules that import each other, however far around."""
    graph = {
        name: {other for other in imports(source) if other in sources and other != name}
        for name, source in sources.items()
    }
    reach: dict[str, set[str]] = {name: set(others) for name, others in graph.items()}
    for _ in graph:
        grown = {
            name: others.union(*(reach[other] for other in others))
            for name, others in reach.items()
        }
        if grown == reach:
            break
        reach = grown
    looped = {name: others for name, others in reach.items() if name in others}
    together = {
        tuple(sorted(other for other in others if name in reach[other] and other in looped))
        for name, others in looped.items()
    }
    return sorted(together)


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


def test_no_modules_import_each_other() -> None:
    # A package imports its modules; what they import of it are names, not the package's own work.
    sources = {name: path.read_text() for name, path in modules() if path.name != "__init__.py"}
    assert circles(sources) == []


def test_a_circle_is_seen() -> None:
    sources = {
        "a.b": "def f():\n    from a import c\n",
        "a.c": "from a.d import x\n",
        "a.d": "if TYPE_CHECKING:\n    import a.b\n",
        "a.e": "import a.b\n",
    }
    assert circles(sources) == [("a.b", "a.c", "a.d")]
    assert circles({"a.b": "from a import c\n", "a.c": ""}) == []


def test_the_root_is_seen_to_be_imported() -> None:
    assert broken_rules("ttastats.store", "import ttastats\n") == [
        "ttastats.store imports the package's root"
    ]
    assert broken_rules("ttastats.store", "from ttastats import schema\n") == []


def test_every_module_has_a_layer() -> None:
    homeless = [name for name, _ in modules() if layer(name) is None and name != "ttastats"]
    assert homeless == []


def test_the_rule_is_seen_to_be_broken() -> None:
    assert broken_rules("ttastats.stats.sample", "from ttastats import store\n") == []
    assert broken_rules("ttastats.store", "def f():\n    import ttastats.cli\n") == [
        "ttastats.store imports ttastats.cli"
    ]
    assert broken_rules("ttastats.quality", "from ttastats import time_to_target\n") == [
        "ttastats.quality imports ttastats.time_to_target"
    ]


def test_statistics_know_neither_tables_nor_files() -> None:
    forbidden = {"polars", "pyarrow", "rich", "typer", "pathlib", "os", "io"}
    for name, path in modules():
        if name.startswith("ttastats.stats"):
            assert not forbidden & {word.split(".")[0] for word in imports(path.read_text())}, name


def test_only_the_trainer_and_the_recorder_of_profiles_import_torch() -> None:
    for name, path in modules():
        if not name.startswith(("ttastats.trainer.", "ttastats.profiler.")):
            assert "torch" not in {word.split(".")[0] for word in imports(path.read_text())}, name


def named_in_the_map(text: str) -> set[str]:
    """Give the paths below the package that the map of CONTRIBUTING names."""
    start = text.index("    stage      in ttastats/")
    found = set()
    for line in text[start : text.index("\n\n", start)].splitlines()[2:]:
        folder = ""
        for name in line[15:51].split(","):
            above, _, last = name.strip().rpartition("/")
            folder = above if last and above else folder  # what follows lies in it too
            found.add(f"{folder}/{last}".strip("/") if last else above)
    return found


def test_the_map_of_contributing_names_every_module_and_none_that_is_not_there() -> None:
    package = Path(ttastats.__file__).parent
    guide = Path(__file__).parents[1] / "CONTRIBUTING.md"
    named = named_in_the_map(guide.read_text())
    there = {
        path.stem if path.is_file() else path.name
        for path in package.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    tops = {name.split("/")[0] for name in named}
    assert there - tops == {"__init__", "__main__"}
    inside = named - {"../parsers/ttastats_parsers", "report/COMMAND"}
    assert not {
        n for n in inside if not (package / n).is_dir() and not (package / f"{n}.py").exists()
    }
