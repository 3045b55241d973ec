"""Which kinds of logs are in a folder without blocks, and what would ingest make of them?"""

from __future__ import annotations

import os
import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.guessing import kinds, trial
from ttastats.answers.guessing.answer import Guessed, NoLogError, Proposal, Reason, proposal_toml
from ttastats.answers.guessing.layout import FilePattern, layouts, literal
from ttastats.answers.guessing.parts import runs_in_parts
from ttastats.answers.guessing.trial import File, FileKind
from ttastats.base import arguments, atomic, slow, stores, units
from ttastats.base.errors import TtastatsError, raise_if
from ttastats.base.forks import expect_threads
from ttastats.formats import patterns
from ttastats.formats.block import Block, Keys
from ttastats.formats.config import FILE, load_presets, preset_block
from ttastats.ingestion import described
from ttastats.ingestion.containers import printable
from ttastats.ingestion.given import asked_about
from ttastats.ingestion.guessed import Ask, Guess, Proposed
from ttastats.ingestion.reading import LFS_POINTER, Reading, choose_dialect
from ttastats.ingestion.sources import Source, find, reason_of
from ttastats.sides.options import several
from ttastats_parsers import settings_files

_HEADER = (
    "# Proposed by `ttastats guess`. Lines with a question mark are guesses: look at them.\n"
    "# docs/your-logs.md says what the keys mean.\n"
)


@arguments.checked()
def guess(path: str | Path, output: str | Path | None = None) -> Guessed:
    """Propose blocks of `ttastats.toml` for logs without any description.

    Parameters
    ----------
    path
        A folder, a file, an archive or a pattern.
    output
        Where to write the blocks; nothing that exists is written over.
    """
    expect_threads()
    path = stores.without_secrets(str(path))
    if output is not None:
        atomic.expect_file_place(Path(output), remedy=f"Try -o {output}/{FILE}.")
        if Path(output).exists():
            raise atomic.overwrite_error(Path(output), "exists already")
    kinds_at_path = _look(path, None, {})
    kinds = tuple(trial.read_kinds(kinds_at_path.kinds, _guess_of(kinds_at_path)))
    prefix = _pattern_prefix(kinds_at_path.root, output)
    texts = [
        proposal_toml(
            replace(block, keys={**block.keys, "files": _below(prefix, str(block.keys["files"]))})
        )
        for kind in kinds
        if (block := kind.proposal)
    ]
    config = "\n".join([_HEADER, *texts]) if texts else ""
    if output is not None:
        problem = "nothing to write: all of these logs are read without a block"
        raise_if(not config, problem, str(path), f"Continue with: ttastats ingest {path}")
        with atomic.write_errors_named(Path(output)):
            atomic.write_text(Path(output), config)
    output_text = None if output is None else str(output)
    read = {file for kind in kinds for file in kind.files}
    unread = (
        (reason, tuple(n for n in names if n not in read)) for reason, names in kinds_at_path.left
    )
    unsuited = tuple((reason, names) for reason, names in unread if names)
    return Guessed(
        path, kinds, unsuited, config, kinds_at_path.folder, kinds_at_path.root, output_text
    )


def propose(path: str, blocks: Sequence[Block] | None, user_keys: Keys, ask: Ask | None) -> Guess:
    """Return blocks for the logs at a path without a block.

    Keys and answers of the user replace guesses.
    """
    return _guess_of(_look(path, blocks, user_keys), ask)


#: What may stand behind the name of a metric that the user gives.
_DIRECTION = re.compile(r"\s+(?:higher|lower)\s*$")


class _KindsAtPath(Struct, frozen=True):
    """The kinds of files at a path."""

    path: str
    folder: str
    root: str
    kinds: tuple[FileKind, ...]
    left: tuple[tuple[str, tuple[str, ...]], ...]


