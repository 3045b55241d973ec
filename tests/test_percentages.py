"""A share is written `2%` or `0.02`; what could be misread by a factor of 100 is refused."""

from __future__ import annotations

import pytest

from ttastats.base import percentages
from ttastats.base.errors import TtastatsError


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2%", 0.02),
        (" 2 % ", 0.02),
        ("0.02", 0.02),
        (".5", 0.5),
        ("0.5%", 0.005),
        ("2e-2", 0.02),
        ("99.9%", 0.999),
    ],
)
def test_a_percentage_or_a_fraction_is_read(written: str, value: float) -> None:
    assert percentages.parse_fraction(written, "--margin") == pytest.approx(value)


@pytest.mark.parametrize(
    ("written", "remedy"),
    [("2", "Write 2% or 0.02."), ("5", "Write 5% or 0.05."), ("1", "Write 1% or 0.01."),
     ("1.5", "Write 1.5% or 0.015."), ("2000", "Write 2% or 0.02.")],
)  # fmt: skip
def test_a_bare_number_of_one_or_more_is_refused_with_what_was_meant(
    written: str, remedy: str
) -> None:
    with pytest.raises(TtastatsError, match="neither a fraction nor a percentage") as refused:
        percentages.parse_fraction(written, "--margin")
    assert (refused.value.where, refused.value.remedy) == ("--margin", remedy)


@pytest.mark.parametrize(
    "written",
    ["0", "0%", "-1%", "-0.01", "100%", "100000%", "1e-999", "nan", "inf", "1e999", "1e999%",
     "", "%", "two", "0,5%", "2%%", "0x1%", "1_0%", "2 percent", "\N{FULLWIDTH DIGIT TWO}%"],
)  # fmt: skip
def test_what_is_no_share_is_refused(written: str) -> None:
    with pytest.raises(TtastatsError):
        percentages.parse_fraction(written, "--margin")


def test_a_share_may_exceed_all_where_that_makes_sense_and_with_a_sign() -> None:
    assert percentages.parse_fraction("140%", "--cv", below=10.0) == pytest.approx(1.4)
    with pytest.raises(TtastatsError, match=r"'1\.4'"):
        percentages.parse_fraction("1.4", "--cv", below=10.0)
    with pytest.raises(TtastatsError, match="not above 0% and below 1000%"):
        percentages.parse_fraction("1400%", "--cv", below=10.0)


def test_a_lower_limit_holds_too() -> None:
    assert percentages.parse_fraction("80%", "--confidence", above=0.5) == pytest.approx(0.8)
    with pytest.raises(TtastatsError, match="not above 50% and below 100%"):
        percentages.parse_fraction("50%", "--confidence", above=0.5)
    with pytest.raises(TtastatsError) as refused:
        percentages.parse_fraction("95", "--confidence", above=0.5)
    assert refused.value.remedy == "Write 95% or 0.95."


@pytest.mark.parametrize(
    ("value", "shown"), [(0.95, "95%"), (0.995, "99.5%"), (0.02, "2%"), (0.29, "29%")]
)
def test_a_fraction_is_shown_without_needless_digits(value: float, shown: str) -> None:
    assert percentages.percent_text(value) == shown


@pytest.mark.parametrize(
    ("written", "value"), [("97%", 0.97), ("0.97", 0.97), ("21.8", 21.8), ("-1.5", -1.5)]
)
def test_a_number_may_be_written_as_a_percentage(written: str, value: float) -> None:
    assert percentages.expect_number(written, "--target") == pytest.approx(value)


@pytest.mark.parametrize("written", ["", "high", "--1", "nan", "0,97"])
def test_what_is_no_number_is_refused(written: str) -> None:
    with pytest.raises(TtastatsError):
        percentages.expect_number(written, "--target")
