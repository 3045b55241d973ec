"""By which rules does a contest judge a record? What `rules.toml` says."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from ttastats.base.errors import TtastatsError
from ttastats.base.nearest import suggestion


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The rules of one contest; `rules.toml` explains the fields."""

    name: str
    title: str
    source: str
    read: str = ""
    counts: Literal["seconds", "steps", "quality"]
    metrics: tuple[str, ...] = ()
    meets: Literal[">=", "<="] = ">="
    target: float | None = None
    level: float = 0.05
    tested: bool = True
    told: str = ""
    remark: str = ""
    sigma: float | None = None
    least_score: float | None = None
    margin: float = 0.0
    most_seconds: float | None = None
    value: Literal["end", "earliest", "target"] = "end"
    replicate: str = ""
    trials: tuple[int, ...] = ()
    least_runs: int = 2
    loss_per_step: float | None = None


@cache
def known() -> dict[str, Rules]:
    """Return all contest rules by their names."""
    text = resources.files("ttastats.answers.record").joinpath("rules.toml").read_bytes()
    (contests,) = msgspec.toml.decode(text, type=dict[str, tuple[Rules, ...]]).values()
    return {rules.name: rules for rules in contests}


def named(name: str) -> Rules:
    """Return the rules of a name, or raise an error that lists the names."""
    if (rules := known().get(name)) is not None:
        return rules
    raise TtastatsError(
        f"unknown rules {name!r}" if name else "no rules given",
        where="--rules",
        remedy=suggestion(name, known(), "Rules", most=len(known()))
        + " `--rules list` describes them.",
    )
