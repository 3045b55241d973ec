"""Names that stay the same between versions stand in `reference/stable.txt`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import pytest

import ttastats as tta
from tests.accepted import REFERENCE
from tests.conftest import ROOT, matches_accepted
from tests.made_curves import evaluation, logs, of
from tests.test_documentation import ANSWERS
from tests.test_help import COMMANDS
from ttastats.base import codes
from ttastats.base.errors import TtastatsError
from ttastats.base.records import FORMER_NAMES
from ttastats.report.ordering import sort_rows
from ttastats.report.row import key_descriptions
from ttastats.table import schema
from ttastats.traces import table as profile_table

STABLE = REFERENCE / "stable.txt"


def stable_names() -> Iterator[str]:
    """Yield the names that CONTRIBUTING calls stable, with what they are names of."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = " ".join(page.read_text("utf-8") for page in pages)
    documented = set(re.findall(r"[.`]([a-z]\w*)", text))
    for name in tta.__all__:
        member = getattr(tta, name)
        yield f"api {name}"
        if inspect.isclass(member):
            own_bases = [x for x in member.__mro__ if x.__module__.startswith("ttastats")]
            attributes = {key for x in own_bases for key in (*vars(x), *x.__annotations__)}
            yield from (f"attribute {name}.{own}" for own in attributes & documented)
        if callable(member):
            yield from (f"parameter {name}({own})" for own in inspect.signature(member).parameters)
    for name, command in COMMANDS.items():
        yield f"command {name}"
        params = command.get_params(command.make_context(name, [], resilient_parsing=True))
        options = [opt for param in params if param.name != "help"
                   for opt in (*param.opts, *param.secondary_opts)]  # fmt: skip
        yield from (f"option {name} {option}" for option in options if option[0] == "-")
    for name, kinds in ANSWERS.items():
        yield from (f"key {name} {key}" for kind in kinds for key in key_descriptions(kind))
    yield from (f"column {column.name}" for column in schema.COLUMNS)
    yield from (f"column of profiles {column.name}" for column in profile_table.COLUMNS)
    yield from (f"code {code}" for rows in codes.ROWS.values() for row in rows
                for code in row.codes.split())  # fmt: skip


def test_stable_names_are_those_accepted() -> None:
    accepted = set(STABLE.read_text("utf-8").splitlines())
    names = set(stable_names())
    gone, new = sorted(accepted - names), sorted(names - accepted)
    same = matches_accepted(STABLE, "".join(f"{name}\n" for name in sorted(names)))
    assert same, (
        f"gone: {'; '.join(gone) or 'none'}; new: {'; '.join(new) or 'none'}. Users rely on what "
        "is gone: give the old name in FORMER_NAMES (base/records.py), and both in the changelog. "
        "Then `python3 dev.py accept tests/test_stable.py`."
    )


def test_former_names_are_those_of_keys_and_columns() -> None:
    kinds = {kind for kinds in ANSWERS.values() for kind in kinds}
    names = {*schema.RUN_NAMES, *(key for kind in kinds for key in key_descriptions(kind))}
    assert set(FORMER_NAMES.values()) <= names
    assert not set(FORMER_NAMES) & names


@pytest.mark.parametrize(
    ("key", "condition"), [("cv", ">10%"), ("tta_mean_seconds", "<=20"), ("round", "=v1")]
)
def test_a_renamed_key_works_under_its_old_name(
    key: str, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FORMER_NAMES, "former", key)
    table = logs([
        of(evaluation(1, 0.9, seconds=seconds, target_value=0.95), benchmark=name, round="v1")
        for name, *times in (("slow", 30.0, 30.5, 31.0), ("fast", 10.0, 13.0, 16.0))
        for seconds in times
    ])  # fmt: skip
    one = tta.summary(table, where=["benchmark=slow"])
    assert one.former == one.rows[0]["former"] == one.rows[0][key] == getattr(one, key)
    with pytest.raises(KeyError, match="latter"):
        one.rows[0]["latter"]
    with pytest.raises(AttributeError, match="latter"):
        _ = one.latter
    chosen = tta.summary(table, where=[f"former{condition}"])
    assert chosen.rows == tta.summary(table, where=[f"{key}{condition}"]).rows
    assert len(chosen) == (2 if key == "round" else 1)
    with pytest.raises(TtastatsError, match="latter"):
        tta.summary(table, where=[f"latter{condition}"])
    both = tta.summary(table)
    for sign in ("", "-"):
        orders = [sort_rows(both, sort=f"{sign}{name}").rows for name in ("former", key)]
        assert orders[0] == orders[1]


def test_a_renamed_column_selects_runs_under_its_old_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMER_NAMES, "former", "framework")
    table = logs([of(evaluation(1, 0.9, target_value=0.95), framework=name) for name in "xyx"])
    (row,) = tta.summary(table, where=["former=x"]).rows
    assert row["n"] == 2
    with pytest.raises(TtastatsError, match="latter"):
        tta.summary(table, where=["latter=x"])