def _guess_of(kinds_at_path: _KindsAtPath, ask: Ask | None = None) -> Guess:
    """Return the proposals for the kinds of files, with the answers of the user in them."""
    proposals = []
    for kind in kinds_at_path.kinds:
        if (proposal := kind.proposal) is None:
            continue
        for doubt in proposal.doubts():
            answer = ask(kinds_at_path.path, doubt) if ask else None
            proposal = proposal if answer is None else proposal.replaced(answer)
        proposals.append(Proposed(proposal.keys, tuple(proposal.doubts()), proposal_toml(proposal)))
    return Guess(kinds_at_path.path, kinds_at_path.root, tuple(proposals), kinds_at_path.left)


def _look(path: str, blocks: Sequence[Block] | None, user_keys: Keys) -> _KindsAtPath:
    """Return the kinds of files at a path; blocks, if none are given, are looked for."""
    no_file = "a block describes files, but the input is standard input"
    raise_if(path == "-", no_file, "-", "Give a folder or a file.")
    described_blocks, sources = described.find_blocks(
        described.Description(), [path], [*find([path])]
    )
    blocks = described_blocks if blocks is None else blocks
    if Path(path).exists() or "://" in path or not sources:
        (root,) = described.roots_of([path])
        folder = path if Path(path).is_dir() else str(Path(path).parent)
    else:  # a pattern
        root = folder = os.path.commonpath([_place(source).parent for source in sources])
    start = f"{root.rstrip('/')}/"
    files = [
        File(source, file_place, below)
        for source, file_place in zip(sources, map(_place, sources), strict=True)
        if (below := str(file_place).removeprefix(start))
        if "files" not in user_keys or patterns.match_path(user_keys["files"], below) is not None
    ]
    with asked_about(_DIRECTION.sub("", text) for text in several(user_keys.get("metric", ()))):
        by_kind, unsuited = _sort_files(files, Reading(blocks=tuple(blocks)), user_keys)
    unsuited_names = {name for names in unsuited.values() for name in names}
    proposed = tuple(FileKind(*of_kind) for of_kind in _propose_by_kind(by_kind, unsuited_names))
    if not proposed:
        raise _nothing_found_error(path, unsuited)
    left_out = tuple((reason, tuple(names)) for reason, names in sorted(unsuited.items()))
    return _KindsAtPath(path, folder, root, _with_user_keys(proposed, user_keys), left_out)


def _with_user_keys(file_kinds: Sequence[FileKind], user_keys: Keys) -> tuple[FileKind, ...]:
    """Return kinds of files with keys of the user; one pattern cannot stand for several."""
    new_kinds = [
        kind if kind.proposal is None else replace(kind, proposal=kind.proposal.replaced(user_keys))
        for kind in file_kinds
    ]
    distinct_kinds = {str(kind.proposal.keys): kind for kind in new_kinds if kind.proposal}
    names = units.join_names([kind.files[0].below for kind in distinct_kinds.values()], 3)
    problem = f"matches logs of several kinds: {names}"
    is_shared = "files" in user_keys and len(distinct_kinds) > 1
    raise_if(is_shared, problem, f"--files {user_keys.get('files')}", "Give a narrower pattern.")
    return tuple(new_kinds)


def _place(source: Source) -> PurePosixPath:
    name = printable(posixpath.basename(source.file.name))
    return source.container.folder(source.file.name) / name


def _pattern_prefix(root: str, output: str | Path | None) -> str:
    """Return the prefix of patterns in a file that lies in a folder above the logs."""
    if output is None:
        return ""
    output_folder = Path(output).resolve().parent
    try:
        subfolder = PurePosixPath(root).relative_to(printable(str(output_folder)))
    except ValueError:
        return ""
    return "" if str(subfolder) == "." else f"{literal(str(subfolder))}/"


def _below(prefix: str, pattern: str) -> str:
    return "|".join(f"{prefix}{alternative}" for alternative in pattern.split("|"))


