"""Conditions as they are written."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ttastats.base.errors import TtastatsError
from ttastats.outcomes.select import Condition, parse, parse_all


@pytest.mark.parametrize(
    ("text", "column", "operator", "values"),
    [
        ("benchmark=resnet", "benchmark", "=", ("resnet",)),
        ("benchmark==resnet", "benchmark", "=", ("resnet",)),
        (" nodes >= 8 ", "nodes", ">=", ("8",)),
        ("benchmark=bert,rgat", "benchmark", "=", ("bert", "rgat")),
        ("benchmark!=bert , rgat", "benchmark", "!=", ("bert", "rgat")),
        ('entry="a,b",c', "entry", "=", ("a,b", "c")),
        (r"entry=a\,b,c", "entry", "=", ("a,b", "c")),
        (r"source=C:\logs\x", "source", "=", (r"C:\logs\x",)),
        ("source=C:\\", "source", "=", ("C:\\",)),
        (r'entry="say \"a\""', "entry", "=", ('say "a"',)),
        ('entry="a" b', "entry", "=", ('"a" b',)),
        ("entry=a=b", "entry", "=", ("a=b",)),
        ("cv>10%", "cv", ">", ("10%",)),
    ],
)
def test_a_condition_is_read(
    text: str, column: str, operator: str, values: tuple[str, ...]
) -> None:
    condition = parse(text, "--a")
    assert condition == Condition(column, operator, values, "--a")
    assert parse(str(condition), "--a") == condition


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        (("resnet", "", "=x"), "is not a condition"),
        (("x=", "x=bert,", "x=bert,,rgat", 'x=""'), "lacks a value"),
        (("nodes>1,2",), "has several values"),
    ],
)
def test_what_is_no_condition_is_refused_by_the_option_it_was_written_in(
    texts: tuple[str, ...], what: str
) -> None:
    for text in texts:
        with pytest.raises(TtastatsError, match=f"'{text}' {what}") as refused:
            parse(text, "--b")
        assert refused.value.where == "--b"


@example(['"a"', "a\\,b", "a\\"], "=")
@example(["=", " a "], "=")
@example(["=1"], "<")
@settings(max_examples=40)
@given(st.lists(st.text(min_size=1), min_size=1), st.sampled_from(["=", "!="]))
def test_values_are_written_so_that_they_are_read_again(values: list[str], operator: str) -> None:
    written = Condition("entry", operator, tuple(values))
    assert parse(str(written)) == written


def test_what_is_read_already_stays_as_it_is() -> None:
    one = parse("nodes=1", "--a")
    assert parse_all([one, "nodes=2"]) == (one, Condition("nodes", "=", ("2",)))
