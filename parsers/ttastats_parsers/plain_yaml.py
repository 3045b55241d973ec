"""YAML as programs write settings: nested mappings, lists and scalars in block style.

Anchors, tags and flow style beyond one line of JSON are not read: what is not understood is text.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_KEY = re.compile(
    r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s#'"{\[-][^#]*?|-\S*?)):(?:\s+|$)"""
)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
#: Deeper settings are no settings.
_DEEPEST = 50


class _Line(NamedTuple):
    indent: int
    text: str


def mapping(content: bytes) -> dict[str, Any]:
    """Return the mapping that some bytes hold, an empty one where they hold none."""
    lines = [
        _Line(len(line) - len(line.lstrip(" ")), line.strip())
        for line in content.decode("utf-8-sig", "replace").splitlines()
        if line.strip() and not line.lstrip().startswith(("#", "---"))
    ]
    value, _ = _parse_value(lines, 0, 0)
    return value if isinstance(value, dict) else {}


def _parse_value(lines: list[_Line], place: int, depth: int) -> tuple[Any, int]:
    """Return the value that begins at a line, and the line behind it."""
    if place >= len(lines) or depth > _DEEPEST:
        return None, len(lines)
    indent, text = lines[place]
    if text == "-" or text.startswith("- "):
        return _parse_list(lines, place, indent, depth)
    if _KEY.match(text):
        return _parse_mapping(lines, place, indent, depth)
    return _parse_folded(lines, place, indent)


def _parse_mapping(
    lines: list[_Line], place: int, indent: int, depth: int
) -> tuple[dict[str, Any], int]:
    fields: dict[str, Any] = {}
    while place < len(lines) and lines[place].indent >= indent:
        text = lines[place].text
        match = _KEY.match(text)
        if lines[place].indent > indent or match is None:
            place += 1  # the rest of a text of several lines
            continue
        key = next(word for word in match.groups() if word is not None)
        rest = text[match.end() :].strip()
        place += 1
        if rest and rest[0] not in "|>":
            fields[key] = _parse_scalar(rest)
        elif place < len(lines) and _is_value_line(lines[place], indent, rest):
            fields[key], place = (
                _parse_folded(lines, place, indent + 1)
                if rest
                else _parse_value(lines, place, depth + 1)
            )
        else:
            fields[key] = None
    return fields, place


def _is_value_line(line: _Line, indent: int, rest: str) -> bool:
    """Return whether a line is the value of a key; a list may be as far left as its key."""
    is_item = not rest and (line.text == "-" or line.text.startswith("- "))
    return line.indent > indent or (is_item and line.indent == indent)


def _parse_list(lines: list[_Line], place: int, indent: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while place < len(lines) and lines[place].indent == indent and lines[place].text[0] == "-":
        text = lines[place].text[1:].strip()
        if _KEY.match(text) or not text or text.startswith("- "):
            # The item goes on below, as far right as its first key.
            inner = indent + len(lines[place].text) - len(text)
            lines[place] = _Line(inner, text)
            value, place = _parse_value(lines, place + (not text), depth + 1)
            items.append(value)
        else:
            items.append(_parse_scalar(text))
            place += 1
    return items, max(place, 1)


def _parse_folded(lines: list[_Line], place: int, indent: int) -> tuple[str, int]:
    first = place
    while place < len(lines) and lines[place].indent >= indent:
        place += 1
    return " ".join(line.text for line in lines[first:place]), max(place, first + 1)


def _parse_scalar(text: str) -> Any:
    """Return the value of a scalar: a word, a number, JSON, or text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] == "'":
        return text[1:-1].replace("''", "'") if text.endswith("'") else text[1:]
    if _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdecimal() and len(text) < 20 else float(text)
    if text[0] in '"[{':
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text.strip('"')
    return text.partition(" #")[0]
