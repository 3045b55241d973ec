"""What does a `ttastats.toml` say, where is it wrong, and which formats are known as data?"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any

import msgspec

from ttastats.base.errors import TtastatsError, suggestion
from ttastats.formats import patterns
from ttastats.formats.block import BACK, Block, Keys, parse_block

if TYPE_CHECKING:
    import polars as pl

#: The file that is looked for beside logs and in the folders above.
FILE = "ttastats.toml"
#: The code of the problem that holds a block by which logs were read that nobody had described.
GUESSED = "guessed_block"
#: The code of the problem of a run that says what of such a block is in doubt.
DOUBT = "guessed_reading"
#: The code of the problem that names files for which no block is proposed, and why.
NOT_GUESSED = "not_guessed"

_HEADER = re.compile(r"^[ \t]*\[\[\s*logs\s*\]\]", re.MULTILINE)
#: A group with a name.
_NAMED_GROUP = re.compile(r"\(\?P?<[A-Za-z_]")


def blocks(text: str, shown: str, root: str) -> tuple[Block, ...]:
    """Return the blocks in the text of a `ttastats.toml`; `shown` names it in errors."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TtastatsError(f"invalid TOML: {error}", where=shown, remedy=_QUOTES) from error
    except RecursionError as error:
        raise TtastatsError("invalid TOML: brackets nested too deeply", where=shown) from error
    for key in content:
        if key != "logs":
            raise TtastatsError(
                f"unknown table {key!r}",
                where=_key_position(shown, text, 0, key),
                remedy="Each kind of logs needs a [[logs]] table.",
            )
    tables = content.get("logs", [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise TtastatsError(
            "logs is not a list of tables", where=shown, remedy="Start each table with [[logs]]."
        )
    starts = [match.start() for match in _HEADER.finditer(text)] or [0]
    return tuple(
        complete_block(
            table, partial(_key_position, shown, text, starts[min(number, len(starts) - 1)]), root
        )
        for number, table in enumerate(tables)
    )


_QUOTES = (
    "Quote strings; use single quotes for patterns with a backslash: line = 'step (?P<step>\\d+)'."
)


def complete_block(keys: Keys, where: Callable[[str], str], root: str, **more: Any) -> Block:
    """Return one block, completed by its preset, whose settings it overrides."""
    name = keys.get("preset")
    presets = {} if name is None else load_presets()
    if not isinstance(name, str | None) or (name is not None and name not in presets):
        raise TtastatsError(
            f"unknown preset {name!r}",
            where=where("preset"),
            remedy=suggestion(str(name), presets, "Presets", most=60),
        )
    base: Mapping[str, Any] = {} if name is None else presets[name].keys
    source = "user" if name is None else presets[name].target_source
    if "metric" in keys:  # which is to be there
        base = {key: value for key, value in base.items() if key != "otherwise"}
        source = "user"
    block = parse_block(
        {**base, **keys}, where, root=root, preset=name, target_source=source, **more
    )
    for pattern in block.line:
        _expect_expression(pattern, where("line"), needs_groups=True)
    for key in ("pairs", "skip_after"):
        if (pattern := getattr(block, key)) is not None:
            _expect_expression(pattern, where(key))
    if block.new_run not in {None, *BACK, "row"}:
        _expect_expression(str(block.new_run), where("new_run"))
        if not block.line:
            raise TtastatsError(
                f"new_run = {block.new_run!r} is a regular expression, but the block has no line",
                where=where("new_run"),
                remedy='For tables use "step back", "time back" or "row", or name the columns '
                "that identify runs with run.",
            )
    return block


def _expect_expression(pattern: str, where: str, *, needs_groups: bool = False) -> None:
    """Raise an error for an invalid regular expression, or one without its named groups.

    Logs are matched by the engine of Rust, by way of polars: it takes time in proportion to a
    line's length, whatever the expression, so that none can run forever. What it does not know
    (looking ahead or behind, back references) is refused here, not when a log is read.
    """
    import polars as pl  # a command that reads no logs of one's own needs none

    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.PolarsError as error:
        reason = str(error).removeprefix("regex error: ").partition("This error occurred")[0]
        reason = " ".join(reason.rpartition("error: ")[2].split())
        raise TtastatsError(
            f"invalid regular expression {pattern!r}: {reason}",
            where=where,
            remedy="Expressions run in linear time, so (?=...), (?!...), (?<=...) and \\1 are "
            "not supported; see docs.rs/regex.",
        ) from error
    if needs_groups and not _NAMED_GROUP.search(pattern):
        raise TtastatsError(
            f"the regular expression {pattern!r} has no named group",
            where=where,
            remedy="Named groups become columns: 'step (?P<step>\\d+) loss (?P<val_loss>\\S+)'.",
        )


def _key_position(file: str, text: str, start: int, key: str) -> str:
    """Return the file and line of a key of the table that begins at `start`."""
    end = next((match.start() for match in _HEADER.finditer(text, start + 1)), len(text))
    end = end if end > start else len(text)
    key_pattern = re.compile(rf"""^\s*["']?{re.escape(key)}["']?\s*[=\]]""", re.MULTILINE)
    match = key_pattern.search(text, start, end) if key else None
    position = match.end() if match else min(start + 1, len(text))
    return f"{file}:{text.count(chr(10), 0, position) + 1}"


#: The package that holds them, named as text: it stands above this module.
_PACKAGE = "ttastats_parsers"
#: Programs and documents that quote a log are none.
QUOTING = (".py", ".md", ".rst", ".ipynb", ".html", ".sh", ".tex", ".toml", ".yaml", ".yml")
#: Documents for people, such as logbooks, and why none is read.
PROSE = (".md", ".markdown", ".rst", ".tex", ".html", ".ipynb")
NO_PROSE = "a document: runs are not read from prose or its tables; give the logs it is about"
#: What distinguishes a log stands behind a copy of the program at most, and what an expression
#: finds from the start on (`\A`) in the first lines.
_LOOKED_AT, _FIRST_HEAD = 1 << 20, 1 << 16
#: The text that an expression begins with which is anchored to the start.
_START = re.compile(r"\\A((?:\\\{|[\w,])*)")


class Signs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What tells that a file is of a preset: all of it must hold.

    `path` are patterns of the end of its path, of which the first that fits names things;
    `holds` are texts its first block has; `head` are regular expressions of which each is found
    there, seen as lines.
    """

    path: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    head: tuple[str, ...] = ()


class Preset(msgspec.Struct, frozen=True):
    """A named block to start from; without signs it is used only where it is named."""

    name: str
    title: str
    keys: Keys
    signs: Signs | None = None
    target_source: str = "user"


@cache
def load_presets() -> Mapping[str, Preset]:
    """Return the presets by name."""
    folder = resources.files(_PACKAGE).joinpath("presets")
    presets = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            name = file.name.removesuffix(".toml")
            keys = tomllib.loads(file.read_text("utf-8"))
            title, signs = keys.pop("title"), keys.pop("recognised_by", None)
            source = keys.pop("target_source", "user")
            presets[name] = Preset(name, title, keys, msgspec.convert(signs, Signs | None), source)
    return presets


@lru_cache(maxsize=256)
def preset_block(name: str) -> Block:
    """Return the block of a preset, for recognised files."""
    preset = load_presets()[name]
    return parse_block(
        preset.keys,
        lambda _key: f"preset {name}",
        preset=name,
        recognised=True,
        target_source=preset.target_source,
    )


def matching_presets(head: bytes, path: str) -> Mapping[str, Mapping[str, str]]:
    """Return the presets that match a file's first block and path, with the groups in the path."""
    if path.endswith(QUOTING):
        return {}
    start = head.removeprefix(b"\xef\xbb\xbf")[:_LOOKED_AT]
    _text.cache_clear()
    return {
        preset.name: groups
        for preset in load_presets().values()
        if preset.signs and (groups := _match_signs(preset.signs, start, path)) is not None
    }


def _match_signs(signs: Signs, head: bytes, path: str) -> Mapping[str, str] | None:
    """Return the groups in a path if all signs hold; the cheapest are looked for first."""
    starts, holds = _texts_of(signs)
    if not all(head.startswith(text) for text in starts):
        return None
    head = head[:_FIRST_HEAD] if starts else head
    if not all(text in head for text in holds):
        return None
    fitting = (patterns.match_path(f"**/{pattern}", path.lstrip("/")) for pattern in signs.path)
    groups = next((names for names in fitting if names is not None), None if signs.path else {})
    if groups is None:
        return None
    # In linear time, as the expressions of users.
    matches = (_text(head).str.contains(f"(?m){pattern}")[0] for pattern in signs.head)
    return groups if all(matches) else None


@lru_cache(maxsize=2)
def _text(head: bytes) -> pl.Series:
    import polars as pl  # few files come this far

    return pl.Series([head.decode("utf-8", "replace")])


@cache
def _texts_of(signs: Signs) -> tuple[list[bytes], list[bytes]]:
    """Return the texts that a file begins with if expressions are to match, and those it holds."""
    starts = [start[1].replace("\\", "") for start in map(_START.match, signs.head) if start]
    return [text.encode() for text in starts], [text.encode() for text in signs.holds]
