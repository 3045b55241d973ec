"""Which block holds for which file: of a `ttastats.toml` beside or above it, or of the options?"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import xxhash
from msgspec import Struct

from ttastats.base import streams
from ttastats.base.errors import TtastatsError
from ttastats.base.records import Problem
from ttastats.base.streams import UnreadableError
from ttastats.formats import patterns
from ttastats.formats.block import Block
from ttastats.formats.config import FILE
from ttastats.ingestion.containers import Archive, Disk, printable
from ttastats.ingestion.sources import Source, matches


class Description(Struct, frozen=True):
    """How the user described the logs: options that make one block, or a file of blocks.

    With `guess`, other logs are read as is proposed, and the options replace parts of that; a tuple
    holds what is proposed.
    """

    options: Mapping[str, Any] | None = None
    config: str | Path | None = None
    guess: object = None


def find_blocks(
    description: Description, paths: Sequence[str], sources: Sequence[Source]
) -> tuple[tuple[Block, ...], list[Source]]:
    """Return the users' blocks for some sources, the nearest first, and the sources to read.

    The files that hold the blocks are no logs.
    """
    configs: list[Source] = []
    logs: list[Source] = []
    for source in sources:
        is_config = source.file.name.endswith(FILE) and posixpath.basename(source.file.name) == FILE
        (configs if is_config else logs).append(source)
    parent_configs = [] if description.options or description.config else _configs_above(logs)
    if not (description.options or description.config or configs or parent_configs):
        return (), logs
    from ttastats.formats import config  # those who describe nothing need none of it

    if description.options:
        blocks = [
            config.complete_block(
                description.options,
                lambda key: f"--{key.replace('_', '-')}" if key else "the options",
                root,
                quiet="files" not in description.options,
                refining=bool(description.guess),
            )
            for root in roots_of(paths)
        ]
    elif description.config is not None:
        path = Path(description.config)
        text = _read_config(path)
        roots = dict.fromkeys([str(path.resolve().parent), *roots_of(paths)])
        blocks = [block for root in roots for block in config.blocks(text, str(path), root)]
    else:
        texts = [*_configs_in_sources(configs), *parent_configs]
        blocks = [block for text in texts for block in config.blocks(*text)]
    blocks.sort(key=lambda block: -len(block.root))
    return tuple(blocks), logs


def roots_of(paths: Sequence[str]) -> list[str]:
    """Return the start folders of patterns: those of the paths given.

    Of `runs/*/log` they are the folders of what it means, and `runs`.
    """
    roots: dict[str, None] = {}
    for path in paths:
        matches_ = [path] if "://" in path else matches(path)
        roots.update(dict.fromkeys(map(_pattern_root, matches_)))
        if matches_ != [path]:
            roots[_pattern_root(f"{_WILDCARD.split(path)[0]}*")] = None
    return list(roots)


_WILDCARD = re.compile(r"[*?\[]")


def _pattern_root(path: str) -> str:
    """Return the start folder of patterns for a path, that of an archive as if unpacked."""
    folder = path if Path(path).is_dir() else str(Path(path).parent)
    if "://" in path:
        folder = "/"
    elif path.endswith((".zip", ".tar", ".tgz")) or ".tar." in path:
        folder = str(Archive(os.path.realpath(path)).place("x").parent)
    return printable(os.path.realpath(folder))


def _read_config(path: Path) -> str:
    """Return the text of a config file, or raise an error that names it."""
    try:
        with path.open("rb") as file:
            return streams.read_bounded(file, streams.limit_for(FILE)).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, streams.TooLargeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else reason
        raise TtastatsError(f"cannot be read: {reason}", where=str(path)) from error


#: What a file says, how it is shown, and the folder that its patterns start from.
_Text = tuple[str, str, str]


def _configs_in_sources(configs: Iterable[Source]) -> list[_Text]:
    """Return the config files among the logs."""
    texts = []
    for source in configs:
        try:
            text = streams.join_blocks(source.blocks(), streams.limit_for(FILE)).decode("utf-8-sig")
        except (UnreadableError, UnicodeDecodeError, streams.TooLargeError) as error:
            raise TtastatsError(f"cannot be read: {error}", where=source.name) from error
        texts.append((text, source.name, str(source.container.folder(source.file.name))))
    return texts


def _configs_above(sources: Iterable[Source]) -> list[_Text]:
    """Return the config files in the folders above the sources, and beside those given by name."""
    starts: dict[str, bool] = {}
    for source in sources:
        container = source.container
        if isinstance(container, Disk):
            starts[container.root] = source.named or starts.get(container.root, False)
        elif isinstance(container, Archive):
            starts.setdefault(container.path, False)
    folders: dict[Path, None] = {}
    for start, is_named in sorted(starts.items()):
        folders.update(dict.fromkeys([Path(start)] if is_named else []))
        folders.update(dict.fromkeys(Path(start).parents))
    return [
        (_read_config(folder / FILE), str(folder / FILE), printable(str(folder)))
        for folder in folders
        if (folder / FILE).is_file()
    ]


def digest(blocks: Sequence[Block]) -> str:
    """Return a digest of blocks, so that a change of their content is noticed."""
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode(blocks)) if blocks else ""


def block_for(
    place: str, blocks: Sequence[Block], *, with_pattern: bool = False
) -> tuple[Block, Mapping[str, str]] | None:
    """Return the first block for a file, and the groups of its pattern in the path.

    Those with a pattern go first and hold for what it matches, whatever it looks like; those
    without for everything in their folder that nothing else recognises, unless `with_pattern`.
    """
    for block in sorted(blocks, key=lambda block: block.files is None):
        relative = place.removeprefix(f"{block.root.rstrip('/')}/")
        if relative == place:
            continue
        if block.files is None:
            return None if with_pattern else (block, {})
        groups = patterns.match_path(block.files, relative)
        if groups is not None:
            return block, groups
    return None


def unused_blocks(blocks: Sequence[Block], sources: Sequence[Source]) -> list[Problem]:
    """Return a problem for each pattern without a file."""
    unmatched = {block.where: block for block in blocks if block.files is not None}
    for source in sources:
        if not unmatched:
            break
        name = posixpath.basename(source.file.name)
        path = f"{source.container.folder(source.file.name)}/{printable(name)}"
        match = block_for(path, blocks, with_pattern=True)
        if match is not None:
            unmatched.pop(match[0].where, None)
    return [
        Problem("unused_block", f"no file matches files = {block.files!r}", "info", None, root)
        for root, block in unmatched.items()
    ]
