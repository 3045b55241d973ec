"""Which settings does a file beside a log record, the head of a log, or a text inside it?

YAML, JSON and TOML as programs write them, Hydra's overrides, `Namespace(...)`, and tables of
Markdown. Nothing is ever constructed from a file: what has a YAML tag is refused, and pickles are
not opened.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import takewhile
from typing import Any

from ttastats.formats.setups import flatten
from ttastats_parsers.payloads import decode, json_value, storable

#: Files that hold the settings of what lies beside them, those of Hydra in a hidden folder.
NAMES = tuple(
    f"{stem}{ending}"
    for stem in ("params", "config", "args", "training_args", "hparams")
    for ending in (".json", ".yaml", ".yml", ".toml")
)
HYDRA = (".hydra/config.yaml", ".hydra/overrides.yaml")
#: Larger files hold data.
LARGEST = 1024 * 1024
_MOST_SETTINGS, _DEEPEST, _NODES = 1_000, 40, 20_000
_HEAD = 64 * 1024
_NAMESPACE = re.compile(r"\bNamespace\((.*)\)", re.DOTALL)
_ARGUMENT = re.compile(
    r"""(\w+)=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|\([^)]*\)"""
    r"""|[^,()'"\[{]+(?:\([^)]*\))?)(?:,\s*|$)"""
)
_SEED = re.compile(r"(?im)\bseed\b['\"]?(?: to| is)?\s?[:= ]\s?(\d{1,10})\s*$")
_ROW = re.compile(r"^\|?\s*`?([\w./-]+)`?\s*\|\s*(.*?)\s*\|?\s*$", re.MULTILINE)
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL", "None"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class UnreadError(Exception):
    """A file of settings that cannot be read, or part of which is refused, with the reason."""

    def __init__(self, reason: str, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.settings = settings or {}


def of_file(name: str, content: bytes) -> dict[str, Any]:
    """Return the settings of a file, flat.

    An UnreadError says that it is damaged, no mapping, or has refused values; it has the others.
    """
    if len(content) > LARGEST:
        raise UnreadError(f"larger than {LARGEST // 1024:,} KiB")
    try:
        if name.endswith((".yaml", ".yml")):
            return _read_yaml(content)
        text = content.decode("utf-8-sig")
        fields = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadError(str(error).partition("\n")[0]) from error
    if not isinstance(fields, dict):
        raise UnreadError("not a mapping of settings")
    return of_mapping(fields)


def of_head(head: bytes) -> dict[str, Any]:
    """Return the settings in the first lines of a text log."""
    if not re.search(rb"(?i)Namespace\(|\{|seed", head[:_HEAD]):
        return {}
    text = head[:_HEAD].decode("utf-8", "replace")
    lines = text.split("\n")
    if settings := next(filter(None, map(_namespace, lines)), None):
        return settings
    objects = list(filter(None, map(_json_line, lines[:200])))
    # What comes again is what the log tells, no setting.
    same_keys = [settings for settings in objects if settings.keys() == objects[0].keys()]
    seeds = {int(seed) for seed in _SEED.findall(text)}
    return same_keys[0] if len(same_keys) == 1 else {"seed": seeds.pop()} if len(seeds) == 1 else {}


def of_text(text: str) -> dict[str, Any]:
    """Return the settings of a text as programs add it to event files."""
    text = text[:LARGEST].strip()
    if settings := _namespace(text):
        return settings
    unfenced = re.sub(r"^```\w*|```$", "", text).strip()
    fields = json_value(re.sub(r"^(?: {4}|\t)", "", unfenced, flags=re.MULTILINE))
    if isinstance(fields, dict):
        return of_mapping(fields)
    rows = {key: _plain_scalar(value) for key, value in _ROW.findall(text) if value.strip("-: |")}
    if rows:
        return of_mapping({key: rows[key] for key in list(rows)[1:]} if len(rows) > 1 else rows)
    try:
        return of_file("text.yaml", unfenced.encode())
    except UnreadError:
        return {}


def _namespace(text: str) -> dict[str, Any]:
    """Return the settings of an `argparse.Namespace` that is printed in a text."""
    match = _NAMESPACE.search(text)
    return of_mapping({k: _literal(v) for k, v in _ARGUMENT.findall(match[1])} if match else {})


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip()) if len(text) < 1_000 else text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text.strip()


