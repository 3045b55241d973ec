"""One pair of real runs for all tests of the trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ttastats.trainer.session import Made


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Made]:
    """Return two real runs of the small network, trained to 85 %."""
    from tests.trainer.runs import small, trained  # needs torch, which tests of the command do not

    root = tmp_path_factory.mktemp("two_runs")
    return trained(root, small(target=0.85, epochs=30), seeds=(0, 1))
