"""Keywords that functions share, and groups of options that commands share, are written out."""

from __future__ import annotations

from inspect import signature

import polars as pl
import pytest

from tests.test_axis import losses
from ttastats import api
from ttastats.base.errors import TtastatsError
from ttastats.formats.own_logs.block import parse_block
from ttastats.outcomes import columns
from ttastats.sides.question import Question

SHARED = ("by", "where", "target", "unit", "price")
OF_SIDES = (*SHARED, "labels", "pool", "options")


@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("summary", SHARED),
        ("variance", SHARED),
        ("history", SHARED),
        ("effects", SHARED),
        ("power", SHARED),
        ("scaling", SHARED),
        ("targets", ("by", "where", "unit", "price", "labels")),
        ("compare", OF_SIDES),
        ("plots", OF_SIDES),
        ("plot", OF_SIDES),
        ("html_report", OF_SIDES),
    ],
)
def test_the_signature_of_a_function_names_all_keywords_with_their_defaults(
    name: str, keywords: tuple[str, ...]
) -> None:
    shown = signature(getattr(api, name)).parameters
    defaults = signature(Question).parameters
    known = {keyword for keyword in OF_SIDES if keyword in shown}
    assert known == set(keywords)
    assert all(shown[keyword].default == defaults[keyword].default for keyword in keywords)


@pytest.mark.parametrize(("name", "keyword"), [("summary", "pool"), ("targets", "target")])
def test_a_keyword_that_a_function_does_not_have_is_refused(name: str, keyword: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{keyword}'"):
        getattr(api, name)(losses([[0.5]]), **{keyword: ()})


def test_one_text_stands_for_a_list_of_one() -> None:
    table = losses([[0.5, 0.3], [0.4, 0.2]])
    several = {"by": ["entry"], "where": ["n>=1"], "target": ["loss<=0.3"]}
    once = {name: texts[0] for name, texts in several.items()}
    assert api.summary(table, **once).rows == api.summary(table, **several).rows
    assert api.runs(table, where="reached=yes").rows == api.runs(table, where=["reached=yes"]).rows
    assert api.score(table, by="entry").rows == api.score(table, by=["entry"]).rows


def test_a_name_for_each_side_or_for_none() -> None:
    table, other = losses([[0.5]]), losses([[0.4]])
    for compared in (api.compare, api.html_report, api.plots, api.targets):
        with pytest.raises(TtastatsError, match="1 label for 2 sides"):
            compared(table, other, labels=["x"])
    days = losses([[0.5, 0.4], [0.4, 0.3], [0.5, 0.2]]).with_columns(system=pl.col("source"))
    with pytest.raises(TtastatsError, match="2 labels for 3 sides"):
        api.compare(days, same=True, by=["system"], labels=["x", "y"], at_end=True)


def test_columns_are_known_by_their_former_names_too() -> None:
    assert Question(by=["edition", "benchmark"]).by == ("round", "benchmark")
    assert columns.full_name("edition", ["round"]) == "round"
    assert columns.full_name("edition", ["edition", "round"]) == "edition"
    assert columns.full_name("edition", ["entry"]) is None
    block = parse_block({"metric": "loss", "edition": "v9"}, lambda key: key)
    assert block.fields.keys() == {"round"}
