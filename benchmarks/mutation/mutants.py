"""Which small changes of a source file would change what it does?"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Change = Callable[[], None]

#: Each with what it becomes: true in one case more or less, or in the others.
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "first": "last", "last": "first"}

#: Arguments that say how careful a call is, not what it gives.
_CAUTION = {"strict", "stacklevel", "infer_schema_length"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file: its number, its line, and what is replaced by what.

    `function` is the line at which its function begins, 0 outside of all.
    """

    path: str
    number: int
    line: int
    function: int
    change: str


def mutants(path: str, source: str) -> list[Mutant]:
    """Return every change of a source, in the order of its text."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [
        Mutant(path, number, line, _function(functions, line), text)
        for number, (line, text, _) in enumerate(_changes(tree))
    ]


def _function(functions: Sequence[ast.FunctionDef], line: int) -> int:
    """Return the line of the innermost function around a line; a default is part of none."""
    inside = (f for f in functions if f.body[0].lineno <= line <= (f.end_lineno or 0))
    return max((f.lineno for f in inside), default=0)


def mutated(source: str, number: int) -> ast.Module:
    """Return a source with one of its changes made."""
    tree = ast.parse(source)
    for index, (_, _, change) in enumerate(_changes(tree)):
        if index == number:
            change()
            return ast.fix_missing_locations(tree)
    raise ValueError(f"no change has the number {number}")


def _changes(tree: ast.Module) -> Iterator[tuple[int, str, Change]]:
    for node in _code(tree):
        before = ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else ""
        for after, change in _of(node):
            yield getattr(node, "lineno", 0), f"{before} -> {after}", change


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are executed: no types, decorators, docstrings or class options."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "format_spec"} or (
            name == "keywords" and isinstance(node, ast.ClassDef)
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_silent(child):
                continue
            yield from _code(child)


def _is_silent(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in _CAUTION
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _of(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """Yield the changes of a node itself, each with what it becomes."""
    yield from _of_operation(node)
    yield from _of_name_or_branch(node)


def _of_operation(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARISONS:
            new = _COMPARISONS[type(operator)]()
            yield new.__class__.__name__, lambda: setattr(node, "ops", [new])
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS and not _is_text(node):
            sign = _OPERATORS[type(operator)]()
            yield sign.__class__.__name__, lambda: setattr(node, "op", sign)
        case ast.BoolOp():
            word = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield word.__class__.__name__, lambda: setattr(node, "op", word)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield "dropped", lambda: setattr(node, "op", ast.UAdd())
        case ast.Constant(value=bool(value)):
            yield str(not value), lambda: setattr(node, "value", not value)
        case ast.Constant(value=int() | float() as number) if number + 1 != number:
            yield str(number + 1), lambda: setattr(node, "value", number + 1)


def _of_name_or_branch(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name in _NAMES:
            yield _NAMES[name], lambda: setattr(node, "id", _NAMES[name])
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in _NAMES:
            yield _NAMES[name], lambda: setattr(node, "attr", _NAMES[name])
        case ast.If() | ast.IfExp():
            test = node.test
            yield "always", lambda: setattr(node, "test", ast.Constant(True))
            yield "never", lambda: setattr(node, "test", ast.BoolOp(ast.And(), [test, FALSE]))
        case ast.Return(value=ast.expr() as value) if not _is_truth(value):
            yield "None", lambda: setattr(node, "value", ast.Constant(None))


FALSE = ast.Constant(value=False)


def _is_truth(node: ast.expr) -> bool:
    """Whether None, or the opposite value, would change nothing."""
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


def _is_text(node: ast.BinOp) -> bool:
    """Whether strings are joined: the mutant would only raise a TypeError."""
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )
