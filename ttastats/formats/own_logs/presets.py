"""Which formats of common trainers are known as data, and which of them is a file?"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources

import msgspec

from ttastats.formats.own_logs import patterns
from ttastats.formats.own_logs.block import Block, Keys, parse_block

#: The package that holds them, named as text: it stands above this module.
_PACKAGE = "ttastats_parsers"
#: Programs and documents that quote a log are none.
QUOTING = (".py", ".md", ".rst", ".ipynb", ".html", ".sh", ".tex", ".toml", ".yaml", ".yml")
#: Documents for people, such as logbooks, and why none is read.
PROSE = (".md", ".markdown", ".rst", ".tex", ".html", ".ipynb")
NO_PROSE = "a document: runs are not read from prose or its tables; give the logs it is about"
#: What distinguishes a log stands in its first lines, or behind a copy of the program.
_LOOKED_AT = 4 * 1024 * 1024
#: It takes longer to search such a head for a text than to compile a pattern for its start.
_LARGE = 1024 * 1024


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
    known = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            name = file.name.removesuffix(".toml")
            keys = tomllib.loads(file.read_text("utf-8"))
            title, signs = keys.pop("title"), keys.pop("recognised_by", None)
            source = keys.pop("target_source", "user")
            known[name] = Preset(name, title, keys, msgspec.convert(signs, Signs | None), source)
    return known


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
    start = head[:_LOOKED_AT]
    return {
        preset.name: named
        for preset in load_presets().values()
        if preset.signs and (named := _match_signs(preset.signs, start, path)) is not None
    }


def _match_signs(signs: Signs, head: bytes, path: str) -> Mapping[str, str] | None:
    """Return what a path names if all signs hold, which are looked for the cheapest first."""
    starts, texts, others = _in_order(signs)
    is_fitting = (
        (len(head) <= _LARGE or _begins(head, starts))
        and all(text in head for text in texts)
        and _begins(head, starts)
        and all(_compiled(pattern).search(head) for pattern in others)
    )
    if not is_fitting:
        return None
    fitting = (patterns.match_path(f"**/{pattern}", path.lstrip("/")) for pattern in signs.path)
    return next((names for names in fitting if names is not None), None if signs.path else {})


def _begins(head: bytes, starts: Sequence[str]) -> bool:
    return all(_compiled(pattern).match(head) for pattern in starts)


@cache
def _in_order(signs: Signs) -> tuple[list[str], list[bytes], list[str]]:
    """Return what a head begins with, the texts that it has, and the other patterns."""
    starts = [pattern for pattern in signs.head if pattern.startswith(r"\A")]
    others = [pattern for pattern in signs.head if pattern not in starts]
    return starts, [text.encode() for text in signs.holds], others


@cache
def _compiled(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), re.MULTILINE)
