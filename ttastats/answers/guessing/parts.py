"""Which files of a folder are parts of one run: one for each metric, or for training and test?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from ttastats.answers.guessing import kinds
from ttastats.answers.guessing.answer import NoLogError, Reason
from ttastats.answers.guessing.trial import File
from ttastats_parsers import part_names
from ttastats_parsers.own_choice import UnfitError


def runs_in_parts(files: Sequence[File]) -> list[File]:
    """Return files, those that are parts of one run with a common kind and the run's pattern."""
    sketches = {file.below: file.sketch for file in files if file.sketch}
    sketches = {path: sketch for path, sketch in sketches.items() if sketch.same[0] != "preset"}
    columns = {path: sketch.columns[1:] for path, sketch in sketches.items()}
    by_path = {file.below: file for file in files}
    for run, paths in part_names.split_runs(columns).items():
        with suppress(NoLogError, UnfitError):
            group = {part: by_path[paths[part]] for part in sorted(paths, key=part_names.rank)}
            by_path |= {file.below: file for file in _join(run, group)}
    return [*by_path.values()]


def _join(run: str, group: Mapping[str, File]) -> Iterator[File]:
    """Yield the files of a run, each with what is proposed for all of them."""
    sketches = [file.sketch for file in group.values() if file.sketch]
    if sketches[0].columns:
        sketch = kinds.sketch_parts(
            {part: next(file.source.blocks(), b"") for part, file in group.items()}
        )
    else:
        sketch = kinds.with_lines(sketches[0], sketches)
    text = "files that differ in {part} are one run, joined by progress"
    if word := part_names.word_of(next(iter(group))):
        text += f"; those of {word} evaluate"
    reasons = (Reason("files", text), *sketch.proposal.reasons)
    sketch = replace(sketch, proposal=replace(sketch.proposal, reasons=reasons))
    for file in group.values():
        yield replace(file, sketch=sketch, kind=sketch.same, run=run)
