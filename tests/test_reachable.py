"""Everything in the product is reached from a command, the API, a plot, a page or an example.

A definition at the top of a module counts by its qualified name: it is reached when code that is
reached names it, through the imports of its module. A method, a property or a field of a class is
reached when the class is and some code that is reached reads an attribute, or has a string, of
that name in a module that sees the class: one that names it, or names what it is annotated with.
"""

from __future__ import annotations

import ast
import gc
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType

import pytest

ROOT = Path(__file__).parents[1]

#: What is looked at, by the folder its modules are imported from.
PRODUCT = {".": ("ttastats",), "parsers": ("ttastats_parsers",)}

#: Programs of their own, that use the product: all of each counts as reached.
PROGRAMS = ("benchmarks", "examples", "dev.py", "hatch_build.py")

#: Names that Python or another program calls.
CALLED_BY_OTHERS = ("_repr_html_", "_repr_mimebundle_", "_repr_markdown_")

#: Classes of which every field is read by its name: as options, as columns of a table, on a page.
WHOLE = (
    "ttastats.base.codes:Row", "ttastats.base.records:Evaluation", "ttastats.base.records:Run",
    "ttastats.cli.ingest:OwnLogs", "ttastats.cli.sides:Gates", "ttastats.cli.sides:Judging",
    "ttastats.cli.train:Recipe", "ttastats.report.row:Key", "ttastats.sides.options:AtBudget",
    "ttastats.sides.options:Compared", "ttastats.sides.options:Counted",
    "ttastats.sides.options:Judged", "ttastats.sides.options:Sided",
)  # fmt: skip

#: Where modules of the product are taken as objects of a contract: the modules, and the
#: definition that holds the names asked of them (a protocol's members, or words in strings).
CONTRACTS = (
    ("ttastats_parsers", "ttastats.formats.dialect", ("Dialect",)),
    ("ttastats.cli", "ttastats.cli.commands", ("GROUPS",)),
    (
        "ttastats.trainer.workloads",
        "ttastats.trainer.workloads.contract",
        ("REQUIRED", "HOOKS"),
    ),
)

#: In templates, what is named of what they are filled with.
FILLED = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)

