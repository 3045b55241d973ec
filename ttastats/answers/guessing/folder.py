"""What are the files of a folder that nobody has described, and what would ingest make of them?"""

from __future__ import annotations

import os
import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ttastats.answers.guessing import kinds, trial
from ttastats.answers.guessing.answer import Guessed
from ttastats.answers.guessing.layout import FilePattern, layouts, literal
from ttastats.answers.guessing.proposal import NoLogError, Proposal, Reason, written
from ttastats.answers.guessing.trial import File
from ttastats.base import atomic, units
from ttastats.base.errors import TtastatsError
from ttastats.base.streams import UnreadableError
from ttastats.formats.own_logs import FILE, patterns, presets
from ttastats.ingestion import described
from ttastats.ingestion.containers import printable
from ttastats.ingestion.reading import LFS_POINTER, Reading, way
from ttastats.ingestion.sources import Source, find

_HEADER = (
    "# Proposed by `ttastats guess`. Lines with a question mark are guesses: look at them.\n"
    "# docs/your-logs.md says what the keys mean.\n"
)


def guess(path: str | Path, output: str | Path | None = None) -> Guessed:
    """Look at logs that nobody has described, and propose blocks of `ttastats.toml` for them.

    Parameters
    ----------
    path
        A folder, a file, an archive or a pattern.
    output
        Where to write the blocks; nothing that exists is written over.

    Raises
    ------
    TtastatsError
        There are no logs, or the blocks cannot be written.
    """
    if str(path) == "-":
        raise TtastatsError(
            "a block describes files, but the input is standard input",
            where="-",
            remedy="Give a folder or a file.",
        )
    if output is not None:
        atomic.expect_file_place(Path(output), remedy=f"Try -o {output}/{FILE}.")
        if Path(output).exists():
            raise atomic.occupied(Path(output), "exists already")
    blocks, sources = described.gathered(
        described.Description(), [str(path)], list(find([str(path)]))
    )
    root, folder = _root(str(path), sources)
    start = f"{root.rstrip('/')}/"
    places = map(_place, sources)
    files = [
        File(source, place, str(place).removeprefix(start))
        for source, place in zip(sources, places, strict=True)
    ]
    found = _sorted(files, Reading(blocks=blocks))
    tried = [
        trial.tried(title, own, proposal, root, blocks)
        for title, own, proposal in _proposed(found, files)
    ]
    if not tried:
        raise _nothing(str(path), found.left)
    prefix = _prefix(root, output)  # which leads from the folder of the blocks to that of the logs
    texts = [
        written(replace(one, keys={**one.keys, "files": f"{prefix}{one.keys['files']}"}))
        for _, one in tried
        if one
    ]
    config = "\n".join([_HEADER, *texts]) if texts else ""
    if output is not None and not config:
        raise TtastatsError(
            "nothing to write: all of these logs are read without a block",
            where=str(path),
            remedy=f"Continue with: ttastats ingest {path}",
        )
    if output is not None:
        with atomic.naming(Path(output)):
            atomic.write_text(Path(output), config)
    left = tuple((reason, tuple(names)) for reason, names in sorted(found.left.items()))
    shown = None if output is None else str(output)
    return Guessed(str(path), tuple(kind for kind, _ in tried), left, config, folder, shown)


def _root(path: str, sources: Sequence[Source]) -> tuple[str, str]:
    """Return the folder that patterns start from, and as the user would name it."""
    if Path(path).exists() or "://" in path or not sources:
        (root,) = described.roots_of([path])
        return root, path if Path(path).is_dir() else str(Path(path).parent)
    root = os.path.commonpath([_place(source).parent for source in sources])
    return root, root


def _place(source: Source) -> PurePosixPath:
    name = printable(posixpath.basename(source.file.name))
    return source.container.folder(source.file.name) / name


def _prefix(root: str, output: str | Path | None) -> str:
    """Return what a pattern starts with in a file that lies in a folder above the logs."""
    if output is None:
        return ""
    above = atomic.above(Path(output))
    try:
        below = PurePosixPath(root).relative_to(printable(str(above)))
    except ValueError:
        return ""
    return "" if str(below) == "." else f"{literal(str(below))}/"


def _nothing(path: str, left: dict[str, list[str]]) -> TtastatsError:
    if not left:
        return TtastatsError("contains no files", where=path, remedy="Give a folder with logs.")
    most = max(left, key=lambda reason: len(left[reason]))
    return TtastatsError(
        f"none of {sum(map(len, left.values())):,} file(s) looks like a log; {left[most][0]}: "
        f"{most}",
        where=path,
        remedy="docs/your-logs.md explains how to describe any log in a block.",
    )


@dataclass(slots=True, eq=False)
class _Sorted:
    """Files by kind: read without a block, described or recognised, guessed, and left."""

    read: dict[str, list[File]]
    known: set[str]
    guessed: dict[tuple[str, ...], list[tuple[File, kinds.Sketch]]]
    left: dict[str, list[str]]


