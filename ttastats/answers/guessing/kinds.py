"""Which kind of log is a file, by its beginning?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from ttastats.answers.guessing import columns, lines
from ttastats.answers.guessing.answer import NoLogError, Proposal, Reason
from ttastats.base import streams
from ttastats.base.metrics import EVALUATING, guess_metrics, metric_rank
from ttastats.base.units import join_names
from ttastats.formats import config
from ttastats.formats.block import Block
from ttastats.formats.dialect import log_from_bytes
from ttastats.sides.options import several
from ttastats_parsers import parts, settings_files
from ttastats_parsers.own_cells import rows_of, rows_of_lines, unpivoted
from ttastats_parsers.own_choice import UnfitError
from ttastats_parsers.own_rows import Rows, with_metrics_apart

#: Of a text so much is looked at, of JSON the whole first block: it may be one value.
_LOOKED_AT = 1024 * 1024
#: So many files with one header are looked at closely; the rest is of their kind.
_CLOSELY = 8
_TABLES = (".csv", ".tsv")
#: Wider tables are not looked at, which would take seconds.
_WIDEST = 5_000


class Sketch(Struct, frozen=True):
    """The proposed reading of a file; with `is_summary`, its rows may be runs of other files.

    Files with the same `columns` are of one kind. With `recorded`, the head of a file tells the
    settings of its run.
    """

    same: tuple[str, ...]
    proposal: Proposal
    title: str
    rows: int
    is_summary: bool = False
    recorded: bool = False
    columns: tuple[str, ...] = ()


#: The sketches of files so far, by their extension, depth and header.
SketchesByHeader = defaultdict[tuple[str, int, bytes], list[Sketch]]


def sketch_like(sketches: SketchesByHeader, head: bytes, path: str, line: Sequence[str]) -> Sketch:
    """Return the sketch of a file; after many alike, that of the longest without a look.

    Expressions for a `line`, if the user gave any, say what is read of a text.
    """
    _expect_text(head, path)
    extension_and_depth = (path.rpartition(".")[2], path.count("/"))
    lists = (
        sketches[(*extension_and_depth, head.partition(b"\n")[0])],
        sketches[(*extension_and_depth, b"")],
    )
    text = _whole_lines(head).decode("utf-8", "replace")
    for earlier in lists:
        # A text has the lines of those before, and a table their header.
        patterns = earlier[-1].proposal.keys.get("line", ()) if earlier else ()
        like = all(re.search(pattern, text, re.MULTILINE) for pattern in patterns)
        last = earlier[-_CLOSELY:]
        if like and len(last) == _CLOSELY and all(other.same == last[0].same for other in last):
            return max(last, key=lambda sketch: sketch.rows)
    sketch = make_sketch(head, path, line)
    if not _is_json(head):
        lists[sketch.title == "text"].append(sketch)
    return sketch


def of_a_preset(block: Block, head: bytes, path: str) -> Sketch:
    """Return the sketch of a file of a preset, with the open questions of the preset."""
    column_names: Sequence[str] = ()
    if not block.metrics or not block.line:
        with suppress(UnfitError):
            text_rows = rows_of_lines(log_from_bytes(head, block=block)) if block.line else None
            column_names = (text_rows or unpivoted(_read_rows(head, path), block)).frame.columns
        preset_metrics = (*block.metrics, *block.otherwise)
        if preset_metrics and not any(metric.name in column_names for metric in preset_metrics):
            return make_sketch(head, path)  # another program writes such files too
    preset = block.preset or ""
    keys: dict[str, str | tuple[str, ...]] = {"preset": preset}
    text = f"recognised: preset {preset}; needs no block, this one adds a target and names"
    reasons = [Reason("preset", text)]
    ranked = sorted(guess_metrics(column_names), key=metric_rank)
    if ranked and not block.metrics:
        keys["metric"] = tuple(ranked)
        reasons.append(Reason("metric", f"{ranked[0]}, by name; add a target"))
    return Sketch(("preset", preset), Proposal(keys, tuple(reasons)), f"preset {preset}", 0)


def _expect_text(head: bytes, path: str) -> None:
    if not head.strip():
        raise NoLogError("empty")
    if path.endswith(config.PROSE):
        raise NoLogError(config.NO_PROSE)
    if path.endswith(config.QUOTING):
        raise NoLogError("a program or settings, by name")
    if head.startswith(b"PAR1"):
        return
    if wide := streams.wide_text(head):
        raise NoLogError(wide)
    if b"\0" in head[:8192]:
        raise NoLogError("binary")
    text = head[:8192].decode("utf-8", "replace")
    if text.count("\ufffd") > 0.1 * len(text):
        raise NoLogError("binary, or a text that is not UTF-8")


def make_sketch(head: bytes, path: str, line: Sequence[str] = ()) -> Sketch:
    """Return the sketch of a file: a table, else lines with evaluations; or raise NoLogError."""
    if line:
        return _sketch_lines(head, path, tuple(line))
    problem = ""
    try:
        if not _has_json_head(head):
            return _sketch_table(_read_rows(head, path).frame, head)
    except UnfitError as error:
        problem = str(error) if path.endswith(_TABLES) else ""
        if problem and error.problem.code != "no_header":
            raise NoLogError(problem) from error
    except NoLogError:
        if _is_json(head) or head.startswith(b"PAR1") or path.endswith(_TABLES):
            raise
    try:
        proposal = lines.proposal(_whole_lines(head).decode("utf-8", "replace"), path)
    except NoLogError as error:
        raise NoLogError(problem or str(error)) from error
    recorded = bool(settings_files.of_head(head))
    return Sketch(_same("lines", proposal), proposal, "text", 0, recorded=recorded)


def _sketch_lines(head: bytes, path: str, line: tuple[str, ...]) -> Sketch:
    """Return the sketch of a text by the expressions of the user."""
    log = log_from_bytes(_whole_lines(head), f"/{path}", block=Block("", line=line))
    try:
        proposal = columns.proposal(rows_of_lines(log).frame)
    except UnfitError as error:
        raise NoLogError(str(error)) from error
    proposal = replace(proposal, keys={"line": line, **proposal.keys})
    return Sketch(_same("lines", proposal), proposal, "text", 0)


def _sketch_table(frame: pl.DataFrame, head: bytes) -> Sketch:
    if frame.height == 1 and _is_json(head):
        raise NoLogError("JSON with a single row of numbers: a summary, or settings")
    if frame.width > _WIDEST:
        raise NoLogError(f"a table of more than {_WIDEST:,} columns")
    if means := columns.list_means(frame.columns):
        raise NoLogError(
            f"means over runs ({means}), from which neither runs nor seeds nor their spread can be "
            "recovered: give a row or a column for each run, from W&B without grouping"
        )
    proposal = columns.proposal(frame)
    runs = [*proposal.keys.get("run", ())]
    is_summary = bool(runs) and frame.select(runs).is_unique().all()
    if not proposal.keys.keys() & {"step", "epoch", "samples"} and not proposal.keys.get("seconds"):
        text = "it has no step, epoch or time: are its rows evaluations?"
        proposal = replace(proposal, reasons=(*proposal.reasons, Reason("step", text, sure=False)))
        is_summary = True
    title = f"table of {join_names(frame.columns, 8)}"
    return Sketch(
        _same("table", proposal), proposal, title, frame.height, is_summary,
        columns=("table", *frame.columns),
    )  # fmt: skip


def longest(sketches: Sequence[Sketch]) -> Sketch:
    """Return the longest of some sketches of one kind, with a doubt if epochs count unlike."""
    sketch = max(sketches, key=lambda sketch: sketch.rows)
    epochs = {str(other.proposal.keys.get("epoch")) for other in sketches}
    if len(epochs) < 2:
        return sketch
    text = "starts at 0 in some of these files only: is the first epoch the same in all?"
    reasons = (*sketch.proposal.reasons, Reason("epoch", text, sure=False))
    return replace(sketch, proposal=replace(sketch.proposal, reasons=reasons))


def sketch_parts(heads: Mapping[str, bytes]) -> Sketch:
    """Return the sketch of a run in several files, by their parts: of those that evaluate."""
    frame = parts.join({part: _read_rows(head, ".csv").frame for part, head in heads.items()})
    if parts.COLUMN in frame.columns:
        words = frame[parts.COLUMN].unique()
        evaluating = next(word for word in EVALUATING if word in words)
        frame = frame.filter(pl.col(parts.COLUMN) == evaluating).drop(parts.COLUMN)
    sketch = _sketch_table(frame, b"")
    title = f"runs in files of {join_names([*heads], 8)}"
    return replace(sketch, same=("parts", *sketch.same), title=title, columns=())


def with_lines(sketch: Sketch, others: Iterable[Sketch]) -> Sketch:
    """Return the sketch of a text with the expressions of others for the lines of their parts."""
    patterns = (several(other.proposal.keys.get("line", ())) for other in others)
    lines = tuple(dict.fromkeys(chain.from_iterable(patterns)))
    proposal = replace(sketch.proposal, keys={**sketch.proposal.keys, "line": lines})
    return replace(sketch, proposal=proposal, same=_same("parts", proposal))


def _same(form: str, proposal: Proposal) -> tuple[str, ...]:
    """Return the mark of one kind of files: their form and all proposed keys."""
    return form, *(f"{key}={proposal.keys[key]}" for key in sorted(proposal.keys))


def _read_rows(head: bytes, path: str) -> Rows:
    is_whole = _is_json(head) or head.startswith(b"PAR1")
    rows = rows_of(head if is_whole else _whole_lines(head))
    wrong = sum(problem.code == "row_width" for problem in rows.problems)
    if rows.frame.width < 2 or (wrong > rows.frame.height and not path.endswith(_TABLES)):
        raise UnfitError("no_table", "not a table: its lines have no common columns")
    return with_metrics_apart(rows, Block(""))


def _is_json(head: bytes) -> bool:
    return head.lstrip()[:1] in {b"{", b"["}


def _has_json_head(head: bytes) -> bool:
    """Return whether a text begins with a line of JSON, which tells the settings."""
    first, _, body = head.partition(b"\n")
    return first.startswith(b"{") and body.strip()[:1] not in {b"", b"{"} and b"}" in first[-2:]


def _whole_lines(head: bytes) -> bytes:
    if len(head) <= _LOOKED_AT:
        return head
    beginning = head[:_LOOKED_AT]
    return beginning[: beginning.rfind(b"\n") + 1] or beginning
