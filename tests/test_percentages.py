"""A share is written `2%` or `0.02`; what could be misread by a factor of 100 is refused."""

from __future__ import annotations

import pytest

from ttastats.base import percentages
from ttastats.base.errors import TtastatsError


@pytest.mark.parametrize(
    "written",
    ["0", "0%", "-1%", "-0.01", "100%", "100000%", "1e-999", "nan", "inf", "1e999", "1e999%",
     "", "%", "two", "0,5%", "2%%", "0x1%", "1_0%", "2 percent", "\N{FULLWIDTH DIGIT TWO}%"],
)  # fmt: skip
def test_texts_that_are_no_share_are_refused(written: str) -> None:
    with pytest.raises(TtastatsError):
        percentages.parse_fraction(written, "--margin")


@pytest.mark.parametrize("written", ["", "high", "--1", "nan", "0,97"])
def test_texts_that_are_no_number_are_refused(written: str) -> None:
    with pytest.raises(TtastatsError):
        percentages.expect_number(written, "--target")
