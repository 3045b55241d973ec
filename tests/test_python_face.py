"""The Python functions: verdicts that can be asserted, arguments in any form, answers as values."""

from __future__ import annotations

from pathlib import Path

import pytest

import ttastats as tta

SLOWER = "slower:2%"


@pytest.fixture
def one(tables: Path) -> Path:
    return tables / "one_gpu.parquet"


@pytest.fixture
def eight(tables: Path) -> Path:
    return tables / "eight_gpus.parquet"


class TestGates:
    def test_are_true_if_they_passed(self, one: Path, eight: Path) -> None:
        passed, failed = (
            tta.compare(one, eight, fail_on=SLOWER),
            tta.compare(eight, one, fail_on=SLOWER),
        )
        assert passed.gate and passed.check() is passed
        assert not failed.gate
        assert repr(failed.gate).startswith("Gate(passed=False, conditions=(")
        assert not tta.compare(eight, one, require=["not-slower:2%"]).gate
        assert tta.compare(eight, one).check().gate is None

    def test_raise_the_sentence_if_they_failed(self, one: Path, eight: Path) -> None:
        with pytest.raises(tta.GateFailed, match=r"(?s)--fail-on slower:2%.* is at least .*slower"):
            tta.compare(eight, one, fail_on=SLOWER).check()
        assert issubclass(tta.GateFailed, tta.TtastatsError)

    def test_of_the_latest_nights_too(self, one: Path) -> None:
        assert isinstance(tta.history(one, fail_on=SLOWER), tta.Gated)
        assert tta.history(one).gate is None
