"""Which files does a pattern such as `{entry}/seed{seed}.csv` mean, and what does a path name?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from ttastats.base.errors import TtastatsError
from ttastats.base.streams import COMPRESSED

#: Columns of the table that count something: `{seed}` stands for digits alone.
COUNTS = ("seed", "accelerators", "nodes", "global_batch_size", "train_samples")
#: What stands in a pattern for the part of a run that a file holds; in a folder of a part, a file
#: for each metric.
PART = "{part}"
PARTS = ("part", "metric")
_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\{([^{}/]*)\}|[{}]|[^*?{}]+")
#: A name in braces inside a text.
PLACE = re.compile(r"\{([^{}]+)\}")
_NAME = re.compile(r"[A-Za-z_]\w*")
_WILD = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a path pattern as a regular expression.

    `{name}` stands for one or more characters within a part of the path and names them; the first
    of two takes as much as it can. `{_}` names nothing, `*` and `?` are as in a shell, and `**`
    stands for any folders.
    """
    text = ""
    seen: set[str] = set()
    for match in _PIECE.finditer(pattern.removeprefix("./")):
        piece, name = match.group(), match.group(1)
        if name is None and piece not in "{}":
            text += _WILD.get(piece) or re.escape(piece)
            continue
        if name is None or not _NAME.fullmatch(name):
            raise TtastatsError(
                "braces without a name" if name is not None else "unbalanced braces",
                where=f"files = {pattern!r}",
                remedy="{name} matches a part of the path, such as {entry}/{seed}.csv; {_} matches "
                "without a name.",
            )
        what = r"\d+" if name in COUNTS else "[^/]+"
        if name in seen:
            text += f"(?P={name})"
        else:
            text += what if name == "_" else f"(?P<{name}>{what})"
        seen |= {name} - {"_"}
    return re.compile(text)


def match_path(pattern: str, path: str) -> Mapping[str, str] | None:
    """Return what a pattern's groups match in a relative path, or None if it does not match.

    Of several patterns with `|` between them the first that matches counts. The ending of a
    compressed file may be left out of a pattern.
    """
    for one in pattern.split("|"):
        regex = compile_pattern(one)
        for ending in ("", *COMPRESSED):
            if path.endswith(ending) and (match := regex.fullmatch(path.removesuffix(ending))):
                return match.groupdict()
    return None


def fill_names(texts: Mapping[str, str], known: Mapping[str, str | None]) -> dict[str, str]:
    """Return texts with the names in braces replaced; texts with unknown names are left out.

    A text that is such a name itself means what it stands for, also where that is unknown.
    """
    values = {name: value for name, value in known.items() if value is not None}
    return {
        key: values[text] if text in known else PLACE.sub(lambda match: values[match[1]], text)
        for key, text in texts.items()
        if (text in values if text in known else values.keys() >= {*PLACE.findall(text)})
    }