def _sorted(files: Sequence[File], reading: Reading) -> _Sorted:
    found = _Sorted(defaultdict(list), set(), defaultdict(list), defaultdict(list))
    seen = kinds.Seen()
    for file in files:
        try:
            _sort(file, reading, seen, found)
        except (UnreadableError, NoLogError) as error:
            found.left[str(error)].append(file.below)
        except TtastatsError as error:
            found.left[error.what].append(file.below)
    _without_companions(found)
    return found


def _without_companions(found: _Sorted) -> None:
    """Leave out what lies beside logs that are read without a block: it tells the same runs."""
    folders = {file.place.parent for title in found.known for file in found.read[title]}

    def is_beside(file: File) -> bool:
        folder = file.place.parent
        beside = folder in folders or (folder.name == "files" and folder.parent in folders)
        return beside and not file.source.named

    for same, those in list(found.guessed.items()):
        beside = [file for file, _ in those if is_beside(file)]
        found.guessed[same] = [(file, one) for file, one in those if file not in beside]
        if beside:
            found.left[_BESIDE] += [file.below for file in beside]
        if not found.guessed[same]:
            del found.guessed[same]


_BESIDE = "beside a log that is read without a block: possibly the same run"


def _sort(file: File, reading: Reading, seen: kinds.Seen, found: _Sorted) -> None:
    head = next(file.source.blocks(), b"")
    if head.startswith(LFS_POINTER):
        raise NoLogError("a Git LFS pointer, not the file itself: run `git lfs pull`")
    dialect, block, _ = way(head, file.place.parent, file.place.name, None, reading)
    hit = described.block_for(str(file.place), reading.blocks)
    if hit is not None and dialect is not None:
        found.read[f"already described in {hit[0].where}"].append(file)
        return
    if block is not None:
        sketch = kinds.of_a_preset(block, head, file.below)
    elif dialect is not None:
        title = f"{dialect.name}: read without a block"
        found.known.add(title)
        found.read[title].append(file)
        return
    else:
        sketch = seen.sketch(head, file.below)
    found.guessed[sketch.same].append((file, sketch))


_Proposed = tuple[str, list[File], Proposal | None]


def _proposed(found: _Sorted, files: Sequence[File]) -> Iterator[_Proposed]:
    """Yield what each kind is, its files, and the block proposed where one is needed."""
    for title, own in found.read.items():
        yield title, own, None
    unfit = {name for names in found.left.values() for name in names}
    of_a_kind = {file.below for file in files} - unfit
    for those in found.guessed.values():
        sketch = max((sketch for _, sketch in those), key=lambda one: one.rows)
        by_path = {file.below: file for file, _ in those}
        paths = list(by_path)
        apart = _Apart(of_a_kind - set(paths), unfit, runs_inside="run" in sketch.proposal.keys)
        for layout in _of_a_preset(paths, sketch.proposal) or apart.layouts(paths):
            keys = {"files": layout.pattern, **sketch.proposal.keys}
            if layout.entry and "entry" not in keys:
                keys["entry"] = layout.entry
            proposal = Proposal(keys, (*layout.reasons, *sketch.proposal.reasons))
            yield sketch.title, [by_path[path] for path in layout.paths], proposal


def _of_a_preset(own: Sequence[str], proposal: Proposal) -> list[FilePattern]:
    """Return the pattern that a preset has for its files, where it matches all of them."""
    preset = presets.presets().get(str(proposal.keys.get("preset")))
    for pattern in preset.signs.path if preset and preset.signs else ():
        if all(patterns.matched(f"**/{pattern}", path) for path in own):
            return [FilePattern(f"**/{pattern}", tuple(own), ())]
    return []


@dataclass(frozen=True, slots=True)
class _Apart:
    """Finds patterns that match no files of another kind, and few that nothing suits."""

    others: Collection[str]
    unfit: Collection[str]
    runs_inside: bool

    def layouts(self, own: Sequence[str], *, by_folder: bool = True) -> Iterator[FilePattern]:
        """Yield as few patterns as can be: of all files, of those of a folder, of one file each."""
        for layout in layouts(own, runs_inside=self.runs_inside):
            also = [path for path in self.unfit if patterns.matched(layout.pattern, path)]
            fits = not any(patterns.matched(layout.pattern, path) for path in self.others)
            if fits and len(also) < len(layout.paths):
                text = f"also matches {units.listed(sorted(also), 3)}, which cannot be read"
                doubt = Reason("files", f"{text}: failed runs?", sure=False)
                yield replace(layout, reasons=(*layout.reasons, *([doubt] if also else [])))
            elif by_folder:
                folders: dict[str, list[str]] = defaultdict(list)
                for path in layout.paths:
                    folders[path.partition("/")[0] if "/" in path else ""].append(path)
                for those in folders.values():
                    yield from self.layouts(those, by_folder=False)
            else:
                yield from (FilePattern(literal(path), (path,), ()) for path in layout.paths)