def _nothing_found_error(path: str, reasons: dict[str, list[str]]) -> TtastatsError:
    if not reasons:
        return TtastatsError("contains no files", where=path, remedy="Give a folder with logs.")
    commonest = max(reasons, key=lambda reason: len(reasons[reason]))
    return TtastatsError(
        f"none of {sum(map(len, reasons.values())):,} file(s) looks like a log; "
        f"{reasons[commonest][0]}: {commonest}",
        where=path,
        remedy="docs/your-logs.md explains how to describe any log in a block.",
    )


#: The kinds of files that are read without a block begin with one of these.
_DESCRIBED, _RECOGNISED = "described", "recognised"
_READ = "{}: read without a block"
_EVENTS = (_RECOGNISED, _READ.format("tfevents"))
#: Tables with a run in each row, beside which other logs may lie.
_OF_RUNS = {
    (_RECOGNISED, _READ.format(name))
    for name in ("times-table", "hyperfine", "pytest-benchmark", "optuna", "mlflow-table")
}


def _sort_files(
    files: Sequence[File], reading: Reading, user_keys: Keys
) -> tuple[dict[tuple[str, ...], list[File]], dict[str, list[str]]]:
    """Return the files by kind, and the names of unsuited ones by reason."""
    classified, unsuited = list[File](), defaultdict[str, list[str]](list)
    sketches = kinds.SketchesByHeader(list)
    for file in files:
        slow.begin(file.source.name)
        try:
            classified.append(_classify(file, reading, sketches, user_keys))
        except TtastatsError as error:
            unsuited[error.what].append(file.below)
        except NoLogError as error:
            unsuited[str(error)].append(file.below)
        except Exception as error:  # a file of somebody's may hold anything
            unsuited[reason_of(error)].append(file.below)
    slow.begin("")
    grouped_files = runs_in_parts(_drop_twins(classified, unsuited))
    return _group_by_kind(grouped_files), {
        reason: names for reason, names in unsuited.items() if names
    }


def _group_by_kind(files: Sequence[File]) -> dict[tuple[str, ...], list[File]]:
    """Return files by kind: those with the same columns are read alike, as the longest is."""
    sketches = defaultdict[tuple[str, ...], list[kinds.Sketch]](list)
    for file in files:
        if file.sketch:
            sketches[file.sketch.columns or file.kind].append(file.sketch)
    longest = {kind: kinds.longest(similar) for kind, similar in sketches.items()}
    by_kind = defaultdict[tuple[str, ...], list[File]](list)
    for file in files:
        if file.sketch:
            sketch = longest[file.sketch.columns or file.kind]
            file = replace(file, sketch=sketch, kind=sketch.same)
        by_kind[file.kind].append(file)
    return by_kind


def _drop_twins(files: list[File], unsuited: dict[str, list[str]]) -> list[File]:
    """Drop files that repeat runs of other files, unless the user named them."""

    def drop(twins: Collection[File], reason: str) -> list[File]:
        unnamed = {file for file in twins if not file.source.named}
        unsuited[reason] += [file.below for file in files if file in unnamed]
        return [file for file in files if file not in unnamed]

    timed_folders = {file.place.parent for file in files if _is_timed(file)}
    events = [file for file in files if file.kind == _EVENTS and file.place.parent in timed_folders]
    files = drop(events, "the run is in the table beside it")
    logs_without_block = {file for file in files if file.kind[0] in {_RECOGNISED, "preset"}}
    logs_without_block -= {file for file in files if file.kind in _OF_RUNS}
    folders = {file.place.parent for file in logs_without_block}
    folders |= {folder / "files" for folder in folders}
    other_files = [file for file in files if file.sketch and file not in logs_without_block]
    possible_twins = [file for file in other_files if file.place.parent in folders]
    files = drop(possible_twins, "beside a log that is read without a block: possibly the same run")
    servers = {_folder_above(file, _SERVER) for file in files} - {None}
    clients = [file for file in files if _folder_above(file, _CLIENT) in servers]
    files = drop(clients, "a client of the run that the server beside it logs")
    # A table with a row for each run, where logs lie beside or below.
    tables = [file for file in files if file.sketch and file.sketch.is_summary]
    described_files = {
        file for file in files if file.kind[0] == _DESCRIBED or file.kind in _OF_RUNS
    }
    logs = {*files} - {*tables} - described_files
    log_folders = {folder for log in logs for folder in log.place.parents}
    tables = [file for file in tables if file.place.parent in log_folders]
    of_each = "a summary beside logs: possibly of the same runs"
    return drop(tables, f"{of_each}; `ttastats guess FILE` reads it alone")


