"""Which codes can a user meet, when, what to do about it, and in which words are they shown?

`codes.json` is the one table of the English of notes, flags and problems: whoever edits a text
edits it there. `docs/codes.md` is made from it (tests/test_codes.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from string import Formatter
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ttastats.base import percentages, units


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some codes, separated by spaces, that mean the same.

    `applies_to` is the commands that have a note, or the severity of a problem; `meaning` says when
    it appears and what to do about it. `texts` are templates with {named} fields (see
    `note.wording`) by keys that are a code alone or have more behind a dot. Texts of the statistics
    and of the parsers stand where they are made. `short` is the few words for it on a page and a
    screen, `advice` what a screen adds to them, and `condition` those behind a verdict that it
    qualifies.
    """

    codes: str
    meaning: str
    applies_to: str = ""
    texts: Mapping[str, str] = {}
    short: str = ""
    condition: str = ""
    advice: str = ""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file; `phrases` are texts that belong to no code, or to several."""

    tables: dict[str, tuple[Row, ...]]
    phrases: dict[str, str]


_FILE = msgspec.json.decode(Path(__file__).with_name("codes.json").read_bytes(), type=_File)

PHRASES = _FILE.phrases
#: The rows by the heading of their table in the documentation.
ROWS = _FILE.tables
_ROWS = tuple(row for rows in ROWS.values() for row in rows)

#: The texts by their keys.
TEXTS = {key: text for row in _ROWS for key, text in row.texts.items()} | PHRASES

#: The few words for a code on a page, and those behind a verdict.
SHORT = {code: row.short for row in _ROWS if row.short for code in row.codes.split()}
CONDITIONS = {code: row.condition for row in _ROWS if row.condition for code in row.codes.split()}
ADVICE = {code: row.advice for row in _ROWS if row.advice for code in row.codes.split()}

#: Notes that say what to distrust in a comparison, worst first; a `bad` one may turn its answer.
DOUBTS: dict[str, Literal["bad", "plain"]] = {
    **dict.fromkeys(
        ("met_at_once", "mixed_sizes", "accelerators_differ", "division_differs", "nodes_differ",
         "off_scale", "units_differ", "scale_unclear", "no_success", "failed_runs", "clock_changed",
         "clock_start_estimated", "pooled_setups", "mixed_speeds", "targets_differ", "runs_vary",
         "one_run", "contended", "fixed_length", "convergence_differs"),
        "bad",
    ),
    **dict.fromkeys(
        ("no_stragglers", "constant_epochs", "hardware_differ", "batch_sizes", "unsteady",
         "unbalanced", "separate_sessions", "one_side_first", "drift", "few_runs", "unmatched",
         "shared_runs", "copies"),
        "plain",
    ),
}  # fmt: skip
#: Notes that a screen shows as cautions, worst first: what chose the rows, doubts, and others. All
#: else it only counts, such as definitions.
CAUTIONS = (
    "chosen_by_result", "rows_left_out", "top", "other_sizes",
    *(code for code, harm in DOUBTS.items() if harm == "bad"), "assumption",
    *(code for code, harm in DOUBTS.items() if harm == "plain"),
    "times_alone", "no_target", "ends_differ", "not_evaluated", "looks_differ", "runs_missing",
    "several_claims", "several_scores", "unusable_time", "startup", "blocks_proposed",
    "stable_range", "these_blocks", "blocks_differ", "blocks_alone", "blocks_unknown",
    "grids_differ", "repeated_seeds", "one_seed", "parallel_runs", "stalled_runs",
    "profile_of_others", "clocks", "disturbed",
    "nights_alike", "unordered", "aliased", "survivors", "not_straight", "empty_cells",
    "level_left_out", "unknown_setting", "no_variance", "constant_setting", "uneven_noise",
    "mixed_curves", "no_length", "begins_late", "unreadable", "missing", "stopped", "other_metric",
    "no_position",
    "lengths_differ", "convergence_not_used", "no_reference", "run_count", "setup_differs",
    "not_asked", "also_missing", "no_such_value", "left_out_runs", "left_out", "more",
)  # fmt: skip


class Note(Struct, frozen=True):
    """A footnote: a code for programs, advice for people, a mark if cells refer to it."""

    code: str
    text: str
    mark: str = ""

    def prefixed(self, name: str) -> Note:
        """Return the note with the name of a side or group in front, if there is a name."""
        return replace(self, text=f"{name}: {self.text}") if name else self


def note(key: str, mark: str = "", **fields: object) -> Note:
    """Return the note for a key of `codes.TEXTS`; the part before a dot is its code."""
    return Note(key.partition(".")[0], wording(key, **fields), mark)


def wording(key: str, **fields: object) -> str:
    """Return a text of `codes.TEXTS` with its fields filled in."""
    return fill_template(TEXTS[key], **fields)


def fill_template(template: str, *values: object, **fields: object) -> str:
    """Return a template with its fields filled in, formatted as their specifications say."""
    return _TEMPLATE.vformat(template, values, fields)


class _Template(Formatter):
    """A template whose fields may be written as `units` does: `{n:# run}` is `1 run`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a field formatted by a writer of `_WRITERS`, or by Python's own rules."""
        writer, _, argument = format_spec.partition(" ")
        if writer in _WRITERS:
            return _WRITERS[writer](value, argument)
        return format(value, format_spec)


#: How a field is written, by the first word of its specification; the rest is an argument.
_WRITERS: dict[str, Callable[[Any, str], str]] = {
    "#": lambda number, forms: units.plural(number, *forms.split("/")),  # {n:# entry/entries}
    "?": lambda number, forms: forms.split("/")[number != 1],  # {n:? its/their}: their
    "list": lambda names, most: units.join_names(names, int(most or 6)),  # {names:list 3}: a, b, c
    "join": lambda names, _: "; ".join(names),
    "percent": lambda share, _: percentages.percent_text(share),
    "seconds": lambda number, _: units.seconds(number),
    "p": lambda p_value, _: units.p_text(p_value),
    "significant": lambda number, digits: units.significant(number, int(digits or 3)),
}
_TEMPLATE = _Template()