FENCE = re.compile(r"^```python[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class Module:
    """A module's definitions, what its names stand for, and what importing it executes."""

    definitions: dict[str, list[ast.AST]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    executed: list[ast.AST] = field(default_factory=list)
    registered: set[str] = field(default_factory=set)


def read(source: str) -> Module:
    """Separate a module's definitions from its imports and from what is executed at once."""
    tree = _parsed(source)
    found = Module(aliases=imported(each for node in tree.body for each in _outside(node)))
    for node in tree.body:
        names = list(_defined(node))
        for name in names:
            found.definitions.setdefault(name, []).append(node)
        if not names:
            found.executed.append(node)
        elif isinstance(node, Function) and _registers_itself(node, found):
            found.registered.add(node.name)
    return found


def imported(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Return what the names stand for that import statements bind."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                found[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def _outside(node: ast.stmt) -> Iterator[ast.AST]:
    """Yield the statements of a module that are in no function or class."""
    if not isinstance(node, Function | ast.ClassDef):
        yield from ast.walk(node)


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))


def _registers_itself(node: Function, module: Module) -> bool:
    """Whether a decorator is a method of an object of the module, such as `@app.callback`."""
    calls = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return any(
        isinstance(call, ast.Attribute)
        and isinstance(call.value, ast.Name)
        and call.value.id in module.definitions
        for call in calls
    )


@cache
def members(node: ast.AST, module: Module) -> dict[str, ast.AST]:
    """Return the methods and fields of a class that only the product can use.

    Python calls names such as `__eq__`, and a class from elsewhere those of its heirs.
    """
    if not isinstance(node, ast.ClassDef) or any(
        "Enum" in "".join(_chain(base)) for base in node.bases
    ):
        return {}
    bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    foreign = [chain for base in bases if (chain := _chain(base)) and _is_foreign(chain, module)]
    return {
        name: part
        for part in node.body
        for name in _defined(part)
        if not _is_called_by_others(name) and not (foreign and isinstance(part, Function))
    }


def _is_foreign(chain: list[str], module: Module) -> bool:
    home = module.aliases.get(chain[0], chain[0])
    ours = home.split(".")[0] in ("ttastats", "ttastats_parsers")
    return (
        chain[0] not in module.definitions and not ours and chain[-1] not in ("Protocol", "Struct")
    )


def _is_called_by_others(name: str) -> bool:
    return (name.startswith("__") and name.endswith("__")) or name in CALLED_BY_OTHERS


@dataclass
class Search:
    """Which definitions are reached; grows until nothing is added."""

    modules: Mapping[str, Module]
    #: Names that templates use of whatever they are filled with.
    everywhere: set[str] = field(default_factory=set)
    reached: set[str] = field(default_factory=set)
    words: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _open: set[str] = field(default_factory=set)
    _seen: dict[str, set[str]] = field(default_factory=dict)
    _of_types: dict[str, set[str]] = field(default_factory=dict)

    def run(self, start: Iterable[tuple[str, ast.AST]]) -> None:
        """Follow all names from the given code on."""
        waiting = list(start)
        while waiting:
            for module, node in waiting:
                self._note(module, node)
            waiting = list(self._next())

    def _next(self) -> Iterator[tuple[str, ast.AST]]:
        """Yield the code of definitions, then of members, that are reached and not yet read."""
        for name in sorted(self._open):
            module, _, own = name.rpartition(":")
            for node in self.modules[module].definitions[own]:
                yield module, node
        found, self._open = self._open, set()
        self.reached |= found
        readers = self._readers()
        for name in sorted(self.reached):
            module, _, own = name.rpartition(":")
            if "." in own:
                continue
            for node in self.modules[module].definitions[own]:
                parts = members(node, self.modules[module])
                for member in parts.keys() & (readers[name] | readers[ANY]):
                    if f"{name}.{member}" not in self.reached:
                        self.reached.add(f"{name}.{member}")
                        yield module, parts[member]

    def _readers(self) -> Mapping[str, set[str]]:
        """Return the words that are read where each class is seen; a protocol stands for any."""
        found: dict[str, set[str]] = defaultdict(set, {ANY: set(self.everywhere)})
        for module, words in self.words.items():
            for name in self.seen(module):
                found[name] |= words
                home, _, own = name.rpartition(":")
                for node in self.modules[home].definitions[own]:
                    if isinstance(node, ast.ClassDef) and _is_protocol(node):
                        found[ANY] |= words & members(node, self.modules[home]).keys()
        return found

    def seen(self, module: str) -> set[str]:
        """Return the definitions that a module names, and those of their annotations and so on."""
        if module not in self._seen:
            own = self.modules[module]
            waiting = [*own.executed, *(node for each in own.definitions.values() for node in each)]
            found = self._seen[module] = {f"{module}:{name}" for name in own.definitions}
            new = {name for node in waiting for name in self._named(module, node)} - found
            while new:
                found |= new
                new = {each for name in new for each in self._types(name)} - found
        return self._seen[module]

    def _types(self, name: str) -> set[str]:
        if name not in self._of_types:
            module, _, own = name.rpartition(":")
            parts = (
                part
                for node in self.modules[module].definitions[own]
                for part in _annotations(node)
            )
            self._of_types[name] = {each for part in parts for each in self._named(module, part)}
        return self._of_types[name]

    def _named(self, module: str, node: ast.AST) -> Iterator[str]:
        within = _imports(node)
        for each in _walk(node):
            chain = _chain(each) if isinstance(each, ast.Attribute | ast.Name) else []
            if chain and (name := self._found(module, chain, within)):
                yield name

    def _note(self, module: str, node: ast.AST) -> None:
        apart = {id(part) for part in members(node, self.modules[module]).values()}
        bound, within = _bound(node), _imports(node)
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if isinstance(each, ast.Name) and each.id not in bound:
                self._reach(self._found(module, [each.id], within))
            elif isinstance(each, ast.Attribute):
                self.words[module].add(each.attr)
                if (chain := _chain(each)) and chain[0] not in bound:
                    self._reach(self._found(module, chain, within))
            elif isinstance(each, ast.Constant) and isinstance(each.value, str):
                self.words[module].add(each.value)
            elif isinstance(each, ast.ImportFrom) and module == "ttastats":
                for alias in each.names:  # what the package offers
                    self._reach(self._found(module, [alias.name]))
            waiting += (
                child
                for child in ast.iter_child_nodes(each)
                # The type of a field is named wherever its class is.
                if id(child) not in apart or isinstance(child, ast.AnnAssign)
            )

    def _found(
        self, module: str, chain: list[str], within: Mapping[str, str] = MappingProxyType({})
    ) -> str | None:
        """Return the definition of the product that a name stands for."""
        own = self.modules[module]
        if chain[0] in within:
            return self._at([*within[chain[0]].split("."), *chain[1:]])
        if chain[0] in own.definitions:
            return f"{module}:{chain[0]}"
        if chain[0] in own.aliases:
            return self._at([*own.aliases[chain[0]].split("."), *chain[1:]])
        return None

    def _at(self, path: list[str]) -> str | None:
        for end in range(len(path), 0, -1):
            module = ".".join(path[:end])
            if module in self.modules:
                return self._found(module, path[end:]) if end < len(path) else None
        return None

    def _reach(self, name: str | None) -> None:
        if name is not None and name not in self.reached:
            self._open.add(name)


#: In the place of a class: what is read of any that suits a protocol.
ANY = ""


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(_chain(base)[-1:] == ["Protocol"] for base in node.bases)


def _is_row(node: ast.AST) -> bool:
    """Whether a class is a row of an answer: programs read all of its keys."""
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    return any("".join(_chain(base)[-1:]).endswith(("Row", "Keys")) for base in bases)


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what gives the types of a definition: annotations, bases, its value."""
    if isinstance(node, ast.Assign):
        yield node.value
    if isinstance(node, ast.ClassDef):
        yield from node.bases
    for each in _walk(node):
        if isinstance(each, Function) and each.returns is not None:
            yield each.returns
        elif isinstance(each, ast.arg | ast.AnnAssign) and each.annotation is not None:
            yield each.annotation


def _bound(node: ast.AST) -> set[str]:
    """Names that a function binds itself: those are not the module's."""
    if not isinstance(node, Function):
        return set()
    free: set[str] = set()
    found: set[str] = set()
    for each in _walk(node):
        if isinstance(each, ast.Global):
            free.update(each.names)
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, ast.arg):
            found.add(each.arg)
    return found - free


