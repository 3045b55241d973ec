"""What are the files of a folder that nobody has described, and what would ingest make of them?"""

from __future__ import annotations

import os
import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath

from ttastats.answers.guessing import kinds, trial
from ttastats.answers.guessing.answer import Guessed
from ttastats.answers.guessing.layout import FilePattern, layouts, literal
from ttastats.answers.guessing.proposal import NoLogError, Proposal, Reason, written
from ttastats.answers.guessing.trial import File
from ttastats.base import atomic, units, users
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.streams import UnreadableError
from ttastats.formats.own_logs import FILE, patterns, presets
from ttastats.ingestion import described
from ttastats.ingestion.containers import printable
from ttastats.ingestion.reading import LFS_POINTER, Reading, choose_dialect
from ttastats.ingestion.sources import Source, find

_HEADER = (
    "# Proposed by `ttastats guess`. Lines with a question mark are guesses: look at them.\n"
    "# docs/your-logs.md says what the keys mean.\n"
)


def guess(path: str | Path, output: str | Path | None = None) -> Guessed:
    """Propose blocks of `ttastats.toml` for logs without any description.

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
    path = users.without_user(str(path))
    no_file = "a block describes files, but the input is standard input"
    raise_if(path == "-", no_file, "-", "Give a folder or a file.")
    if output is not None:
        atomic.expect_file_place(Path(output), remedy=f"Try -o {output}/{FILE}.")
        if Path(output).exists():
            raise atomic.overwrite_error(Path(output), "exists already")
    blocks, sources = described.gathered(
        described.Description(), [str(path)], list(find([str(path)]))
    )
    root, folder = _pattern_root(str(path), sources)
    start = f"{root.rstrip('/')}/"
    places = map(_place, sources)
    files = [
        File(source, place, str(place).removeprefix(start))
        for source, place in zip(sources, places, strict=True)
    ]
    by_kind = _sort_files(files, Reading(blocks=blocks))
    tried = [
        trial.tried(title, own, proposal, root, blocks)
        for title, own, proposal in _propose_by_kind(by_kind, files)
    ]
    if not tried:
        raise _nothing_found_error(str(path), by_kind.left)
    prefix = _pattern_prefix(
        root, output
    )  # which leads from the folder of the blocks to that of the logs
    texts = [
        written(replace(each, keys={**each.keys, "files": f"{prefix}{each.keys['files']}"}))
        for _, each in tried
        if each
    ]
    config = "\n".join([_HEADER, *texts]) if texts else ""
    if output is not None:
        nothing = "nothing to write: all of these logs are read without a block"
        raise_if(not config, nothing, str(path), f"Continue with: ttastats ingest {path}")
        with atomic.write_errors_named(Path(output)):
            atomic.write_text(Path(output), config)
    left = tuple((reason, tuple(names)) for reason, names in sorted(by_kind.left.items()))
    shown = None if output is None else str(output)
    return Guessed(str(path), tuple(kind for kind, _ in tried), left, config, folder, root, shown)


def _pattern_root(path: str, sources: Sequence[Source]) -> tuple[str, str]:
    """Return the folder that patterns start from, and its name as the user gave it."""
    if Path(path).exists() or "://" in path or not sources:
        (root,) = described.roots_of([path])
        return root, path if Path(path).is_dir() else str(Path(path).parent)
    root = os.path.commonpath([_place(source).parent for source in sources])
    return root, root


def _place(source: Source) -> PurePosixPath:
    name = printable(posixpath.basename(source.file.name))
    return source.container.folder(source.file.name) / name


def _pattern_prefix(root: str, output: str | Path | None) -> str:
    """Return the prefix of patterns in a file that lies in a folder above the logs."""
    if output is None:
        return ""
    above = atomic.parent_folder(Path(output))
    try:
        below = PurePosixPath(root).relative_to(printable(str(above)))
    except ValueError:
        return ""
    return "" if str(below) == "." else f"{literal(str(below))}/"


def _nothing_found_error(path: str, reasons: dict[str, list[str]]) -> TtastatsError:
    if not reasons:
        return TtastatsError("contains no files", where=path, remedy="Give a folder with logs.")
    most = max(reasons, key=lambda reason: len(reasons[reason]))
    return TtastatsError(
        f"none of {sum(map(len, reasons.values())):,} file(s) looks like a log; "
        f"{reasons[most][0]}: {most}",
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


def _sort_files(files: Sequence[File], reading: Reading) -> _Sorted:
    by_kind = _Sorted(defaultdict(list), set(), defaultdict(list), defaultdict(list))
    sketched = kinds.Seen()
    for file in files:
        try:
            _sort_file(file, reading, sketched, by_kind)
        except (UnreadableError, NoLogError) as error:
            by_kind.left[str(error)].append(file.below)
        except TtastatsError as error:
            by_kind.left[error.what].append(file.below)
    _drop_event_files(by_kind)
    _drop_companions(by_kind)
    _drop_summaries(by_kind)
    return by_kind


def _drop_event_files(by_kind: _Sorted) -> None:
    """Drop event files beside a table of the same run with its times."""
    timed = set()
    for file, sketch in chain.from_iterable(by_kind.guessed.values()):
        keys = sketch.proposal.keys
        if (
            presets.preset_block(str(keys["preset"])).seconds
            if "preset" in keys
            else keys.get("seconds")
        ):
            timed.add(file.place.parent)
    events = by_kind.read.get(_EVENTS, [])
    beside = [file for file in events if file.place.parent in timed and not file.source.named]
    if beside:
        by_kind.read[_EVENTS] = [file for file in events if file not in beside]
        by_kind.left[_IN_A_TABLE] += [file.below for file in beside]
        if not by_kind.read[_EVENTS]:
            del by_kind.read[_EVENTS]
            by_kind.known.discard(_EVENTS)


_EVENTS = "tfevents: read without a block"
_IN_A_TABLE = "the run is in the table beside it"


def _drop_summaries(by_kind: _Sorted) -> None:
    """Drop tables with a row per run if there are logs of the same runs."""
    places = [file.place for title in by_kind.known for file in by_kind.read[title]]
    guessed = chain.from_iterable(by_kind.guessed.values())
    places += [file.place for file, sketch in guessed if not sketch.is_summary]
    folders = {folder for place in places for folder in place.parents}
    for same, sketches in list(by_kind.guessed.items()):
        summaries = [
            file
            for file, sketch in sketches
            if sketch.is_summary and file.place.parent in folders and not file.source.named
        ]
        _leave_out(by_kind, same, summaries, _SUMMARY)


_SUMMARY = "a summary beside logs: possibly of the same runs; `ttastats guess FILE` reads it alone"


def _leave_out(by_kind: _Sorted, same: tuple[str, ...], files: Sequence[File], reason: str) -> None:
    """Move files of a kind to those left out, with a reason."""
    if not files:
        return
    rest = [(file, sketch) for file, sketch in by_kind.guessed[same] if file not in files]
    by_kind.left[reason] += [file.below for file in files]
    if rest:
        by_kind.guessed[same] = rest
    else:
        del by_kind.guessed[same]


def _drop_companions(by_kind: _Sorted) -> None:
    """Drop files beside logs of a known format that belong to the same runs."""
    folders = {file.place.parent for title in by_kind.known for file in by_kind.read[title]}
    guessed = chain.from_iterable(by_kind.guessed.values())
    folders |= {file.place.parent for file, each in guessed if "preset" in each.proposal.keys}

    def is_beside(file: File) -> bool:
        folder = file.place.parent
        beside = folder in folders or (folder.name == "files" and folder.parent in folders)
        return beside and not file.source.named

    for same, sketches in list(by_kind.guessed.items()):
        without = [file for file, sketch in sketches if "preset" not in sketch.proposal.keys]
        _leave_out(by_kind, same, list(filter(is_beside, without)), _BESIDE)


_BESIDE = "beside a log that is read without a block: possibly the same run"


def _sort_file(file: File, reading: Reading, sketched: kinds.Seen, by_kind: _Sorted) -> None:
    head = next(file.source.blocks(), b"")
    if head.startswith(LFS_POINTER):
        raise NoLogError("a Git LFS pointer, not the file itself: run `git lfs pull`")
    dialect, block, _ = choose_dialect(head, file.place.parent, file.place.name, None, reading)
    hit = described.block_for(str(file.place), reading.blocks)
    if hit is not None and dialect is not None:
        by_kind.read[f"already described in {hit[0].where}"].append(file)
        return
    if block is not None:
        sketch = kinds.of_a_preset(block, head, file.below)
    elif dialect is not None:
        title = f"{dialect.name}: read without a block"
        by_kind.known.add(title)
        by_kind.read[title].append(file)
        return
    else:
        # The name of the folder that is looked at may say what is in it, such as losses.
        above = file.place.parts[: -len(PurePosixPath(file.below).parts)]
        sketch = sketched.sketch(head, f"{above[-1] if above else ''}/{file.below}")
    by_kind.guessed[sketch.same].append((file, sketch))


_Proposed = tuple[str, list[File], Proposal | None]


def _propose_by_kind(by_kind: _Sorted, files: Sequence[File]) -> Iterator[_Proposed]:
    """Yield each kind with its files, and the proposed block if one is needed."""
    for title, of_kind in by_kind.read.items():
        yield title, of_kind, None
    unfit = {name for names in by_kind.left.values() for name in names}
    of_a_kind = {file.below for file in files} - unfit
    for sketches in by_kind.guessed.values():
        sketch = max((sketch for _, sketch in sketches), key=lambda each: each.rows)
        by_path = {file.below: file for file, _ in sketches}
        paths = list(by_path)
        runs_inside = "run" in sketch.proposal.keys
        apart = _distinct_patterns(paths, of_a_kind - set(paths), unfit, runs_inside=runs_inside)
        for layout in _preset_patterns(paths, sketch.proposal) or apart:
            keys = {"files": layout.pattern, **sketch.proposal.keys}
            if layout.entry and "entry" not in keys:
                keys["entry"] = layout.entry
            proposal = Proposal(keys, (*layout.reasons, *sketch.proposal.reasons))
            yield sketch.title, [by_path[path] for path in layout.paths], proposal


def _preset_patterns(paths: Sequence[str], proposal: Proposal) -> list[FilePattern]:
    """Return the patterns of a preset if they match all its files."""
    preset = presets.load_presets().get(str(proposal.keys.get("preset")))
    for pattern in preset.signs.path if preset and preset.signs else ():
        if all(patterns.match_path(f"**/{pattern}", path) for path in paths):
            return [FilePattern(f"**/{pattern}", tuple(paths), ())]
    return []


def _distinct_patterns(
    paths: Sequence[str], others: Collection[str], unfit: Collection[str], *, runs_inside: bool,
    by_folder: bool = True,
) -> Iterator[FilePattern]:  # fmt: skip
    """Yield patterns that match no files of another kind.

    As few as can be: of all files, of those of a folder, of one file each.
    """
    for layout in layouts(paths, runs_inside=runs_inside):
        also = [path for path in unfit if patterns.match_path(layout.pattern, path)]
        fits = not any(patterns.match_path(layout.pattern, path) for path in others)
        if fits and len(also) < len(layout.paths):
            text = f"also matches {units.join_names(sorted(also), 3)}, which cannot be read"
            doubt = Reason("files", f"{text}: failed runs?", sure=False)
            yield replace(layout, reasons=(*layout.reasons, *([doubt] if also else [])))
        elif by_folder:
            folders: dict[str, list[str]] = defaultdict(list)
            for path in layout.paths:
                folders[path.partition("/")[0] if "/" in path else ""].append(path)
            for part in folders.values():
                yield from _distinct_patterns(
                    part, others, unfit, runs_inside=runs_inside, by_folder=False
                )
        else:
            yield from (FilePattern(literal(path), (path,), ()) for path in layout.paths)
