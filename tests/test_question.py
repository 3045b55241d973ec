"""Keywords that functions share, and groups of options that commands share, are written out."""

from __future__ import annotations

from inspect import signature

import pytest

from tests.test_axis import losses
from ttastats import api
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
