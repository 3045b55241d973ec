"""What is proposed for one kind of files: the keys of a block, and why each is said."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct

from ttastats.formats.own_logs.block import KEYS
from ttastats.report.render.harmless import escape_invisible
from ttastats.sides.options import several


class Reason(Struct, frozen=True):
    """Why a key says what it says; one that is not `sure` should be looked at by a person."""

    key: str
    text: str
    sure: bool = True


class Proposal(Struct, frozen=True):
    """Keys of a block, why, and lines of TOML of which a person must choose one first."""

    keys: Mapping[str, str | tuple[str, ...]]
    reasons: tuple[Reason, ...]
    choices: tuple[str, ...] = ()


class NoLogError(Exception):
    """Nothing suits a file, with the reason."""


def written(proposal: Proposal) -> str:
    """Return a proposal as TOML, with doubts as comments."""
    lines = ["[[logs]]"]
    for key in KEYS:
        lines += [
            f"# {key}? {escape_invisible(reason.text)}"
            for reason in proposal.reasons
            if reason.key == key and not reason.sure
        ]
        if key in proposal.keys:
            lines.append(f"{key:<7} = {_toml_value(proposal.keys[key])}")
    if proposal.choices:
        lines += ["# Uncomment the line that applies:"]
        lines += [f"# {choice}" for choice in proposal.choices]
    return "\n".join(lines) + "\n"


def _toml_value(value: str | tuple[str, ...]) -> str:
    """Return one text or several in TOML, those with a backslash in single quotes."""
    texts = []
    for text in several(value):
        if "\\" in text and text.isprintable() and "'''" not in text and text[-1] != "'":
            quote = "'''" if "'" in text else "'"
            texts.append(f"{quote}{text}{quote}")
        else:
            plain = json.dumps(text, ensure_ascii=not text.isprintable())
            texts.append(plain.replace("\x7f", "\\u007f"))
    if len(texts) == 1:
        return texts[0]
    inside = ", ".join(texts)
    lines = "".join(f"  {text},\n" for text in texts)
    return f"[{inside}]" if len(inside) < 80 else f"[\n{lines}]"