def _json_line(line: str) -> dict[str, Any]:
    """Return the settings of a line that ends with a JSON object, empty if it does not."""
    start = line.find("{")
    fields = None
    if start >= 0 and line.rstrip().endswith("}"):
        with suppress(ValueError):
            fields = decode(line[start:].encode())
    return of_mapping(fields) if isinstance(fields, dict) and len(fields) > 1 else {}


def of_mapping(fields: Mapping[Any, Any]) -> dict[str, Any]:
    """Return settings flat, as a table can keep them."""
    settings = flatten({str(key): value for key, value in fields.items()})
    return {key: storable(settings[key]) for key in list(settings)[:_MOST_SETTINGS]}


def of_yaml(content: bytes) -> dict[str, Any]:
    """Return the mapping in YAML, as far as it can be read; empty where it holds none."""
    reader = _Yaml(content.decode("utf-8-sig", "replace").encode())
    with suppress(UnreadError):
        reader.read()
    return reader.root if isinstance(reader.root, dict) else {}


def _read_yaml(content: bytes) -> dict[str, Any]:
    """Return the settings of YAML; UnreadError with those read if some cannot be."""
    reader = _Yaml(content)
    reader.read()
    value = reader.root
    if isinstance(value, list):  # overrides of Hydra: lines of `key=value`
        value = {
            key.lstrip("+~"): _plain_scalar(text)
            for key, sign, text in (str(override).partition("=") for override in value)
            if sign
        }
    settings = of_mapping(value) if isinstance(value, dict) else {}
    if reader.refused:
        refusals = [f"{key or 'the file'} ({tag})" for key, tag in reader.refused.items()]
        raise UnreadError(f"YAML tags are refused: {'; '.join(refusals[:5])}", settings)
    if value is not None and not isinstance(value, dict):
        raise UnreadError("not a mapping of settings")
    return settings


class _Yaml:
    """Reads values from the events of a parser, which makes nothing of tags.

    A loader of nodes would recurse in C as deep as a file is nested, and end the process.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._room = _NODES
        self._anchors: dict[str, tuple[Any, int]] = {}
        self.root: Any = None
        self.refused: dict[str, str] = {}

    def read(self) -> None:
        """Read the first document; after an UnreadError, `root` has what stands before."""
        import yaml  # only settings need it

        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        self._events = yaml.parse(self._content, Loader=loader)
        try:
            root_event = next((event for event in self._events if hasattr(event, "anchor")), None)
            self.root = None if root_event is None else self._value(root_event, "", 0)
        except (yaml.YAMLError, ValueError) as error:
            reason = getattr(error, "problem", None) or error
            raise UnreadError(f"invalid YAML: {reason}".partition("\n")[0]) from error

    def _value(self, event: Any, key: str, depth: int) -> Any:
        """Return the value that an event begins; one with a tag is refused, and named."""
        kind = type(event).__name__
        if kind == "AliasEvent":
            value, size = self._anchors.get(event.anchor, (None, 1))
            self._use(size, depth)
            return value
        room_before = self._room
        self._use(1, depth)
        if kind == "ScalarEvent":
            is_text = event.style in {"'", '"', "|", ">"}
            value = event.value if is_text else _plain_scalar(event.value)
        elif kind == "SequenceStartEvent":
            value = [
                self._value(item, f"{key}[{at}]", depth + 1)
                for at, item in enumerate(self._until("SequenceEndEvent"))
            ]
        else:
            value = {}
            if not depth:
                self.root = value
            for name in self._until("MappingEndEvent"):
                word = str(self._value(name, key, depth + 1))
                inner = self._value(next(self._events), f"{key}.{word}".lstrip("."), depth + 1)
                is_merged = word == "<<" and isinstance(inner, dict)
                value |= {**inner, **value} if is_merged else {word: inner}
        if event.tag is not None:
            self.refused[key] = event.tag.replace("tag:yaml.org,2002:", "!!")
            value = None
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, room_before - self._room)
        return value

    def _until(self, end: str) -> Iterator[Any]:
        return takewhile(lambda event: type(event).__name__ != end, self._events)

    def _use(self, size: int, depth: int) -> None:
        """Raise an UnreadError if values are too many or nested too deeply."""
        self._room -= size
        if self._room < 0 or depth > _DEEPEST:
            raise UnreadError("nested too deeply, or too large")


def _plain_scalar(text: str) -> Any:
    """Return the value of plain text: a word, a number, or the text."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) < 40 and _NUMBER.fullmatch(text) and "_" not in text:
        return int(text) if text.lstrip("+-").isdecimal() and len(text) < 20 else float(text)
    return text
