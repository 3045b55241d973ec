"""What are the files of a folder that nobody has described, and what would ingest make of them?"""

from __future__ import annotations

import os
import posixpath
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

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
    if Path(path).exists() or "://" in path or not sources:
        (root,) = described.roots_of([path])
        folder = path if Path(path).is_dir() else str(Path(path).parent)
    else:  # a pattern
        root = folder = os.path.commonpath([_place(source).parent for source in sources])
    start = f"{root.rstrip('/')}/"
    files = [
        File(source, place, str(place).removeprefix(start))
        for source, place in zip(sources, map(_place, sources), strict=True)
    ]
    by_kind, left = _sort_files(files, Reading(blocks=blocks))
    unfit = {name for names in left.values() for name in names}
    tried = [
        trial.read_kind(title, own, proposal, root, blocks)
        for title, own, proposal in _propose_by_kind(by_kind, unfit)
    ]
    if not tried:
        raise _nothing_found_error(str(path), left)
    prefix = _pattern_prefix(root, output)
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
    shown = None if output is None else str(output)
    left_out = tuple((reason, tuple(names)) for reason, names in sorted(left.items()))
    titled = tuple(kind for kind, _ in tried)
    return Guessed(str(path), titled, left_out, config, folder, root, shown)


def _place(source: Source) -> PurePosixPath:
    name = printable(posixpath.basename(source.file.name))
    return source.container.folder(source.file.name) / name


def _pattern_prefix(root: str, output: str | Path | None) -> str:
    """Return the prefix of patterns in a file that lies in a folder above the logs."""
    if output is None:
        return ""
    above = Path(output).resolve().parent
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


#: The kinds of files that are read without a block begin with one of these.
_DESCRIBED, _RECOGNISED = "described", "recognised"
_EVENTS = (_RECOGNISED, "tfevents: read without a block")


class _Classified(Struct, frozen=True, eq=False):
    """A file, its kind, and the sketch of its block if it needs one."""

    file: File
    kind: tuple[str, ...]
    sketch: kinds.Sketch | None = None

    @property
    def folder(self) -> PurePosixPath:
        """Return the folder of the file."""
        return self.file.place.parent

    @property
    def is_known(self) -> bool:
        """Return whether a format or a preset covers the file."""
        preset = self.sketch is not None and "preset" in self.sketch.proposal.keys
        return preset or self.kind[0] == _RECOGNISED

    @property
    def is_timed(self) -> bool:
        """Return whether its block or preset has a time."""
        keys = self.sketch.proposal.keys if self.sketch else {}
        preset = presets.preset_block(str(keys["preset"])) if "preset" in keys else None
        return bool(preset.seconds if preset else keys.get("seconds"))


def _sort_files(
    files: Sequence[File], reading: Reading
) -> tuple[dict[tuple[str, ...], list[_Classified]], dict[str, list[str]]]:
    seen, left = list[_Classified](), defaultdict[str, list[str]](list)
    sketched = kinds.Seen()
    for file in files:
        try:
            seen.append(_classify(file, reading, sketched))
        except (UnreadableError, NoLogError) as error:
            left[str(error)].append(file.below)
        except TtastatsError as error:
            left[error.what].append(file.below)
    by_kind = defaultdict[tuple[str, ...], list[_Classified]](list)
    for each in _drop_twins(seen, left):
        by_kind[each.kind].append(each)
    return by_kind, {reason: names for reason, names in left.items() if names}


def _drop_twins(seen: list[_Classified], left: dict[str, list[str]]) -> list[_Classified]:
    """Drop files that repeat runs of other files, unless the user named them."""

    def drop(twins: Collection[_Classified], reason: str) -> list[_Classified]:
        unnamed = {each for each in twins if not each.file.source.named}
        left[reason] += [each.file.below for each in seen if each in unnamed]
        return [each for each in seen if each not in unnamed]

    timed = {each.folder for each in seen if each.is_timed}
    events = [each for each in seen if each.kind == _EVENTS and each.folder in timed]
    seen = drop(events, "the run is in the table beside it")
    known = {each.folder for each in seen if each.is_known}
    known |= {folder / "files" for folder in known}
    beside = [each for each in seen if each.folder in known and each.sketch and not each.is_known]
    seen = drop(beside, "beside a log that is read without a block: possibly the same run")
    # A table with a row for each run, where logs lie beside or below.
    tables = [each for each in seen if each.sketch and each.sketch.is_summary]
    logs = {*seen} - {*tables} - {each for each in seen if each.kind[0] == _DESCRIBED}
    above = {folder for log in logs for folder in log.file.place.parents}
    tables = [each for each in tables if each.folder in above]
    of_each = "a summary beside logs: possibly of the same runs"
    return drop(tables, f"{of_each}; `ttastats guess FILE` reads it alone")


def _classify(file: File, reading: Reading, sketched: kinds.Seen) -> _Classified:
    """Return the kind of a file; a file that is no log is a NoLogError."""
    head = next(file.source.blocks(), b"")
    if head.startswith(LFS_POINTER):
        raise NoLogError("a Git LFS pointer, not the file itself: run `git lfs pull`")
    dialect, block, _ = choose_dialect(head, file.place.parent, file.place.name, None, reading)
    hit = described.block_for(str(file.place), reading.blocks)
    if hit is not None and dialect is not None:
        return _Classified(file, (_DESCRIBED, f"already described in {hit[0].where}"))
    if block is not None:
        sketch = kinds.of_a_preset(block, head, file.below)
    elif dialect is not None:
        return _Classified(file, (_RECOGNISED, f"{dialect.name}: read without a block"))
    else:
        # The name of the folder that is looked at may say what is in it, such as losses.
        above = file.place.parts[: -len(PurePosixPath(file.below).parts)]
        sketch = sketched.sketch(head, f"{above[-1] if above else ''}/{file.below}")
    return _Classified(file, sketch.same, sketch)


def _propose_by_kind(
    by_kind: Mapping[tuple[str, ...], Sequence[_Classified]], unfit: Collection[str]
) -> Iterator[tuple[str, list[File], Proposal | None]]:
    for kind, seen in by_kind.items():
        if kind[0] in {_DESCRIBED, _RECOGNISED}:
            yield kind[1], [each.file for each in seen], None
    of_a_kind = {each.file.below for seen in by_kind.values() for each in seen}
    for seen in by_kind.values():
        sketches = [each.sketch for each in seen if each.sketch]
        if not sketches:
            continue
        sketch = max(sketches, key=lambda each: each.rows)
        by_path = {each.file.below: each.file for each in seen}
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