_parsed = cache(ast.parse)


@cache
def _walk(node: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(node))


@cache
def _imports(node: ast.AST) -> Mapping[str, str]:
    return imported(_walk(node))


def _chain(node: ast.expr) -> list[str]:
    """Return `a.b.c` as its names; empty where it does not begin with a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def unreached(
    product: Mapping[str, str], programs: Mapping[str, str], templates: Iterable[str] = ()
) -> list[str]:
    """Return the definitions of the product that nothing reaches, from the modules' sources."""
    modules = {name: read(source) for name, source in {**product, **programs}.items()}
    filled = "".join(part for each in templates for part in FILLED.findall(each))
    search = Search(modules, set(re.findall(r"\w+", filled)))
    start = [(name, node) for name, module in modules.items() for node in module.executed]
    for name in programs:
        start += [(name, node) for nodes in modules[name].definitions.values() for node in nodes]
    every = []
    for name in product:
        module = modules[name]
        called = module.registered | _asked_of(name, modules)
        for own, nodes in module.definitions.items():
            if own in called or _is_called_by_others(own):
                start += [(name, node) for node in nodes]
            else:
                every.append((name, own, nodes))
    search.run(start)
    return sorted(_missing(every, search))


def _missing(every: Iterable[tuple[str, str, list[ast.AST]]], search: Search) -> Iterator[str]:
    for module, own, nodes in every:
        name = f"{module}:{own}"
        if name not in search.reached:
            yield name
            continue
        if name in WHOLE or any(_is_row(node) for node in nodes):
            continue
        parts = (part for node in nodes for part in members(node, search.modules[module]))
        yield from (f"{name}.{part}" for part in parts if f"{name}.{part}" not in search.reached)


def _asked_of(module: str, modules: Mapping[str, Module]) -> set[str]:
    """Return the names that a contract asks of a module."""
    asked: set[str] = set()
    for package, home, holders in CONTRACTS:
        if not module.startswith(f"{package}.") or home not in modules:
            continue
        for holder in holders:
            for node in modules[home].definitions[holder]:
                asked |= set(members(node, modules[home]))
                asked |= {
                    each.value
                    for each in ast.walk(node)
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                }
    return asked


