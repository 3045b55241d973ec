"""Which patterns do the paths of some files suggest, so that folders and names tell runs apart?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from os.path import commonprefix

from msgspec import Struct

from ttastats.answers.guessing.answer import Reason
from ttastats.base.run_names import WORDS, split_run_number, stem_of
from ttastats.base.streams import COMPRESSED
from ttastats.base.units import join_names
from ttastats.formats import setups
from ttastats.formats.patterns import PART, match_path

#: The names of numbers, by the word before them; without such a word they count runs.
_COUNTED = {"seed": "seed", "s": "seed", "trial": "trial", "study": "study", "fold": "fold"}
_NUMBERED = re.compile(
    rf"(?P<before>|.*?[^A-Za-z0-9])(?P<word>{WORDS}|s|r|v|)"
    r"(?P<mark>[-_=.]?)(?P<number>\d{1,10})",
    re.IGNORECASE,
)
#: A pattern cannot say these; a single character stands for each.
_MEANT = re.compile(r"[{}*?|]")


class FilePattern(Struct, frozen=True):
    """A pattern for some files, the `entry` made of its names, and why."""

    pattern: str
    paths: tuple[str, ...]
    reasons: tuple[Reason, ...]
    entry: str | None = None


def layouts(
    paths: Iterable[str], *, runs_inside: bool, recorded: bool = False
) -> list[FilePattern]:
    """Return path patterns, one for each depth and extension; `runs_inside` a file are several.

    With `recorded`, settings that the files record tell more than a pattern can.
    """
    groups: dict[tuple[int, str], list[str]] = defaultdict(list)
    for path in sorted(paths):
        name = _without_compression(path).rpartition("/")[2]
        ending = f".{name.rpartition('.')[2]}" if "." in name[1:] else ""
        groups[path.count("/"), ending].append(path)
    return [
        _propose_pattern(paths, ending, runs_inside, recorded)
        for (_, ending), paths in sorted(groups.items())
    ]


def literal(path: str) -> str:
    """Return the pattern that matches one path alone, or the parts of one run."""
    return PART.join(_MEANT.sub("?", text) for text in path.split(PART))


def _without_compression(path: str) -> str:
    return next((path.removesuffix(end) for end in COMPRESSED if path.endswith(end)), path)


class _Part(Struct):
    """One part of the paths: the same in all, or with `words` or `counted` numbers that vary."""

    start: str = ""
    words: tuple[str, ...] = ()
    between: str = ""
    counted: str = ""
    end: str = ""
    name: str = ""

    def pattern(self) -> str:
        """Return the part as in a pattern, with a star where it has no name."""
        words = (f"{{{self.name}}}" if self.name else "*") if self.words else ""
        number = f"{{{self.counted}}}" if self.counted else ""
        return f"{literal(self.start)}{words}{literal(self.between)}{number}{literal(self.end)}"


def _propose_pattern(
    paths: Sequence[str], ending: str, runs_inside: bool, recorded: bool
) -> FilePattern:
    """Return a pattern with groups for the setups in the names of files, if one is possible."""
    split = [_without_compression(path).split("/") for path in paths]
    inferred = setups.infer_setups(
        [setups.Seen((), tuple(way), stem_of(name), {}, None, "") for *way, name in split]
    )
    *folders, last = zip(*split, strict=True)
    for make in () if recorded and len(paths) > 1 else (_make_part, _vary_part):
        parts = [*(make(column, "") for column in folders), make(last, ending)]
        if not _tells_setups(parts, split, inferred):
            continue
        # Files of several folders may have one name, as runs of each setup may.
        repeat = len({tuple(path) for path in split}) > len(set(last))
        entry = _name_parts(parts, runs_inside, repeat)
        reasons = tuple(_reasons(parts, paths, entry, runs_inside))
        return FilePattern("/".join(part.pattern() for part in parts), tuple(paths), reasons, entry)
    parts = [*(_vary_part(column, "") for column in folders), _vary_part(last, ending)]
    names = join_names(sorted({setup.entry for setup in inferred} - {""}), 5)
    text = f"entries and seeds from {'recorded settings and ' * recorded}the names of the files"
    reason = Reason("files", f"{text}: {names}" if names else text, sure=False)
    return FilePattern("/".join(part.pattern() for part in parts), tuple(paths), (reason,))


def _tells_setups(
    parts: Sequence[_Part], split: Sequence[Sequence[str]], inferred: Sequence[setups.Setup]
) -> bool:
    """Return whether the words of parts vary just as the entries inferred from names."""
    # No two numbers have one name: those of the last part keep theirs.
    number_names: set[str] = set()
    for number, part in enumerate(reversed(parts)):
        part.name = f"words{number}" if part.words else ""
        if part.counted in number_names:
            part.counted = "_"
        elif part.counted:
            number_names.add(part.counted)
    pattern = "/".join(part.pattern() for part in parts)
    words = []
    for path in split:
        path_values = match_path(pattern, "/".join(path)) or {}
        words.append(tuple(path_values.get(part.name) for part in parts if part.name))
    pairs = {(word, setup.entry) for word, setup in zip(words, inferred, strict=True)}
    texts = [text for part in parts for text in part.words]
    if any(split_run_number(text)[0] != text for text in texts):  # with a date or a job in it
        return False
    return len(pairs) == len(set(words)) == len({setup.entry for setup in inferred})


def _make_part(values: Sequence[str], ending: str) -> _Part:
    """Return a part with numbers that count runs, if it has any."""
    stems = [value.removesuffix(ending) for value in sorted(set(values))]
    numbered = [match for match in map(_NUMBERED.fullmatch, stems) if match]
    if len(numbered) == len(stems) and (part := _numbered_part(numbered, ending)):
        return part
    if len(stems) > 1 and not any(any(split_run_number(stem)) for stem in stems):
        return _Part(counted="run", end=ending)  # names that a program made up
    return _vary_part(values, ending)


def _vary_part(values: Sequence[str], ending: str) -> _Part:
    """Return a varying part between a common start and end."""
    distinct_values = sorted(set(values))
    if len(distinct_values) == 1:
        return _Part(start=distinct_values[0])
    stems = [value.removesuffix(ending) for value in distinct_values]
    # Up to the last separator.
    start = re.sub(r"[^-_ =]*$", "", commonprefix(stems))  # noqa: RUF071 - of letters
    backwards = [stem[::-1] for stem in stems]
    end = re.sub(r"[^-_ =]*$", "", commonprefix(backwards))[::-1]  # noqa: RUF071
    words = tuple(stem[len(start) : len(stem) - len(end)] for stem in stems)
    # A number alone does not say of what it is.
    if not all(re.search("[A-Za-z]", word) for word in words):
        start, words, end = "", tuple(stems), ""
    return _Part(start, words, "", "", f"{end}{ending}")


def _numbered_part(matches: Sequence[re.Match[str]], ending: str) -> _Part | None:
    words = {(match["word"], match["mark"]) for match in matches}
    before = sorted({match["before"] for match in matches})
    ((word, mark), *other_words) = words
    numbers = {match["number"] for match in matches}
    if other_words or len(numbers) < 2:
        return None
    number_name = _COUNTED.get(word.lower(), "run")
    if len(before) == 1:
        return _Part(start=f"{before[0]}{word}{mark}", counted=number_name, end=ending)
    # `resnet-18`, `vgg-16`: numbers of a name, where none comes twice.
    if not word and len(numbers) == len(matches):
        return None
    separator = before[0][-1:]
    if not separator or any(text[-1:] != separator for text in before):
        return None
    names = tuple(text[:-1] for text in before)
    return _Part("", names, f"{separator}{word}{mark}", number_name, ending)


def _name_parts(parts: Sequence[_Part], runs_inside: bool, repeat: bool) -> str | None:
    """Name the varying parts; return the template of an entry if several make one."""
    varying = [part for part in parts if part.words]
    if not varying:
        return None
    *folders, last = varying
    if folders and last is parts[-1] and not last.counted and (repeat or runs_inside):
        last.name = "benchmark" if runs_inside else "run"
        *folders, last = folders
    last.name = "entry"
    if not folders:
        return None
    for number, part in enumerate((*folders, last), start=1):
        part.name = "folder" if number == 1 else f"folder{number}"
    return "/".join(f"{{{part.name}}}" for part in (*folders, last))


def _reasons(
    parts: Sequence[_Part], paths: Sequence[str], entry: str | None, runs_inside: bool
) -> Iterable[Reason]:
    names = {part.name: part.words for part in parts if part.words}
    number_names = [part.counted for part in parts if part.counted not in {"", "_"}]
    if "entry" in names:
        repeated = runs_inside or "run" in names or bool(number_names)
        text = f"{{entry}}: {join_names(names['entry'])}"
        if not repeated and len(paths) > 1:
            text += "; each file is a separate entry, so no entry has repeated runs"
        yield Reason("files", text, repeated or len(paths) == 1)
    if "run" in names:
        text = f"{{run}}: {join_names(names['run'], 3)}; if these are benchmarks, use {{benchmark}}"
        yield Reason("files", text, sure=False)
    if "benchmark" in names:
        text = f"{{benchmark}}: {join_names(names['benchmark'])}; if these are entries, use {{run}}"
        yield Reason("files", text, sure=False)
    if number_names:
        fields = " and ".join(f"{{{name}}}" for name in number_names)
        yield Reason("files", f"numbers in the names identify runs: {fields}")
    if entry:
        folders = ", ".join(f"{{{name}}}" for name in names if name.startswith("folder"))
        text = f"{folders} together form the entry; if one is the benchmark, use {{benchmark}}"
        yield Reason("entry", text, sure=False)