#: What federated runs call the logs of their server and of its clients, or the folders of these.
_SERVER = re.compile(r"(?i)(?:^|[_.-])(?:server|global|aggregator|aggregated)(?![a-z])")
_CLIENT = re.compile(r"(?i)(?:^|[_.-])clients?(?![a-z])")


def _folder_above(file: File, pattern: re.Pattern[str]) -> PurePosixPath | None:
    """Return the folder of a file with a name by a pattern, or of its folder with one."""
    folder = file.place.parent
    if pattern.search(file.place.name):
        return folder.parent if pattern.search(folder.name) else folder
    return folder.parent if pattern.search(folder.name) else None


def _is_timed(file: File) -> bool:
    """Return whether the block or the preset of a file has a time."""
    keys = file.sketch.proposal.keys if file.sketch else {}
    preset = preset_block(str(keys["preset"])) if "preset" in keys else None
    return bool(preset.seconds if preset else keys.get("seconds"))


def _classify(
    file: File, reading: Reading, sketches: kinds.SketchesByHeader, user_keys: Keys
) -> File:
    """Return a file with its kind; raise NoLogError for one that is no log."""
    head = next(file.source.blocks(), b"")
    if head.startswith(LFS_POINTER):
        raise NoLogError("a Git LFS pointer, not the file itself: run `git lfs pull`")
    dialect, block, path_values = choose_dialect(
        head, file.place.parent, file.place.name, None, reading
    )
    hit = described.block_for(str(file.place), reading.blocks)
    if hit is not None and dialect is not None:
        return replace(file, kind=(_DESCRIBED, f"already described in {hit[0].where}"))
    if block is not None:
        # What one part of a run holds says nothing of the metrics of the others.
        sketch = kinds.of_a_preset(block, b"" if "part" in path_values else head, file.below)
    elif dialect is not None:
        return replace(file, kind=(_RECOGNISED, _READ.format(dialect.name)))
    else:
        # The name of the folder that is looked at may say what is in it, such as losses.
        parent_names = file.place.parts[: -len(PurePosixPath(file.below).parts)]
        path = f"{parent_names[-1] if parent_names else ''}/{file.below}"
        sketch = kinds.sketch_like(sketches, head, path, several(user_keys.get("line", ())))
    return replace(file, kind=sketch.same, sketch=sketch)