def sources(folders: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    found = {}
    for base, names in folders.items():
        for path in (path for name in names for path in sorted((ROOT / base / name).rglob("*.py"))):
            parts = path.relative_to(ROOT / base).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path.read_text("utf-8")
    return found


def programs() -> dict[str, str]:
    """Return the sources of the programs, and of the Python in the documentation."""
    found = sources({".": PROGRAMS[:2]})
    found |= {name: (ROOT / name).read_text("utf-8") for name in PROGRAMS[2:]}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for number, code in enumerate(FENCE.findall(page.read_text("utf-8"))):
            found[f"{page.name}#{number}"] = textwrap.dedent(code)
    return found


@pytest.fixture(autouse=True)
def _trees_are_not_collected() -> Iterator[None]:
    """Keep the garbage collector from a million nodes that all stay: a quarter of the time."""
    gc.disable()
    yield
    gc.enable()


def test_everything_is_reached() -> None:
    templates = [path.read_text("utf-8") for path in (ROOT / "ttastats").rglob("*.html")]
    assert unreached(sources(PRODUCT), programs(), templates) == []


#: Parameters for people who call the function, and for tests alone: its module and its name.
OFFERED = (
    "ttastats.formats.dialect:log_from_bytes", "ttastats.ingestion.ingest:ingest",
    "ttastats.output.page.content:capped", "ttastats.output.plots.drawing:html",
    "ttastats.output.plots.plot:to_svg", "ttastats.table.store:write",
)  # fmt: skip


def never_passed(product: Mapping[str, str], programs: Mapping[str, str]) -> list[str]:
    """Return the parameters with a default that no call of a function of that name passes."""
    trees = {name: _parsed(source) for name, source in {**product, **programs}.items()}
    calls: dict[str, list[ast.Call]] = defaultdict(list)
    for node in (node for tree in trees.values() for node in _walk(tree)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            calls[_last(node.func)].append(node)
            if _last(node.func) == "partial" and isinstance(node.args[0], ast.Name | ast.Attribute):
                bound = ast.Call(node.args[0], node.args[1:], node.keywords)
                calls[_last(node.args[0])].append(bound)
    return [
        f"{module}:{node.name}({name})"
        for module in product
        if not module.startswith(("ttastats.cli", "ttastats.api"))
        for node in _walk(trees[module])
        if isinstance(node, Function) and calls[node.name] and not node.decorator_list
        if node.name != "__init__"  # called by the name of its class
        for name, at in _with_default(node)
        if not any(_passes(call, name, at) for call in calls[node.name])
    ]


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _with_default(node: Function) -> Iterator[tuple[str, int | None]]:
    """Yield parameters with a default and their place, None for those that only have a name."""
    positional = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    positional = [name for name in positional if name not in ("self", "cls")]
    first = len(positional) - len(node.args.defaults)
    yield from ((name, at) for at, name in enumerate(positional) if at >= first)
    named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    yield from ((each.arg, None) for each, default in named if default is not None)


def _passes(call: ast.Call, name: str, at: int | None) -> bool:
    given = any(each.arg in (name, None) for each in call.keywords)
    starred = any(isinstance(each, ast.Starred) for each in call.args)
    return given or starred or (at is not None and len(call.args) > at)


def test_every_parameter_is_passed_by_somebody() -> None:
    found = never_passed(sources(PRODUCT), programs())
    assert [name for name in found if name.partition("(")[0] not in OFFERED] == []


def test_a_parameter_that_nobody_passes_is_seen() -> None:
    one = "def f(a, b=1, *, c=2, d=3): ...\n"
    found = never_passed({"ttastats.one": one}, {"benchmarks.x": "f(1, 2, d=4)\n"})
    assert found == ["ttastats.one:f(c)"]
    assert never_passed({"ttastats.one": one}, {"benchmarks.x": "f(*a, **b)\n"}) == []


USED = """
from dataclasses import dataclass
LIMIT = 3

def used():
    return LIMIT

@dataclass
class Answer:
    value: int
    def shown(self):
        return self.value
"""
TWO_CLASSES = "class A:\n    value: int\nclass B:\n    value: int\n"
READER = "from ttastats.one import B\ndef two(b: B):\n    return b.value\n"
INSIDE = "def two():\n    from ttastats import one as first\n    first.used()\n"

#: Modules `one` and `two` of the product, a program, and what of `one` nothing reaches.
SEEN = {
    "what a program names, with all it needs": (
        USED, "", "from ttastats.one import Answer, used\nAnswer(used()).shown()", ""),
    "what nothing names": (
        USED, "", "from ttastats.one import Answer\nAnswer(1).shown()", "LIMIT used"),
    "a field that nobody reads": (
        USED, "", "from ttastats.one import Answer, used\nAnswer(value=used())",
        "Answer.shown Answer.value"),
    "a field of the same name in a class that is not seen": (
        TWO_CLASSES, READER,
        "from ttastats.two import two\nfrom ttastats.one import A\ntwo(A)", "A.value"),
    "an import alone, and the same name elsewhere": (
        "def used(): ...\nLIMIT = 1\n", "LIMIT = 2\n",
        "from ttastats.one import used\nfrom ttastats.two import LIMIT\nLIMIT", "LIMIT used"),
    "what only calls itself": (
        "def ping():\n    pong()\ndef pong():\n    ping()\n", "", "import ttastats.one",
        "ping pong"),
    "a module under a name that it is given elsewhere": (
        "def used(): ...\n", INSIDE, "import ttastats.two\nttastats.two.two()", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", SEEN)
def test_what_is_reached_is_told_from_what_is_not(case: str) -> None:
    one, two, program, missing = SEEN[case]
    found = unreached({"ttastats.one": one, "ttastats.two": two}, {"benchmarks.x": program})
    assert found == [f"ttastats.one:{name}" for name in missing.split()]
