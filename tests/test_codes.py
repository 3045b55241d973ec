"""The table of codes: its page, and the code that fills its texts."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import TypeVar

import pytest

from tests.conftest import ROOT, matches_accepted
from ttastats.base import codes
from ttastats.base.codes import note, wording

Node = TypeVar("Node", bound=ast.AST)
of_sources = pytest.mark.skipif(
    not (ROOT / "parsers").exists(), reason="an installed copy has no sources"
)
#: Lists that are of no problems of logs.
_OTHERS = {"Flags of rows", "Findings of a gate", "Notes"}


def test_the_page_of_codes_is_that_of_the_table() -> None:
    page = ROOT / "docs" / "codes.md"
    head, _, text = page.read_text("utf-8").partition("\n### ")
    end = text[text.rindex("\n\n") :]
    parts = []
    for heading, rows in codes.ROWS.items():
        parts.append(f"{'##' if heading in _OTHERS else '###'} {heading}\n")
        for row in rows:
            names = ", ".join(f"`{code}`" for code in row.codes.split())
            of = f" ({row.applies_to})" if row.applies_to else ""
            parts.append(f"- {names}{of}: {row.meaning}")
        parts[-1] += "\n"
    assert matches_accepted(page, f"{head}\n" + "\n".join(parts).rstrip("\n") + end)


@cache
def _trees() -> Mapping[Path, ast.Module]:
    """Return the syntax tree of each module of the product."""
    paths = [*(ROOT / "ttastats").rglob("*.py"), *(ROOT / "parsers").rglob("*.py")]
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(paths)}


@cache
def _nodes(kind: type[Node]) -> list[tuple[Path, Node]]:
    """Return the nodes of a kind in the product, and the module of each."""
    nodes = ((path, node) for path, tree in _trees().items() for node in ast.walk(tree))
    return [(path, node) for path, node in nodes if isinstance(node, kind)]


def _codes() -> set[str]:
    return {code for rows in codes.ROWS.values() for row in rows for code in row.codes.split()}


def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@of_sources
def test_every_call_gives_the_fields_of_its_text() -> None:
    for path, node in _nodes(ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        filled = name in {"note", "wording", "worded", "flag"}
        if not filled or not node.args or not isinstance(node.args[0], ast.Constant):
            continue
        key, where = node.args[0].value, f"{path.relative_to(ROOT)}:{node.lineno}"
        given = {word.arg for word in node.keywords} - {"mark"}
        assert key in codes.TEXTS, f"{where}: {key}"
        assert None in given or given == _fields(codes.TEXTS[key]), f"{where}: {key}"


def test_a_key_is_a_code_of_its_row_and_so_is_every_caution() -> None:
    keys = Counter[str]()
    for rows in codes.ROWS.values():
        for row in rows:
            assert {key.partition(".")[0] for key in row.texts} <= {*row.codes.split()}
            keys.update([*row.texts])
    assert max(keys.values()) == 1, keys.most_common(3)
    assert {*keys} | {*codes.PHRASES} == {*codes.TEXTS}
    assert {*codes.CAUTIONS} <= _codes() | codes.TEXTS.keys()


def test_fields_are_written_as_their_specifications_say() -> None:
    assert wording("copies", n=1).startswith("1 duplicate run excluded")
    assert wording("copies", n=2000).startswith("2,000 duplicate runs excluded")
    assert "but did not log its steps" in wording("no_position", n=1, to_target="steps")
    assert "but did not log their steps" in wording("no_position", n=2, to_target="steps")
    example = note("few_runs.cv", mark="x", names=["a", "b", "c", "d", "e"])
    assert (example.code, example.mark) == ("few_runs", "x")
    assert "for a, b, c and 2 more: it" in example.text


#: A value of each kind of field, by the first word of its specification.
_EXAMPLES: dict[str, object] = {"": "…", "list": ["a", "b"], "join": ["a", "b"]}


def _examples(template: str) -> Iterator[dict[str, object]]:
    """Yield values that fill a text: words, a number, and 1 where the wording depends on it."""
    parts = [(name, spec or "") for _, name, spec, _ in Formatter().parse(template) if name]
    counted = any(spec[:1] in {"#", "?"} for _, spec in parts)
    parts.sort(key=lambda part: part[1] != "")  # what is both shown and counted is a number
    for number in (1, 1234) if counted else (0.0321,):
        yield {name: _EXAMPLES.get(spec.partition(" ")[0], number) for name, spec in parts}


def test_every_text_reads_as_accepted() -> None:
    lines = [  # one of each text, so that a change of its words is one
        f"{key}: {' | '.join(wording(key, **fields) for fields in _examples(template))}\n"
        for key, template in codes.TEXTS.items()
    ]
    assert matches_accepted(ROOT / "tests" / "reference" / "texts.txt", "".join(lines))


def _strings() -> set[str]:
    """Return the strings of the product, without those of the table."""
    table = ROOT / "ttastats" / "base" / "codes.py"
    every = (node.value for path, node in _nodes(ast.Constant) if path != table)
    return {value for value in every if isinstance(value, str)}


@of_sources
def test_every_text_is_shown_by_some_code() -> None:
    strings = _strings()
    shown = {f"{code}.{of}" for code in strings for of in ("cv", "claim")} | {
        f"{code}.{part}"
        for code in ("axis", "convergence_not_used")
        for part in ("some", "none", "failed", "unlogged")
    }
    assert set(codes.TEXTS) - strings - shown == set()


#: What makes a problem, a finding or a flag, and which argument is the code.
_MAKERS = {
    "Problem": 0, "UnfitError": 0, "Note": 0, "Flag": 0, "Finding": 0, "_finding": 0,
    "_flagged": 1, "_rejected": 1, "_error": 1,
}  # fmt: skip
#: Codes whose name is made of that of a column.
_MADE = {"epoch_back", "samples_back", "seconds_back", "step_back"}


@of_sources
def test_the_codes_of_the_table_are_those_of_the_product() -> None:
    table, raised = _codes(), set()
    for _, node in _nodes(ast.Call):
        place = _MAKERS.get(getattr(node.func, "id", ""), 99)
        if len(node.args) > place and isinstance(node.args[place], ast.Constant):
            raised.add(node.args[place].value)
    assert len(raised) > 70
    assert sorted(raised - table) == []
    assert sorted(table - {text.partition(".")[0] for text in _strings()} - _MADE) == []
