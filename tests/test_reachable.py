"""Nothing is defined in the product that only tests use, and every parameter is passed."""

from __future__ import annotations

import ast
import itertools
import math
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ttastats.cli.commands import COMMANDS

vulture = pytest.importorskip("vulture")

ROOT = Path(__file__).parents[1]
CHECKED = [ROOT / name for name in ("ttastats", "parsers", "benchmarks", "examples", "dev.py")]

#: Names that Python, a framework or a library calls or reads.
CALLED_BY_OTHERS = [
    "_repr_*", "__getattr__", "__dir__", "__signature__", "_value_", "_root_options", "on_*",
    "pytest_*", "RECIPE", "format_field", "format_commands", "format_options", "readinto",
    "open_input_file", "requested_schema", "row_factory", "text_factory", "should_training_stop",
    "stop_training", "should_stop", "pl_module", "drop_tables", "flavor", "numMetrics", "metricId",
    "sample1", "sample2", "forward", "do_GET", "do_POST", "log_message", "protocol_version",
    "close_connection", "daemon_threads", "block_on_close", "handle_error",
]  # fmt: skip

#: Bases and names of classes of which all fields are read: as keys of answers, columns, options.
READ_WHOLE = (
    "Row",
    "Keys",
    "TypedDict",
    "TargetKeywords",
    "Struct",
    "NamedTuple",
    "Evaluation",
    "Run",
    "Checkpoint",
    "Args",
)

#: Functions with parameters for people who call them, and for tests alone.
OFFERED = ("ingest", "limit_rows", "log_from_bytes", "render_html", "to_svg", "write")

FENCE = re.compile(r"^```python[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILLED = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)


@cache
def parsed() -> dict[str, list[ast.AST]]:
    """Return the nodes of the modules that are checked, by their paths, and of the examples."""
    paths = (path for top in CHECKED for path in ([top] if top.suffix else top.rglob("*.py")))
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}
    texts["docs"] = documented()
    return {path: list(ast.walk(ast.parse(text))) for path, text in texts.items()}


def documented() -> str:
    """Return the Python that stands in the documentation."""
    pages = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    codes = (code for page in pages for code in FENCE.findall(page.read_text("utf-8")))
    return "\n".join(map(textwrap.dedent, codes))


def test_every_definition_is_used() -> None:
    checker = vulture.Vulture(ignore_names=CALLED_BY_OTHERS)
    checker.scavenge(CHECKED)
    checker.scan(documented())
    checker.used_names |= {*COMMANDS}
    for page in (ROOT / "ttastats").rglob("*.html"):
        checker.used_names |= set(
            re.findall(r"\w+", "".join(FILLED.findall(page.read_text("utf-8"))))
        )
    for node in itertools.chain(*parsed().values()):
        if isinstance(node, ast.ClassDef) and _is_read_whole(node):
            fields = (statement for statement in node.body if isinstance(statement, ast.AnnAssign))
            checker.used_names |= {ast.unparse(field.target) for field in fields}
    assert [item.get_report() for item in checker.get_unused_code()] == []


def _is_read_whole(node: ast.ClassDef) -> bool:
    return any(name.endswith(READ_WHOLE) for name in (node.name, *map(ast.unparse, node.bases)))


def never_passed(modules: dict[str, list[ast.AST]]) -> list[str]:
    """Return the parameters with a default that no call of a function of that name passes."""
    calls: dict[str, list[ast.Call]] = defaultdict(list)
    for call in itertools.chain(*modules.values()):
        if not isinstance(call, ast.Call):
            continue
        called = ast.unparse(call.func).rpartition(".")[2]
        calls[called].append(call)
        if called == "partial":
            bound = ast.Call(call.args[0], call.args[1:], call.keywords)
            calls[ast.unparse(call.args[0]).rpartition(".")[2]].append(bound)
    return [
        f"{node.name}({name})"
        for path, nodes in modules.items()
        if path.startswith(("ttastats", "parsers")) and "/cli/" not in path and "/api/" not in path
        for node in nodes
        if isinstance(node, ast.FunctionDef) and not node.decorator_list and calls[node.name]
        if node.name != "__init__"  # called by the name of its class
        for name, at in _with_default(node.args)
        if not any(_passes(call, name, at) for call in calls[node.name])
    ]


def _with_default(of: ast.arguments) -> Iterator[tuple[str, float]]:
    """Yield parameters with a default and their place, infinite for those passed by name."""
    positional = [parameter.arg for parameter in of.args if parameter.arg not in ("self", "cls")]
    first = len(positional) - len(of.defaults)
    yield from ((name, at) for at, name in enumerate(positional) if at >= first)
    named = zip(of.kwonlyargs, of.kw_defaults, strict=True)
    yield from ((parameter.arg, math.inf) for parameter, default in named if default is not None)


def _passes(call: ast.Call, name: str, at: float) -> bool:
    by_name = any(keyword.arg in (name, None) for keyword in call.keywords)
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    return by_name or starred or len(call.args) > at


def test_every_parameter_is_passed() -> None:
    assert [line for line in never_passed(parsed()) if line.partition("(")[0] not in OFFERED] == []