def _propose_by_kind(
    by_kind: Mapping[tuple[str, ...], Sequence[File]], unsuited_names: Collection[str]
) -> Iterator[tuple[str, list[File], Proposal | None]]:
    """Yield a title, the files and the proposal of each kind, those without a block first.

    Of two blocks that match a file, the first one holds: that of the kind with fewer files, whose
    pattern says more.
    """
    later = {file.below for files in by_kind.values() for file in files}
    settings_names = {PurePosixPath(path).name for path in unsuited_names} & {*settings_files.NAMES}
    sorted_kinds = sorted(
        by_kind.items(), key=lambda item: (item[1][0].sketch is not None, len(item[1]))
    )
    for kind, files in sorted_kinds:
        sketches = [file.sketch for file in files if file.sketch]
        if not sketches:
            yield kind[1], [*files], None
            continue
        sketch = max(sketches, key=lambda sketch: sketch.rows)
        by_run = defaultdict[str, list[File]](list)
        for file in files:
            by_run[file.run or file.below].append(file)
        later -= {file.below for file in files}
        recorded = bool(settings_names) or any(
            sketch.recorded or "seed" in sketch.proposal.keys for sketch in sketches
        )
        patterns_of_kind = layouts(
            by_run, runs_inside="run" in sketch.proposal.keys, recorded=recorded
        )
        distinct_patterns = (
            _distinct_pattern(layout, by_run, later, unsuited_names) for layout in patterns_of_kind
        )
        for layout in _preset_pattern(sketch, files) or distinct_patterns:
            of_layout = [file for run in layout.paths for file in by_run[run]]
            keys = {"files": layout.pattern, **sketch.proposal.keys}
            if layout.entry and "entry" not in keys:
                keys["entry"] = layout.entry
            proposal = Proposal(keys, (*layout.reasons, *sketch.proposal.reasons))
            yield sketch.title, of_layout, proposal


def _preset_pattern(sketch: kinds.Sketch, files: Sequence[File]) -> list[FilePattern]:
    """Return the pattern of a preset for the paths of files, if it has one for all of them."""
    preset = load_presets().get(str(sketch.proposal.keys.get("preset")))
    signs = [f"**/{sign}" for sign in preset.signs.path] if preset and preset.signs else []
    runs = tuple(file.run or file.below for file in files)
    return [
        FilePattern(sign, runs, ())
        for sign in (*signs, "|".join(signs))
        if sign and all(patterns.match_path(sign, file.below) for file in files)
    ][:1]


def _distinct_pattern(
    layout: FilePattern,
    by_run: Mapping[str, Sequence[File]],
    later: Collection[str],
    unsuited_names: Collection[str],
) -> FilePattern:
    """Return a pattern without matches of another kind: if need be, a list of files."""
    layout = _with_metrics(layout, [file for run in layout.paths for file in by_run[run]])
    in_parts = patterns.PART in layout.pattern
    unsuited_matches = [
        path
        for path in unsuited_names
        if patterns.match_path(layout.pattern, path) and not in_parts
    ]
    is_shared = any(patterns.match_path(layout.pattern, path) for path in later)
    if is_shared or len(unsuited_matches) >= len(layout.paths):
        text = "other files have such names too, so the files are listed"
        return _list_files(layout, text)
    text = f"also matches {units.join_names(sorted(unsuited_matches), 3)}, which cannot be read"
    doubt = Reason("files", f"{text}: failed runs?", sure=False)
    return replace(layout, reasons=(*layout.reasons, *([doubt] if unsuited_matches else [])))


def _list_files(layout: FilePattern, text: str) -> FilePattern:
    path_patterns = [literal(path) for path in layout.paths]
    reasons = (Reason("files", text, sure=False),) * (len(path_patterns) > 1)
    return FilePattern("|".join(path_patterns), layout.paths, reasons)


def _with_metrics(layout: FilePattern, files: Sequence[File]) -> FilePattern:
    """Return a pattern for the parts of runs, in folders of parts too.

    Of `adam_val_acc.csv`, `{entry}_{part}.csv` would tell the part `acc`.
    """
    nested = layout.pattern.replace(patterns.PART, f"{patterns.PART}/{{metric}}")
    nested_files = [
        file for file in files if file.run and file.below.count("/") > file.run.count("/")
    ]
    if nested_files:
        layout = replace(layout, pattern=f"{layout.pattern}|{nested}")
    for file in files:
        path_values = patterns.match_path(layout.pattern, file.below) or {}
        part = "/".join(path_values[name] for name in patterns.PARTS if path_values.get(name))
        if file.run and file.run.replace(patterns.PART, part) != file.below:
            return _list_files(layout, "the files of each run")
    return layout
